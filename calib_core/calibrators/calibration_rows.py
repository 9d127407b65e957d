"""Calibration rows: effective sample size under weights, seeded held-out rows, and claims of a summary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core.claims.binary_claims import Stratum
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.summaries.cells import CELLS, EDGES, SUMS, Cells, lowest
from calib_core.summaries.counted_claims import NEEDS_ROWS, CountedStratum
from calib_core.summaries.mergeable import Summary, merged
from calib_core.text import percent

MOST_COPIES = 10_000_000
"""Whole-number weights with a sum up to this are copies of rows; with a larger sum they are mere factors."""


def are_copies(weights: Float64s) -> bool:
    """Return True if the weights are whole numbers that can be read as copies of their rows.

    >>> are_copies(np.array([2.0, 0.0])), are_copies(np.array([0.5, 1.0])), are_copies(np.array([1e8, 1e8]))
    (True, False, False)
    """
    whole = bool((weights <= MOST_COPIES).all()) and bool((weights == np.floor(weights)).all())
    return whole and float(weights.sum()) <= MOST_COPIES


def as_rows(weights: Float64s) -> Float64s:
    """Weights on the scale of rows: unchanged if they are copies, else scaled to the effective sample size.

    The effective sample size is Kish's (sum w)^2 / sum w^2: n if all weights are equal, less otherwise, at any scale of
    the weights.

    References: Kish 1965, §11.7.

    >>> as_rows(np.array([3.0, 1.0])).tolist(), as_rows(np.array([0.5, 0.5])).tolist()
    ([3.0, 1.0], [1.0, 1.0])
    """
    if are_copies(weights):
        return weights
    shares: Float64s = weights / weights.max()
    if (shares == 1.0).all():
        return shares
    rows: Float64s = shares * float(shares.sum() / (shares @ shares))
    return rows


def row_count(weights: Float64s | None, n: int) -> float:
    """Effective number of n rows with these weights.

    >>> row_count(None, 3), row_count(np.array([0.2, 0.2]), 2), row_count(np.array([0.75, 0.25]), 2)
    (3.0, 2.0, 1.6)
    """
    if weights is None or not weights.any():
        return float(n if weights is None else 0)
    return round(float(as_rows(weights).sum()), 6)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Positions of held-out rows (a row of weight 2 can appear twice) and of the others, and the other rows."""

    rows: Codes
    left: Codes
    rest: Predictions


def hold_out(predictions: Predictions, eligible: Bools, share: float, most: int, random_state: int) -> HeldOut:
    """Hold out floor(share * eligible rows) rows, at most ``most``, drawn at random.

    Rows are sorted by their contents before the draw, so their order does not matter. A whole-number weight is that
    many copies of the row, each drawn separately; other weights stay with their row. Grouped rows are held out in whole
    groups.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]] * 10, [0, 1] * 10)
    >>> parts = hold_out(p, p.correct, 0.1, 500, random_state=0)
    >>> len(parts.rows), parts.rest.n_rows
    (2, 18)
    """
    copies = _copies(predictions)
    units = np.repeat(np.arange(predictions.n_rows), copies)
    units = units[eligible[units]]
    rng = np.random.default_rng(random_state)
    ordered, wanted = _in_order(predictions, units), min(int(len(units) * share), most)
    groups = predictions.groups
    if groups is None:
        chosen = ordered[rng.permutation(len(units))[:wanted]]
    else:
        chosen = _whole_groups(ordered, groups, wanted, rng)
    weights = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights.copy()
    taken = np.bincount(chosen, minlength=predictions.n_rows)
    if predictions.weights is None or (copies == weights).all():
        weights -= taken
    else:
        weights[taken > 0] = 0.0
    if groups is not None:
        weights[np.isin(groups, groups[chosen])] = 0.0
    left = np.flatnonzero(weights > 0)
    return HeldOut(chosen, left, _left(predictions, left, weights[left]))


def dealt_out(predictions: Predictions, folds: int, random_state: int) -> list[tuple[Codes, Float64s, Predictions]]:
    """Deal rows to random folds; of each fold its positions, their weights in it, and the rows of the other folds.

    Labels play no part, and neither does the order of the rows. Copies of a row are dealt out one by one; rows of a
    group stay together. There are at most as many folds as rows or groups; empty folds are left out.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]] * 3, [0, 1] * 3)
    >>> [(len(rows), rest.n_rows) for rows, _, rest in dealt_out(p, 2, random_state=0)]
    [(3, 3), (3, 3)]
    """
    copies = _copies(predictions)
    units = _in_order(predictions, np.repeat(np.arange(predictions.n_rows), copies))
    groups = predictions.groups
    of = np.arange(len(units)) if groups is None else pd.factorize(groups[units])[0]
    parts = int(of.max(initial=-1)) + 1
    fold = np.random.default_rng(random_state).permutation(parts)[of] % max(folds, 1)
    weights = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights
    counted = predictions.weights is None or bool((copies == weights).all())
    dealt = []
    for f in range(folds):
        mine = np.bincount(units[fold == f], minlength=predictions.n_rows).astype(np.float64)
        mine = mine if counted else mine * weights
        here, left = np.flatnonzero(mine > 0), np.flatnonzero(weights - mine > 0)
        if len(here) and len(left):
            dealt.append((here, mine[here], _left(predictions, left, (weights - mine)[left])))
    return dealt


def _whole_groups(ordered: Codes, groups: Codes, wanted: int, rng: np.random.Generator) -> Codes:
    """Units of randomly drawn groups: as many whole groups as fit into the number wanted, at least one."""
    codes, names = pd.factorize(groups[ordered])
    turn = rng.permutation(len(names))[codes]
    order = np.argsort(turn, kind="stable")
    through = np.cumsum(np.bincount(turn))
    fit = int(through[max(int(np.searchsorted(through, wanted, side="right")) - 1, 0)]) if wanted else 0
    return np.asarray(ordered[order[:fit]])


