"""Significant calibration errors by place, in plain sentences, the largest gap first (all rows if gaps agree)."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.errors import as_share, as_whole
from calib_core.binning.base import BinningScheme, cuts
from calib_core.binning.bin_table import tabulate
from calib_core.binning.interval_schemes import bins_of
from calib_core.columns.conditions import Slice
from calib_core.columns.cut import PARTS, CutColumn, columns_looked_at, divided_by
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.diagrams import reliability
from calib_core.diagrams.bins_that_stand_out import edges_said
from calib_core.diagrams.class_list import gaps_cancel
from calib_core.diagrams.local_accuracy import EventWords
from calib_core.diagrams.overall_gap import overall_gap
from calib_core.estimators.base import claimed_rows, notion_looked_at
from calib_core.inference.gate_checks import GROUP_WARNING, OpenWarning
from calib_core.inference.intervals.clustered_rows import shares_in_cells
from calib_core.inference.intervals.elementary import share_ends, share_test
from calib_core.inference.significance.count_tests import (
    FEWEST,
    corrected_p,
    count_test,
    count_words,
    counts_rows,
    kinds_of_places,
    kinds_with_slices,
    node_counts,
    p_of_cells,
    predicted_classes,
    rows_of_cells,
    score_nodes,
    worst_first,
    worth_of_cells,
)
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.reductions.base import claims_of
from calib_core.text import (
    at_level,
    begun,
    called,
    in_percent,
    listed,
    of_rows,
    points_of,
    share_range,
    short_percent,
    told_apart,
)

SHOWN = 12
"""Largest number of places in a chart, worst first."""
CELL, BIN, PREDICTED, OVERALL = "class and bin", "bin", "predicted class", "direction"
CLASS, SLICE = "class", "slice"
"""Kinds of places.

