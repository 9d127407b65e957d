"""Smooth calibration error: residuals smoothed by a reflected Gaussian whose width is the error itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.estimators.base import ESTIMATORS, Estimated, by_stratum
from calib_core.estimators.residuals import NORM, Image
from calib_core.smoothing.score_grid import ScoreGrid

_GRID = ScoreGrid()
_FINE_GRID = ScoreGrid(cells=8 * _GRID.cells)
_NOISE_GRID = ScoreGrid(cells=1024)
"""For many draws of noise."""
_UNHEARD = 9.0
"""Frequencies beyond this over the width are damped by e^-40: below rounding."""
_STEPS_PER_WIDTH = 4
"""Kernels narrower than this many steps use the finer grid: linear binning widens them by up to 0.5 %."""
_HALVINGS = 10
_CLOSE, _MOST_STEPS = 1e-14, 100
_FEWER = 8
"""Nodes of the finer grid per node of the coarser one, on which a width is searched first."""
_TOGETHER = 16
"""Sets of residuals worked on together: as many as stay in cache."""


@ESTIMATORS.register(
    "smece",
    "Smooth ECE",
    reference="Błasiok & Nakkiran 2023, Def. 6-8",
    flags=NORM,
    elsewhere=(
        "relplot's smECE, which counts scores at the ends of [0, 1] half. That puts it well above this number for "
        "confident networks; for spread-out scores the two are equal."
    ),
    formula=(
        r"\sigma^* = \int_0^1 \Bigl|\frac{1}{n} \sum_i (z_i - s_i)\,k_{\sigma^*}(t, s_i)\Bigr|\,dt,"
        r"\quad k_\sigma \text{ a Gaussian reflected at 0 and 1}"
    ),
)
@dataclass(frozen=True)
class SmoothECE:
    """Distance between predictions and outcomes, smoothed with a bandwidth equal to the resulting error.

    smECE_s = integral over t in [0, 1] of |(1/n) sum_i (z_i - s_i) k_s(t, s_i)| for scores s_i with outcomes z_i. The
    kernel k_s is the Gaussian of standard deviation s reflected at 0 and 1. The value is that at the one s* with
    smECE_{s*} = s*. It has no bins to choose and changes little when scores change little. In [0, 1], within a constant
    factor of the distance to the nearest calibrated prediction. What can mislead: waves of error narrower than s*
    cancel. The value can therefore be below a finely binned ECE. Like any plug-in error it is above 0 for a calibrated
    model of finite size.

    The cosine series of the residuals is a_k = (1/n) sum_i (z_i - s_i) cos(pi k s_i), damped by exp(-(pi k s)^2 / 2).
    It is summed on a grid of 4,097 nodes, or 32,769 where s* is below four of its steps: O(n + grid), without sorting.
    Below a width of 0.0001 the binning itself smooths noticeably.

    References: Błasiok & Nakkiran 2023, "Smooth ECE: principled reliability diagrams via kernel smoothing", §3.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> round(SmoothECE()(Confidence().split(Predictions([[0.75, 0.25]], [0]))).value, 6)
    0.25
    """

    def __call__(self, claims: Claims) -> Estimated:
        strata = claims.each_stratum()
        parts = iter(lambda: list(islice(strata, _TOGETHER)), [])
        return by_stratum(claims, np.concatenate([_of_strata(part) for part in parts]))

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
            parts = np.array_split(masses - claimed, max(1, len(masses) // _TOGETHER))
            return np.concatenate([_widths(part, stratum.total) for part in parts])

        return Image(cell, into, _FINE_GRID.cells + 1, errors)


def fixed_points(masses: Float64s, totals: Float64s | float, grid: ScoreGrid) -> Float64s:
    """The widths (m,) that equal the errors they give, of residuals given as masses (m, cells + 1), with their totals.

    Found among every eighth node first: what is heard there is the same, and only the integral a little off.
    """
    spectrum = grid.spectrum(masses) / np.asarray(totals)[..., None]
    few = replace(grid, cells=grid.cells // _FEWER)
    return _met(spectrum, grid, _met(spectrum[:, : few.cells + 1], few, np.zeros(len(masses))))


def _met(spectrum: Float64s, grid: ScoreGrid, start: Float64s) -> Float64s:
    """Widths w with error(w) = w, of all spectra a step at a time, by the secant within a bracket (Illinois rule).

    error(w) - w = v falls at least as fast as w rises. The required width is therefore between any w and w + v, and
    where v is ``_CLOSE`` to 0 it is as close.
    """
    frequency = np.pi * np.arange(grid.cells + 1)

    def beyond(width: Float64s, of: Codes) -> Float64s:
        reach = _UNHEARD / max(float(width.min(initial=1.0)), 1e-300)
        heard = int(np.searchsorted(frequency, reach, side="right"))
        damped = np.zeros((len(of), grid.cells + 1))
        damped[:, :heard] = np.exp(-0.5 * np.square(width[:, None] * frequency[:heard])) * spectrum[of, :heard]
        return np.asarray(grid.integral(np.abs(grid.density(damped))) - width)

    left = np.arange(len(spectrum))
    first = beyond(start, left)
    found = start + first
    if not (np.abs(first) > _CLOSE).any():
        return found
    second = beyond(found, left)
    rising = first > 0
    low, above = np.where(rising, start, found), np.where(rising, first, second)
    high, below = np.where(rising, found, start), np.where(rising, second, first)
    value, side = np.where(np.abs(first) > _CLOSE, second, 0.0), np.zeros(len(spectrum))
    for _ in range(_MOST_STEPS):
        going = np.abs(value) > _CLOSE
        if not going.any():
            break
        left = left[going]
        low, high, above, below, side = (part[going] for part in (low, high, above, below, side))
        width = high - below * (high - low) / (below - above)
        value = beyond(width, left)
        found[left], up = width, value > 0
        # An end that stays for the second time counts half, so that the other one moves.
        below, above = np.where(up & (side > 0), below / 2, below), np.where(~up & (side < 0), above / 2, above)
        low, above = np.where(up, width, low), np.where(up, value, above)
        high, below = np.where(up, high, width), np.where(up, below, value)
        side = np.where(up, 1.0, -1.0)
    return found


def smooth_errors(masses: Float64s, grid: ScoreGrid) -> Float64s:
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


def _of_strata(strata: Sequence[Stratum]) -> Float64s:
    """The smooth ECE of each; NaN without claims."""
    totals = np.array([stratum.total for stratum in strata])
    counted = np.where(totals > 0, totals, 1.0)
    found = fixed_points(_masses(strata, _GRID), counted, _GRID)
    for s in np.flatnonzero(~_wide(found) & (totals > 0)).tolist():
        masses = _masses([strata[s]], _FINE_GRID)
        # Where no residual is left the error is 0: a bootstrap of few rows would look for that thousands of times.
        found[s] = fixed_points(masses, counted[s], _FINE_GRID)[0] if masses.any() else 0.0
    return np.where(totals > 0, found, np.nan)


def _masses(strata: Sequence[Stratum], grid: ScoreGrid) -> Float64s:
    """Residuals of each stratum at the nodes, (strata, cells + 1)."""

    def residuals(stratum: Stratum) -> Float64s:
        plain: Float64s = stratum.outcomes - stratum.scores.astype(np.float64)
        return plain if stratum.weights is None else plain * stratum.weights

    return np.stack([grid.masses(stratum.scores, residuals(stratum)) for stratum in strata])


def _widths(fine: Float64s, total: float) -> Float64s:
    """Smooth ECE of sets of residuals on the finer grid, from which those on the coarser grid are computed."""
    found = fixed_points(_FINE_GRID.coarser(fine, _GRID.cells), total, _GRID)
    narrow = ~_wide(found)
    found[narrow] = fixed_points(fine[narrow], total, _FINE_GRID)
    return found


def _wide(width: Float64s | float) -> Bools:
    """True if the coarser grid is fine enough for this width."""
    return np.asarray(width >= _STEPS_PER_WIDTH * _GRID.step)
