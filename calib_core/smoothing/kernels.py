"""Kernels: the shape each claim is smeared out with, in units of its standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy

from calib_core._arrays import Float64s
from calib_core.registry import Registry
from calib_core.smoothing.score_grid import Grid


class Kernel(Protocol):
    """Parameters only; called with distances in standard deviations."""

    @property
    def reach(self) -> float:
        """Distance beyond which the kernel is 0."""

    def __call__(self, u: Float64s) -> Float64s:
        """Height at distance u, up to a constant factor."""


KERNELS: Registry[Kernel] = Registry("KERNELS")


@KERNELS.register("triweight", "Triweight", reference="P5 §4.4")
@dataclass(frozen=True)
class Triweight:
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


@KERNELS.register("gaussian", "Gaussian")
@dataclass(frozen=True)
class Gaussian:
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


def footprint(kernel: Kernel, bandwidth: float, grid: Grid) -> Float64s:
    """Weight of a mass d nodes away on a grid mirrored at both ends, shape (cells + 1,), up to a constant factor.

    f(d) sums the kernel over all distances that are d or -d modulo 2 cells. Seen from node j a mass at node i weighs
    f(j - i) + f(j + i). A bandwidth below a third of a step leaves masses where they are.
    """
    taps = int(kernel.reach * bandwidth / grid.step)
    height: Float64s = kernel(np.arange(taps + 1.0) * (grid.step / bandwidth)) if taps else np.ones(1)
    # Taps that reach past a mirror are folded back; on a mirror the taps of both sides fall onto each other.
    place = np.arange(taps + 1) % (2 * grid.cells)
    folded = np.bincount(np.minimum(place, 2 * grid.cells - place), height, minlength=grid.cells + 1)
    folded[0] = 2.0 * folded[0] - height[0]
    folded[-1] *= 2.0
    return folded.astype(np.float64, copy=False)


def height(kernel: Kernel, bandwidth: float, grid: Grid) -> float:
    """Density per unit of the scale that all mass at one inner node has there, once smoothed."""
    f = footprint(kernel, bandwidth, grid)
    return float(f[0] / (f[0] + 2.0 * f[1:-1].sum() + f[-1]) / grid.step)


def response(kernel: Kernel, bandwidth: float, grid: Grid) -> Float64s:
    """What smoothing with the kernel multiplies each cosine coefficient by, shape (cells + 1,); 1 at frequency 0."""
    coefficients = np.asarray(scipy.fft.dct(footprint(kernel, bandwidth, grid), type=1))
    return np.asarray(coefficients / coefficients[0])
