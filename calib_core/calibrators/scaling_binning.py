"""Scaling-binning calibrator (P2 §4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core._base.sklearn_api import clone
from calib_core.binning.interval_schemes import EqualMass
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator, Map, MapShape, PiecewiseMap, carried_back
from calib_core.calibrators.insides import Insides, Number, interval_places
from calib_core.calibrators.scaling_map import Platt, is_smooth
from calib_core.claims.binary_claims import Stratum
from calib_core.claims.exact_sums import places
from calib_core.defaults import SEED
from calib_core.registry.registry import Choice, Part, Range
from calib_core.text import several


@BINARY_CALIBRATORS.register("scaling-binning", "Scaling-binning", reference="P2 §4.1", flags=MapShape(bins="bins"))
@dataclass(eq=False, repr=False)
class ScalingBinning(BinaryCalibrator):
    """Averages a smooth map over equal-mass bins: as stable as scaling, as verifiable as binning.

    (1) A scaling map g is fitted on T1. (2) Each of B bins contains equally many g(s_i) of T2, with ties in one bin.
    (3) A bin's value is the mean of g(s_i) over the rows of T3 in it. The mean of the outcomes would vary far more.
    With B bins this needs about 1/eps^2 + B rows for an error of eps, and histogram binning B/eps^2 (P2 Thm 4.1).

    ``splits`` = 3 draws disjoint thirds T1, T2, T3 at random, as the theorem requires. The value 1 uses all rows three
    times, as in the authors' code, which is best in practice. The thirds depend on the seed and on the set of rows, not
    on their order. A bin without rows of T3 takes T2's mean; with fewer than 3 rows every step uses all of them. Step 1
    minimizes the log loss, as in the authors' code; the paper has the squared error.

    ``map_`` is the fitted g, ``thresholds_`` the inner edges on the scale of g, ``values_`` the bins' values.

    References: P2 §4.1, Theorem 4.1; App. E for g.

    >>> h = ScalingBinning(bins=1).fit([0.2] * 4 + [0.8] * 4, [0, 0, 0, 1] + [0, 1, 1, 1])
    >>> h.transform([0.2, 0.9]).round(6).tolist()
    [0.5, 0.5]
    """

    scaling: Annotated[
        BinaryCalibrator, Part("BINARY_CALIBRATORS", is_smooth), "Smooth map", "smooth map fitted in the first step"
    ] = field(default_factory=Platt)
    bins: Annotated[int, Range(1, 200), "Number of bins", "number of bins"] = 15
    splits: Annotated[
        Literal[1, 3],
        Choice((1, 3), titles=("All rows for every step", "A third of the rows each")),
        "Rows for each step",
        "all rows for every step, as in practice, or a third for each, as in theory",
    ] = 1
    random_state: Annotated[int, Range(0, 2**31 - 1), "Random seed", "seed of the split into thirds"] = SEED

    @property
    def steps(self) -> Float64s:
        return np.asarray(self.thresholds_, dtype=np.float64)

    def discrete(self, given: bool = False) -> bool:
        return True

    @property
    def divides(self) -> bool:
        return self.splits > 1

    @property
    def min_rows(self) -> int:
        return 2 * self.splits

    def insides(self) -> Insides:
        smooth, places = self.map_.insides(), interval_places(self.thresholds_)
        return Insides(
            f"{smooth.short}; {several(len(self.values_), 'bins')}",
            f"{smooth.sentence} The result is averaged within its bin.",
            lambda: [
                *smooth.numbers(),
                *(
                    Number("mean of bin", float(value), place=place.replace("scores", "smoothed scores"))
                    for place, value in zip(places, self.values_, strict=True)
                ),
            ],
            unit="table",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        rows = Stratum(scores, outcomes, weights)
        scaled, binned, averaged = self._parts(rows if weights is None else _chosen(rows, np.flatnonzero(weights)))
        self.map_: BinaryCalibrator = clone(self.scaling)
        self.map_.fit(scaled.scores, scaled.outcomes, sample_weight=scaled.weights)
        values = self.map_.transform(binned.scores)
        ordered = Stratum(values, binned.outcomes, binned.weights).in_order()
        self.thresholds_ = EqualMass(self.bins).edges(ordered.scores, ordered.weights)
        self.values_ = self._means(values, binned.weights)
        if averaged is not binned:
            self.values_ = self._means(self.map_.transform(averaged.scores), averaged.weights, self.values_)

    def _parts(self, rows: Stratum) -> tuple[Stratum, Stratum, Stratum]:
        """Split the rows into T1, T2 and T3."""
        n = len(rows.scores)
        if self.splits == 1 or n < 3:
            return rows, rows, rows
        keys = (rows.outcomes, rows.scores)
        order = np.lexsort(keys if rows.weights is None else (rows.weights, *keys))
        drawn = order[np.random.default_rng(self.random_state).permutation(n)]
        return _chosen(rows, drawn[0::3]), _chosen(rows, drawn[1::3]), _chosen(rows, drawn[2::3])

    def _means(self, values: Float64s, weights: Float64s | None, otherwise: Float64s | None = None) -> Float64s:
        """Mean of g per bin; ``otherwise`` for empty bins."""
        codes = places(self.thresholds_, values)
        counts = np.bincount(codes, weights, minlength=len(self.thresholds_) + 1).astype(np.float64)
        sums = np.bincount(codes, values if weights is None else values * weights, minlength=len(counts))
        start = np.zeros(len(counts)) if otherwise is None else otherwise.copy()
        return np.divide(sums, counts, out=start, where=counts > 0)

    def score_map(self) -> Map:
        # The bins' edges are values of the smooth map. Mapped back to the scale of the score they need no logarithm,
        # whose last digit would decide the bin of a calibration score.
        edges = np.asarray(self.thresholds_, dtype=np.float64)
        return PiecewiseMap.constant(carried_back(edges, self.map_.transform) if len(edges) else edges, self.values_)

    def _map(self, scores: Floats) -> Float64s:
        codes = places(self.thresholds_, self.map_.transform(scores))
        return np.asarray(self.values_[codes], dtype=np.float64)


def _chosen(rows: Stratum, index: Codes) -> Stratum:
    return Stratum(rows.scores[index], rows.outcomes[index], None if rows.weights is None else rows.weights[index])
