"""Bootstrap of kernel curves: rows are drawn again as counts of grid cells, and never looked at again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calib_core._arrays import Bools, Codes, Float64s
from calib_core.claims import Stratum
from calib_core.estimators.kernel.grid import Grid
from calib_core.estimators.kernel.local import Smoothed, smoothed

BATCH = 25
"""Resamples made at a time, each batch with a seed of its own: part of the result, so that it is the same anywhere."""

_ROWS_A_PAIR = 8
"""Up to so many rows a pair, drawing rows one by one is faster than drawing the counts of pairs."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Occupied (grid cell, outcome) pairs: rows in each, and how far into the cell they lie on average."""

    grid: Grid
    cell: Codes
    true: Bools
    count: Float64s
    into: Float64s

    @property
    def rows(self) -> int:
        """Rows to draw: as many as there are, or as their weights sum to."""
        return max(1, round(float(self.count.sum())))

    def draws(self, size: int, rng: np.random.Generator) -> Float64s:
        """Counts (size, pairs) of ``rows`` rows drawn with replacement, ``size`` times."""
        n, pairs = self.rows, len(self.count)
        if n > _ROWS_A_PAIR * pairs or (self.count != np.floor(self.count)).any():
            return rng.multinomial(n, self.count / self.count.sum(), size=size).astype(np.float64)
        pair_of_row = np.repeat(np.arange(pairs), self.count.astype(np.intp))
        drawn = (np.bincount(pair_of_row[rng.integers(0, n, n, dtype=np.uint32)], minlength=pairs) for _ in range(size))
        return np.array(list(drawn), dtype=np.float64)

    def masses(self, counts: Float64s) -> tuple[Float64s, Float64s]:
        """Masses at the grid's nodes of all rows and of those that came true, from counts (size, pairs)."""
        false, true = (self._spread(counts[:, of], of) for of in (~self.true, self.true))
        return false + true, true

    def _spread(self, counts: Float64s, of: Bools) -> Float64s:
        cell, ahead = self.cell[of], counts * self.into[of]
        masses = np.zeros((len(counts), self.grid.cells + 1))
        masses[:, cell] = counts - ahead
        masses[:, cell + 1] += ahead
        return masses


def occupied(stratum: Stratum, grid: Grid) -> Cells:
    """The (cell, outcome) pairs that hold claims, in ascending order: the order of the rows leaves no trace."""
    cell, into = grid.places(stratum.scores)
    at = 2 * cell + stratum.outcomes
    count = np.bincount(at, stratum.weights, minlength=2 * grid.cells).astype(np.float64)
    summed = np.bincount(at, into if stratum.weights is None else into * stratum.weights, minlength=2 * grid.cells)
    held = np.flatnonzero(count > 0)
    return Cells(grid, held // 2, held % 2 == 1, count[held], summed[held] / count[held])


def resampled(
    cells: Cells, damping: Float64s, resamples: int, random_state: int, stride: int = 1
) -> Iterator[Smoothed]:
    """Densities of every resample, BATCH of them at a time."""
    seeds = np.random.SeedSequence(random_state).spawn(-(-resamples // BATCH))
    for i, seed in enumerate(seeds):
        counts = cells.draws(min(BATCH, resamples - i * BATCH), np.random.default_rng(seed))
        yield smoothed(cells.grid, cells.masses(counts), damping, stride)
