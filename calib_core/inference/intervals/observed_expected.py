"""Observed against expected events: exact ends of their ratio, the intercept with the same ends, grouped rows.

Logistic regression on few parameters: maximum likelihood, Firth's penalized likelihood, and its profile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import expit

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.distributions import beta, norm
from calib_core.inference.intervals.clustered_rows import GroupsInCells, share_ends_of, shares_in_cells
from calib_core.inference.intervals.elementary import WEIGHED
from calib_core.inference.intervals.event_rows import EventRows, Trials, grid_of, log_odds
from calib_core.inference.intervals.sampling_designs import event_variance, shifted, slope_effect
from calib_core.predictions.predictions import NotAnswerable, Predictions

ONE_RISK = "all predicted risks are equal: a slope needs at least two different ones"
_STEPS, _HALVINGS, _CLOSE = 100, 40, 1e-9
_FARTHEST = 100.0
"""Log-odds beyond which a fit is taken to have left for infinity: there the likelihood has no maximum."""


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """Coefficients (q,), the inverse of their information as ``covariance`` (q, q), and the likelihood's ``height``."""

    coefficients: Float64s
    covariance: Float64s
    height: float = np.nan


def maximum_likelihood(design: Float64s, rows: Float64s, events: Float64s) -> LogisticFit | None:
    """Fit ``events`` of ``rows`` (n,) on the columns of ``design`` (n, q); None where no maximum exists.

    >>> fit = maximum_likelihood(np.ones((1, 1)), np.array([4.0]), np.array([1.0]))
    >>> fit.coefficients.round(4).tolist()  # log(1 / 3)
    [-1.0986]
    """
    beta = np.zeros(design.shape[1])
    height, line = -np.inf, design @ beta
    for _ in range(_STEPS):
        chance = expit(line)
        curvature = information(design, rows, chance)
        # Collinear columns, or a fit that diverges.
        if np.linalg.cond(curvature) > 1e13 or np.abs(line).max() > _FARTHEST:
            return None
        step = np.linalg.solve(curvature, design.T @ (events - rows * chance))
        reach = float(np.abs(design @ step).max())
        if reach < _CLOSE:
            return LogisticFit(beta, np.asarray(np.linalg.inv(curvature), dtype=np.float64))
        step *= min(1.0, 5.0 / reach)
        for _ in range(_HALVINGS):
            line = design @ (beta + step)
            higher = float(events @ line - rows @ np.logaddexp(0.0, line))
            if higher >= height - 1e-12 * abs(height):
                break
            step = step / 2
        beta, height = beta + step, higher
    return None


def information(design: Float64s, rows: Float64s, chance: Float64s) -> Float64s:
    """X' diag(rows p (1 - p)) X, (q, q)."""
    return np.asarray(design.T @ (design * (rows * chance * (1 - chance))[:, None]))


