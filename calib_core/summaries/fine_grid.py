"""The fine grid on which a summary counts: the edges that bins are asked for with, all at once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from calib_core._base.arrays import Codes, Floats, frozen
from calib_core.predictions.predictions import NotAnswerable
from calib_core.text import count

NUMBERS = (*range(1, 26), 30, 50, 100, 1000)
"""Numbers of equal-width bins whose edges are on the grid; so are those of every number that divides one of them."""
EDGES = frozen(np.unique(np.concatenate([np.arange(1, b) / b for b in NUMBERS])))
"""Inner edges of the grid, ascending, computed as bins of equal width compute theirs."""
CELLS = len(EDGES) + 1

_SLOTS = 1 << 15
"""Slots of equal width in [0, 1]: no two edges lie in one, the nearest being 1/23,000 apart."""


def cells_of(scores: Floats) -> Codes:
    """The cell of each score, 0..CELLS-1: how many edges, cast to the scores' type, do not lie above it.

    >>> cells_of(np.array([0.0, 0.25, 1.0])).tolist() == np.searchsorted(EDGES, [0.0, 0.25, 1.0], side="right").tolist()
    True
    """
    first, edge = _slots(scores.dtype.str)
    # Slots are a power of two, so that the product and its floor are exact: a look-up and one comparison are five
    # times as fast as a search.
    slot = (scores * scores.dtype.type(_SLOTS)).astype(np.intp)
    return np.asarray(first[slot] + (scores >= edge[slot]))


@cache
def _slots(dtype: str) -> tuple[Codes, Floats]:
    """For each slot the cell at its start, and the one edge inside it (2 where there is none)."""
    edges = EDGES.astype(dtype)
    starts = np.arange(_SLOTS + 1) / _SLOTS
    first = np.searchsorted(edges, starts.astype(dtype), side="right")
    edge = np.full(_SLOTS + 1, 2.0, dtype=dtype)
    inside = np.minimum(np.append(first[1:], CELLS - 1), CELLS - 1) > first
    edge[inside] = edges[first[inside]]
    return first, edge


def starts_of(edges: Floats) -> Codes:
    """The first cell of each bin but the lowest, for inner edges in any type; NotAnswerable unless all lie on the grid.

    >>> EDGES[starts_of(np.array([0.25, 0.5])) - 1].tolist()
    [0.25, 0.5]
    """
    grid = EDGES.astype(edges.dtype)
    place = np.minimum(np.searchsorted(grid, edges), len(grid) - 1)
    off = grid[place] != edges
    if off.any():
        wrong = float(edges[off][0])
        below, above = (float(EDGES[j]) for j in (max(int(place[off][0]) - 1, 0), int(place[off][0])))
        near = below if wrong - below <= above - wrong else above
        raise NotAnswerable(
            f"a summary counts on a grid, and {count(int(off.sum()))} of these {count(len(edges))} bin edges "
            f"{'is' if off.sum() == 1 else 'are'} not on it: the first is {wrong:.6g}, next to it lies {near:.6g}; "
            f"choose 1 to 25, {', '.join(str(b) for b in NUMBERS[25:-1])} or 1,000 bins of equal width, or go back to "
            "the rows"
        )
    return np.asarray(place + 1)


def lowest(cells: Codes, dtype: Any) -> Floats:
    """The lower edge of each cell, as scores of this type are compared with it."""
    return np.asarray(np.append(0.0, EDGES).astype(dtype)[cells])
