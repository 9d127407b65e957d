"""What weights count for where rows are counted: points per bin, rows a stratum needs, rows a fit needs."""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import Float64s

MOST_COPIES = 10_000_000
"""Whole-numbered weights of up to so many rows in all are copies of rows; beyond that they are mere factors."""


def are_copies(weights: Float64s) -> bool:
    """Whether the weights are whole numbers that can stand for copies of their rows.

    >>> are_copies(np.array([2.0, 0.0])), are_copies(np.array([0.5, 1.0])), are_copies(np.array([1e8, 1e8]))
    (True, False, False)
    """
    whole = bool((weights <= MOST_COPIES).all()) and bool((weights == np.floor(weights)).all())
    return whole and float(weights.sum()) <= MOST_COPIES


def as_rows(weights: Float64s) -> Float64s:
    """The weights on the scale of rows: as they are where they are copies, else summing to the effective rows.

    The effective rows are Kish's (sum w)^2 / sum w^2: n where all weights are equal, fewer otherwise, whatever the
    scale of the weights.

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
    """Rows that n rows with these weights count for.

    >>> row_count(None, 3), row_count(np.array([0.2, 0.2]), 2), row_count(np.array([0.75, 0.25]), 2)
    (3.0, 2.0, 1.6)
    """
    if weights is None or not weights.any():
        return float(n if weights is None else 0)
    return round(float(as_rows(weights).sum()), 6)
