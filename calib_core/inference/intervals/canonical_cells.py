"""Intervals for canonical errors on a partition of the simplex, from counts in cells."""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.binning.simplex.cell_table import SimplexTable
from calib_core.guarantees.bounds import cell_eps
from calib_core.inference.intervals.inversion import RICH, CellGaps, draws_for, inverted
from calib_core.inference.intervals.poisson_limits import beyond, surplus
from calib_core.inference.noise.outcome_draws import NULL_DRAWS
from calib_core.predictions.predictions import NotAnswerable

_MOST_NUMBERS = 50_000
"""Cells times classes beyond which no interval is made: its noise draws would need gigabytes."""


def bounds(table: SimplexTable, order: int | str, level: float, random_state: int) -> tuple[float, float]:
    """Ends of the interval for a canonical error, given the predictions and the cells.

    "max": every cell's true distance is within `guarantees.cell_eps` of the observed one, all at once: proven. Order 1
    and 2: test inversion over the B K differences, the noise of a cell's K frequencies correlated as a multinomial's;
    half the weight of the cell on each, so that the error is at most 1 (total variation) and doubled in the end (root 2
    for order 2). Weighted rows are worth (sum w)^2 / sum w^2 rows in their cell; Hoeffding's bound says the same.
    """
    if order == "max":
        return _largest(table, level)
    b, k = table.outcome.shape
    if b * k > _MOST_NUMBERS:
        raise NotAnswerable(
            f"{b:,} occupied cells of {k:,} classes are too many for an interval: choose a coarser partition"
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
