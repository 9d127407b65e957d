"""Cells of a summary: the fine grid, exact sums over its cells, and sums over pairs of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s, Floats, FloatType, ReadOnly, frozen
from calib_core._base.notebook_display import OneLine
from calib_core.claims import exact_sums
from calib_core.claims.binary_claims import Claims
from calib_core.claims.exact_sums import ExactSums, Moments, n_lines
from calib_core.claims.row_covariance import MOST_CELLS, SharedRows, added
from calib_core.predictions.predictions import NotAnswerable
from calib_core.text import count

NUMBERS = (*range(1, 26), 30, 50, 100, 1000)
"""Numbers of equal-width bins whose edges are on the grid; all their divisors qualify, too."""
EDGES = frozen(np.unique(np.concatenate([np.arange(1, b) / b for b in NUMBERS])))
"""Inner edges of the grid, ascending, computed as for equal-width bins."""
CELLS = len(EDGES) + 1

_SLOTS = 1 << 15
"""Slots of equal width in [0, 1]: each has at most one edge, because edges are at least 1/23,000 apart."""


def cells_of(scores: Floats) -> Codes:
    """Return the cell of each score, 0..CELLS-1: the number of edges, in the scores' type, that are not above it.

    >>> cells_of(np.array([0.0, 0.25, 1.0])).tolist() == np.searchsorted(EDGES, [0.0, 0.25, 1.0], side="right").tolist()
    True
    """
    first, edge = _slots(scores.dtype.str)
    # The number of slots is a power of two, so the product and its floor are exact: a look-up and one comparison are
    # five times as fast as a search.
    slot = (scores * scores.dtype.type(_SLOTS)).astype(np.intp)
    return np.asarray(first[slot] + (scores >= edge[slot]))


@cache
def _slots(dtype: str) -> tuple[Codes, Floats]:
    """Return the cell at the start of each slot, and the edge inside it (2 if there is none)."""
    edges = EDGES.astype(dtype)
    starts = np.arange(_SLOTS + 1) / _SLOTS
    first = np.searchsorted(edges, starts.astype(dtype), side="right")
    edge = np.full(_SLOTS + 1, 2.0, dtype=dtype)
    inside = np.minimum(np.append(first[1:], CELLS - 1), CELLS - 1) > first
    edge[inside] = edges[first[inside]]
    return first, edge


def starts_of(edges: Floats) -> Codes:
    """Return the first cell of each bin except the lowest, for inner edges of any type; NotAnswerable if off the grid.

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
            f"{count(int(off.sum()))} of these {count(len(edges))} bin edges {'is' if off.sum() == 1 else 'are'} not "
            f"on the grid of the summary; the first is {wrong:.6g} (nearest grid edge: {near:.6g}). Choose 1 to 25, "
            f"{', '.join(str(b) for b in NUMBERS[25:-1])} or 1,000 bins of equal width, or use the original rows"
        )
    return np.asarray(place + 1)


def lowest(cells: Codes, dtype: FloatType) -> Floats:
    """Return the lower edge of each cell, in the type of the scores that are compared with it."""
    return np.asarray(np.append(0.0, EDGES).astype(dtype)[cells])


SUMS = ("score", *Moments.powers)
"""Names of the sums stored next to the numbers of claims and of occurred outcomes."""


