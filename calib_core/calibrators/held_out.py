"""A seeded part of the rows, held out: the same rows whatever their order, and copies of a row told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.calibrators.neighbour_tuning import content_order
from calib_core.calibrators.row_weights import are_copies
from calib_core.predictions.predictions import Predictions


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Positions of the rows held out (a row of weight 2 can stand twice) and of those left, and what is left."""

    rows: Codes
    left: Codes
    rest: Predictions


def hold_out(predictions: Predictions, eligible: Bools, share: float, most: int, random_state: int) -> HeldOut:
    """Holds out floor(share * eligible rows) of them, at most ``most``, drawn at random.

    Rows are drawn in the order of their contents, so that the order they come in does not matter. A whole-numbered
    weight is that many copies of the row, each drawn on its own; other weights go with their row. Grouped rows are
    held out in whole groups, and nothing of these is left.

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


def _whole_groups(ordered: Codes, groups: Codes, wanted: int, rng: np.random.Generator) -> Codes:
    """All units of groups drawn at random, as many groups as fit into the number wanted, and at least one."""
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
    """The units by what their rows hold."""
    confidence = predictions.confidence[units]
    _, group, size = np.unique(confidence, return_inverse=True, return_counts=True)
    tied = np.unique(units[size[group] > 1])
    rank = np.zeros(predictions.n_rows, dtype=np.intp)
    if len(tied):  # only rows with the same confidence need to be told apart by all they hold
        part = predictions.take(tied)
        rank[tied[content_order(part.probs, part.true_labels, part.weights)]] = np.arange(len(tied))
    return units[np.lexsort((rank[units], confidence))]


def _left(predictions: Predictions, rows: Codes, weights: Float64s) -> Predictions:
    part = predictions.take(rows)
    if predictions.weights is None or (weights == predictions.weights[rows]).all():
        return part
    logits = None if part.logits is None else part.logits.array()
    return Predictions(part.probs, part.true_labels, class_names=part.class_names, weights=weights, logits=logits)
