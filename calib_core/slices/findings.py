"""What is wrong with these probabilities, in plain sentences: every place looked at, tested and put worst first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arguments import as_share, as_whole
from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.binning import risk_bins
from calib_core.binning.base import BinningScheme, cuts
from calib_core.binning.bin_table import tabulate
from calib_core.binning.declared import bins_of
from calib_core.defaults import LEVEL
from calib_core.diagrams.bins_that_stand_out import edges_said
from calib_core.diagrams.local_accuracy import EventWords
from calib_core.estimators.default_notion import claimed_rows, event_name, notion_looked_at
from calib_core.inference.intervals.share_intervals import share_test
from calib_core.inference.significance.count_tests import count_test, node_counts, score_nodes
from calib_core.inference.significance.selected_shares import (
    FALSE,
    FEWEST,
    count_words,
    counts_rows,
    p_of_cells,
    picked_out,
    rows_of_cells,
    worth_of_cells,
)
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.reductions.base import claims_of
from calib_core.slices.conditions import Slice
from calib_core.slices.cut import PARTS, CutColumn, divided_by
from calib_core.text import at_level, begun, called, in_percent, of_rows, share_range, told_apart

SHOWN = 12
"""Places that a picture shows, the worst of those tested."""
CELL, BIN, PREDICTED, OVERALL = "class and bin", "bin", "predicted class", "direction"
CLASS, SLICE = "class", "slice"
"""Kinds: a predicted class in a bin, a bin where classes are not known, a predicted class whatever its confidence, all
rows; one class's probability, a slice."""


def findings(
    predictions: Predictions,
    bins: int | str | BinningScheme | None = None,
    by: str | Sequence[str] | None = None,
    level: float = LEVEL,
    false_discoveries: float = FALSE,
    fewest: int = FEWEST,
    notion: str | None = "confidence",
    words: EventWords | tuple[str, str] | None = None,
) -> pd.DataFrame:
    """Where these probabilities are off beyond chance, a plain sentence a line, worst first.

    Looked at are five families: "class and bin", the rows of each predicted class in each bin of the confidence ("bin"
    where classes are not known); "predicted class", all rows of each predicted class, where classes are known;
    "direction", the confidence of all rows; "class", the probability of each class over all rows, where it is known;
    "slice", the rows that share a value of one of the metadata columns ``by`` (by default all that divide rows into
    groups). Each line sets what is said on average (``says``) against the share that came true (``right``) of its
    ``rows``; p is that of so many coming true if every row's chance is its score (Poisson-binomial, ``count_test``).
    ``stands_out``: p_corrected is at most ``false_discoveries``, so that on average at most this share of all that
    stand out are false. With F families p is multiplied by F and corrected within its family: by Benjamini and
    Hochberg's rule where rows are disjoint (class and bin, predicted class, slices of one column), by Benjamini and
    Yekutieli's where they are shared (class, slices of several). A share q / F of false findings in each makes at most
    q of all, whatever families share: V / R <= sum_f V_f / R_f.

    ``low`` to ``high`` is the exact interval of the mean chance behind ``right``, at the ``level`` of its line. Places
    picked for their outcomes are off by luck too: with R of m that stand out in a family, their intervals are at level
    1 - (1 - level) R / (m F), for shared rows divided by 1 + ... + 1/m as well, so that of the intervals of all that
    stand out at most 1 - level miss on average. The others stand alone. ``rows_off``: rows times the smallest gap the
    interval leaves, by which lines are in order. Places worth fewer than ``fewest`` rows are listed last, without p.
    Discrete outputs have one bin a value. Rows that a model abstains on are left out. Weights that are no counts of
    copies, and rows in groups, count as the fewer rows of equal weight they are ``worth``, (sum w)^2 over the sum over
    ``groups`` of (its weight)^2, by Hoeffding's bound, which holds however the rows of a group hang together; families
    of rows in groups are corrected as those that share rows. What can mislead: ``stands_out`` follows p_corrected, and
    the interval, which holds whatever the single rows' chances are, is a little wider: at the margin it can include
    ``says`` although the place stands out. Gaps that cancel within a place do not show; what does not stand out is not
    shown to be right; rows of different groups, or all where no groups are given, are taken to be independent.

    With ``notion`` "event" (None: where there are two classes) the places are the bins of the predicted risk, all rows,
    and slices: ``says`` is the mean risk, ``right`` how often the event happened, and ``words`` what rows and event are
    called: ("patients", "died"). Without ``bins`` those of the risk are ``binning.risk_bins``.

    References: Benjamini & Hochberg 1995; Benjamini & Yekutieli 2001, and 2005 for intervals of what was picked;
    Clopper & Pearson 1934; Hoeffding 1956, 1963; Hong 2013 (Poisson-binomial law).

    >>> right = [True] * 36 + [False] * 4 + [True] * 90 + [False] * 10
    >>> p = Predictions.from_confidence([0.55] * 40 + [0.9] * 100, right)
    >>> findings(p, bins=10)["finding"][0]
    'When it says 50 to 60 %, it is right 90 % of the time (36 of 40 rows; 98 % interval 74 to 98 %; it says 55 %).'
    """
    as_share(level, "level")
    as_share(false_discoveries, "false_discoveries")
    as_whole(fewest, "fewest", 1)
    notion = notion or notion_looked_at(predictions)
    named = EventWords(*words) if isinstance(words, tuple) else words
    called_so = None if notion != "event" else named or EventWords.of(event_name(predictions))
    rows = claimed_rows(predictions, notion).answered
    counted, scheme = counts_rows(rows), bins_of(predictions, bins)
    if called_so is not None and bins is None and not predictions.discrete:
        scheme = risk_bins(claims_of(rows, "confidence"))
    families = list(_families(rows, scheme, by))
    enough = [family.lines["worth"].to_numpy() >= fewest for family in families]
    tested = sum(bool(these.any()) for these in enough)
    parts = [
        _judged(family, these, families=tested, counted=counted, level=level, false=false_discoveries)
        for family, these in zip(families, enough, strict=True)
    ]
    table = pd.concat(parts, ignore_index=True)
    order = np.lexsort((table["p"], -table["rows_off"], ~table["stands_out"]))
    table = table.iloc[order].reset_index(drop=True)
    single = bool(cuts(scheme).one_a_value)
    lines = list(table.itertuples(index=False))
    table.insert(0, "finding", [_sentence(line, counted, single, called_so) for line in lines])
    table.insert(1, "place", [_place(line, single) for line in lines])
    texts = [None if part is None else str(part) for part in table["slice"]]
    return table.assign(slice=pd.Series(texts, dtype=object))


