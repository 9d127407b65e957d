"""Sample sizes: upper ends that models of a stated error have in cells of more rows, and how many rows suffice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from calib_core._base.arrays import Float64s
from calib_core.binning.bin_table import BinTable
from calib_core.binning.groups import group_codes, variance_codes
from calib_core.claims.exact_sums import Tally
from calib_core.inference.intervals.bins_of_interval import group_variance, is_sparse
from calib_core.inference.intervals.inversion import (
    NO_ERRORS,
    CellGaps,
    Noise,
    absolute_high,
    binomial_null,
    highs_reaching,
)

POWER = 0.8
"""Share of samples in which a model of the stated error is shown to be within the tolerance, with the rows named."""
DRAWS, LAST_DRAWS = 24, 128
"""Samples drawn for a number of rows: in the search, and for each of the last numbers, near the one that is named."""
_CURVE_DRAWS, _ERRORS = 12, 500
_MOST_TIMES, _HALVINGS, _NEAR = 10_000, 4, 4.0
_FLAT = 1e-9
_LAST = (0.8, 1.0, 1.25)
"""The last numbers of rows, as multiples of the one that the search finds."""

_KEPT = 1024
"""Numbers of samples that are kept: all lines of a table ask about the same cells, again and again."""


@dataclass(frozen=True)
class Streams:
    """Streams of random numbers of a seed, by their numbers, each time from their start."""

    seed: int

    def __call__(self, which: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(which,)))


@dataclass(frozen=True)
class Power:
    """Share of samples that are within, by their number of rows: Phi(z + slope log(n / rows)), with Phi(z) = ``POWER``.

    >>> Power(1000, 2.0).share(np.array([500.0, 1000.0, 2000.0])).round(2).tolist()
    [0.29, 0.8, 0.99]
    """

    rows: float
    slope: float

    def share(self, rows: Float64s) -> Float64s:
        """Shares of samples within at these numbers of rows."""
        return np.asarray(ndtr(ndtri(POWER) + self.slope * np.log(rows / self.rows)))

    def times(self, factor: float) -> Power:
        """The same with every number of rows times a factor."""
        return replace(self, rows=self.rows * factor)


LEAST_SLOPE = float(ndtri(POWER) + ndtri(0.95)) / 2
"""Slope for the one-sided 95 % end of one normal mean; that of many cells is larger."""


Within = Callable[[float, int], int]
"""``within(factor, draws)``: how many of so many samples of a multiple of the rows are within."""


def times_for_power(within: Within) -> float | None:
    """Multiple of the rows with which ``POWER`` of samples are within; None if it is very large (``power_by_times``).

    >>> times_for_power(lambda factor, draws: draws if factor > 3 else 0) is not None
    True
    """
    power = power_by_times(within)
    return None if power is None else power.rows


def power_by_times(within: Within, fewest: float = 1.0) -> Power | None:
    """Share of samples within by the multiple of the rows; None if ``POWER`` takes a very large one.

    The factor is at least ``fewest``. Starting from 1 it is halved as long as enough of ``DRAWS`` samples are within,
    then doubled until enough are, then bisected on a log scale. ``LAST_DRAWS`` samples are drawn at each of three
    factors near the one found. The result is a probit line through all shares near it, weighted by their information.
    The standard error of its rows is about 4 %.
    """
    seen: list[tuple[float, int, int]] = []

    def share(factor: float, draws: int = DRAWS) -> float:
        seen.append((factor, within(factor, draws), draws))
        return seen[-1][1] / draws

    low = 1.0
    while low > fewest and share(low) >= POWER:
        low = max(low / 2.0, fewest)
    high = 2.0 * low
    while share(high) < POWER:
        low, high = high, 2.0 * high
        if high > _MOST_TIMES:
            return None
    least, most = low, high
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if share(middle) >= POWER else (middle, high)
    center = float(np.sqrt(low * high))
    for times in _LAST:
        share(times * center, LAST_DRAWS)
    near = np.array([drawn for drawn in seen if center / _NEAR <= drawn[0] <= center * _NEAR])
    line = _probit_line(*near.T, fallback=high)
    return replace(line, rows=float(np.clip(line.rows, least / 1.2, most * 1.2)))


def _probit_line(factor: Float64s, count: Float64s, draws: Float64s, *, fallback: float) -> Power:
    """Probit line through shares of samples; if they do not rise, it crosses ``POWER`` at the fallback."""
    factor, share = np.log(factor), (count + 0.5) / (draws + 1)
    height = ndtri(share)
    weight = draws * np.exp(-np.square(height)) / (share * (1.0 - share))
    mean, middle = np.average(factor, weights=weight), np.average(height, weights=weight)
    slope = weight @ ((factor - mean) * (height - middle)) / max(float(weight @ np.square(factor - mean)), 1e-300)
    crossing = fallback if slope < _FLAT else float(np.exp(mean + (ndtri(POWER) - middle) / slope))
    return Power(crossing, max(float(slope), LEAST_SLOPE))


def cells_with(gaps: CellGaps, fine: BinTable | None, factor: float, *, by_variance: bool = False) -> CellGaps:
    """Cells for judging ``factor`` times the rows; ``fine`` are the bins that groups consist of.

    ``by_variance``: groups are those of ``group_variance``, else of enough rows.
    """
    if fine is None:
        return replace(gaps, rows=gaps.rows * factor)
    tally = fine.tally
    more = replace(fine, tally=Tally(tally.count * factor, tally.score * factor, tally.outcome * factor))
    sparse = is_sparse(more, more.count, same_rows=False)
    codes = np.arange(more.count.size).reshape(more.count.shape)
    if by_variance:
        variance = group_variance(more, more.count, own=not sparse)
        codes = codes if variance is None else variance_codes(more, variance)
    elif sparse:
        codes = group_codes(more)
    weight, count, score, outcome = (
        np.bincount(codes.ravel(), part.ravel()).astype(np.float64)
        for part in (more.weight, more.count, more.tally.score, more.tally.outcome)
    )
    full = count > 0
    return CellGaps(weight[full], count[full], outcome[full] / count[full], score[full] / count[full])


def high_of_most(gaps: CellGaps, level: float, stream: Streams) -> float:
    """The upper end that ``POWER`` of calibrated models' samples in these cells stay below."""
    drawn, errors = drawn_cells(gaps, 0.0, _CURVE_DRAWS, stream)
    return float(np.quantile([absolute_high(cells, noise, level, errors) for cells, noise in drawn], POWER))


