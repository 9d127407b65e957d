"""Intervals for canonical errors without cells: norms of smoothed residual vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.claims.probability_vectors import Vectors
from calib_core.estimators.dirichlet_kernel import DirichletKernelError
from calib_core.inference.intervals.wild_bootstrap import excess
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.smoothed_residuals import replicates_at_once

_DRAWS = 500
SMOOTHED = "the error that this smoothing sees, given these predictions"
"""What the intervals are about."""
_SLACK = 1e-3
"""A lower end below this share of the value is rounding."""


def bounds(
    estimator: DirichletKernelError, vectors: Vectors, level: float, random_state: int
) -> tuple[float, float, float]:
    """The smoothed error and the ends of its interval, given the predictions.

    T = ||W r||, the mean over rows of sums over classes of |W r|, is a norm of the residual vectors r = y - p, W the
    shares, known without the labels. With r = d + e, d what is true of the predictions and e of mean 0, the target is
    ||W d||, 0 for a calibrated model; what smoothing the predictions themselves adds to the estimate is not in it. The
    ends are as in ``wild.bounds``:

        max(0, T - q),  q the larger (1 + level)/2 point of ||W e|| over two kinds of noise: residual vectors times
                        standard normals, one a row, and labels drawn from the rows, less the rows,
        min(2, T + ``wild.excess``),  a row moving T by at most its ``pull`` times ||r_i||_1, which is 2 at most.

    No proof for finite n: the noise's law is estimated. In the coverage table (one law of rows, 200 and 500 of 3 and 10
    classes) ends of level .9 held the smoothed error in .92 to .95 of the runs of calibrated models and in all of
    over-confident ones: too few cases to call it more than a rough guide.
    """
    counted, tail = vectors.counted(), (1.0 - level) / 2
    smoother = estimator.smoother(counted)
    residual = (counted.labels[:, None] == np.arange(smoother.rows.shape[1])) - smoother.rows
    value = float(smoother.of_residuals(residual[:, :, None])[0])
    noise = [
        np.concatenate([smoother.of_residuals(part) for part in law])
        for law in _noises(counted, residual[:, :, None], random_state)
    ]
    low = value - max(float(np.quantile(sizes, 1.0 - tail)) for sizes in noise)
    pull = smoother.pull
    high = value + excess(pull * np.abs(residual).sum(axis=1), 2.0 * float(pull.max()), tail)
    return value, (low if low > _SLACK * value else 0.0), min(high, 2.0)


def _noises(vectors: Vectors, residual: Float64s, random_state: int) -> Iterator[Iterator[Float64s]]:
    """Two laws of noise, each in parts (n, K, replicates)."""
    wild, calibrated = (np.random.default_rng(seed) for seed in np.random.SeedSequence(random_state).spawn(2))
    rows = vectors.rows.array().astype(np.float64)[:, :, None]
    classes = np.arange(rows.shape[1])[:, None]
    counts = replicates_at_once(vectors, _DRAWS)
    yield (residual * wild.standard_normal((len(rows), 1, m)) for m in counts)
    yield ((outcome_draws.labels(vectors.rows, calibrated, m)[:, None, :] == classes) - rows for m in counts)
