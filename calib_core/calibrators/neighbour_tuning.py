"""Cross-validation of LECE and LECD: folds that ignore row order, losses for all thresholds, the best cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats, safe_log


def content_order(points: Floats, labels: Codes, weights: Float64s | None = None) -> Codes:
    """An order of rows by what they hold and not where they stand; rows that hold the same are interchangeable.

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


def fold_codes(points: Floats, labels: Codes, weights: Float64s | None, folds: int, random_state: int) -> Codes:
    """Fold of each row: seeded, of sizes that differ by at most one, the same whatever the order of the rows."""
    n = len(points)
    codes = np.empty(n, dtype=np.intp)
    codes[content_order(points, labels, weights)] = np.random.default_rng(random_state).permutation(
        np.arange(n) % folds
    )
    return codes


def losses_by_threshold(
    block: Float64s, proposed: Float64s, labels: Codes, weights: Float64s, thresholds: Sequence[float], slack: float
) -> Float64s:
    """Summed log loss of the thresholded, normalised rows, one a threshold: only row sums and true classes count."""
    line = np.arange(len(block))
    proposed = np.broadcast_to(proposed, block.shape)
    losses = []
    for t in thresholds:
        out = np.where((block <= t) | (proposed <= t + slack), block, proposed)
        sums = out.sum(axis=1)
        even = np.full(len(sums), 1.0 / block.shape[1])
        losses.append(-float(weights @ safe_log(np.divide(out[line, labels], sums, out=even, where=sums != 0))))
    return np.asarray(losses)


def shares(rows: Float64s) -> Float64s:
    """Rows divided by their sums; one of zeros, as raw scores of single classes can be, becomes uniform."""
    sums = rows.sum(axis=1, keepdims=True)
    if sums.all():
        return np.asarray(rows / sums)
    return np.where(sums == 0, 1.0 / rows.shape[1], rows / np.where(sums == 0, 1.0, sums))


def best_cell(losses: Float64s, shares: Sequence[float], thresholds: Sequence[float]) -> tuple[float, float]:
    """The (share, threshold) of least loss; among equals, to within rounding, the first in the grid."""
    best = losses.min()
    a, b = np.argwhere(losses <= best + 1e-12 * abs(best))[0]
    return shares[a], thresholds[b]
