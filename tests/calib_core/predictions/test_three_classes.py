"""Three classes out of many: selected ones, pooled ones, and messages."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_core import InputError, NotAnswerable, Predictions
from calib_core.predictions.three_classes import corners, largest_three, most_confused_three

NAMES = ("ant", "bee", "cat", "dog", "eel")


@pytest.fixture
def five() -> Predictions:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(5), 40)
    return Predictions(
        probs,
        rng.integers(0, 5, 40),
        class_names=NAMES,
        weights=rng.random(40),
        metadata=pd.DataFrame({"photo": [f"{i}.png" for i in range(40)]}),
    )


def test_pooled_corners_keep_every_row(five: Predictions) -> None:
    made = corners(five, ("dog", "ant", "cat"))
    p = five.probs
    expected = np.column_stack([p[:, 3], p[:, 0], p[:, 1] + p[:, 2] + p[:, 4]])
    np.testing.assert_allclose(made.predictions.probs, expected, atol=1e-15)
    to = {0: 1, 1: 2, 2: 2, 3: 0, 4: 2}
    assert made.predictions.true_labels.tolist() == [to[y] for y in five.true_labels]
    assert made.predictions.class_names == ("dog", "ant", "any other class")
    assert made.rows.tolist() == list(range(40))
    note = "the corners are “dog”, “ant”, and all other classes together (“cat” and 2 others)"
    assert made.note == note
    np.testing.assert_array_equal(made.predictions.weights, five.weights)


def test_conditioned_corners_keep_the_rows_of_the_three(five: Predictions) -> None:
    made = corners(five, (3, 0, 2), "condition")
    held = np.flatnonzero(np.isin(five.true_labels, (3, 0, 2)))
    p = five.probs[held][:, [3, 0, 2]]
    np.testing.assert_array_equal(made.rows, held)
    np.testing.assert_allclose(made.predictions.probs, p / p.sum(axis=1, keepdims=True), atol=1e-15)
    to = {3: 0, 0: 1, 2: 2}
    assert made.predictions.true_labels.tolist() == [to[y] for y in five.true_labels[held]]
    assert made.predictions.class_names == ("dog", "ant", "cat")
    assert made.predictions.metadata["photo"].tolist() == [f"{i}.png" for i in held]
    np.testing.assert_allclose(made.predictions.weights, five.weights[held] / five.weights[held].mean())
    left_out = 40 - len(held)
    assert made.note == (
        f"the corners are “dog”, “ant” and “cat”; {left_out} of 40 rows are of other classes and left out; "
        "the three probabilities of a row are divided by their sum"
    )


def test_rows_that_say_nothing_of_the_three_are_left_out_and_counted() -> None:
    p = Predictions([[0.5, 0.5, 0, 0], [0, 0, 0, 1], [0.2, 0.2, 0.2, 0.4]], [0, 1, 3])
    made = corners(p, (0, 1, 2), "condition")
    assert made.rows.tolist() == [0]
    assert "1 of 3 rows are of other classes and left out, and 1 more" in made.note
    assert corners(p, (0, 1, 2)).rows.tolist() == [0, 1, 2]


def test_three_classes_are_themselves() -> None:
    p = Predictions.from_logits([[0.0, 1.0, 2.0], [3.0, 1.0, 0.0]], [0, 2], class_names=["a", "b", "c"])
    for others in ("pool", "condition"):
        assert corners(p, (0, 1, 2), others).predictions is p
        turned = corners(p, ("c", "a", "b"), others).predictions
        assert turned.class_names == ("c", "a", "b")
        assert turned.true_labels.tolist() == [1, 0]
        np.testing.assert_array_equal(turned.probs, p.probs[:, [2, 0, 1]])
        np.testing.assert_array_equal(turned.logits.array(), [[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])


def test_float32_rows_of_a_thousand_classes_become_rows_of_sum_one() -> None:
    rng = np.random.default_rng(0)
    p = Predictions(rng.dirichlet(np.full(1000, 0.02), 300).astype(np.float32), rng.integers(0, 1000, 300))
    made = corners(p, (999, 0, 500)).predictions
    assert made.notes == ()
    np.testing.assert_allclose(made.probs.sum(axis=1), 1, atol=1e-6)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(4, 7), st.sampled_from(["pool", "condition"]))
def test_what_is_calibrated_stays_calibrated(seed: int, k: int, others: str) -> None:
    """Rows with every label, weighted by the row's own probabilities: outcomes follow the predictions exactly."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), 6)
    whole = Predictions(np.repeat(p, k, axis=0), np.tile(np.arange(k), 6), weights=p.ravel())
    three = tuple(rng.permutation(k)[:3].tolist())
    made = corners(whole, three, others)
    group = made.rows // k
    for g in range(6):
        mine = np.flatnonzero(group == g)
        happened = np.bincount(
            made.predictions.true_labels[mine], made.predictions.weights[mine], minlength=3
        ) / np.sum(made.predictions.weights[mine])
        np.testing.assert_allclose(happened, made.predictions.probs[mine[0]], atol=1e-12)


