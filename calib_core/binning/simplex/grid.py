"""Grid binning (P1 Appendix G.2): equal steps of every class's probability.

The module also has the base classes of partitions with fixed cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Codes, Float64s, Floats, Rows
from calib_core.binning.base import BINNINGS, Cuts
from calib_core.predictions.predictions import NotAnswerable
from calib_core.registry.registry import Range

_CODES = 2**63 - 1


def by_blocks(rows: Rows, coded: Callable[[Floats], Codes]) -> Codes:
    """Cell numbers (n,) of the rows, computed by blocks."""
    codes = np.empty(rows.shape[0], dtype=np.intp)
    for where, block in rows.blocks(LARGE_BLOCK_BYTES):
        codes[where] = coded(block)
    return codes


class FixedScheme:
    """Base class of schemes that do not depend on predictions."""

    def placed(self, rows: Rows, weights: Float64s | None) -> Float64s:
        return np.empty((0, rows.shape[1] + 1))

    def unproven(self) -> str:
        return ""


@dataclass(frozen=True, eq=False)
class FixedCells:
    """Base class of fixed cells of the simplex with ``n_classes`` corners."""

    n_classes: int

    def __post_init__(self) -> None:
        if self.n_cells > _CODES:
            raise NotAnswerable(
                f"{self.n_classes} classes give too many cells ({self.n_cells:.1e}): choose a coarser partition"
            )

    @property
    def n_cells(self) -> int:
        raise NotImplementedError

    def codes(self, rows: Rows) -> Codes:
        return by_blocks(rows, self._coded)

    def _coded(self, block: Floats) -> Codes:
        raise NotImplementedError

    def interior(self, rows: Rows, weights: Float64s | None) -> Float64s | None:
        return weights


@BINNINGS.register("grid", "Grid", reference="P1 App. G.2", flags=Cuts("simplex", bins="cells"))
@dataclass(frozen=True)
class Grid(FixedScheme):
    """Cells between equal steps of every class's probability: small triangles for three classes.

    Cell k = (k_1, ..., k_K) contains the s with k_l - 1 <= c s_l <= k_l for every class l. There are c = ``cells`` =
    1/tau steps per side, and max(K, c + 1) <= sum of k <= c + K - 1. A point on an edge goes to the lexicographically
    smallest of its cells: k_l = max(1, ceil(c s_l)). If all c s_l are whole and above 0, the last k is one more. There
    are c^2 cells of equal size for three classes, and cells of different sizes for more classes.

    Steps are cast to the predictions' dtype, so 0.2 is also on an edge in float32. A row that rounding moved beyond a
    vertex counts as the vertex. Cells are numbered in lexicographic order. Raises NotAnswerable beyond 2^63 cells
    (1,000 classes, 9 steps). What can mislead: with many classes nearly every row has its own cell.

    References: P1 Appendix G.2, eq. (26)-(27).

    >>> from calib_core._base.arrays import Rows
    >>> GridCells(3, steps=2).codes(Rows(np.array([[0.1, 0.1, 0.8], [0.3, 0.3, 0.4], [0.5, 0.5, 0.0]]))).tolist()
    [1, 0, 0]
    """

    cells: Annotated[int, Range(1, 50), "Cells per side", "cells per side"] = 5

    def partition(self, n_classes: int, planes: Float64s) -> GridCells:
        return GridCells(n_classes, self.cells)


@dataclass(frozen=True, eq=False)
class GridCells(FixedCells):
    """Cells of ``Grid``, identified by m = k - 1: K numbers of whole steps with a sum from ``least`` to ``most``."""

    steps: int

    @property
    def least(self) -> int:
        return max(0, self.steps + 1 - self.n_classes)

    @property
    def most(self) -> int:
        return self.steps - 1

    @property
    def n_cells(self) -> int:
        return comb(self.most + self.n_classes, self.n_classes) - (
            comb(self.least - 1 + self.n_classes, self.n_classes) if self.least else 0
        )

    def _coded(self, block: Floats) -> Codes:
        n, k = block.shape
        if self.steps == 1:
            return np.zeros(n, dtype=np.intp)
        edges = (np.arange(1, self.steps) / self.steps).astype(block.dtype)
        # With many classes nearly all scores are below the first step, so only the others are processed.
        above = np.flatnonzero(block > edges[0])
        row, column = np.divmod(above, k)
        m = np.searchsorted(edges, block.ravel()[above], side="left")
        codes, total = self._numbers(row, column, m, n)
        odd = np.flatnonzero((total > self.most) | (total < self.least))
        if len(odd):
            whole = np.searchsorted(edges, block[odd], side="left")
            codes[odd] = self._of_whole(_on_vertices(whole, self))
        return codes

    def _of_whole(self, m: Codes) -> Codes:
        """Numbers of cells identified by all their m, (cells, K)."""
        row, column = np.nonzero(m)
        return self._numbers(row, column, m[row, column], len(m))[0]

    def _numbers(self, row: Codes, column: Codes, m: Codes, n: int) -> tuple[Codes, Codes]:
        """Numbers of n cells and their sums of m, from the non-zero m, listed by rows."""
        upto = np.cumsum(m)
        ends = np.cumsum(np.bincount(row, minlength=n))
        total = np.diff(np.append(0, np.append(0, upto)[ends]))
        before = upto - m - np.append(0, np.append(0, upto)[ends])[row]
        codes = np.zeros(n, dtype=np.intp)
        high = before + m > self.most
        inside = np.where(high, 0, m)
        np.add.at(codes, row, self._smaller[column, np.minimum(before, self.most), inside])
        return codes, total

    @cached_property
    def _smaller(self) -> NDArray[np.int64]:
        """Counts [l, t, v] of cells that agree up to class l, with their m summing to t and an m below v at l."""
        k, c = self.n_classes, self.steps
        smaller = np.zeros((k, c, c), dtype=np.int64)
        # fits[t]: number of ways in which the classes after l sum to at most t.
        fits = np.ones(c, dtype=np.int64)
        for column in range(k - 1, -1, -1):
            for t in range(c):
                for v in range(c - t - 1):
                    most, least = self.most - t - v, self.least - t - v
                    ways = fits[most] - (fits[least - 1] if least > 0 else 0)
                    smaller[column, t, v + 1] = smaller[column, t, v] + ways
            fits = np.cumsum(fits)
        return smaller

    def outlines(self) -> tuple[tuple[Float64s, ...], ...]:
        if self.n_classes != 3:
            return ()
        return tuple((self._triangle(self.steps_below(cell)),) for cell in range(self.n_cells))

    def _triangle(self, m: Codes) -> Float64s:
        standing = m.sum() == self.most
        vertices = m + np.eye(3) if standing else m + 1 - np.eye(3)
        return np.asarray(vertices / self.steps)

    def steps_below(self, cell: int) -> Codes:
        """Return m of the cell with this number."""
        m, t, left = np.zeros(self.n_classes, dtype=np.intp), 0, cell
        for column in range(self.n_classes):
            reach = self._smaller[column, t, : self.most - t + 1]
            m[column] = int(np.searchsorted(reach, left, side="right")) - 1
            left -= int(reach[m[column]])
            t += int(m[column])
        return m

    def title(self, cell: int, class_names: tuple[str, ...]) -> str:
        m = self.steps_below(cell)
        parts = [
            f"{class_names[j]} {m[j] / self.steps:.2g} to {(m[j] + 1) / self.steps:.2g}" for j in np.flatnonzero(m)
        ]
        return ", ".join(parts) if parts else f"every class at most {1 / self.steps:.2g}"


def _on_vertices(m: Codes, cells: GridCells) -> Codes:
    """Smallest cell of rows on a vertex, where rounding may have moved every score slightly above its step.

    The steps strictly below each score are counted by m. For exact vertices without a 0 these sum to one less than a
    cell allows, for rows beyond a vertex to one more.
    """
    m = m.copy()
    beyond = m.sum(axis=1) > cells.most
    m[beyond] = np.maximum(m[beyond] - 1, 0)
    m[m.sum(axis=1) < cells.least, -1] += 1
    return m