@dataclass(frozen=True, eq=False)
class FirthLine:
    """Firth's logistic regression of ``events`` of ``rows`` on an intercept and ``x``, all (n,).

    Maximizes l + log det I / 2, which is finite under separation too. The equations are sum x (y - p + h (1/2 - p)) =
    0, with h the hat values. With ``penalty`` 0 it maximizes only l. Best with x of mean 0 and spread 1 (``of``).

    References: Firth 1993, Biometrika 80, eq. (3.1); Heinze & Schemper 2002, Statistics in Medicine 21.
    """

    x: Float64s
    rows: Float64s
    events: Float64s
    middle: float = 0.0
    spread: float = 1.0
    penalty: float = 1.0

    @classmethod
    def of(cls, x: Float64s, rows: Float64s, events: Float64s, penalty: float = 1.0) -> FirthLine:
        """The same fit with x moved to mean 0 and spread 1; NotAnswerable where all x are equal."""
        if not np.ptp(x) > 0:
            raise NotAnswerable(ONE_RISK)
        middle = float(rows @ x / rows.sum())
        spread = float(np.sqrt(rows @ np.square(x - middle) / rows.sum()))
        return cls((x - middle) / spread, rows, events, middle, spread, penalty)

    def evaluated(self, a: float, b: float) -> tuple[float, Float64s, Float64s]:
        """The penalized log-likelihood, its equations (2,) and the information (2, 2) at intercept a and slope b."""
        x, line = self.x, a + b * self.x
        chance = expit(line)
        weight = self.rows * chance * (1 - chance)
        wx = weight * x
        i00, i01, i11 = float(weight.sum()), float(wx.sum()), float(wx @ x)
        determinant = i00 * i11 - i01 * i01
        if not determinant > 0:
            return -np.inf, np.zeros(2), np.eye(2)
        hat = (weight * i11 - 2 * i01 * wx + i00 * wx * x) / determinant
        left = self.events - self.rows * chance + self.penalty * hat * (0.5 - chance)
        # log(1 + e^line) = line - log p if p is not too small, and log1p(e^line) otherwise.
        height = float(self.events @ line - self.rows @ np.logaddexp(0.0, line))
        height += 0.5 * self.penalty * np.log(determinant)
        return height, np.array([left.sum(), left @ x]), np.array([[i00, i01], [i01, i11]])

    def fit(self) -> LogisticFit:
        """Intercept and slope for these x, by Newton's steps.

        >>> y = np.array([0.0, 1.0, 0.0, 1.0])
        >>> FirthLine(np.array([-1.0, -1.0, 1.0, 1.0]), np.ones(4), y).fit().coefficients.round(6).tolist()
        [0.0, 0.0]
        """
        where = np.zeros(2)
        height, pull, curvature = self.evaluated(0.0, 0.0)
        for _ in range(_STEPS):
            step = np.linalg.solve(curvature, pull)
            step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
            if np.abs(step).max() < _CLOSE:
                break
            for _ in range(_HALVINGS):
                found = self.evaluated(*(where + step))
                if found[0] >= height - 1e-12 * abs(height):
                    break
                step = step / 2
            where, (height, pull, curvature) = where + step, found
        return LogisticFit(where, np.asarray(np.linalg.inv(curvature), dtype=np.float64), height)

    def highest(self, b: float, start: float) -> tuple[float, float]:
        """The intercept that is best with this slope, and the penalized log-likelihood there."""
        a = start
        height, pull, curvature = self.evaluated(a, b)
        for _ in range(_STEPS):
            step = float(np.clip(pull[0] / curvature[0, 0], -2.0, 2.0))
            if abs(step) < 1e-7:
                break
            for _ in range(_HALVINGS):
                found = self.evaluated(a + step, b)
                if found[0] >= height - 1e-12 * abs(height):
                    break
                step /= 2
            a, (height, pull, curvature) = a + step, found
        return a, height

    def slope_ends(self, fit: LogisticFit, level: float) -> tuple[float, float]:
        """Ends of the slope: where twice the drop of the profile is the square of the normal (1 + level)/2 point."""
        allowed = float(norm.isf((1 - level) / 2)) ** 2
        step = float(np.sqrt(allowed * fit.covariance[1, 1]))
        low, high = (self._end(fit, allowed, side * step) for side in (-1.0, 1.0))
        return low, high

    def p_of_slope(self, fit: LogisticFit, slope: float) -> float:
        """Two-sided p-value of a slope: one minus the level of the ``slope_ends`` that reach it."""
        a, b = (float(each) for each in fit.coefficients)
        start = a + float(fit.covariance[0, 1] / fit.covariance[1, 1]) * (slope - b)
        return float(2 * norm.sf(np.sqrt(max(0.0, 2 * (fit.height - self.highest(slope, start)[1])))))

    def _end(self, fit: LogisticFit, allowed: float, step: float) -> float:
        a, b = (float(each) for each in fit.coefficients)
        # The best intercept is almost linear in the slope, so this start leaves few steps.
        drift = float(fit.covariance[0, 1] / fit.covariance[1, 1])

        def beyond(slope: float) -> float:
            return 2 * (fit.height - self.highest(slope, a + drift * (slope - b))[1]) - allowed

        near, far = b, b + step
        while beyond(far) < 0:
            near, step = far, 2 * step
            far = b + step
            if not abs(step) < 1e8:
                return float(np.sign(step) * np.inf)
        return root(beyond, near, far)


