"""The share of claims that come true as a function of the score, from two densities on one grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.claims.binary_claims import Stratum
from calib_core.smoothing.kernels import Smoothing, Spread
from calib_core.smoothing.score_grid import ScoreGrid

NO_DATA = 1e-8
"""Below this share of its peak the density counts as 0: transforms leave rounding errors of some 1e-16 of the peak."""


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Densities at scores (m,): ``all`` of the scores, ``true`` of those that came true times their share, (..., m)."""

    grid: ScoreGrid
    scores: Float64s
    all: Float64s
    true: Float64s

    @property
    def curve(self) -> Float64s:
        """P(z = 1 | s), NaN where no data lie."""
        dense = self.all > NO_DATA * self.all.max(axis=-1, keepdims=True)
        return np.asarray(np.divide(self.true, self.all, out=np.full(self.all.shape, np.nan), where=dense))

    @property
    def error(self) -> Float64s:
        """Integral of |P(z = 1 | s) - s| f(s): the densities are multiplied out, so that nothing is divided by 0."""
        return self.grid.integral(np.abs(self.true - self.scores * self.all))


def smoothed(spread: Smoothing, masses: tuple[Float64s, Float64s], gaps: bool = False) -> Smoothed:
    """Densities from masses of all claims and of those that came true, each (..., cells + 1) or the former of one line.

    With ``gaps`` it is the outcomes less the scores that are smoothed, and the score of each node is added back.
    """
    grid, (claimed, came) = spread.grid, masses
    if gaps:
        came = came - grid.scores * claimed
    if claimed.shape == came.shape:
        # One transform of both takes little longer than of one.
        both = spread.density(np.stack([claimed, came], axis=-2))
        everything, true = both[..., 0, :], both[..., 1, :]
    else:  # many outcomes of the same claims
        everything, true = spread.density(claimed), spread.density(came)
    if gaps:
        true += grid.scores * everything
    # Rounding leaves traces below 0 where nothing lies, and above the whole where everything came true.
    total = claimed.sum(axis=-1, keepdims=True)
    total = np.where(total > 0, total, 1.0)
    np.maximum(everything, 0.0, out=everything)
    everything /= total
    true /= total
    np.clip(true, 0.0, everything, out=true)
    return Smoothed(grid, grid.scores, everything, true)


def binned(stratum: Stratum, grid: ScoreGrid) -> tuple[Float64s, Float64s]:
    """Masses of all claims and of those that came true."""
    cell, into = grid.places(stratum.scores)
    hits, w = stratum.outcomes, stratum.weights
    return (
        grid.shared(cell, into, w),
        grid.shared(cell[hits], into[hits], None if w is None else w[hits]),
    )


def local_calibration(stratum: Stratum, spread: Spread, gaps: bool = False) -> Smoothed:
    """Both densities of a stratum, smoothed with one kernel and bandwidth."""
    return smoothed(spread, binned(stratum, spread.grid), gaps)