@dataclass(frozen=True, eq=False, repr=False)
class Cells(ReadOnly, OneLine):
    """Exact sums over the nonempty cells; cell c of stratum s has ``place`` s * CELLS + c, ascending.

    ``count`` and ``outcome`` are (places,); ``whole`` and ``part`` are (len(SUMS), places) as in ``ExactSums``.
    """

    place: Codes
    count: Codes
    outcome: Codes
    whole: Codes
    part: Codes

    @classmethod
    def of(cls, scores: Floats, outcomes: Bools, codes: Codes | None = None, n_strata: int = 1) -> Cells:
        """Return the cells of row-level claims (n,)."""
        place = cells_of(scores)
        if codes is not None:
            place = place + codes * CELLS
        size = n_strata * CELLS
        count = np.bincount(place, minlength=size)
        filled = np.flatnonzero(count)
        hits = np.bincount(place[outcomes], minlength=size)
        terms, most = (scores, *Moments.terms(scores, outcomes, None).values()), float(count.max(initial=0))
        sums = exact_sums.stacked([exact_sums.sums_of(term, place, size, None, most)[filled] for term in terms])
        return cls._of(filled, count[filled], hits[filled], sums)

    @classmethod
    def _of(cls, place: Codes, count: Codes, outcome: Codes, sums: ExactSums) -> Cells:
        return cls(*(frozen(a) for a in (place, count, outcome, sums.whole, sums.part)))

    @property
    def sums(self) -> ExactSums:
        """Sums as ExactSums, (len(SUMS), places)."""
        return ExactSums(self.whole, self.part)

    @classmethod
    def together(cls, several: Sequence[Cells]) -> Cells:
        """Return the sums of several objects, independent of their order."""
        place, count, outcome = (
            np.concatenate([getattr(cells, name) for cells in several]) for name in ("place", "count", "outcome")
        )
        whole, part = (np.concatenate([getattr(c, name) for c in several], axis=1) for name in ("whole", "part"))
        return cls._added(place, count, outcome, ExactSums(whole, part))

    @classmethod
    def side_by_side(cls, strata: Sequence[Cells]) -> Cells:
        """Combine cells of one stratum each, as the strata 0, 1, ... of one object."""
        moved = [cls._of(c.place + s * CELLS, c.count, c.outcome, c.sums) for s, c in enumerate(strata)]
        return cls.together(moved)

    def over_strata(self) -> Cells:
        """Return the same claims in a single stratum."""
        return self._added(self.place % CELLS, self.count, self.outcome, self.sums)

    def stratum(self, s: int) -> Cells:
        """Return the claims of one stratum, as stratum 0."""
        mine = slice(*np.searchsorted(self.place, [s * CELLS, (s + 1) * CELLS]))
        return self._of(self.place[mine] - s * CELLS, self.count[mine], self.outcome[mine], self.sums[:, mine])

    @classmethod
    def _added(cls, place: Codes, count: Codes, outcome: Codes, sums: ExactSums) -> Cells:
        """Add the sums at places that may occur repeatedly."""
        order = np.argsort(place, kind="stable")
        place = place[order]
        starts = np.flatnonzero(np.append(True, place[1:] != place[:-1])[: len(place)])
        if not len(starts):
            return cls._of(place, count, outcome, sums)
        parts = (np.add.reduceat(a[..., order], starts, axis=-1) for a in (count, outcome, sums.whole, sums.part))
        count, outcome, whole, part = parts
        # Adding zero carries the excess of the parts over to the whole units.
        return cls._of(place[starts], count, outcome, ExactSums(whole, part) + ExactSums.zeros(whole.shape))

    @property
    def n_claims(self) -> int:
        """Number of claims."""
        return int(self.count.sum())

    def moments(self, starts: Sequence[Codes], n_strata: int) -> Moments:
        """Sums over bins that start at cell 0 and at ``starts`` (one set, or one per stratum), (strata, bins)."""
        bins = 1 + max(map(len, starts))
        stratum, cell = np.divmod(self.place, CELLS)
        if len(starts) == 1:
            bin_ = np.searchsorted(starts[0], cell, side="right")
        else:
            stops = np.searchsorted(stratum, np.arange(n_strata + 1))
            pieces = [cell[stops[s] : stops[s + 1]] for s in range(n_strata)]
            bin_ = np.concatenate([np.searchsorted(s, c, side="right") for s, c in zip(starts, pieces, strict=True)])
        coarse = self._added(stratum * bins + bin_, self.count, self.outcome, self.sums)
        size = n_strata * bins
        count, outcome = np.zeros(size), np.zeros(size)
        count[coarse.place], outcome[coarse.place] = coarse.count, coarse.outcome
        sums = ExactSums.zeros((len(SUMS), size))
        sums.whole[:, coarse.place], sums.part[:, coarse.place] = coarse.whole, coarse.part
        shape = (n_strata, bins)
        return Moments.of_exact(count.reshape(shape), outcome.reshape(shape), sums.reshaped(shape))

    def over(self, n_strata: int) -> Moments:
        """Return sums over whole strata, (strata, 1)."""
        return self.moments([np.zeros(0, dtype=np.intp)], n_strata)

    def _line(self) -> str:
        return f"{self.n_claims:,} claims in {len(self.place):,} cells"


