"""Calibration in the large: are the predicted risks of an event right on average, and are they spread too far?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.errors import as_share
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, RATIO, SIGNIFICANCE
from calib_core.inference.intervals.error_hierarchy import joint_event_ends
from calib_core.inference.intervals.event_rows import EventRows, Trials
from calib_core.inference.intervals.logistic_regression import ONE_RISK, maximum_likelihood, slope_profile
from calib_core.inference.intervals.observed_expected import intercept_at, over, trials_of_fit
from calib_core.inference.verdicts.events_needed import check_ratio
from calib_core.predictions.predictions import NotAnswerable, Predictions, effective_rows

FEWEST_EVENTS = 5
"""Events, and rows without one, from which on a slope has a point: below it is biased by .7 and more."""
GROUPED_SLOPE = "no interval: rows belong to groups, and the slope's interval needs independent rows"
COLUMNS = ("measure", "title", "value", "low", "high", "floor", "reference", "note")
"""Columns of every table of measures of a risk."""


@dataclass(frozen=True, eq=False, repr=False)
class InTheLarge(OneLine):
    """Predicted and observed events over all rows, with ends of intervals as ``_low`` and ``_high`` at ``level``.

    ``rows`` and ``events`` are numbers (weights added up), ``expected`` the sum of the risks. The ends of ``observed``,
    ``gap`` (observed less mean predicted, as of every bin, class and slice), ``ratio`` (observed to expected events)
    and ``intercept`` come from one statistic, the number of events: all of them exclude calibration, or none does.
    ``p_value`` is of the test that the gap is 0 and the ratio 1 (``joint_event_ends``). It decides whether there is a
    gap (``differs``), as for every place: at most .05 where intervals at level .9 exclude calibration. The intervals
    say how large it is.
    ``tail`` is the chance to miss of their end towards the expected number of events, (1 - level)/2 at most, which they
    share with the event's calibration error (``inference.mean_gap``). ``tested`` is False where the intervals were not
    simulated; notes give reasons for missing numbers.
    """

    event: str
    rows: float
    effective_rows: float
    events: float
    expected: float
    mean_predicted: float
    observed: float
    observed_low: float
    observed_high: float
    gap: float
    gap_low: float
    gap_high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    intercept: float
    intercept_low: float
    intercept_high: float
    slope: float
    slope_low: float
    slope_high: float
    p_value: float
    level: float
    tail: float
    method: str
    tested: bool
    slope_note: str = ""
    note: str = ""

    def _line(self) -> str:
        return (
            f"{self.event!r}: predicted {self.mean_predicted:.4g}, observed {self.observed:.4g}, "
            f"O:E {self.ratio:.3g} ({self.ratio_low:.3g} to {self.ratio_high:.3g}), "
            f"intercept {self.intercept:.3g}, slope {self.slope:.3g}"
        )

    @property
    def differs(self) -> bool:
        """Is the mean gap significant, its p-value at most .05?"""
        return self.p_value <= SIGNIFICANCE

    def frame(self) -> pd.DataFrame:
        """One line per measure: ``measure``, ``title``, ``value``, ``low``, ``high``, ``floor``, ``reference`` (its
        value under calibration, NaN where there is none) and ``note``.

        A measure without a point has no interval here either, and its note says what it needs.
        """
        none = np.nan
        intercept = (self.intercept, self.intercept_low, self.intercept_high)
        slope = (self.slope, self.slope_low, self.slope_high)
        intercept, slope = (each if np.isfinite(each[0]) else (none,) * 3 for each in (intercept, slope))
        lines = [
            ("mean-predicted", "Mean predicted risk", self.mean_predicted, none, none, none, none, self.note),
            ("observed", "Observed frequency", self.observed, self.observed_low, self.observed_high, none, none, ""),
            ("gap", "Mean gap (observed - predicted)", self.gap, self.gap_low, self.gap_high, none, 0.0, ""),
            ("ratio", "Observed : expected", self.ratio, self.ratio_low, self.ratio_high, none, 1.0, ""),
            ("intercept", "Calibration intercept", *intercept, none, 0.0, _no_number(self.intercept)),
            ("slope", "Calibration slope", *slope, none, 1.0, self.slope_note),
        ]  # fmt: skip
        return pd.DataFrame(lines, columns=list(COLUMNS))


def in_the_large(
    predictions: Predictions, level: float = LEVEL, bins: int | str | BinningScheme | None = None
) -> InTheLarge:
    """Compare the mean predicted risk of the event with its observed frequency; fit calibration intercept and slope.

    With O events of N rows and E = sum s: gap = (O - E) / N, ratio = O / E, intercept b: sum expit(log-odds s + b) = O
    (slope fixed at 1), slope: the coefficient of log-odds s in a logistic regression of the events, by maximum
    likelihood, by Firth's where that has no maximum. Ends of the first four: Clopper and Pearson's for the mean number
    of events (``ratio_ends``); the end away from E misses with (1 - level)/2, the one towards E with ``tail``, the
    level that the event's calibration error in ``bins`` shares (``inference.mean_gap``): neither contradicts the other.
    So E is left out of less than 1 - level of the intervals of a calibrated model. Ends of the slope: Firth's profile
    (``firth.slope_profile``), and where the point lies beyond one of them, the end of the likelihood's own profile on
    that side. A slope has no point below 5 events, or 5 rows without one; its interval is given all the same.

    What can mislead: no gap on average is not calibration, since gaps of opposite sign cancel. Risks of 0 and 1 are
    moved to 2.2e-16 from there before their log-odds are taken, and decide the slope; the note counts them. Weights
    that are not whole numbers enter by Kish's number of rows, which was not simulated. Where rows belong to groups the
    slope has no interval. NotAnswerable without two classes with a probability each.

    References: Cox 1958; Van Calster et al. 2016, Journal of Clinical Epidemiology 74; Clopper & Pearson 1934; Firth
    1993; Heinze & Schemper 2002.

    >>> p = Predictions([[0.8, 0.2]] * 100, [1] * 40 + [0] * 60)
    >>> found = in_the_large(p)
    >>> round(found.gap, 3), round(found.ratio, 3), round(found.intercept, 3)  # log(.4 / .6) - log(.2 / .8)
    (0.2, 2.0, 0.981)
    >>> found.differs, found.ratio_low > 1, found.intercept_low > 0, found.gap_low > 0
    (True, True, True, True)
    """
    as_share(level, "level")
    return of_rows(EventRows.of(predictions), predictions, level, bins)


def of_rows(
    rows: EventRows, predictions: Predictions, level: float, bins: int | str | BinningScheme | None = None
) -> InTheLarge:
    """The same where the rows of the event are at hand."""
    trials = rows.trials
    ends, tail, p = joint_event_ends(rows, predictions, level, bins)
    mean, observed = trials.expected / trials.total, trials.observed / trials.total
    low, high = ends.low / trials.total, ends.high / trials.total
    slope, slope_low, slope_high, why = _slope(rows, level)
    extreme = float(trials.rows[(trials.score <= 0) | (trials.score >= 1)].sum())
    floored = f"{extreme:,.0f} rows have a risk of exactly 0 or 1" if extreme else ""
    return InTheLarge(
        event=rows.event,
        rows=trials.total,
        effective_rows=effective_rows(len(rows.scores), rows.weights),
        events=trials.observed,
        expected=trials.expected,
        mean_predicted=mean,
        observed=observed,
        observed_low=low,
        observed_high=high,
        gap=observed - mean,
        gap_low=low - mean,
        gap_high=high - mean,
        ratio=over(trials.observed, trials.expected),
        ratio_low=over(ends.low, trials.expected),
        ratio_high=over(ends.high, trials.expected),
        intercept=intercept_at(trials, trials.observed),
        intercept_low=intercept_at(trials, ends.low),
        intercept_high=intercept_at(trials, ends.high),
        slope=slope,
        slope_low=slope_low,
        slope_high=slope_high,
        p_value=p,
        level=level,
        tail=tail,
        method=ends.method,
        tested=ends.tested and not rows.note,
        slope_note="; ".join(filter(None, [why, floored if np.isfinite(slope_low) or np.isfinite(slope) else ""])),
        note=rows.note,
    )


def _slope(rows: EventRows, level: float) -> tuple[float, float, float, str]:
    """Point, ends, and why one is missing."""
    trials = trials_of_fit(rows.trials)
    if not np.ptp(trials.x) > 0:
        return np.nan, np.nan, np.nan, ONE_RISK
    if not rows.copies and rows.weights is not None:
        trials = trials.scaled(float(rows.weights.sum() / np.square(rows.weights).sum()))
    try:
        penalized, low, high = slope_profile(trials.x, trials.rows, trials.events, level)
    except NotAnswerable as why:
        return np.nan, np.nan, np.nan, str(why)
    fewer = min(trials.observed, trials.total - trials.observed)
    notes = []
    if rows.groups is not None:
        low = high = np.nan
        notes.append(GROUPED_SLOPE)
    if fewer < FEWEST_EVENTS:
        few = "events" if trials.observed <= trials.total - trials.observed else "rows without the event"
        notes.append(f"needs at least {FEWEST_EVENTS} {few}: with fewer a slope is biased")
        return np.nan, low, high, "; ".join(notes)
    point = _maximum_likelihood_slope(trials)
    if point is None:
        notes.append("Firth's point: risks separate events from the other rows, so that maximum likelihood has none")
        point = penalized
    elif not low <= point <= high:
        # Firth's interval is about the slope with its bias taken off; the point beside it is not.
        _, least, most = slope_profile(trials.x, trials.rows, trials.events, level, penalty=0.0)
        low, high = (min(low, least) if point < low else low), (max(high, most) if point > high else high)
    return point, low, high, "; ".join(notes)


def _maximum_likelihood_slope(trials: Trials) -> float | None:
    """None where events and others do not overlap: then the likelihood rises for ever."""
    happened, others = trials.x[trials.events > 0], trials.x[trials.rows - trials.events > 1e-9]
    if not (happened.min() < others.max() and others.min() < happened.max()):
        return None
    middle, spread = float(trials.rows @ trials.x / trials.total), float(np.std(trials.x))
    design = np.column_stack([np.ones(len(trials.x)), (trials.x - middle) / spread])
    fit = maximum_likelihood(design, trials.rows, trials.events)
    return None if fit is None else float(fit.coefficients[1] / spread)


def _no_number(intercept: float) -> str:
    if np.isnan(intercept):
        return "no intercept moves risks that are all 0, or all 1"
    if np.isinf(intercept):
        return "needs an event: none was observed" if intercept < 0 else "needs a row without the event"
    return ""


@dataclass(frozen=True, repr=False)
class RatioVerdict(OneLine):
    """Is the ratio of observed to expected events within 1/``ratio`` to ``ratio``? Ends ``low`` and ``high``.

    ``within``: both ends are inside; ``outside``: both are beyond one side. Each holds but in (1 - level)/2 of samples.
    """

    low: float
    high: float
    ratio: float
    level: float

    @property
    def within(self) -> bool:
        """Is the interval inside the tolerance?"""
        return 1 / self.ratio < self.low and self.high < self.ratio

    @property
    def outside(self) -> bool:
        """Is the interval entirely beyond one side of the tolerance?"""
        return self.low > self.ratio or self.high < 1 / self.ratio

    @property
    def word(self) -> str:
        """Return "within", "outside" or "undecided"."""
        return "within" if self.within else "outside" if self.outside else "undecided"

    def _line(self) -> str:
        return f"{self.word}: {self.low:.3g} to {self.high:.3g}, tolerance {1 / self.ratio:.3g} to {self.ratio:.3g}"


def ratio_verdict(result: InTheLarge, ratio: float = RATIO) -> RatioVerdict:
    """Judge the ratio of observed to expected events against a tolerance from 1/``ratio`` to ``ratio``.

    What can mislead: a ratio within its tolerance says nothing about single risks; "undecided" often means that events
    are too few (``events_needed``).

    >>> p = Predictions([[0.8, 0.2]] * 100, [1] * 50 + [0] * 50)
    >>> ratio_verdict(in_the_large(p)).word, ratio_verdict(in_the_large(p), 3.5).word
    ('outside', 'within')
    """
    check_ratio(ratio)
    return RatioVerdict(result.ratio_low, result.ratio_high, float(ratio), result.level)
