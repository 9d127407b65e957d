"""The kernel reliability curve as a map of scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Bools, Float64s, Floats, frozen
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator
from calib_core.calibrators.calibration_rows import as_rows
from calib_core.calibrators.insides import Insides, Number, counted
from calib_core.calibrators.score_maps import Interpolated, Map
from calib_core.claims.binary_claims import Stratum
from calib_core.registry.registry import Part
from calib_core.smoothing.bandwidths import Bandwidth, StandardDeviation
from calib_core.smoothing.kernels import Kernel, Triweight
from calib_core.smoothing.local import local_calibration
from calib_core.smoothing.score_grid import LogOdds, Scale, ScoreGrid

_ENOUGH = 0.25
"""Share of one row's weight below which a place counts as empty."""
_APART = 1e-12
"""Points closer than this in score are one."""


@BINARY_CALIBRATORS.register("kernel", "Kernel curve", reference="P5 §4.4")
@dataclass(eq=False, repr=False)
class BinaryKernel(BinaryCalibrator):
    """Moves a score by the smoothed mean error of the scores near it: the kernel reliability curve as a map.

    g(s) = s + sum_i K_h(x - x_i) (z_i - s_i) / sum_i K_h(x - x_i), clipped to [0, 1], x the score on the ``scale``
    (log-odds unless chosen otherwise), h the kernel's standard deviation by the ``bandwidth`` rule, scores s_i and
    outcomes z_i of the calibration rows, mirrored at both ends: the curve that the diagram of that name draws. It is
    read at nodes of the grid, with lines between; where less than a quarter of one row's weight lies the line goes on
    to the next node, and beyond the outer ones the last error is kept. P5 proposes the curve as a diagram and names a
    calibrator made of it as an extension.

    ``scores_`` and ``values_`` (m,) are the points of the map, ``bandwidth_`` is h. It can fall where outcomes do. What
    can mislead: the bandwidth is chosen for the density of the scores, not for the best map; a wide one leaves bends of
    the curve uncorrected, a narrow one copies noise.

    References: P5 §4.4 and conclusion.

    >>> BinaryKernel().fit([0.7] * 10, [1] * 6 + [0] * 4).transform([0.7, 0.9]).round(2).tolist()
    [0.6, 0.8]
    """

    kernel: Annotated[Kernel, Part("KERNELS"), "Shape of the smoothing", "shape of the smoothing"] = field(
        default_factory=Triweight
    )
    bandwidth: Annotated[Bandwidth, Part("BANDWIDTHS"), "Width of the smoothing", "how wide the smoothing is"] = field(
        default_factory=StandardDeviation
    )
    scale: Annotated[Scale, Part("SCALES"), "Scale of the scores", "smooth scores, or their log-odds"] = field(
        default_factory=LogOdds
    )

    def insides(self) -> Insides:
        check_is_fitted(self)
        return Insides(
            counted(len(self.scores_), "point"),
            f"A score moves by the smoothed mean error of the scores near it, bandwidth {self.bandwidth_:.3g}.",
            lambda: [
                Number("score out", float(value), place=f"score {score:.6g}")
                for score, value in zip(self.scores_, self.values_, strict=True)
            ],
            unit="curve",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        counted_rows = Stratum(scores, outcomes, None if weights is None else as_rows(weights)).counted()
        grid = ScoreGrid(0.0, self.kernel.cells, self.scale)
        low, high = grid.ends
        width = min(self.bandwidth(self.scale.there(counted_rows.scores), counted_rows.weights), high - low)
        spread = self.kernel.on(grid, width)
        smooth = local_calibration(counted_rows, spread, gaps=True)
        dense = smooth.all > _ENOUGH * spread.height / (counted_rows.total or 1.0)
        nodes = np.flatnonzero(dense)
        nodes = nodes[(nodes % spread.stride == 0) | (nodes == nodes[0]) | (nodes == nodes[-1])]
        points = grid.scores[nodes]
        error = smooth.true[nodes] / smooth.all[nodes] - points
        # The last error is kept up to 0 and 1.
        points, error = np.r_[0.0, points, 1.0], np.r_[error[0], error, error[-1]]
        apart = np.append(True, np.diff(points) > _APART)
        apart[-1] &= points[-1] - points[-2] > _APART
        self.bandwidth_ = float(width)
        self.scores_: Float64s = frozen(points[apart])
        self.values_: Float64s = frozen(np.clip(points + error, 0.0, 1.0)[apart])

    def score_map(self) -> Map:
        return Interpolated(np.asarray(self.scores_, dtype=np.float64), np.asarray(self.values_, dtype=np.float64))
