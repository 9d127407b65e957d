"""Bounds for the largest error of many cells."""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import Codes, Float64s
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.inference.intervals.inversion import CellGaps, Ends


def largest_ends(gaps: CellGaps, level: float, bins: Codes | None = None) -> Ends:
    """Bounds for the largest gap: all cells' bounds hold at once, whatever their dependence (Bonferroni).

    With ``bins`` (cells,): for the largest mean, by weight, of the gaps of a bin's cells.
    """
    low, high = clopper_pearson(gaps.outcome * gaps.rows, gaps.rows, 1 - (1 - level) / len(gaps.rows))
    least = np.maximum(np.maximum(low - gaps.score, gaps.score - high), 0.0)
    most = np.maximum(high - gaps.score, gaps.score - low)

    def largest(each: Float64s) -> float:
        if bins is None:
            return float(each.max())
        share = np.bincount(bins, gaps.weight)
        mean = np.bincount(bins, gaps.weight * each) / np.where(share > 0, share, np.inf)
        return float(mean.max())

    end, start = min(largest(most), 1.0), largest(least)
    return Ends(start, float(np.clip(largest(np.abs(gaps.gap)), start, end)), end)
