"""How far two models' errors in bins differ, from each row's residuals under both and the cells the two put it in."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.distributions import norm
from calib_core.inference.intervals.poisson_limits import beyond

FOLDS = 5
"""Parts of the rows; a part's signs come from the others."""
FEWEST_SURPRISES = 10.0
"""Sum of squared residuals below which the normal law is not trusted and bounds from counts are given."""
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Residuals:
    """One model on its cells: outcome minus score of each row, in [-1, 1], and the cell it counts in, both (n,)."""

    values: Float64s
    cell: Codes

    @cached_property
    def rows(self) -> Codes:
        """Rows of each cell."""
        return np.bincount(self.cell)

    @cached_property
    def judged(self) -> Bools:
        """Rows that share their cell with another, (n,): of one alone its noise cannot be told from its error."""
        return np.asarray(self.rows[self.cell] >= 2)

    @property
    def cells(self) -> int:
        """How many cells hold two rows or more."""
        return int((self.rows >= 2).sum())

    @property
    def surprises(self) -> float:
        """Sum of the squared residuals: how many outcomes went against what was said, by their size."""
        return float(np.square(self.values).sum())

    def sums(self, values: Float64s) -> Float64s:
        return np.bincount(self.cell, values, len(self.rows)).astype(np.float64, copy=False)

    def reordered(self, order: Codes) -> Residuals:
        return Residuals(self.values[order], self.cell[order])


@dataclass(frozen=True)
class Difference:
    """``point``, which lies between ``low`` and ``high``, and the p-value of no difference."""

    point: float
    low: float
    high: float
    p_value: float


def squared_difference(a: Residuals, b: Residuals, level: float) -> Difference:
    """Interval for the squared error of a less that of b, each over its own cells of two rows or more.

    For each model, with residuals r, S_c their sum and q_c that of their squares in cell c of n_c rows, M rows in all:

        Q = sum_c (S_c^2 - q_c) / (n_c - 1) / M             unbiased: products of different rows only
        psi_i = 2 r_i (S_c - r_i) / ((n_c - 1) M)            what row i has a share in
        H = sum_c (q_c^2 - sum r^4) / (n_c - 1)^2 / M^2      the part of the variance in pairs of rows

    For the difference D = Q_a - Q_b on N rows, psi = psi_a - psi_b, H = H_a + H_b - 2 C with C the same sum of
    r_a,i r_b,i r_a,j r_b,j over pairs that share both models' cells, V = max(0, sum psi^2 - 4 H - 4 D^2 / N) + 2 H;
    ends D -+ z sqrt(V), p = 2 Phi(-|D| / sqrt(V)). Given the rows Q is about sum_c sum_{i != j} d_i d_j / (n_c - 1) / M
    with true errors d: the squared error of cells for rows like these, less what the errors of these few rows happen
    not to cancel. Cells must not depend on outcomes. What can mislead: the normal law needs outcomes against the
    claims; with fewer than ``FEWEST_SURPRISES`` see ``outer_difference``.
    """
    first, second = _Pairs(a), _Pairs(b)
    point = first.square - second.square
    joint = np.unique(a.cell * len(b.rows) + b.cell, return_inverse=True)[1]
    shared = first.root * second.root
    common = float(np.square(np.bincount(joint, shared)).sum() - np.square(shared).sum())
    pairs = max(first.pairs + second.pairs - 2.0 * common, 0.0)
    rows = float(np.square(first.share - second.share).sum())
    spread = float(np.sqrt(max(rows - 4.0 * pairs - 4.0 * point**2 / len(a.values), 0.0) + 2.0 * pairs))
    half = float(norm.isf((1.0 - level) / 2)) * spread
    p = 2.0 * float(ndtr(-abs(point) / spread)) if spread > 0 else float(abs(point) <= _NOTHING)
    return Difference(point, point - half, point + half, p)


