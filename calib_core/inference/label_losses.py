"""What rows of whole predictions expect to lose, how far that varies and where it ends, from one look at the matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from calib_core._arrays import LARGE_BLOCK_BYTES, Float64s, Floats
from calib_core.predictions import Predictions

_KEPT_ROWS = 1_000_000
"""Rows up to which what was found is kept: interval, floor and test of a score ask for the same."""


@dataclass(frozen=True, eq=False)
class LabelLosses:
    """Of every row, (n,), what its loss can be when a label l of probability p_l loses S_l.

    ``expected`` is sum_l p_l S_l; ``variance`` and ``third`` are sum_l p_l |S_l - expected|^m, m = 2 and 3; ``least``
    and ``most`` the ends of S_l.
    """

    expected: Float64s
    variance: Float64s
    third: Float64s
    least: Float64s
    most: Float64s


def label_losses(score: Any, predictions: Predictions) -> LabelLosses:
    """The losses of the predictions' rows by a score judged by its losses."""
    known = _KEPT.setdefault(predictions, {})
    if score in known:
        return known[score]
    sums = np.empty((5, predictions.n_rows))
    for where, block in predictions.rows.blocks(LARGE_BLOCK_BYTES):
        sums[:, where] = _of_block(score, block)
    found = LabelLosses(*sums)
    if predictions.n_rows <= _KEPT_ROWS:
        known[score] = found
    return found


def _of_block(score: Any, block: Floats) -> list[Float64s]:
    p = block.astype(np.float64)
    lost = score.label_losses(p)
    expected = np.einsum("ij,ij->i", p, lost)
    least, most = lost.min(axis=1), lost.max(axis=1)
    away = np.abs(np.subtract(lost, expected[:, None], out=lost), out=lost)
    # Products, since a power of floats takes thirty times as long, and is rounded differently by every machine.
    p *= away
    p *= away
    return [expected, p.sum(axis=1), np.einsum("ij,ij->i", p, away), least, most]


_KEPT: WeakKeyDictionary[Predictions, dict[Any, LabelLosses]] = WeakKeyDictionary()
