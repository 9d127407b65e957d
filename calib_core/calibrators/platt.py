"""Platt scaling on log-odds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scipy.special import expit

from calib_core._base.arrays import Bools, Float64s
from calib_core.calibrators.base import BINARY_CALIBRATORS
from calib_core.calibrators.fitting.logistic import fit_increasing
from calib_core.calibrators.insides import Insides, Number
from calib_core.calibrators.scaling_map import SMOOTH, Prior, ScalingMap
from calib_core.calibrators.score_maps import LogOddsMap, Map


@BINARY_CALIBRATORS.register(
    "platt", "Platt scaling", reference="Platt 1999; P2 App. E", flags=replace(SMOOTH, numbers=2)
)
@dataclass(eq=False, repr=False)
class Platt(ScalingMap):
    """Logistic regression of the outcome on the score's log-odds: a slope and a shift on the logit scale.

    g(s) = sigmoid(a log(s / (1 - s)) + b) with a in [0, 1000] and b minimising the log loss of the calibration rows,
    without Platt's smoothing of the outcomes. a = 1, b = 0 is the identity, so on these rows it is never worse than no
    calibration.

    ``prior`` = m pseudo-rows, off by default, keeps few rows from fitting extremes: it adds
    m / 8 ((a - 1)^2 + d^2) to the summed log loss, d = (a - 1) x + b with x the mean log-odds weighted by s (1 - s).
    a and d are then normal around the identity with variance 4 / m, which is what m rows with a probability of one
    half would tell. With 50 to 300 rows 4 pseudo-rows (variance 1) did best in simulation, over models far from
    calibrated and near to it; 16 do better where a model is nearly calibrated, and worse where it is far from it.

    ``a_`` and ``b_`` are the parameters. ``status_`` is "converged"; "constrained" when a higher score came true less
    often and a is 0: the map is then constant, it never reverses the scores; "at bound" when scores separate the
    outcomes (a is 1000, the step lies in the gap) or all outcomes agree; "not identified" when all scores are equal
    (a stays 1); with a prior only the first two occur. What can mislead: where log-odds are bent, one slope is wrong at
    both ends; see beta calibration.

    References: Platt 1999; P2 App. E, g(z; a, c).

    >>> [Platt(prior=m).fit([0.9] * 10, [1] * 10).transform([0.9]).round(3).tolist() for m in (0, 4)]
    [[1.0], [0.942]]
    >>> g = Platt().fit([0.2] * 4 + [0.8] * 4, [0, 0, 0, 1] + [0, 1, 1, 1])
    >>> g.transform([0.2, 0.5, 0.8]).round(6).tolist()
    [0.25, 0.5, 0.75]
    """

    prior: Prior = 0.0

    def insides(self) -> Insides:
        return Insides(
            f"slope {self.a_:.3g}, shift {self.b_:.3g}",
            "The log-odds of a score are multiplied by the slope and shifted.",
            lambda: [Number("slope", self.a_), Number("shift", float(self.b_))],
            unit="curve",
        )

    def _fit_logs(self, yes: Float64s, no: Float64s, outcomes: Bools, weights: Float64s | None) -> None:
        fitted = fit_increasing((yes - no)[None, :], outcomes, weights, self.prior)
        self.a_, self.b_, self.status_ = float(fitted.slopes[0]), fitted.intercept, fitted.status

    def score_map(self) -> Map:
        return LogOddsMap(float(self.a_), float(self.a_), float(self.b_))

    def _map_logs(self, yes: Float64s, no: Float64s) -> Float64s:
        return expit(self.a_ * (yes - no) + self.b_)
