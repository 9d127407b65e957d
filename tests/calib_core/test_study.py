"""evaluate: a tidy table, fitted on fit rows only, with a reason wherever there is no number."""

import numpy as np
import pytest

from calib_core import CALIBRATORS, Predictions, Recipe, estimate, evaluate
from calib_core.binning import Distinct, EqualMass, EqualWidth
from calib_core.calibrators import Temperature
from calib_core.estimators import Binned
from calib_core.study import MEASURES, SCORES, recalibrated, summaries


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(4, 0.5), 400)
    labels = (rng.random(400)[:, None] > probs.cumsum(1)[:, :3]).sum(1)
    return Predictions(probs, labels).split(0.5, random_state=1)


COLUMNS = ["calibrator", "title", "reduction", "estimator", "value", "note"]


def test_one_line_a_number(halves):
    fit, test = halves
    table = evaluate(fit, test, ["identity", "temperature"], ["confidence", "class-wise"], ["ece", "mce"], bins=10)
    assert table.columns.tolist() == COLUMNS
    assert len(table) == 2 * (3 + 2 * 2)
    assert (table["note"] == "").all()
    assert not table["value"].isna().any()
    for line in table.itertuples():
        made = CALIBRATORS.make(line.calibrator).fit_on(fit).apply(test)
        bins = 10 if line.estimator in ("ece", "mce") else None
        reduction = line.reduction if isinstance(line.reduction, str) else None
        assert (reduction is None) == (line.estimator in SCORES)
        assert line.value == estimate(made, reduction, line.estimator, bins=bins).value


def test_what_cannot_be_answered_has_a_note_instead_of_a_value(halves):
    table = evaluate(*halves, ["top-label-hb", "class-wise-hb"], ["top-label", "class-wise"], ["ece"])
    missing = table[table["value"].isna()]
    assert (table["value"].isna() == (table["note"] != "")).all()
    asked = set(zip(missing["calibrator"], missing["reduction"].fillna(""), missing["estimator"], strict=True))
    assert asked == {
        ("top-label-hb", "", "log-loss"),
        ("top-label-hb", "", "brier"),
        ("top-label-hb", "class-wise", "ece"),
        ("class-wise-hb", "", "log-loss"),
    }
    assert all(len(note.split()) > 6 for note in missing["note"])
    per_class = missing[missing["calibrator"] == "class-wise-hb"]["note"].item()
    assert per_class == (
        "log loss is not defined here: these rows hold one probability per class and need not sum to 1; "
        "use a normalised calibrator"
    )


def test_a_calibrator_that_cannot_be_fitted_has_one_line_with_the_reason():
    bare = Predictions.from_confidence(np.linspace(0.1, 0.9, 40), np.arange(40) % 2)
    table = evaluate(*bare.split(), ["identity", "temperature", "confidence-hb"], ["confidence"], ["ece"])
    failed = table[table["calibrator"] == "temperature"]
    assert len(failed) == 1
    assert "the probabilities of the other classes are unknown" in failed["note"].item()
    assert np.isfinite(table[table["calibrator"] == "confidence-hb"].iloc[-1]["value"])


@pytest.mark.parametrize("key", CALIBRATORS)
def test_labels_of_the_test_rows_never_reach_the_calibrator(halves, key):
    """Other labels for the test rows: the recalibrated probabilities are the same bits."""
    fit, test = halves
    other = Predictions(test.probs, (test.labels + 1) % 4)
    one, two = (recalibrated(fit, t, key) for t in (test, other))
    assert one.kind == two.kind
    for a, b in zip(one.top(1), two.top(1), strict=True):
        np.testing.assert_array_equal(a, b)
    if one.kind in ("full", "per-class"):
        np.testing.assert_array_equal(one.probs, two.probs)


def test_the_calibrator_given_stays_unfitted(halves):
    given = Temperature()
    recalibrated(*halves, given)
    assert not hasattr(given, "temperature_")


def test_members_keys_and_recipes_are_accepted(halves):
    members = evaluate(*halves, [Temperature()], ["confidence"], [Binned(EqualMass(10))])
    recipes = evaluate(*halves, [Recipe("CALIBRATORS", "temperature")], ["confidence"], [Binned(EqualMass(10))])
    assert members.equals(recipes)
    assert members["estimator"].tolist() == [*SCORES, "ece"]
    assert members["title"].iloc[0] == "Temperature scaling"


def test_bins_go_to_binned_estimators_only(halves):
    few = evaluate(*halves, ["identity"], ["confidence"], ["ece", "brier", Binned()], bins="distinct")
    values = few["value"].tolist()
    test = halves[1]
    assert values[3] == estimate(test, "confidence", "ece", bins="distinct").value
    assert values[4] == estimate(test, "confidence", "brier").value
    assert values[5] == estimate(test, "confidence", "ece").value


def test_recalibration_helps_where_the_model_is_overconfident():
    rng = np.random.default_rng(2)
    z = rng.standard_normal((6000, 5))
    honest = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    labels = (rng.random(6000)[:, None] > honest.cumsum(1)[:, :-1]).sum(1)
    fit, test = Predictions.from_logits(3 * z, labels).split()
    table = evaluate(fit, test, ["identity", "temperature", "top-label-hb"], ["confidence"], ["ece"])
    ece = table[table["estimator"] == "ece"].set_index("calibrator")["value"]
    assert ece["identity"] > 0.2
    assert ece["temperature"] < 0.04
    assert ece["top-label-hb"] < 0.05




def test_summaries_are_the_estimates_one_by_one(halves):
    schemes = [EqualWidth(10), EqualMass(5), Distinct()]
    frames = summaries(halves[1], schemes)
    assert len(frames) == 3
    for scheme, frame in zip(schemes, frames, strict=True):
        assert frame["measure"].tolist() == [m.name for m in MEASURES]
        for measure, value in zip(MEASURES, frame["value"], strict=True):
            bins = scheme if measure.reduction else None
            made = estimate(halves[1], measure.reduction, measure.estimator, bins=bins)
            assert value == pytest.approx(made.value, rel=1e-12), measure.name
        assert (frame["note"] == "").all()


def test_a_summary_says_what_it_cannot_give():
    bare = Predictions.from_confidence([0.6, 0.9], [1, 0])
    frame = summaries(bare, [EqualWidth(10)])[0].set_index("measure")
    assert np.isfinite(frame.loc[["Accuracy", "conf-ECE", "conf-MCE"], "value"]).all()
    for name in ("Log loss", "TL-ECE", "CW-ECE"):
        assert np.isnan(frame.loc[name, "value"])
        assert len(frame.loc[name, "note"].split()) > 6
