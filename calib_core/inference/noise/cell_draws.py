"""Outcomes of calibrated models drawn cell by cell, independently or as claims that share rows vary together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, ndtr

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.binning.bin_table import BinTable
from calib_core.claims.binary_claims import Claims, ClaimsOfRows
from calib_core.claims.exact_sums import Moments, copies
from calib_core.claims.row_covariance import MOST_CELLS, SharedRows
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.cell_sums import normal, shared_of, unit_noise
from calib_core.inference.noise.outcome_draws import NULL_DRAWS

MANY_ROWS = 50_000
"""Rows beyond which outcomes are drawn as sums of cells."""


def counts_suffice(claims: Claims, ranks: int = 1) -> bool:
    """True if outcomes are drawn from counts: one claim per row, and rows that are many or unknown."""
    if ranks > 1 or claims.same_rows:
        return False
    rows = claims.n_claims if claims.weights is None else float(claims.weights.sum())
    return copies(claims.weights) and drawn_by_cells(claims, rows)


class FineCells:
    """The claims in cells finer than a table's bins, whose outcomes are binomial at the cell's mean score.

    The sum of n outcomes of scores s in a cell of width w has variance sum s (1 - s). The binomial one of the same
    mean has n var(s) more: at most n w^2 / 4, and at most a share w / (1 - w) of it. (In the first and last cell var(s)
    <= m (w - m) by Bhatia & Davis, m the mean's distance from 0 or 1. Elsewhere s (1 - s) >= w (1 - w).) That is 1 part
    in 1,000 if cells are 1/1,024 wide. The binomial sum is larger in convex order. The floor of an error, which is
    convex in the outcomes, therefore has at least the mean of that from single rows.

    References: Hoeffding 1956, On the distribution of the number of successes in independent trials.
    """

    def __init__(self, claims: Claims, table: BinTable) -> None:
        self._table, sets = table, table.edge_sets(claims.dtype)
        self._lines = np.arange(len(claims.strata)) if table.joined is None else table.joined
        mine = sets if table.joined is None else [sets[s] for s in table.joined]
        refined = claims.refined(mine)
        fine = claims.moments(refined)
        # The bin of a cell is that of its lower edge; the first cell is in the first bin.
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


LEAST_OUTCOMES = 30.0
"""Expected variance from which a cell's sum counts as normal."""
_FARTHEST, _LEAST_FAR = 9.0, 40
"""Range of the table of a binomial sum around its mean: a number of deviations plus a number of outcomes."""

Outcomes = Callable[[np.random.Generator, int], Float64s]
"""From a stream and a number of replicates to outcome sums (count, strata, bins)."""


def drawn_by_cells(claims: Claims, rows: float) -> bool:
    """True if outcomes of claims that share rows are drawn by cell, because rows are many or unknown."""
    return claims.grain == "counts" or rows > MANY_ROWS


def shared_outcomes(claims: Claims, table: BinTable, ranks: int, known: SharedRows | None = None) -> Outcomes | None:
    """Outcome sums of calibrated models; None if rows are few enough to be drawn, or their covariance is unknown.

    The law is normal with the covariance implied by the scores, sum_i (diag(s_i) - s_i s_i') over cells. In cells
    with an expected variance below 30, each normal number is replaced by the binomial one of the same rank. This is a
    Gaussian copula with binomial margins, n claims at the cell's mean score. Sums are never below 0 or above n. Their
    variance is at least that of the sum of outcomes at the claims' own scores.

    References: margins, Hoeffding 1956; copula, Joe 2014, Dependence Modeling with Copulas, §2.2.
    """
    if not drawn_by_cells(claims, float(table.count.sum()) / (len(claims.strata) if claims.same_rows else ranks)):
        return None
    known = shared_of(claims, table, ranks) if known is None else known
    if known is None:
        return None
    if not claims.same_rows and known.most > outcome_draws.MOST_TOTAL:
        raise outcome_draws.no_distribution()
    return _copula(known.claimed.value, table)


def _copula(covariance: Float64s, table: BinTable) -> Outcomes:
    count, score = table.count.ravel(), table.tally.score.ravel()
    mean = np.divide(score, count, out=np.zeros(len(count)), where=count > 0)
    noise, deviation = normal(covariance), np.sqrt(np.maximum(np.diag(covariance), 0.0))
    poor = np.flatnonzero((count > 0) & (count * mean * (1.0 - mean) < LEAST_OUTCOMES))
    looked_up = [_upto(int(count[c]), float(np.clip(mean[c], 0.0, 1.0))) for c in poor]

    def outcomes(rng: np.random.Generator, number: int) -> Float64s:
        normals = noise(rng, number)
        sums = np.clip(normals + score, 0.0, count)
        rank = ndtr(np.divide(normals, deviation, out=np.zeros_like(normals), where=deviation > 0)[:, poor])
        for cell, (least, upto), each in zip(poor, looked_up, rank.T, strict=True):
            sums[:, cell] = least + np.searchsorted(upto, each)
        return sums.reshape(number, *table.count.shape)

    return outcomes


def _upto(n: int, p: float) -> tuple[int, Float64s]:
    """Smallest number considered, and P(X <= k) from it on, X ~ Binomial(n, p)."""
    far = int(_FARTHEST * np.sqrt(n * p * (1.0 - p))) + _LEAST_FAR
    least, most = max(0, int(n * p) - far), min(n, int(n * p) + far)
    return least, np.asarray(bdtr(np.arange(least, most), n, p))


_DRAWN_ROWS, _FEWEST_DRAWS = 20_000_000, 200
"""Numbers drawn row by row for calibrated outcomes and for rows' noise, and the fewest replicates of them.

The level at a 95 % point of 200 draws is off by .015 in standard error: on average that costs .2 points of coverage.
"""
_HELD, _FEWEST_HELD = 20_000_000, 100
"""Drawn sums of cells in memory, and the fewest replicates with many cells, whose sum varies little."""


@dataclass(frozen=True, eq=False)
class SharedNoise:
    """The noise of some ``cells`` (cells,), places in a table of claims that share rows.

    ``shared`` is how all cells vary together, where that is small enough to be written down.
    """

    claims: ClaimsOfRows
    table: BinTable
    ranks: int
    shared: SharedRows | None
    cells: Codes

    @property
    def of_rows(self) -> bool:
        """True if noise is drawn row by row, at a cost of rows, cells and replicates."""
        return self.shared is None and self.table.count.size > MOST_CELLS

    @property
    def replicates(self) -> int:
        """Number of draws of calibrated outcomes, and of the noise of rows."""
        rows = self.claims.n_rows() if self.shared is None else self.shared.rows * self.ranks
        wanted = int(np.clip(_DRAWN_ROWS // rows, _FEWEST_DRAWS, NULL_DRAWS))
        return min(wanted, max(_HELD // self.table.count.size, _FEWEST_HELD))

    def gaps(self, parts: Iterable[Float64s]) -> Float64s:
        """Gaps (draws, cells) of calibrated models, whose outcome sums (draws, strata, bins) come in parts."""
        drawn, first = np.empty((self.replicates, len(self.cells))), 0
        for part in parts:
            sums = part.reshape(len(part), -1)
            np.take(sums, self.cells, axis=1, out=drawn[first : first + len(sums)], mode="clip")
            first += len(sums)
        drawn /= self.table.count.ravel()[self.cells]
        drawn -= self.table.mean_score.ravel()[self.cells]
        return drawn

    def errors(self, rng: np.random.Generator, wanted: Bools | None = None) -> Float64s:
        """Standard normal errors (draws, wanted), correlated as the rows' residuals are, of the cells that are wanted.

        Where noise is drawn row by row few cells cost little, and have the errors that they have among all.
        """
        number = self.replicates if self.of_rows else NULL_DRAWS
        cells = self.cells if wanted is None else self.cells[wanted]
        return unit_noise(self.claims, self.table, self.ranks, rng, number, self.shared, cells)
