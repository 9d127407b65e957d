"""What a summary knows of claims: exact sums over the cells of the grid that hold any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib_core._arrays import Bools, Codes, Float64s, Floats, ReadOnly, frozen
from calib_core._repr import OneLine
from calib_core.summaries.exact import Ints, carried, exact_sums, rounded
from calib_core.summaries.grid import CELLS, cells_of

SUMS = ("count", "score", "outcome", "squares", "cubes", "fourths", "spread", "spread_squares")
"""Sums of 1, s, z, r^2, r^3, r^4, v and v^2 over a cell's claims, r = z - s and v = s (1 - s)."""


@dataclass(frozen=True, eq=False, repr=False)
class Cells(ReadOnly, OneLine):
    """Exact sums over the cells that hold claims; cell c of stratum s stands at ``place`` s * CELLS + c, ascending.

    ``whole`` and ``part`` are (places, len(SUMS)): sums in ones, and what is left of them in units of 2^-40.
    """

    place: Codes
    whole: Ints
    part: Ints

    @classmethod
    def of(cls, scores: Floats, outcomes: Bools, codes: Codes | None = None, n_strata: int = 1) -> Cells:
        """The cells of listed claims (n,)."""
        place = cells_of(scores)
        if codes is not None:
            place = place + codes * CELLS
        size = n_strata * CELLS
        count, hits = np.bincount(place, minlength=size), np.bincount(place[outcomes], minlength=size)
        found = np.flatnonzero(count)
        zero = np.zeros(len(found), dtype=np.int64)
        s = scores.astype(np.float64)
        r, v = outcomes - s, s * (1.0 - s)
        square = r * r
        sums = [(count[found], zero), _taken(place, s, size, found), (hits[found], zero)]
        sums += [_taken(place, each, size, found) for each in (square, square * r, square * square, v, v * v)]
        return cls._of(found, *(np.stack([pair[i] for pair in sums], axis=1) for i in (0, 1)))

    @classmethod
    def _of(cls, place: Codes, whole: Ints, part: Ints) -> Cells:
        return cls(frozen(place), frozen(whole.astype(np.int64, copy=False)), frozen(part))

    @classmethod
    def together(cls, several: Sequence[Cells]) -> Cells:
        """The sums of several together, whatever their order."""
        return cls._added(*(np.concatenate([getattr(c, name) for c in several]) for name in ("place", "whole", "part")))

    def over_strata(self) -> Cells:
        """The same claims in one stratum."""
        return self._added(self.place % CELLS, self.whole, self.part)

    def stratum(self, s: int) -> Cells:
        """The claims of one stratum alone, as stratum 0."""
        mine = slice(*np.searchsorted(self.place, [s * CELLS, (s + 1) * CELLS]))
        return self._of(self.place[mine] - s * CELLS, self.whole[mine], self.part[mine])

    @classmethod
    def _added(cls, place: Codes, whole: Ints, part: Ints) -> Cells:
        """Sums (m, len(SUMS)) at places that may come up again."""
        order = np.argsort(place, kind="stable")
        place = place[order]
        starts = np.flatnonzero(np.append(True, place[1:] != place[:-1])[: len(place)])
        if not len(starts):
            return cls._of(place, whole, part)
        sums = (np.add.reduceat(each[order], starts, axis=0) for each in (whole, part))
        return cls._of(place[starts], *carried(*sums))

    @property
    def n_claims(self) -> int:
        """How many claims there are."""
        return int(self.whole[:, 0].sum())

    def strata_sums(self, n_strata: int) -> Float64s:
        """Every sum over whole strata, (strata, len(SUMS)), rounded once."""
        return self.binned(np.zeros(0, dtype=np.intp), n_strata)[:, :, 0].T

    def binned(self, starts: Codes, n_strata: int) -> Float64s:
        """Sums over bins that begin at cells 0 and ``starts``, (len(SUMS), strata, bins), each rounded once."""
        bins = len(starts) + 1
        stratum, cell = np.divmod(self.place, CELLS)
        coarse = self._added(stratum * bins + np.searchsorted(starts, cell, side="right"), self.whole, self.part)
        sums = np.zeros((len(SUMS), n_strata * bins))
        sums[:, coarse.place] = rounded(coarse.whole, coarse.part).T
        return sums.reshape(len(SUMS), n_strata, bins)

    def _line(self) -> str:
        return f"{self.n_claims:,} claims in {len(self.place):,} cells"


def _taken(place: Codes, values: Float64s, size: int, found: Codes) -> tuple[Ints, Ints]:
    whole, part = exact_sums(place, values, size)
    return whole[found], part[found]
