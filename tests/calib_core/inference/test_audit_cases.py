"""Cases of an audit with data outside the tests, and laws over the registries that would have found them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from score_laws import sample

from calib_core import CALIBRATORS, InputError, NotAnswerable, Predictions, estimate, read_predictions
from calib_core.binning import EqualWidth
from calib_core.datasets import DEMOS, demo
from calib_core.evaluation.study import error_keys

TOO_FEW = "too few rows to tell"
SMOOTHED = ("ece-kde", "smece")
"""Estimators a hundred times slower than the others: tested with one stratum."""
ERRORS = error_keys()
BINARY = ("confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label", "class-specific")


def asked(predictions, notion, key):
    """Return the estimate, None if it does not exist for the notion or the kind of predictions."""
    try:
        return estimate(predictions, notion, key)
    except NotAnswerable:
        return None


def interval_of(made, level=0.9):
    """Return its interval, None if it is refused."""
    try:
        return made.interval(level)
    except NotAnswerable:
        return None


# -- the cases ------------------------------------------------------------------------------------------------


def certain(right, wrong=0, k=None):
    """Return rows of score 1."""
    outcomes = [True] * right + [False] * wrong
    if k is None:
        return Predictions.from_confidence(np.ones(right + wrong), outcomes)
    said = np.arange(right + wrong) % k
    return Predictions(np.eye(k)[said], np.where(outcomes, said, (said + 1) % k))


@pytest.mark.parametrize("key", ["ece", "rmsce", "debiased-ece", "debiased-l2"])
@pytest.mark.parametrize("k", [None, 2])
def test_thirty_certain_rows_all_right_show_what_a_binomial_shows(k, key):
    """An error of 1 - .05^(1/30) = .095 causes no miss in 30 rows with probability .05: the exact upper end."""
    made = estimate(certain(30, k=k), "confidence", key)
    span = made.interval()
    high = span.high ** (0.5 if key == "debiased-l2" else 1)
    assert span.low == 0
    assert 1 - 0.05 ** (1 / 30) - 1e-6 <= high <= 0.1001
    for eps in (0.001, 0.02, 0.09):
        assert made.verdict(eps).word == TOO_FEW
    assert made.verdict(0.11).word == "within"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", ["ece-convex", "ece-kde", "ece-sweep", "smece", "max-deviation", "skce"])
def test_thirty_certain_rows_are_too_few_for_every_other_error_too(key):
    made = estimate(certain(30), "confidence", key)
    root = made.interval().high ** (0.5 if key == "skce" else 1)
    assert root >= 1 - 0.05 ** (1 / 30) - 1e-6
    assert made.verdict(0.02).word == TOO_FEW


def sharp(weights, n=60):
    """Return a model with claims of .9 that is right half of the time."""
    return Predictions([[0.9, 0.1]] * n, np.arange(n) % 2, weights=weights)


@pytest.mark.parametrize("weight", [1e308, 1e305, 1e155, 1e-300, 1e-320])
@pytest.mark.parametrize("key", ["ece", "rmsce", "debiased-l2", "max-deviation"])
def test_weights_out_of_range_are_refused_or_mean_what_ones_mean(weight, key):
    plain = estimate(sharp(None), "confidence", key)
    try:
        made = estimate(sharp(np.full(60, weight)), "confidence", key)
        numbers = (made.value, made.interval().low, made.interval().high, made.p_value)
        word = made.verdict(0.02).word
    except InputError:
        return
    assert np.isfinite(numbers).all()
    assert numbers[0] == pytest.approx(plain.value, abs=1e-9)
    assert word == plain.verdict(0.02).word


@pytest.mark.parametrize("key", ["ece", "rmsce", "max-deviation"])
@pytest.mark.parametrize("huge", [1e6, 1e12, 1e200, 1e300])
def test_one_row_of_nearly_all_the_weight_is_one_row(huge, key):
    """Right or wrong, it is no evidence about an error of .02. (Whole numbers would be copies of rows.)"""
    for label in (0, 1):
        weights = np.linspace(0.5, 1.5, 60)
        weights[label] = huge
        try:
            made = estimate(sharp(weights), "confidence", key)
            word, span = made.verdict(0.02).word, made.interval()
        except InputError:
            continue
        assert word != "within"
        assert span.high > 0.5, "one row that came true leaves every rate from .05 to 1"


def test_half_right_and_sure_of_it_in_a_hundred_classes_is_not_within_in_any_notion():
    """Class-wise ECE is at most 2 / K: .02 of it is the whole scale."""
    rng = np.random.default_rng(0)
    said = rng.integers(100, size=2000)
    p = np.full((2000, 100), 0.01 / 99)
    p[np.arange(2000), said] = 0.99
    right = rng.random(2000) < 0.53
    predictions = Predictions(p, np.where(right, said, (said + 1) % 100))
    for notion in ("confidence", "top-label", "class-wise"):
        made = estimate(predictions, notion)
        assert made.verdict(0.02).word != "within"
        assert made.verdict(0.02).word == "miscalibrated" or notion == "class-wise"


def test_a_calibrated_model_of_a_hundred_classes_can_be_within_class_wise():
    """The twin: on any scale of class-wise verdicts, enough rows suffice."""
    one = sample("one-hot .999", "calibrated", 4000, 100, 0)
    assert estimate(one.drawn(np.random.default_rng(0)), "class-wise").verdict(0.5).word == "within"


def test_errors_within_bins_are_not_denied():
    """Fifteen cycles in fifteen bins: the true error is .1, that of the bins about 0."""
    rng = np.random.default_rng(0)
    h = rng.random(20_000)
    true = np.clip(h + 0.1 * np.sign(np.sin(2 * np.pi * 15 * h)), 0, 1)
    assert np.abs(true - h).mean() > 0.09
    made = estimate(Predictions.from_confidence(h, rng.random(20_000) < true))
    verdict = made.verdict(0.05)
    assert verdict.word == "within"
    assert "in these bins" in made.interval().about
    assert "in 15 equal-width bins" in verdict.sentence


def test_a_thousand_classes_far_off_read_miscalibrated():
    """Confidence ECE is .37, with next to no top-label power in single cells."""
    one = sample("network", "shift .37", 3000, 1000, 0)
    drawn = one.drawn(np.random.default_rng(0))
    made = estimate(drawn, "confidence")
    assert made.value > 0.34
    assert made.verdict(0.02).word == "miscalibrated"
    assert estimate(drawn, "top-label").verdict(0.02).word == "miscalibrated"


@pytest.mark.parametrize("eps", [math.nan, 0.0, -1.0, math.inf])
def test_tolerances_that_are_none_are_refused(eps):
    with pytest.raises(ValueError, match=r"eps|tolerance"):
        estimate(certain(30, 3)).verdict(eps)


def test_no_claims_have_no_verdict():
    silent = certain(30, k=2)
    silent = silent.with_probs(silent.probs, abstained=np.ones(30, dtype=bool))
    for notion in ("confidence", "top-label", "top-k-label"):
        with pytest.raises(NotAnswerable):
            estimate(silent, notion).verdict(0.02)
    alone = Predictions([[1.0, 0.0]], [0], weights=[1.0])
    assert estimate(alone).verdict(0.02).word == TOO_FEW


def test_a_small_real_error_is_not_called_miscalibrated_for_a_large_tolerance():
    """An error of .02 in 50,000 rows is significant, and within .05."""
    h = np.random.default_rng(0).beta(5, 1.3, 50_000)
    right = np.random.default_rng(1).random(50_000) < np.clip(h - 0.02, 0, 1)
    made = estimate(Predictions.from_confidence(h, right))
    assert made.p_value < 0.01
    assert made.verdict(0.05).word == "within"
    assert made.verdict(0.005).word == "miscalibrated"
    close = made.verdict(made.point)
    assert close.word == "too close to call"


# -- laws over the registries ---------------------------------------------------------------------------------

EDGES = {
    "ten certain rows, all right": certain(10, k=2),
    "ten certain rows, all wrong": certain(0, 10, k=2),
    "ten certain rows, one wrong": certain(9, 1, k=3),
    "one row": Predictions([[0.7, 0.3]], [0]),
    "one certain row": certain(1, k=2),
    "two rows": Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 1]),
    "two rows, one certain and wrong": Predictions([[1.0, 0.0], [0.2, 0.8]], [1, 1]),
    "all rows equal": Predictions([[0.5, 0.3, 0.2]] * 20, [0] * 10 + [1] * 6 + [2] * 4),
    "uniform rows": Predictions([[0.25] * 4] * 8, [0, 0, 1, 1, 2, 2, 3, 3]),
    "certain or even": Predictions([[1.0, 0.0]] * 12 + [[0.5, 0.5]] * 12, [0] * 12 + [0, 1] * 6),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", EDGES)
def test_no_interval_is_a_point_or_leaves_the_range(name):
    predictions = EDGES[name]
    answered = 0
    for notion in (*BINARY, "canonical"):
        for key in ERRORS:
            if key in SMOOTHED and notion != "confidence":
                continue
            made = asked(predictions, notion, key)
            span = None if made is None else interval_of(made)
            if span is None:
                continue
            answered += 1
            where = f"{notion} {key}: {span}"
            assert 0 <= span.low < span.high, where
            assert span.high <= (2 if notion == "canonical" else 1), where
            assert span.low <= span.point <= span.high, where
            assert made.point == span.point
            assert span.about
    assert answered >= 2 * len(ERRORS)


@pytest.mark.parametrize("name", EDGES)
def test_scores_of_few_or_certain_rows_have_intervals_of_some_width(name):
    for key in ("accuracy", "brier", "log-loss"):
        if name == "uniform rows" and key != "accuracy":
            continue  # every outcome costs the same: the expected score is known
        made = estimate(EDGES[name], None, key)
        span = interval_of(made)
        if span is None:
            continue
        assert 0 <= span.low < span.high, (key, span)
        assert span.low - 1e-9 <= made.value <= span.high + 1e-9, (key, span)
        assert key == "log-loss" or span.high <= {"accuracy": 1, "brier": 2}[key]


# Every check covers one of each kind: three classes, ten classes, two classes, confidences only.
SOME = ("wine-logistic", "digits-naive-bayes", "breast-cancer-svm", "language-model")


@pytest.mark.parametrize(
    "key", [pytest.param(one.key, marks=() if one.key in SOME else pytest.mark.wide) for one in DEMOS]
)
def test_the_point_lies_in_its_interval_for_every_estimator_notion_and_calibrator(key):
    content, name = demo(key)
    whole = read_predictions(content, name, rows="all", accepted="models")
    rows = np.random.default_rng(0).permutation(whole.n_rows)[:240]
    fit, test = whole.take(np.sort(rows[:120])), whole.take(np.sort(rows[120:]))
    answered = 0
    for calibrator in ("identity", "temperature", "top-label-hb"):
        try:
            judged = CALIBRATORS.make(calibrator).fit_on(fit).apply(test)
        except NotAnswerable:
            continue
        more = ("class-wise", "top-k-label", "canonical") if calibrator == "identity" else ()
        for notion in ("confidence", "top-label", *more):
            for estimator in ERRORS:
                if estimator in SMOOTHED and (notion != "confidence" or calibrator != "identity"):
                    continue
                made = asked(judged, notion, estimator)
                span = None if made is None else interval_of(made)
                if span is not None:
                    answered += 1
                    assert span.low <= made.point <= span.high, (calibrator, notion, estimator, span)
                    assert span.low < span.high, (calibrator, notion, estimator, span)
    assert answered >= 2 * len(ERRORS)


LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("law", "truth", "n", "k", "notion"),
    [
        ("network", "over-confident", 150, 4, "class-wise"),
        ("network", "calibrated", 150, 4, "top-label"),
        ("60 % at 1", "shift .1", 40, 10, "confidence"),
        ("certain", "shift .0204", 40, 10, "confidence"),
        ("two decimals", "calibrated", 300, 60, "top-label"),
        ("beta 5", "shift .1", 900, 60, "top-label"),
        ("spread rows", "shift .1", 150, 3, "canonical"),
        ("atoms at 0 and 1", "shift .1", 60, 10, "confidence"),
    ],
)
def test_a_higher_level_never_draws_an_end_inwards(law, truth, n, k, notion):
    drawn = sample(law, truth, n, k, 0).drawn(np.random.default_rng(0))
    for key in ERRORS:
        if key in SMOOTHED and notion != "confidence":
            continue
        made = asked(drawn, notion, key)
        spans = [] if made is None else [interval_of(made, level) for level in LEVELS]
        for narrow, wide in pairwise(spans):
            assert wide.low <= narrow.low + 1e-9, (key, narrow, wide)
            assert wide.high >= narrow.high - 1e-9, (key, narrow, wide)


@pytest.mark.parametrize("key", ["ece", "rmsce", "mce"])
def test_bins_that_are_given_win_over_groups(key):
    """Cells of few rows: by default they may be merged into groups with a note; given bins are unchanged."""
    drawn = sample("beta 5", "shift .1", 300, 100, 0).drawn(np.random.default_rng(0))
    given = estimate(drawn, "top-label", key, bins=EqualWidth(15)).interval()
    default = estimate(drawn, "top-label", key)
    assert "groups" not in given.about
    assert default.value == estimate(drawn, "top-label", key, bins=15).value, "grouping never changes the value"
    words = {
        "ece": "groups of rows with similar predictions",
        "rmsce": "groups of at least 20 rows",
        "mce": "groups of at least 20 rows",
    }
    assert words[key] in default.interval().about
