"""Claims as linear maps into the cells of a bin table: what thousands of resamples need to know of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Codes, Float64s, Floats, Rows
from calib_core._base.parallel import one_blas_thread
from calib_core.binning.bin_table import BinTable
from calib_core.claims.binary_claims import Claims, ClaimsOfRows, ColumnClaims, FlatClaims
from calib_core.claims.exact_sums import Tally
from calib_core.claims.row_covariance import MOST_CELLS, SMALL, SharedRows

_ROUNDING = 1e-10
"""Variance in some direction, as a share of the largest in any, that is rounding."""
_AT_ONCE = 1 << 19
"""Claims expanded at a time."""


@dataclass(frozen=True, eq=False)
class CellSums:
    """Contribution of every row to every cell: weight, weight * score, weight * outcome, as sparse (rows, cells).

    If ``rest`` is given, the maps of weight and score omit each stratum's first cell, which contains nearly all
    claims if classes are many. Its sums are the column's total less the others. ``rest`` is the matrix itself.
    """

    strata: int
    bins: int
    count: scipy.sparse.csr_array
    score: scipy.sparse.csr_array
    outcome: scipy.sparse.csr_array
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

    def _summed(self, part: scipy.sparse.csr_array, times: Float64s) -> Float64s:
        return np.ascontiguousarray((part.T @ times).T).reshape(-1, self.strata, self.bins)


def listed_sums(claims: FlatClaims, table: BinTable, ranks: int) -> CellSums:
    """The maps of listed claims, ``ranks`` of which belong to one row."""
    m = len(claims.scores)
    weight = np.ones(m) if claims.weights is None else claims.weights
    row, cell = np.arange(m) % (m // ranks), table.cells(claims.scores, claims.codes)
    shape = (m // ranks, table.count.size)
    parts = (weight, weight * claims.scores, weight * claims.outcomes)
    count, score, outcome = (scipy.sparse.csr_array((part, (row, cell)), shape=shape) for part in parts)
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
    base_rows = known if claims.rows.index is None else claims.rows.index[known]
    hit_cells = table.cells(claims.rows.base[base_rows, claims.hit[known]], claims.hit[known])
    return CellSums(
        strata,
        bins,
        scipy.sparse.csr_array((wide, (rows, cells)), shape=shape),
        scipy.sparse.csr_array((wide * scores, (rows, cells)), shape=shape),
        scipy.sparse.csr_array((weight[known], (known, hit_cells)), shape=shape),
        weight,
        claims.rows if shared else None,
    )


def _above_first(claims: ColumnClaims, table: BinTable) -> tuple[Codes, Codes, Floats]:
    edges, bins, k = table.inner_edges(0, claims.dtype), table.lower.shape[1], claims.rows.shape[1]
    rows, cells, scores = [], [], []
    for where, block in claims.rows.blocks(LARGE_BLOCK_BYTES):
        above = np.flatnonzero(block >= edges[0]) if len(edges) else np.empty(0, dtype=np.intp)
        score = block.ravel()[above]
        rows.append(above // k + where.start)
        cells.append(above % k * bins + np.searchsorted(edges, score, side="right"))
        scores.append(score)
    return np.concatenate(rows), np.concatenate(cells), np.concatenate(scores)


def _everywhere(claims: ColumnClaims, table: BinTable) -> tuple[Codes, Codes, Floats]:
    n, k = claims.rows.shape
    columns = [claims.rows.column(j) for j in range(k)]
    cells = [table.cells(column, np.full(n, j)) for j, column in enumerate(columns)]
    return np.tile(np.arange(n), k), np.concatenate(cells), np.concatenate(columns)


def _totals(rows: Rows, times: Float64s) -> Float64s:
    """Column sums with row i taken times[i, r] times, (replicates, columns)."""
    total = np.zeros((times.shape[1], rows.shape[1]))
    with one_blas_thread():
        for where, block in rows.blocks(LARGE_BLOCK_BYTES):
            total += times[where].T @ block.astype(np.float64)
    return total


def outcome_sums(claims: ClaimsOfRows, table: BinTable) -> Float64s:
    """Sums of the claims' outcomes over the table's cells, (strata, bins)."""
    scores, strata, weight = claims.true_ones()
    cell = table.cells(scores, strata)
    return np.bincount(cell, weight, table.count.size).astype(np.float64).reshape(table.count.shape)


def shared_of(claims: Claims, table: BinTable, ranks: int) -> SharedRows | None:
    """Contributions of rows with several claims to pairs of cells; None if row weights differ or cells are too many.

    Aggregated claims define for which bins they are known.
    """
    if claims.grain == "rows" and (claims.weights is not None or table.count.size > MOST_CELLS):
        return None
    return claims.shared(table.edge_sets(claims.dtype), table.joined, ranks)


def unit_noise(
    claims: Claims,
    table: BinTable,
    ranks: int,
    rng: np.random.Generator,
    count: int,
    known: SharedRows | None = None,
    cells: Codes | None = None,
) -> Float64s:
    """Standard normal errors (count, cells) of the sums of these cells, or all, correlated like the rows' residuals.

    The law is that of sum_i g_i (z_i - s_i) over a cell's claims, with g standard normal, one per row. Each cell is
    divided by its root mean square; it is 0 for cells without noise. If the cells' covariance is small, it is used
    (``known``, if available); otherwise rows are processed in parts.
    """
    known = shared_of(claims, table, ranks) if known is None else known
    cells = np.arange(table.count.size) if cells is None else cells
    error: Float64s
    if known is not None or table.count.size <= MOST_CELLS:
        covariance = _products(_rows(claims, table, ranks), table.count.size) if known is None else known.residual.value
        error, variance = normal(covariance)(rng, count)[:, cells], np.diag(covariance)[cells]
    else:
        sums = np.zeros((len(cells), count))
        for part in _rows(claims, table, ranks):
            sums += part[:, cells].T @ rng.standard_normal((part.shape[0], count))
        error, variance = sums.T, np.einsum("ij,ij->i", sums, sums) / count
    error /= np.where(variance > 0, np.sqrt(np.maximum(variance, 0.0)), np.inf)
    return error


def claimed_covariance(claims: ColumnClaims, table: BinTable) -> Float64s:
    """Covariance of the cells' outcome sums if every row's class followed its scores.

    sum_i w_i^2 (diag(p_i) - p_i p_i') over cells, of rows that weigh unequally; of others it is that of ``shared_of``.
    """
    size = table.count.size
    own = np.zeros(size)
    covariance = np.zeros((size, size))
    for row, cell, score, _, weight, n in _entries(claims, table, 1, small=0.0):
        own += np.bincount(cell, weight * weight * score, size)
        part = scipy.sparse.csr_array((weight * score, (row, cell)), shape=(n, size))
        covariance -= (part.T @ part).toarray()
    return covariance + np.diag(own)


def normal(covariance: Float64s) -> Callable[[np.random.Generator, int], Float64s]:
    """Normal draws (count, cells) with this covariance, from a stream and their number."""
    # On a busy machine two threads of BLAS took a hundred times as long for 150 cells.
    with one_blas_thread():
        return _normal(covariance)


def _normal(covariance: Float64s) -> Callable[[np.random.Generator, int], Float64s]:
    values, vectors = np.linalg.eigh(covariance)
    # Directions without noise, as when rows' residuals add up to 0, contain only rounding errors.
    root = vectors * np.sqrt(np.where(values > _ROUNDING * values.max(initial=0.0), values, 0.0))
    # The symmetric root is unique; eigenvectors of equal values are an arbitrary basis that depends on BLAS threads.
    root = root @ vectors.T

    def drawn(rng: np.random.Generator, count: int) -> Float64s:
        with one_blas_thread():
            return np.asarray(rng.standard_normal((count, len(values))) @ root)

    return drawn


_Entries: TypeAlias = tuple[Codes, Codes, Float64s, Float64s, Float64s, int]


def _products(parts: Iterable[scipy.sparse.csr_array], size: int) -> Float64s:
    total = np.zeros((size, size))
    for part in parts:
        total += (part.T @ part).toarray()
    return total


def _rows(claims: Any, table: BinTable, ranks: int) -> Iterator[scipy.sparse.csr_array]:
    return (_sparse(*part, table.count.size) for part in _entries(claims, table, ranks))


def _sparse(
    row: Codes, cell: Codes, score: Float64s, hit: Float64s, weight: Float64s, n: int, size: int
) -> scipy.sparse.csr_array:
    """Contributions of each row's residuals to each cell, (rows, cells)."""
    return scipy.sparse.csr_array((weight * (hit - score), (row, cell)), shape=(n, size))


def _entries(claims: ClaimsOfRows, table: BinTable, ranks: int, small: float = SMALL) -> Iterator[_Entries]:
    """Claims in parts: row (from 0 on), cell, score, outcome and weight of each, and the number of rows.

    Among claims about many classes, those below ``small`` that did not come true are left out.
    """
    for row, stratum, score, hit, weight, n in claims.parts(ranks, small):
        yield row, table.cells(score, stratum), score.astype(np.float64), hit, weight, n
