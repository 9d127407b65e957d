"""Accuracy of answers by a judge's marks, by people's marks of a few, and by both, for each group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import as_share
from calib_core.columns.cut import PARTS, divided_by
from calib_core.defaults import LEVEL
from calib_core.judged.corrected_mean import JudgedMean, judged_gap, judged_share
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.readers.proposal.answer_words import as_read, marks_some, verdicts
from calib_core.readers.table import Table

ALL = "all rows"
_COLUMNS = (
    *("part", "by", "right", "right_low", "right_high", "gap", "gap_low", "gap_high", "confidence", "rows", "marked"),
    *("tested", "why"),
)


@dataclass(frozen=True, eq=False, repr=False)
class JudgedAnswers(Diagram):
    """Accuracy, and mean confidence minus accuracy, by the judge, by people and by both, for each part.

    ``share`` and ``gap`` are for all rows; ``lines`` has four rows per part, or one if there is no estimate.
    ``human`` is the column of people's marks, ``level`` the confidence level.
    """

    share: JudgedMean
    gap: JudgedMean
    lines: pd.DataFrame
    human: str
    level: float

    def frame(self) -> pd.DataFrame:
        """One row per part and method: accuracies and gaps with their intervals, NaN if there is none."""
        return self.lines

    @property
    def headline(self) -> str:
        """Accuracy by both judge and people."""
        return self.share.sentence.partition(";")[0] + "."

    def _line(self) -> str:
        return f"{self.share._line()}; parts: {self.lines['part'].nunique():,}"


def marked_by_people(predictions: Predictions) -> tuple[str, ...]:
    """Metadata columns with right or wrong for some rows and missing values for the others.

    >>> marks = pd.DataFrame({"checked": ["yes", "no"] * 10 + [""] * 30, "site": ["a"] * 50})
    >>> marked_by_people(Predictions.from_confidence([0.8] * 50, [True] * 50, metadata=marks))
    ('checked',)
    """
    columns = predictions.metadata
    return () if columns is None else tuple(str(name) for name in columns if marks_some(as_read(columns[name])))


def judged_answers(predictions: Predictions, human: str = "", by: str = "", level: float = LEVEL) -> JudgedAnswers:
    """Estimate accuracy and overconfidence if a judge marked all rows and people marked a few.

    The correctness in ``predictions`` is the judge's mark. ``human`` is the metadata column of people's marks, by
    default the first of ``marked_by_people``. ``by`` is a metadata column whose values are separate parts (numbers are
    cut into four ranges). Each part has the rows of ``judged_share(...).frame()`` and of ``judged_gap``; grouped rows
    stay together.

    Raises NotAnswerable if no column has people's marks, if there are fewer than ten marks, or for weighted rows. A
    part with fewer marks has one row, and ``why``. What can mislead: intervals are not corrected for their number: at
    level .9 one of ten parts misses. The rows that people marked must be a random sample, also within each part.

    >>> marks = pd.DataFrame({"checked": ["yes", "no", "yes"] * 10 + [""] * 70})
    >>> found = judged_answers(Predictions.from_confidence([0.9] * 100, [True, False] * 50, metadata=marks))
    >>> found.human, found.frame()["by"].tolist()[:3]
    ('checked', ['judge alone', 'people alone', 'both'])
    """
    as_share(level, "level")
    rows = predictions.answered
    if rows.grain == "counts":
        raise NotAnswerable("people's marks belong to rows, and a summary has only counts: open the original file")
    if rows.weights is not None:
        raise NotAnswerable("the rows are weighted, and marks are counted row by row: leave the weights out")
    human = human or next(iter(marked_by_people(rows)), "")
    if not human:
        raise NotAnswerable(
            "no metadata column has right or wrong for some rows and missing values for the others. Add one with "
            "people's marks of at least ten rows, drawn at random"
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
        raise NotAnswerable(f"the predictions have no metadata column {human[:80]!r}")
    table = Table("the file", "csv", {human: as_read(rows.metadata[human])})
    return np.asarray(verdicts(table, human), dtype=np.float64)


def _parts(rows: Predictions, by: str) -> Iterator[tuple[str, Bools]]:
    """Yield all rows, and the rows of each value of a column."""
    yield ALL, np.ones(rows.n_rows, dtype=bool)
    if by:
        for cut in divided_by(rows, [by], PARTS)[0].values():
            for code, condition in enumerate(cut.conditions):
                inside = np.asarray(cut.codes == code)
                if inside.any():
                    yield condition.title, inside


def _lines(share: JudgedMean, gap: JudgedMean) -> Iterator[tuple[object, ...]]:
    """Yield one row per method: by whom, the share and its ends, the gap and its ends, whether both were simulated."""
    gaps = {str(line.by): line for line in gap.frame().itertuples()}
    for line in share.frame().itertuples():
        other = gaps.get(str(line.by))
        more = (np.nan,) * 3 if other is None else (other.value, other.low, other.high)
        yield (line.by, line.value, line.low, line.high, *more, line.tested)
