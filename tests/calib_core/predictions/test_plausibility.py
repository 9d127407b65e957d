"""Doubts: the signs of other rows' labels, labels derived from predictions and one observed class, and false alarms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from calib_core import Predictions
from calib_core._base.arrays import Codes, Float64s
from calib_core.predictions.plausibility import _expected, blocking, doubts

RUNS = 60
SIZES = (50, 200, 1000)


class Law(NamedTuple):
    """Normal logits of K classes and a factor that makes the model over- or underconfident."""

    k: int
    mean: float
    spread: float
    factor: float


HONEST = [
    Law(k, mean, spread, factor)
    for k, mean in ((2, 0.0), (2, -2.0), (2, -3.5), (3, 0.0), (10, 0.0), (60, 0.0))
    for spread in (0.3, 1.0, 3.0)
    for factor in (0.5, 1.0, 2.0)
]


def softmax(z: Float64s) -> Float64s:
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def drawn(law: Law, n: int, rng: np.random.Generator) -> tuple[Float64s, Codes]:
    z = np.zeros((n, law.k))
    z[:, 1:] = rng.normal(law.mean, law.spread * (1 if law.k == 2 else np.sqrt(2)), (n, law.k - 1))
    truth = softmax(z)
    return softmax(law.factor * z), (truth.cumsum(axis=1) > rng.uniform(size=(n, 1))).argmax(axis=1)


def keys(predictions: Predictions) -> set[str]:
    return {doubt.key for doubt in doubts(predictions)}


def alarms(key: str, law: Law, *, shuffled: bool = False) -> float:
    """Return the share of samples, of 50 to 1,000 rows, with such a doubt."""
    rng = np.random.default_rng(7)
    seen = []
    for n in SIZES:
        for _ in range(RUNS):
            p, y = drawn(law, n, rng)
            seen.append(key in keys(Predictions(p, rng.permutation(y) if shuffled else y)))
    return float(np.mean(seen))


@pytest.mark.wide
def test_honest_models_raise_a_false_alarm_in_less_than_one_sample_of_a_hundred() -> None:
    chance = [alarms("chance", law) for law in HONEST]
    equal = [alarms("labels-equal", law) for law in HONEST]
    assert np.mean(chance) < 0.01
    assert np.mean(equal) < 0.001
    # Worst law, 180 samples of 1 %: at most 6 with probability .998.
    assert max(chance) <= 6 / (RUNS * len(SIZES))


@pytest.mark.parametrize("law", [Law(2, 0.0, 2.5, 1.0), Law(2, -2.0, 3.0, 2.0), Law(10, 0.0, 2.0, 1.0)], ids=str)
def test_shuffled_labels_are_noticed(law: Law) -> None:
    """The falsified twin: the same distributions with labels of other rows."""
    assert alarms("chance", law, shuffled=True) > 0.6


def test_the_association_is_that_of_all_orders_of_the_labels() -> None:
    """The twin: mean and standard deviation over many shuffled labels, and mean over drawn labels."""
    rng = np.random.default_rng(3)
    p, y = drawn(Law(3, 0.0, 1.0, 1.0), 40, rng)
    rows = np.arange(40)
    shuffled = np.array([p[rows, rng.permutation(y)].sum() for _ in range(20_000)])
    found = _expected(p, y)
    assert found is not None
    observed = (p[rows, y].sum() - shuffled.mean()) / shuffled.std()
    assert found.observed == pytest.approx(observed, abs=0.05)
    drawn_labels = [(p.cumsum(axis=1) > rng.uniform(size=(40, 1))).argmax(axis=1) for _ in range(4000)]
    beyond = [p[rows, own].sum() - (p @ (np.bincount(own, minlength=3) / 40)).sum() for own in drawn_labels]
    # The labels of the law share their rows' frequencies, which costs a share 1 / n of the association.
    assert found.calibrated * shuffled.std() == pytest.approx(np.mean(beyond), rel=0.08)


def test_one_observed_class_is_a_fact_of_any_size_and_rules_out_advice() -> None:
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.05, 0.9, 400)
    p = Predictions(np.column_stack([1 - risk, risk]), np.zeros(400, dtype=int), class_names=["alive", "died"])
    (found,) = doubts(p)
    assert (found.key, found.blocks_advice) == ("one-class", True)
    assert "All 400 labels are “alive”" in found.sentence
    once = p.replace(labels=np.r_[1, np.zeros(399, dtype=int)])
    assert "one-class" not in keys(once)


def test_the_only_event_in_a_row_of_weight_zero_does_not_count() -> None:
    risk = np.linspace(0.1, 0.9, 10)
    weights = np.r_[np.ones(9), 0.0]
    p = Predictions(np.column_stack([1 - risk, risk]), np.r_[np.zeros(9, dtype=int), 1], weights=weights)
    assert keys(p) == {"one-class"}


def test_labels_made_from_the_predictions_are_noticed_and_separable_honest_data_are_not() -> None:
    rng = np.random.default_rng(1)
    risk = rng.uniform(0.01, 0.99, 300)
    p = np.column_stack([1 - risk, risk])
    (found,) = doubts(Predictions(p, p.argmax(axis=1)))
    assert (found.key, found.blocks_advice) == ("labels-equal", True)
    assert "equals the predicted class in all 300 rows" in found.sentence
    wrong = p.argmax(axis=1)
    wrong[0] = 1 - wrong[0]
    assert keys(Predictions(p, wrong)) == set()
    sure = np.where(risk > 0.5, 0.9999, 0.0001)
    assert keys(Predictions(np.column_stack([1 - sure, sure]), p.argmax(axis=1))) == set()


def test_the_probability_of_no_error_is_the_product_of_the_confidences() -> None:
    """Just above and just below 1e-4 at n = 40, equal confidences: .8 ** 40 and .79 ** 40 are 1.3e-4 and 8e-5."""
    y = np.arange(40) % 2
    for confidence, doubted in ((0.8, False), (0.79, True)):
        p = np.full((40, 2), 1 - confidence)
        p[np.arange(40), y] = confidence
        assert ("labels-equal" in keys(Predictions(p, y))) is doubted


def test_labels_made_from_the_predictions_are_held_against_the_sum_of_the_confidences() -> None:
    """For 40 rows at .79, calibrated predictions would have about 31.6 right."""
    y = np.arange(40) % 2
    p = np.full((40, 2), 0.21)
    p[np.arange(40), y] = 0.79
    (doubt,) = doubts(Predictions(p, y))
    assert "would be right in about 32 of them" in doubt.sentence


def test_risks_of_labels_of_other_rows_are_told_of_the_rows_with_the_event_first() -> None:
    """Risks are high where nothing happens: .3 in the rows with the event and .7 in the others."""
    happened = np.arange(200) % 2
    risk = np.where(happened, 0.3, 0.7)
    rows = Predictions(np.column_stack([1 - risk, risk]), happened, class_names=["no", "yes"])
    (doubt,) = (doubt for doubt in doubts(rows) if doubt.key == "chance")
    assert doubt.sentence.startswith("The mean predicted risk is 30.0 % in rows with “yes” and 70.0 %")


def test_rows_of_one_group_count_once() -> None:
    y = np.arange(40) % 2
    p = np.full((40, 2), 0.3)
    p[np.arange(40), y] = 0.7
    assert "labels-equal" in keys(Predictions(p, y))
    assert "labels-equal" not in keys(Predictions(p, y, groups=np.arange(40) // 2))


def test_zeros_and_ones_that_equal_the_labels() -> None:
    y = np.arange(30) % 3
    assert keys(Predictions(np.eye(3)[y], y)) == {"labels-equal"}
    assert keys(Predictions(np.eye(3)[y[:29]], y[:29])) == set()


def test_equal_scores_are_reported_and_rule_nothing_out() -> None:
    y = np.arange(60) % 2
    p = Predictions(np.tile([0.4, 0.6], (60, 1)), y)
    (found,) = doubts(p)
    assert (found.key, blocking(p)) == ("constant", ())


def test_the_one_class_of_a_file_is_said_once() -> None:
    y = np.zeros(50, dtype=int)
    assert keys(Predictions(np.tile([0.9, 0.1], (50, 1)) + np.linspace(0, 0.05, 50)[:, None] * [1, -1], y)) == {
        "one-class"
    }


def test_confidences_that_are_all_right_or_all_wrong_are_one_outcome() -> None:
    for correct, word in ((True, "right"), (False, "wrong")):
        (doubt,) = doubts(Predictions.from_confidence(np.full(50, 0.6), np.full(50, correct)))
        assert (doubt.key, doubt.fact) == ("one-class", f"all 50 rows are {word}, with no other outcome")


def test_confidences_with_both_outcomes_raise_no_doubt() -> None:
    assert doubts(Predictions.from_confidence(np.full(50, 0.6), np.arange(50) > 0)) == ()