WANTED = ((10, 15, 20), (15,), (10,), (5,))
"""Sets of numbers of equal-width bins whose edges the cells have; the first with at most ``MOST_CELLS`` is used."""


def numbers_for(strata: int) -> tuple[int, ...] | None:
    """Return the numbers of bins for this many strata; None if all sets give too many pairs.

    >>> numbers_for(10), numbers_for(60), numbers_for(1000)
    ((10, 15, 20), (15,), None)
    """
    fits = (numbers for numbers in WANTED if strata * (len(edges_of(numbers)) + 1) <= MOST_CELLS)
    return next(fits, None)


def edges_of(numbers: Sequence[int]) -> Float64s:
    """Return the inner edges of all these numbers of equal-width bins."""
    return np.unique(np.concatenate([np.arange(1, b) / b for b in numbers]))


@dataclass(frozen=True, eq=False, repr=False)
class PairCells(OneLine):
    """Sums over pairs of the cells between the edges of these ``numbers`` of bins, stratum after stratum.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import ClassWise
    >>> kept = PairCells.of(ClassWise().split(Predictions([[0.7, 0.3]], [0])))
    >>> kept.coarsened([np.array([0.5])], np.dtype(float)).residual.value.shape
    (4, 4)
    """

    numbers: tuple[int, ...]
    sums: SharedRows

    @classmethod
    def of(cls, claims: Claims, ranks: int = 1) -> PairCells | None:
        """Return the sums for claims that share rows, ``ranks`` of each; None if there are too many strata."""
        numbers = numbers_for(len(claims.strata))
        if numbers is None:
            return None
        return cls(numbers, claims.shared([edges_of(numbers).astype(claims.dtype)], ranks=ranks))

    @classmethod
    def together(cls, several: Sequence[PairCells | None]) -> PairCells | None:
        """Combine the rows of all, independent of their order; None unless all store the same cells."""
        known = [each for each in several if each is not None]
        if len(known) < len(several) or len({each.numbers for each in known}) != 1:
            return None
        return cls(known[0].numbers, added([each.sums for each in known]))

    def coarsened(self, edge_sets: Sequence[Floats], dtype: FloatType, joined: Codes | None = None) -> SharedRows:
        """Return the sums over pairs of cells between inner edges; NotAnswerable unless all edges are stored."""
        grid = edges_of(self.numbers).astype(dtype)
        cells, width = len(grid) + 1, 1 + max(map(len, edge_sets))
        strata = self.sums.cells // cells
        lines = np.arange(strata) if joined is None else joined
        codes = np.empty((strata, cells), dtype=np.intp)
        for s, line in enumerate(lines):
            edges = edge_sets[0 if len(edge_sets) == 1 else line]
            if not np.isin(edges, grid).all():
                raise NotAnswerable(
                    f"the covariance of a row's claims is stored only for {' or '.join(map(str, self.numbers))} bins "
                    "of equal width. Intervals and noise floors in this notion need one of these. Or use a notion with "
                    "one claim per row (top-label, class-specific), or the original rows"
                )
            codes[s] = line * width + np.searchsorted(edges, np.append(0.0, grid), side="right")
        return self.sums.grouped(codes.ravel(), n_lines(strata, joined) * width)

    def _line(self) -> str:
        return f"{self.sums.rows:,} rows in {self.sums.cells:,} cells and their pairs"
