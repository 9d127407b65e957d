"""Canonical errors of a calibrated model: labels drawn from each row's vector, in cells of the simplex or smoothed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy

from calib_core._base.arrays import Float64s
from calib_core.binning.simplex.cell_table import SimplexTable, simplex_points
from calib_core.claims.probability_vectors import Vectors
from calib_core.estimators.base import traits
from calib_core.estimators.dirichlet_kernel import DirichletKernelError
from calib_core.inference.noise import outcome_draws

_AT_ONCE = 4_000_000
"""Numbers of drawn tables (replicates, cells, classes) in memory at once."""
_FEW_CLASSES = 16
"""Up to this number of classes, labels are counted class by class, without being stored."""
_BLOCK_BYTES = 1 << 17


def in_cells(estimators: Sequence[Any], vectors: Vectors) -> SimplexTable | None:
    """The cells that all these estimators of whole vectors read, None where one of them looks at anything else."""
    if not all("vectors" in traits(e).takes and traits(e).judged == "bins" for e in estimators):
        return None
    if any(e.binning != estimators[0].binning for e in estimators):
        return None
    table: SimplexTable | None = estimators[0].of_vectors(vectors).cells
    return table


def null_cell_values(
    estimators: Sequence[Any], claims: Vectors, table: SimplexTable, rng: np.random.Generator, count: int
) -> Float64s:
    """Values (estimators, count) where every row's class is drawn from its own vector, in the cells as they are."""
    points = simplex_points(claims)
    parts = [[e.of_labels(table, sums) for e in estimators] for sums in _label_sums(points, table, rng, count)]
    return np.concatenate([np.array(part) for part in parts], axis=1)


def _label_sums(points: Vectors, table: SimplexTable, rng: np.random.Generator, count: int) -> Iterator[Float64s]:
    """Drawn label sums (replicates, B, K), in parts."""
    b, k = table.outcome.shape
    if k <= _FEW_CLASSES and count * table.outcome.size <= _AT_ONCE:
        yield _sums_above(points, table, rng, count)
        return
    entry = np.empty((len(points.labels), count), dtype=np.int32)
    for where, _, drawn in outcome_draws.classes(points.rows, rng, count):
        entry[where] = drawn + (table.codes[where] * k)[:, None]
    step = max(1, _AT_ONCE // table.outcome.size)
    for start in range(0, count, step):
        columns = [np.bincount(entry[:, r], points.weights, b * k) for r in range(start, min(start + step, count))]
        yield np.array(columns, dtype=np.float64).reshape(-1, b, k)


def _sums_above(points: Vectors, table: SimplexTable, rng: np.random.Generator, count: int) -> Float64s:
    """Label sums (count, B, K) from one uniform a row and replicate: label > j where it is beyond p_0 + ... + p_j."""
    b, k = table.outcome.shape
    mass = np.ones(len(points.labels)) if points.weights is None else points.weights
    above = np.zeros((k + 1, b, count))
    above[0] = table.count[:, None]
    for where, block in points.rows.blocks(_BLOCK_BYTES):
        upto = np.cumsum(block.astype(np.float64), axis=1)
        u = rng.random((len(block), count)) * upto[:, -1:]
        # One line per row with a single entry, its cell: a sparse product sums the rows.
        member = scipy.sparse.csr_array(
            (mass[where], table.codes[where], np.arange(len(block) + 1)), shape=(len(block), b)
        ).T
        for j in range(k - 1):
            above[j + 1] += member @ (u >= upto[:, j : j + 1]).astype(np.float64)
    return np.ascontiguousarray(-np.diff(above, axis=0).transpose(2, 1, 0))


def null_smoothed_values(
    estimator: DirichletKernelError, vectors: Vectors, rng: np.random.Generator, count: int
) -> Float64s:
    """Values (count,) where every row's class is drawn from its own vector."""
    counted = vectors.counted()
    smoother = estimator.smoother(counted)
    return np.concatenate(
        [smoother.of_labels(outcome_draws.labels(counted.rows, rng, m)) for m in replicates_at_once(counted, count)]
    )


def replicates_at_once(vectors: Vectors, count: int) -> list[int]:
    """Number of replicates drawn at a time."""
    n, k = vectors.rows.shape
    step = max(1, _AT_ONCE // (n * k))
    return [min(step, count - start) for start in range(0, count, step)]
