"""What rows of whole predictions expect to lose and how far that varies, from one look at the matrix."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Float64s
from calib_core.claims.probability_vectors import LabelMoments
from calib_core.predictions.predictions import Predictions

_KEPT_ROWS = 1_000_000
"""Rows up to which what was found is kept: interval, floor and test of a score ask for the same."""


def label_losses(score: Any, predictions: Predictions) -> LabelMoments:
    """The losses of the predictions' rows by a score judged by its losses."""
    known = _KEPT.setdefault(predictions, {})
    if score in known:
        return known[score]
    sums = np.empty((len(LabelMoments._fields), predictions.n_rows))
    for where, block in predictions.rows.blocks(LARGE_BLOCK_BYTES):
        p = block.astype(np.float64)
        sums[:, where] = LabelMoments.of(p, score.label_losses(p))
    found = LabelMoments(*sums)
    if predictions.n_rows <= _KEPT_ROWS:
        known[score] = found
    return found


def berry_esseen(weight: Float64s, variance: Float64s, third: Float64s) -> float:
    """The ratio rho of a weighted mean of independent terms: its law is off the normal one by at most .56 rho.

    rho = sum_i w_i^3 E|X_i - E X_i|^3 / (sum_i w_i^2 Var X_i)^(3/2); 0 for terms that do not vary, whose mean is known.
    """
    share = weight / weight.sum()
    cubed = float(np.square(share) @ variance) ** 1.5
    return float((share * np.square(share)) @ third) / cubed if cubed > 0 else 0.0


_KEPT: WeakKeyDictionary[Predictions, dict[Any, LabelMoments]] = WeakKeyDictionary()
