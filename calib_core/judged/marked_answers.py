"""Answers that a judge marked, and people a few of them: how many are right, by each and by both, group by group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.errors import as_share
from calib_core.defaults import LEVEL
from calib_core.diagrams.base import Diagram
from calib_core.judged.corrected_mean import JudgedMean, judged_gap, judged_share
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.readers.proposal.answer_words import as_read, marks_some, verdicts
from calib_core.readers.table import Table
from calib_core.slices.cut import PARTS, divided_by

ALL = "all rows"
_COLUMNS = (
    *("part", "by", "right", "right_low", "right_high", "gap", "gap_low", "gap_high", "confidence", "rows", "marked"),
    *("tested", "why"),
)


@dataclass(frozen=True, eq=False, repr=False)
class JudgedAnswers(Diagram):
    """The share right and how far mean confidence lies above it, by the judge, by people and by both, for each part.

    ``share`` and ``gap`` are those of all rows, ``lines`` has four lines a part, or one where it cannot be told.
    ``human`` is the column of people's marks, ``level`` that of the intervals.
    """

    share: JudgedMean
    gap: JudgedMean
    lines: pd.DataFrame
    human: str
    level: float

    def frame(self) -> pd.DataFrame:
        """One line for each part and each way to tell: shares right and gaps with their intervals, NaN where none."""
        return self.lines

    @property
    def headline(self) -> str:
        """How many answers are right, by both."""
        return self.share.sentence.partition(";")[0] + "."

    def _line(self) -> str:
        return f"{self.share._line()}; parts: {self.lines['part'].nunique():,}"


def marked_by_people(predictions: Predictions) -> tuple[str, ...]:
    """Columns beside the predictions that say right or wrong of some rows, and nothing of the others.

    >>> marks = pd.DataFrame({"checked": ["yes", "no"] * 10 + [""] * 30, "site": ["a"] * 50})
    >>> marked_by_people(Predictions.from_confidence([0.8] * 50, [True] * 50, metadata=marks))
    ('checked',)
    """
    columns = predictions.metadata
    return () if columns is None else tuple(str(name) for name in columns if marks_some(as_read(columns[name])))


def judged_answers(predictions: Predictions, human: str = "", by: str = "", level: float = LEVEL) -> JudgedAnswers:
    """How many answers are right, and how over-confident they are, where a judge marked all rows and people a few.

    What ``predictions`` call right is what the judge says; ``human`` is the metadata column of people's marks, by
    default the first of ``marked_by_people``; ``by`` a metadata column whose values are parts to be told of apart
    (numbers cut into four ranges). Each part has the lines of ``judged_share(...).frame()`` and of ``judged_gap``; rows
    that belong together are taken together.

    NotAnswerable where no column has people's marks, or they are fewer than ten, and of weighted rows; a part of fewer
    has one line, and ``why``. What can mislead: every interval stands alone: of ten parts one misses at level .9.
    People have to have marked rows drawn at random, within each part too.

    >>> marks = pd.DataFrame({"checked": ["yes", "no", "yes"] * 10 + [""] * 70})
    >>> found = judged_answers(Predictions.from_confidence([0.9] * 100, [True, False] * 50, metadata=marks))
    >>> found.human, found.frame()["by"].tolist()[:3]
    ('checked', ['judge alone', 'people alone', 'both'])
    """
    as_share(level, "level")
    rows = predictions.answered
    if rows.grain == "counts":
        raise NotAnswerable(
            "people's marks stand beside rows, and a summary holds counts: open the file it was made of"
        )
    if rows.weights is not None:
        raise NotAnswerable("rows carry weights, and marks are counted row by row: leave the weights out")
    human = human or next(iter(marked_by_people(rows)), "")
    if not human:
        raise NotAnswerable(
            "no column beside the predictions says right or wrong of some rows and nothing of the others: add one with "
            "what people say of rows drawn at random, at least ten"
        )
    people = _marks(rows, human)
    judge, confidence = rows.correct.astype(np.float64), rows.confidence.astype(np.float64)
    groups = rows.row_groups

    def both(inside: Bools) -> tuple[JudgedMean, JudgedMean]:
        where = np.flatnonzero(inside)
        part = None if groups is None else groups.take(where)
        marks = judge[where], people[where], part
        return judged_share(*marks, level), judged_gap(confidence[where], *marks, level)

    share, gap = both(np.ones(len(judge), dtype=bool))
    lines: list[tuple[object, ...]] = []
    for name, inside in _parts(rows, by):
        size, marked = int(inside.sum()), int((~np.isnan(people[inside])).sum())
        mean = float(confidence[inside].mean())
        try:
            found = (share, gap) if name == ALL else both(inside)
        except NotAnswerable as why:
            alone = float(judge[inside].mean())
            unknown = (np.nan, np.nan, mean - alone, np.nan, np.nan)
            lines.append((name, "judge alone", alone, *unknown, mean, size, marked, False, str(why)))
            continue
        lines += [(name, *line, mean, size, marked, tested, "") for *line, tested in _lines(*found)]
    return JudgedAnswers(share, gap, pd.DataFrame(lines, columns=list(_COLUMNS)), human, level)


def _marks(rows: Predictions, human: str) -> Float64s:
    if rows.metadata is None or human not in rows.metadata:
        raise NotAnswerable(f"the predictions carry no column {human[:80]!r}")
    table = Table("the file", "csv", {human: as_read(rows.metadata[human])})
    return np.asarray(verdicts(table, human), dtype=np.float64)


def _parts(rows: Predictions, by: str) -> Iterator[tuple[str, Bools]]:
    """All rows, and those of each value of a column."""
    yield ALL, np.ones(rows.n_rows, dtype=bool)
    if by:
        for cut in divided_by(rows, [by], PARTS)[0].values():
            for code, condition in enumerate(cut.conditions):
                inside = np.asarray(cut.codes == code)
                if inside.any():
                    yield condition.title, inside


def _lines(share: JudgedMean, gap: JudgedMean) -> Iterator[tuple[object, ...]]:
    """Each way to tell: by whom, the share and its ends, the gap and its ends, whether both were tried."""
    gaps = {str(line.by): line for line in gap.frame().itertuples()}
    for line in share.frame().itertuples():
        other = gaps.get(str(line.by))
        more = (np.nan,) * 3 if other is None else (other.value, other.low, other.high)
        yield (line.by, line.value, line.low, line.high, *more, line.tested)