def test_the_largest_three() -> None:
    p = Predictions(np.full((6, 4), 0.25), [3, 3, 3, 1, 1, 0], weights=[1, 1, 1, 1, 1, 9])
    assert largest_three(p) == (0, 3, 1)


BAD = [
    (("ant", "bee"), "pool", "three different classes are needed as corners, not ant, bee"),
    (("ant", "bee", "ant"), "pool", "three different classes are needed as corners, not ant, bee, ant"),
    (
        ("ant", "bee", "fly"),
        "pool",
        "'fly' is not a class; the classes are ant, bee, cat, dog, eel, or codes from 0",
    ),
    ((0, 1, 5), "pool", "'5' is not a class; the classes are ant, bee, cat, dog, eel, or codes from 0"),
    ((0, 1, 2), "drop", "others is 'drop'; choose one of pool, condition"),
]


@pytest.mark.parametrize(("three", "others", "said"), BAD)
def test_bad_corners_are_refused_in_a_sentence(
    five: Predictions, three: tuple[int | str, ...], others: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        corners(five, three, others)
    assert str(caught.value) == said


UNABLE = [
    (Predictions([[0.5, 0.5]], [0]), "there are only two classes"),
    (Predictions.from_confidence([0.5], [True]), "these predictions have only (confidence, correct)"),
    (Predictions.from_confidence([0.5], predicted=[0], labels=[2]), "these predictions have only the predicted class"),
    (Predictions.from_scores([[0.5, 0.9, 0.9]], [0]), "the probabilities of a row need not sum to one here"),
]


@pytest.mark.parametrize(("predictions", "said"), UNABLE)
def test_predictions_without_a_simplex_say_why(predictions: Predictions, said: str) -> None:
    for ask in (lambda: corners(predictions, (0, 1, 2)), lambda: largest_three(predictions)):
        with pytest.raises(NotAnswerable) as caught:
            ask()
        assert str(caught.value).startswith(said)


def test_three_classes_without_rows_are_refused() -> None:
    p = Predictions(np.full((2, 5), 0.2), [3, 4])
    with pytest.raises(NotAnswerable, match="no row of the classes 0, 1, 2"):
        corners(p, (0, 1, 2), "condition")


@pytest.mark.parametrize("seed", range(6))
def test_the_most_confused_three_are_found_among_all_threes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = Predictions(rng.dirichlet(np.full(9, 0.4), 300), rng.integers(0, 9, 300), weights=rng.integers(1, 4, 300))
    confused = np.zeros((9, 9))
    for row, true, weight in zip(p.predicted, p.true_labels, np.asarray(p.weights), strict=True):
        confused[true, row] += weight * (row != true)
    among = {three: confused[np.ix_(three, three)].sum() for three in itertools.combinations(range(9), 3)}
    found = most_confused_three(p)
    assert found == tuple(sorted(found))
    assert among[found] == max(among.values())


def test_where_no_row_is_wrong_the_largest_three_are_taken() -> None:
    p = Predictions(np.eye(5)[[4, 4, 4, 2, 2, 0]], [4, 4, 4, 2, 2, 0])
    assert most_confused_three(p) == largest_three(p) == (4, 2, 0)


def test_rows_that_are_not_answered_are_not_confused() -> None:
    p = Predictions(np.eye(4)[[0, 0, 1, 2]] * 0.7 + 0.075, [1, 1, 2, 3], abstained=[True, True, False, False])
    assert most_confused_three(p) == (1, 2, 3)
