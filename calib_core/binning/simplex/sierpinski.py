"""Sierpinski binning (P1 Appendix G.1): corners cut off the simplex, and recursively off each corner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats
from calib_core.binning.base import BINNINGS, Cuts
from calib_core.binning.simplex.grid import FixedCells, FixedScheme
from calib_core.registry.registry import Range


@BINNINGS.register("sierpinski", "Sierpinski triangles", reference="P1 App. G.1", flags=Cuts("simplex", bins="depth"))
@dataclass(frozen=True)
class Sierpinski(FixedScheme):
    """Corner cells, in which one class has more than half of the remainder, cut recursively into corners.

    At depth 1: cell l if s_l > 0.5, else the middle cell. Corner l is scaled to a whole simplex by t = 2 s - e_l (exact
    in floating point) and cut again, ``depth`` times in all. Middle cells are not cut. There are (K^(q + 1) - 1) / (K -
    1) cells for K classes and depth q. For K = 3 that is 4, 13 and 40; the paper's text has 14 for depth 2, its formula
    13. What can mislead: with more than three classes the middle cell is by far the largest and mixes different rows.

    Cells are numbered by corners, the middle cell last. Raises NotAnswerable beyond 2^63 cells (1,447 classes, depth
    6).

    References: P1 Appendix G.1, eq. (22) and (25).

    >>> from calib_core._base.arrays import Rows
    >>> SierpinskiCells(3, depth=2).codes(Rows(np.array([[0.9, 0.1, 0.0], [0.5, 0.3, 0.2]]))).tolist()
    [0, 12]
    """

    depth: Annotated[int, Range(1, 6), "Depth of the cuts", "number of times that corners are cut"] = 2

    def partition(self, n_classes: int, planes: Float64s) -> SierpinskiCells:
        return SierpinskiCells(n_classes, self.depth)


@dataclass(frozen=True, eq=False)
class SierpinskiCells(FixedCells):
    """Cells of ``Sierpinski``: a corner's number is that of its class times the cells of a smaller partition."""

    depth: int

    @property
    def n_cells(self) -> int:
        return cells_of(self.n_classes, self.depth)

    def _coded(self, block: Floats) -> Codes:
        codes = np.zeros(len(block), dtype=np.intp)
        left, s = np.arange(len(block)), block
        for depth in range(self.depth, 0, -1):
            corner, share = _largest(s)
            high = share > 0.5
            inside = cells_of(self.n_classes, depth - 1)
            codes[left] += np.where(high, corner, self.n_classes) * inside
            left, s, corner = left[high], s[high], corner[high]
            s = s * 2
            s[np.arange(len(s)), corner] -= 1
        return codes

    def outlines(self) -> tuple[tuple[Float64s, ...], ...]:
        return tuple((vertices,) for vertices in _triangles(np.eye(3), self.depth)) if self.n_classes == 3 else ()

    def title(self, cell: int, class_names: tuple[str, ...]) -> str:
        path: list[str] = []
        for depth in range(self.depth, 0, -1):
            corner, cell = divmod(cell, cells_of(self.n_classes, depth - 1))
            if corner == self.n_classes:
                return " > ".join([*path, "middle"])
            path.append(class_names[corner])
        return " > ".join(path)


def cells_of(n_classes: int, depth: int) -> int:
    """Return the number of cells, (K^(q + 1) - 1) / (K - 1).

    >>> [cells_of(3, q) for q in range(4)]
    [1, 4, 13, 40]
    """
    return sum(n_classes**level for level in range(depth + 1))


def _largest(s: Floats) -> tuple[Codes, Floats]:
    """Largest entry of each row and its index, the lowest one on a tie."""
    if s.shape[1] > 16:
        corner = s.argmax(axis=1)
        return corner, s[np.arange(len(s)), corner]
    # By columns: argmax along short rows would be the slowest step.
    corner, share = np.zeros(len(s), dtype=np.intp), s[:, 0].copy()
    for j in range(1, s.shape[1]):
        above = s[:, j] > share
        corner[above] = j
        np.maximum(share, s[:, j], out=share)
    return corner, share


def _triangles(corners: Float64s, depth: int) -> list[Float64s]:
    """Triangles inside the one with these corners, in the order of their numbers; the middle one is inverted."""
    if depth == 0:
        return [corners]
    parts = [triangle for corner in corners for triangle in _triangles((corners + corner) / 2, depth - 1)]
    middles = (corners + np.roll(corners, -1, axis=0)) / 2
    return [*parts, middles]
