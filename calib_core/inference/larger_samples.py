"""The cells that more rows like these would be judged in, and what calibrated models show there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from calib_core.binning import BinTable, group_codes
from calib_core.inference.inversion import CellGaps, Noise, binomial_null
from calib_core.inference.judged_bins import is_sparse
from calib_core.tallies import Tally


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


def calibrated(gaps: CellGaps, rng: np.random.Generator, count: int) -> Iterator[tuple[CellGaps, Noise]]:
    """The cells with outcomes of calibrated models in place of their own, and the rows' noise in them."""
    s = gaps.score
    drawn = np.clip(s + binomial_null(gaps, rng, count), 0.0, 1.0)
    unit = float((gaps.weight / gaps.rows).max())
    each = np.square(gaps.weight / unit) / gaps.rows
    for z in drawn:
        residual = float((each * (z * np.square(1.0 - s) + (1.0 - z) * np.square(s))).sum())
        yield replace(gaps, outcome=z), Noise(unit, residual, float((each * z * (1.0 - z)).sum()))
