"""Isotonic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression

from calib_core._arrays import Bools, Float64s, Floats
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator
from calib_core.calibrators.insides import Insides, Number, counted


@BINARY_CALIBRATORS.register("isotonic", "Isotonic regression", reference="Zadrozny & Elkan 2002")
@dataclass(eq=False, repr=False)
class Isotonic(BinaryCalibrator):
    """The non-decreasing map of scores that lies closest to the outcomes.

    argmin over non-decreasing g of sum_i w_i (z_i - g(s_i))^2, interpolated linearly between calibration scores and
    constant beyond them. What can mislead: it returns exact 0 and 1 where calibration rows allow, which makes the
    log loss of a single later miss enormous.

    References: Zadrozny & Elkan 2002; fitted by scikit-learn's pool-adjacent-violators.

    >>> Isotonic().fit([0.1, 0.2, 0.8], [1, 0, 1]).transform([0.1, 0.5, 0.9]).tolist()
    [0.5, 0.75, 1.0]
    """

    def insides(self) -> Insides:
        steps = len(np.unique(self.values_))
        return Insides(
            counted(steps, "step"),
            "A score becomes the height of a staircase that never falls.",
            lambda: [
                Number("score out", float(value), place=f"score {score:.6g}")
                for score, value in zip(self.scores_, self.values_, strict=True)
            ],
            unit="staircase",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        # float64: on float32 scores scikit-learn merges those closer than 1e-6, most of them at 1,000 classes.
        model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        model.fit(scores.astype(np.float64), outcomes.astype(np.float64), sample_weight=weights)
        self.scores_, self.values_ = model.X_thresholds_, model.y_thresholds_

    def _map(self, scores: Floats) -> Float64s:
        return np.asarray(np.interp(scores.astype(np.float64), self.scores_, self.values_))
