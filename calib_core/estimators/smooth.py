"""Smooth calibration error: residuals smoothed by a reflected Gaussian whose width is the error itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from calib_core._arrays import Float64s
from calib_core.claims import Claims, Stratum
from calib_core.estimators.base import ESTIMATORS, Estimated, by_stratum
from calib_core.estimators.residuals import NORM, Image
from calib_core.smoothing.score_grid import Grid

_GRID = Grid()
_FINE_GRID = Grid(cells=8 * _GRID.cells)
_NOISE_GRID = Grid(cells=1024)
"""For many draws of noise."""
_UNHEARD = 9.0
"""Frequencies beyond this over the width are damped by e^-40: below rounding."""
_STEPS_PER_WIDTH = 4
"""A kernel narrower than this many steps is put on the finer grid: linear binning widens it by up to 0.5 %."""
_HALVINGS = 10


@ESTIMATORS.register(
    "smece",
    "Smooth ECE",
    reference="Błasiok & Nakkiran 2023, Def. 6-8",
    flags=NORM,
    elsewhere=(
        "relplot's smECE, which counts scores at the ends of [0, 1] half: it is well above this number for confident "
        "networks and equal to it for spread-out scores."
    ),
    formula=(
        r"\sigma^* = \int_0^1 \Bigl|\frac{1}{n} \sum_i (z_i - s_i)\,k_{\sigma^*}(t, s_i)\Bigr|\,dt,"
        r"\quad k_\sigma \text{ a Gaussian reflected at 0 and 1}"
    ),
)
@dataclass(frozen=True)
class SmoothECE:
    """Distance between what is said and what happens after smoothing, with the smoothing as wide as the error is.

    smECE_s = integral over t in [0, 1] of |(1/n) sum_i (z_i - s_i) k_s(t, s_i)| for scores s_i with outcomes z_i and
    k_s the Gaussian of standard deviation s reflected at 0 and 1; reported is the one s* with smECE_{s*} = s*. It has
    no bins to choose and changes little when scores change little. In [0, 1], within a constant factor of the distance
    to the nearest calibrated prediction. What can mislead: waves of error narrower than s* cancel, so it can be below
    a finely binned ECE; like any plug-in error it is above 0 for a calibrated model of finite size.

    The cosine series of the residuals, a_k = (1/n) sum_i (z_i - s_i) cos(pi k s_i), damped by exp(-(pi k s)^2 / 2), is
    summed on a grid of 4,097 nodes, or 32,769 where s* is below four of its steps: O(n + grid), nothing is sorted.
    Below a width of 0.0001 the binning itself smooths noticeably.

    References: Błasiok & Nakkiran 2023, "Smooth ECE: principled reliability diagrams via kernel smoothing", §3.

    >>> from calib_core.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> round(SmoothECE()(Confidence().split(Predictions([[0.75, 0.25]], [0]))).value, 6)
    0.25
    """

    def __call__(self, claims: Claims) -> Estimated:
        return by_stratum(claims, [_of_stratum(claims.stratum(s)) for s in range(len(claims.strata))])

    def image(self, claims: Claims, estimated: Estimated, s: int, stratum: Stratum) -> Image:
        """Residuals on the nodes of a grid."""
        cell, into = _NOISE_GRID.places(stratum.scores)
        return Image(cell, into, _NOISE_GRID.cells + 1, lambda masses: smooth_errors(masses, _NOISE_GRID))

    def redrawn(self, claims: Claims, s: int, stratum: Stratum) -> Image:
        """Outcomes on the nodes of the finer grid, less the scores there."""
        cell, into = _FINE_GRID.places(stratum.scores)
        weight = np.ones(len(cell)) if stratum.weights is None else stratum.weights
        claimed = _FINE_GRID.shared(cell, into, weight * stratum.scores)

        def errors(masses: Float64s) -> Float64s:
            return np.array([_meeting(each, stratum.total) for each in masses - claimed])

        return Image(cell, into, _FINE_GRID.cells + 1, errors)


def smooth_error(stratum: Stratum, grid: Grid = _GRID) -> Callable[[float], float]:
    """smECE_s as a function of the width s: non-increasing, from the unsmoothed error at 0 to |bias| at infinity."""
    residuals: Float64s = stratum.outcomes - stratum.scores.astype(np.float64)
    if stratum.weights is not None:
        residuals *= stratum.weights
    return _error_of(grid.masses(stratum.scores, residuals), stratum.total, grid)


def _error_of(masses: Float64s, total: float, grid: Grid) -> Callable[[float], float]:
    spectrum = grid.spectrum(masses) / total
    frequency = np.pi * np.arange(grid.cells + 1)

    def error(width: float) -> float:
        heard = int(np.searchsorted(frequency, _UNHEARD / max(width, 1e-300), side="right"))
        damped = np.zeros_like(spectrum)
        damped[:heard] = np.exp(-0.5 * np.square(width * frequency[:heard])) * spectrum[:heard]
        return float(grid.integral(np.abs(grid.density(damped))))

    return error


def fixed_point(error: Callable[[float], float]) -> float:
    """The width s* with error(s*) = s*: the error falls with the width from at most 1, so the two meet exactly once."""
    # Rounding can lift an error of 1 over 1.
    return float(scipy.optimize.brentq(lambda width: error(width) - width, 0.0, 1.0 + 1e-9, xtol=1e-15, rtol=1e-14))


def smooth_errors(masses: Float64s, grid: Grid) -> Float64s:
    """The smooth errors (m,) of several sets of residuals, given as masses (m, cells + 1), by common bisection.

    To a thousandth part of the unsmoothed error: for many draws of noise, not for an estimate.
    """
    spectrum = grid.spectrum(masses)
    half_squares = -0.5 * np.square(np.pi * np.arange(grid.cells + 1))
    low, high = np.zeros(len(masses)), np.abs(masses).sum(axis=1)
    for _ in range(_HALVINGS):
        width = (low + high) / 2
        damped = spectrum * np.exp(np.square(width)[:, None] * half_squares)
        wider = grid.integral(np.abs(grid.density(damped))) > width
        low, high = np.where(wider, width, low), np.where(wider, high, width)
    return np.asarray((low + high) / 2)


def _of_stratum(stratum: Stratum) -> float:
    """Its smooth ECE; NaN without claims."""
    if not stratum.total > 0:
        return float("nan")
    width = fixed_point(smooth_error(stratum))
    return width if _wide(width) else fixed_point(smooth_error(stratum, _FINE_GRID))


def _wide(width: float) -> bool:
    """Is the coarser grid fine enough for this width?"""
    return width >= _STEPS_PER_WIDTH * _GRID.step


def _meeting(fine: Float64s, total: float) -> float:
    """The smooth ECE of residuals that lie on the finer grid as masses (cells + 1,): the coarser one's are theirs."""
    width = fixed_point(_error_of(_FINE_GRID.coarser(fine, _GRID.cells), total, _GRID))
    return width if _wide(width) else fixed_point(_error_of(fine, total, _FINE_GRID))
