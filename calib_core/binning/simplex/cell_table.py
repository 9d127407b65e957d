"""Tables of the cells of a simplex partition: rows, mean prediction and class frequencies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Codes, Float64s, Rows
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme, Partition, SimplexScheme, as_simplex
from calib_core.claims.probability_vectors import Vectors
from calib_core.predictions.predictions import NotAnswerable
from calib_core.predictions.validation import whole

MOST_NUMBERS = 20_000_000
"""Maximum of occupied cells times classes: 160 MB for the means and as much for the frequencies."""


@dataclass(frozen=True, eq=False, repr=False)
class SimplexTable(OneLine):
    """Counts and sums of each occupied cell; arrays are (B,) and (B, K), cells by ascending number.

    ``cells`` are the cells' numbers in the ``partition`` and ``codes`` (n,) each row's position among them. ``count``
    are the rows (or their weight); ``score`` and ``outcome`` are the sums of the predictions and of the one-hot labels.
    ``worth`` is the effective sample size of a cell: whole weights are copies, others count as (sum w)^2 / sum w^2
    (Kish).
    """

    partition: Partition
    class_names: tuple[str, ...]
    cells: Codes
    codes: Codes
    count: Float64s
    score: Float64s
    outcome: Float64s
    worth: Float64s

    @property
    def mean(self) -> Float64s:
        """Mean prediction of each cell, (B, K)."""
        return np.asarray(self.score / self.count[:, None])

    @property
    def frequency(self) -> Float64s:
        """Share of each class among the labels of each cell, (B, K)."""
        return np.asarray(self.outcome / self.count[:, None])

    @property
    def gap(self) -> Float64s:
        """Frequency minus mean prediction, (B, K); each row sums to 0."""
        return np.asarray((self.outcome - self.score) / self.count[:, None])

    @property
    def weight(self) -> Float64s:
        """Share of the rows in each cell."""
        return np.asarray(self.count / self.count.sum())

    def _line(self) -> str:
        return f"{len(self.cells):,} cells of {len(self.class_names):,} classes, {self.count.sum():,.6g} rows"

    def frame(self) -> pd.DataFrame:
        """One row per occupied cell: position, rows, means, frequencies, and the L1 distance between them."""
        columns: dict[str, object] = {
            "cell": self.cells,
            "place": [self.partition.title(int(cell), self.class_names) for cell in self.cells],
            "count": self.count,
            "weight": self.weight,
        }
        k = len(self.class_names)
        columns |= {f"mean_{j}": self.mean[:, j] for j in range(k)}
        columns |= {f"outcome_{j}": self.frequency[:, j] for j in range(k)}
        return pd.DataFrame({**columns, "distance": np.abs(self.gap).sum(axis=1)})


def partition(scheme: SimplexScheme, rows: Rows, weights: Float64s | None = None) -> Partition:
    """Return the cells of a scheme set on these predictions (n, K).

    >>> from calib_core.binning import Grid
    >>> partition(Grid(5), Rows(np.array([[0.2, 0.3, 0.5]]))).n_cells
    25
    """
    return scheme.partition(rows.shape[1], scheme.placed(rows, weights))


def simplex_table(vectors: Vectors, bins: str | BinningScheme, cells: Partition | None = None) -> SimplexTable:
    """Count whole predictions in cells: those of ``cells``, by default set on the same rows.

    Raises NotAnswerable for interval bins, for rows that need not sum to 1, and beyond 20 million numbers.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Canonical
    >>> claims = Canonical().split(Predictions([[0.7, 0.3, 0.0], [0.6, 0.4, 0.0], [0.4, 0.3, 0.3]], [0, 1, 2]))
    >>> table = simplex_table(claims, as_simplex("sierpinski"))
    >>> table.count.tolist(), table.gap.round(2).tolist()
    ([2.0, 1.0], [[-0.15, 0.15, 0.0], [-0.4, -0.3, 0.7]])
    """
    scheme = as_simplex(bins)
    points = simplex_points(vectors)
    cells = partition(scheme, points.rows, points.weights) if cells is None else cells
    return _counted(points, cells)


def simplex_points(vectors: Vectors) -> Vectors:
    """Return the rows of positive weight as points of the simplex; NotAnswerable if they are not in it."""
    if not vectors.sum_to_one:
        raise NotAnswerable(
            "these probabilities need not sum to 1, so they are not points of the simplex: normalize the rows, or "
            "choose a notion of single scores"
        )
    return vectors.counted()


def _counted(points: Vectors, cells: Partition) -> SimplexTable:
    filled, codes = occupied(cells.codes(points.rows), cells.n_cells)
    k, b = points.rows.shape[1], len(filled)
    check_size(b, k)
    count = np.bincount(codes, points.weights, minlength=b).astype(np.float64)
    outcome = np.bincount(codes * k + points.labels, points.weights, minlength=b * k).astype(np.float64)
    score = vector_sums(points, codes, b)
    worth = count
    if points.weights is not None and not whole(points.weights):
        worth = np.square(count) / np.bincount(codes, np.square(points.weights), minlength=b)
    return SimplexTable(cells, points.class_names, filled, codes, count, score, outcome.reshape(b, k), worth)


def occupied(codes: Codes, n_cells: int) -> tuple[Codes, Codes]:
    """Occupied cells, ascending, and each row's position among them.

    >>> occurring, position = occupied(np.array([7, 2, 7]), 9)
    >>> occurring.tolist(), position.tolist()
    ([2, 7], [1, 0, 1])
    """
    if n_cells > max(4 * len(codes), 1_000_000):
        filled, cell = np.unique(codes, return_inverse=True)
        return filled, cell
    there = np.zeros(n_cells, dtype=bool)
    there[codes] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def check_size(cells: int, classes: int) -> None:
    """Raise NotAnswerable if a table of this number of cells would be too large."""
    if cells * classes > MOST_NUMBERS:
        raise NotAnswerable(
            f"{cells:,} occupied cells of {classes:,} classes are too many for a table: choose a coarser partition"
        )


def vector_sums(points: Vectors, codes: Codes, cells: int) -> Float64s:
    """Sums of the predictions in each cell, (cells, K); ``codes`` (n,) are the rows' cells."""
    total = np.zeros((cells, points.rows.shape[1]))
    mass = np.ones(len(codes)) if points.weights is None else points.weights
    for where, block in points.rows.blocks(LARGE_BLOCK_BYTES):
        n = len(block)
        # With many cells, only those in this block.
        there, cell = np.unique(codes[where], return_inverse=True) if cells > n else (np.arange(cells), codes[where])
        # One line per row with a single entry, its cell: a sparse product sums the rows.
        member = scipy.sparse.csr_array((mass[where], cell, np.arange(n + 1)), shape=(n, len(there)))
        total[there] += np.asarray(member.T @ block.astype(np.float64))
    return total
