"""Limits of a kernel curve: for each of its points, or for all of them at once."""

from __future__ import annotations

import numpy as np
import scipy

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import gamma, norm
from calib_core.claims.binary_claims import Stratum
from calib_core.smoothing.kernels import Kernel
from calib_core.smoothing.score_grid import ScoreGrid

_TRACE = 1e-6
"""Share of a row that rounding puts on the next node: log-odds near 16 are known to about 1e-9."""


def limits(
    stratum: Stratum, kernel: Kernel, width: float, grid: ScoreGrid, curve: Float64s, level: float, whole: bool
) -> tuple[Float64s, Float64s]:
    """Lower and upper ends (cells + 1,) around the curve at the nodes of a grid; NaN where the curve is.

    They are about the noiseless curve: its value were every outcome replaced by its probability, given the scores. At
    node x the curve is s + sum_i w_i (z_i - s_i), or sum_i w_i z_i, with weights w_i known from the scores alone, so
    that its noise is sum_i w_i (z_i - r_i) either way. With W = max w_i and B = sum_i (w_i e_i / W)^2, e_i the outcome
    less the curve fitted without it (at most 1), the ends are curve -+ W X(B), X(B) = G(B + 1) - B, G(a) the upper
    tail-point of the gamma law of shape a: exact for one weight and rare outcomes of one kind, log(1/tail) W wide
    where all outcomes are alike, normal where many are not. The tail is (1 - level) / 2, or, for the ``whole`` curve,
    that of the normal point c at which

        m 2 (1 - Phi(c)) + k / pi exp(-c^2 / 2) = 1 - level,

    k the length of the path that w / |w| walks on the sphere along the m pieces of the curve. Not a proof for finite
    rows: simulated in tests/simulations/kernel_curves.py. A row of weight v counts as v in the curve and as one
    row in its noise.

    References: Fay & Feuer 1997, Confidence intervals for directly standardized rates; Sun & Loader 1994,
    Simultaneous confidence bands for linear regression and smoothing, eq. (1).
    """
    v = np.ones(len(stratum.scores)) if stratum.weights is None else stratum.weights
    rows, hits = stratum.scores, stratum.outcomes
    mass, squared, true = grid.masses(rows, v), grid.masses(rows, v**2), grid.masses(rows[hits], v[hits] ** 2)
    cell, into = grid.places(rows)
    heaviest = np.zeros(grid.cells + 1)
    np.maximum.at(heaviest, cell, np.where(into < 1.0 - _TRACE, v, 0.0))
    np.maximum.at(heaviest, cell + 1, np.where(into > _TRACE, v, 0.0))

    n, spread = grid.cells + 1, kernel.on(grid, width)
    blocks = list(spread.weights())
    total, largest, count, length, along = (np.zeros(n) for _ in range(5))
    for nodes, seen, w in blocks:
        total[nodes] = w @ mass[seen]
        largest[nodes] = (w * heaviest[seen]).max(axis=1)
    known = ~np.isnan(curve) & (total > 0)
    own = np.divide(heaviest * spread.own, total, out=np.zeros(n), where=known)
    fitted = np.clip(np.nan_to_num(curve), 0.0, 1.0)
    miss, hit = (np.minimum(e / np.maximum(1.0 - own, 1e-9), 1.0) ** 2 for e in (fitted, 1.0 - fitted))
    noise = np.maximum(squared - true, 0.0) * miss + true * hit
    for nodes, seen, w in blocks:
        count[nodes] = (w * w) @ noise[seen]
        length[nodes] = (w * w) @ squared[seen]
        along[nodes][1:] = (w[1:] * w[:-1]) @ squared[seen]

    tail = (1.0 - level) / 2
    if whole:
        joined = known[1:] & known[:-1]
        cosine = along[1:][joined] / np.sqrt(length[1:][joined] * length[:-1][joined])
        pieces = int(known.sum() - joined.sum())
        tail = _tail(float(np.arccos(np.clip(cosine, -1.0, 1.0)).sum()), pieces, level)
    half = np.full(n, np.nan)
    b = count[known] / largest[known] ** 2
    half[known] = largest[known] / total[known] * (gamma.isf(tail, b + 1.0) - b)
    return np.clip(curve - half, 0.0, 1.0), np.clip(curve + half, 0.0, 1.0)


def _tail(path: float, pieces: int, level: float) -> float:
    """Tail probability on each side that a normal process of this path length on the sphere passes in 1 - level."""

    def beyond(c: float) -> float:
        return float(2 * pieces * norm.sf(c) + path / np.pi * np.exp(-(c**2) / 2)) - (1.0 - level)

    return float(norm.sf(scipy.optimize.brentq(beyond, 0.0, 20.0)))
