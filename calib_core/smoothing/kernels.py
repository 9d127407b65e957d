"""Kernels and their effect on masses on a grid.

The beta kernel's shape varies with the position, so nothing is smoothed beyond the ends of the scores.

The module also estimates the frequency as a function of the score, from two densities on one grid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Protocol

import numpy as np
import scipy
from scipy.special import betaln

from calib_core._base.arrays import Codes, Float64s, frozen
from calib_core.claims.binary_claims import Stratum
from calib_core.registry.registry import Choice, Registry
from calib_core.smoothing.score_grid import CELLS, ScoreGrid


class Smoothing(Protocol):
    """Smoothing of masses on the nodes of a grid."""

    @property
    def grid(self) -> ScoreGrid:
        """Grid of the masses."""

    def density(self, masses: Float64s, stride: int = 1) -> Float64s:
        """Return smoothed masses (..., cells + 1): mass per unit of the scale at every stride-th node."""


class Spread(Smoothing, Protocol):
    """Kernel of one bandwidth on the nodes of a grid."""

    @property
    def stride(self) -> int:
        """Stride of the nodes at which the result is evaluated."""

    @property
    def height(self) -> float:
        """Density per unit of the scale at an inner node, from a unit mass at that node."""

    @property
    def own(self) -> Float64s:
        """Weight of a mass at its own node, (cells + 1,)."""

    def weights(self) -> Iterator[tuple[slice, slice, Float64s]]:
        """Yield runs of nodes, the nodes in reach and the weights; adjacent runs share their border nodes."""


class Kernel(Protocol):
    """Kernel with parameters only, applied to a grid with a bandwidth."""

    @property
    def cells(self) -> int:
        """Number of cells of its grid."""

    def on(self, grid: ScoreGrid, bandwidth: float) -> Spread:
        """Return the smoothing on this grid; ``bandwidth`` is the standard deviation in units of the scale."""


KERNELS: Registry[Kernel] = Registry("KERNELS", flags=False)
"""Kernels; the flag marks those that smooth many lines at once (``on_each``)."""
_BLOCK = 64


class Bump(ABC):
    """Base class of kernels with one shape at every position, mirrored at both ends.

    They are called with distances in standard deviations.
    """

    @property
    def cells(self) -> int:
        return CELLS

    @property
    @abstractmethod
    def reach(self) -> float:
        """Distance beyond which the kernel is 0."""

    @abstractmethod
    def __call__(self, u: Float64s) -> Float64s:
        """Return the height at distance u, up to a constant factor."""

    def on(self, grid: ScoreGrid, bandwidth: float) -> Mirrored:
        return Mirrored(self, bandwidth, grid)

    def on_each(self, grid: ScoreGrid, bandwidths: Sequence[float]) -> MirroredEach:
        """Return the smoothing of many lines of masses (lines, ..., cells + 1), each with its own bandwidth."""
        return MirroredEach(grid, np.stack([self.on(grid, width).footprint for width in bandwidths]))


@KERNELS.register("triweight", "Triweight", reference="P5 §4.4", flags=True)
@dataclass(frozen=True)
class Triweight(Bump):
    """Smooth kernel that ends three standard deviations from its center.

    (1 - (u/3)^2)^3 for |u| <= 3: it has enough derivatives for an estimate, and no tails.

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
    """Normal density, whose tails give a little weight to scores far from any data.

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
    """Smoothing with one kernel and bandwidth on a grid mirrored at both ends, by cosine transforms."""

    bump: Bump
    bandwidth: float
    grid: ScoreGrid

    @cached_property
    def footprint(self) -> Float64s:
        """Weight of a mass d nodes away, shape (cells + 1,), up to a constant factor.

        f(d) sums the kernel over all distances that are d or -d modulo 2 cells. At node j, a mass at node i has
        weight f(j - i) + f(j + i). A bandwidth below a third of a step does not move masses.
        """
        cells, taps = self.grid.cells, self._taps
        heights: Float64s = self.bump(np.arange(taps + 1.0) * (self.grid.step / self.bandwidth)) if taps else np.ones(1)
        # Taps beyond a mirror are folded back; on a mirror the taps of both sides coincide.
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
        """Factor of each cosine coefficient under smoothing, shape (cells + 1,); 1 at frequency 0."""
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
    """Smoothing with one bandwidth per line on one mirrored grid: ``footprints`` (lines, cells + 1)."""

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


FORMS = ("first", "second")
_CELLS = 512
"""Number of cells: the matrix of all pairs of nodes takes 2 MB."""
_KEPT = 16
"""Number of cached matrices; replicates of outcomes share scores, and so a matrix."""
_WIDEST_SECOND = 0.25
"""Largest b of the second form; beyond it the two ends would overlap."""
_NARROWEST = 0.1
"""Bandwidth, in steps of the grid, below which masses do not move."""
_LOG_OF_0 = -1e290


@KERNELS.register("beta", "Beta", reference="Chen 1999; P5, conclusion")
@dataclass(frozen=True)
class BetaKernel:
    """Kernel on [0, 1]: symmetric in the middle, narrower and more skewed towards the ends.

    At position x it is the beta density K(u; x/b + 1, (1 - x)/b + 1) over scores u. Here x and u are shares of the
    range from 0 (or 1/K) to 1, and b = (2 h)^2 with h the bandwidth in such shares. Its standard deviation is about 2 h
    sqrt(x (1 - x)), which is h in the middle. With Silverman's h, b falls as n^(-2/5), the optimal rate. The ``form``
    "second" is Chen's other one, which P5 mentions. For 2b <= x <= 1 - 2b it is K(u; x/b, (1 - x)/b), with mean x.
    Nearer the ends it is K(u; r(x), (1 - x)/b), r(x) = 2b^2 + 5/2 - sqrt(4b^4 + 6b^2 + 9/4 - x^2 - x/b), and its mirror
    image; its b is at most 1/4.

    Each score's kernel is divided by its integral over x, so every claim counts once and the density has integral 1.
    Scores are binned linearly on 513 nodes (a step of at most 0.002), coarser than for the other kernels. For 10,000
    overconfident claims concentrated near 1 and Silverman's rule on the standard deviation, the mean error of curves
    was .009, and .021 for the mirrored triweight. On the log-odds scale both are equal, and better (.005). What can
    mislead: for a score of exactly 0 or 1 the kernel is 0 at every other position. Such claims form a separate point,
    and the curve can jump there.

    References: Chen 1999, Beta kernel estimators for density functions, §2 and §4; Gourieroux & Monfort 2006 (the
    integral); P5, conclusion.

    >>> weights = BetaKernel().heights(np.array([0.0, 0.5]), 0.5, np.array([0.0, 0.5]))
    >>> weights.round(3).tolist()  # of scores 0 and 1/2, seen from place 0 (first line) and 1/2
    [[3.0, 0.75], [0.0, 1.5]]
    """

    form: Annotated[
        str,
        Choice(FORMS, titles=("Chen's first", "Chen's second")),
        "Form",
        "form of the beta kernel; the second has less bias where the density is curved",
    ] = "first"

    @property
    def cells(self) -> int:
        return _CELLS

    def on(self, grid: ScoreGrid, bandwidth: float) -> ByPlace:
        low, high = grid.ends
        share = max(bandwidth / (high - low), _NARROWEST / grid.cells)
        return ByPlace(grid, _matrix(self, grid.cells, share) / (high - low))

    def heights(self, places: Float64s, b: float, scores: Float64s) -> Float64s:
        """Return K(u; ...) of scores u (n,) at positions x (m,), both as shares of the range, (m, n)."""
        return np.asarray(np.exp(self._logs(places, b, scores)))

    def _logs(self, x: Float64s, b: float, u: Float64s) -> Float64s:
        up, down = (x / b + 1.0, (1.0 - x) / b + 1.0) if self.form == "first" else _second(x, b)
        log_u, log_rest = (np.log(v, out=np.full(v.shape, _LOG_OF_0), where=v > 0) for v in (u, 1.0 - u))
        powers = np.column_stack([up - 1.0, down - 1.0]) @ np.vstack([log_u, log_rest])
        return np.asarray(powers - betaln(up, down)[:, None])


@lru_cache(maxsize=_KEPT)
def _matrix(kernel: BetaKernel, cells: int, share: float) -> Float64s:
    """Densities at nodes (rows) from masses at nodes (columns), per share of the range; columns have integral 1."""
    place = np.linspace(0.0, 1.0, cells + 1)
    logs = kernel._logs(place, (2.0 * share) ** 2, place)
    # Scaled so that each score's largest logarithm is 0: even a narrow kernel has weight somewhere.
    weights = np.exp(logs - logs.max(axis=0))
    inner = weights.sum(axis=0) - (weights[0] + weights[-1]) / 2
    return frozen(weights * (cells / inner))


def _second(x: Float64s, b: float) -> tuple[Float64s, Float64s]:
    b = min(b, _WIDEST_SECOND)

    def near(x: Float64s) -> Float64s:
        inside = np.minimum(x, 2.0 * b)
        return np.asarray(2 * b**2 + 2.5 - np.sqrt(4 * b**4 + 6 * b**2 + 2.25 - inside**2 - inside / b))

    return np.where(x < 2 * b, near(x), x / b), np.where(1 - x < 2 * b, near(1 - x), (1 - x) / b)


@dataclass(frozen=True, eq=False)
class ByPlace:
    """Kernel with a position-dependent shape on a grid: a matrix of densities at nodes (rows) by masses."""

    grid: ScoreGrid
    matrix: Float64s

    @property
    def stride(self) -> int:
        return 1

    @property
    def height(self) -> float:
        middle = self.grid.cells // 2
        return float(self.matrix[middle, middle])

    @property
    def own(self) -> Float64s:
        return np.diag(self.matrix)

    def density(self, masses: Float64s, stride: int = 1) -> Float64s:
        return np.asarray(masses @ self.matrix[::stride].T)

    def weights(self) -> Iterator[tuple[slice, slice, Float64s]]:
        every = slice(0, self.grid.cells + 1)
        yield every, every, self.matrix


NO_DATA = 1e-8
"""Share of its peak below which the density counts as 0; transforms have rounding errors of about 1e-16."""


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Densities at scores (m,): ``all`` of all scores, ``true`` of the true claims times their share, (..., m)."""

    grid: ScoreGrid
    scores: Float64s
    all: Float64s
    true: Float64s

    @property
    def curve(self) -> Float64s:
        """Return P(z = 1 | s), NaN where there are no data."""
        dense = self.all > NO_DATA * self.all.max(axis=-1, keepdims=True)
        return np.asarray(np.divide(self.true, self.all, out=np.full(self.all.shape, np.nan), where=dense))

    @property
    def error(self) -> Float64s:
        """Return the integral of |P(z = 1 | s) - s| f(s), multiplied out so that nothing is divided by 0."""
        return self.grid.integral(np.abs(self.true - self.scores * self.all))


