"""Histogram binning under locally equal calibration errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Bools, Float64s, Floats
from calib_core.binning.base import IntervalScheme, of_interval
from calib_core.binning.interval_schemes import EqualMass
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator
from calib_core.calibrators.insides import Insides, Number, counted, interval_places
from calib_core.calibrators.row_weights import as_rows
from calib_core.calibrators.score_maps import Map, PiecewiseMap
from calib_core.claims.binary_claims import Stratum
from calib_core.registry.registry import Part


@BINARY_CALIBRATORS.register("lece-histogram", "Histogram binning of errors", reference="P3 §3.1, H-LECE")
@dataclass(eq=False, repr=False)
class LeceHistogram(BinaryCalibrator):
    """Subtracts from a score the mean error of its bin, so that scores in a bin keep their differences.

    g(s) = s - mean over the bin's calibration rows of (s_i - z_i), clipped to [0, 1] (the authors' code lets results
    leave it). Histogram binning assumes equal class distributions within a bin; this assumes equal errors. A bin
    without calibration rows leaves scores as they are. What can mislead: scores near 0 or 1 in a wide bin are
    shifted as far as those in its middle, and clipping then sends them to exactly 0 or 1.

    P3 says of the bins only that classical binning has equal-size ones, the default here, and draws 5 of equal width.
    ``edges_`` are the inner edges, ``errors_`` the mean errors.

    References: P3 §3.1 and §4.1.2, Figure 1b.

    >>> h = LeceHistogram(EqualMass(1)).fit([0.4, 0.6], [0, 0])
    >>> h.transform([0.4, 0.8]).round(6).tolist()
    [0.0, 0.3]
    """

    binning: Annotated[IntervalScheme, Part("BINNINGS", of_interval), "Bins", "where the bins lie"] = field(
        default_factory=EqualMass
    )

    def insides(self) -> Insides:
        places = interval_places(self.edges_)
        return Insides(
            counted(len(self.errors_), "bin"),
            "The mean error of its bin is taken off a score.",
            lambda: [
                Number("mean error", float(error), place=place)
                for place, error in zip(places, self.errors_, strict=True)
            ],
            unit="table",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        if weights is not None:
            counted = weights > 0
            scores, outcomes, weights = scores[counted], outcomes[counted], as_rows(weights[counted])
        ordered = Stratum(scores, outcomes, weights).in_order()
        self.edges_ = self.binning.edges(ordered.scores, ordered.weights)
        codes = self._codes(scores)
        errors = scores.astype(np.float64) - outcomes
        counts = np.bincount(codes, weights, minlength=len(self.edges_) + 1).astype(np.float64)
        sums = np.bincount(codes, errors if weights is None else errors * weights, minlength=len(counts))
        self.errors_ = np.divide(sums, counts, out=np.zeros(len(counts)), where=counts > 0)

    def score_map(self) -> Map:
        errors = np.asarray(self.errors_, dtype=np.float64)
        placed = self.binning.fixed_edges() is None
        return PiecewiseMap(np.asarray(self.edges_, dtype=np.float64), np.ones(len(errors)), -errors, placed)

    def _codes(self, scores: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        return np.asarray(np.searchsorted(self.edges_.astype(scores.dtype), scores, side="right"), dtype=np.intp)
