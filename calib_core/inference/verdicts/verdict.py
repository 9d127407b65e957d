"""Verdict at a tolerance, in one of four words, with the sentence that explains it."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np

from calib_core._base.errors import InputError, NotAnswerable, as_share
from calib_core.binning.interval_schemes import bins_noun
from calib_core.claims.binary_claims import Claims
from calib_core.defaults import LEVEL, RATIO, SIGNIFICANCE, TOLERANCE
from calib_core.estimators.base import Estimate, Question, error_scale, traits
from calib_core.inference.intervals.bins_of_interval import OF_BINS
from calib_core.inference.intervals.error_hierarchy import GIVEN, in_sentences, joint_event_ends, of_several
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.interval_methods import (
    rows_for_groups,
    rows_to_tell,
    rows_with_error,
    usually_reaches,
)
from calib_core.inference.significance.calibration_tests import shown_at_all
from calib_core.inference.verdicts.events_needed import EventSampleSize, event_sample_size, events_needed
from calib_core.predictions.event_names import title_of_event
from calib_core.reductions.base import scope
from calib_core.results.uncertainty import EventRatio, Interval, TestOfCalibration, Verdict
from calib_core.results.verdict_table import MISCALIBRATED, TOO_CLOSE, TOO_FEW, WITHIN
from calib_core.text import (
    at_level,
    begun,
    between,
    called,
    chance,
    count,
    events,
    exact_tolerance,
    points,
    rows,
    score,
    score_apart,
    short_percent,
)


def full_scale(claims: Claims, ranks: int = 1) -> float:
    """Largest possible mean absolute error: 1, but 2/K if every row makes claims about K classes.

    Rows whose probabilities sum to one can be wrong about at most two classes, by 1 each. The mean over K classes is
    then at most 2/K (for weighted classes: the two largest weights), over k ranks 2/k. A tolerance is compared with
    the error as a share of this maximum. For one class per row that is the error itself, for all classes the
    probability on wrong classes.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import ClassWise, Confidence
    >>> p = Predictions([[0.7, 0.1, 0.1, 0.1]], [0])
    >>> full_scale(ClassWise().split(p)), full_scale(Confidence().split(p))
    (0.5, 1.0)
    """
    if claims.same_rows:
        return min(1.0, _of_two(claims.shares))
    return 1.0 if ranks == 1 else 2.0 / ranks


def _of_two(shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(np.sort(shares)[-2:].sum())


NONE_EXPECTED = "no event is expected: every predicted risk is 0, so the ratio is undefined"


def event_ratio(question: Question, level: float = LEVEL, tolerance: float = RATIO) -> EventRatio:
    """Ratio of observed to expected events for a question about an event, at ``level``, compared with a tolerance.

    The ends are those of ``ratio_ends``. The end towards 1 uses the level that the mean gap and the errors of the
    event share (``joint_event_ends``). Grouped rows count by their effective sample size. NotAnswerable if no event
    is expected, because the ratio would divide by 0.
    """
    found = _event_ratio(question, level, tolerance)
    if found is None:
        raise NotAnswerable(NONE_EXPECTED)
    return found


def _event_ratio(question: Question, level: float, tolerance: float) -> EventRatio | None:
    """``event_ratio``, None if no event is expected."""
    if not 1 < tolerance < math.inf:
        raise InputError(f"the tolerance of the O:E ratio is {tolerance:g}; it must be above 1")
    listed = question.written_out
    rows = EventRows.of_claims(listed.claims, listed.predictions)
    trials = rows.on_grid
    # As the ends are: of the risks themselves, so that an end at the expected number is a ratio of exactly 1.
    expected = rows.trials.expected
    if not expected > 0:
        return None
    bins = getattr(question.estimator, "binning", None) if question.free is False else None
    ends, _, p = joint_event_ends(rows, listed.predictions, level, bins)
    needed = events_needed("within", 1.0, tolerance, level=level, concentration=trials.concentration).events
    numbers = trials.observed, expected, trials.total
    low, high = ends.low / expected, ends.high / expected
    return EventRatio(*numbers, low, high, (1 - level) / 2, tolerance, float(needed), p)


_SHARE = ", as a share of its maximum,"


def verdict(estimate: Estimate, eps: float = TOLERANCE, level: float = LEVEL, ratio: float = RATIO) -> Verdict:
    """Judge an error against a tolerance: within, miscalibrated, too close to call, or too few rows.

    The interval decides, and for ``miscalibrated`` also the p-value of the same line, on the scale of
    ``on_scale_of``. Squared errors are compared with the squared tolerance, means over classes with the tolerance's
    share of their maximum. At level 90 %, each wrong conclusion (above or below the tolerance) has a chance of at
    most 5 % if the interval is valid.

    "Too few rows" does not depend on outcomes. It applies if the typical upper end of a calibrated model with these
    predictions (``typical_high``) is at least the tolerance. For grouped rows, whose dependence is unknown in
    advance, the typical end assumes independent rows. What can mislead: ``within`` is about the error in these bins;
    ``too close to call`` does not mean "calibrated".

    The event of two classes has a second tolerance, for the ratio of observed to expected events: from 1 / ``ratio``
    to ``ratio`` (infinity: none). It is within if both are, each at its own level: an intersection-union test, which
    needs no correction. It is miscalibrated if either tolerance is exceeded. Each of the two is wrongly called
    exceeded in at most 5 % of cases. If the truth is at the edge of both at once, the two chances can add up. If
    ``eps`` is at least (``ratio`` - 1) times the mean risk, the ratio decides, and the sentence explains this.

    NotAnswerable for scores (log loss, Brier score, accuracy). NotAnswerable also if the value, an end of the interval,
    the noise floor or its p-value is not a finite number.

    >>> from calib_core import Predictions
    >>> from calib_core.estimators import estimate
    >>> estimate(Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)).verdict(0.02).word
    'miscalibrated'
    >>> estimate(Predictions([[0.9, 0.1]] * 10, [0] * 9 + [1])).verdict(0.02).word
    'too few rows to tell'
    """
    as_share(eps, "the tolerance", last=True)
    found = _judged(estimate, eps, level, ratio)
    if found.word != TOO_CLOSE:
        return found
    assert estimate.question is not None
    shown = found.shown or shown_at_all(estimate.question.predictions)
    return replace(found, shown=shown, answer=f"{found.answer} {any_size(found.low, shown, found.p_value)}")


def _judged(estimate: Estimate, eps: float, level: float, ratio: float) -> Verdict:
    """Return the verdict by the error and, for an event, also by its ratio."""
    by_error = _by_error(estimate, eps, level)
    question = estimate.question
    if question is None or question.reduction is None or scope(question.reduction).of != "event" or ratio == math.inf:
        return _with_p(by_error, estimate, level)
    events = _event_ratio(question, level, ratio)
    if events is None:
        return _with_p(by_error, estimate, level)
    found = _of_event(by_error, events, title_of_event(question.predictions), level)
    if found.word == TOO_FEW and question.predictions.row_groups is None:
        found = _with_both_tolerances(found, event_sample_size(question, on_scale_of(estimate, eps), level, ratio))
    return _with_p(found, estimate, level)


def _with_both_tolerances(found: Verdict, size: EventSampleSize | None) -> Verdict:
    """Return the verdict with the rows for both tolerances, and a sentence if each alone needs clearly fewer."""
    if size is None or found.rows_needed is None or size.rows <= math.ceil(found.rows_needed - 1e-6):
        return found
    more = f"{found.advice} Both tolerances together need about {rows(size.rows)} judged rows.".lstrip()
    advice = found.advice if rows(size.rows) == rows(found.rows_needed) else more
    return replace(found, rows_needed=float(size.rows), advice=advice)


def _with_p(found: Verdict, estimate: Estimate, level: float) -> Verdict:
    """Return the verdict with the p-value of the measure that determines it."""
    of_error = estimate.p_value_at(level)
    by_error = found.low > found.eps and of_error <= (1.0 - level) / 2
    if found.ratio is None or found.word != MISCALIBRATED or by_error:
        return replace(found, p_value=of_error)
    return replace(found, p_value=found.ratio.p_value)


def error_is_above(estimate: Estimate, eps: float = TOLERANCE, level: float = LEVEL) -> bool:
    """True if the error alone makes the verdict ``miscalibrated``: without the sample sizes that other words need."""
    return _is_above(estimate, _judged_interval(estimate, level).low, eps, level)


def _is_above(estimate: Estimate, low: float, eps: float, level: float) -> bool:
    return low > on_scale_of(estimate, eps) and estimate.p_value_at(level) <= (1.0 - level) / 2


def _judged_interval(estimate: Estimate, level: float) -> Interval:
    if estimate.question is not None and "predictions" in traits(estimate.question.estimator).takes:
        raise NotAnswerable(why_no_verdict(estimate))
    span = estimate.interval(level)
    _sane(estimate, span.low, span.point, span.high)
    return span


def _by_error(estimate: Estimate, eps: float, level: float) -> Verdict:
    """Verdict from the interval of the error only."""
    span, question = _judged_interval(estimate, level), estimate.question
    assert question is not None
    limit = on_scale_of(estimate, eps)
    low, point, high = (on_tolerance_scale(estimate, end) for end in (span.low, span.point, span.high))
    found = f"({at_level(level)} interval {between(low, high, eps)})"
    limits, tolerance = _limits(span.about), f"the tolerance of {exact_tolerance(eps)}"
    words = f"{_what(estimate, span.about)} is estimated at {short_percent(point)} {found}"
    ends = (low, point, high)
    if span.high < limit:
        if (more := rows_for_groups(question, eps)) is not None:
            why, todo = of_one_mean(more)
            text = f"Too few rows to tell: {words}, below {tolerance}, {why}"
            return Verdict(TOO_FEW, eps, text, *ends, rows_needed=more, reason=limits, advice=todo)
        return Verdict(WITHIN, eps, f"Within tolerance: {words}, below {tolerance}.", *ends, reason=limits)
    if span.low > limit:
        if _is_above(estimate, span.low, eps, level):
            return Verdict(MISCALIBRATED, eps, f"Miscalibrated: {words}, above {tolerance}.", *ends, reason=limits)
        text = (
            f"Too close to call: {words}, above {tolerance}, but {chance(estimate.p_value_at(level))}. "
            "Calibrated models exceed this value too often."
        )
        return Verdict(TOO_CLOSE, eps, text, *ends, reason=limits)
    # The dependence within groups is unknown before outcomes are seen; grouped rows are worth at most as many.
    grouped = question.predictions.row_groups is not None
    question = replace(question, predictions=question.predictions.replace(groups=None)) if grouped else question
    if usually_reaches(question, limit, level):
        needed = rows_to_tell(question, limit, level)
        off = rows_with_error(question, limit, limit / 2, level)
        few = (
            f"With so few rows, even a perfectly calibrated model would usually not be shown to be within {tolerance}."
        )
        return Verdict(
            TOO_FEW,
            eps,
            f"Too few rows to tell: {words}, on both sides of {tolerance}.",
            *ends,
            rows_needed=needed,
            rows_with_error=off,
            reason=limits,
            advice=f"{few} {of_sample_size(needed, eps, off, judged=_independent_rows(estimate), independent=grouped)}",
        )
    text = f"Too close to call: {words}, on both sides of {tolerance}."
    return Verdict(TOO_CLOSE, eps, text, *ends, reason=limits)


def why_no_verdict(estimate: Estimate) -> str:
    """Return the reason why a score has no verdict."""
    return f"{estimate.recipe[1].title} is a score, not a calibration error, so the tolerance does not apply to it"


def of_sample_size(
    needed: float,
    eps: float,
    with_error: float | None = None,
    *,
    judged: int | None = None,
    independent: bool = False,
) -> str:
    """Describe the number of rows at which a model is shown to be within a tolerance, in sentences.

    ``judged`` is the number of rows that were evaluated. A file can have more, on which calibrators are fitted. The
    numbers rest on drawn samples and on the scores at hand. In fresh samples of known laws of 300 and 1,500 scores,
    65 to 88 % (on average 77 %) of 60 samples with the rows named were within.

    >>> print(of_sample_size(7310, 0.02, 14650, judged=750))
    About 7,400 judged rows would be needed (there are 750). With that many, a perfectly calibrated model is shown to be
    within 2 % in 8 of 10 samples. A model with an error of 1 % needs about 15,000 rows.
    """
    more = (
        ""
        if with_error is None
        else f" A model with an error of {exact_tolerance(eps / 2)} needs about {rows(with_error)} rows."
    )
    kind = "independent judged rows" if independent else "judged rows"
    there = "" if judged is None else f" (there are {count(judged)})"
    if independent:
        more += " Rows in groups need more; how many more is unknown before the outcomes are used."
    return (
        f"About {rows(needed)} {kind} would be needed{there}. With that many, a perfectly calibrated model is shown "
        f"to be within {exact_tolerance(eps)} in 8 of 10 samples.{more}"
    )


def _independent_rows(estimate: Estimate) -> int | None:
    """Return the number of rows that were evaluated; None if they are grouped or weighted."""
    assert estimate.question is not None
    rows = estimate.question.predictions.answered
    return rows.n_rows if rows.row_groups is None and rows.weights is None else None


def _of_event(error: Verdict, ratio: EventRatio, name: str, level: float) -> Verdict:
    """Return the verdict on an event by its error and by its ratio of observed to expected events."""
    vacuous = error.eps >= (ratio.tolerance - 1) * ratio.expected / ratio.rows
    tolerated = tolerated_ratios(ratio.tolerance)
    value = _ratio(ratio.value)
    times = "as often as predicted" if value == "1" else f"{value} times as often as predicted"
    ends = f"{at_level(level)} interval {ratio_range(ratio.low, ratio.high, ratio.tolerance)}"
    counts = f"{_count(ratio.observed)} observed, {_count(ratio.expected)} predicted"
    found = f"{called(name)} was observed {times} ({counts}; {ends})"
    scale = ""
    if error.eps > ratio.rate:
        scale = (
            f" The tolerance of {exact_tolerance(error.eps)} exceeds the event's rate of {short_percent(ratio.rate)}: "
            "a model that always predicts 0 would be within it, so the ratio determines the verdict."
        )
    elif vacuous:
        mean = ratio.expected / ratio.rows
        decides = " and determines the verdict" if error.word == WITHIN or ratio.word != "within" else ""
        scale = (
            f" The ratio has the stricter tolerance{decides}: {tolerated} allows a mean gap of "
            f"{points((1 / ratio.tolerance - 1) * mean).partition(' ')[0]} to {points((ratio.tolerance - 1) * mean)} "
            f"(observed - predicted); the limit for the calibration error is {exact_tolerance(error.eps)}."
        )
    by_error = begun(error.answer.partition(": ")[2])
    if error.word == MISCALIBRATED:
        where = {"within": "within", "outside": "outside", "undecided": _PARTLY}[ratio.word]
        text = f"{error.answer} {begun(found)}, {where} the tolerance of {tolerated}."
        return replace(error, ratio=ratio, answer=f"{text}{scale}")
    if ratio.word == "outside":
        but = f"the calibration error is within {exact_tolerance(error.eps)}, but " if error.word == WITHIN else ""
        text = f"Miscalibrated: {but}{found}, outside the tolerance of {tolerated}. {by_error}{scale}"
        return replace(error, word=MISCALIBRATED, ratio=ratio, answer=text, rows_needed=None, shown=None)
    if ratio.word == "within":
        return replace(
            error, ratio=ratio, answer=f"{error.answer} {begun(found)}, within the tolerance of {tolerated}.{scale}"
        )
    text = f"{found}, {_PARTLY} the tolerance of {tolerated}. {by_error}{scale}"
    by_rows = error.rows_needed if error.word == TOO_FEW else None
    if not ratio.enough or by_rows is not None:
        needed = ratio.rows * ratio.needed / ratio.expected
        few = (
            f"To show that the ratio of a correct model is within its tolerance, about {events(ratio.needed)} expected "
            f"events are needed; there are {_count(ratio.expected)}."
        )
        return replace(
            error,
            word=TOO_FEW,
            ratio=ratio,
            answer=f"Too few rows to tell: {text}",
            rows_needed=max(needed if not ratio.enough else 0.0, by_rows or 0.0),
            shown=None,
            advice=" ".join(filter(None, ("" if ratio.enough else few, error.advice))),
        )
    return replace(error, word=TOO_CLOSE, ratio=ratio, answer=f"Too close to call: {text}")


_PARTLY = "with an interval partly outside"


def _count(events: float) -> str:
    """Format a number of events: whole, or one decimal below 10."""
    return f"{events:,.0f}" if events >= 10 or events == round(events) else f"{events:.1f}"


def _ratio(value: float) -> str:
    return score(value)


def tolerated_ratios(tolerance: float) -> str:
    """Format both ends of the tolerance of observed to expected events, neither of them as 1.

    >>> tolerated_ratios(1.25), tolerated_ratios(1.004)
    ('0.8 to 1.25', '0.996 to 1.004')
    """
    return f"{score_apart(1 / tolerance, (1.0,))} to {score_apart(tolerance, (1.0,))}"


def ratio_range(low: float, high: float, tolerance: float) -> str:
    """Format both ends of an O:E ratio's interval, each on its side of the limits and of 1.

    >>> ratio_range(0.42, 0.589, 1.25), ratio_range(0.9, 1.2496, 1.25), ratio_range(0.866, 1.004, 1.25)
    ('0.42 to 0.589', '0.9 to 1.2496', '0.866 to 1.004')
    """
    limits = (1 / tolerance, 1.0, tolerance)
    return f"{score_apart(low, limits)} to {score_apart(high, limits)}"


def of_one_mean(needed: float) -> tuple[str, str]:
    """Return why an interval below a limit shows nothing if all rows form one group, and what to do."""
    return (
        "but this compares only two means, in which errors can cancel.",
        f"About {rows(needed)} judged rows would be needed to compare groups of rows.",
    )


def on_scale_of(estimate: Estimate, error: float) -> float:
    """Convert the tolerance to the scale of an estimator and a notion.

    For squared errors, the tolerance is squared. If every row makes claims about K classes, the mean over classes of
    absolute errors is at most 2/K, however wrong the model is. There the tolerance is multiplied by 2/K, so that it
    limits the probability assigned to wrong classes. For squared errors, its square is multiplied by 2/K.

    >>> from calib_core import Predictions
    >>> from calib_core.estimators import estimate
    >>> p = Predictions([[0.7, 0.1, 0.1, 0.1]], [0])
    >>> on_scale_of(estimate(p, "confidence", "debiased-l2"), 0.5), on_scale_of(estimate(p, "class-wise"), 0.02)
    (0.25, 0.01)
    """
    squared, full = _scale(estimate)
    return error * error * full if squared else error * full


def on_tolerance_scale(estimate: Estimate, value: float) -> float:
    """Convert an estimator's value to the scale of the tolerance: the inverse of ``on_scale_of``.

    >>> from calib_core import Predictions
    >>> from calib_core.estimators import estimate
    >>> p = Predictions([[0.7, 0.1, 0.1, 0.1]], [0])
    >>> on_tolerance_scale(estimate(p, "confidence", "debiased-l2"), 0.25)
    0.5
    """
    squared, full = _scale(estimate)
    share = max(value, 0.0) / full
    return math.sqrt(share) if squared else share


def _scale(estimate: Estimate) -> tuple[bool, float]:
    """Return whether the estimator reports squares, and the largest value it can report."""
    question = estimate.question
    assert question is not None
    scale = error_scale(question.estimator)
    if question.reduction is None or question.whole or scale.order in ("max", OF_BINS):
        return scale.squared, 1.0
    full = full_scale(question.claims, question.ranks)
    return scale.squared, full if scale.squared or scale.order == 1 else math.sqrt(full)


def _what(estimate: Estimate, about: str) -> str:
    """Return what the interval is about, as the subject of a sentence."""
    question = estimate.question
    assert question is not None
    subject = "the error" if of_several(about) else in_sentences(about).partition(GIVEN)[0]
    subject = subject.replace("in these bins", f"in {_bins(estimate)}")
    subject = subject.replace("this estimator's noiseless value", f"the noiseless {estimate.recipe[1].title}")
    if _scale(estimate)[1] < 1.0:
        error = subject.startswith("the error")
        subject = (
            subject.replace("the error", "the probability assigned to wrong classes") if error else f"{subject}{_SHARE}"
        )
    rows = question.predictions
    among = "" if rows.abstained is None else f" (of the {rows.answered.n_rows:,} of {rows.n_rows:,} rows answered)"
    if rows.row_groups is not None:
        among += f", of rows in {rows.row_groups.words}"
    subject = re.sub("^the error\\b", "the calibration error", subject)
    whole = f"{subject}{among}"
    return f"{whole}{',' if ', ' in whole and not whole.endswith(')') else ''}"


def _bins(estimate: Estimate) -> str:
    """Return the bins of an estimate as a noun."""
    assert estimate.question is not None
    if not estimate.in_bins:
        return "its own bins"
    reduction = estimate.question.reduction
    by_class = reduction is not None and (scope(reduction).by_class or scope(reduction).of == "classes")
    return f"{bins_noun(estimate.in_bins)}{' per class' if by_class else ''}"


def _limits(about: str) -> str:
    """Return sentences on several errors that the interval is for, and on those that it does not measure, if any."""
    unmeasured = about.partition(GIVEN)[2].removeprefix("; ")
    unmeasured = unmeasured.replace("within such a group", "within a group")
    cancel = f"{begun(unmeasured)}." if "not measured" in unmeasured else ""
    return " ".join(filter(None, (of_several(about), cancel)))


def _sane(estimate: Estimate, *ends: float) -> None:
    """Raise NotAnswerable if a number is not finite: no verdict without valid numbers."""
    floor = estimate.noise_floor
    numbers = {"value": estimate.value, "interval": ends, "noise floor": floor.high, "p-value": floor.p_value}
    for name, number in numbers.items():
        if not all(math.isfinite(x) for x in (number if isinstance(number, tuple) else (number,))):
            raise NotAnswerable(f"no verdict: the {name} is not a finite number ({number})")


_TEST = "Spiegelhalter's test"
CERTAIN = 30.0
"""Below this many standard deviations, a p-value is 0 only if the outcome was impossible."""

SURE = SIGNIFICANCE / 4
"""p-values up to this are significant after any correction for four tests, the number that an audit lists."""


def any_size(low: float | None, shown: TestOfCalibration, own: float | None = None, named: str = "") -> str:
    """Describe the evidence for an error of any size, consistent with the numbers next to it.

    ``low`` is the lower end of the interval next to it, and ``own`` the p-value of the error itself. If the test does
    not detect an error that this p-value shows, the sentence names both. ``named`` is what that p-value tests, if it
    is the primary measure, which is fixed in advance.
    """
    if shown.p_value == 0 and abs(shown.statistic) < CERTAIN:
        return (
            "Something happened that had a predicted probability of 0, such as an error at a confidence of 100 %. With "
            "a calibrated model, this is impossible (p = 0)."
        )
    p = ", ".join(filter(None, (chance(shown.p_value), shown.law)))
    if shown.p_value <= SIGNIFICANCE:
        others = "" if shown.p_value <= SURE else "; not corrected for other tests"
        return f"There is evidence of some error (Spiegelhalter's test, {p}{others})."
    escape = (
        "It compares the mean squared distance between probability and outcome (Brier score) with that of a "
        "calibrated model, so errors of different rows can cancel."
    )
    if own is not None and own <= SIGNIFICANCE:
        evidence = (
            f"There is evidence of some error: the {named} has {chance(own)}. This p allows for the larger errors "
            "that include this one. It is not corrected for other measures."
            if named
            else f"There is evidence of some error ({chance(own)})."
        )
        return f"{evidence} {_TEST} does not detect it ({p}). {escape}"
    if low:
        return f"{_TEST} does not detect this error ({p}). {escape}"
    return f"A test of all rows together finds no evidence of an error ({_TEST}, {p}). {escape}"
