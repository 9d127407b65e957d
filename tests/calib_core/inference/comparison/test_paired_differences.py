"""Differences of errors on the same rows: against slow twins, at their edges, and coverage of intervals."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from generated import ordinary_rows
from paired_truths import LAWS, shares
from scipy.stats import binomtest, multinomial, norm
from scipy.stats import t as student

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions, RegistryError, compare, estimate
from calib_core.binning import Distinct, EqualWidth, Groups
from calib_core.inference import paired_difference, paired_table
from calib_core.inference.comparison import score_differences
from calib_core.inference.comparison.model_differences import declared_bins
from calib_core.inference.comparison.paired_differences import (
    LADDER,
    SIMULATED,
    PairedDomain,
    Residuals,
    _where,
    absolute_difference,
    outer_difference,
    squared_difference,
)
from calib_core.inference.comparison.score_differences import (
    BOUND,
    accuracy_difference,
    bounded_difference,
    mean_gain,
    of_losses,
)
from calib_core.inference.intervals.elementary import beyond


def pair(n=200, k=3, weights=None, scale=0.6):
    """Return a model and a less confident one on the same rows."""
    probs, labels = ordinary_rows(n, k)
    milder = probs**scale / (probs**scale).sum(1, keepdims=True)
    return Predictions(probs, labels, weights=weights), Predictions(milder, labels, weights=weights)


def residuals(n=40, cells=6, seed=0):
    rng = np.random.default_rng(seed)
    outcome = rng.random(n) < 0.7
    return [
        Residuals(outcome - rng.beta(5, 2, n), np.unique(rng.integers(cells, size=n), return_inverse=True)[1])
        for _ in range(2)
    ]


# -- scores ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["log-loss", "brier"])
def test_scores_are_compared_row_by_row(score):
    a, b = pair(800)
    made, key = paired_difference(a, b, None, score, level=0.9), cc.ESTIMATORS.make(score)
    terms = key.losses(a) - key.losses(b)
    assert (made.first, made.second) == (
        pytest.approx(estimate(a, None, score).value),
        pytest.approx(estimate(b, None, score).value),
    )
    assert made.value == pytest.approx(terms.mean())
    wanted = mean_gain(a, b, terms, key.label_losses, 0.9)
    assert (made.low, made.high, made.p_value) == pytest.approx((wanted.low, wanted.high, wanted.p_value))
    half = terms.std(ddof=1) / np.sqrt(800) * student.ppf(0.95, 799)  # t with 799 degrees of freedom at 0.95
    assert (made.high - made.low) / 2 == pytest.approx(half, rel=0.1)


@pytest.mark.parametrize("score", ["log-loss", "brier"])
def test_very_many_rows_have_the_interval_of_student(score, monkeypatch):
    a, b = pair(800)
    key = cc.ESTIMATORS.make(score)
    terms = key.losses(a) - key.losses(b)
    monkeypatch.setattr(score_differences, "MOST_TILTED", 3 * 800 - 1)
    made = paired_difference(a, b, None, score, level=0.9)
    half = terms.std(ddof=1) / np.sqrt(800) * student.ppf(0.95, 799)
    assert (made.low, made.high) == (pytest.approx(terms.mean() - half), pytest.approx(terms.mean() + half))
    monkeypatch.setattr(score_differences, "MOST_TILTED", 3 * 800)
    assert paired_difference(a, b, None, score, level=0.9).low != pytest.approx(made.low)


def test_the_t_interval_agrees_with_the_bootstrap():
    a, b = pair(n=800)
    key = cc.ESTIMATORS.make("log-loss")
    terms = key.losses(a) - key.losses(b)
    made, _, _ = of_losses(a, b, terms, key.label_losses, 0.9)
    rng = np.random.default_rng(0)
    drawn = np.quantile(terms[rng.integers(800, size=(4000, 800))].mean(1), [0.05, 0.95])
    width = made.high - made.low
    assert (made.low, made.high) == (
        pytest.approx(drawn[0], abs=0.05 * width),
        pytest.approx(drawn[1], abs=0.05 * width),
    )


@pytest.mark.parametrize("n", [10, 30])
def test_each_end_for_accuracies_misses_rarely_summed_over_all_outcomes(n):
    outcomes = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])
    ends = np.array([(m.low, m.high) for m in (accuracy_difference(i, j, n, 0.9) for i, j, _ in outcomes)])
    assert (ends[:, 0] < ends[:, 1]).all(), "no interval has width zero"
    for truth in ((0.001, 0.0), (0.05, 0.0), (0.05, 0.05), (0.2, 0.1), (0.3, 0.3)):
        chance = multinomial.pmf(outcomes, n, [*truth, 1 - sum(truth)])
        delta = truth[0] - truth[1]
        misses = chance[ends[:, 0] > delta + 1e-9].sum(), chance[ends[:, 1] < delta - 1e-9].sum()
        assert max(misses) <= 0.075
        if truth[0] >= 0.05:
            narrow = np.abs(ends.mean(1) - delta) > (ends[:, 1] - ends[:, 0]) / 4
            assert chance[narrow].sum() > 0.075, "half the width would not do"


def test_the_accuracy_interval_excludes_no_difference_exactly_when_the_test_rejects():
    for first, second in ((9, 1), (5, 5), (30, 12), (0, 4)):
        made = accuracy_difference(first, second, 80, 0.9)
        assert (made.low > 0 or made.high < 0) == (made.p_value < 0.1)
        assert made.low <= made.point == (first - second) / 80 <= made.high
    # Compared with the exact test, which is a little more conservative.
    assert accuracy_difference(30, 12, 80, 0.9).p_value == pytest.approx(binomtest(12, 42).pvalue, abs=0.01)


def test_the_same_predicted_classes_have_the_same_accuracy_and_others_may_differ():
    a, b = pair(12)
    made = paired_difference(a, b, None, "accuracy")
    assert (made.low, made.high, made.method) == (0.0, 0.0, "the same predicted classes")
    right = Predictions(np.eye(3)[a.labels] * 0.7 + 0.1, a.labels)
    moved = np.eye(3)[np.where(np.arange(12) == 0, (a.labels + 1) % 3, a.labels)] * 0.7 + 0.1
    made = paired_difference(right, Predictions(moved, a.labels), None, "accuracy")
    assert made.low < 0 < made.high
    assert made.value == pytest.approx(1 / 12)


@pytest.mark.parametrize("score", ["log-loss", "brier"])
@pytest.mark.parametrize("n", [10, 30, 300])
def test_scores_near_one_that_were_all_right_leave_room_for_the_error_not_seen_yet(score, n):
    """Truth .98, claims .999 and .97: with luck no outcome is wrong, and a t interval would have next to no width."""
    key, rng, misses, narrow = cc.ESTIMATORS.make(score), np.random.default_rng(7), [], []
    for _ in range(120):
        labels = (rng.random(n) > 0.98).astype(int)
        sure = np.where(rng.random(n) < 0.5, 0.999, 0.998)
        models = [Predictions(np.column_stack([s, 1 - s]), labels) for s in (sure, np.full(n, 0.97))]
        made = paired_difference(*models, None, score)
        lost = [[key.losses(m.relabelled(np.full(n, j))) for m in models] for j in (0, 1)]
        truth = float(np.mean(0.98 * (lost[0][0] - lost[0][1]) + 0.02 * (lost[1][0] - lost[1][1])))
        misses.append((made.low > truth, made.high < truth))
        apart = key.losses(models[0]) - key.losses(models[1])
        narrow.append(abs(apart.mean() - truth) > 1.7 * apart.std(ddof=1) / np.sqrt(n))
    assert np.max(np.mean(misses, axis=0)) <= 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 120)
    if n < 300:
        assert np.mean(narrow) > 0.4, "Student's interval misses here"


def test_bounds_from_the_largest_change_have_the_p_value_that_goes_with_them():
    labels = np.zeros(30, int)
    a, b = (Predictions(np.tile([s, 1 - s], (30, 1)), labels) for s in (0.999, 0.9))
    key = cc.ESTIMATORS.make("log-loss")
    made, method, _ = of_losses(a, b, key.losses(a) - key.losses(b), key.label_losses, 0.9)
    assert method == BOUND
    assert made.low < made.point < 0 < made.high
    one = bounded_difference(0.05, 0.4, 2.0, 100, 0.9)
    at = bounded_difference(0.05, 0.4, 2.0, 100, 1 - one.p_value)
    assert 0 < one.p_value < 0.1
    assert one.low > 0
    assert at.low == pytest.approx(0, abs=1e-9)


# -- squared errors -------------------------------------------------------------------------------------------


def test_the_squared_difference_is_that_of_sums_over_pairs():
    a, b = residuals()
    made = squared_difference(a, b, 0.9)
    n, square, share, weight = 40, [], [], []
    for m in (a, b):
        w = np.zeros((n, n))
        judged = sum(1 for i in range(n) if (m.cell == m.cell[i]).sum() > 1)
        for i, j in permutations(range(n), 2):
            if m.cell[i] == m.cell[j]:
                w[i, j] = m.values[i] * m.values[j] / ((m.cell == m.cell[i]).sum() - 1) / judged
        square.append(w.sum())
        share.append(2 * w.sum(1))
        weight.append(w)
    apart = square[0] - square[1]
    pairs = ((weight[0] - weight[1]) ** 2).sum()
    rows = ((share[0] - share[1]) ** 2).sum()
    spread = np.sqrt(max(0, rows - 4 * pairs - 4 * apart**2 / n) + 2 * pairs)
    z = norm.isf(0.05)
    assert (made.point, made.low, made.high) == pytest.approx((apart, apart - z * spread, apart + z * spread))
    assert made.p_value == pytest.approx(2 * norm.sf(abs(apart) / spread))


def test_the_debiased_square_and_the_products_of_pairs_are_nearly_the_same():
    a, b = pair(1000)
    made = paired_difference(a, b, "confidence", "debiased-l2", 10)
    values = [estimate(p, "confidence", "debiased-l2", 10).value for p in (a, b)]
    assert (made.first, made.second) == pytest.approx(values)
    assert made.point == pytest.approx(made.value, abs=5e-4)
    assert made.low <= made.point <= made.high


def test_pairing_pays_where_models_resemble_each_other():
    a, b = pair(1000, scale=0.97)
    made = paired_difference(a, b, "confidence", "debiased-l2", 10)
    ends = [estimate(p, "confidence", "debiased-l2", 10).interval() for p in (a, b)]
    assert made.high - made.low < 0.5 * (ends[0].high - ends[1].low - (ends[0].low - ends[1].high))


# -- absolute errors ------------------------------------------------------------------------------------------


def test_the_absolute_difference_is_that_of_loops_over_folds():
    a, b = residuals(60)
    made = absolute_difference(a, b, 0.9, 3)
    # The folds are internal to the method, which reports here those that it used.
    fold = _dealt(a, b, 3)
    n, z = 60, norm.isf(0.05)

    def aligned(one, other):
        e = []
        for i in range(n):
            rest = sum(one.values[j] for j in range(n) if one.cell[j] == one.cell[i] and fold[j] != fold[i])
            every = sum(other.values[j] for j in range(n) if other.cell[j] == other.cell[i])
            e.append(np.sign(rest) * one.values[i] - np.sign(every) * other.values[i])
        return np.mean(e), np.std(e, ddof=1) / np.sqrt(n)

    (lower, error), (upper, also) = aligned(a, b), aligned(b, a)
    assert (made.low, made.high) == pytest.approx((lower - z * error, -upper + z * also))
    assert made.point == pytest.approx((lower - upper) / 2)
    assert made.low <= made.point <= made.high
    assert made.p_value == pytest.approx(min(1, 2 * min(norm.sf(lower / error), norm.sf(upper / also))))


def _dealt(a, b, random_state):
    import zlib

    def steps(one):
        return np.array([round(value * 2**32) for value in one.values]).view(np.uint64)

    if np.sort(steps(a)).tobytes() > np.sort(steps(b)).tobytes():
        a, b = b, a
    order = np.lexsort((b.values, a.values, steps(b), steps(a), b.cell, a.cell))
    seed = zlib.crc32(np.stack([steps(a)[order], steps(b)[order]]).tobytes())
    fold = np.empty(len(order), int)
    fold[order] = np.random.default_rng([random_state, seed]).permutation(len(order)) % 5
    return fold


def test_the_last_bit_of_a_number_does_not_change_the_deal_into_folds():
    a, b = residuals(60)
    nearly = replace(a, values=a.values * (1 + np.spacing(1.0) * np.resize([1, -1, 0], len(a.values))))
    assert (nearly.values != a.values).any()
    one, other = (absolute_difference(first, b, 0.9, 3) for first in (a, nearly))
    assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=1e-12)


@pytest.mark.parametrize("key", ["debiased-l2", "ece", "debiased-ece"])
@pytest.mark.parametrize("notion", ["confidence", "top-label"])
def test_neither_the_order_of_rows_nor_that_of_models_has_a_say(notion, key):
    a, b = pair(300)
    names = a.class_names
    rounded = Predictions.from_confidence(
        np.round(b.confidence, 1), predicted=b.predicted, labels=a.labels, class_names=names
    )
    for other in (b, rounded):
        made = paired_difference(a, other, notion, key)
        order = np.random.default_rng(5).permutation(300)
        again = paired_difference(a.take(order), other.take(order), notion, key)
        assert (again.point, again.low, again.high, again.p_value) == pytest.approx(
            (made.point, made.low, made.high, made.p_value), abs=1e-12
        )
        turned = paired_difference(other, a, notion, key)
        assert (turned.point, turned.low, turned.high) == pytest.approx((-made.point, -made.high, -made.low), abs=1e-12)
        assert turned.p_value == pytest.approx(made.p_value)


# -- few outcomes, few rows, equal claims ---------------------------------------------------------------------


def test_excess_is_the_exact_upper_limit_of_a_count():
    from scipy.stats import poisson

    for count in (0, 1, 7, 40):
        assert poisson.cdf(count, count + beyond(count, 0.05)) == pytest.approx(0.05)


@pytest.mark.parametrize("key", ["debiased-l2", "ece"])
def test_a_model_that_was_always_right_is_not_proven_so(key):
    n = 30
    sure = Predictions.from_confidence(np.ones(n), np.ones(n, bool))
    nearly = Predictions.from_confidence(np.full(n, 0.99), np.ones(n, bool))
    made = paired_difference(sure, nearly, "confidence", key)
    # Thirty of thirty right leaves an error rate of 1 - .05^(1/30) possible, at 5 %.
    most = 1 - 0.05 ** (1 / n)
    assert made.high >= (most if key == "ece" else most**2)
    assert made.low <= (0.01 - most if key == "ece" else 0.01**2 - most**2)
    assert made.p_value == 1
    # In the bins of one model there is no interval of each model's own.
    shared = paired_difference(sure, nearly, "confidence", key, 1, bins_of="first")
    bounds = outer_difference(
        *(Residuals(p.correct - p.confidence, np.zeros(n, int)) for p in (sure, nearly)), 0.0, 0.9
    )
    assert (shared.low, shared.high, shared.p_value) == (bounds.low, bounds.high, 1)
    assert shared.low <= -(0.01 + beyond(n * 0.01**2, 0.05) / n) + 1e-12
    assert not shared.tested


def test_an_error_of_many_rows_that_goes_is_shown_where_few_outcomes_are_left():
    """After recalibration nearly all rows are confident and right: too few errors for a normal law, yet a gain."""
    right = np.arange(200) % 40 > 0
    before = Predictions.from_confidence(np.full(200, 0.8), right)
    after = Predictions.from_confidence(np.full(200, 0.975), right)
    gain = paired_difference(before, after, "confidence", "ece")
    assert gain.low > 0.1
    assert gain.p_value <= 0.001
    worse = paired_difference(after, before, "confidence", "ece")
    assert (worse.low, worse.high) == (-gain.high, -gain.low)


@pytest.mark.parametrize("notion", [None, "confidence", "top-label", "class-wise", "canonical"])
def test_a_model_does_not_differ_from_itself_and_only_then_the_interval_is_a_point(notion):
    a, b = pair()
    bins = "sierpinski" if notion == "canonical" else None
    for key in ("brier", "accuracy") if notion is None else ("debiased-l2", "rmsce"):
        made = paired_difference(a, a, notion, key, bins)
        assert (made.value, made.low, made.high, made.p_value) == (0, 0, 0, 1)
        if key != "accuracy":
            other = paired_difference(a, b, notion, key, bins)
            assert other.low < other.high


@pytest.mark.parametrize("notion", [None, "confidence", "top-label", "class-wise", "canonical"])
def test_a_model_that_is_as_sure_of_other_classes_differs(notion):
    """Its confidences are the same in every row, and its outcomes are not."""
    a, _ = pair()
    b = a.with_probs(np.roll(a.probs, 1, axis=1))
    assert (a.confidence == b.confidence).all()
    bins = "sierpinski" if notion == "canonical" else None
    for key in ("brier", "accuracy", "log-loss") if notion is None else ("debiased-l2", "ece", "rmsce"):
        found = paired_difference(a, b, notion, key, bins)
        assert found.value != 0
        assert found.low < found.high
    if notion in ("confidence", "top-label"):
        for key in ("brier", "accuracy"):
            assert paired_difference(a, b, notion, key).p_value < 0.05


def test_ten_rows_get_bounds_and_rows_alone_in_their_bins_no_answer():
    a, b = pair(10)
    made = paired_difference(a, b, "confidence", "ece", 2)
    assert made.low <= made.point <= made.high
    assert made.method.startswith("extremes of both models' own intervals")
    with pytest.raises(NotAnswerable, match="every bin has only one row"):
        paired_difference(a, b, "confidence", "debiased-l2", cc.binning.Distinct())


# -- bins -----------------------------------------------------------------------------------------------------


def test_claims_by_class_are_judged_in_groups_and_it_is_said_so():
    a, b = pair(400, 5)
    made = paired_difference(a, b, "top-label")
    assert "groups of at least 20 rows with similar predictions; errors that cancel within such a group" in made.about
    assert made == paired_difference(a, b, "top-label", "debiased-l2", Groups(20))
    assert "groups of at least 50 rows" in paired_difference(a, b, "top-label", "ece").about
    fine = paired_difference(a, b, "top-label", "debiased-l2", 100)
    assert "without another in their bin" in fine.about
    assert not fine.tested


@pytest.mark.parametrize("key", ["debiased-l2", "ece", "debiased-ece"])
def test_a_discrete_model_is_compared_in_its_own_bins(key):
    """P1 App. F: the base model's rows are put in the bins of the recalibrated one, row by row."""
    a, b = pair(500)
    discrete = b.with_probs(np.full((500, 3), 1 / 3) + np.outer(np.arange(500) % 4, [0.02, -0.01, -0.01]))
    claims = [Predictions.from_confidence(p.confidence, a.correct) for p in (a, discrete)]
    bins = cc.binning.Distinct()
    made = paired_difference(*claims, "confidence", key, bins, bins_of="second")
    assert "in 4 bins, one per value, those of the second model" in made.about
    # By hand: the same bins are given by scores that number them.
    at = np.unique(claims[1].confidence, return_inverse=True)[1]
    gap = np.bincount(at, a.correct - claims[0].confidence) / np.bincount(at)
    if key == "ece":
        assert made.first == pytest.approx((np.bincount(at) * np.abs(gap)).sum() / 500)
    assert made.second == pytest.approx(estimate(claims[1], "confidence", key, bins).value)
    turned = paired_difference(*claims[::-1], "confidence", key, bins, bins_of="first")
    assert (turned.first, turned.second) == pytest.approx((made.second, made.first))
    assert (turned.low, turned.high) == pytest.approx((-made.high, -made.low))
    with pytest.raises(NotAnswerable, match="one model's bins can be used for both only"):
        paired_difference(*claims, "confidence", "rmsce", bins, bins_of="second")
    wrong = Predictions.from_confidence(a.confidence, ~a.correct)
    with pytest.raises(NotAnswerable, match="predict different classes"):
        paired_difference(claims[0], wrong, "confidence", key, bins, bins_of="second")