def headline(table: pd.DataFrame) -> tuple[str, ...]:
    """What a table of `findings` lets one claim: the worst of what stands out, and how many places were looked at.

    >>> p = Predictions.from_confidence([0.9] * 100, [True] * 88 + [False] * 12)
    >>> headline(findings(p))
    ('Nothing stands out.',
     'Of 2 places looked at, none is off beyond chance. With few rows a place hardly can be: this is no proof that the
     rest is right.')
    """
    tests, found = int(table["p"].notna().sum()), int(table["stands_out"].sum())
    small = len(table) - tests
    other = f"{'more ' if tests else ''}{'place holds' if small == 1 else 'places hold'}"
    more = f" {small:,} {other} too few rows to be tested." if small else ""
    if not tests:
        return "Too few rows everywhere to tell.", more.strip()
    looked = f"Of {tests:,} {'place' if tests == 1 else 'places'} looked at"
    first = str(table["finding"].iloc[0]) if found else "Nothing stands out."
    return first, count_words(looked, found, more, "place")


class _Family(NamedTuple):
    """Places that are tested together: whether their rows are disjoint, and a line each."""

    disjoint: bool
    lines: pd.DataFrame


def _families(rows: Predictions, scheme: BinningScheme, by: str | Sequence[str] | None) -> Iterator[_Family]:
    apart = rows.groups is None  # a group's rows can lie in several places
    yield _Family(apart, _cells(rows, scheme))
    if rows.kind != "confidence":
        yield _Family(apart, _predicted(rows))
    yield _Family(apart, _overall(rows))
    if rows.kind in ("full", "per-class"):
        yield _Family(False, _classes(rows))
    columns = [_slices(rows, column) for column in _cut(rows, by)]
    if columns:
        yield _Family(apart and len(columns) == 1, pd.concat(columns))


def _cells(rows: Predictions, scheme: BinningScheme) -> pd.DataFrame:
    """Every predicted class in every bin that has rows."""
    known = rows.kind != "confidence"
    claims = claims_of(rows, "top-label" if known else "confidence")
    table = tabulate(claims, [scheme], pooled=False)[0]
    stratum, b = np.nonzero(table.count > 0)
    shares = _shares(rows, table.cells(claims.scores, claims.codes), table.count.size)
    found = {name: part.reshape(table.count.shape)[stratum, b] for name, part in shares.items()}
    place = {"code": stratum if known else None, "bin": b}
    ends = {"lower": table.lower[stratum, b], "upper": table.upper[stratum, b]}
    return _lines(CELL if known else BIN, rows, found, **place, **ends)


