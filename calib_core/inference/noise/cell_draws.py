"""Outcomes of calibrated models drawn cell by cell, for claims too many to be drawn one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.binning.bin_table import BinTable
from calib_core.claims.binary_claims import Claims, ClaimsOfRows
from calib_core.claims.tallies import Moments, copies

MANY_ROWS = 50_000
"""Rows beyond which outcomes are drawn as sums of cells."""


def counts_suffice(claims: Any, ranks: int = 1) -> bool:
    """Are outcomes of these claims drawn from their counts: one claim a row, and many rows, or rows nobody has?"""
    if ranks > 1 or claims.same_rows:
        return False
    return claims.grain == "counts" or (copies(claims.weights) and copied_rows(claims) > MANY_ROWS)


def copied_rows(claims: ClaimsOfRows) -> float:
    """How many rows make listed claims, copies counted."""
    return claims.n_claims if claims.weights is None or not copies(claims.weights) else float(claims.weights.sum())


class FineCells:
    """The claims in cells finer than a table's bins, whose outcomes are binomial at the cell's mean score.

    The sum of n outcomes of scores s in a cell of width w varies by sum s (1 - s), the binomial one of the same mean by
    n var(s) more: at most n w^2 / 4, and at most w / (1 - w) of it (in the first and last cell var(s) <= m (w - m) by
    Bhatia & Davis, m the mean's distance from 0 or 1; elsewhere s (1 - s) >= w (1 - w)): 1 part in 1,000 where cells
    are 1/1,024 wide. It is the larger one in convex order, so that the floor of an error, which is convex in the
    outcomes, has no smaller mean than that of single rows.

    References: Hoeffding 1956, On the distribution of the number of successes in independent trials.
    """

    def __init__(self, claims: Claims, table: BinTable) -> None:
        self._table, sets = table, table.edge_sets(claims.dtype)
        self._lines = np.arange(len(claims.strata)) if table.joined is None else table.joined
        mine = sets if table.joined is None else [sets[s] for s in table.joined]
        refined = claims.refined(mine)
        fine = claims.moments(refined)
        # The bin of a cell is that of its lower edge; of the first cell the first.
        bins = [np.append(0, np.searchsorted(e, f, side="right")) for e, f in zip(mine, refined, strict=True)]
        within = np.zeros((len(bins), fine.count.shape[-1]), dtype=np.intp)
        for s, each in enumerate(bins):
            within[s, : len(each)] = each
        filled = fine.count > 0
        self._stratum, _ = np.nonzero(np.broadcast_to(filled, (len(claims.strata), filled.shape[-1])))
        self._bin = np.broadcast_to(within, filled.shape)[filled]
        self._count, self._claim = fine.count[filled], (fine.claim[filled], fine.claim_square[filled])
        self._score = np.clip(fine.score[filled] / self._count, 0.0, 1.0)

    def outcomes(self, rng: np.random.Generator, count: int) -> Float64s:
        """Outcome sums (count, strata, bins) of calibrated models."""
        width = self._table.count.shape[-1]
        place = self._lines[self._stratum] * width + self._bin
        order = np.argsort(place, kind="stable")
        places, starts = np.unique(place[order], return_index=True)
        sums = np.zeros((count, self._table.count.size))
        drawn = rng.binomial(self._count[order].astype(np.int64), self._score[order], size=(count, len(order)))
        sums[:, places] = np.add.reduceat(drawn, starts, axis=1)
        return sums.reshape(count, *self._table.count.shape)

    def moments(self, rng: np.random.Generator, count: int) -> Iterator[Moments]:
        """Sums over the bins (strata of the claims, bins) of calibrated models, every score its cell's mean."""
        shape = len(self._lines), self._table.count.shape[-1]
        place = self._stratum * shape[1] + self._bin
        n, s = self._count, self._score

        def over(terms: Float64s) -> Float64s:
            return np.bincount(place, terms, shape[0] * shape[1]).astype(np.float64).reshape(shape)

        for hits in rng.binomial(n.astype(np.int64), s, size=(count, len(n))):
            powers = {name: hits * (1.0 - s) ** p + (n - hits) * (-s) ** p for name, p in _POWERS.items()}
            claim, claim_square = self._claim
            sums = {"count": n, "score": n * s, "outcome": hits, **powers, "claim": claim, "claim_square": claim_square}
            yield Moments.of_floats({name: over(terms) for name, terms in sums.items()})


_POWERS = {"second": 2, "third": 3, "fourth": 4}
