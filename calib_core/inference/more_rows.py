"""What more rows would show: upper ends that calibrated models have in cells of more rows, and how many tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from calib_core._arrays import Float64s
from calib_core.binning import BinTable, group_codes
from calib_core.inference.inversion import (
    NO_ERRORS,
    CellGaps,
    Noise,
    absolute_high,
    absolute_high_reaches,
    binomial_null,
)
from calib_core.inference.judged_bins import is_sparse
from calib_core.tallies import Tally

_MOST_TIMES, _HALVINGS, _DRAWS, _ERRORS = 10_000, 4, 5, 500
"""How rows that would tell are looked for; of an odd number of draws one is in the middle."""

Stream: TypeAlias = Callable[[int], np.random.Generator]
"""A stream of random numbers by its number, each time from its start."""


def times_needed(reach: Callable[[float], bool]) -> float | None:
    """About how many times the rows it takes not to ``reach`` a limit; None where it is very many."""
    low, factor = 1.0, 2.0
    while reach(factor):
        low, factor = factor, 2.0 * factor
        if factor > _MOST_TIMES:
            return None
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * factor))
        low, factor = (middle, factor) if reach(middle) else (low, middle)
    return factor


def cells_with(gaps: CellGaps, fine: BinTable | None, factor: float) -> CellGaps:
    """The cells that so many times the rows would be judged in; ``fine`` are the bins that groups are made of."""
    if fine is None:
        return replace(gaps, rows=gaps.rows * factor)
    tally = fine.tally
    more = replace(fine, tally=Tally(tally.count * factor, tally.score * factor, tally.outcome * factor))
    sparse = is_sparse(more, more.count, same_rows=False)
    codes = group_codes(more) if sparse else np.arange(more.count.size).reshape(more.count.shape)
    weight, count, score, outcome = (
        np.bincount(codes.ravel(), part.ravel()).astype(np.float64)
        for part in (more.weight, more.count, more.tally.score, more.tally.outcome)
    )
    full = count > 0
    return CellGaps(weight[full], count[full], outcome[full] / count[full], score[full] / count[full])


def middle_high(gaps: CellGaps, level: float, stream: Stream) -> float:
    """The median upper end of calibrated models in these cells."""
    drawn, errors = _calibrated(gaps, stream)
    return float(np.median([absolute_high(cells, noise, level, errors) for cells, noise in drawn]))


def middle_reaches(gaps: CellGaps, level: float, limit: float, stream: Stream) -> bool:
    """Is ``middle_high`` at least the limit? So are most of the ends, and the rest are not asked."""
    drawn, errors = _calibrated(gaps, stream)
    more = 0
    for left, (cells, noise) in zip(reversed(range(_DRAWS)), drawn, strict=True):
        more += 1 if absolute_high_reaches(cells, noise, level, errors, limit) else -1
        if abs(more) > left:
            break
    return more > 0


def _calibrated(gaps: CellGaps, stream: Stream) -> tuple[Iterator[tuple[CellGaps, Noise]], Float64s]:
    """These cells as calibrated models fill them, with their noise; and the normal errors that all of them share."""
    s, unit = gaps.score, float((gaps.weight / gaps.rows).max())
    drawn = np.clip(s + binomial_null(gaps, stream(2), _DRAWS), 0.0, 1.0)
    each = np.square(gaps.weight / unit) / gaps.rows
    errors = stream(3).standard_normal((_ERRORS, len(s))) if gaps.rich else NO_ERRORS

    def noise(z: Float64s) -> Noise:
        residual = float((each * (z * np.square(1.0 - s) + (1.0 - z) * np.square(s))).sum())
        return Noise(unit, residual, float((each * z * (1.0 - z)).sum()))

    return ((replace(gaps, outcome=z), noise(z)) for z in drawn), errors