def slope_profile(
    x: Float64s, rows: Float64s, events: Float64s, level: float, penalty: float = 1.0
) -> tuple[float, float, float]:
    """Return Firth's slope of the events on x (n,) and the ends of its profile interval at ``level``.

    With ``penalty`` 0 the slope and ends by maximum likelihood, for events and other rows that overlap. NotAnswerable
    where all x are equal.

    References: Firth 1993; Heinze & Schemper 2002 (profile).

    >>> x, events = np.array([-1.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0])
    >>> [round(number, 3) for number in slope_profile(x, np.full(3, 4.0), events, 0.9)]
    [0.885, -0.22, 2.207]
    """
    line = FirthLine.of(x, rows, events, penalty)
    fit = line.fit()
    low, high = line.slope_ends(fit, level)
    return float(fit.coefficients[1] / line.spread), low / line.spread, high / line.spread


def slope_p_value(x: Float64s, rows: Float64s, events: Float64s, penalty: float = 1.0) -> float:
    """Return the p-value of a slope of 1, by the profile of ``slope_profile``: its ends at level 1 - p reach 1.

    >>> x, events = np.array([-1.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0])
    >>> p = slope_p_value(x, np.full(3, 12.0), 3 * events)
    >>> round(p, 3), [round(end, 3) for end in slope_profile(x, np.full(3, 12.0), 3 * events, 1 - p)[1:]]
    (0.971, [1.0, 1.033])
    """
    line = FirthLine.of(x, rows, events, penalty)
    return line.p_of_slope(line.fit(), line.spread)


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of a function between two points."""
    return float(scipy.optimize.brentq(function, low, high, xtol=1e-9, rtol=1e-11))


TRUSTED = 5.0
"""Events (and non-events) below which the recalibrated scores do not count: there rows count as their number."""
FIT_ENTRIES = 20_000
"""Different scores up to which logistic fits use every one; beyond, as many groups of neighbors in log-odds."""
_SMALLEST_P, _LARGEST_P, _PRECISE = 1e-12, 0.999, 1e-6
"""Range of the search for p-values of rows in groups, and its precision as a share of them."""


@dataclass(frozen=True, eq=False)
class EventEnds:
    """Ends for the number of events that rows with these scores have on average; how they were computed."""

    low: float
    high: float
    method: str
    tested: bool


def ratio_ends(scores: Float64s, outcomes: Bools, weights: Float64s | None, tail: float) -> tuple[float, float]:
    """Return the two ends for the ratio of the events' mean number to the expected one, each failing by ``tail``.

    With O events of N rows, E = sum s, p^ Firth's logistic fit of the outcomes on log-odds s, and m = min(O, N - O):

        pi = sum p^2 / sum p^,  pi' = O/N + (max(pi, O/N) - O/N) max(0, 1 - 5/m),  N' = min(N, O / pi')
        low = N' B(tail; O, N' - O + 1) / E,  high = N' B(1 - tail; O + 1, N' - O) / E

    The function B is the quantile of a beta distribution. These are Clopper and Pearson's ends for N' rows, because the
    variance of O is O (1 - sum p^2 / sum p). N' = N if the scores do not separate rows, and without any event. For
    fractional weights, rows and events are divided by c = V / sum w v, v = p^ (1 - p^). V is the variance by
    linearization, sum w^2 (y - q)^2 (``event_variance``), so weights may depend on the outcome.

    Rows are read on the fine grid of summaries, every cell at its mean score, so counts of rows give the same result.

    scores : (n,) in [0, 1]; outcomes : (n,); weights : (n,) or None. What can mislead: the target is the mean chance
    of these rows, so the ends do not contain the uncertainty about which rows were drawn.

    References: Clopper & Pearson 1934; Hoeffding 1956; Firth 1993; Kish 1965.

    >>> low, high = ratio_ends(np.full(100, 0.2), np.arange(100) < 20, None, 0.05)
    >>> round(low, 3), round(high, 3)  # 13.7 and 27.7 of 20 expected
    (0.683, 1.386)
    """
    low, high = counted_ends(scores, outcomes, weights, tail)
    expected = float(scores.sum() if weights is None else weights @ scores)
    return over(low, expected), over(high, expected)


def counted_ends(scores: Float64s, outcomes: Bools, weights: Float64s | None, tail: float) -> tuple[float, float]:
    """The ends of ``ratio_ends`` times the expected number of events: ends for the mean number of events.

    Rows and copies of rows are read on the fine grid of summaries, so that rows and counts of them have the same ends.
    """
    if weights is None or np.array_equal(weights, np.round(weights)):
        return event_ends(Trials.of_cells(grid_of(scores, outcomes, weights)), tail)
    factor = _inflation(scores, outcomes, weights)
    low, high = event_ends(Trials.of(scores, outcomes, weights).scaled(1 / factor), tail)
    return low * factor, high * factor


def event_ends(trials: Trials, tail: float) -> tuple[float, float]:
    """Ends for the mean number of events of independent rows, each failing by ``tail`` (``ratio_ends``)."""
    return binomial_ends(trials.observed, effective_number(trials), tail, trials.total)


def binomial_ends(events: float, rows: float, tail: float, total: float) -> tuple[float, float]:
    """Clopper and Pearson's ends for the mean number of events among ``rows`` of equal chances; at most ``total``."""
    low = rows * float(beta.ppf(tail, events, rows - events + 1)) if events > 0 else 0.0
    high = rows * float(beta.isf(tail, events + 1, rows - events)) if rows > events else total
    return low, high