They are a predicted class in a bin, a bin of all rows, a predicted class at any confidence, and all rows. Others are
the probability of one class, and a slice.
"""


def findings(
    predictions: Predictions,
    bins: int | str | BinningScheme | None = None,
    by: str | Sequence[str] | None = None,
    level: float = LEVEL,
    fewest: int = FEWEST,
    notion: str | None = None,
    words: EventWords | tuple[str, str] | None = None,
) -> pd.DataFrame:
    """Return all tested places with a sentence each, the largest significant gap first.

    All rows come first if they are significantly off and nearly all gaps have the same direction (``one_direction``).
    In the same case, a predicted class comes before its bins (``off_as_a_whole``).

    The places:

    - "bin", the bins of the reliability diagram;
    - "class and bin", the rows of each predicted class in each bin of the confidence;
    - "predicted class", all rows of each predicted class;
    - "class", the probability of each class over all rows;
    - "slice", the rows that share a value of one of the metadata columns ``by`` (by default all that divide rows into
      groups);
    - "direction", all rows.

    Each line compares the mean score (``says``) with the observed frequency (``right``) of its ``rows``. The p-value p
    is that of the number of events if every score is the true probability (Poisson-binomial, ``count_test``). For a
    predicted class it is that of its errors over all bins (``per_class_tests``).

    ``stands_out``: p_corrected is at most 0.05. It is Holm's p in the family (bins, classes, values of one column),
    times the number of kinds of places. For slices it is also multiplied by the number of columns. The probability of
    any false alarm among these places is at most 5 %. A place has this p in every view (``inference.picked_out``). All
    rows are the one test fixed in advance, at 5 % of its own. Its p accounts for the errors that it bounds, not for the
    other places; p and interval are those of ``diagrams.overall_gap`` and ``risk.in_the_large``.

    ``low`` to ``high`` is the exact interval of the mean probability behind ``right``, at ``level``, for this place
    only. ``rows_off``: rows times the smallest gap in the interval. Places with an effective sample size below
    ``fewest`` are listed last, without p. Classes in bins of discrete outputs have one bin per value. Rows that a model
    abstains on are left out. Weights that are no counts of copies, and rows in groups, count with their effective
    sample size ``worth``. It is (sum w)^2 over the sum over ``groups`` of (its weight)^2. The test then uses
    Hoeffding's bound, which is valid for any dependence within a group. The interval of rows in groups is Korn and
    Graubard's, as in the reliability diagram. What can mislead: ``stands_out`` follows p_corrected; the interval is not
    corrected and can disagree with it. Places selected for a large gap were partly unlucky: their true gap is smaller
    on average. Gaps that cancel within a place are not visible, and a place that is not significant is not shown to be
    calibrated. Rows of different groups, or all rows without groups, are assumed to be independent.

    With ``notion`` "event" (None: where there are two classes) the places are the bins of the predicted risk, all rows,
    and slices. ``says`` is then the mean risk and ``right`` the observed frequency of the event. ``words`` are the
    names of rows and event: ("patients", "died"). Without ``bins`` those of the risk are ``binning.risk_bins``.

    References: Holm 1979; Clopper & Pearson 1934; Hoeffding 1956, 1963; Korn & Graubard 1998; Hong 2013
    (Poisson-binomial law).

    >>> right = [True] * 36 + [False] * 4 + [True] * 90 + [False] * 10
    >>> p = Predictions.from_confidence([0.55] * 40 + [0.9] * 100, right)
    >>> findings(p, bins=10)["finding"][0]
    'When it says 50 to 60 %, it is right 90 % of the time (36 of 40 rows; 90 % interval 79 to 97 %; mean ...
    """
    as_share(level, "level")
    as_whole(fewest, "fewest", 1)
    notion = notion or notion_looked_at(predictions)
    rows = claimed_rows(predictions, notion).answered
    named = EventWords(*words) if isinstance(words, tuple) else words
    called_so = None if notion != "event" else named or EventWords.of(predictions)
    counted = counts_rows(rows)
    table = pd.concat(list(_places(predictions, rows, notion, bins, by, level, fewest)), ignore_index=True)
    off, gap, p = (table[name].to_numpy() for name in ("stands_out", "gap", "p"))
    order = worst_first(off.astype(np.bool_), gap, p)
    table = table.iloc[_wholes_first(table, order)].reset_index(drop=True)
    errors = table.pop("cancel")
    one_a_value = {
        CELL: cuts(bins_of(predictions, bins)).one_a_value,
        BIN: bins is not None and cuts(bins_of(predictions, bins)).one_a_value,
    }
    single = [bool(one_a_value.get(kind, False)) for kind in table["kind"]]
    lines = list(table.itertuples(index=False))
    sentences = [_sentence(line, counted, alone, called_so) for line, alone in zip(lines, single, strict=True)]
    more = ["" if math.isnan(error) else _CANCEL.format(points_of(short_percent(error))) for error in errors]
    table.insert(0, "finding", [text + also for text, also in zip(sentences, more, strict=True)])
    table.insert(1, "place", list(map(_place, lines, single)))
    texts = [None if part is None else str(part) for part in table["slice"]]
    return table.assign(slice=pd.Series(texts, dtype=object))


def _wholes_first(table: pd.DataFrame, order: Codes) -> Codes:
    """Return the order with all rows first, and each predicted class before its bins, if they are off as a whole."""
    cells = table[table["kind"] == CELL]
    for whole in np.flatnonzero((table["kind"] == PREDICTED) & table["stands_out"]):
        parts = cells[cells["code"] == table["code"].iloc[whole]]
        if off_as_a_whole(table.iloc[whole], parts):
            first = int(np.flatnonzero(np.isin(order, [whole, *parts.index]))[0])
            order = np.insert(order[order != whole], first, whole)
    if one_direction(table):
        every = int(np.flatnonzero(table["kind"] == OVERALL)[0])
        order = np.concatenate([[every], order[order != every]])
    return order


OPPOSED = 0.1
"""Largest share of the total gap in places of the other direction where the model still counts as off as a whole."""
CONCENTRATED = 0.5
"""Smallest share of the total gap in one place, of at least twice the mean gap, that makes this place the cause."""


def one_direction(table: pd.DataFrame) -> bool:
    """True if all rows together are significantly off, and so, in this direction, are nearly all tested places.

    The mean probabilities of the classes are not counted: their gaps sum to 0 (``off_as_a_whole``).
    """
    every = table["kind"] == OVERALL
    return every.sum() == 1 and off_as_a_whole(table[every].iloc[0], table[~every & table["kind"].ne(CLASS)])


def off_as_a_whole(whole: pd.Series, parts: pd.DataFrame) -> bool:
    """True if a place is significantly off, and so, in this direction, are nearly all tested places within it.

    Then the place with the largest gap among its ``parts`` is one of many.

    - Parts of the opposite direction are not significant. In each kind of places they hold at most ``OPPOSED`` of the
      total gap, the sum of rows times size of the gap.
    - No significant part has a gap of at least twice that of the whole, and ``CONCENTRATED`` of its rows times gap.
      Such a part would be the cause.
    """
    if not whole["stands_out"]:
        return False
    n, gap = float(whole["rows"]), float(whole["gap"])
    tested = parts[parts["p"].notna()]
    size = tested["gap"].abs()
    total, opposed = tested["rows"] * size, tested["gap"].gt(0) != (gap > 0)
    few = (total * opposed).groupby(tested["kind"]).sum() <= OPPOSED * total.groupby(tested["kind"]).sum()
    cause = tested["stands_out"] & (size >= 2 * abs(gap)) & (total >= CONCENTRATED * n * abs(gap))
    return bool(few.all()) and not (opposed & tested["stands_out"]).any() and not cause.any()


MOST_TESTED = 5_000_000
"""Number of values of metadata (rows times columns) up to which all columns are tested by default."""


def group_warnings(table: pd.DataFrame, limit: float) -> tuple[OpenWarning, ...]:
    """Return the warning of a gate about slices that are off by more than its ``limit``; empty if there are none.

    ``table`` is that of ``findings``. Errors of two groups, such as men and women, can cancel over all rows, which then
    pass. A slice counts if its gap is significant, and its whole interval is farther than ``limit`` from the mean
    score. What can mislead: slices with few rows can be off by more than the limit without evidence of it.

    >>> import calib_core as cc
    >>> sex = pd.DataFrame({"sex": ["f"] * 500 + ["m"] * 500})
    >>> rows = cc.Predictions([[0.5, 0.5]] * 1000, [1] * 350 + [0] * 150 + [1] * 150 + [0] * 350, metadata=sex)
    >>> [(each.code, each.remedy) for each in group_warnings(findings(rows), 0.1)]
    [('group-error', 'To judge these rows, add --where sex=f')]
    """
    least = np.maximum(table["low"] - table["says"], table["says"] - table["high"])
    off = table[(table["kind"] == SLICE) & table["stands_out"].astype(bool) & (least > limit)]
    if not len(off):
        return ()
    number = f"{len(off):,} slices are" if len(off) > 1 else "one slice is"
    message = f"Errors can cancel over all rows: {number} off by more than the limit. {off['finding'].iloc[0]}"
    where = shlex.quote(str(off["slice"].iloc[0]))
    return (OpenWarning(GROUP_WARNING, message, f"To judge these rows, add --where {where}"),)


def headline(table: pd.DataFrame, error: str = "") -> tuple[str, ...]:
    """Headline of a table of `findings`: the largest significant gap, and the number of tested places.

    ``error`` is the sentence on a significant error over all rows (``advice.error_beyond_places``). It is first if no
    place is significantly off.

    >>> p = Predictions.from_confidence([0.9] * 100, [True] * 88 + [False] * 12)
    >>> headline(findings(p))
    ('No subset is significantly off.',
     'Of 2 subsets tested (bins and all rows), none is significantly off. With few rows, an error of a subset is ...
    """
    tests, found = int(table["p"].notna().sum()), int(table["stands_out"].sum())
    small = len(table) - tests
    other = f"{'more ' if tests else ''}{'subset has' if small == 1 else 'subsets have'}"
    more = f" {small:,} {other} too few rows to be tested." if small else ""
    if not tests:
        return f"{error} Every subset has too few rows to be tested.".strip(), more.strip()
    tested = set(table.loc[table["p"].notna(), "kind"])
    kinds = listed(list(dict.fromkeys(noun for kind, noun in _NOUNS.items() if kind in tested)))
    looked = f"Of {tests:,} {'subset' if tests == 1 else 'subsets'} tested ({kinds})"
    none = f"{error} No single subset is significantly off." if error else "No subset is significantly off."
    first = str(table["finding"].iloc[0]) if found else none
    if tests > 1 and one_direction(table):
        more = f" {_NEARLY_ALL}{more}"
    whole = bool(table.loc[table["kind"] == OVERALL, "stands_out"].any())
    off = table[table["stands_out"]]
    named = listed(off["place"].tolist()) if 1 < found <= _NAMED and off["kind"].isin([SLICE, OVERALL]).all() else ""
    return first, count_words(looked, found, more, "subset", "all rows" if whole else "", named)


_NAMED = 3
"""Maximum number of significant slices that the headline names."""
_NEARLY_ALL = "Nearly all gaps have the same direction, so the main finding is about all rows, not about one subset."
_NOUNS = {BIN: "bins", CELL: "classes", PREDICTED: "classes", CLASS: "classes", SLICE: "slices", OVERALL: "all rows"}
_CANCEL = " Gaps at different confidences cancel in this mean: over the bins, the average gap is {}."
OF_BINS = "error over bins"
"""Subject of the p-value of a predicted class: gaps of its bins, even if they cancel in its mean."""


def _places(
    predictions: Predictions,
    rows: Predictions,
    notion: str,
    bins: int | str | BinningScheme | None,
    by: str | Sequence[str] | None,
    level: float,
    fewest: int,
) -> Iterator[pd.DataFrame]:
    """Yield the tested places of each family; ``rows`` are the claims of the predictions."""
    columns = list(_cut(rows, by))
    kinds = kinds_with_slices(rows) if columns else kinds_of_places(rows)

    def judged(lines: pd.DataFrame, families: int = kinds, corrected: Float64s | None = None) -> pd.DataFrame:
        return _judged(lines, fewest, families, counts_rows(rows), level, corrected)

    yield judged(_bins(predictions, rows, notion, bins, level))
    if rows.kind != "confidence":
        yield judged(_cells(rows, bins_of(predictions, bins), level))
        yield judged(_predicted(rows, bins, fewest, level))
    overall = _overall(predictions, rows, notion, bins, level)
    yield judged(overall, corrected=overall["p"].to_numpy(dtype=np.float64))
    if rows.kind in ("full", "per-class"):
        yield judged(_classes(rows, level))
    many = len(columns) if by is None else max(len(columns), columns_looked_at(rows))
    for column in columns:
        yield judged(_slices(rows, column, level), kinds * many)


def _bins(
    predictions: Predictions, rows: Predictions, notion: str, bins: int | str | BinningScheme | None, level: float
) -> pd.DataFrame:
    """Every bin of the reliability diagram that has rows."""
    diagram = reliability(predictions, bins, notion=notion)
    edges = diagram.lower[1:].astype(rows.confidence.dtype)
    cell = np.searchsorted(edges, rows.confidence, side="right").astype(np.intp)
    filled = np.flatnonzero(diagram.count > 0)
    found = {name: part[filled] for name, part in _shares(rows, cell, diagram.n_bins, level).items()}
    return _lines(BIN, rows, found, bin=filled, lower=diagram.lower[filled], upper=diagram.upper[filled])


def _cells(rows: Predictions, scheme: BinningScheme, level: float) -> pd.DataFrame:
    """Every predicted class in every bin that has rows."""
    claims: Any = claims_of(rows, "top-label")
    table = tabulate(claims, [scheme], pooled=False)[0]
    stratum, b = np.nonzero(table.count > 0)
    shares = _shares(rows, table.cells(claims.scores, claims.codes), table.count.size, level)
    found = {name: part.reshape(table.count.shape)[stratum, b] for name, part in shares.items()}
    ends = {"lower": table.lower[stratum, b], "upper": table.upper[stratum, b]}
    return _lines(CELL, rows, found, code=stratum, bin=b, **ends)


def _predicted(rows: Predictions, bins: int | str | BinningScheme | None, fewest: int, level: float) -> pd.DataFrame:
    """Every predicted class at any confidence: errors of its bins add up even if each is small."""
    every = rows.n_classes or 0
    shares = _shares(rows, rows.predicted.astype(np.intp), every, level)
    tests = predicted_classes(rows, bins_of(rows, bins), fewest)
    shares["p"] = tests["p"].to_numpy(dtype=np.float64)
    lines = _lines(PREDICTED, rows, shares, code=np.arange(every))
    if "error" in tests:
        errors = tests["error"].to_numpy(dtype=np.float64)
        cancel = [gaps_cancel(*each) for each in zip(lines["says"], lines["right"], errors, strict=True)]
        lines["cancel"], lines["p_of"] = np.where(cancel, errors, np.nan), OF_BINS
    return lines[lines["rows"] > 0]


def _overall(
    predictions: Predictions, rows: Predictions, notion: str, bins: int | str | BinningScheme | None, level: float
) -> pd.DataFrame:
    """All rows as one place, with the same test and interval of this gap as in every view."""
    shares = _shares(rows, np.zeros(rows.n_rows, dtype=np.intp), 1, level)
    found = overall_gap(predictions, level, bins, notion)
    shares["p"] = np.array([found.p_value])
    # Shift the ends to this mean score, so that they stay exactly on the same side of it.
    ends = {"low": found.low, "high": found.high}
    shares |= {name: (shares["says"] + (end - found.claimed)).clip(0.0, 1.0) for name, end in ends.items()}
    return _lines(OVERALL, rows, shares)


def _classes(rows: Predictions, level: float) -> pd.DataFrame:
    """The probability of every class over all rows; with two classes that of the event is enough."""
    tally = claims_of(rows, "class-wise").tally(np.empty(0))
    event = rows.event if rows.kind == "full" else None
    code = np.arange(rows.n_classes or 0) if event is None else np.array([event])
    total = tally.count[code, 0]
    together = np.zeros(rows.n_rows, dtype=np.intp)
    shares = _shares(rows, together, 1, level)
    every = {name: np.repeat(part, len(code)) for name, part in shares.items()}
    every |= {"says": tally.score[code, 0] / total, "right": tally.outcome[code, 0] / total}
    every["p"] = _class_tests(rows, code, every)
    if rows.row_groups is not None:
        ends = [_ends_of_groups(rows, together, 1, level, rows.true_labels == c) for c in code]
        every |= {name: np.concatenate([each[name] for each in ends]) for name in ("low", "high")}
    return _lines(CLASS, rows, every, code=code)


def _class_tests(rows: Predictions, code: Codes, shares: dict[str, NDArray[Any]]) -> Float64s:
    """p-values for the number of rows of each class, given its probabilities."""
    if not counts_rows(rows):
        return share_test(shares["right"], shares["says"], shares["worth"], False)
    nodes = score_nodes()
    tally = claims_of(rows, "class-wise").tally(nodes[1:-1])
    counts = node_counts(nodes, tally.count[code], tally.score[code])
    return count_test(nodes, counts, tally.outcome[code].sum(axis=1))


def _slices(rows: Predictions, column: CutColumn, level: float) -> pd.DataFrame:
    """Every slice of one column."""
    shares = _shares(rows, column.codes.astype(np.intp), len(column.conditions), level)
    lines = _lines(SLICE, rows, shares, slice=[Slice((condition,)) for condition in column.conditions])
    return lines[lines["rows"] > 0]


def _cut(rows: Predictions, by: str | Sequence[str] | None) -> Iterable[CutColumn]:
    """The columns used for slices; by default all that divide rows into groups."""
    if by is not None and not len(by):
        return ()
    try:
        columns, _ = divided_by(rows, (by,) if isinstance(by, str) else by, PARTS)
    except NotAnswerable:
        if by is not None:
            raise
        return ()
    return columns.values()


def _shares(rows: Predictions, cell: Codes, cells: int, level: float) -> dict[str, NDArray[Any]]:
    """Rows, effective sample size, mean confidence, accuracy and p of each cell; NaN without weight.

    For rows in groups also the ends of the accuracy's interval, which do not follow from these numbers.
    """
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    total, says, right = (
        np.bincount(cell, weights * part, cells) for part in (1.0, rows.confidence.astype(np.float64), rows.correct)
    )
    number, groups = rows_of_cells(rows, cell, cells)
    together = {} if groups is None else {"groups": groups}
    with np.errstate(invalid="ignore"):
        shares = {"says": says / total, "right": right / total}
    tests = {"p": p_of_cells(rows, cell, cells)}
    ends = {} if groups is None else _ends_of_groups(rows, cell, cells, level, rows.correct)
    return {"rows": number, **together, "worth": worth_of_cells(rows, cell, cells), **shares, **tests, **ends}


def _ends_of_groups(rows: Predictions, cell: Codes, cells: int, level: float, right: Bools) -> dict[str, Float64s]:
    """Ends of the interval of each cell's share of rows that are ``right``, where rows belong to groups."""
    low, high, _ = shares_in_cells(rows, cell, right, np.arange(rows.n_rows), cells, level)
    return {"low": low, "high": high}


def _lines(kind: str, rows: Predictions, shares: dict[str, NDArray[Any]], **place: Any) -> pd.DataFrame:
    """One line per place; code, bin and slice are None if not applicable."""
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
    lines: pd.DataFrame, fewest: int, families: int, counted: bool, level: float, corrected: Float64s | None
) -> pd.DataFrame:
    """The lines of a family with intervals and p-values, corrected unless already corrected."""
    worth, says, right = (lines[name].to_numpy(dtype=np.float64) for name in ("worth", "says", "right"))
    enough = worth >= fewest
    p, holm = corrected_p(lines["p"].to_numpy(dtype=np.float64), enough, families)
    together = holm if corrected is None else np.where(enough, corrected, np.nan)
    low, high = share_ends(right, worth, counted, level)
    if "low" in lines:
        low, high = (lines[name].to_numpy(dtype=np.float64) for name in ("low", "high"))
    least = np.maximum(np.maximum(low - says, says - high), 0.0)
    off = together <= SIGNIFICANCE
    p_of = lines.get("p_of", "")
    cancel = lines["cancel"] if "cancel" in lines else np.full(len(lines), np.nan)
    return lines.drop(columns=["p", "p_of", "cancel"], errors="ignore").assign(
        gap=right - says,
        low=low,
        high=high,
        level=level,
        p=p,
        p_of=p_of,
        p_corrected=together,
        stands_out=off,
        rows_off=np.where(enough, lines["rows"] * least, 0.0),
        cancel=np.where(off, cancel, np.nan),
    )


