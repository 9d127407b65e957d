"""What a summary knows of claims: exact sums over the cells of the grid that hold any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Bools, Codes, Floats, ReadOnly, frozen
from calib_core._base.notebook_display import OneLine
from calib_core.claims import exact_sums
from calib_core.claims.exact_sums import ExactSums
from calib_core.claims.tallies import Moments
from calib_core.summaries.fine_grid import CELLS, cells_of

SUMS = ("score", *Moments.powers)
"""The sums that are kept beside the number of claims and of those that came true."""


@dataclass(frozen=True, eq=False, repr=False)
class Cells(ReadOnly, OneLine):
    """Exact sums over the cells that hold claims; cell c of stratum s stands at ``place`` s * CELLS + c, ascending.

    ``count`` and ``outcome`` are (places,), ``whole`` and ``part`` (len(SUMS), places) as in ``ExactSums``.
    """

    place: Codes
    count: Codes
    outcome: Codes
    whole: Codes
    part: Codes

    @classmethod
    def of(cls, scores: Floats, outcomes: Bools, codes: Codes | None = None, n_strata: int = 1) -> Cells:
        """The cells of listed claims (n,)."""
        place = cells_of(scores)
        if codes is not None:
            place = place + codes * CELLS
        size = n_strata * CELLS
        count = np.bincount(place, minlength=size)
        filled = np.flatnonzero(count)
        hits = np.bincount(place[outcomes], minlength=size)
        terms = (scores, *Moments.terms(scores, outcomes, None).values())
        sums = exact_sums.stacked([exact_sums.sums_of(term, place, size)[filled] for term in terms])
        return cls._of(filled, count[filled], hits[filled], sums)

    @classmethod
    def _of(cls, place: Codes, count: Codes, outcome: Codes, sums: ExactSums) -> Cells:
        return cls(*(frozen(a) for a in (place, count, outcome, sums.whole, sums.part)))

    @property
    def sums(self) -> ExactSums:
        """The sums, (len(SUMS), places)."""
        return ExactSums(self.whole, self.part)

    @classmethod
    def together(cls, several: Sequence[Cells]) -> Cells:
        """The sums of several together, whatever their order."""
        place, count, outcome = (
            np.concatenate([getattr(cells, name) for cells in several]) for name in ("place", "count", "outcome")
        )
        whole, part = (np.concatenate([getattr(c, name) for c in several], axis=1) for name in ("whole", "part"))
        return cls._added(place, count, outcome, ExactSums(whole, part))

    @classmethod
    def side_by_side(cls, strata: Sequence[Cells]) -> Cells:
        """Cells of one stratum each, as the strata 0, 1, ... of one."""
        moved = [cls._of(c.place + s * CELLS, c.count, c.outcome, c.sums) for s, c in enumerate(strata)]
        return cls.together(moved)

    def over_strata(self) -> Cells:
        """The same claims in one stratum."""
        return self._added(self.place % CELLS, self.count, self.outcome, self.sums)

    def stratum(self, s: int) -> Cells:
        """The claims of one stratum alone, as stratum 0."""
        mine = slice(*np.searchsorted(self.place, [s * CELLS, (s + 1) * CELLS]))
        return self._of(self.place[mine] - s * CELLS, self.count[mine], self.outcome[mine], self.sums[:, mine])

    @classmethod
    def _added(cls, place: Codes, count: Codes, outcome: Codes, sums: ExactSums) -> Cells:
        """The sums at places that may come up again."""
        order = np.argsort(place, kind="stable")
        place = place[order]
        starts = np.flatnonzero(np.append(True, place[1:] != place[:-1])[: len(place)])
        if not len(starts):
            return cls._of(place, count, outcome, sums)
        parts = (np.add.reduceat(a[..., order], starts, axis=-1) for a in (count, outcome, sums.whole, sums.part))
        count, outcome, whole, part = parts
        # Adding nothing carries what parts have too much over to the ones.
        return cls._of(place[starts], count, outcome, ExactSums(whole, part) + ExactSums.zeros(whole.shape))

    @property
    def n_claims(self) -> int:
        """How many claims there are."""
        return int(self.count.sum())

    def moments(self, starts: Sequence[Codes], n_strata: int) -> Moments:
        """Sums over bins that begin at cell 0 and at these cells, (strata, most bins); one set for all, or one each."""
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
        """Sums over whole strata, (strata, 1)."""
        return self.moments([np.zeros(0, dtype=np.intp)], n_strata)

    def _line(self) -> str:
        return f"{self.n_claims:,} claims in {len(self.place):,} cells"
