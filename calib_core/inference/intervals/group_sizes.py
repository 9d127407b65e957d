"""How large groups of rows must be for their error to be told as well as the rows allow, from scores alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calib_core._base.arrays import Codes, Float64s
from calib_core.binning.bin_table import BinTable
from calib_core.binning.groups import variance_codes
from calib_core.defaults import LEVEL, SEED
from calib_core.inference.intervals.inversion import NO_ERRORS, RICH, CellGaps, Noise, absolute_high

BUDGET = 1.5
"""Most that the typical upper end over groups may be, as a multiple of that over the bins of all classes together."""
_DRAWS, _ERRORS = 5, 500
_STEP = 2.0**0.5


def group_variance(fine: BinTable, worth: Float64s, *, own: bool) -> float | None:
    """The least sum of s (1 - s) that groups of these bins should hold; None: the bins themselves will do.

    ``fine`` are bins of equal edges in every class, ``worth`` (classes, bins) the independent rows each is worth.
    Of 10, 14, 20, 28, ... (steps of sqrt 2) the first over whose groups the upper end of a calibrated model is
    typically at most ``BUDGET`` times that over the bins of all classes together: the median over five drawn outcomes,
    the same for all. So the interval's width falls with the rows as that of the confidence error does, and with it
    groups part as far as the rows allow. ``own``: are the bins themselves tried first? From ten on groups hold outcomes
    enough for a normal law (``CellGaps.rich``).

    What can mislead: the median of five draws is off by a few percent, so that the size next to it may be taken; it
    depends on scores and a seed, never on outcomes.
    """
    filled = worth > 0
    rows, score = worth[filled], fine.mean_score[filled]
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(5,)))
    drawn = rng.binomial(
        np.maximum(np.round(rows), 1.0).astype(np.int64), np.clip(score, 0.0, 1.0), (_DRAWS, len(rows))
    )
    outcome = drawn / np.maximum(np.round(rows), 1.0)

    def middle(codes: Codes) -> float:
        return typical(rows, score, outcome, codes[filled])

    bins = np.broadcast_to(np.arange(worth.shape[1]), worth.shape)
    limit = BUDGET * middle(bins)
    if own and middle(np.arange(worth.size).reshape(worth.shape)) <= limit:
        return None
    for variance, codes in _sizes(fine):
        if middle(codes) <= limit:
            return variance
    return variance


def _sizes(fine: BinTable) -> Iterator[tuple[float, Codes]]:
    """Sizes from the least on, up to that which leaves one group."""
    variance = RICH
    while True:
        codes = variance_codes(fine, variance)
        yield variance, codes
        if codes.max() == 0:
            return
        variance *= _STEP


def typical(rows: Float64s, score: Float64s, outcome: Float64s, codes: Codes) -> float:
    """The median upper end over cells put together by ``codes`` (cells,), of mean outcomes (draws, cells)."""
    _, place = np.unique(codes, return_inverse=True)
    count = np.bincount(place, rows).astype(np.float64)
    weight, claimed = count / count.sum(), np.bincount(place, rows * score) / count
    came = [np.bincount(place, rows * each) / count for each in outcome]
    rich = CellGaps(weight, count, claimed, claimed).rich
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(6,)))
    errors = rng.standard_normal((_ERRORS, len(count))) if rich else NO_ERRORS
    ends = [absolute_high(CellGaps(weight, count, z, claimed), _noise(count, z, claimed), LEVEL, errors) for z in came]
    return float(np.median(ends))


def _noise(rows: Float64s, outcome: Float64s, score: Float64s) -> Noise:
    """As of cells that hold rows of one score each."""
    residual = float((rows * (outcome * np.square(1.0 - score) + (1.0 - outcome) * np.square(score))).sum())
    return Noise(1.0 / float(rows.sum()), residual, float((rows * outcome * (1.0 - outcome)).sum()))