def _sentence(line: Any, counted: bool, single: bool, event: EventWords | None = None) -> str:
    """Sentence for a line; it claims no more than its test shows."""
    says, right = told_apart(line.says, line.right)
    rows = of_rows(line.rows, line.worth, line._asdict().get("groups"))
    name = "" if line.code is None else _name(line)
    confidence = "" if line.bin is None else _confidence(line, single)
    when = f"{name} is predicted with confidence {confidence}" if name else f"it says {confidence}"
    if event is not None:
        return _of_event(line, counted, single, event)
    if math.isnan(line.p):
        place = {CLASS: f"of {name}", PREDICTED: f"when {name} is predicted"}.get(line.kind, "over all rows")
        where = f"when {when}" if confidence else f"where {line.slice.clause}" if line.kind == SLICE else place
        return f"Too few rows to tell {where}: {rows}."
    of = f"{round(line.right * line.rows):,} of {rows}" if counted else rows
    basis = f"{of}; {at_level(line.level)} interval {share_range(line.low, line.high)}"
    chance = "" if line.stands_out else " This gap is not significant."
    if line.kind == CLASS:
        return begun(
            f"{name} has a mean probability of {says} and is the true class of {right} of the rows ({basis}).{chance}"
        )
    if line.kind in (OVERALL, PREDICTED, SLICE):
        whole = {OVERALL: "Over all rows,", PREDICTED: f"When {name} is predicted,"}
        where = whole.get(line.kind) or f"Where {line.slice.clause},"
        link = "but" if line.stands_out else "and"
        return (
            f"{where} the mean confidence is {says}, {link} the model is right {right} of the time ({basis}).{chance}"
        )
    beside = "" if single else f"; mean confidence {says}"
    return f"When {when}, it is right {right} of the time ({basis}{beside}).{chance}"


