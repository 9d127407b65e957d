"""Intervals for squared errors: of bins with few rows, and of pairs of rows under a kernel.

Bounds for the largest error of many cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import ndtr, rel_entr, xlogy

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Codes, Float64s
from calib_core._base.distributions import norm, t
from calib_core._base.errors import NotAnswerable
from calib_core._base.parallel import chunks
from calib_core.claims.binary_claims import ClaimsOfRows
from calib_core.claims.exact_sums import Moments
from calib_core.claims.probability_vectors import Vectors
from calib_core.estimators.residuals import OfPairs
from calib_core.estimators.skce import KernelCalibrationError
from calib_core.inference.intervals.elementary import beyond, clopper_pearson
from calib_core.inference.intervals.inversion import CellGaps, Ends
from calib_core.inference.intervals.wild_bootstrap import excess, residuals, strata_of, wild_chunks

_PARTS = np.linspace(0.0, 1.0, 17)
"""Positions of a grid of rates, as shares of the way from the observed rate to the farthest."""
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Pairs:
    """Products of residuals of different rows of the same cell, which identify a squared error without its noise.

    ``square`` is Q, the unbiased squared error over cells of two rows and more. ``moved`` is the sum of psi^2, with psi
    the influence of each row on Q. ``noise`` is H, the variance from pairs of noise only. ``variance`` is v, the mean
    variance of a residual. Each is estimated from outcomes and from scores. ``share`` is the share of all rows in such
    cells.
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
        """L: variance of Q from the rows' influence, without the noise of pairs."""
        return max(0.0, self.moved - 4.0 * self.noise - 4.0 * self.square**2 / max(self.rows, 1.0))


def pairs(cells: Moments) -> Pairs:
    """The pairs of rows with residuals r = outcome - score in the same cell.

    S_c, q_c, t_c and f_c are the sums of r, r^2, r^3 and r^4 over the n_c rows of cell c. In cells of two or more there
    are M rows. Then

        Q = sum_c (S_c^2 - q_c)/(n_c - 1)/M
        psi_i = 2 r_i (S_c - r_i)/((n_c - 1) M)
        sum psi_i^2 = sum_c 4 (S_c^2 q_c - 2 S_c t_c + f_c)/((n_c - 1) M)^2
        H = sum_c (q_c^2 - f_c)/(n_c - 1)^2/M^2
        v = sum (r_i - mean r_c)^2 n_c/(n_c - 1)/M

    With weights w, w r replaces r and W_c - sum w^2 / W_c replaces n_c - 1.

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

    The upper end is that of ``root_high``. The lower end is the root of Q - z sqrt(2 H + max(L, 4 Q v / M)). L is the
    variance from psi without the noise of pairs; H and v are at least the values implied by the scores. The end is 0
    if the root's argument is negative, and if calibrated models (``null``, gaps (draws, cells)) show as much.

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

    1. Q + z sqrt(2 H + L).
    2. The x with x - Q = z sqrt(2 H + 4 x v/M).
    3. max(Q, 0) plus the largest gain of the cells' plug-in square over true rates r with sum_b n_b kl(z_b || r_b) <=
       c. kl is the Bernoulli divergence; c = log(1/tail) if all outcomes agree, z^2/2 if they are many. This is the
       exact limit for one cell of scores 1, and allows for an error in few cells that the noise of the others does not
       show.

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
    """Largest divergence between rates and observations: u - B + B log(B/u), u the Poisson limit of count B.

    log(1/tail) at B = 0, half the square of the normal point for many.

    >>> round(budget(0.0, 0.05), 3), round(budget(1e6, 0.05), 2)
    (2.996, 1.35)
    """
    limit = count + beyond(count, tail)
    return float(limit - count - xlogy(count, limit / max(count, 1e-300)))


def gain(gaps: CellGaps, most: float) -> float:
    """Largest gain of sum_b w_b gap_b^2 when true rates replace outcomes within a divergence of ``most``.

    max sum_b w_b ((s_b - r_b)^2 - (s_b - z_b)^2) with sum_b n_b kl(z_b || r_b) <= most, by its Lagrange dual. This is
    an upper bound for every multiplier, with each cell maximized over a grid of its possible rates.

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


LEAST_BLOCKS = 8
"""Blocks below which their spread is not taken for a measure of their mean's error."""
LEAST_EXPECTED = 10.0
"""Expected number of outcomes against the odds that a block needs for its value to be about normal."""

_AT_ONCE = 4_000_000
"""Drawn residuals added up over pairs at a time."""


