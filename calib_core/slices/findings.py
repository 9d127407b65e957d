"""Where these probabilities are significantly off, in plain sentences: every place tested, the largest gap first."""

from __future__ import annotations

import math
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
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.diagrams import reliability
from calib_core.diagrams.bins_that_stand_out import edges_said
from calib_core.diagrams.class_list import gaps_cancel
from calib_core.diagrams.local_accuracy import EventWords
from calib_core.diagrams.overall_gap import overall_gap
from calib_core.estimators.base import claimed_rows, event_name, notion_looked_at
from calib_core.inference.intervals.clustered_rows import shares_in_cells
from calib_core.inference.intervals.share_intervals import share_ends, share_test
from calib_core.inference.significance.count_tests import (
    FEWEST,
    corrected_p,
    count_test,
    count_words,
    counts_rows,
    kinds_of_places,
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
from calib_core.slices.conditions import Slice
from calib_core.slices.cut import PARTS, CutColumn, columns_looked_at, divided_by
from calib_core.text import (
    at_level,
    begun,
    between,
    called,
    in_percent,
    of_rows,
    points_of,
    share_range,
    short_percent,
    told_apart,
)

SHOWN = 12
"""Places that a picture shows, the worst of those tested."""
CELL, BIN, PREDICTED, OVERALL = "class and bin", "bin", "predicted class", "direction"
CLASS, SLICE = "class", "slice"
"""Kinds: a predicted class in a bin, a bin of all rows, a predicted class whatever its confidence, all rows; one
class's probability, a slice."""


def findings(
    predictions: Predictions,
    bins: int | str | BinningScheme | None = None,
    by: str | Sequence[str] | None = None,
    level: float = LEVEL,
    fewest: int = FEWEST,
    notion: str | None = None,
    words: EventWords | tuple[str, str] | None = None,
) -> pd.DataFrame:
    """Where these probabilities are significantly off: one sentence per place, the largest significant gap first.

    The places: "bin", the bins of the reliability diagram; "class and bin", the rows of each predicted class in each
    bin of the confidence; "predicted class", all rows of each predicted class; "class", the probability of each class
    over all rows; "slice", the rows that share a value of one of the metadata columns ``by`` (by default all that
    divide rows into groups); and "direction", all rows. Each line sets the mean score (``says``) against the share that
    came true (``right``) of its ``rows``; p is that of so many coming true if every row's chance is its score
    (Poisson-binomial, ``count_test``), for a predicted class that of its errors over all bins (``per_class_tests``).

    ``stands_out``: p_corrected is at most 0.05. p_corrected is Holm's p in the family (bins, classes, values of
    one column), times the number of kinds of places, and for slices times the number of columns: the chance of any
    false alarm among all places is at most 5 %, and a place has this p in every view (``inference.picked_out``). All
    rows together are the question fixed in advance: their p allows for the errors that it bounds, not for the other
    places, and p and interval are those of ``diagrams.overall_gap`` and ``risk.in_the_large``.

    ``low`` to ``high`` is the exact interval of the mean chance behind ``right``, at ``level``, of this place alone.
    ``rows_off``: rows times the smallest gap the interval leaves. Places worth fewer than ``fewest`` rows are listed
    last, without p. Classes in bins of discrete outputs have one bin a value. Rows that a model abstains on are left
    out. Weights that are no counts of copies, and rows in groups, count as the fewer rows of equal weight they are
    ``worth``, (sum w)^2 over the sum over ``groups`` of (its weight)^2, by Hoeffding's bound, which holds however the
    rows of a group depend on each other. The interval of rows in groups is Korn and Graubard's, as in the reliability
    diagram: that of as many independent rows as tell as much. What can mislead: ``stands_out`` follows p_corrected, and
    the interval, which holds whatever the single rows' chances are and is not corrected, can include or exclude
    ``says`` where it does not follow. Places that are picked for a large gap had bad luck, too: their true gap is
    smaller on average. Gaps that cancel within a place do not show; what does not stand out is not shown to be right;
    rows of different groups, or all where no groups are given, are taken to be independent.

    With ``notion`` "event" (None: where there are two classes) the places are the bins of the predicted risk, all rows,
    and slices: ``says`` is the mean risk, ``right`` how often the event happened, and ``words`` what rows and event are
    called: ("patients", "died"). Without ``bins`` those of the risk are ``binning.risk_bins``.

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
    named = EventWords(*words) if isinstance(words, tuple) else words
    called_so = None if notion != "event" else named or EventWords.of(event_name(predictions))
    rows = claimed_rows(predictions, notion).answered
    counted = counts_rows(rows)
    table = pd.concat(list(_places(predictions, rows, notion, bins, by, level, fewest)), ignore_index=True)
    off, gap, p = (table[name].to_numpy() for name in ("stands_out", "gap", "p"))
    table = table.iloc[worst_first(off.astype(np.bool_), gap, p)].reset_index(drop=True)
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


def headline(table: pd.DataFrame) -> tuple[str, ...]:
    """What a table of `findings` lets one claim: the largest significant gap, and how many places were tested.

    >>> p = Predictions.from_confidence([0.9] * 100, [True] * 88 + [False] * 12)
    >>> headline(findings(p))
    ('No place is significantly off.',
     'Of 2 places tested, none is significantly off. With few rows a place can hardly be shown to be off.')
    """
    tests, found = int(table["p"].notna().sum()), int(table["stands_out"].sum())
    small = len(table) - tests
    other = f"{'more ' if tests else ''}{'place has' if small == 1 else 'places have'}"
    more = f" {small:,} {other} too few rows to be tested." if small else ""
    if not tests:
        return "Every place has too few rows to be tested.", more.strip()
    looked = f"Of {tests:,} {'place' if tests == 1 else 'places'} tested"
    first = str(table["finding"].iloc[0]) if found else "No place is significantly off."
    return first, count_words(looked, found, more, "place")


_CANCEL = " Its gaps at different confidences cancel in this mean: over its bins they are {} on average."
OF_BINS = "error over bins"
"""What the p-value of a predicted class is of: gaps of its bins that cancel in its mean count."""


def _places(
    predictions: Predictions,
    rows: Predictions,
    notion: str,
    bins: int | str | BinningScheme | None,
    by: str | Sequence[str] | None,
    level: float,
    fewest: int,
) -> Iterator[pd.DataFrame]:
    """The places of each family, judged; ``rows`` are the claims that the predictions make."""
    kinds = kinds_of_places(rows)

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
    columns = list(_cut(rows, by))
    many = max(len(columns), columns_looked_at(rows)) if columns else 0
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
    """Every predicted class, whatever its confidence: errors of its bins add up where all are small."""
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
    """All rows as one place, by the test and with the interval of this gap that every view has."""
    shares = _shares(rows, np.zeros(rows.n_rows, dtype=np.intp), 1, level)
    found = overall_gap(predictions, level, bins, notion)
    shares["p"] = np.array([found.p_value])
    # Ends beside this mean score: to the last bit on the side of it on which they are beside their own.
    ends = {"low": found.low, "high": found.high}
    shares |= {name: (shares["says"] + (end - found.claimed)).clip(0.0, 1.0) for name, end in ends.items()}
    return _lines(OVERALL, rows, shares)


def _classes(rows: Predictions, level: float) -> pd.DataFrame:
    """The probability of every class over all rows; of two that add up to 1 that of the event tells it all."""
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
    """p-values that as many rows are of each class as its probabilities state."""
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


def _shares(rows: Predictions, cell: Codes, cells: int, level: float) -> dict[str, NDArray[Any]]:
    """Of each cell its rows, their effective number, mean confidence, share right and p; NaN where it has no weight.

    Of rows in groups also the ends of the share's interval, which are not known from these numbers.
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
    lines: pd.DataFrame, fewest: int, families: int, counted: bool, level: float, corrected: Float64s | None
) -> pd.DataFrame:
    """The lines of a family with p-values, corrected unless they are given so, and intervals."""
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
        return f"{where} the mean confidence is {says}, and it is right {right} of the time ({basis}).{chance}"
    beside = "" if single else f"; mean confidence {says}"
    return f"When {when}, it is right {right} of the time ({basis}{beside}).{chance}"


def _of_event(line: Any, counted: bool, single: bool, event: EventWords) -> str:
    """What a line shows about the risk of an event."""
    says, right = told_apart(line.says, line.right, short_percent)
    rows = of_rows(line.rows, line.worth, line._asdict().get("groups"))
    given = "" if line.bin is None else _confidence(line, single)
    place = {BIN: f"among {event.noun} given a risk of {given}", OVERALL: "over all rows"}
    where = place.get(line.kind) or f"where {line.slice.title}"
    if math.isnan(line.p):
        return f"Too few rows to tell {where}: {rows}."
    of = f"{round(line.right * line.rows):,} of {rows}" if counted else rows
    basis = f"{of}; {at_level(line.level)} interval {between(line.low, line.high)}"
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
