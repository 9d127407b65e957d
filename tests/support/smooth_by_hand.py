"""Smooth ECE of one stratum by its definition: an error as a function of the width, and its fixed point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from calib_core._base.arrays import Float64s
from calib_core.claims.binary_claims import Stratum
from calib_core.smoothing.score_grid import ScoreGrid

UNHEARD = 9.0
"""Frequencies above this over the width are damped by e^-40: below rounding."""


def smooth_error(stratum: Stratum, grid: ScoreGrid | None = None) -> Callable[[float], float]:
    """Return smECE_s as a function of the width s: non-increasing, from the raw error at 0 to |bias| at infinity."""
    grid = ScoreGrid() if grid is None else grid
    residuals: Float64s = stratum.outcomes - stratum.scores.astype(np.float64)
    if stratum.weights is not None:
        residuals *= stratum.weights
    spectrum = grid.spectrum(grid.masses(stratum.scores, residuals)) / stratum.total
    frequency = np.pi * np.arange(grid.cells + 1)

    def error(width: float) -> float:
        heard = int(np.searchsorted(frequency, UNHEARD / max(width, 1e-300), side="right"))
        damped = np.zeros_like(spectrum)
        damped[:heard] = np.exp(-0.5 * np.square(width * frequency[:heard])) * spectrum[:heard]
        return float(grid.integral(np.abs(grid.density(damped))))

    return error


def fixed_point(error: Callable[[float], float]) -> float:
    """Return the width s* with error(s*) = s*, which is unique: the error falls with the width from at most 1."""
    # Rounding can lift an error of 1 over 1.
    return float(scipy.optimize.brentq(lambda width: error(width) - width, 0.0, 1.0 + 1e-9, xtol=1e-15, rtol=1e-14))