class _Pairs:
    """Square, shares of rows and pair part of the variance of one model, and r / sqrt((n_c - 1) M) of each row."""

    def __init__(self, model: Residuals) -> None:
        r, cell = model.values, model.cell
        judged = float(model.judged.sum())
        others = np.maximum(model.rows - 1.0, 1.0) * judged
        total, squares, fourth = model.sums(r), model.sums(r**2), model.sums(r**4)
        # In a cell of one row all of these are 0: the row has no partner.
        self.square = float(((total**2 - squares) / others).sum())
        self.share = 2.0 * r * (total[cell] - r) / others[cell]
        self.pairs = float((np.maximum(squares**2 - fourth, 0.0) / others**2).sum())
        self.root = np.where(model.judged, r / np.sqrt(others[cell]), 0.0)


def absolute_difference(a: Residuals, b: Residuals, level: float, random_state: int) -> Difference:
    """Interval for the ECE of a less that of b, each over its own cells.

    Rows are dealt to five folds. sigma_i is the sign of the sum of r_a in i's cell over the other folds, tau_i that of
    the sum of r_b in i's cell over all rows, e_i = sigma_i r_a,i - tau_i r_b,i. The lower end is mean(e) - z sd(e) /
    sqrt(N): signs that have not seen row i give at most the error of a on average, signs that have seen all rows give
    at least that of b. The upper end is that of b less a, negated. p is twice the smaller of the two ends' one-sided
    p-values. ``point`` is the middle of the two differences the ends start from.

    Folds are dealt in an order of rows told by what they hold, from ``random_state`` and the outcomes: the order of
    rows and of models has no say. What can mislead: wide where cells are many, since signs of noise cancel.
    """
    if np.sort(a.values).tobytes() > np.sort(b.values).tobytes():
        swapped = absolute_difference(b, a, level, random_state)
        return Difference(-swapped.point, -swapped.high, -swapped.low, swapped.p_value)
    order = np.lexsort((b.values, a.values, b.cell, a.cell))
    a, b = a.reordered(order), b.reordered(order)
    # Rows that are alike are put by their outcomes: only a deal that no outcome can foresee keeps folds independent.
    seed = zlib.crc32(np.stack([a.values, b.values]).tobytes())
    fold = np.random.default_rng([random_state, seed]).permutation(len(order)) % FOLDS
    low_mean, low_error = _aligned(a, b, fold)
    high_mean, high_error = _aligned(b, a, fold)
    z = float(norm.isf((1.0 - level) / 2))
    tails = [_tail(low_mean, low_error), _tail(high_mean, high_error)]
    low, high = low_mean - z * low_error, -high_mean + z * high_error
    return Difference((low_mean - high_mean) / 2, low, high, min(1.0, 2.0 * min(tails)))


def _aligned(a: Residuals, b: Residuals, fold: Codes) -> tuple[float, float]:
    """Mean and its standard error of a's residuals by signs of other folds less b's by signs of all."""
    cells = len(a.rows)
    part = np.bincount(fold * cells + a.cell, a.values, FOLDS * cells).reshape(FOLDS, cells)
    rest = part.sum(axis=0) - part
    e = _sign(rest)[fold, a.cell] * a.values - _sign(b.sums(b.values))[b.cell] * b.values
    return float(e.mean()), float(e.std(ddof=1) / np.sqrt(len(e)))


def _sign(values: Float64s) -> Float64s:
    """-1, 0 or 1, with sums that are 0 but for rounding counted as 0."""
    return np.where(np.abs(values) <= _NOTHING, 0.0, np.sign(values))


def _tail(mean: float, error: float) -> float:
    return float(ndtr(-mean / error)) if error > 0 else float(mean <= _NOTHING)


def outer_difference(a: Residuals, b: Residuals, point: float, level: float) -> Difference:
    """Bounds for a difference of errors when too few outcomes went against the claims for a normal law.

    Each error, absolute or squared, lies between 0 and T + X(B) / M, T its ECE over the M judged rows and B the sum of
    their squared residuals, so that the difference lies between minus the one bound and the other. p is 1 unless the
    bounds leave 0 out, which they never do: nothing is told apart here.
    """
    low, high = -_upper(b, level), _upper(a, level)
    return Difference(float(np.clip(point, low, high)), low, high, 1.0)


def _upper(model: Residuals, level: float) -> float:
    r, m = np.where(model.judged, model.values, 0.0), int(model.judged.sum())
    return min(1.0, (float(np.abs(model.sums(r)).sum()) + beyond(float(np.square(r).sum()), (1.0 - level) / 2)) / m)
