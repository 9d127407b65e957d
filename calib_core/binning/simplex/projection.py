"""Projection binning (P1 Appendix G.3): cells with equal numbers of rows, cut off along one direction after another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Literal

import numpy as np

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Codes, Float64s, Floats, Rows
from calib_core.binning.base import BINNINGS, Cuts
from calib_core.binning.simplex.grid import by_blocks
from calib_core.defaults import SEED
from calib_core.predictions.validation import effective_rows
from calib_core.registry.registry import Choice, Range

_SLACK = 1e-9
"""Tolerance for weights that sum to a whole number of rows up to rounding."""
_FEW_CLASSES = 16
"""Number of classes up to which sums run by columns, which is faster on long blocks of short rows."""


@BINNINGS.register("projection", "Projections", reference="P1 Alg. 10", flags=Cuts("simplex", bins="bins"))
@dataclass(frozen=True)
class Projection:
    """Cells cut off by successive planes; each contains about the same number of the rows that set them.

    With n rows and B = ``bins``, c = floor((n + 1) / B). Plane b has direction q_b and the threshold T_b, the c-th
    smallest s.q_b of the rows not yet cut off. A prediction belongs to the first b with s.q_b < T_b, or to the last
    cell. Every cell contains at least c - 1 of the rows; rows on a plane are left out of its estimates. B is at most (n
    + 1) / 2, so no cell is empty.

    Directions:

    - "axes" takes -e_1, -e_2, ..., -e_K, -e_1, ... in turn, each cutting off the rows most confident of a class.
    - "shares" takes the same axes in proportion to the mean predictions of the classes, at every step the class
      furthest behind its share. (The paper does not specify the rule, but would use other rows.)
    - "random" draws them uniformly from the sphere.

    Ties: T_b is the smallest value with c - 1 rows below it. One row's weight is left out, shared by the rows tied on
    the plane. A plane with fewer than c - 1 rows on either side is dropped. What can mislead: cells depend on the data,
    and late cells are remainders of earlier ones: thin slices, rarely compact regions.

    References: P1 Appendix G.3, Algorithm 10.

    >>> rows = Rows(np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]]))
    >>> scheme = Projection(bins=2)
    >>> planes = scheme.placed(rows, None)
    >>> planes.tolist(), scheme.partition(2, planes).codes(rows).tolist()
    ([[-1.0, 0.0, -0.6]], [0, 0, 1, 1, 1])
    """

    bins: Annotated[int, Range(1, 200), "Number of cells", "number of cells"] = 27
    directions: Annotated[
        Literal["axes", "random", "shares"],
        Choice(("axes", "random", "shares"), titles=("Classes in turn", "At random", "Classes by their share")),
        "Directions of planes",
        "directions of the planes: classes in turn, random, or classes by their share",
    ] = "axes"
    random_state: Annotated[int, Range(0, 2**31 - 1), "Random seed", "seed of random directions"] = SEED

    def placed(self, rows: Rows, weights: Float64s | None) -> Float64s:
        n, k = rows.shape
        mass = _mass(n, weights)
        total = float(mass.sum()) + 1 + _SLACK
        bins = max(1, min(self.bins, int(total) // 2))
        least = int(total // bins) - 1
        planes: list[Float64s] = []
        left = _Left(np.flatnonzero(mass > 0), mass)
        for direction in self._sequence(rows, weights, bins - 1):
            side = _projected(rows, left.index, direction)
            threshold = _threshold(side, left.own_mass, least)
            if threshold is not None:
                planes.append(np.append(direction, threshold))
                left.cut(side, threshold)
        return np.array(planes).reshape(-1, k + 1)

    def partition(self, n_classes: int, planes: Float64s) -> ProjectionCells:
        return ProjectionCells(n_classes, planes)

    def unproven(self) -> str:
        return "the planes' directions depend on the calibration rows" if self.directions == "shares" else ""

    def _sequence(self, rows: Rows, weights: Float64s | None, planes: int) -> Float64s:
        """Unit vectors (planes, K)."""
        k = rows.shape[1]
        if self.directions == "random":
            drawn = np.random.default_rng(self.random_state).standard_normal((planes, k))
            return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
        turns = np.arange(planes) % k if self.directions == "axes" else _by_share(_mean(rows, weights), planes)
        axes = np.zeros((planes, k))
        axes[np.arange(planes), turns] = -1.0
        return axes


@dataclass(frozen=True, eq=False)
class ProjectionCells:
    """Cells of ``Projection``: cell b is the part of the remainder cut off by plane b (direction and threshold)."""

    n_classes: int
    planes: Float64s

    @property
    def n_cells(self) -> int:
        return len(self.planes) + 1

    def codes(self, rows: Rows) -> Codes:
        return by_blocks(rows, self._coded)

    def _coded(self, block: Floats) -> Codes:
        codes = np.full(len(block), len(self.planes), dtype=np.intp)
        turned = block.astype(np.float64, order="C") if self._slanted else block
        # From the last plane to the first: an earlier plane has priority.
        for cell in range(len(self.planes) - 1, -1, -1):
            direction, threshold = self.planes[cell, :-1], self.planes[cell, -1]
            axis = _axis(direction)
            # The threshold of an axis is a score: after the cast it equals its own row in float32 and float64.
            inside = (
                _along(turned, direction) < threshold
                if axis is None
                else block[:, axis] > (-threshold).astype(block.dtype)
            )
            np.copyto(codes, cell, where=inside)
        return codes

    @property
    def _slanted(self) -> bool:
        return any(_axis(plane[:-1]) is None for plane in self.planes)

    def interior(self, rows: Rows, weights: Float64s | None) -> Float64s | None:
        """Return the weights minus one row per plane, shared by the rows tied on it."""
        mass = _mass(rows.shape[0], weights)
        scale = 1.0 if weights is None else float(weights.sum() / mass.sum())
        left = _Left(np.flatnonzero(mass > 0), mass)
        for plane in self.planes:
            left.cut(_projected(rows, left.index, plane[:-1]), plane[-1])
        return mass * scale

    def outlines(self) -> tuple[tuple[Float64s, ...], ...]:
        if self.n_classes != 3:
            return ()
        rest, cells = np.eye(3), []
        for plane in self.planes:
            side = rest @ plane[:-1] - plane[-1]
            cells.append(_clipped(rest, -side))
            rest = _clipped(rest, side)
        return tuple((cell,) if len(cell) else () for cell in [*cells, rest])

    def title(self, cell: int, class_names: tuple[str, ...]) -> str:
        if cell == len(self.planes):
            return "remainder"
        direction, threshold = self.planes[cell, :-1], self.planes[cell, -1]
        axis = _axis(direction)
        return f"cut {cell + 1}" if axis is None else f"cut {cell + 1}: {class_names[axis]} above {-threshold:.3g}"


@dataclass
class _Left:
    """Rows not yet cut off: their positions, ``index``, in the ``mass`` of all rows, which cuts change."""

    index: Codes
    mass: Float64s

    def __post_init__(self) -> None:
        self.own_mass: Float64s | None = self.mass[self.index]
        if (self.own_mass == 1.0).all():
            self.own_mass = None

    def cut(self, side: Float64s, threshold: float) -> None:
        """Remove one row's weight from the rows on the plane, and keep the rows on it or beyond."""
        on_plane = self.index[side == threshold]
        tied = float(self.mass[on_plane].sum())
        self.mass[on_plane] *= max(0.0, 1.0 - 1.0 / tied) if tied > 1.0 + _SLACK else 0.0
        if tied > 1.0 + _SLACK or self.own_mass is not None:
            beyond = self.index[side >= threshold]
            self.index = beyond[self.mass[beyond] > 0]
            self.own_mass = self.mass[self.index]
        else:
            self.index = self.index[side > threshold]


