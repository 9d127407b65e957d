"""Which bins of reliability diagrams are off beyond chance, all looked at together; and what can be claimed of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.errors import as_share
from calib_core.binning.base import BinningScheme
from calib_core.binning.bin_table import tabulate_at
from calib_core.claims.binary_claims import Claims
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.diagrams.reliability import reliability
from calib_core.estimators.debiased import worth
from calib_core.estimators.default_notion import claimed_rows
from calib_core.inference.intervals.clustered_rows import GroupsInCells
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.inference.significance.count_tests import (
    FEWEST,
    corrected_p,
    count_test,
    kinds_of_places,
    node_counts,
    p_of_cells,
    score_nodes,
    worth_of_cells,
)
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.top import Confidence
from calib_core.text import begun, exact_end, exact_range, told_apart

OVER, UNDER = "over-confident", "under-confident"
_OPEN = 0.5
"""A bin up to 1 that is wider than this has no upper end worth telling."""
_WIDE = 0.1
"""Bins in which a calibrated model's interval reaches further than this to a side can tell nothing small."""


def bins_standing_out(
    models: Mapping[str, Predictions],
    bins: int | str | BinningScheme | None = None,
    level: float = LEVEL,
    notion: str | None = "confidence",
) -> pd.DataFrame:
    """Every bin of the models' reliability diagrams: its interval, its test, and whether it is significantly off.

    A line per non-empty bin: model, bin, lower, upper, count, confidence, accuracy; ``low`` to ``high`` is the exact
    interval of its true accuracy at ``level``, of this bin alone. p is that of so many rows being right if every row's
    chance is its confidence (Poisson-binomial, ``count_test``); p_corrected is Holm's p among the bins of the model,
    times the kinds of places (``inference.picked_out``), whatever other models there are. ``stands_out`` where that is
    at most 0.05: "over-confident" or "under-confident", else empty. Bins worth fewer than ``FEWEST`` rows are not
    tested. ``too_few``: the interval would reach 10 points to a side for a calibrated model with these confidences,
    which is known before outcomes are seen. ``notion`` as for ``reliability``: of an event confidence is its predicted
    risk, accuracy its frequency, and over-confident means a risk too high.

    Rows of unequal weight and in groups are tested by Hoeffding's bound (``share_test``). In the interval, rows of
    unequal weight count as the effective sample size of their own bin, (sum w)^2 / sum w^2, rows of a group in a bin as
    one. What can mislead: the interval holds whatever the single rows' chances are and is for one bin: of ten bins of a
    calibrated model one interval excludes the confidence on average. A bin that does not stand out may still be off;
    the errors of its classes may cancel.

    References: Clopper & Pearson 1934; Hong 2013 (Poisson-binomial law); Kish 1965 (weights); Holm 1979.

    >>> p = Predictions.from_confidence([0.9] * 100 + [0.6] * 10, [True] * 70 + [False] * 30 + [True] * 6 + [False] * 4)
    >>> bins_standing_out({"net": p}, 5)[["count", "low", "high", "stands_out"]].round(2).values.tolist()
    [[10.0, 0.3, 0.85, ''], [100.0, 0.62, 0.78, 'over-confident']]
    """
    as_share(level, "level")
    frames = []
    for title, given in models.items():
        predictions = claimed_rows(given, notion)
        diagram = reliability(given, bins, notion=notion)
        frame, groups = diagram.frame(), predictions.answered.row_groups
        frame = frame[["bin", "lower", "upper", "count", "confidence", "accuracy"]]
        frame.insert(0, "model", title)
        claims = Confidence().split(predictions)
        cells = tabulate_at(claims, diagram.lower[1:])
        rows = worth(claims, cells)[0] if groups is None else GroupsInCells.of(claims, cells, groups).fewest
        p, enough = _tested(predictions, claims, diagram.lower[1:], cells.tally.outcome[0], cells.count[0])
        p, corrected = corrected_p(p, enough, kinds_of_places(predictions))
        which = frame["bin"]
        frames.append(frame.assign(rows=rows[which], p=p[which], p_corrected=corrected[which]))
    table = pd.concat(frames, ignore_index=True)
    rows, p, corrected = (table.pop(name).to_numpy() for name in ("rows", "p", "p_corrected"))
    says, right = table["confidence"].to_numpy(), table["accuracy"].to_numpy()
    low, high = clopper_pearson(right * rows, rows, level)
    calm = clopper_pearson(says * rows, rows, level)
    sides = np.where(corrected <= SIGNIFICANCE, np.where(right < says, OVER, UNDER), "")
    few = ((calm[1] - calm[0]) / 2 > _WIDE) | np.isnan(p)
    return table.assign(low=low, high=high, stands_out=sides, too_few=few, p=p, p_corrected=corrected)