def _of_event(line: Any, counted: bool, single: bool, event: EventWords) -> str:
    """Sentence for a line about the risk of an event."""
    says, right = told_apart(line.says, line.right, short_percent)
    rows = of_rows(line.rows, line.worth, line._asdict().get("groups"))
    given = "" if line.bin is None else _confidence(line, single)
    place = {BIN: f"among {event.noun} given a risk of {given}", OVERALL: "over all rows"}
    where = place.get(line.kind) or f"where {line.slice.clause}"
    if math.isnan(line.p):
        return f"Too few rows to tell {where}: {rows}."
    of = f"{round(line.right * line.rows):,} of {rows}" if counted else rows
    basis = f"{of}; {at_level(line.level)} interval {share_range(line.low, line.high)}"
    chance = "" if line.stands_out else " This gap is not significant."
    if line.kind == BIN:
        mean = "" if single else f"; mean risk {says}"
        return f"Of {event.noun} given a risk of {given}, {right} {event.phrase} ({basis}{mean}).{chance}"
    return f"{begun(where)}, the mean risk is {says}, and {right} {event.phrase} ({basis}).{chance}"


def _place(line: Any, single: bool) -> str:
    """The place of a line, in a few words."""
    if line.kind == OVERALL:
        return "all rows"
    if line.kind == SLICE:
        return str(line.slice.title)
    if line.kind in (CLASS, PREDICTED):
        return f"{_name(line)}, {'all rows' if line.kind == CLASS else 'when predicted'}"
    return ", ".join(([] if line.code is None else [_name(line)]) + [_confidence(line, single)])


def _confidence(line: Any, single: bool) -> str:
    """The range of confidences of a place in percent."""
    return in_percent(line.says) if single else edges_said(line.lower, line.upper)


def _name(line: Any) -> str:
    """The name of its class in a sentence."""
    return called(line[1])  # the column "class": no attribute can be called that