def effective_events(rows: EventRows) -> tuple[Trials, float, float]:
    """Rows on the fine grid, their effective number (N'), and the factor that rows and events were divided by."""
    factor = 1.0
    if rows.copies:
        trials = Trials.of_cells(
            grid_of(rows.scores, rows.outcomes, rows.weights) if rows.cells is None else rows.cells
        )
    else:
        assert rows.weights is not None
        factor = _inflation(rows.scores, rows.outcomes, rows.weights)
        trials = rows.trials.scaled(1 / factor)
    return trials, effective_number(trials), factor


def over(events: float, expected: float) -> float:
    """Events over expected ones; where none is expected NaN for none and infinity for any."""
    if expected > 0:
        return events / expected
    return np.inf if events > 0 else np.nan


def effective_number(trials: Trials) -> float:
    """N', the number of rows of equal chances among which the events vary as they do here (``ratio_ends``)."""
    events, rows = trials.observed, trials.total
    fewer = min(events, rows - events)
    if fewer <= TRUSTED:
        return rows
    chance = fitted_chance(trials)
    share = events / rows
    concentration = float(trials_of_fit(trials).rows @ np.square(chance) / (trials_of_fit(trials).rows @ chance))
    shrunk = share + (max(concentration, share) - share) * max(0.0, 1 - TRUSTED / fewer)
    return max(min(rows, events / shrunk), events)


def trials_of_fit(trials: Trials) -> Trials:
    """Trials for logistic fits: every score, or a sufficient number of groups of neighbors."""
    return trials.grouped(FIT_ENTRIES)


class RecalibrationLine(NamedTuple):
    """Logistic recalibration logit p' = intercept + slope x of log-odds x, and the standard error of the slope."""

    intercept: float
    slope: float
    slope_error: float


