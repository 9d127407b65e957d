"""Tests of every class: exact p-values against enumeration, their level, and the correction for their number."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from null_rates import gumbel_labels, spread_rows

from calib_core import InputError, NotAnswerable, Predictions, estimate, findings
from calib_core.inference import benjamini_hochberg, holm, per_class_tests
from calib_core.inference.significance.count_tests import SMALLEST, kinds_of_places, predicted_classes


def enumerated(scores, bins, outcomes):
    """Return P(T* >= T + d) and P(T* >= T - d), d = 0.05 rows, and the mean of T*, over all 2^n outcomes."""
    cells = np.minimum((scores * bins).astype(int), bins - 1)

    def statistic(z):
        return np.abs(np.bincount(cells, z - scores, bins)).sum()

    every = [np.array(z, dtype=float) for z in itertools.product((0, 1), repeat=len(scores))]
    chance = np.array([np.prod(np.where(z == 1, scores, 1 - scores)) for z in every])
    values = np.array([statistic(z) for z in every])
    shown = statistic(outcomes)
    return chance[values >= shown + 0.05].sum(), chance[values >= shown - 0.05].sum(), chance @ values / len(scores)


@pytest.mark.parametrize("seed", range(4))
def test_p_and_floor_are_those_of_all_outcomes(seed):
    # Scores equal within their slice: what is left is the grid, five bins of at most half a step of 0.006 each.
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.06, 0.19, 0.31, 0.44, 0.62, 0.9, 0.97], size=11)
    right = rng.random(11) < 0.5
    found = per_class_tests(Predictions.from_confidence(scores, right), "confidence", 5).iloc[0]
    least, most, floor = enumerated(scores, 5, right.astype(float))
    assert least - 1e-12 <= found["p"] <= most + 1e-12
    assert most - least < 0.05
    assert found["calibrated"] == pytest.approx(floor, abs=1e-12)


@pytest.mark.parametrize("notion", ["class-wise", "top-label"])
@pytest.mark.parametrize("bins", [15, "equal-mass"])
def test_errors_and_rows_are_those_of_the_ece(notion, bins):
    rng = np.random.default_rng(3)
    p = spread_rows(400, 5, rng)
    predictions = Predictions(p, gumbel_labels(p, rng), class_names=list("abcde"))
    found, ece = per_class_tests(predictions, notion, bins), estimate(predictions, notion, "ece", bins)
    assert found["class"].tolist() == list("abcde")
    assert found["error"].to_numpy() == pytest.approx(ece.per_stratum, abs=1e-12)
    rows = [400] * 5 if notion == "class-wise" else np.bincount(p.argmax(1)).tolist()
    assert found["rows"].tolist() == rows


@pytest.mark.wide
def test_calibrated_classes_are_rejected_at_the_level():
    # 500 tests: 5 % +- 4 standard errors of 1 %; the classes of one data set hardly depend on each other.
    rng, below, any_false = np.random.default_rng(7), [], 0
    for _ in range(25):
        p = spread_rows(400, 20, rng)
        found = per_class_tests(Predictions(p, gumbel_labels(p, rng)), "class-wise", 15)
        below.append(found["p"].to_numpy() <= 0.05)
        any_false += bool((found["p_holm"] <= 0.05).any())
    assert 0.011 < np.mean(below) < 0.089
    assert any_false <= 6  # 1.25 expected, more than 6 in one of 3,000 such tests


def test_one_bad_class_among_a_hundred_is_found():
    rng = np.random.default_rng(1)
    p = spread_rows(3000, 100, rng)
    labels = gumbel_labels(p, rng)
    labels[(labels == 17) & (rng.random(3000) < 0.8)] = 18
    found = per_class_tests(Predictions(p, labels), "class-wise", 15)
    assert set(found.index[found["p_holm"] <= 0.01]) == {17, 18}
    assert (found["p"] >= SMALLEST).all()


def test_a_class_that_is_never_predicted_has_no_test():
    found = per_class_tests(Predictions([[0.6, 0.4, 0.0]] * 5, [0, 0, 1, 1, 2]), "top-label", 10)
    assert found["rows"].tolist() == [5, 0, 0]
    assert found["p_holm"].isna().tolist() == [False, True, True]
    assert found["p_holm"][0] == found["p"][0]


def test_whole_weights_are_copies_and_others_are_refused():
    twice = Predictions([[0.7, 0.3], [0.2, 0.8]], [1, 1], weights=[2, 1])
    copied = Predictions([[0.7, 0.3], [0.7, 0.3], [0.2, 0.8]], [1, 1, 1])
    assert per_class_tests(twice).equals(per_class_tests(copied))
    with pytest.raises(NotAnswerable, match="per-class tests count rows"):
        per_class_tests(Predictions([[0.7, 0.3]] * 2, [1, 0], weights=[0.5, 1.5]))


def test_whole_vectors_are_no_claims_about_a_class():
    with pytest.raises(NotAnswerable, match="canonical"):
        per_class_tests(Predictions([[0.7, 0.3]], [1]), "canonical")


def test_certain_claims():
    sure = Predictions([[1.0, 0.0]] * 3, [0, 0, 0])
    assert per_class_tests(sure)[["error", "p"]].to_numpy().tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert per_class_tests(sure.relabelled([0, 0, 1]))["p"].tolist() == [SMALLEST, SMALLEST]


def test_holm_by_hand():
    # 4 * 0.005; 3 * 0.01; max of that and 2 * 0.03; max(0.06, 0.04)
    assert holm([0.04, 0.005, 0.03, 0.01]) == pytest.approx([0.06, 0.02, 0.06, 0.03])
    assert holm([]).tolist() == []
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]


def test_benjamini_hochberg_by_hand():
    # 4 * 0.005 / 1; 4 * 0.01 / 2; 4 * 0.03 / 3; 4 * 0.04 / 4, each at most the next
    assert benjamini_hochberg([0.04, 0.005, 0.03, 0.01]) == pytest.approx([0.04, 0.02, 0.04, 0.02])
    assert benjamini_hochberg([]).tolist() == []
    assert benjamini_hochberg([np.nan, 0.9, 0.8]).tolist()[1:] == [0.9, 0.9]


@given(st.lists(st.floats(0, 1) | st.just(np.nan), max_size=20))
def test_corrected_for_their_share_is_never_larger_than_corrected_for_any(p):
    shares, any_at_all = benjamini_hochberg(p), holm(p)
    np.testing.assert_array_equal(np.isnan(shares), np.isnan(p))
    known = ~np.isnan(shares)
    assert (shares[known] <= any_at_all[known] + 1e-15).all()
    assert (shares[known] >= np.asarray(p)[known] - 1e-15).all()


@pytest.mark.parametrize("wrong", [[0.5, 1.2], [-0.1], [[0.5]]])
def test_holm_refuses_what_is_no_p_value(wrong):
    with pytest.raises(InputError, match="p must be a list of numbers from 0 to 1"):
        holm(wrong)


def test_classes_of_rows_in_groups_share_the_5_percent_with_the_other_kinds_of_places():
    """As for independent rows: Holm's rule among the classes, times the kinds of places."""
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(600, 3))
    label = (logits + rng.gumbel(size=(600, 3))).argmax(axis=1)
    sharp = np.exp(3 * logits)
    p = Predictions(sharp / sharp.sum(axis=1, keepdims=True), label)
    for rows in (p, p.replace(groups=np.arange(600) // 2)):
        found = predicted_classes(rows)
        raw = found["p"].to_numpy()
        order = np.argsort(raw)
        corrected = np.empty(3)
        corrected[order] = np.maximum.accumulate(raw[order] * (3, 2, 1))
        kinds = kinds_of_places(rows)
        assert kinds > 1
        np.testing.assert_allclose(found["p_holm"], np.minimum(kinds * corrected, 1.0))
        assert (found["p_holm"] > raw).all()
        listed = findings(rows).query("kind == 'predicted class'").set_index("class")["p_corrected"]
        np.testing.assert_allclose(listed[found["class"]], found["p_holm"])
