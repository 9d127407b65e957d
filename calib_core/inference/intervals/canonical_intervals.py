"""Intervals for canonical errors: from counts in cells of the simplex, or from smoothed residual vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.errors import NotAnswerable
from calib_core.binning.simplex.cell_table import SimplexTable
from calib_core.claims.probability_vectors import Vectors
from calib_core.estimators.dirichlet_kernel import DirichletKernelError
from calib_core.guarantees.bounds import cell_eps
from calib_core.inference.intervals.elementary import beyond, surplus
from calib_core.inference.intervals.inversion import RICH, CellGaps, draws_for, inverted
from calib_core.inference.intervals.wild_bootstrap import excess
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.outcome_draws import NULL_DRAWS
from calib_core.inference.noise.simplex_draws import replicates_at_once

_MOST_NUMBERS = 50_000
"""Cells times classes beyond which no interval is computed: its noise draws would need gigabytes."""


def cell_bounds(table: SimplexTable, order: int | str, level: float, random_state: int) -> tuple[float, float]:
    """Ends of the interval for a canonical error, given the predictions and the cells.

    "max": every cell's true distance is within `guarantees.cell_eps` of the observed one, all at once; this is
    proven. Order 1 and 2: test inversion over the B K differences; the noise of a cell's K frequencies is correlated
    like a multinomial's. Each difference has half the weight of the cell, so that the error is at most 1 (total
    variation). It is doubled at the end (root 2 for order 2). Weighted rows have an effective sample size of (sum
    w)^2 / sum w^2 in their cell; Hoeffding's bound uses the same number.
    """
    if order == "max":
        return _largest(table, level)
    b, k = table.outcome.shape
    if b * k > _MOST_NUMBERS:
        raise NotAnswerable(
            f"{b:,} occupied cells of {k:,} classes are too many for an interval; use a coarser partition"
        )
    rng = np.random.default_rng(np.random.SeedSequence(random_state))
    weight, rows = np.repeat(table.weight / 2, k), np.repeat(table.worth, k)
    gaps = CellGaps(weight, rows, table.frequency.ravel(), table.mean.ravel())
    noise, power = _noise(table, rng, draws_for(b * k)), int(order)
    low, high = inverted(gaps, power, level, noise, (_null(table, rng) ** power) @ weight)
    high = _raised(table, power, level, high)
    scale = float(2.0 ** (1 / power))
    return low * scale, min(high, 1.0) * scale


def _raised(table: SimplexTable, order: int, level: float, high: float) -> float:
    """The upper end by inversion with Poisson limits where outcomes are rare, as in ``inversion.absolute_ends``."""
    tail, unit = (1.0 - level) / 2, float((table.weight / table.worth).max())
    claimed = table.mean / table.mean.sum(axis=1, keepdims=True)
    minority = table.worth * (1.0 - np.square(claimed).sum(axis=1))
    if order == 1 and minority.mean() < RICH:
        surprises = float((table.worth * (1.0 - (table.frequency * claimed).sum(axis=1))).sum())
        return float(table.weight @ np.abs(table.gap).sum(axis=1)) / 2 + unit * beyond(max(surprises, 0.0), tail)
    outcomes = float((table.worth * (1.0 - table.frequency.max(axis=1))).sum())
    return high + unit * surplus(max(outcomes, 0.0), tail)


def _largest(table: SimplexTable, level: float) -> tuple[float, float]:
    b, k = table.outcome.shape
    distance = np.abs(table.gap).sum(axis=1)
    eps = np.array([cell_eps(max(1, int(n)), k, 1 - level, b) for n in table.worth])
    return max(float((distance - eps).max()), 0.0), min(float((distance + eps).max()), 2.0)


def _noise(table: SimplexTable, rng: np.random.Generator, count: int) -> Float64s:
    """Standard normal errors (count, B K) of the frequencies, correlated within a cell as a multinomial's."""
    n = table.worth[:, None]
    share = np.maximum((n * table.frequency + 2.0 * table.mean) / (n + 2.0), 0.0)
    share = share / share.sum(axis=1, keepdims=True)
    root = np.sqrt(share)
    normal = rng.standard_normal((count, *share.shape))
    # diag(q) - q q' is the square of (diag(q^1/2) - q q^1/2').
    error = root * normal - share * (root * normal).sum(axis=2, keepdims=True)
    spread = np.sqrt(share * (1 - share))
    scaled = np.divide(error, spread, out=np.zeros_like(error), where=spread > 0)
    return np.asarray(scaled.reshape(count, -1))


def _null(table: SimplexTable, rng: np.random.Generator) -> Float64s:
    """Differences (draws, B K) under calibration, labels multinomial at the cell's mean: these vary a little more."""
    rows = np.maximum(np.round(table.worth), 1.0).astype(np.int64)
    mean = table.mean / table.mean.sum(axis=1, keepdims=True)
    drawn = rng.multinomial(rows, mean, size=(NULL_DRAWS, len(rows)))
    return np.asarray(np.abs(drawn / rows[:, None] - mean).reshape(NULL_DRAWS, -1))


_DRAWS = 500
SMOOTHED = "the smoothed error, given these predictions"
"""The quantity that the intervals estimate."""
_SLACK = 1e-3
"""A lower end below this share of the value is rounding."""


def smoothed_bounds(
    estimator: DirichletKernelError, vectors: Vectors, level: float, random_state: int
) -> tuple[float, float, float]:
    """The smoothed error and the ends of its interval, given the predictions.

    T = ||W r||, the mean over rows of sums over classes of |W r|, is a norm of the residual vectors r = y - p. W are
    the shares, known without the labels. Let r = d + e, with d the true deviation of the predictions and e of mean 0.
    The target is ||W d||, 0 for a calibrated model. It does not contain what smoothing the predictions themselves
    adds to the estimate. The ends are like those of ``wild.bounds``:

        max(0, T - q),                q the larger (1 + level)/2 point of ||W e|| over two kinds of noise
        min(2, T + ``wild.excess``),  a row moving T by at most its ``pull`` times ||r_i||_1, which is 2 at most

    The two kinds of noise are residual vectors times standard normals, one per row, and labels drawn from the rows,
    less the rows.

    Validity for finite n is not proven, because the noise's law is estimated. The coverage table has one law of rows,
    200 and 500 of 3 and 10 classes. There, ends of level .9 contained the smoothed error in .92 to .95 of the runs of
    calibrated models, and in all of overconfident ones. These cases are too few for more than a rough guide.
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