def recalibration_line(trials: Trials) -> RecalibrationLine | None:
    """Fit logistic recalibration by maximum likelihood; None where events and other rows do not overlap.

    There the likelihood has no maximum. ``trials`` have events and other rows, and different scores.

    >>> x, rows = np.array([-1.0, 0.0, 1.0]), np.full(3, 8.0)
    >>> line = recalibration_line(Trials(expit(x), rows, np.array([2.0, 4.0, 6.0])))
    >>> f"{line.intercept:.3f} {line.slope:.3f}"
    '0.000 1.099'
    """
    happened, others = trials.x[trials.events > 0], trials.x[trials.rows - trials.events > 1e-9]
    if not (happened.min() < others.max() and others.min() < happened.max()):
        return None
    middle, spread = float(trials.rows @ trials.x / trials.total), float(np.std(trials.x))
    design = np.column_stack([np.ones(len(trials.x)), (trials.x - middle) / spread])
    fit = maximum_likelihood(design, trials.rows, trials.events)
    if fit is None:
        return None
    slope = float(fit.coefficients[1]) / spread
    return RecalibrationLine(
        float(fit.coefficients[0]) - slope * middle, slope, float(np.sqrt(fit.covariance[1, 1])) / spread
    )


def fitted_chance(trials: Trials) -> Float64s:
    """Firth's logistic fit of the events on the log-odds of ``trials_of_fit``, as chances."""
    used = trials_of_fit(trials)
    if not np.ptp(used.x) > 0:
        return np.full(len(used.x), trials.observed / trials.total)
    line = FirthLine.of(used.x, used.rows, used.events)
    intercept, slope = line.fit().coefficients
    return np.asarray(expit(intercept + slope * line.x))


def _inflation(scores: Float64s, outcomes: Bools, weights: Float64s) -> float:
    """By how much weights make events vary more than as many rows of weight 1: ``event_variance`` / sum w v.

    v = p^ (1 - p^) are the variances at the recalibrated risks; at the observed share with few events. Without an
    event, or with nothing else, the variance is not seen: then Kish's factor sum w^2 / sum w.
    """
    plain = float(np.square(weights).sum() / weights.sum())
    every = Trials.of(scores, outcomes, weights)
    moved = shifted(scores, intercept_at(every, every.observed))
    variance = event_variance(scores, outcomes, weights, moved)
    if not 0 < every.observed < every.total or not variance > 0:
        return plain
    trials = every.scaled(1 / plain)
    share = trials.observed / trials.total
    if min(trials.observed, trials.total - trials.observed) <= TRUSTED:
        return variance / (every.total * share * (1 - share))
    used = trials_of_fit(trials)
    # Chances are monotone in scores, so those of rows are between those of their neighbors.
    chance = np.interp(scores, used.score, fitted_chance(trials))
    return variance / float(weights @ (chance * (1 - chance)))


def effect_on_slope(rows: EventRows, level: float) -> float:
    """Factor of the slope's variance at ``level`` for weighted or grouped rows, compared with the rows' weights.

    1 for independent rows and copies of them. See ``slope_effect``. The fit is Firth's, on the scale of Kish's number
    of rows.
    """
    if rows.groups is None and rows.copies:
        return 1.0
    weights = np.ones(len(rows.scores)) if rows.weights is None else rows.weights
    plain = 1.0 if rows.copies else float(np.square(weights).sum() / weights.sum())
    used = trials_of_fit(rows.trials.scaled(1 / plain))
    line = FirthLine.of(used.x, used.rows, used.events)
    intercept, slope = line.fit().coefficients
    x = (log_odds(rows.scores) - line.middle) / line.spread
    return slope_effect(x, rows.outcomes, weights, expit(intercept + slope * x), rows.groups, level)