def inverted_pairs(
    estimator: OfPairs, claims: ClaimsOfRows, value: float, ranks: int, level: float, random_state: int
) -> tuple[float, float]:
    """Interval for a squared error of pairs (kernel, two-bin) of binary claims, given the predictions.

    With residuals r = d + e, T = sum over pairs of r_i r_j k_ij is theta + 2 <d, e> + Q. The target is theta, and Q is
    the same sum over the noise e, drawn as residuals times standard normals. The product <d, e> is normal with standard
    deviation at most sqrt(theta) sigma, because no kernel value exceeds 1 (sigma^2 is the sum of the squared weights
    times residuals). If the scores imply larger residuals than observed, noise is enlarged accordingly (``_unseen``).

    The lower end is the smallest theta >= 0 with P(T_theta <= T) <= 1 - tail under that law. The upper end uses the
    square root of the same sum with i = j counted, S = sqrt(sum_s a_s |sum_i r_i phi_i|^2). The kernel's features phi_i
    have norm 1, and a_s is the stratum's share over twice its pairs. S is a norm of the residuals, at least sqrt(theta)
    for the true ones: theta <= (S + ``wild.excess``)^2. If the estimate counts i = j itself, ``value`` is S^2. It is
    never of zero width, whatever the outcomes. What can mislead: the upper end contains S's own noise, so strata of few
    rows make it wide.

    References: Widmann et al. 2019, §5; RKHS norms, Gretton et al. 2012.
    """
    tail = (1.0 - level) / 2
    claims = claims.in_order(ranks)
    if not estimator.with_self and all(len(stratum.scores) < 2 for _, stratum, _ in strata_of(claims, ranks)):
        raise NotAnswerable(
            "this error is estimated from pairs of rows with the same kind of claim, and there is no such pair"
        )
    rows = _influence(estimator, claims, ranks)
    hidden = _unseen(float(np.square(rows.moved).sum()), rows.expected)
    noise = hidden**2 * _noise(estimator, claims, ranks, random_state)
    sigma = hidden * _deviation(claims, ranks)

    def law(theta: float, limit: float) -> float:
        """P(T_theta <= limit)."""
        spread = 2.0 * np.sqrt(theta) * sigma
        rest = limit - theta - noise
        return float(np.mean(ndtr(rest / spread) if spread > 0 else rest >= 0))

    low = 0.0 if law(0.0, value) <= 1.0 - tail else _where(lambda theta: law(theta, value) - (1.0 - tail))
    return min(low, max(value, 0.0)), min(1.0, _of_norm(value, rows, tail))


def of_blocks(estimator: KernelCalibrationError, claims: Vectors, level: float) -> tuple[float, float]:
    """Interval for the squared kernel error of whole vectors, from blocks of different rows: cut off at 0.

    With ``LEAST_BLOCKS`` or more it is Student's for the mean of the blocks' values, v +- t sd / sqrt(m). The scores
    may leave a block few variable outcomes (sum of (1 - |p|^2)/2 below ``LEAST_EXPECTED`` per block, known without
    the labels). Then most blocks can have the same value, and sd is uninformative. In this case, and for fewer
    blocks, the ends are at least as far from v as (S + ``wild.excess``)^2. S is as in ``inverted_pairs`` (no pairs
    between blocks), with residual vectors r of |r|^2 at most 1 + |p|^2. The width is never zero there. What can
    mislead: that bound contains each row's own square. More blocks therefore make it no narrower than mean |r|^2 / rows
    of a block; larger blocks do.
    """
    blocks, tail = estimator.blocks(claims), (1.0 - level) / 2
    value, m = blocks.mean, len(blocks.values)
    square, longest, expected = _lengths(claims)
    half = 0.0
    if m >= LEAST_BLOCKS:
        half = float(t.isf(tail, m - 1) * blocks.values.std(ddof=1) / np.sqrt(m))
    low, high = value - half, max(0.0, value) + half
    if m < LEAST_BLOCKS or expected < LEAST_EXPECTED * m:
        weight = np.ones(len(square)) if claims.weights is None else claims.weights
        scale = 1.0 / (2.0 * max(float(blocks.pairs.sum()), 1e-300))
        own = scale * float((np.minimum(weight, np.square(weight)) * square).sum())
        rows = _Rows(own, np.sqrt(scale * square) * weight, float(np.sqrt(longest * scale) * weight.max()))
        of_norm = _of_norm(value, rows, tail)
        low, high = min(low, 2.0 * value - of_norm), max(high, of_norm)
    return max(0.0, low), min(high, longest)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a norm: their pairs with themselves, how far each moves it (rows,), the most one could, what is expected.

    ``expected`` is the sum of squared moves the scores lead one to expect.
    """

    own: float
    moved: Float64s
    most: float
    expected: float = 0.0


def _of_norm(seen: float, rows: _Rows, tail: float) -> float:
    """The upper end for a norm's square, ``seen`` the sum over pairs of different rows."""
    return (float(np.sqrt(max(seen + rows.own, 0.0))) + excess(rows.moved, rows.most, tail)) ** 2