# -- other parts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["ece", "debiased-ece", "debiased-l2"])
@pytest.mark.parametrize("notion", ["confidence", "top-label"])
def test_without_bins_both_models_are_judged_in_those_of_the_discrete_one(notion, key):
    before, _ = pair(600)
    rounded = np.round(before.probs * 4) / 4 + 1e-3
    rounded[np.arange(600), before.predicted] += 0.01  # the predicted class stays, so the claims are about the same
    after = Predictions(rounded / rounded.sum(axis=1, keepdims=True), before.labels).as_discrete()
    assert np.array_equal(after.predicted, before.predicted)
    asked = (notion, key)
    made = paired_difference(before, after, *asked)
    assert made == paired_difference(before, after, *asked, "distinct", bins_of="second")
    assert "one per value, those of the second model" in made.about
    turned = paired_difference(after, before, *asked)
    assert "those of the first model" in turned.about
    assert turned.point == pytest.approx(-made.point, abs=1e-12)
    assert made.second == pytest.approx(estimate(after, *asked).value, abs=1e-12)
    # A model that only looks discrete, bins that are given, and an estimator with bins of its own: nothing is shared.
    assert "value" not in paired_difference(before, after.as_discrete(False), *asked).about
    assert paired_difference(before, after, *asked, 15) == paired_difference(
        before, after.as_discrete(False), *asked, 15
    )
    assert declared_bins(before, after, *asked) == (Distinct(), "second")
    assert declared_bins(after, after, *asked) == (Distinct(), "each")
    assert declared_bins(before, after, notion, "ece-adaptive") == (None, "each")
    assert declared_bins(before, after, "class-wise", key) == (None, "each")
    other = after.with_probs(np.roll(after.probs, 1, axis=1)).as_discrete()
    if notion == "top-label":
        assert declared_bins(before, other, *asked) == (None, "each")