def events_undersampled(rows: EventRows) -> bool:
    """True if rows with the event have significantly larger weights than others of the same risk.

    Inverse sampling fractions do so where rows were sampled by their outcome. With p the recalibrated risk, the
    variance of the events is then sum w^2 (y - p)^2. Noise of errors in bins is that of sum w^2 p (1 - p), of weights
    that do not depend on the outcome given the risk. True if the former is 1.25 times the latter, and the difference 4
    times its standard deviation.
    """
    if rows.weights is None or rows.copies or rows.groups is not None:
        return False
    trials = Trials.of(rows.scores, rows.outcomes, rows.weights)
    if min(trials.observed, trials.total - trials.observed) <= TRUSTED:
        return False
    used = trials_of_fit(trials)
    chance = np.interp(rows.scores, used.score, fitted_chance(trials))
    squared, variance = np.square(rows.weights), chance * (1 - chance)
    more = float(squared @ (np.square(rows.outcomes - chance) - variance))
    spread = float(np.sqrt(np.square(squared) @ (variance * np.square(1 - 2 * chance))))
    return more > 0.25 * float(squared @ variance) and more > 4 * spread


def ends_of_groups(rows: EventRows, predictions: Predictions, level: float) -> EventEnds:
    """Ends for the mean number of events of rows in groups: Korn and Graubard's of the observed share."""
    every = np.arange(len(rows.scores))
    carried = predictions if predictions.n_rows == len(every) else None
    if carried is None:
        assert predictions.weights is not None
        carried = predictions.take(np.flatnonzero(predictions.weights > 0))
    low, high, method = shares_in_cells(carried, np.zeros_like(every), rows.outcomes, every, 1, level)
    total = rows.trials.total
    return EventEnds(float(low[0]) * total, float(high[0]) * total, method, method != WEIGHED)


def intercept_at(trials: Trials, events: float) -> float:
    """The shift b of all log-odds at which sum expit(log-odds s + b) is this number of ``events``.

    At the observed number this is the maximum-likelihood intercept with slope 1 (offset). Minus infinity at no
    event, plus infinity where every row has it.

    References: Cox 1958, Biometrika 45; Van Calster et al. 2016.

    >>> trials = Trials.of(np.full(10, 0.5), np.arange(10) < 2)
    >>> round(intercept_at(trials, 2.0), 4)  # 2 of 10 events: log(0.2 / 0.8)
    -1.3863
    """
    if trials.expected <= 0 or trials.expected >= trials.total:
        return np.nan  # all risks are 0, or all 1: a shift has no effect
    if events == trials.expected:
        return 0.0
    if events <= 0:
        return -np.inf
    if events >= trials.total * (1 - 1e-12):
        return np.inf

    def excess(shift: float) -> float:
        return float(trials.rows @ expit(trials.x + shift)) - events

    reach = 1.0
    while excess(-reach) > 0 or excess(reach) < 0:
        reach *= 2
    return root(excess, -reach, reach)


def grouped_p_value(rows: EventRows) -> float:
    """p-value of the number of positive outcomes over all rows given their scores, for rows in groups.

    The least p at which Korn and Graubard's interval at 1 - p excludes the mean score (``share_ends_of``). Rows are
    claims with their outcomes, of an event or of the class predicted.

    References: Korn & Graubard 1998.

    >>> from calib_core.predictions.predictions import Predictions
    >>> scores, outcomes, pairs = [[0.5, 0.5]] * 20, [0] * 15 + [1] * 5, np.arange(20) // 2
    >>> round(grouped_p_value(EventRows.of(Predictions(scores, outcomes, groups=pairs))), 3)
    0.204
    """
    assert rows.groups is not None
    zeros, mean = np.zeros(len(rows.scores)), rows.trials.expected / rows.trials.total
    sums = GroupsInCells.of_rows(zeros.astype(np.intp), rows.groups, zeros, rows.outcomes, rows.weights, 1)

    def included(log_p: float) -> bool:
        low, high = share_ends_of(sums, rows.copies, 1.0 - float(np.exp(log_p)))
        return bool(low[0] <= mean <= high[0])

    least, most = np.log(_SMALLEST_P), np.log(_LARGEST_P)
    if included(most):
        return 1.0
    if not included(least):
        return _SMALLEST_P
    while most - least > _PRECISE:
        middle = (least + most) / 2
        least, most = (middle, most) if included(middle) else (least, middle)
    return float(np.exp(most))