def _predicted(rows: Predictions) -> pd.DataFrame:
    """Every predicted class, whatever its confidence: errors of its bins add up where all are small."""
    every = rows.n_classes or 0
    shares = _shares(rows, rows.predicted.astype(np.intp), every)
    lines = _lines(PREDICTED, rows, shares, code=np.arange(every))
    return lines[lines["rows"] > 0]


def _overall(rows: Predictions) -> pd.DataFrame:
    """All rows as one place."""
    return _lines(OVERALL, rows, _shares(rows, np.zeros(rows.n_rows, dtype=np.intp), 1))


def _classes(rows: Predictions) -> pd.DataFrame:
    """The probability of every class over all rows; of two that add up to 1 one tells it all."""
    tally = claims_of(rows, "class-wise").tally(np.empty(0))
    code = np.arange(1 if rows.kind == "full" and rows.n_classes == 2 else 0, rows.n_classes or 0)
    total = tally.count[code, 0]
    shares = _shares(rows, np.zeros(rows.n_rows, dtype=np.intp), 1)
    every = {name: np.repeat(part, len(code)) for name, part in shares.items()}
    every |= {"says": tally.score[code, 0] / total, "right": tally.outcome[code, 0] / total}
    every["p"] = _class_tests(rows, code, every)
    return _lines(CLASS, rows, every, code=code)


def _class_tests(rows: Predictions, code: Codes, shares: dict[str, NDArray[Any]]) -> Float64s:
    """p-values that as many rows are of each class as its probabilities state."""
    if not counts_rows(rows):
        return share_test(shares["right"], shares["says"], shares["worth"], False)
    nodes = score_nodes()
    tally = claims_of(rows, "class-wise").tally(nodes[1:-1])
    counts = node_counts(nodes, tally.count[code], tally.score[code])
    return count_test(nodes, counts, tally.outcome[code].sum(axis=1))


def _slices(rows: Predictions, column: CutColumn) -> pd.DataFrame:
    """Every slice of one column."""
    shares = _shares(rows, column.codes.astype(np.intp), len(column.conditions))
    lines = _lines(SLICE, rows, shares, slice=[Slice((condition,)) for condition in column.conditions])
    return lines[lines["rows"] > 0]


def _cut(rows: Predictions, by: str | Sequence[str] | None) -> Iterable[CutColumn]:
    """The columns cut; where it is left open which, all that divide rows into groups."""
    if by is not None and not len(by):
        return ()
    try:
        columns, _ = divided_by(rows, (by,) if isinstance(by, str) else by, PARTS)
    except NotAnswerable:
        if by is not None:
            raise
        return ()
    return columns.values()


def _shares(rows: Predictions, cell: Codes, cells: int) -> dict[str, NDArray[Any]]:
    """Of each cell its rows, their effective number, mean confidence, share right and p; NaN where it has no weight."""
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    total, says, right = (
        np.bincount(cell, weights * part, cells) for part in (1.0, rows.confidence.astype(np.float64), rows.correct)
    )
    number, groups = rows_of_cells(rows, cell, cells)
    together = {} if groups is None else {"groups": groups}
    with np.errstate(invalid="ignore"):
        shares = {"says": says / total, "right": right / total}
    tests = {"p": p_of_cells(rows, cell, cells)}
    return {"rows": number, **together, "worth": worth_of_cells(rows, cell, cells), **shares, **tests}


def _lines(kind: str, rows: Predictions, shares: dict[str, NDArray[Any]], **place: Any) -> pd.DataFrame:
    """A line a place; a code, a bin and a slice are None where there is none."""
    n, names = len(shares["rows"]), rows.class_names or ()
    code, b = ([None] * n if place.get(key) is None else place[key].tolist() for key in ("code", "bin"))
    columns = {
        "kind": [kind] * n,
        "class": [None if c is None else names[c] for c in code],
        "code": code,
        "bin": b,
        "slice": place.get("slice", [None] * n),
    }
    ends = {key: place.get(key, np.full(n, np.nan)) for key in ("lower", "upper")}
    return pd.DataFrame({key: pd.Series(values, dtype=object) for key, values in columns.items()} | ends | shares)


