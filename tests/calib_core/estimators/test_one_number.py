"""Scores by name: equal to loops from their definitions, and to scikit-learn's where it has them."""

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics

import calib_core as cc
from calib_core import InputError
from calib_core.estimators.one_number import brier_score, class_wise_ece, ece, log_loss, mce


@pytest.fixture(params=[2, 4])
def rows(request):
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(request.param), 301)
    return rng.integers(request.param, size=301), probs


def gaps(scores, outcomes, bins):
    """Return (share of the rows, |mean outcome - mean score|) of each bin, closed on the left, the last on both."""
    found = []
    for b in range(bins):
        inside = (scores >= b / bins) & ((scores < (b + 1) / bins) | (b == bins - 1))
        if inside.any():
            found.append((inside.mean(), abs(outcomes[inside].mean() - scores[inside].mean())))
    return np.array(found).T


def test_confidence_is_of_the_predicted_class(rows):
    labels, probs = rows
    share, gap = gaps(probs.max(axis=1), probs.argmax(axis=1) == labels, 7)
    assert ece(labels, probs, bins=7, notion="confidence") == pytest.approx((share * gap).sum())
    assert mce(labels, probs, bins=7, notion="confidence") == pytest.approx(gap.max())


def test_what_is_asked_by_default_is_the_risk_of_two_classes_and_the_confidence_of_more(rows):
    labels, probs = rows
    two = probs.shape[1] == 2
    scores, outcomes = (probs[:, 1], labels == 1) if two else (probs.max(axis=1), probs.argmax(axis=1) == labels)
    share, gap = gaps(scores, outcomes, 15)
    assert ece(labels, probs) == pytest.approx((share * gap).sum())
    assert mce(labels, probs) == pytest.approx(gap.max())
    if two:
        assert ece(labels, probs[:, 1]) == pytest.approx(ece(labels, probs))
        assert ece(labels == 1, probs[:, 1:]) == pytest.approx(ece(labels, probs))


def test_class_wise_is_the_mean_over_classes(rows):
    labels, probs = rows
    each = [gaps(probs[:, j], labels == j, 15) for j in range(probs.shape[1])]
    assert class_wise_ece(labels, probs) == pytest.approx(np.mean([(share * gap).sum() for share, gap in each]))


def test_scores_are_those_of_scikit_learn(rows):
    labels, probs = rows
    assert log_loss(labels, probs) == pytest.approx(sklearn.metrics.log_loss(labels, probs))
    if probs.shape[1] == 2:
        assert brier_score(labels, probs) == pytest.approx(sklearn.metrics.brier_score_loss(labels, probs[:, 1]))
        assert log_loss(labels, probs[:, 1]) == pytest.approx(sklearn.metrics.log_loss(labels, probs[:, 1]))
    else:
        hot = np.eye(probs.shape[1])[labels]
        assert brier_score(labels, probs) == pytest.approx(np.square(probs - hot).sum(axis=1).mean())


def test_names_are_in_sorted_order_as_a_scikit_learn_model_has_them(rows):
    labels, probs = rows
    names = np.array(["ant", "bee", "cow", "dog"])[labels]
    for number in (ece, mce, class_wise_ece, brier_score, log_loss):
        assert number(names, probs) == number(labels, probs)
        assert number(labels + 10, probs) == number(labels, probs)
    turned = pd.DataFrame(probs[:, ::-1], columns=["ant", "bee", "cow", "dog"][: probs.shape[1]][::-1])
    assert ece(names, turned, notion="confidence") == pytest.approx(ece(labels, probs, notion="confidence"))


