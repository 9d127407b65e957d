"""Declared properties of calibrators are true: requirements, invariants, effects and guarantees."""

import numpy as np
import pytest

from calib_core import CALIBRATORS, InputError, Predictions
from calib_core.calibrators import FAMILY_TITLES
from calib_core.guarantees import NONE


def rows(n=600, seed=0, k=3):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k)) * 2
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(k, p=p) for p in truth])
    sharp = np.exp(1.7 * logits)
    return Predictions(sharp / sharp.sum(axis=1, keepdims=True), labels)


FULL = rows()
KINDS = {
    "full": FULL,
    "top-label": Predictions.from_confidence(FULL.confidence, predicted=FULL.predicted, labels=FULL.true_labels),
    "confidence": Predictions.from_confidence(FULL.confidence, FULL.correct),
}
TWO = rows(k=2)
KEYS = [key for key in CALIBRATORS if key != "identity"]


def easy(key):
    return CALIBRATORS.make(key, **({"accuracy": 0.8} if key == "metacal-accuracy" else {}))


@pytest.mark.parametrize("key", KEYS)
def test_every_calibrator_stands_in_a_family_with_a_sentence_of_its_own(key):
    profile = CALIBRATORS[key].flags.profile
    assert profile.family in FAMILY_TITLES
    assert profile.sentence.endswith(".")
    assert len(profile.sentence) <= 95
    assert bool(profile.first_for) == bool(profile.why_first)
    assert profile.family == "advanced" or profile.rows_needed(10) > 0
    sentences = [CALIBRATORS[other].flags.profile.sentence for other in KEYS]
    assert sentences.count(profile.sentence) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", KEYS)
def test_what_these_rows_do_not_say_enough_for_is_known_before_fitting(key, kind):
    for predictions in (KINDS[kind], *([TWO] if kind == "full" else [])):
        why = CALIBRATORS[key].flags.unfit(kind, predictions.n_classes)
        try:
            easy(key).fit_on(predictions).apply(predictions)
        except InputError:
            assert why
        else:
            assert not why


@pytest.mark.parametrize("key", [key for key in CALIBRATORS if CALIBRATORS[key].flags.keeps_order])
def test_what_keeps_the_order_of_the_classes_does(key):
    calibrated = easy(key).fit_on(rows(seed=1)).apply(FULL)
    if calibrated.kind == "full":
        order = np.argsort(FULL.probs, axis=1, kind="stable")
        values = np.take_along_axis(calibrated.probs, order, axis=1)
        assert (np.diff(values, axis=1) >= 0).all()
    else:
        ranks = calibrated.n_ranked
        np.testing.assert_array_equal(calibrated.top(ranks)[0], FULL.top(ranks)[0])


def test_some_calibrators_change_the_order_and_do_not_declare_otherwise():
    for key in ("vector", "matrix", "isotonic-ovr"):
        order = np.argsort(FULL.probs, axis=1, kind="stable")
        values = np.take_along_axis(easy(key).fit_on(rows(seed=1)).apply(FULL).probs, order, axis=1)
        assert (np.diff(values, axis=1) < 0).any()
        assert not CALIBRATORS[key].flags.keeps_order


@pytest.mark.parametrize("key", KEYS)
def test_what_can_promise_is_declared(key):
    promise = easy(key).fit_on(rows(2000, k=CALIBRATORS[key].flags.classes or 3)).guarantee()
    if promise.holds:
        assert CALIBRATORS[key].flags.profile.promises
    elif promise == NONE:
        assert not CALIBRATORS[key].flags.profile.promises


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_recommended_can_be_fitted_and_there_is_something(kind):
    first = [key for key in KEYS if kind in CALIBRATORS[key].flags.profile.first_for]
    assert first
    for key in first:
        assert not CALIBRATORS[key].flags.unfit(kind)
    assert {"temperature", "top-label-hb", "isotonic-ovr"} == set(first) or kind != "full"