def _mass(n: int, weights: Float64s | None) -> Float64s:
    """Effective weight of each row: whole weights are copies, others are scaled to the effective sample size."""
    if weights is None:
        return np.ones(n)
    return np.asarray(weights * (effective_rows(n, weights) / weights.sum()))


def _axis(direction: Float64s) -> int | None:
    """Class l if the direction is -e_l, else None."""
    axes = np.flatnonzero(direction)
    return int(axes[0]) if len(axes) == 1 and direction[axes[0]] == -1.0 else None


def _along(block: Floats, direction: Float64s) -> Float64s:
    """Return s.q of the rows of a block."""
    # Not a matrix product, as its last bits depend on the number of rows.
    if block.shape[1] > _FEW_CLASSES:
        return np.asarray(np.einsum("ij,j->i", block, direction))
    return _added_up((block[:, j] for j in range(block.shape[1])), direction)


def _projected(rows: Rows, index: Codes, direction: Float64s) -> Float64s:
    """Return s.q of these rows, with the same bits as for a block."""
    chosen, axis = rows.take(index), _axis(direction)
    if axis is not None:
        return -chosen.column(axis).astype(np.float64)
    if rows.shape[1] <= _FEW_CLASSES:
        return _added_up((chosen.column(j).astype(np.float64) for j in range(rows.shape[1])), direction)
    side = np.empty(len(index))
    for where, block in chosen.blocks(LARGE_BLOCK_BYTES):
        side[where] = _along(block.astype(np.float64, order="C"), direction)
    return side


