"""Intervals for squared binned errors where cells hold few rows: from products of residuals of different rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import rel_entr, xlogy

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import norm
from calib_core.claims.tallies import Moments
from calib_core.inference.intervals.inversion import CellGaps, Ends
from calib_core.inference.intervals.poisson_limits import beyond

_PARTS = np.linspace(0.0, 1.0, 17)
"""How far a grid of rates goes from what was seen, as shares of the way to the farthest."""
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Pairs:
    """Products of residuals of different rows of the same cell: what identifies a squared error without its noise.

    ``square`` is Q, the unbiased squared error over cells of two rows and more; ``moved`` the sum of psi^2, psi how Q
    moves with each row; ``noise`` H, the variance that pairs of noise alone give it; ``variance`` v, the mean variance
    of a residual; both as the outcomes show and as the scores claim; ``share`` the share of all rows in such cells.
    """

    square: float
    moved: float
    noise: float
    variance: float
    claimed_noise: float
    claimed_variance: float
    rows: float
    share: float

    @property
    def linear(self) -> float:
        """L: what the rows' influence says of Q's variance beside the noise of pairs."""
        return max(0.0, self.moved - 4.0 * self.noise - 4.0 * self.square**2 / max(self.rows, 1.0))


def pairs(cells: Moments) -> Pairs:
    """The pairs of rows with residuals r = outcome - score in the same cell.

    With S_c, q_c, t_c and f_c the sums of r, r^2, r^3 and r^4 over the n_c rows of cell c and M rows in cells of two or
    more, Q = sum_c (S_c^2 - q_c)/(n_c - 1)/M, psi_i = 2 r_i (S_c - r_i)/((n_c - 1) M), whose squares sum to
    sum_c 4 (S_c^2 q_c - 2 S_c t_c + f_c)/((n_c - 1) M)^2, H = sum_c (q_c^2 - f_c)/(n_c - 1)^2/M^2,
    v = sum (r_i - mean r_c)^2 n_c/(n_c - 1)/M. With weights w, w r stands for r and W_c - sum w^2 / W_c for n_c - 1.

    References: U-statistics, Hoeffding 1948; the squared error as one, Widmann et al. 2019.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> claims = Confidence().split(Predictions.from_confidence([0.5, 0.5], [True, True]))
    >>> sums = pairs(claims.moments([np.empty(0)]))
    >>> sums.square, sums.share
    (0.25, 1.0)
    """
    mass = cells.count
    squares = mass if cells.squares is None else cells.squares
    free = mass - np.divide(squares, mass, out=np.zeros(mass.shape), where=mass > 0)
    judged = free > 1e-9 * np.maximum(mass, 1e-300)
    per = np.where(judged, free, np.inf)
    total = float(mass[judged].sum())
    scale = total or 1.0
    sums = cells.outcome - cells.score
    spread = cells.second if cells.plain_second is None else cells.plain_second
    spread = np.maximum(spread - np.square(sums) / np.maximum(mass, 1e-300), 0.0) * mass / per
    moved = np.square(sums) * cells.second - 2.0 * sums * cells.third + cells.fourth
    claim = cells.claim if cells.plain_claim is None else cells.plain_claim

    def alone(square: Float64s, fourth: Float64s) -> float:
        return float((np.maximum(np.square(square) - fourth, 0.0) / np.square(per)).sum() / scale**2)

    return Pairs(
        square=float(((np.square(sums) - cells.second) / per).sum() / scale),
        moved=float((4.0 * np.maximum(moved, 0.0) / np.square(per)).sum() / scale**2),
        noise=alone(cells.second, cells.fourth),
        variance=float(spread[judged].sum() / scale),
        claimed_noise=alone(cells.claim, cells.claim_square),
        claimed_variance=float(claim[judged].sum() / scale),
        rows=total**2 / max(float(squares[judged].sum()), 1e-300),
        share=total / float(mass.sum()),
    )


def root_ends(pairs: Pairs, gaps: CellGaps, null: Float64s, level: float) -> Ends:
    """Interval for the root of the squared error over cells of two rows and more, given the predictions.

    The upper end is that of ``root_high``. Lower end: the root of Q - z sqrt(2 H + max(L, 4 Q v / M)), L what psi says
    of the variance beside the noise of pairs, H and v at least what the scores claim; 0 below 0, and where calibrated
    models (``null``, gaps (draws, cells)) show as much.

    References: as ``pairs``.
    """
    tail = (1.0 - level) / 2
    q, n = pairs.square, max(pairs.rows, 1.0)
    noise, variance = max(pairs.noise, pairs.claimed_noise), max(pairs.variance, pairs.claimed_variance)
    spread = 2.0 * noise + max(pairs.linear, 4.0 * max(q, 0.0) * variance / n)
    lower = q - float(norm.isf(tail)) * float(np.sqrt(spread))
    if lower <= 0 or np.mean(_null_squares(gaps, null) < q * (1.0 - 1e-12)) <= 1.0 - tail:
        lower = 0.0
    low, high = float(np.sqrt(lower)), root_high(pairs, gaps, level)
    return Ends(min(low, high), float(np.clip(np.sqrt(max(q, 0.0)), min(low, high), high)), high)


def root_high(pairs: Pairs, gaps: CellGaps, level: float) -> float:
    """Upper end for the root of the squared error: the root of the largest of three.

    Q + z sqrt(2 H + L); the x with x - Q = z sqrt(2 H + 4 x v/M); and max(Q, 0) plus the most that the cells' plug-in
    square can gain when their true rates r leave the observed z within sum_b n_b kl(z_b || r_b) <= c, kl the Bernoulli
    divergence and c = log(1/tail) where all outcomes agree, z^2/2 where they are many. The third is the exact limit for
    one cell of scores 1, and sees that an error can sit in few cells whose noise the others' does not tell.

    References: as ``pairs``; the divergence bound as in profile likelihood, Owen 2001.
    """
    tail = (1.0 - level) / 2
    z, q, n = float(norm.isf(tail)), pairs.square, max(pairs.rows, 1.0)
    h = q + 2.0 * z * z * pairs.variance / n
    quadratic = h + float(np.sqrt(max(h * h - q * q + 2.0 * z * z * pairs.noise, 0.0)))
    minority = float((gaps.rows * gaps.outcome * (1.0 - gaps.outcome)).sum())
    gained = max(q, 0.0) + gain(gaps, budget(max(minority, 0.0), tail))
    return min(1.0, float(np.sqrt(max(q + z * float(np.sqrt(2.0 * pairs.noise + pairs.linear)), quadratic, gained))))


def budget(count: float, tail: float) -> float:
    """How far rates may be from what was seen, in divergence: u - B + B log(B/u), u the Poisson limit of count B.

    log(1/tail) at B = 0, half the square of the normal point for many.

    >>> round(budget(0.0, 0.05), 3), round(budget(1e6, 0.05), 2)
    (2.996, 1.35)
    """
    limit = count + beyond(count, tail)
    return float(limit - count - xlogy(count, limit / max(count, 1e-300)))


def gain(gaps: CellGaps, most: float) -> float:
    """The most that sum_b w_b gap_b^2 can gain when true rates replace outcomes within a divergence of ``most``.

    max sum_b w_b ((s_b - r_b)^2 - (s_b - z_b)^2) with sum_b n_b kl(z_b || r_b) <= most, by its Lagrange dual: an upper
    bound for every multiplier, each cell maximised over a grid of the rates that it could have alone.

    >>> cell = CellGaps(np.ones(1), np.array([30.0]), np.ones(1), np.ones(1))  # 30 rows of score 1, all right
    >>> round(float(np.sqrt(gain(cell, np.log(20)))), 3)  # 1 - 20^(-1/30): the exact limit
    0.095
    """
    z, s, n = gaps.outcome[:, None], gaps.score[:, None], gaps.rows[:, None]
    ends = np.concatenate([_farthest(z, most / n, 0.0), _farthest(z, most / n, 1.0)], axis=1)
    rates = (z[..., None] + (ends - z)[..., None] * _PARTS).reshape(len(z), -1)
    cost = n * _divergence(z, rates)
    more = gaps.weight[:, None] * (np.square(s - rates) - np.square(s - z))

    def bound(log_multiplier: float) -> float:
        multiplier = float(np.exp(log_multiplier))
        return float(np.max(more - multiplier * cost, axis=1).sum() + multiplier * most)

    best = scipy.optimize.minimize_scalar(bound, bounds=(-30.0, 8.0), method="bounded", options={"xatol": 1e-3})
    return max(0.0, float(best.fun))


def _farthest(z: Float64s, most: Float64s, end: float) -> Float64s:
    """The rates furthest towards ``end`` that are within a divergence of ``most`` from z, by bisection."""
    near, far = z.copy(), np.full(z.shape, end)
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        inside = _divergence(z, middle) <= most
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    return near


def _divergence(z: Float64s, rates: Float64s) -> Float64s:
    """kl(z || r) of Bernoulli laws."""
    return np.asarray(rel_entr(z, rates) + rel_entr(1.0 - z, 1.0 - rates))


def _null_squares(gaps: CellGaps, null: Float64s) -> Float64s:
    """Q of calibrated models, (draws,), from gaps (draws, cells) of outcomes binomial at the mean score."""
    free = np.where(gaps.rows > 1.0 + 1e-9, gaps.rows - 1.0, np.inf)
    noise = gaps.score * (1.0 - gaps.score) / free
    return (np.square(null) * (gaps.rows / free)) @ gaps.weight - float(noise @ gaps.weight)
