"""Insides of fitted calibrators: the numbers they apply, by name."""

import numpy as np
import pytest

from calib_core import CALIBRATORS, NotAnswerable, Predictions, Recipe, load_calibrator
from calib_core.calibrators.neighbours import SHARES, THRESHOLDS
from calib_core.diagrams import fitted_parameters

NAMES = ["cat", "dog", "owl"]


def rows(n=600, seed=0, k=3):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k)) * 2
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(k, p=p) for p in truth])
    sharp = np.exp(1.7 * logits)
    return Predictions(sharp / sharp.sum(axis=1, keepdims=True), labels, class_names=NAMES[:k])


def easy(key):
    """Return a calibrator that these rows can be fitted with."""
    return CALIBRATORS.make(key, **({"accuracy": 0.8} if key == "metacal-accuracy" else {}))


def numbers(calibrator, name):
    """Return the values of all numbers of one name."""
    frame = fitted_parameters(calibrator, rows()).frame()
    return frame.loc[frame["parameter"] == name, "value"].to_numpy()


@pytest.mark.parametrize("key", [*CALIBRATORS, "ts+top-label-hb", "ts+lece"])
def test_every_calibrator_says_what_it_has_fitted_and_says_the_same_when_it_is_read_back(key):
    k = CALIBRATORS[key].flags.classes or 3
    fitted = easy(key).fit_on(rows(k=k))
    told = fitted_parameters(fitted, rows(k=k))
    assert told.short
    assert told.sentence.endswith(".")
    frame = told.frame()
    assert np.isfinite(frame["value"]).all()
    assert key == "identity" or len(frame)
    again = fitted_parameters(load_calibrator(fitted.to_json()), rows(k=k))
    assert again.frame().equals(frame)
    assert (again.short, again.sentence) == (told.short, told.sentence)


def test_temperature_says_its_temperature_and_which_way_it_goes():
    fitted = CALIBRATORS.make("temperature").fit_on(rows())
    assert fitted.temperature_ > 1
    assert numbers(fitted, "temperature T").tolist() == [fitted.temperature_]
    told = fitted_parameters(fitted)
    assert told.short == f"T = {fitted.temperature_:.3g}"
    assert "lowers all confidences" in told.sentence
    soft = rows().with_probs(0.5 * rows().probs + 0.5 / 3)
    sharpened = fitted_parameters(CALIBRATORS.make("temperature").fit_on(soft))
    assert "raises all confidences" in sharpened.sentence


@pytest.mark.parametrize("right", [0.5, 0.97])
def test_the_temperature_of_single_scores_moves_them_as_it_says(right):
    """A confidence below one half rises where the others fall: not all are lowered."""
    sure = np.where(np.arange(200) % 4 == 0, 0.2, 0.9)
    correct = np.where(sure > 0.5, np.arange(200) % 100 < 100 * right, np.arange(200) % 100 >= 100 * right)
    known = Predictions.from_confidence(sure, correct)
    fitted = CALIBRATORS.make("confidence", binary=Recipe("BINARY_CALIBRATORS", "temperature")).fit_on(known)
    after = fitted.apply(known).confidence
    sentence = fitted_parameters(fitted).sentence
    towards = np.abs(after - 0.5) < np.abs(sure - 0.5)
    assert towards.all() == ("towards" in sentence) == (right < 0.9)
    assert (~towards).all() == ("away from" in sentence)
    assert "lowers all" not in sentence


def test_weights_are_those_applied_and_name_their_classes():
    vector = CALIBRATORS.make("vector").fit_on(rows())
    np.testing.assert_array_equal(numbers(vector, "weight"), vector.weights_)
    np.testing.assert_array_equal(numbers(vector, "offset"), vector.intercepts_)
    told = fitted_parameters(vector, rows())
    assert told.short == "6 numbers"
    assert told.frame()["of"].tolist() == NAMES * 2
    assert [grid.middle for grid in told.grids] == [1.0, 0.0]
    matrix = CALIBRATORS.make("matrix").fit_on(rows())
    told = fitted_parameters(matrix, rows())
    assert told.short == "12 numbers"
    np.testing.assert_array_equal(told.grids[0].values, matrix.weights_)
    line = told.frame().iloc[1]
    assert (line["of"], line["place"], line["value"]) == ("cat", "from dog", matrix.weights_[0, 1])
    assert fitted_parameters(matrix).grids[0].rows == ("0", "1", "2")


def test_the_cell_of_least_loss_is_the_one_framed_and_used():
    chosen = CALIBRATORS.make("lece", cross_validate=True).fit_on(rows(300))
    (grid,) = fitted_parameters(chosen).grids
    assert grid.values.shape == (len(SHARES), len(THRESHOLDS))
    assert grid.values[grid.chosen] == grid.values.min()
    assert THRESHOLDS[grid.chosen[1]] == chosen.threshold_
    assert numbers(chosen, "neighbours").tolist() == [chosen.neighbours_]
    assert int(SHARES[grid.chosen[0]] * 300 + 1e-9) == chosen.neighbours_
    given = CALIBRATORS.make("lece").fit_on(rows(300))
    assert fitted_parameters(given).grids == ()
    assert "cross-validation" not in fitted_parameters(given).sentence


def test_what_abstains_says_its_threshold_and_what_calibrates_the_rest():
    fitted = CALIBRATORS.make("metacal-miscoverage").fit_on(rows())
    told = fitted_parameters(fitted, rows())
    assert numbers(fitted, "entropy threshold").tolist() == [fitted.threshold_]
    assert numbers(fitted, "temperature T").tolist() == [fitted.base_.temperature_]
    assert told.short.endswith(f"T = {fitted.base_.temperature_:.3g}")


def test_tables_hold_the_values_returned_and_shared_ones_are_counted_once():
    fitted = CALIBRATORS.make("top-label-hb").fit_on(rows())
    np.testing.assert_array_equal(
        numbers(fitted, "observed frequency"), np.concatenate([m.values_ for m in fitted.maps_])
    )
    assert fitted_parameters(fitted).short == "3 tables"
    many = rows(900)
    seldom = many.predicted >= 1
    few = many.take(np.flatnonzero(~seldom | (np.cumsum(seldom) <= 30)))
    pooled = CALIBRATORS.make("top-label-hb").fit_on(few)
    assert len(pooled.pooled_) == 2
    told = fitted_parameters(pooled, few)
    assert told.short == "2 tables"
    assert set(told.frame()["of"]) == {"cat", "groups with few rows"}


def test_a_staircase_says_its_corners():
    fitted = CALIBRATORS.make("isotonic-ovr").fit_on(rows())
    assert fitted_parameters(fitted).short == "3 staircases"
    np.testing.assert_array_equal(
        numbers(fitted, "recalibrated score"), np.concatenate([m.values_ for m in fitted.maps_])
    )


def test_a_calibrator_that_says_nothing_is_refused_in_a_sentence(monkeypatch):
    fitted = CALIBRATORS.make("temperature").fit_on(rows())
    monkeypatch.setattr(type(fitted), "insides", CALIBRATORS.make("identity").__class__.__mro__[1].insides)
    with pytest.raises(NotAnswerable, match="does not report its fitted parameters"):
        fitted_parameters(fitted)