def _added_up(columns: Iterable[Floats], direction: Float64s) -> Float64s:
    """Sum of columns times numbers, from the first to the last."""
    parts = (column * by for column, by in zip(columns, direction, strict=True))
    return np.asarray(reduce(np.add, parts))


def _threshold(side: Float64s, mass: Float64s | None, least: int) -> float | None:
    """Smallest value with this mass below it; None if less than that, plus one row, is at or above it."""
    need = least - _SLACK
    if mass is None:
        if len(side) <= least:
            return None
        threshold = float(np.partition(side, least)[least])
        if np.count_nonzero(side < threshold) < need:
            threshold = float(np.min(side[side > threshold], initial=np.inf))
        total, below = float(len(side)), float(np.count_nonzero(side < threshold))
    else:
        order = np.argsort(side, kind="stable")
        upto = np.append(0.0, np.cumsum(mass[order]))
        starts = np.append(0, np.flatnonzero(np.diff(side[order])) + 1)
        enough = starts[upto[starts] >= need]
        if not len(enough):
            return None
        threshold, below, total = float(side[order[enough[0]]]), float(upto[enough[0]]), float(upto[-1])
    return threshold if total - below - 1.0 >= need else None


def _mean(rows: Rows, weights: Float64s | None) -> Float64s:
    total = np.zeros(rows.shape[1])
    for where, block in rows.blocks(LARGE_BLOCK_BYTES):
        mine = block if weights is None else block * weights[where, None]
        total += mine.sum(axis=0, dtype=np.float64)
    return np.asarray(total / total.sum())


def _by_share(shares: Float64s, turns: int) -> Codes:
    """Sequence of classes: at every step the one furthest behind its share, the lowest index on a tie.

    >>> _by_share(np.array([0.25, 0.75]), 4).tolist()
    [1, 0, 1, 1]
    """
    given, found = np.zeros(len(shares)), np.zeros(turns, dtype=np.intp)
    for step in range(turns):
        # Rounded, so that shares summed in another order give the same sequence.
        found[step] = np.argmax(np.round(shares * (step + 1) - given, 9))
        given[found[step]] += 1
    return found


def _clipped(vertices: Float64s, side: Float64s) -> Float64s:
    """Part of a convex polygon where ``side``, a number per vertex and linear in between, is at least 0."""
    kept: list[Float64s] = []
    for a, b, here, there in zip(vertices, np.roll(vertices, -1, axis=0), side, np.roll(side, -1), strict=True):
        if here >= 0:
            kept.append(a)
        if here * there < 0:
            kept.append(a + (b - a) * (here / (here - there)))
    return np.array(kept).reshape(-1, 3)
