"""Two models with only (confidence, correct): their scores are compared, row by row."""

import numpy as np
import pytest
from scipy.stats import t as student

from calib_core import NotAnswerable, Predictions, estimate
from calib_core.inference import compare, paired_difference

KEYS = ("accuracy", "brier", "log-loss")


def answers(n=500, seed=0, apart=0.1, lower=0.05):
    """Return two models that are right and wrong in mostly the same rows; the second is less confident."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.5, 0.98, n)
    right = rng.random(n) < confidence
    other = np.where(rng.random(n) < apart, ~right, right)
    return Predictions.from_confidence(confidence, right), Predictions.from_confidence(confidence - lower, other)


def losses(p, key):
    c, z = p.confidence, p.correct.astype(float)
    return {"accuracy": z, "brier": (c - z) ** 2, "log-loss": -np.log(np.where(p.correct, c, 1 - c))}[key]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("notion", [None, "confidence"])
def test_values_and_difference_are_those_of_the_rows(key, notion):
    a, b = answers()
    found, apart = paired_difference(a, b, notion, key), losses(a, key) - losses(b, key)
    assert found.first == pytest.approx(losses(a, key).mean()) == pytest.approx(estimate(a, "confidence", key).value)
    assert found.second == pytest.approx(losses(b, key).mean())
    assert found.point == pytest.approx(apart.mean())
    assert found.low < found.point < found.high
    if key != "accuracy":
        half = student.ppf(0.95, len(apart) - 1) * apart.std(ddof=1) / len(apart) ** 0.5
        assert found.high - found.low == pytest.approx(2 * half)
        assert found.method == "paired t"


def test_pairing_tells_apart_what_two_intervals_do_not():
    a, b = answers(2000, apart=0.05)
    found = paired_difference(a, b, None, "accuracy")
    alone = [estimate(p, "confidence", "accuracy").interval(0.95) for p in (a, b)]
    assert found.high - found.low < 0.6 * (alone[0].high - alone[1].low - alone[0].low + alone[1].high)


def test_models_that_are_right_in_the_same_rows_are_two_risks_of_one_event():
    a, _ = answers()
    b = Predictions.from_confidence(np.clip(a.confidence - 0.1, 0, 1), a.correct)
    events = [Predictions(np.column_stack([1 - p.confidence, p.confidence]), p.correct.astype(int)) for p in (a, b)]
    for key in ("brier", "log-loss"):
        found, wanted = paired_difference(a, b, None, key), paired_difference(*events, "event", key)
        assert (found.point, found.low, found.high) == pytest.approx((wanted.point, wanted.low, wanted.high))
        assert found.tested == wanted.tested


@pytest.mark.parametrize("key", KEYS)
def test_a_model_does_not_differ_from_itself_and_groups_are_kept_together(key):
    a, b = answers()
    same = paired_difference(a, a, None, key)
    assert (same.point, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    groups = np.repeat(np.arange(100), 5)
    grouped = [Predictions.from_confidence(p.confidence, p.correct, groups=groups) for p in (a, b)]
    found, sums = paired_difference(*grouped, None, key), (losses(a, key) - losses(b, key)).reshape(100, 5).mean(axis=1)
    assert found.point == pytest.approx(sums.mean())
    assert "group" in found.method


def test_the_table_of_all_pairs_has_all_three_scores():
    a, b = answers()
    for key in KEYS:
        line = compare({"a": a, "b": b}, None, key).iloc[0]
        assert line["note"] == ""
        assert np.isfinite(line[["difference", "low", "high"]].astype(float)).all()


@pytest.mark.parametrize("key", KEYS)
def test_a_full_model_beside_bare_confidences_is_compared_by_its_confidence_and_says_so(key):
    a, _ = answers()
    z = a.correct.astype(int)
    full = Predictions(np.column_stack([1 - a.confidence, a.confidence]), z)
    with pytest.raises(NotAnswerable, match="notion confidence"):
        paired_difference(full, a, None, key)
    assert paired_difference(full, a, "confidence", key).point == pytest.approx(
        (losses(full, key) - losses(a, key)).mean()
    )


@pytest.mark.parametrize("key", KEYS)
def test_a_score_of_being_right_does_not_depend_on_the_classes_it_is_divided_by(key):
    rng = np.random.default_rng(4)
    probs = rng.dirichlet((1, 1, 1, 1), 600)
    labels = (rng.random(600)[:, None] > probs.cumsum(1)[:, :3]).sum(1)
    a, b = Predictions(probs, labels), Predictions((probs + 0.1) / 1.4, labels)
    confidence, by_class = (paired_difference(a, b, notion, key) for notion in ("confidence", "top-label"))
    assert (by_class.point, by_class.low, by_class.high) == (confidence.point, confidence.low, confidence.high)
    assert by_class.method == confidence.method