def _tested(
    rows: Predictions, claims: Claims, edges: Float64s, positives: Float64s, count: Float64s
) -> tuple[Float64s, Bools]:
    """p-values of the bins between these inner edges, NaN of empty ones, and which have rows enough."""
    if claims.grain == "counts":
        return _tests_of_counts(claims, score_nodes(), edges, positives), count >= FEWEST
    answered = rows.answered
    cell = np.searchsorted(edges.astype(answered.confidence.dtype), answered.confidence, side="right")
    cell, cells = cell.astype(np.intp), len(edges) + 1
    return p_of_cells(answered, cell, cells), worth_of_cells(answered, cell, cells) >= FEWEST


def _tests_of_counts(claims: Any, nodes: Float64s, edges: Float64s, positives: Float64s) -> Float64s:
    """p-values of counts on a grid that holds these edges: every cell's rows are taken at its mean score."""
    cells = claims.stratum(0).cells
    number, sums = cells.count.astype(np.float64), np.asarray(cells.sums.value[0])
    mean = np.clip(sums / number, 0.0, 1.0)
    place = np.searchsorted(edges, mean, side="right") * (len(nodes) - 1)
    place = place + np.searchsorted(nodes[1:-1], mean, side="right")
    size = (len(edges) + 1) * (len(nodes) - 1)
    count, score = (
        np.bincount(place, part, size).astype(np.float64).reshape(-1, len(nodes) - 1) for part in (number, sums)
    )
    return count_test(nodes, node_counts(nodes, count, score), positives)


def headline(table: pd.DataFrame, names: Mapping[str, str] | None = None, happened: str = "") -> tuple[str, ...]:
    """What a table of `bins_standing_out` lets one claim, in a sentence or two: of its first model, then of others.

    ``names`` are what models are called in a sentence, by title. Only what the corrected tests show is
    claimed. ``happened`` is what the event is called in a sentence ("died"), where
    the table is about its predicted risk: then of its first model only.

    >>> p = Predictions.from_confidence([0.9] * 100 + [0.7] * 100, ([True] * 7 + [False] * 3) * 10 + [True, False] * 50)
    >>> headline(bins_standing_out({"Base model": p}, 5), {"Base model": "the base model"})
    ('The base model is over-confident in every bin.',)
    """
    called = {title: (names or {}).get(title, title) for title in dict.fromkeys(table["model"])}
    if happened:
        return _of_risks(table[table["model"] == table["model"].iloc[0]], happened)
    first, *others = (_claim(table[table["model"] == title], name) for title, name in called.items())
    if len(others) < 2:
        return (first, *others)
    off = [
        name for title, name in list(called.items())[1:] if (table["stands_out"][table["model"] == title] != "").any()
    ]
    if not off:
        return first, f"No bin of the other {len(others)} models is significantly off."
    listed = ", ".join(off) if len(off) < 4 else f"{len(off)} of them"
    return first, f"Of the other {len(others)} models, bins are significantly off in {listed}."