def smoothed(spread: Smoothing, masses: tuple[Float64s, Float64s], gaps: bool = False) -> Smoothed:
    """Densities from masses of all claims and of true claims, each (..., cells + 1), or the former with one line.

    With ``gaps`` outcomes minus scores are smoothed, and the score of each node is added back.
    """
    grid, (claimed, came) = spread.grid, masses
    if gaps:
        came = came - grid.scores * claimed
    if claimed.shape == came.shape:
        # One transform of both is hardly slower than of one.
        both = spread.density(np.stack([claimed, came], axis=-2))
        everything, true = both[..., 0, :], both[..., 1, :]
    else:  # many sets of outcomes of the same claims
        everything, true = spread.density(claimed), spread.density(came)
    if gaps:
        true += grid.scores * everything
    # Rounding gives values slightly below 0 where there are no claims, and above the total where all came true.
    total = claimed.sum(axis=-1, keepdims=True)
    total = np.where(total > 0, total, 1.0)
    np.maximum(everything, 0.0, out=everything)
    everything /= total
    true /= total
    np.clip(true, 0.0, everything, out=true)
    return Smoothed(grid, grid.scores, everything, true)


def binned(stratum: Stratum, grid: ScoreGrid) -> tuple[Float64s, Float64s]:
    """Masses of all claims and of true claims."""
    cell, into = grid.places(stratum.scores)
    hits, w = stratum.outcomes, stratum.weights
    return (
        grid.shared(cell, into, w),
        grid.shared(cell[hits], into[hits], None if w is None else w[hits]),
    )


def local_calibration(stratum: Stratum, spread: Spread, gaps: bool = False) -> Smoothed:
    """Both densities of a stratum, smoothed with one kernel and bandwidth."""
    return smoothed(spread, binned(stratum, spread.grid), gaps)
