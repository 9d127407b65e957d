"""Scores as they are."""

from __future__ import annotations

from dataclasses import dataclass

from calib_core._base.arrays import Bools, Float64s, Floats
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator, MapShape
from calib_core.calibrators.insides import Insides
from calib_core.calibrators.score_maps import SAME, Map


@BINARY_CALIBRATORS.register("identity", "Scores as they are", flags=MapShape(counts="cells"))
@dataclass(eq=False, repr=False)
class BinaryIdentity(BinaryCalibrator):
    """Every score is returned as it came.

    >>> BinaryIdentity().fit([0.5], [1]).transform([0.2]).tolist()
    [0.2]
    """

    @property
    def min_rows(self) -> int:
        return 1

    def insides(self) -> Insides:
        return Insides("nothing", "A score stays as it is.")

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        self.n_rows_ = len(scores)

    def score_map(self) -> Map:
        return SAME

    def _map(self, scores: Floats) -> Float64s:
        return scores.astype(float)