def _claim(table: pd.DataFrame, name: str) -> str:
    """One model's sentence."""
    sides = table["stands_out"].to_numpy()
    n, off = len(table), np.flatnonzero(sides != "")
    if not len(off):
        if table["too_few"].all():
            return f"Every bin of {name} has too few rows to tell."
        return f"No bin of {name} is significantly off."
    kinds = list(dict.fromkeys(sides[off]))
    if len(kinds) == 1:
        where = _stretch(table, off)
        if where is not None:
            return begun(f"{where}{name} is {kinds[0]} in every bin.")
    counts = " and ".join(f"{kind} in {int((sides == kind).sum())}" for kind in kinds)
    distance = (table["accuracy"] - table["confidence"]).abs().to_numpy()
    worst = table.iloc[off[np.argmax(distance[off])]]
    where = edges_said(float(worst["lower"]), float(worst["upper"]))
    says, right = told_apart(float(worst["confidence"]), float(worst["accuracy"]))
    numbers = f"mean confidence {says}, accuracy {right}"
    if len(off) == 1:
        return f"At {where}, {name} is {kinds[0]}: {numbers}."
    return begun(f"{name} is {counts} of {n} bins. The largest significant gap is at {where}: {numbers}.")


def _of_risks(table: pd.DataFrame, happened: str) -> tuple[str, ...]:
    """What the bins of a predicted risk show: where it is too high or too low, and the largest gap."""
    sides, n = table["stands_out"].map({OVER: "too high", UNDER: "too low"}).fillna("").to_numpy(), len(table)
    off = np.flatnonzero(sides != "")
    if not len(off):
        if table["too_few"].all():
            return ("Every bin of predicted risk has too few rows to tell.",)
        return ("No bin of predicted risk is significantly off.",)
    says, right = (table[name].to_numpy(dtype=np.float64) for name in ("confidence", "accuracy"))
    worst = off[np.argmax(np.abs(right - says)[off])]
    numbers = told_apart(float(says[worst]), float(right[worst]))
    example = f"At a mean risk of {numbers[0]}, {numbers[1]} {happened}."
    kinds = list(dict.fromkeys(sides[off]))
    if len(off) == 1:
        where = edges_said(float(table["lower"].iloc[worst]), float(table["upper"].iloc[worst]))
        return f"Predicted risks of {where} are {kinds[0]}.", example
    if len(kinds) == 1 and off[-1] - off[0] == len(off) - 1:
        where = edges_said(float(table["lower"].iloc[off[0]]), float(table["upper"].iloc[off[-1]]))
        return f"Predicted risks of {where} are {kinds[0]}.", example
    counted = " and ".join(f"{kind} in {int((sides == kind).sum())}" for kind in kinds)
    return f"Predicted risks are {counted} of {n} bins.", example


def edges_said(low: float, high: float) -> str:
    """A bin or a range in percent, with the digits that make it exact; "or more" for a wide last one.

    >>> edges_said(14 / 15, 1.0), edges_said(0.985, 0.99), edges_said(0.02, 1.0)
    ('93.3 to 100 %', '98.5 to 99 %', '2 % or more')
    """
    if high >= 1 and low > 0 and high - low > _OPEN:
        return f"{exact_end(low)} or more"
    return exact_range(low, high)


def _stretch(table: pd.DataFrame, off: np.ndarray[tuple[int], np.dtype[np.intp]]) -> str | None:
    """From where on, or up to where, every bin stands out and none else does; None where it is not so."""
    n = len(table)
    if len(off) == n and n > 1:
        return ""
    if len(off) > 1 and off[-1] - off[0] == len(off) - 1:
        if off[-1] == n - 1:
            return f"Above {exact_end(float(table['lower'].iloc[off[0]]))}, "
        if off[0] == 0:
            return f"Below {exact_end(float(table['upper'].iloc[off[-1]]))}, "
    return None