@pytest.mark.parametrize(("notion", "key"), [("confidence", "rmsce"), ("confidence", "mce"), ("class-wise", "ece")])
def test_other_errors_lie_between_the_models_own_intervals(notion, key):
    a, b = pair()
    made = paired_difference(a, b, notion, key, 10, level=0.9)
    one, other = (estimate(p, notion, key, 10).interval(0.95) for p in (a, b))
    assert (made.low, made.high) == (one.low - other.high, one.high - other.low)
    assert made.low <= made.point <= made.high
    assert "conservative" in made.method
    parted = [alpha for alpha in LADDER if _parted(a, b, notion, key, 1 - alpha / 2)]
    assert made.p_value == min(parted, default=1.0)


def _parted(a, b, notion, key, level):
    one, other = (estimate(p, notion, key, 10).interval(level) for p in (a, b))
    return one.low > other.high or other.low > one.high


def test_estimators_of_rows_and_weights_go_by_the_models_own_intervals_too():
    a, b = pair(80)
    made = paired_difference(a, b, "confidence", "max-deviation")
    one, other = (estimate(p, "confidence", "max-deviation").interval(0.95) for p in (a, b))
    assert (made.low, made.high) == (one.low - other.high, one.high - other.low)
    weighed = paired_difference(*pair(80, weights=np.linspace(0.5, 1.5, 80)), "confidence", "debiased-l2")
    assert "conservative" in weighed.method
    assert not weighed.tested
    whole = np.arange(80) % 3
    copied = [p.take(np.repeat(np.arange(80), whole)) for p in pair(80)]
    for key in ("debiased-l2", "ece"):
        assert paired_difference(*pair(80, weights=whole), "confidence", key) == paired_difference(
            *copied, "confidence", key
        )


