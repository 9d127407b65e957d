"""Kernels: the shape each claim is smeared out with, and what that does to masses on a grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy

from calib_core._base.arrays import Codes, Float64s
from calib_core.registry.registry import Registry
from calib_core.smoothing.score_grid import CELLS, ScoreGrid


class Smoothing(Protocol):
    """What smoothing does to masses on the nodes of a grid."""

    @property
    def grid(self) -> ScoreGrid:
        """Where the masses lie."""

    def density(self, masses: Float64s, stride: int = 1) -> Float64s:
        """Masses (..., cells + 1) smoothed: mass per unit of the scale at every stride-th node."""


class Spread(Smoothing, Protocol):
    """A kernel of one bandwidth on the nodes of a grid."""

    @property
    def stride(self) -> int:
        """Every how many nodes what comes out is read."""

    @property
    def height(self) -> float:
        """Density per unit of the scale that all mass at one inner node has there."""

    @property
    def own(self) -> Float64s:
        """Weight of a mass at its own node, (cells + 1,)."""

    def weights(self) -> Iterator[tuple[slice, slice, Float64s]]:
        """Runs of nodes, the nodes they see and the weights between; runs share their border nodes."""


class Kernel(Protocol):
    """Parameters only; put on a grid with a bandwidth."""

    @property
    def cells(self) -> int:
        """Cells of the grid it works on."""

    def on(self, grid: ScoreGrid, bandwidth: float) -> Spread:
        """What it does to masses on this grid; ``bandwidth`` is its standard deviation in units of the scale."""


KERNELS: Registry[Kernel] = Registry("KERNELS", flags=False)
"""Flagged are those that smooth many lines at once (``on_each``)."""
_BLOCK = 64


class Bump(ABC):
    """One shape at every place, mirrored at both ends; called with distances in standard deviations."""

    @property
    def cells(self) -> int:
        return CELLS

    @property
    @abstractmethod
    def reach(self) -> float:
        """Distance beyond which the kernel is 0."""

    @abstractmethod
    def __call__(self, u: Float64s) -> Float64s:
        """Height at distance u, up to a constant factor."""

    def on(self, grid: ScoreGrid, bandwidth: float) -> Mirrored:
        return Mirrored(self, bandwidth, grid)

    def on_each(self, grid: ScoreGrid, bandwidths: Sequence[float]) -> MirroredEach:
        """What it does to many lines of masses (lines, ..., cells + 1), each with a bandwidth of its own."""
        return MirroredEach(grid, np.stack([self.on(grid, width).footprint for width in bandwidths]))


@KERNELS.register("triweight", "Triweight", reference="P5 §4.4", flags=True)
@dataclass(frozen=True)
class Triweight(Bump):
    """A smooth bump that ends three standard deviations away from its centre.

    (1 - (u/3)^2)^3 for |u| <= 3: as many derivatives as an estimate needs, and no tails.

    >>> Triweight()(np.array([0.0, 3.0])).tolist()
    [1.0, 0.0]
    """

    @property
    def reach(self) -> float:
        return 3.0

    def __call__(self, u: Float64s) -> Float64s:
        return np.asarray(np.maximum(1.0 - np.square(u / 3.0), 0.0) ** 3)


@KERNELS.register("gaussian", "Gaussian", flags=True)
@dataclass(frozen=True)
class Gaussian(Bump):
    """The normal density, whose tails lend a little weight to scores far from any data.

    exp(-u^2 / 2), cut at nine standard deviations, where it is below 3e-18.

    >>> Gaussian()(np.array([0.0])).tolist()
    [1.0]
    """

    @property
    def reach(self) -> float:
        return 9.0

    def __call__(self, u: Float64s) -> Float64s:
        return np.asarray(np.exp(-0.5 * np.square(u)))


@dataclass(frozen=True, eq=False)
class Mirrored:
    """A bump of one bandwidth on a grid mirrored at both ends: smoothing by cosine transforms."""

    bump: Bump
    bandwidth: float
    grid: ScoreGrid

    @cached_property
    def footprint(self) -> Float64s:
        """Weight of a mass d nodes away, shape (cells + 1,), up to a constant factor.

        f(d) sums the kernel over all distances that are d or -d modulo 2 cells. Seen from node j a mass at node i
        weighs f(j - i) + f(j + i). A bandwidth below a third of a step leaves masses where they are.
        """
        cells, taps = self.grid.cells, self._taps
        heights: Float64s = self.bump(np.arange(taps + 1.0) * (self.grid.step / self.bandwidth)) if taps else np.ones(1)
        # Taps that reach past a mirror are folded back; on a mirror the taps of both sides fall onto each other.
        place = np.arange(taps + 1) % (2 * cells)
        folded = np.bincount(np.minimum(place, 2 * cells - place), heights, minlength=cells + 1)
        folded[0] = 2.0 * folded[0] - heights[0]
        folded[-1] *= 2.0
        return folded.astype(np.float64, copy=False)

    @property
    def _taps(self) -> int:
        return int(self.bump.reach * self.bandwidth / self.grid.step)

    @cached_property
    def _damping(self) -> Float64s:
        """What smoothing multiplies each cosine coefficient by, shape (cells + 1,); 1 at frequency 0."""
        return _damping(self.footprint)

    @property
    def stride(self) -> int:
        return self.grid.stride(self.bandwidth)

    @property
    def height(self) -> float:
        f = self.footprint
        return float(f[0] / (f[0] + 2.0 * f[1:-1].sum() + f[-1]) / self.grid.step)

    @property
    def own(self) -> Float64s:
        cells = self.grid.cells
        return np.asarray(self.footprint[0] + self.footprint[_folded(2 * np.arange(cells + 1), cells)])

    def density(self, masses: Float64s, stride: int = 1) -> Float64s:
        return self.grid.density(self.grid.spectrum(masses) * self._damping, stride)

    def weights(self) -> Iterator[tuple[slice, slice, Float64s]]:
        cells, f = self.grid.cells, self.footprint
        for start in range(0, cells, _BLOCK):
            stop = min(start + _BLOCK, cells)
            seen = np.arange(max(0, start - self._taps), min(cells, stop + self._taps) + 1)
            point = np.arange(start, stop + 1)[:, None]
            w = f[_folded(point - seen, cells)] + f[_folded(point + seen, cells)]
            yield slice(start, stop + 1), slice(int(seen[0]), int(seen[-1]) + 1), w


@dataclass(frozen=True, eq=False)
class MirroredEach:
    """Bumps of several bandwidths on one mirrored grid, one for each line: ``footprints`` (lines, cells + 1)."""

    grid: ScoreGrid
    footprints: Float64s

    def density(self, masses: Float64s, stride: int = 1) -> Float64s:
        damping = _damping(self.footprints).reshape(len(masses), *[1] * (masses.ndim - 2), -1)
        return self.grid.density(self.grid.spectrum(masses) * damping, stride)


def _damping(footprints: Float64s) -> Float64s:
    """Cosine coefficients (..., cells + 1) in units of the first."""
    coefficients = np.asarray(scipy.fft.dct(footprints, type=1))
    return np.asarray(coefficients / coefficients[..., :1])


def _folded(d: Codes, cells: int) -> Codes:
    """Distances on a circle of 2 cells nodes."""
    d = np.abs(d) % (2 * cells)
    return np.minimum(d, 2 * cells - d)