def _copies(predictions: Predictions) -> Codes:
    w = predictions.weights
    if w is None:
        return np.ones(predictions.n_rows, dtype=np.intp)
    return (w if are_copies(w) else w > 0).astype(np.intp)


def _in_order(predictions: Predictions, units: Codes) -> Codes:
    """Units sorted by the contents of their rows."""
    confidence = predictions.confidence[units]
    _, group, size = np.unique(confidence, return_inverse=True, return_counts=True)
    tied = np.unique(units[size[group] > 1])
    rank = np.zeros(predictions.n_rows, dtype=np.intp)
    if len(tied):  # only rows with the same confidence need a comparison of all their contents
        part = predictions.take(tied)
        rank[tied[content_order(part.probs, part.true_labels, part.weights)]] = np.arange(len(tied))
    return units[np.lexsort((rank[units], confidence))]


def _left(predictions: Predictions, rows: Codes, weights: Float64s) -> Predictions:
    part = predictions.take(rows)
    if predictions.weights is None or (weights == predictions.weights[rows]).all():
        return part
    logits = None if part.logits is None else part.logits.array()
    return Predictions(part.probs, part.true_labels, class_names=part.class_names, weights=weights, logits=logits)


Counts: TypeAlias = Literal["never", "edges", "cells", "outcomes"]
"""Score that represents a counted claim; "never": counts are not enough."""

MOST_AT_ENDS = 0.01
"""Maximum share of claims in the grid's first and last cell if log-odds matter: they are unbounded there."""

_TOGETHER = 16


def summary_of_parts(parts: Iterable[Predictions]) -> Summary:
    """Return the summary of rows that come in parts.

    >>> p = Predictions.from_confidence([0.7, 0.9], [True, True])
    >>> summary_of_parts([p, p]).n_rows
    4
    """
    found: list[Summary] = []
    first = 0
    for part in parts:
        found.append(Summary.of(part, first_row=first))
        first += part.n_rows
        if len(found) >= _TOGETHER:
            found = [merged(found)]
    if not found:
        raise InputError("there are no rows to fit on; give at least one part with rows")
    return merged(found)


def claims_of(stratum: CountedStratum, counts: Counts) -> Stratum:
    """Return the claims with whole weights, each with its representative score.

    Scores move by less than the width of a cell, .001 at most. With "outcomes" the mean score stays that of the claims
    in a cell that came true, and of those that did not. Both follow from the exact sums of s, v = s (1 - s) and r^2 =
    (z - s)^2, since z^2 = z gives sum z s = (sum z + sum s - sum v - sum r^2) / 2. It raises NotAnswerable if more than
    ``MOST_AT_ENDS`` of the claims are in the first and last cell, whose log-odds are unbounded.
    """
    if counts == "never":
        raise NotAnswerable(NEEDS_ROWS.format("this map of scores"))
    cells = stratum.cells
    true = cells.outcome.astype(np.float64)
    false = cells.count - true
    if counts == "edges":
        hits = misses = lowest(cells.place, stratum.dtype)
    elif counts == "cells":
        hits = misses = stratum.means[0]
    else:
        _check_ends(cells)
        hits, misses = _means(cells, true, false)
    kept = [weights > 0 for weights in (true, false)]
    scores = np.concatenate([hits[kept[0]], misses[kept[1]]])
    outcomes = np.repeat([True, False], [int(k.sum()) for k in kept])
    return Stratum(np.clip(scores, 0, 1), outcomes, np.concatenate([true[kept[0]], false[kept[1]]]))


def _means(cells: Cells, true: Float64s, false: Float64s) -> tuple[Float64s, Float64s]:
    """Mean score of the claims of each cell that came true, and of those that did not, clipped to the cell."""
    sums = dict(zip(SUMS, cells.sums.value, strict=True))
    s = sums["score"]
    of_true = (true + s - sums["claim"] - sums["second"]) / 2
    low, high = np.append(0.0, EDGES)[cells.place], np.append(EDGES, 1.0)[cells.place]
    means = (of_true / np.maximum(true, 1), (s - of_true) / np.maximum(false, 1))
    return np.clip(means[0], low, high), np.clip(means[1], low, high)


def _check_ends(cells: Cells) -> None:
    share = float(cells.count[(cells.place == 0) | (cells.place == CELLS - 1)].sum() / max(cells.n_claims, 1))
    if share > MOST_AT_ENDS:
        raise NotAnswerable(
            f"{percent(share)} of the claims are below {EDGES[0]:g} or above {EDGES[-1]:g}, where a summary does not "
            "distinguish log-odds: fit on rows, or choose a map that only needs counts, such as isotonic regression"
        )


def content_order(points: Floats, labels: Codes, weights: Float64s | None = None) -> Codes:
    """Order of rows by their contents, whatever their positions; rows with equal contents are interchangeable.

    >>> rows, labels = np.array([[0.5, 0.5], [0.1, 0.9], [0.5, 0.5]]), np.array([1, 0, 0])
    >>> order, reverse = content_order(rows, labels), content_order(rows[::-1], labels[::-1])
    >>> (rows[order] == rows[::-1][reverse]).all() and (labels[order] == labels[::-1][reverse]).all()
    np.True_
    """
    whole = np.ascontiguousarray(np.column_stack([points, labels.astype(points.dtype)]))
    # Rows compared as strings of bytes: one sort for any number of classes.
    keys = whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1]))).ravel()
    first = np.arange(len(keys)) if weights is None else np.argsort(weights, kind="stable")
    return first[np.argsort(keys[first], kind="stable")]
