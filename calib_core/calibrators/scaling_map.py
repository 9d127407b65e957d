"""Scaling maps of one score by maximum likelihood: Platt, beta, quadratic and temperature scaling of log-odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

import numpy as np
from scipy.special import expit

from calib_core._base.arrays import LOG_FLOOR, Bools, Float64s, Floats, safe_log
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator, CurveMap, LogOddsMap, Map, MapShape
from calib_core.calibrators.fitting.logistic import fit_increasing, fit_towards
from calib_core.calibrators.insides import Insides, Number
from calib_core.calibrators.temperature import NOTES, Temperature, of_temperature
from calib_core.registry.registry import Range
from calib_core.text import score

SMOOTH = MapShape(smooth=True, counts="outcomes")

PRIOR_ROWS = 4
"""Prior in pseudo-rows with the best simulation results for 50 to 300 rows.

See tests/simulations/small_scaling_fits.py.
"""

Prior: TypeAlias = Annotated[float, Range(0, 10_000), "Prior rows", "weight of the original model, in rows; 0 for none"]


def is_smooth(flags: MapShape) -> bool:
    """Return True if a binary calibrator with these properties has a smooth map."""
    return flags.smooth


class ScalingMap(BinaryCalibrator):
    """Base class of non-decreasing maps with a few parameters that include the identity.

    Subclasses implement ``_fit_logs`` and ``_map_logs`` on log s and log(1 - s). Both are clipped at the common floor
    of the logarithm, so scores of exactly 0 and 1 are valid. ``floored_`` counts the calibration rows whose outcome had
    a probability below that floor: a few such rows can dominate the fit.
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
    """Return log s and log(1 - s) in float64, clipped at the floor; their difference is the log-odds.

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
    """Fits a slope and a shift of log-odds by logistic regression of the outcome.

    g(s) = sigmoid(a log(s / (1 - s)) + b) with a in [0, 1000] and b minimizing the log loss of the calibration rows,
    without Platt's smoothing of the outcomes. The identity is a = 1, b = 0, so on these rows the map is never worse
    than no calibration.

    ``prior`` = m pseudo-rows, off by default, prevents extreme fits of few rows. It adds m / 8 ((a - 1)^2 + d^2) to the
    summed log loss, d = (a - 1) x + b with x the mean log-odds weighted by s (1 - s). Then a and d are normal around
    the identity with variance 4 / m, the information of m rows with a probability of one half. With 50 to 300 rows 4
    pseudo-rows (variance 1) were best in simulations of well and badly calibrated models. With 16, results are better
    for nearly calibrated models, and worse for badly calibrated ones.

    ``a_`` and ``b_`` are the parameters. ``status_`` is "converged"; "constrained" if higher scores came true less
    often and a is 0 (the map is then constant and never reverses the scores). It is "at bound" if scores separate the
    outcomes (a is 1000, with the step in the gap) or all outcomes are equal. It is "not identified" if all scores are
    equal (a is 1). With a prior only the first two occur. What can mislead: if the relation is curved in log-odds, one
    slope is wrong at both ends; see beta calibration.

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
            f"slope {score(self.a_)}, shift {score(self.b_)}",
            "Multiplies the log-odds of a score by the slope and adds the shift.",
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
    """Fits one slope of log-odds near 0, another near 1, and a shift; correct if scores of each class have a beta law.

    g(s) = sigmoid(a log s - b log(1 - s) + c), a and b in [0, 1000] and c minimizing the log loss of the calibration
    rows. Platt scaling has a = b, and the identity a = b = 1 with c = 0. On these rows the map is therefore never worse
    than either. The constraints are enforced by constrained optimization. The published code drops the feature with a
    negative slope and refits, which gives the same result if one constraint binds. It can differ if that changes the
    sign of the other slope.

    ``prior`` = m pseudo-rows, off by default, adds m / 8 ((a - 1)^2 / 2 + (b - 1)^2 / 2 + d^2) to the summed log loss.
    The shift d is the map's log-odds minus the score's, at the mean of log s and log(1 - s) weighted by s (1 - s). For
    a = b it is the prior of Platt scaling. In simulations with 50 to 300 rows, 4 pseudo-rows were best.

    ``a_``, ``b_`` and ``c_`` are the parameters. ``status_`` is "converged"; "constrained" if a or b is 0; "at bound"
    if scores separate the outcomes or all outcomes are equal. It is "not identified" with fewer than three distinct
    scores, which cannot separate a from b (both are then Platt's slope). With a prior only the first two occur. What
    can mislead: with a = 0 a score of exactly 0 no longer maps to 0, and likewise with b = 0 at 1.

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
            f"slopes {score(self.a_)} and {score(self.b_)}, shift {score(self.c_)}",
            "Multiplies the log-odds of a score by one slope near 0 and by another near 1, and adds a shift.",
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


QUADRATIC_SPREAD = (0.4, 0.5, 0.25)
"""Standard deviations of a, b and c of the quadratic map under its prior with PRIOR_ROWS pseudo-rows."""

_SHORTEST = 1.0
"""Least length of the quadratic part in log-odds: a shorter one has a bend that no rows can determine."""


@BINARY_CALIBRATORS.register(
    "quadratic", "Quadratic map", reference="Berta et al. 2025", flags=replace(SMOOTH, numbers=3)
)
@dataclass(eq=False, repr=False)
class Quadratic(ScalingMap):
    """Fits a non-decreasing parabola of log-odds; correct if log-odds of each class have a normal law.

    g(s) = sigmoid(b + a z + c z^2 / 4) with z = log(s / (1 - s)), minimizing the log loss of the calibration rows. The
    slope a + c z / 2 is in [0, 1000] at the lowest and the highest z of these rows, and thus between them. Beyond them
    the map continues along its tangents, so it never decreases, and no score grows faster than under Platt scaling. A
    range shorter than 1 is widened to 1. The identity is a = 1, b = c = 0.

    ``prior`` = m pseudo-rows, off by default, adds m / 8 ((a - 1)^2 / .4^2 + b^2 / .5^2 + c^2 / .25^2) to the summed
    log loss. With m = ``PRIOR_ROWS`` = 4, a, b and c are normal around the identity with the standard deviations .4, .5
    and .25 (``QUADRATIC_SPREAD``). They are proportional to 1 / sqrt(m). The prior is stronger than that of Platt
    scaling, because few rows do not determine a bend.

    ``parameters`` are a, b and c. ``ends_`` contains the lowest and the highest z, and ``slopes_`` the slopes there.
    The log-odds of the map at the lower end are ``level_``. ``status_`` is as for beta calibration, and "constrained"
    if a slope is 0. What can mislead: only rows near both ends determine the bend. A few wrong labels there move the
    whole map.

    References: Berta, Holzmüller, Jordan & Bach 2025 (normal scores of each class, which make log-odds quadratic).

    >>> [Quadratic(prior=m).fit([0.9] * 10, [1] * 10).transform([0.9]).round(3).tolist() for m in (0, 4)]
    [[1.0], [0.944]]
    >>> g = Quadratic().fit([0.1] * 4 + [0.5] * 4 + [0.9] * 4, [0, 0, 0, 1] + [0, 0, 1, 1] + [1, 1, 1, 0])
    >>> g.transform([0.1, 0.5, 0.9]).round(6).tolist(), g.parameters.round(6).tolist()[0]
    ([0.25, 0.5, 0.75], 0.5)
    """

    prior: Prior = 0.0

    @property
    def parameters(self) -> Float64s:
        """Parameters a, b and c (3,) between the ends."""
        check_is_fitted(self)
        return np.asarray(_parabola(*self.ends_) @ np.append(self.slopes_, self._intercept()))

    def insides(self) -> Insides:
        low, high = self.slopes_
        return Insides(
            f"slopes {score(low)} to {score(high)}",
            "Multiplies the log-odds of a score by a slope that changes steadily, and adds a shift.",
            lambda: [
                *(Number(name, float(value)) for name, value in zip(("a", "b", "c"), self.parameters, strict=True)),
                *(
                    Number("slope", float(slope), place=f"score {float(expit(end)):.6g}")
                    for end, slope in zip(self.ends_, self.slopes_, strict=True)
                ),
            ],
            unit="curve",
        )

    def _fit_logs(self, yes: Float64s, no: Float64s, outcomes: Bools, weights: Float64s | None) -> None:
        odds = yes - no
        low, high = float(odds.min()), float(odds.max())
        few = self.prior == 0 and bool(((odds == low) | (odds == high)).all())
        missing = max(0.0, _SHORTEST - (high - low)) / 2.0
        low, high = low - missing, high + missing
        features = odds[None, :] if few else np.stack(_half_parabolas(odds, low, high))
        if self.prior > 0:
            whole = _parabola(low, high)
            informed = self.prior / PRIOR_ROWS / np.square(QUADRATIC_SPREAD)
            fitted = fit_towards(features, outcomes, weights, whole.T @ (informed[:, None] * whole))
        else:
            fitted = fit_increasing(features, outcomes, weights)
        self.ends_ = np.array([low, high])
        self.slopes_ = np.broadcast_to(fitted.slopes, 2).copy()
        self.level_ = fitted.intercept + float(self.slopes_ @ np.stack(_half_parabolas(np.array(low), low, high)))
        self.status_ = "not identified" if few and fitted.status == "converged" else fitted.status

    def _intercept(self) -> float:
        low, high = self.ends_
        return float(self.level_ - self.slopes_ @ np.stack(_half_parabolas(low, low, high)))

    def score_map(self) -> Map:
        (low, high), (first, last) = self.ends_, self.slopes_
        bend, length = (last - first) / (2.0 * (high - low)), high - low
        top = (bend * length + first) * length + self.level_
        coefficients = [[self.level_, first, 0, 0], [self.level_, first, bend, 0], [top, last, 0, 0]]
        return CurveMap(np.asarray(self.ends_, dtype=np.float64), np.array(coefficients, dtype=np.float64))

    def _map(self, scores: Floats) -> Float64s:
        return self.score_map()(scores)


def _half_parabolas(z: Float64s, low: float, high: float) -> tuple[Float64s, Float64s]:
    """Features with slopes that fall from 1 at the lower end to 0 at the upper one, and conversely; their sum is z."""
    middle, double = (low + high) / 4.0, 2.0 * (high - low)
    return middle - np.square(high - z) / double, middle + np.square(z - low) / double


def _parabola(low: float, high: float) -> Float64s:
    """Matrix (3, 3) from slopes at both ends and the intercept to a, b and c.

    >>> (_parabola(-1.0, 3.0) @ np.array([1.0, 1.0, 0.0])).tolist()
    [1.0, 0.0, 0.0]
    """
    length = high - low
    zero = _half_parabolas(np.array(0.0), low, high)
    return np.array([[high / length, -low / length, 0.0], [*map(float, zero), 1.0], [-2.0 / length, 2.0 / length, 0.0]])


@BINARY_CALIBRATORS.register(
    "temperature", "Temperature scaling", reference="Guo et al. 2017", flags=replace(SMOOTH, numbers=1)
)
@dataclass(eq=False, repr=False)
class BinaryTemperature(ScalingMap):
    """Divides a score's log-odds by one number T > 0, which moves all scores towards one half or away from it.

    g(s) = sigmoid(log(s / (1 - s)) / T) with T minimizing the log loss of the calibration rows: multiclass
    temperature scaling of the two columns (1 - s, s). What can mislead: 1/2 always maps to 1/2. T therefore corrects
    little if all scores are too high or too low, as those of a rare class can be; see Platt scaling.

    ``temperature_`` is T, ``status_`` and ``note`` as for multiclass temperature scaling: with fewer than 10 rows, or
    scores that separate the outcomes at 1/2, T is 1.

    References: Guo et al. 2017.

    >>> g = BinaryTemperature().fit([0.1] * 5 + [0.9] * 5, [0, 0, 0, 0, 1] + [1, 1, 1, 1, 0])
    >>> g.transform([0.1, 0.5, 0.9]).round(6).tolist()
    [0.2, 0.5, 0.8]
    """

    def insides(self) -> Insides:
        # "Lowers confidences" is true for whole rows only: a score below one half rises towards it.
        t = self.temperature_
        way = "moves all scores towards" if t > 1 else "moves all scores away from"
        does = "changes no score" if t == 1 else f"{way} 50 %"
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
