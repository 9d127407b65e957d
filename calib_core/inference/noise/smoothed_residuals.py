"""Smoothed canonical errors of a calibrated model: labels drawn from each row's vector, smoothed anew."""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.claims.probability_vectors import Vectors
from calib_core.estimators.dirichlet_kernel import DirichletKernelError
from calib_core.inference.noise import outcome_draws

_AT_ONCE = 4_000_000
"""Drawn numbers (rows, classes, replicates) held at once."""


def null_values(estimator: DirichletKernelError, vectors: Vectors, rng: np.random.Generator, count: int) -> Float64s:
    """Values (count,) where every row's class is drawn from its own vector."""
    counted = vectors.counted()
    smoother = estimator.smoother(counted)
    return np.concatenate(
        [smoother.of_labels(outcome_draws.labels(counted.rows, rng, m)) for m in replicates_at_once(counted, count)]
    )


def replicates_at_once(vectors: Vectors, count: int) -> list[int]:
    """How many replicates are drawn at a time."""
    n, k = vectors.rows.shape
    step = max(1, _AT_ONCE // (n * k))
    return [min(step, count - start) for start in range(0, count, step)]
