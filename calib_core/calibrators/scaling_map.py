"""Scaling maps of one score, by maximum likelihood: Platt, beta and temperature scaling of log-odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

import numpy as np
from scipy.special import expit

from calib_core._base.arrays import LOG_FLOOR, Bools, Float64s, Floats, safe_log
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator, LogOddsMap, Map, MapShape
from calib_core.calibrators.fitting.logistic import fit_increasing
from calib_core.calibrators.insides import Insides, Number
from calib_core.calibrators.temperature import NOTES, Temperature, of_temperature
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


@BINARY_CALIBRATORS.register("beta", "Beta calibration", reference="Kull et al. 2017", flags=replace(SMOOTH, numbers=3))
@dataclass(eq=False, repr=False)
class Beta(ScalingMap):
    """A logit map with one slope for scores near 0 and another near 1: right where scores of each class are beta.

    g(s) = sigmoid(a log s - b log(1 - s) + c), a and b in [0, 1000] and c minimising the log loss of the calibration
    rows. a = b is Platt scaling, a = b = 1 with c = 0 the identity: on these rows it is never worse than either.
    The constraints are kept by constrained optimisation: the published code drops the feature whose slope came out
    negative and refits, which gives the same where one constraint binds and can differ where dropping one turns the
    other.

    ``prior`` = m pseudo-rows, off by default, adds m / 8 ((a - 1)^2 / 2 + (b - 1)^2 / 2 + d^2) to the summed log loss,
    d the map's log-odds less the score's at the mean of log s and log(1 - s) weighted by s (1 - s): where a = b it is
    the prior of Platt scaling. 4 pseudo-rows did best in simulation with 50 to 300 rows.

    ``a_``, ``b_`` and ``c_`` are the parameters. ``status_`` is "converged"; "constrained" when a or b is 0; "at
    bound" when scores separate the outcomes or all outcomes agree; "not identified" when there are fewer than three
    distinct scores, which cannot tell a from b (both are then Platt's slope); with a prior the first two alone occur.
    What can mislead: with a = 0 a score of exactly 0 is no longer sent to 0, and likewise with b = 0 at 1.

    References: Kull, Silva Filho & Flach 2017, §3-4 (three parameters, with c for their log m).

    >>> [Beta(prior=m).fit([0.9] * 10, [1] * 10).transform([0.9]).round(3).tolist() for m in (0, 4)]
    [[1.0], [0.942]]
    >>> g = Beta().fit([0.1] * 4 + [0.5] * 4 + [0.9] * 4, [0, 0, 0, 1] + [0, 0, 1, 1] + [1, 1, 1, 0])
    >>> g.transform([0.1, 0.5, 0.9]).round(6).tolist()
    [0.25, 0.5, 0.75]
    """

    prior: Prior = 0.0

    def insides(self) -> Insides:
        return Insides(
            f"slopes {self.a_:.3g} and {self.b_:.3g}, shift {self.c_:.3g}",
            "The log-odds of a score are stretched by one slope near 0 and by another near 1, and shifted.",
            lambda: [
                Number("slope near 0", self.a_),
                Number("slope near 1", self.b_),
                Number("shift", float(self.c_)),
            ],
            unit="curve",
        )

    def _fit_logs(self, yes: Float64s, no: Float64s, outcomes: Bools, weights: Float64s | None) -> None:
        odds = yes - no
        few = self.prior == 0 and bool(((odds == odds.min()) | (odds == odds.max())).all())
        fitted = fit_increasing(odds[None, :] if few else np.stack([yes, -no]), outcomes, weights, self.prior)
        self.a_, self.b_ = float(fitted.slopes[0]), float(fitted.slopes[-1])
        self.c_ = fitted.intercept
        self.status_ = "not identified" if few and fitted.status == "converged" else fitted.status

    def score_map(self) -> Map:
        return LogOddsMap(float(self.a_), float(self.b_), float(self.c_))

    def _map_logs(self, yes: Float64s, no: Float64s) -> Float64s:
        return expit(self.a_ * yes - self.b_ * no + self.c_)


@BINARY_CALIBRATORS.register(
    "temperature", "Temperature scaling", reference="Guo et al. 2017", flags=replace(SMOOTH, numbers=1)
)
@dataclass(eq=False, repr=False)
class BinaryTemperature(ScalingMap):
    """Divides a score's log-odds by one number T > 0, which moves every score towards one half or away from it.

    g(s) = sigmoid(log(s / (1 - s)) / T) with T minimising the log loss of the calibration rows: multiclass
    temperature scaling of the two columns (1 - s, s). What can mislead: 1/2 is always sent to 1/2, so on scores that
    are too high or too low throughout, as those of a rare class can be, T repairs little; see Platt scaling.

    ``temperature_`` is T, ``status_`` and ``note`` as for multiclass temperature scaling: with fewer than 10 rows, or
    scores that separate the outcomes at 1/2, T stays 1.

    References: Guo et al. 2017.

    >>> g = BinaryTemperature().fit([0.1] * 5 + [0.9] * 5, [0, 0, 0, 0, 1] + [1, 1, 1, 1, 0])
    >>> g.transform([0.1, 0.5, 0.9]).round(6).tolist()
    [0.2, 0.5, 0.8]
    """

    def insides(self) -> Insides:
        # "Less sure" is true of whole rows alone: a score below one half rises on its way there.
        t = self.temperature_
        way = "moves every score towards" if t > 1 else "moves every score away from"
        does = "leaves every score as it is" if t == 1 else f"{way} 50 %"
        return replace(of_temperature(t), sentence=f"Divides the log-odds of each score by {t:.3g}, which {does}.")

    def _fit_logs(self, yes: Float64s, no: Float64s, outcomes: Bools, weights: Float64s | None) -> None:
        two = Temperature().fit(np.exp(np.column_stack([no, yes])), outcomes.astype(int), weights)
        self.temperature_, self.status_ = two.temperature_, two.status_

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return NOTES.get(self.status_, "")

    def score_map(self) -> Map:
        inverse = 1.0 / float(self.temperature_)
        return LogOddsMap(inverse, inverse, 0.0)

    def _map_logs(self, yes: Float64s, no: Float64s) -> Float64s:
        return expit((yes - no) / self.temperature_)
