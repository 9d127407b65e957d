"""The beta kernel: its shape varies with the place, so that nothing is smoothed beyond the ends of the scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from scipy.special import betaln

from calib_core._base.arrays import Float64s, frozen
from calib_core.registry.registry import Choice
from calib_core.smoothing.kernels import KERNELS
from calib_core.smoothing.score_grid import ScoreGrid

FORMS = ("first", "second")
_CELLS = 512
"""A matrix of every node by every node is kept: 2 MB."""
_KEPT = 16
"""Matrices kept: replicates of outcomes have the same scores, and so the same one."""
_WIDEST_SECOND = 0.25
"""Beyond it the two ends of the second form would overlap."""
_NARROWEST = 0.1
"""In steps of the grid: masses then stay where they are."""
_LOG_OF_0 = -1e290


@KERNELS.register("beta", "Beta", reference="Chen 1999; P5, conclusion")
@dataclass(frozen=True)
class BetaKernel:
    """A kernel that fits itself into [0, 1]: symmetric in the middle, ever narrower and more skewed towards the ends.

    At place x the density K(u; x/b + 1, (1 - x)/b + 1) of a beta law over scores u, x and u in shares of the range from
    0 (or 1/K) to 1, b = (2 h)^2 with h the bandwidth in such shares: its standard deviation is about
    2 h sqrt(x (1 - x)), h in the middle. With Silverman's h, b falls as n^(-2/5), the rate that is best for it. The
    ``form`` "second" is Chen's other one, which P5 names: K(u; x/b, (1 - x)/b) for 2b <= x <= 1 - 2b, whose mean is x,
    and K(u; r(x), (1 - x)/b), r(x) = 2b^2 + 5/2 - sqrt(4b^4 + 6b^2 + 9/4 - x^2 - x/b), and its mirror image nearer the
    ends; b is at most 1/4 there.

    Each score's kernel is divided by its integral over x, so that every claim counts once and the density has integral
    1. Scores are binned linearly on 513 nodes (a step of at most 0.002), coarser than for the other kernels. For 10,000
    over-confident claims crowded near 1 and Silverman's rule on the standard deviation, curves were .009 off on average
    where the mirrored triweight's were .021; smoothed by log-odds the two are alike, and better still (.005). What can
    mislead: for a score of exactly 0 or 1 the kernel is 0 at every other place; such claims are judged by themselves,
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
        "which of the two beta kernels; the second has less bias where the density bends",
    ] = "first"

    @property
    def cells(self) -> int:
        return _CELLS

    def on(self, grid: ScoreGrid, bandwidth: float) -> ByPlace:
        low, high = grid.ends
        share = max(bandwidth / (high - low), _NARROWEST / grid.cells)
        return ByPlace(grid, _matrix(self, grid.cells, share) / (high - low))

    def heights(self, places: Float64s, b: float, scores: Float64s) -> Float64s:
        """K(u; ...) of scores u (n,) at places x (m,), both in shares of the range, (m, n)."""
        return np.asarray(np.exp(self._logs(places, b, scores)))

    def _logs(self, x: Float64s, b: float, u: Float64s) -> Float64s:
        up, down = (x / b + 1.0, (1.0 - x) / b + 1.0) if self.form == "first" else _second(x, b)
        log_u, log_rest = (np.log(v, out=np.full(v.shape, _LOG_OF_0), where=v > 0) for v in (u, 1.0 - u))
        powers = np.column_stack([up - 1.0, down - 1.0]) @ np.vstack([log_u, log_rest])
        return np.asarray(powers - betaln(up, down)[:, None])


@lru_cache(maxsize=_KEPT)
def _matrix(kernel: BetaKernel, cells: int, share: float) -> Float64s:
    """Densities at nodes (lines) of masses at nodes (columns), per share of the range: each column's integral is 1."""
    place = np.linspace(0.0, 1.0, cells + 1)
    logs = kernel._logs(place, (2.0 * share) ** 2, place)
    # However narrow the kernel is, each score has weight somewhere: its largest logarithm is 0.
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
    """A kernel whose shape varies with the place, on a grid: a matrix of densities at nodes (rows) by masses there."""

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