@pytest.mark.parametrize(
    ("labels", "probs", "why"),
    [
        ([0, 1, 1], [0.2, 0.4, 1.4], "risks from 0 to 1"),
        (["a", "b", "c"], [0.2, 0.4, 0.6], "3 different labels and y_prob 2 classes"),
        (["a", "a", "a"], [[0.2, 0.8]] * 3, "1 different labels"),
        ([0, 1], [[0.5, 0.9], [0.1, 0.9]], "row 0"),
        ([0, 1, 1], [0.2, 0.4], "3"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(labels, probs, why):
    for number in (ece, mce, class_wise_ece, brier_score, log_loss):
        with pytest.raises(InputError, match=why):
            number(labels, probs)


def test_the_same_number_is_the_value_of_an_estimate(rows):
    labels, probs = rows
    p = cc.Predictions(probs, labels)
    p = p.with_event(1) if p.n_classes == 2 else p
    notion = "event" if p.n_classes == 2 else "confidence"
    assert ece(labels, probs, bins=9) == cc.estimate(p, notion, "ece", 9).value


NUMBERS = (ece, mce, class_wise_ece, brier_score, log_loss)
HALVES = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]


def test_probabilities_of_zero_that_came_true_are_counted_in_one_warning():
    with pytest.warns(UserWarning, match=r"2 of 4 rows.*2\^-52") as warned:
        found = log_loss([1, 1, 0, 1], [0.0, 0.0, 0.25, 1.0])
    assert len(warned) == 1
    assert found == pytest.approx((2 * 52 * np.log(2) - np.log(0.75)) / 4)


@pytest.mark.parametrize("shape", ["risks", "column", "matrix"])
def test_rows_of_other_names_are_refused_not_taken_as_they_lie(shape):
    risk = pd.Series([0.1, 0.4, 0.8], index=[7, 8, 9])
    given = {"risks": risk, "column": risk.to_frame("risk"), "matrix": pd.DataFrame({0: 1 - risk, 1: risk})}[shape]
    for number in NUMBERS:
        assert number(pd.Series([0, 1, 1], index=[7, 8, 9]), given) == number([0, 1, 1], risk.to_numpy())
        with pytest.raises(InputError, match=r"row 0 is 9 in y_true and 7 in y_prob.*Align them"):
            number(pd.Series([1, 1, 0], index=[9, 8, 7]), given)


def test_whole_numbers_are_codes_or_names_of_all_classes_or_refused():
    wide = np.column_stack([HALVES, np.zeros(3)])
    for number in NUMBERS:
        right = number([0, 1, 2], HALVES)
        assert number([1, 2, 3], HALVES) == number([1.0, 2.0, 3.0], HALVES) == right
        assert number([10, 20, 30], HALVES) == right
        with pytest.raises(InputError, match=r"row 1 is '3'.*subtract 1"):
            number([1, 3, 3], HALVES)
    with pytest.warns(UserWarning, match="class 0 of 4 has no row.*subtract 1"):
        found = brier_score([1, 2, 3], wide)
    assert found == pytest.approx(np.square(wide - np.eye(4)[[1, 2, 3]]).sum(axis=1).mean())
    assert brier_score([1, 1], [0.5, 0.75]) == pytest.approx((0.25 + 0.0625) / 2)


@pytest.mark.parametrize(
    ("labels", "probs", "why"),
    [
        ([0, 1, 1], [0.2, np.nan, 0.4], "row 1 is nan.*leave the row out"),
        ([0, 1, 1], [0.2, None, 0.4], "row 1 is 'None'.*without a value out"),
        ([0, 1, 1], ["0.2", "0.3", "high"], "row 0 is '0.2'.*astype"),
        ([0, 1, 1], [20.0, 30.0, 99.0], "row 0 is 20;.*divide percentages by 100"),
        ([0, 1], [[80.0, 20.0], [30.0, 70.0]], "row 0, column 0 is 80;.*divide percentages by 100"),
        ([0, 1], [-1.5, 3.0], "row 0 is -1.5;.*from_logits"),
        ([], [], "y_true has no rows"),
        ([0], [], "y_prob has shape"),
        (["a", None, "b"], [0.2, 0.3, 0.4], "y_true row 1 is None.*leave the row out"),
        ([0, np.nan, 1], [0.2, 0.3, 0.4], "y_true row 1 is nan.*leave the row out"),
        (np.eye(3, dtype=int), HALVES, r"row 0, 1, 0, 0;.*argmax\(axis=1\)"),
        ([0.2, 0.9], [0, 1], r"y_true row 0 is 0.2.*\(y_true, y_prob\)"),
        (HALVES, [0, 1, 2], r"row 0, 0.5, 0.25, 0.25;.*\(y_true, y_prob\)"),
        (HALVES, ["a", "b", "c"], r"row 0, 0.5, 0.25, 0.25;.*\(y_true, y_prob\)"),
    ],
)
def test_a_refusal_names_row_value_and_remedy(labels, probs, why):
    for number in NUMBERS:
        with pytest.raises(InputError, match=why):
            number(labels, probs)
