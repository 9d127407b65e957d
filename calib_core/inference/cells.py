"""Claims as linear maps into the cells of a bin table: what thousands of resamples need to know of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from calib_core._arrays import LARGE_BLOCK_BYTES, Codes, Float64s, Floats, Rows
from calib_core.binning import BinTable
from calib_core.calibrators.fitting.blas import one_thread
from calib_core.claims import ColumnClaims, FlatClaims, Tally


@dataclass(frozen=True, eq=False)
class CellSums:
    """What every row adds to every cell: weight, weight * score, weight * outcome, as sparse maps (rows, cells).

    Where ``rest`` is given, the maps of weight and score leave out each stratum's first cell, which holds nearly all
    claims when classes are many: its sums are the column's total less the others. ``rest`` is the matrix itself.
    """

    strata: int
    bins: int
    count: csr_array
    score: csr_array
    outcome: csr_array
    weights: Float64s
    rest: Rows | None = None

    @property
    def rows(self) -> int:
        return len(self.weights)

    def of(self, times: Float64s) -> Tally:
        """Sums over cells with row i taken times[i, r] times, each (replicates, strata, bins)."""
        count, score, outcome = (self._summed(part, times) for part in (self.count, self.score, self.outcome))
        if self.rest is not None:
            weighed = times * self.weights[:, None]
            count[:, :, 0] = weighed.sum(axis=0)[:, None] - count.sum(axis=2)
            score[:, :, 0] = _totals(self.rest, weighed) - score.sum(axis=2)
        return Tally(count, score, outcome)

    def noise(self, normal: Float64s) -> Float64s:
        """Standard normal errors (replicates, strata, bins) of the cells, correlated as the rows' residuals are.

        sum_i g_i (z_i - s_i) over a cell's claims, divided by its root mean square, g standard normal.
        """
        sums = self.of(normal)
        spread = np.sqrt(self._squares())
        error = sums.outcome - sums.score
        return np.asarray(np.divide(error, spread, out=np.zeros_like(error), where=spread > 0))

    def _summed(self, part: csr_array, times: Float64s) -> Float64s:
        return np.ascontiguousarray((part.T @ times).T).reshape(-1, self.strata, self.bins)

    def _squares(self) -> Float64s:
        """Sum of squared residuals of each cell, (strata, bins)."""
        residual = self.outcome - self.score
        squares = np.asarray(residual.multiply(residual).sum(axis=0)).reshape(self.strata, self.bins)
        if self.rest is None:
            return squares
        total = np.zeros(self.strata)
        for where, block in self.rest.blocks(LARGE_BLOCK_BYTES):
            total += np.square(block * self.weights[where, None]).sum(axis=0)
        # In the first cells only the hits are held, as w^2: their residual is (w - w s)^2, the others' (w s)^2.
        above = np.asarray(self.score.multiply(self.score).sum(axis=0)).reshape(self.strata, self.bins).sum(axis=1)
        first = squares[:, 0] + total - above - 2.0 * self._first_hits()
        squares[:, 0] = np.maximum(first, 0.0)
        return squares

    def _first_hits(self) -> Float64s:
        """Sum of w^2 s over the claims in the first cells that came true."""
        assert self.rest is not None
        hits = self.outcome.tocoo()
        row, cell = hits.coords
        low = cell % self.bins == 0
        row, cls = row[low], cell[low] // self.bins
        at = row if self.rest.index is None else self.rest.index[row]
        said = self.rest.base[at, cls].astype(np.float64) * np.square(self.weights[row])
        return np.bincount(cls, said, minlength=self.strata).astype(np.float64)


def listed_sums(claims: FlatClaims, table: BinTable, ranks: int) -> CellSums:
    """The maps of listed claims, ``ranks`` of which belong to one row."""
    m = len(claims.scores)
    weight = np.ones(m) if claims.weights is None else claims.weights
    row, at = np.arange(m) % (m // ranks), table.cells(claims.scores, claims.codes)
    shape = (m // ranks, table.count.size)
    parts = (weight, weight * claims.scores, weight * claims.outcomes)
    count, score, outcome = (csr_array((part, (row, at)), shape=shape) for part in parts)
    strata, bins = table.count.shape
    return CellSums(strata, bins, count, score, outcome, weight[: m // ranks])


def column_sums(claims: ColumnClaims, table: BinTable) -> CellSums:
    """The maps of claims about every column of a matrix."""
    n = len(claims.hit)
    strata, bins = table.count.shape
    weight = np.ones(n) if claims.weights is None else claims.weights
    shared = table.same_edges
    rows, cells, scores = _above_first(claims, table) if shared else _everywhere(claims, table)
    wide = weight[rows]
    shape = (n, strata * bins)
    known = np.flatnonzero(claims.hit >= 0)
    at = known if claims.rows.index is None else claims.rows.index[known]
    hit_cells = table.cells(claims.rows.base[at, claims.hit[known]], claims.hit[known])
    return CellSums(
        strata,
        bins,
        csr_array((wide, (rows, cells)), shape=shape),
        csr_array((wide * scores, (rows, cells)), shape=shape),
        csr_array((weight[known], (known, hit_cells)), shape=shape),
        weight,
        claims.rows if shared else None,
    )


def _above_first(claims: ColumnClaims, table: BinTable) -> tuple[Codes, Codes, Floats]:
    edges, bins, k = table.inner_edges(0, claims.dtype), table.lower.shape[1], claims.rows.shape[1]
    rows, cells, scores = [], [], []
    for where, block in claims.rows.blocks(LARGE_BLOCK_BYTES):
        above = np.flatnonzero(block >= edges[0]) if len(edges) else np.empty(0, dtype=np.intp)
        said = block.ravel()[above]
        rows.append(above // k + where.start)
        cells.append(above % k * bins + np.searchsorted(edges, said, side="right"))
        scores.append(said)
    return np.concatenate(rows), np.concatenate(cells), np.concatenate(scores)


def _everywhere(claims: ColumnClaims, table: BinTable) -> tuple[Codes, Codes, Floats]:
    n, k = claims.rows.shape
    columns = [claims.rows.column(j) for j in range(k)]
    cells = [table.cells(said, np.full(n, j)) for j, said in enumerate(columns)]
    return np.tile(np.arange(n), k), np.concatenate(cells), np.concatenate(columns)


def _totals(rows: Rows, times: Float64s) -> Float64s:
    """Column sums with row i taken times[i, r] times, (replicates, columns)."""
    total = np.zeros((times.shape[1], rows.shape[1]))
    with one_thread():
        for where, block in rows.blocks(LARGE_BLOCK_BYTES):
            total += times[where].T @ block.astype(np.float64)
    return total
