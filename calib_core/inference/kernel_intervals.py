"""Intervals for the squared kernel calibration error: by test inversion, or from blocks of different rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr
from scipy.stats import t

from calib_core._arrays import Float64s
from calib_core.claims import ColumnClaims, FlatClaims
from calib_core.estimators import KernelCalibrationError
from calib_core.estimators.skce import Blocks, pair_sums
from calib_core.inference.wild import in_order, n_rows, residuals, strata_of, wild_chunks

LEAST_BLOCKS = 8
"""Blocks below which their spread is not taken for a measure of their mean's error."""
_HALVINGS = 40


def inverted_pairs(
    estimator: KernelCalibrationError, claims: FlatClaims | ColumnClaims, ranks: int, level: float, random_state: int
) -> tuple[float, float]:
    """Interval for the squared kernel error of binary claims, given the predictions.

    With residuals r = d + e, T = sum over pairs of r_i r_j k_ij is theta + 2 <d, e> + Q: theta the target, Q the same
    sum over noise e alone, drawn as residuals times standard normals, and <d, e> normal with standard deviation at
    most sqrt(theta) sigma, since no kernel value exceeds 1 (sigma^2 the sum of the squared weights times residuals).
    The interval holds every theta >= 0 with tail <= P(T_theta <= T) <= 1 - tail under that law. A T below the middle
    of noise alone counts as the middle, so that luck makes no interval shorter than it is for a typical calibrated
    model.

    References: Widmann et al. 2019, §5; power-constrained limits, Cowan et al. 2011.
    """
    tail = (1.0 - level) / 2
    claims = in_order(claims, ranks)
    noise = _noise(estimator, claims, ranks, random_state)
    seen = estimator(claims).value
    sigma = _deviation(claims, ranks)

    def law(theta: float, at: float) -> float:
        """P(T_theta <= at)."""
        spread = 2.0 * np.sqrt(theta) * sigma
        rest = at - theta - noise
        return float(np.mean(ndtr(rest / spread) if spread > 0 else rest >= 0))

    low = 0.0 if law(0.0, seen) <= 1.0 - tail else _where(lambda theta: law(theta, seen) - (1.0 - tail))
    middle = max(seen, float(np.median(noise)))
    return low, max(low, _where(lambda theta: law(theta, middle) - tail))


def of_blocks(blocks: Blocks, level: float) -> tuple[float, float] | None:
    """Student's interval for the mean of the blocks' values, a squared error: cut off at 0. None for few blocks."""
    m = len(blocks.values)
    if m < LEAST_BLOCKS:
        return None
    half = float(t.isf((1.0 - level) / 2, m - 1) * blocks.values.std(ddof=1) / np.sqrt(m))
    return max(0.0, blocks.mean - half), max(0.0, blocks.mean) + half


def _noise(
    estimator: KernelCalibrationError, claims: FlatClaims | ColumnClaims, ranks: int, random_state: int
) -> Float64s:
    """The estimate for residuals multiplied by standard normals, (draws,)."""
    found = []
    for normal in wild_chunks(n_rows(claims, ranks), len(claims.strata), random_state):
        total = np.zeros(normal.shape[1])
        for s, stratum, rows in strata_of(claims, ranks):
            n = stratum.total
            if n > 1:
                order = np.argsort(stratum.scores, kind="stable")
                drawn = normal[rows[order]].T * residuals(stratum)[order]
                scores = stratum.scores[order].astype(np.float64)
                total += claims.shares[s] * pair_sums(scores, drawn, estimator.scale) / (n * (n - 1) / 2)
        found.append(total)
    return np.concatenate(found)


def _deviation(claims: FlatClaims | ColumnClaims, ranks: int) -> float:
    """Largest standard deviation of what noise adds in any one direction of norm 1, strata weighed by their shares.

    Claims that share no row: that of the worst stratum; others: as if a row's claims all pulled one way.
    """
    squares = [
        claims.shares[s] * float(np.square(residuals(stratum) / stratum.total).sum())
        for s, stratum, _ in strata_of(claims, ranks)
    ]
    alone = isinstance(claims, FlatClaims) and ranks == 1
    return float(np.sqrt(max(squares) if alone else sum(squares)))


def _where(law: Callable[[float], float]) -> float:
    """The theta in [0, 1] at which a falling function passes 0, by bisection of the root; 0 where it starts below."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if law(middle**2) > 0 else (low, middle)
    return ((low + high) / 2) ** 2
