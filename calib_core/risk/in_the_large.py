"""Calibration in the large: mean and spread of the predicted risks of an event.

Scores of a predicted risk: Brier, scaled Brier, log loss and AUROC, and every measure of a risk in one table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.errors import as_share
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, RATIO, SEED, SIGNIFICANCE
from calib_core.estimators.base import estimate
from calib_core.inference.comparison.skills import FEWEST
from calib_core.inference.intervals.clustered_rows import of_like_size
from calib_core.inference.intervals.error_hierarchy import joint_event_ends
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.influence_functions import (
    FEWEST_ROWS,
    MEASURES,
    ConfidenceRows,
    Influence,
    auroc_ends,
    enough_rows,
)
from calib_core.inference.intervals.observed_expected import (
    ONE_RISK,
    effect_on_slope,
    events_undersampled,
    intercept_at,
    over,
    recalibration_line,
    slope_p_value,
    slope_profile,
    trials_of_fit,
)
from calib_core.inference.verdicts.events_needed import check_ratio
from calib_core.predictions.predictions import NotAnswerable, Predictions, effective_rows
from calib_core.risk.smooth_curve import SmoothCurve, curve_of, gap_of
from calib_core.text import score

FEWEST_EVENTS = 5
"""Events, and rows without one, from which on a slope has a point: below it is biased by .7 and more."""
UNDERSAMPLED = (
    "rows with the event have larger weights than others of the same risk, as after sampling by outcome. Intervals of "
    "errors in bins and of the smooth curve can be too narrow"
)
"""Limitation of rows of which those with the event were sampled less."""
COLUMNS = ("measure", "title", "value", "low", "high", "floor", "reference", "note")
"""Columns of every table of measures of a risk."""


@dataclass(frozen=True, eq=False, repr=False)
class InTheLarge(OneLine):
    """Predicted and observed events over all rows, with ends of intervals as ``_low`` and ``_high`` at ``level``.

    ``rows`` and ``events`` are numbers (weights added up), ``expected`` the sum of the risks. The ends of ``observed``,
    ``gap`` (observed less mean predicted, as of every bin, class and slice), ``ratio`` (observed to expected events)
    and ``intercept`` come from the number of events. Either all of them exclude calibration, or none does. ``p_value``
    is of the test that the gap is 0 and the ratio 1 (``joint_event_ends``). It decides whether there is a gap
    (``differs``), as for every place: at most .05 where intervals at level .9 exclude calibration. The intervals show
    how large it is. ``tail`` is the chance to miss of their end towards the expected number of events, at most (1 -
    level)/2. They share it with the event's calibration error (``inference.mean_gap``). ``tested`` is False where the
    intervals were not simulated. ``slope_p`` is of the test that the slope is 1, by the profile of its interval. It is
    NaN if the slope has no point or no interval. Notes give reasons for missing numbers.
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
    slope_p: float = np.nan
    slope_note: str = ""
    note: str = ""

    def _line(self) -> str:
        return (
            f"{self.event!r}: predicted {self.mean_predicted:.4g}, observed {self.observed:.4g}, "
            f"O:E {self.ratio:.3g} ({self.ratio_low:.3g} to {self.ratio_high:.3g}), "
            f"intercept {score(self.intercept)}, slope {score(self.slope)}"
        )

    @property
    def differs(self) -> bool:
        """True if the mean gap is significant: its p-value is at most .05."""
        return self.p_value <= SIGNIFICANCE

    def frame(self) -> pd.DataFrame:
        """One line per measure, with its value, interval, floor and reference.

        Columns: ``measure``, ``title``, ``value``, ``low``, ``high``, ``floor``, ``reference`` (its value under
        calibration, NaN where there is none) and ``note``.

        A measure without a point has no interval here either, and its note lists what it needs.
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

    With O events of N rows and E = sum s, gap = (O - E) / N and ratio = O / E. The intercept is b with sum
    expit(log-odds s + b) = O (slope fixed at 1). The slope is the coefficient of log-odds s in a logistic regression of
    the events, by maximum likelihood, or by Firth's where that has no maximum. Ends of the first four are Clopper and
    Pearson's for the mean number of events (``ratio_ends``). The end away from E misses with (1 - level)/2. The one
    towards E misses with ``tail``, the level that the event's calibration error in ``bins`` shares
    (``inference.mean_gap``), so neither contradicts the other. So E is left out of less than 1 - level of the intervals
    of a calibrated model. Ends of the slope are those of Firth's profile (``firth.slope_profile``). Where the point is
    beyond one of them, the end of the likelihood's own profile replaces it. A slope has no point below 5 events, or 5
    rows without one; its interval is given all the same.

    What can mislead: no gap on average is not calibration, since gaps of opposite sign cancel. Risks of 0 and 1 are
    moved to 2.2e-16 from there before their log-odds are taken, and decide the slope; the note counts them. Weights
    that are not whole numbers are treated as known inverse sampling fractions. They can depend on the outcome, as in a
    case-cohort or nested case-control sample: intervals use the variance by linearization (``event_variance``,
    ``slope_effect``), simulated in ``designs.csv``. For rows in groups, Korn and Graubard's ends replace the first four
    intervals, and the slope's variance is that of whole groups. NotAnswerable without two classes with a probability
    each.

    References: Cox 1958; Van Calster et al. 2016, Journal of Clinical Epidemiology 74; Clopper & Pearson 1934; Firth
    1993; Heinze & Schemper 2002; Binder 1983 and Lin 2000 (weights); Korn & Graubard 1998 (groups).

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
    slope, slope_low, slope_high, slope_p, why = _slope(rows, level)
    note = rows.note or (UNDERSAMPLED if events_undersampled(rows) else "")
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
        tested=ends.tested and not note,
        slope_p=slope_p,
        slope_note="; ".join(filter(None, [why, floored if np.isfinite(slope_low) or np.isfinite(slope) else ""])),
        note=note,
    )


def _slope(rows: EventRows, level: float) -> tuple[float, float, float, float, str]:
    """Point, ends, the p-value of a slope of 1, and why one is missing."""
    trials = trials_of_fit(rows.trials)
    if not np.ptp(trials.x) > 0:
        return np.nan, np.nan, np.nan, np.nan, ONE_RISK
    trials = trials.scaled(1 / effect_on_slope(rows, level))
    try:
        penalized, low, high = slope_profile(trials.x, trials.rows, trials.events, level)
        p = slope_p_value(trials.x, trials.rows, trials.events)
    except NotAnswerable as why:
        return np.nan, np.nan, np.nan, np.nan, str(why)
    fewer = min(rows.trials.observed, rows.trials.total - rows.trials.observed)
    if not rows.copies:
        fewer = fewer / rows.trials.total * effective_rows(len(rows.scores), rows.weights)
    notes = []
    if few := _few_for_sandwich(rows):
        low = high = p = np.nan
        notes.append(few)
    if fewer < FEWEST_EVENTS:
        few = "events" if trials.observed <= trials.total - trials.observed else "rows without the event"
        notes.append(f"needs at least {FEWEST_EVENTS} {few}: with fewer a slope is biased")
        return np.nan, low, high, np.nan, "; ".join(notes)
    line = recalibration_line(trials)
    point = None if line is None else line.slope
    if point is None:
        notes.append("Firth's point: risks separate events from the other rows, so that maximum likelihood has none")
        point = penalized
    elif not low <= point <= high:
        # Firth's interval is about the slope with its bias taken off; the point beside it is not.
        _, least, most = slope_profile(trials.x, trials.rows, trials.events, level, penalty=0.0)
        p = max(p, slope_p_value(trials.x, trials.rows, trials.events, penalty=0.0))
        low, high = (min(low, least) if point < low else low), (max(high, most) if point > high else high)
    return point, low, high, p, "; ".join(notes)


def _no_number(intercept: float) -> str:
    if np.isnan(intercept):
        return "no intercept moves risks that are all 0, or all 1"
    if np.isinf(intercept):
        return "needs an event: none was observed" if intercept < 0 else "needs a row without the event"
    return ""


@dataclass(frozen=True, repr=False)
class RatioVerdict(OneLine):
    """Ratio of observed to expected events against the range 1/``ratio`` to ``ratio``; ends ``low`` and ``high``.

    ``within``: both ends are inside; ``outside``: both are beyond one side. Each is valid except in (1 - level)/2 of
    samples.
    """

    low: float
    high: float
    ratio: float
    level: float

    @property
    def within(self) -> bool:
        """True if the interval is inside the tolerance."""
        return 1 / self.ratio < self.low and self.high < self.ratio

    @property
    def outside(self) -> bool:
        """True if the interval is entirely beyond one side of the tolerance."""
        return self.low > self.ratio or self.high < 1 / self.ratio

    @property
    def word(self) -> str:
        """Return "within", "outside" or "undecided"."""
        return "within" if self.within else "outside" if self.outside else "undecided"

    def _line(self) -> str:
        return f"{self.word}: {self.low:.3g} to {self.high:.3g}, tolerance {1 / self.ratio:.3g} to {self.ratio:.3g}"


def ratio_verdict(result: InTheLarge, ratio: float = RATIO) -> RatioVerdict:
    """Judge the ratio of observed to expected events against a tolerance from 1/``ratio`` to ``ratio``.

    What can mislead: a ratio within its tolerance implies nothing about single risks. "Undecided" often means that
    events are too few (``events_needed``).

    >>> p = Predictions([[0.8, 0.2]] * 100, [1] * 50 + [0] * 50)
    >>> ratio_verdict(in_the_large(p)).word, ratio_verdict(in_the_large(p), 3.5).word
    ('outside', 'within')
    """
    check_ratio(ratio)
    return RatioVerdict(result.ratio_low, result.ratio_high, float(ratio), result.level)


_MOST_COPIES = 2_000_000
_TOO_FEW = f"no interval, because it needs at least {FEWEST} events, and as many rows without one"
_TOO_FEW_RANKED = f"no interval, because it needs at least {FEWEST_ROWS} events, and as many rows without one"
_TOO_FEW_GROUPS = (
    f"no interval, because it needs at least {FEWEST_ROWS} groups of like size with an event, and as many without one"
)
_ONE_SIDE = "needs rows with the event and rows without it"
_NO_NOISE = "no interval, because every row contributes the same, so that the noise is not seen"


def scores(predictions: Predictions, level: float = LEVEL) -> pd.DataFrame:
    """Brier score, scaled Brier score, log loss and AUROC of the event's risk: one line each, with intervals.

    brier = mean (s - y)^2, half of the Brier score summed over two classes. scaled = 1 - brier / (a (1 - a)), a the
    observed frequency: 0 for a model that predicts a for everyone, 1 for a perfect one. log loss = mean of minus the
    log probability of the outcome, in nats, probabilities raised to 2.2e-16. auroc: the chance that a row with the
    event has the higher risk than one without, ties half. Intervals are bounds for means of losses
    (``inference.means``) or by the delta method (from 10 events and 10 rows without one). For the AUROC it is the wider
    of DeLong's and a score interval (``inference.auroc_interval``, from 5 and 5).

    What can mislead: scores depend on how common the event is, so that they compare on the same rows only. An AUROC
    near 1 implies nothing about calibration.

    References: Brier 1950; Steyerberg et al. 2010, Epidemiology 21 (scaled Brier); DeLong et al. 1988.

    >>> p = Predictions([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3], [0.1, 0.9]], [0, 0, 1, 1])
    >>> scores(p).set_index("measure")["value"].round(4).to_dict()
    {'brier': 0.225, 'scaled-brier': 0.1, 'log-loss': 0.6122, 'auroc': 0.75}
    """
    as_share(level, "level")
    return _lines(EventRows.of(predictions), predictions, level)


def _lines(rows: EventRows, predictions: Predictions, level: float) -> pd.DataFrame:
    answers, why = _answers(rows)
    lines = [
        _of_mean("brier", "Brier score", rows, predictions, level),
        _of_influence("scaled-brier", "Scaled Brier score", MEASURES["skill"](answers), rows, answers, why, level),
        _of_mean("log-loss", "Log loss", rows, predictions, level),
        _of_auroc(MEASURES["auroc"](answers), rows, answers, why, level),
    ]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _answers(rows: EventRows) -> tuple[ConfidenceRows, str]:
    """Rows for measures that are not means; why their noise is not known, if it is not."""
    weights = np.ones(len(rows.scores)) if rows.weights is None else rows.weights
    if rows.weights is None or not rows.copies:
        return ConfidenceRows(rows.scores, rows.outcomes, weights, rows.groups), ""
    if weights.sum() > _MOST_COPIES:
        answers = ConfidenceRows(rows.scores, rows.outcomes, weights, rows.groups)
        return answers, f"no interval, because there are more than {_MOST_COPIES:,} copies of rows"
    copies = np.repeat(np.arange(len(weights)), weights.astype(np.intp))
    groups = None if rows.groups is None else rows.groups.take(copies)
    return ConfidenceRows(rows.scores[copies], rows.outcomes[copies], np.ones(len(copies)), groups), ""


def _of_mean(
    key: str, title: str, rows: EventRows, predictions: Predictions, level: float
) -> tuple[str, str, float, float, float, float, float, str]:
    """A mean of losses: of the claims about the event where rows are known, of whole rows in a summary."""
    counted = predictions.grain == "counts"
    try:
        found = estimate(predictions, None if counted else "event", key)
    except NotAnswerable as why:
        return key, title, np.nan, np.nan, np.nan, np.nan, np.nan, str(why)
    # A summary keeps the score summed over both classes, each of which contributes the same.
    share = 0.5 if counted and key == "brier" else 1.0
    try:
        interval = found.interval(level)
    except NotAnswerable as why:
        return key, title, share * found.value, np.nan, np.nan, np.nan, np.nan, str(why)
    low, high = share * interval.low, share * interval.high
    return key, title, share * found.value, low, high, np.nan, np.nan, ""


def _of_influence(
    key: str, title: str, measure: Influence, rows: EventRows, answers: ConfidenceRows, why: str, level: float
) -> tuple[str, str, float, float, float, float, float, str]:
    low = high = np.nan
    if np.isnan(measure.value):
        return key, title, np.nan, low, high, np.nan, np.nan, _ONE_SIDE
    why = why or _few(answers) or ("" if measure.error > 0 else _NO_NOISE)
    if not why:
        low, high = measure.ends(level)
    return key, title, measure.value, low, min(high, 1.0), np.nan, np.nan, "; ".join(filter(None, [why, rows.note]))


def _of_auroc(
    measure: Influence, rows: EventRows, answers: ConfidenceRows, why: str, level: float
) -> tuple[str, str, float, float, float, float, float, str]:
    key, title, low, high = "auroc", "AUROC", np.nan, np.nan
    if np.isnan(measure.value):
        return key, title, np.nan, low, high, np.nan, np.nan, _ONE_SIDE
    if not why and not enough_rows(answers):
        why = _TOO_FEW_RANKED if answers.groups is None else _TOO_FEW_GROUPS
    if not why and not measure.error > 0 and 0 < measure.value < 1:
        why = _NO_NOISE
    if not why:
        low, high = auroc_ends(measure, answers, level)
    return key, title, measure.value, low, high, np.nan, np.nan, "; ".join(filter(None, [why, rows.note]))


def _few_for_sandwich(rows: EventRows) -> str:
    """Return the reason if weighted or grouped rows are too few for the slope's variance; empty otherwise."""
    if rows.groups is not None:
        return _few(_answers(rows)[0])
    if rows.copies or rows.weights is None:
        return ""
    parts = (rows.weights[rows.outcomes], rows.weights[~rows.outcomes])
    return _TOO_FEW if min(effective_rows(len(part), part) for part in parts) < FEWEST else ""