def number_within(gaps: CellGaps, error: float, level: float, limit: float, stream: Streams, draws: int) -> int:
    """Number of samples drawn of a model with this error in every cell whose upper end is below the limit.

    It does not depend on the outcomes of the cells.
    """
    parts = tuple(part.tobytes() for part in (gaps.weight, gaps.rows, gaps.score))
    return _number_within(parts, error, level, limit, stream, draws)


@lru_cache(maxsize=_KEPT)
def _number_within(
    parts: tuple[bytes, ...], error: float, level: float, limit: float, stream: Streams, draws: int
) -> int:
    weight, rows, score = map(np.frombuffer, parts)
    drawn, errors = drawn_cells(CellGaps(weight, rows, score, score), error, draws, stream)
    return draws - highs_reaching(drawn, level, errors, limit)


def drawn_cells(
    gaps: CellGaps, error: float, count: int, stream: Streams
) -> tuple[list[tuple[CellGaps, Noise]], Float64s]:
    """These cells as models fill them that are too confident by ``error``, with their noise; and their normal errors.

    In each cell claims come true less often than stated, or more often where they are stated less often than that.
    """
    s, unit = gaps.score, float((gaps.weight / gaps.rows).max())
    true = np.where(s >= error, s - error, np.minimum(s + error, 1.0))
    of_true = replace(gaps, score=true)
    rng = np.random.default_rng(stream(2).integers(2**63) + round(float(gaps.rows.sum())))
    drawn = np.clip(true + binomial_null(of_true, rng, count), 0.0, 1.0)
    each = np.square(gaps.weight / unit) / gaps.rows
    errors = stream(3).standard_normal((_ERRORS, len(s))) if gaps.rich else NO_ERRORS

    residual = (each * (drawn * np.square(1.0 - s) + (1.0 - drawn) * np.square(s))).sum(axis=1)
    moved = (each * drawn * (1.0 - drawn)).sum(axis=1)
    noise = (Noise(unit, *sums) for sums in zip(residual.tolist(), moved.tolist(), strict=True))
    return [(CellGaps(gaps.weight, gaps.rows, z, s), of) for z, of in zip(drawn, noise, strict=True)], errors
