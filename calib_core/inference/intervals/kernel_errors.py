"""Intervals for squared errors of pairs of rows: by test inversion, or from blocks of different rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Float64s
from calib_core._base.distributions import t
from calib_core._base.parallel import chunks
from calib_core.claims.binary_claims import ClaimsOfRows
from calib_core.claims.probability_vectors import Vectors
from calib_core.estimators.residuals import OfPairs
from calib_core.estimators.skce import KernelCalibrationError
from calib_core.inference.intervals.wild_bootstrap import excess, residuals, strata_of, wild_chunks
from calib_core.predictions.predictions import NotAnswerable

LEAST_BLOCKS = 8
"""Blocks below which their spread is not taken for a measure of their mean's error."""
LEAST_EXPECTED = 10.0
"""Outcomes against the odds a block must be expected to hold for its value to be about normal."""
_HALVINGS = 40
_AT_ONCE = 4_000_000
"""Drawn residuals added up over pairs at a time."""


def inverted_pairs(
    estimator: OfPairs, claims: ClaimsOfRows, value: float, ranks: int, level: float, random_state: int
) -> tuple[float, float]:
    """Interval for a squared error of pairs (kernel, two-bin) of binary claims, given the predictions.

    With residuals r = d + e, T = sum over pairs of r_i r_j k_ij is theta + 2 <d, e> + Q: theta the target, Q the same
    sum over noise e alone, drawn as residuals times standard normals, and <d, e> normal with standard deviation at
    most sqrt(theta) sigma, since no kernel value exceeds 1 (sigma^2 the sum of the squared weights times residuals).
    Where the scores expect larger residuals than were seen, noise is drawn so much larger (``_unseen``).
    The lower end is the smallest theta >= 0 with P(T_theta <= T) <= 1 - tail under that law. For the upper end the
    square root of the same sum with i = j counted, S = sqrt(sum_s a_s |sum_i r_i phi_i|^2) (phi_i of norm 1, the
    kernel's; a_s the stratum's share over twice its pairs), is a norm of the residuals, at least sqrt(theta) for the
    true ones: theta <= (S + ``wild.excess``)^2. Where the estimate counts i = j itself, ``value`` is S^2. It is never
    of zero width, whatever the outcomes. What can mislead: the upper end has S's own noise in it, so that strata of
    few rows make it wide.

    References: Widmann et al. 2019, §5; RKHS norms, Gretton et al. 2012.
    """
    tail = (1.0 - level) / 2
    claims = claims.in_order(ranks)
    if not estimator.with_self and all(len(stratum.scores) < 2 for _, stratum, _ in strata_of(claims, ranks)):
        raise NotAnswerable("this error is told from pairs of rows, and no two rows make the same kind of claim here")
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

    Student's for the mean of the blocks' values, v +- t sd / sqrt(m), where there are ``LEAST_BLOCKS`` or more. Where
    the scores leave a block few outcomes to vary by (sum of (1 - |p|^2)/2 below ``LEAST_EXPECTED`` a block: known
    without the labels) most blocks can show the same value, and sd says nothing: there, and for fewer blocks, the ends
    are at least as far from v as (S + ``wild.excess``)^2 is, with S as in ``inverted_pairs`` (no pairs between blocks)
    and residual vectors r of |r|^2 at most 1 + |p|^2. Never of zero width there. What can mislead: that bound keeps
    each row's own square, so that more blocks make it no narrower than mean |r|^2 / rows of a block; larger blocks do.
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
    """By how much noise drawn from residuals falls short of what the scores expect: sqrt(expected / seen), 1 or more.

    Residuals of near-certain claims that all came true are tiny: they tell of no noise, but the scores do.
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