def _few(rows: ConfidenceRows) -> str:
    """Return the reason for missing intervals: too few events, other rows or groups."""
    if rows.groups is not None:
        with_event, without = (len(np.unique(rows.groups.codes[part])) for part in (rows.right, ~rows.right))
        enough = min(with_event, without, of_like_size(rows.groups, rows.weights)) >= FEWEST
        return (
            ""
            if enough
            else f"no interval, because there are fewer than {FEWEST} groups of like size with an event, or without one"
        )
    effective = rows.total**2 / np.square(rows.weights).sum()
    share = float(rows.weights @ rows.right / rows.total)
    return _TOO_FEW if effective * min(share, 1 - share) < FEWEST - 1e-9 else ""


def summary(
    predictions: Predictions,
    level: float = LEVEL,
    bins: int | str | BinningScheme | None = None,
    *,
    intervals: bool = True,
    seed: int = SEED,
) -> pd.DataFrame:
    """Every measure of the predicted risk of the event, one line each.

    Columns: measure, title, value, low, high (interval at ``level``), floor, reference (the value under calibration,
    NaN where there is none) and note. The floor is the 95 % point of what a calibrated model shows, for ICI, E50 and
    E90. Measures:

    - mean-predicted, observed, gap, ratio, intercept and slope (``in_the_large``);
    - ici, e50, e90 and emax (``smooth_curve``; value free of the upward bias of noise);
    - brier, scaled-brier, log-loss and auroc (``scores``).

    ``intervals=False`` leaves out those of the curve, which take longest: its values then are not corrected for noise,
    nor are those of rows in groups. ``bins`` as in ``in_the_large``.

    References: Collins et al. 2024, BMJ 385 (TRIPOD+AI); Van Calster et al. 2019, BMC Medicine 17.

    >>> p = Predictions([[0.8, 0.2]] * 50 + [[0.4, 0.6]] * 50, [0, 0, 0, 0, 1] * 10 + [1, 1, 1, 0, 0] * 10)
    >>> table = summary(p).set_index("measure")
    >>> table.loc[["mean-predicted", "observed", "ratio", "slope"], "value"].round(6).tolist()
    [0.4, 0.4, 1.0, 1.0]
    """
    as_share(level, "level")
    rows = EventRows.of(predictions)
    first = of_rows(rows, predictions, level, bins).frame()
    try:
        gap = gap_of(predictions, level, bins) if intervals else None
        middle = _of_curve(curve_of(rows, level, intervals=intervals, seed=seed, gap=gap))
    except NotAnswerable as why:
        middle = first.iloc[:0].reindex(range(4))
        middle[["measure", "title", "note"]] = [
            ["ici", "ICI (mean distance)", str(why)],
            ["e50", "E50 (median distance)", str(why)],
            ["e90", "E90 (90 % quantile)", str(why)],
            ["emax", "Emax (largest distance)", str(why)],
        ]
    parts = [first, middle, _lines(rows, predictions, level)]
    lines = [line for part in parts for line in part[list(COLUMNS)].itertuples(index=False, name=None)]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _of_curve(curve: SmoothCurve) -> pd.DataFrame:
    return curve.distances.assign(reference=0.0)[list(COLUMNS)]