def test_whole_vectors_are_compared_by_their_own_intervals():
    a, b = pair(120)
    made = paired_difference(a, b, "canonical", "debiased-l2", "sierpinski")
    values = [estimate(p, "canonical", "debiased-l2", "sierpinski").value for p in (a, b)]
    assert made.value == pytest.approx(values[0] - values[1])


# -- coverage -------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("law", "k", "n"), [("two networks", 5, 400), ("rounded", 20, 600), ("near one", 5, 800)])
def test_intervals_hold_the_true_difference_and_half_as_wide_ones_do_not(law, k, n):
    questions = [("confidence", "debiased-l2"), ("top-label", "debiased-l2"), ("confidence", "ece")]
    found = shares(law, questions, n, k, runs=120, seed=8)
    assert (found[:, :2] <= 0.06 + 3.5 * np.sqrt(0.06 * 0.94 / 120)).all()
    assert (found[:2, 2] >= 0.15).all(), "half the width would do: the test could not fail"


def test_errors_alike_are_rarely_told_apart():
    found = shares("both calibrated", [("confidence", "debiased-l2"), ("confidence", "ece")], 500, 5, runs=150, seed=2)
    assert (found[:, 3] <= 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 150)).all()


def test_what_is_called_tested_was_simulated():
    table = paired_table()
    assert set(table["law"]) == set(LAWS)
    least = SIMULATED
    assert set(table["notion"]) == set(least.notions)
    for part, column in ((least.classes, "classes"), (least.rows, "rows"), (least.level, "level")):
        assert part[1] <= table[column].max()
        assert part[0] >= table[column].min() or column == "classes"
    assert PairedDomain(("confidence",), (1, 5), (10, 20), 2.0, 0.5, (0.9, 0.9)).covers(
        "confidence", 5, 20, 2.0, 0.5, 0.9
    )
    a, b = pair(400)
    assert paired_difference(a, b, level=0.9).tested
    for other in (
        paired_difference(a, b, level=0.99),
        paired_difference(*pair(100)),
        paired_difference(a, b, "confidence", "debiased-l2", 60),
    ):
        assert not other.tested
        assert "a rough guide" in other.sentence


