"""What scaling maps share: smooth increasing maps of log-odds, fitted by maximum likelihood."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from calib_core._base.arrays import LOG_FLOOR, Bools, Float64s, Floats, safe_log
from calib_core.calibrators.base import BinaryCalibrator, MapShape
from calib_core.registry.registry import Range

SMOOTH = MapShape(smooth=True, counts="outcomes")

PRIOR_ROWS = 4
"""Pseudo-rows of a prior that did best in simulation, 50 to 300 rows (tests/simulations/small_scaling_fits.py)."""

Prior: TypeAlias = Annotated[
    float, Range(0, 10_000), "Prior (pseudo-rows)", "rows that speak for the uncalibrated model; 0 for none"
]


def is_smooth(flags: MapShape) -> bool:
    """Do binary calibrators that declare this make a smooth map?"""
    return flags.smooth


class ScalingMap(BinaryCalibrator):
    """A map with a few parameters that never decreases and holds the identity among its members.

    Subclasses implement ``_fit_logs`` and ``_map_logs`` on log s and log(1 - s), both raised to the one floor of the
    logarithm, so that scores of exactly 0 and 1 are legal. ``floored_`` counts the calibration rows whose outcome had
    a probability below that floor: a few such rows can decide the map.
    """

    status_: str

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        if weights is not None:
            counted = weights > 0
            scores, outcomes, weights = scores[counted], outcomes[counted], weights[counted]
        yes, no = logs(scores)
        self.floored_ = int((np.where(outcomes, yes, no) <= np.log(LOG_FLOOR)).sum())
        self._fit_logs(yes, no, outcomes, weights)

    def _map(self, scores: Floats) -> Float64s:
        return self._map_logs(*logs(scores))

    def _fit_logs(self, yes: Float64s, no: Float64s, outcomes: Bools, weights: Float64s | None) -> None:
        raise NotImplementedError

    def _map_logs(self, yes: Float64s, no: Float64s) -> Float64s:
        raise NotImplementedError


def logs(scores: Floats) -> tuple[Float64s, Float64s]:
    """log s and log(1 - s) in float64, from the one floor up; their difference is the log-odds.

    >>> [part.round(3).tolist() for part in logs(np.array([0.5, 1.0]))]
    [[-0.693, 0.0], [-0.693, -36.044]]
    """
    wide = scores.astype(np.float64)
    return safe_log(wide), safe_log(1.0 - wide)
