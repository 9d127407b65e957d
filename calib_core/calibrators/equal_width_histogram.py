"""Histogram binning with bins of equal width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator, MapShape
from calib_core.calibrators.insides import Insides, shares_table
from calib_core.calibrators.score_maps import Map, PiecewiseMap
from calib_core.claims.cell_search import places
from calib_core.registry.registry import Range


@BINARY_CALIBRATORS.register(
    "equal-width-histogram",
    "Equal-width histogram binning",
    reference="Zadrozny & Elkan 2001",
    flags=MapShape(bins="bins", counts="edges"),
)
@dataclass(eq=False, repr=False)
class EqualWidthHistogram(BinaryCalibrator):
    """Replaces a score by the share of claims that came true in its bin, with bins of equal width.

    Bins [0, 1/B), [1/B, 2/B), ..., [1 - 1/B, 1]; a bin's value is the weighted mean outcome of its calibration rows.
    A score in a bin without calibration rows stays as it is: nothing is known there, and a bin's midpoint or 0, which
    other packages return, would pass off a guess as an estimate. What can mislead: confident models leave most bins
    with few rows or none, and no guarantee holds; uniform-mass histogram binning has one.

    ``values_`` are the bins' values (0 where empty), ``counts_`` their weights.

    References: Zadrozny & Elkan 2001 with the equal-width bins of P1 §2.

    >>> h = EqualWidthHistogram(bins=4).fit([0.1, 0.2, 0.9, 1.0], [0, 1, 1, 1])
    >>> h.transform([0.0, 0.4, 0.75]).tolist()
    [0.5, 0.4, 1.0]
    """

    bins: Annotated[int, Range(1, 200), "Number of bins", "number of bins"] = 15

    def discrete(self, given: bool = False) -> bool:
        return True

    def insides(self) -> Insides:
        return shares_table(EqualWidth(self.bins).fixed_edges(), self.values_, self.counts_)

    @property
    def _grid_edges(self) -> Float64s:
        return EqualWidth(self.bins).fixed_edges()

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        codes = self._codes(scores)
        hits = np.bincount(codes[outcomes], None if weights is None else weights[outcomes], minlength=self.bins)
        self.counts_ = np.bincount(codes, weights, minlength=self.bins).astype(np.float64)
        self.values_ = np.divide(hits, self.counts_, out=np.zeros(self.bins), where=self.counts_ > 0)

    def score_map(self) -> Map:
        known = np.asarray(self.counts_) > 0
        edges = EqualWidth(self.bins).fixed_edges()
        return PiecewiseMap(edges, np.where(known, 0.0, 1.0), np.where(known, self.values_, 0.0), from_scores=False)

    def _codes(self, scores: Floats) -> Codes:
        edges = EqualWidth(self.bins).fixed_edges().astype(scores.dtype)
        return places(edges, scores)
