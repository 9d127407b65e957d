"""Monotone boosting: the steps are those of scikit-learn's model at every score, and nothing else is kept of it."""

import json

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier

from calib_core import BINARY_CALIBRATORS, CALIBRATORS, load_calibrator
from calib_core.calibrators import MonotoneBoosting


def claims(n=600, seed=0, bend=0.5):
    """Return overconfident scores with a bend in their log-odds, and outcomes."""
    rng = np.random.default_rng(seed)
    x = 2 * rng.standard_normal(n)
    return expit(x), rng.random(n) < expit(x / 2 + bend * np.sin(2 * x))


def model(scores, outcomes, weights=None, trees=50, leaf_rows=20, seed=0):
    order = np.lexsort((outcomes, scores))
    return HistGradientBoostingClassifier(
        learning_rate=0.1, max_iter=trees, max_leaf_nodes=8, min_samples_leaf=leaf_rows, monotonic_cst=[1],
        early_stopping=False, random_state=seed,
    ).fit(scores[order, None], outcomes[order], sample_weight=None if weights is None else weights[order])  # fmt: skip


def everywhere(thresholds):
    """Return a grid, every threshold, and the doubles before and after it."""
    return np.concatenate(
        [np.linspace(0, 1, 2001), thresholds, np.nextafter(thresholds, -1), np.nextafter(thresholds, 2)]
    )


@pytest.mark.parametrize("n", [45, 600])
@pytest.mark.parametrize(("trees", "leaf_rows"), [(50, 20), (7, 5)])
@pytest.mark.parametrize("digits", [1, 16])
def test_it_is_the_model_of_scikit_learn_at_every_score_bit_for_bit(n, trees, leaf_rows, digits):
    s, z = claims(n)
    s = s.round(digits)
    cal = MonotoneBoosting(trees=trees, leaf_rows=leaf_rows).fit(s, z)
    at = everywhere(cal.thresholds_)
    np.testing.assert_array_equal(
        cal.transform(at), model(s, z, None, trees, leaf_rows).predict_proba(at[:, None])[:, 1]
    )
    assert len(cal.thresholds_) > 1
    assert (np.diff(cal.values_) > 0).all()


def test_single_precision_scores_stay_on_their_side_of_a_threshold():
    s, z = claims(3000)
    s = s.astype(np.float32).astype(np.float16).astype(np.float32)  # many ties, so quantiles are scores
    cal = MonotoneBoosting(leaf_rows=5).fit(s, z)
    twin = model(s.astype(float), z, leaf_rows=5)
    np.testing.assert_array_equal(cal.transform(s), twin.predict_proba(s[:, None].astype(float))[:, 1])
    assert (cal.thresholds_ == cal.thresholds_.astype(np.float32)).all()


def test_one_tree_by_hand():
    """Two scores: the split takes a tenth of a Newton step from the common log-odds, (z - p) / (p (1 - p))."""
    s, z = np.repeat([0.2, 0.8], 50), np.r_[np.arange(50) < 10, np.arange(50) < 30]
    cal = MonotoneBoosting(trees=1).fit(s, z)
    start, away = np.log(0.4 / 0.6), 0.2 / (0.4 * 0.6)
    np.testing.assert_allclose(cal.values_, expit(start + 0.1 * np.array([-away, away])), atol=1e-7)
    np.testing.assert_allclose(cal.thresholds_, [0.5], atol=1e-15)


def test_it_never_decreases_where_the_free_model_does():
    rng = np.random.default_rng(3)
    s = rng.random(500)
    z = rng.random(500) < np.where(s < 0.5, 0.8, 0.3)
    values = MonotoneBoosting().fit(s, z).transform(np.linspace(0, 1, 500))
    assert (np.diff(values) >= 0).all()
    free = HistGradientBoostingClassifier(max_leaf_nodes=8, early_stopping=False).fit(s[:, None], z)
    assert (np.diff(free.predict_proba(np.linspace(0, 1, 500)[:, None])[:, 1]) < 0).any()


def test_weights_that_are_no_copies_go_to_the_trees_at_any_scale():
    s, z = claims(300)
    w = np.random.default_rng(5).random(300) + 0.1
    first, second = (MonotoneBoosting().fit(s, z, sample_weight=c * w) for c in (1.0, 7.0))
    np.testing.assert_allclose(first.transform(s), second.transform(s), atol=1e-6)
    assert np.abs(first.transform(s) - MonotoneBoosting().fit(s, z).transform(s)).max() > 1e-3


def test_without_two_leaves_or_with_one_outcome_it_is_a_number_and_says_so():
    few = MonotoneBoosting().fit(np.linspace(0, 1, 39), np.arange(39) < 13)
    np.testing.assert_allclose(few.transform([0.0, 1.0]), 1 / 3)
    assert "too few rows" in few.note
    one = MonotoneBoosting().fit(np.linspace(0, 1, 99), np.ones(99, bool))
    np.testing.assert_allclose(one.transform([0.0, 1.0]), 99.5 / 100)
    assert "all outcomes are equal" in one.note
    assert MonotoneBoosting().fit(*claims(50)).note == ""


def loss(q, z):
    return -np.log(np.where(z, q, 1 - q)).mean()


def test_it_beats_a_straight_line_where_log_odds_bend_and_isotonic_regression_with_few_rows():
    new, truth = claims(4000, seed=9)

    def losses(n, *keys):
        fits = {key: BINARY_CALIBRATORS.make(key).fit(*claims(n)) for key in keys}
        return [loss(np.clip(fit.transform(new), 1e-9, 1 - 1e-9), truth) for fit in fits.values()]

    boosted, straight = losses(3000, "boosting", "platt")
    assert boosted < straight - 0.005
    boosted, staircase = losses(400, "boosting", "isotonic")
    assert boosted < staircase - 0.01
    line = loss(MonotoneBoosting().fit(*claims(3000, bend=0.0)).transform(new), truth)
    assert line > straight - 0.002, "a falsified twin: fitted where there is no bend, it gains nothing over a line"


def test_one_vs_rest_is_saved_as_numbers_alone():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), 300)
    cal = CALIBRATORS.make("boosting-ovr", trees=10).fit(p, (rng.random(300)[:, None] > p.cumsum(1)[:, :-1]).sum(1))
    again = load_calibrator(cal.to_json())
    np.testing.assert_array_equal(again.predict_proba(p), cal.predict_proba(p))
    states = [each["calibrator"]["state"] for each in json.loads(cal.to_json())["state"]["maps_"]]
    assert [sorted(state) for state in states] == [["status_", "thresholds_", "values_"]] * 3
