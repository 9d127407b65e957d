"""Outcomes of calibrated models in cells whose claims share rows: drawn from how the cells' sums vary together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import bdtr, ndtr

from calib_core._base.arrays import Float64s
from calib_core.binning.bin_table import BinTable
from calib_core.claims.binary_claims import Claims
from calib_core.claims.row_covariance import SharedRows
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.cell_draws import MANY_ROWS
from calib_core.inference.noise.cell_sums import normal, shared_of

LEAST_OUTCOMES = 30.0
"""Expected variance from which a cell's sum counts as normal."""
_FARTHEST, _LEAST_FAR = 9.0, 40
"""How many deviations, and outcomes, beyond its mean a binomial sum is looked up."""

Outcomes = Callable[[np.random.Generator, int], Float64s]
"""From a stream and a number of replicates to outcome sums (count, strata, bins)."""


def drawn_by_cells(claims: Claims, rows: float) -> bool:
    """Are the outcomes of claims that share rows drawn from cells: are rows many, or not known?"""
    return claims.grain == "counts" or rows > MANY_ROWS


def shared_outcomes(claims: Claims, table: BinTable, ranks: int, known: SharedRows | None = None) -> Outcomes | None:
    """Outcome sums of calibrated models; None where rows are few enough to be drawn, or their covariance is not known.

    A normal law with the covariance that the scores claim, sum_i (diag(s_i) - s_i s_i') over cells. In cells that
    expect a variance below 30 each normal number is replaced by the binomial one of the same rank (a Gaussian copula
    with binomial margins, n claims at the cell's mean score): never below 0 or beyond n, and of no smaller variance
    than the sum of outcomes at the claims' own scores.

    References: margins, Hoeffding 1956; copula, Joe 2014, Dependence Modeling with Copulas, §2.2.
    """
    if claims.grain == "rows":
        rows = float(table.count.sum()) / (len(claims.strata) if claims.same_rows else ranks)
        if not drawn_by_cells(claims, rows):
            return None
    known = shared_of(claims, table, ranks) if known is None else known
    if known is None:
        return None
    if not claims.same_rows and known.most > outcome_draws.MOST_TOTAL:
        raise outcome_draws.no_distribution()
    return _copula(known.claimed.value, table)


def _copula(covariance: Float64s, table: BinTable) -> Outcomes:
    count, score = table.count.ravel(), table.tally.score.ravel()
    mean = np.divide(score, count, out=np.zeros(len(count)), where=count > 0)
    noise, deviation = normal(covariance), np.sqrt(np.maximum(np.diag(covariance), 0.0))
    poor = np.flatnonzero((count > 0) & (count * mean * (1.0 - mean) < LEAST_OUTCOMES))
    looked_up = [_upto(int(count[c]), float(np.clip(mean[c], 0.0, 1.0))) for c in poor]

    def outcomes(rng: np.random.Generator, number: int) -> Float64s:
        normals = noise(rng, number)
        sums = np.clip(normals + score, 0.0, count)
        rank = ndtr(np.divide(normals, deviation, out=np.zeros_like(normals), where=deviation > 0)[:, poor])
        for cell, (least, upto), each in zip(poor, looked_up, rank.T, strict=True):
            sums[:, cell] = least + np.searchsorted(upto, each)
        return sums.reshape(number, *table.count.shape)

    return outcomes


def _upto(n: int, p: float) -> tuple[int, Float64s]:
    """The least number looked at, and P(X <= k) from it on, X ~ Binomial(n, p)."""
    far = int(_FARTHEST * np.sqrt(n * p * (1.0 - p))) + _LEAST_FAR
    least, most = max(0, int(n * p) - far), min(n, int(n * p) + far)
    return least, np.asarray(bdtr(np.arange(least, most), n, p))