def _influence(estimator: OfPairs, claims: ClaimsOfRows, ranks: int) -> _Rows:
    n, own, most, expected = claims.n_rows(ranks), 0.0, 0.0, 0.0
    square, longest = np.zeros(n), np.ones(n)
    if not claims.one_a_row(ranks):  # one claim comes true: 1 + (sum of squared scores) at most
        for _, stratum, rows in strata_of(claims, ranks):
            np.add.at(longest, rows, stratum.scores)
    for s, stratum, rows in strata_of(claims, ranks):
        weight = np.ones(len(rows)) if stratum.weights is None else stratum.weights
        pairs = estimator.pairs(weight)
        if pairs <= 0:
            continue
        scale, squared, score = claims.shares[s] / (2.0 * pairs), np.square(weight), stratum.scores.astype(np.float64)
        r = np.square(stratum.outcomes - score)
        if not estimator.with_self:
            own += float(scale * (np.minimum(weight, squared) * r).sum())
        expected += float(scale * (squared * score * (1.0 - score)).sum())
        np.add.at(square, rows, scale * squared * r)
        most = max(most, float((scale * squared * longest[rows]).max()))
    return _Rows(own, np.sqrt(square), float(np.sqrt(most)), expected)


def _unseen(seen: float, expected: float) -> float:
    """Factor by which noise drawn from residuals is below the scores' expectation: sqrt(expected / seen), 1 or more.

    Residuals of near-certain claims that all came true are tiny and imply no noise, but the scores do.
    """
    return float(np.sqrt(max(1.0, expected / seen))) if seen > 0 else 1.0


def _lengths(claims: Vectors) -> tuple[Float64s, float, float]:
    """Squares of the rows' residual vectors (n,), the largest there could be, and half the sum the scores expect."""
    square, length = np.empty(len(claims.labels)), np.empty(len(claims.labels))
    for where, block in claims.rows.blocks(LARGE_BLOCK_BYTES):
        wide = block.astype(np.float64)
        length[where] = np.square(wide).sum(axis=1)
        square[where] = length[where] - 2.0 * wide[np.arange(len(wide)), claims.labels[where]] + 1.0
    return np.maximum(square, 0.0), 1.0 + float(length.max()), float((1.0 - length).sum()) / 2.0


def _noise(estimator: OfPairs, claims: ClaimsOfRows, ranks: int, random_state: int) -> Float64s:
    """The estimate for residuals multiplied by standard normals, (draws,)."""
    found = []
    for normal in wild_chunks(claims.n_rows(ranks), len(claims.strata), random_state):
        total = np.zeros(normal.shape[1])
        for s, stratum, rows in strata_of(claims, ranks):
            pairs = estimator.pairs(np.ones(len(rows)) if stratum.weights is None else stratum.weights)
            if pairs > 0:
                order = np.argsort(stratum.scores, kind="stable")
                scores, residual = stratum.scores[order].astype(np.float64), residuals(stratum)[order]
                scale = claims.shares[s] / pairs
                for part in chunks(normal.shape[1], max(1, _AT_ONCE // len(rows))):
                    drawn = normal[rows[order], part].T * residual
                    total[part] += scale * estimator.paired(scores, drawn)
        found.append(total)
    return np.concatenate(found)


def _deviation(claims: ClaimsOfRows, ranks: int) -> float:
    """Largest standard deviation of what noise adds in any one direction of norm 1, strata weighed by their shares.

    Claims that share no row: that of the worst stratum; others: as if a row's claims all pulled one way.
    """
    squares = [
        claims.shares[s] * float(np.square(residuals(stratum) / stratum.total).sum())
        for s, stratum, _ in strata_of(claims, ranks)
    ]
    alone = claims.one_a_row(ranks)
    return float(np.sqrt(max(squares) if alone else sum(squares)))


def _where(law: Callable[[float], float]) -> float:
    """The theta in [0, 1] at which a falling function passes 0, by bisection of the root; 0 where it starts below."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if law(middle**2) > 0 else (low, middle)
    return ((low + high) / 2) ** 2


def largest_ends(gaps: CellGaps, level: float, bins: Codes | None = None) -> Ends:
    """Bounds for the largest gap: all cells' bounds are valid at once, whatever their dependence (Bonferroni).

    With ``bins`` (cells,): for the largest mean, by weight, of the gaps of a bin's cells.
    """
    low, high = clopper_pearson(gaps.outcome * gaps.rows, gaps.rows, 1 - (1 - level) / len(gaps.rows))
    least = np.maximum(np.maximum(low - gaps.score, gaps.score - high), 0.0)
    most = np.maximum(high - gaps.score, gaps.score - low)

    def largest(each: Float64s) -> float:
        if bins is None:
            return float(each.max())
        share = np.bincount(bins, gaps.weight)
        mean = np.bincount(bins, gaps.weight * each) / np.where(share > 0, share, np.inf)
        return float(mean.max())

    end, start = min(largest(most), 1.0), largest(least)
    return Ends(start, float(np.clip(largest(np.abs(gaps.gap)), start, end)), end)
