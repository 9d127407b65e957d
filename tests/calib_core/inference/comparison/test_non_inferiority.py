"""Better, not worse, equivalent: the conclusions match the interval, and are wrong as seldom as it misses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paired_truths import binned_truth, drawn
from scipy.stats import norm

import calib_core as cc
from calib_core import InputError, Predictions
from calib_core.inference import margin_verdict, not_worse, paired_difference
from calib_core.inference.comparison.paired_differences import PairedDifference

RUNS = 120


def found(low, high):
    """Return a difference with the p-value of a normal law with this 90 % interval."""
    z = norm.isf(0.05) * abs(low + high) / max(high - low, 1e-300)
    return PairedDifference(0.1, 0.1, low, high, 2 * norm.sf(z), 0.9, "", True, "", (low + high) / 2)


@pytest.mark.parametrize(
    ("low", "high", "word", "says"),
    [
        (-0.03, -0.02, "better", "Significantly better"),
        (-0.03, -0.001, "not worse", "Not worse by 1 point or more"),  # p = 0.08
        (-0.03, 0.009, "not worse", "Not worse by 1 point or more"),
        (-0.009, 0.009, "equivalent", "Equivalent within 1 point"),
        (0.001, 0.009, "worse, within margin", "Significantly worse, but by less than 1 point"),
        (-0.009, -0.001, "better, within margin", "Significantly better, but by less than 1 point"),
        (0.003, 0.02, "worse", "Significantly worse"),
        (0.001, 0.02, "cannot tell", "may be worse by 1 point or more"),  # p = 0.07
        (-0.001, 0.02, "cannot tell", "may be worse by 1 point or more"),
    ],
)
def test_the_words_of_an_interval(low, high, word, says):
    judged = margin_verdict(found(low, high), 0.01, 0.01)
    assert judged.word == word
    assert says in judged.sentence
    assert judged.not_worse == (high < 0.01)


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.001, 0.5))
def test_seen_from_the_other_side_the_words_turn_around(a, b, margin):
    low, high = sorted((a, b))
    mine = margin_verdict(found(low, high), margin, margin).word
    turned = margin_verdict(found(low, high), margin, margin, higher_is_worse=False).word
    assert turned == margin_verdict(found(-high, -low), margin, margin).word
    assert (mine == "equivalent") == (turned == "equivalent"), "equivalence has no direction"
    assert mine.replace("better", "worse") == turned or not mine.startswith("better")


def test_of_accuracy_more_is_better():
    good = Predictions([[0.9, 0.1]] * 300, [0] * 290 + [1] * 10)
    bad = good.with_probs([[0.1, 0.9]] * 150 + [[0.9, 0.1]] * 150)
    assert not_worse(good, bad, None, "accuracy").word == "better"
    assert not_worse(bad, good, None, "accuracy").word == "worse"


def test_squares_are_held_against_the_squared_margin():
    """1 + m is within m of 1, its square is not within m; e_a^2 - e_b^2 < m^2 implies e_a - e_b < m."""
    judged = not_worse(*_alike(), "confidence", "debiased-l2", margin=0.05)
    assert judged.limit == pytest.approx(0.0025)
    a, b = np.random.default_rng(0).random((2, 10_000))
    assert ((a - b < 0.05) | ~(a**2 - b**2 < 0.05**2)).all()


def test_over_all_classes_the_margin_is_that_of_a_verdict():
    a, b = _alike()
    judged = not_worse(a, b, "class-wise", "ece", margin=0.02)
    assert judged.limit == pytest.approx(0.02 * 2 / a.n_classes)
    assert "1.3 points (what a margin of 2 points is here)" in judged.sentence, "in the unit of the difference"


def test_the_table_says_what_the_function_says():
    a, b = _alike()
    line = cc.compare({"a": a, "b": b}, None, "brier", margin=0.03).iloc[0]
    assert line["verdict"] == not_worse(a, b, None, "brier", margin=0.03).word == "equivalent"
    assert cc.compare({"a": a, "b": b}, None, "brier", margin=1e-5).iloc[0]["verdict"] == "cannot tell"


@pytest.mark.parametrize("margin", [0, -1, float("nan"), float("inf"), "x", True])
def test_a_margin_lies_above_nothing(margin):
    with pytest.raises(InputError, match="it must be a number above 0"):
        not_worse(*_alike(), None, "brier", margin=margin)


def _alike(n=600):
    rng = np.random.default_rng(5)
    probs = rng.dirichlet([1, 1, 1], n)
    labels = (rng.random(n)[:, None] > np.cumsum(probs, 1)).sum(1)
    milder = probs**0.97 / (probs**0.97).sum(1, keepdims=True)
    return Predictions(probs, labels), Predictions(milder, labels)


def _claims(law, n, k, rng):
    """Return two models of a distribution, and the true difference of their errors."""
    pair = drawn(law, n, k, rng)
    errors = [binned_truth(p, h, "confidence", "ece") for p, h in zip(pair.models, pair.truths, strict=True)]
    return pair.models, errors[0] - errors[1]


@pytest.mark.wide
@pytest.mark.parametrize("law", ["near one", "rounded"])
def test_not_worse_is_wrong_in_at_most_one_of_twenty(law):
    """The margin is exactly the first model's excess error, where the conclusion is wrong most often."""
    rng, wrong, naive = np.random.default_rng(11), 0, 0
    for _ in range(RUNS):
        (a, b), truth = _claims(law, 400, 5, rng)
        if truth < 0:
            a, b, truth = b, a, -truth
        wrong += not_worse(a, b, margin=truth).not_worse
        naive += paired_difference(a, b, "confidence", "ece").point < truth
    # Binomial .05 of 120 runs: 13 or more in 1 % of seeds.
    assert wrong <= 12
    assert naive > 12, "who looks at the estimate alone is wrong far more often"


def test_enough_rows_show_that_a_model_is_not_worse():
    """Twins of one distribution: with 20,000 rows each is within two points of the other; with 200, rarely."""
    rng = np.random.default_rng(2)

    def shown(n):
        return np.mean([not_worse(*_claims("two networks", n, 5, rng)[0], margin=0.02).not_worse for _ in range(8)])

    assert shown(20_000) >= 0.9
    assert shown(100) <= 0.5