def _judged(
    family: _Family, enough: Bools, *, families: int, counted: bool, level: float, false: float
) -> pd.DataFrame:
    """The lines of a family with p-values, corrected among so many families, and intervals."""
    lines = family.lines.copy()
    worth, says, right = (lines[name].to_numpy(dtype=np.float64) for name in ("worth", "says", "right"))
    how: Any = {"counted": counted, "disjoint": family.disjoint, "families": families, "level": level, "false": false}
    found = picked_out(lines.pop("p").to_numpy(dtype=np.float64), enough, **how)
    low, high = found.ends(right, worth)
    least = np.maximum(np.maximum(low - says, says - high), 0.0)
    return lines.assign(
        gap=right - says,
        low=low,
        high=high,
        level=found.level,
        p=found.p,
        p_corrected=found.corrected,
        stands_out=found.stands_out,
        rows_off=np.where(enough, lines["rows"] * least, 0.0),
    )


def _sentence(line: Any, counted: bool, single: bool, event: EventWords | None = None) -> str:
    """What a line says; never more than its test shows."""
    says, right = told_apart(line.says, line.right)
    rows = of_rows(line.rows, line.worth, line._asdict().get("groups"))
    name = "" if line.code is None else _name(line)
    confidence = "" if line.bin is None else _confidence(line, single)
    when = f"{name} is predicted with confidence {confidence}" if name else f"it says {confidence}"
    if event is not None:
        return _of_event(line, counted, single, event)
    if math.isnan(line.p):
        place = {CLASS: f"of {name}", PREDICTED: f"when {name} is predicted"}.get(line.kind, "over all rows")
        where = f"when {when}" if confidence else f"where {line.slice.title}" if line.kind == SLICE else place
        return f"Too few rows to tell {where}: {rows}."
    of = f"{round(line.right * line.rows):,} of {rows}" if counted else rows
    basis = f"{of}; {at_level(line.level)} interval {share_range(line.low, line.high)}"
    chance = "" if line.stands_out else " This can be chance."
    if line.kind == CLASS:
        return begun(f"{name} is given {says} on average, and {right} of the rows are of it ({basis}).{chance}")
    if line.kind in (OVERALL, PREDICTED, SLICE):
        whole = {OVERALL: "Over all rows", PREDICTED: f"When {name} is predicted,"}
        where = whole.get(line.kind) or f"Where {line.slice.title},"
        return f"{where} it says {says} on average and is right {right} of the time ({basis}).{chance}"
    beside = "" if single else f"; it says {says}"
    return f"When {when}, it is right {right} of the time ({basis}{beside}).{chance}"


def _of_event(line: Any, counted: bool, single: bool, event: EventWords) -> str:
    """What a line shows about the risk of an event."""
    says, right = told_apart(line.says, line.right)
    rows = of_rows(line.rows, line.worth, line._asdict().get("groups"))
    given = "" if line.bin is None else _confidence(line, single)
    place = {BIN: f"among {event.noun} given a risk of {given}", OVERALL: "over all rows"}
    where = place.get(line.kind) or f"where {line.slice.title}"
    if math.isnan(line.p):
        return f"Too few rows to tell {where}: {rows}."
    of = f"{round(line.right * line.rows):,} of {rows}" if counted else rows
    basis = f"{of}; {at_level(line.level)} interval {share_range(line.low, line.high)}"
    chance = "" if line.stands_out else " This can be chance."
    if line.kind == BIN:
        mean = "" if single else f"; mean risk {says}"
        return f"Of {event.noun} given a risk of {given}, {right} {event.phrase} ({basis}{mean}).{chance}"
    comma = "," if line.kind == SLICE else ""
    return f"{begun(where)}{comma} the mean risk is {says}, and {right} {event.phrase} ({basis}).{chance}"


def _place(line: Any, single: bool) -> str:
    """Where a line looks, in a few words."""
    if line.kind == OVERALL:
        return "all rows"
    if line.kind == SLICE:
        return str(line.slice.title)
    if line.kind in (CLASS, PREDICTED):
        return f"{_name(line)}, {'all rows' if line.kind == CLASS else 'when predicted'}"
    return ", ".join(([] if line.code is None else [_name(line)]) + [_confidence(line, single)])


def _confidence(line: Any, single: bool) -> str:
    """The confidences of a place in percent."""
    return in_percent(line.says) if single else edges_said(line.lower, line.upper)


def _name(line: Any) -> str:
    """Its class in a sentence."""
    return called(line[1])  # the column "class": no attribute can be called that