# -- every pair -----------------------------------------------------------------------------------------------


def test_every_pair_is_compared_and_corrected():
    a, b = pair(300)
    c = a.with_probs(np.full((300, 3), 1 / 3))
    table = compare({"sharp": a, "mild": b, "flat": c}, None, "log-loss")
    assert table[["first", "second"]].to_numpy().tolist() == [["sharp", "mild"], ["sharp", "flat"], ["mild", "flat"]]
    assert table["p_holm"].tolist() == cc.inference.holm(table["p"]).tolist()
    assert table["difference"].tolist() == pytest.approx((table["first_value"] - table["second_value"]).tolist())
    one = paired_difference(a, b, None, "log-loss")
    assert table.loc[0, ["low", "high", "p", "about"]].tolist() == [one.low, one.high, one.p_value, one.about]
    for key in ("debiased-l2", "ece", "rmsce"):
        lines = compare({"sharp": a, "mild": b, "flat": c}, "confidence", key)
        assert ((lines["low"] <= lines["difference"]) & (lines["difference"] <= lines["high"])).all()


def test_other_rows_are_refused_in_a_sentence():
    a, b = pair(10)
    other = b.relabelled(np.where(np.arange(10) == 4, (b.labels + 1) % 3, b.labels))
    with pytest.raises(InputError, match=r"row 4 has the label '\d' in one file and '\d' in the other"):
        paired_difference(a, other)
    with pytest.raises(InputError, match="one file has 10 rows and the other 9"):
        paired_difference(a, b.take(np.arange(9)))
    heavy = Predictions(b.probs, b.labels, weights=np.where(np.arange(10) == 7, 2, 1))
    with pytest.raises(InputError, match="row 7 has weight 1 in one model and 2 in the other"):
        paired_difference(a, heavy)
    silent = b.with_probs(b.probs, abstained=np.arange(10) == 3)
    with pytest.raises(NotAnswerable, match="row 3 is answered by only one of the models"):
        paired_difference(a, silent)


def test_questions_that_make_no_sense():
    a, b = pair(10)
    with pytest.raises(RegistryError, match="this estimator needs a notion"):
        paired_difference(a, b, None, "ece")
    with pytest.raises(InputError, match="level is 1"):
        paired_difference(a, b, level=1)
    with pytest.raises(InputError, match=r"only one model.*needs two"):
        compare({"one": a})


def test_abstaining_rows_count_for_neither():
    a, b = pair(60)
    declined = np.arange(60) % 5 == 0
    said = [p.with_probs(p.probs, abstained=declined) for p in (a, b)]
    left = [p.take(np.flatnonzero(~declined)) for p in (a, b)]
    for notion, key, bins in (("confidence", "debiased-l2", EqualWidth(5)), (None, "accuracy", None)):
        assert paired_difference(*said, notion, key, bins) == paired_difference(*left, notion, key, bins)


@pytest.mark.parametrize(
    ("alone", "words"), [(0, ""), (1, "; 1 row without another in its bin is left out"), (2, "2 rows without another")]
)
def test_one_row_alone_is_one_row(alone, words):
    text = _where(EqualWidth(10), "first", (10, 10), alone)
    assert words in text
    assert ("without another" in text) == bool(alone)
