"""Gains of updates of a risk: the numbers by hand, the case of one bad site, and calibrated files."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions
from calib_core.evaluation.cross_fitting import plain_folds

SITES = np.array(["Ashby", "Brook", "Carlow", "Dunmere", "Eastleigh"])


def clinical(seed=25, n=2500, bad=-0.9, shift=0.75, **more):
    """Return a risk that is too high everywhere, and at Dunmere far too high."""
    rng = np.random.default_rng(seed)
    at = rng.integers(5, size=n)
    truth = rng.normal(-2.1, 1.1, n)
    died = rng.random(n) < expit(truth + np.where(at == 3, bad, 0.0))
    p = expit(truth + shift)
    columns = pd.DataFrame({"site": SITES[at], "sex": rng.choice(["f", "m"], n)})
    names = ["survived", "died"]
    return Predictions(np.column_stack([1 - p, p]), died.astype(int), class_names=names, metadata=columns, **more)


@pytest.fixture(scope="module")
def found():
    return cc.update_gains(clinical(), "site", folds=5)


def test_one_bad_site_is_named_and_its_update_stands_beside_that_of_all(found):
    lines = found.frame().set_index("update")
    assert (found.value, found.off, found.column) == ("Dunmere", True, "site")
    assert found.sentence.startswith(
        "Dunmere is significantly off. Shifting only its risk (intercept update) gains 0.0"
    )
    # One intercept for all rows is wrong on both sides; the site's own is not.
    assert lines.loc["intercept", "oe_value"] < 0.7
    assert lines.loc["intercept", "oe_others"] > 1.05
    assert f"leaves Dunmere at O:E {lines.loc['intercept', 'oe_value']:.2f}" in found.sentence
    assert lines.loc["intercept by column", "oe_value"] == pytest.approx(1, abs=0.25)
    assert lines.loc["intercept by column", "oe_others"] == pytest.approx(1, abs=0.05)
    assert lines.loc["intercept of one value", "oe_others"] == lines.loc["none", "oe_others"]
    gains = lines["gain"]
    assert gains["intercept by column"] > gains["intercept"] > gains["intercept of one value"] > 0
    assert gains["logistic recalibration"] < gains["intercept"] + 0.001, "a new slope gains nothing"
    assert lines["helps"].tolist() == [False, True, True, True, True, True]


def test_every_number_is_that_of_a_loop_over_the_folds(found):
    rows = clinical()
    fold = plain_folds(rows, 5)
    y, p = rows.labels, rows.probs[:, 1]
    mine = (rows.metadata["site"] == "Dunmere").to_numpy()
    for update, key in (("intercept", "intercept"), ("logistic recalibration", "logistic-recalibration")):
        q = np.empty(len(y))
        for one in range(5):
            fitted = cc.CALIBRATORS.make(key).fit(rows.probs[fold != one], y[fold != one])
            q[fold == one] = fitted.predict_proba(rows.probs[fold == one])[:, 1]
        loss = [-np.log(np.where(y == 1, r, 1 - r)).mean() for r in (p, q)]
        line = found.frame().set_index("update").loc[update]
        assert line["gain"] == pytest.approx(loss[0] - loss[1], abs=1e-9)
        assert line["log_loss"] == pytest.approx(loss[1], abs=1e-9)
        assert line["low"] < line["gain"] < line["high"]
        assert line["oe"] == pytest.approx(y.sum() / q.sum())
        assert line["oe_value"] == pytest.approx(y[mine].sum() / q[mine].sum())
        assert line["oe_others"] == pytest.approx(y[~mine].sum() / q[~mine].sum())


def test_the_event_can_be_either_class():
    rows = clinical(n=800)
    one, other = (cc.update_gains(rows.with_event(name), "site", folds=3) for name in ("died", "survived"))
    assert one.value == other.value
    assert one.frame()["gain"].tolist() == pytest.approx(other.frame()["gain"].tolist(), abs=1e-5)
    assert one.frame()["oe"].iloc[0] < 1 < other.frame()["oe"].iloc[0]


@pytest.mark.wide
def test_where_nothing_is_off_nothing_helps_and_no_value_is_named():
    """In twelve calibrated files hardly one shows a gain; the same files with a shift all do."""
    wrong = named = seen = 0
    for seed in range(12):
        found = cc.update_gains(clinical(seed, n=600, bad=0.0, shift=0.0), "sex", folds=4)
        wrong += bool(found.frame()["helps"].any())
        named += found.off
        shifted = cc.update_gains(clinical(seed, n=600, bad=0.0), "sex", folds=4)
        seen += bool(shifted.frame()["helps"].any())
        assert found.off or found.sentence.startswith("No value of sex differs significantly from the others.")
    assert wrong <= 2  # .05 expected a file; above 2 of 12 in 2 % of cases
    assert named <= 2
    assert seen >= 10


def test_the_worst_column_is_the_one_that_differs_and_none_where_none_does():
    assert cc.calls.worst_column(clinical()) == "site"
    assert cc.calls.worst_column(clinical(bad=0.0, shift=0.75)) is None, "off everywhere alike"
    assert cc.calls.worst_column(clinical().replace(metadata=None)) is None


def test_weights_that_are_copies_are_copies_in_the_same_fold():
    rows = clinical(n=700)
    weights = np.random.default_rng(0).integers(1, 3, 700)
    found = cc.update_gains(rows.replace(weights=weights), "site", folds=3).frame()
    assert np.isfinite(found["low"]).all()
    assert found["oe"].iloc[0] == pytest.approx((weights * rows.labels).sum() / (weights * rows.probs[:, 1]).sum())


def test_what_cannot_be_asked_is_refused_in_a_sentence():
    rows = clinical(n=300)
    with pytest.raises(InputError, match="there is no metadata column 'ward'"):
        cc.update_gains(rows, "ward")
    with pytest.raises(NotAnswerable, match="has only one value"):
        cc.update_gains(rows.replace(metadata=pd.DataFrame({"site": ["a"] * 300})), "site")
    three = Predictions(np.full((6, 3), 1 / 3), [0, 1, 2] * 2, metadata=pd.DataFrame({"site": list("ababab")}))
    for ask in (lambda: cc.update_gains(three, "site"), lambda: cc.calls.worst_column(three)):
        with pytest.raises(NotAnswerable, match="need an event"):
            ask()


def test_an_update_gains_the_same_where_a_calibrator_is_chosen():
    rows = clinical(n=800)
    gains = cc.update_gains(rows, "site").frame().set_index("update")
    chosen = cc.choose(rows, ["intercept", "logistic-recalibration"]).frame().set_index("calibrator")
    for update, key in (("intercept", "intercept"), ("logistic recalibration", "logistic-recalibration")):
        ends = ["gain", "low", "high"]
        np.testing.assert_array_equal(gains.loc[update, ends].astype(float), chosen.loc[key, ends].astype(float))


@pytest.mark.wide
def test_an_update_helps_where_its_corrected_p_value_shows_it_and_not_where_its_own_alone_does():
    """The level is that of the intervals: a word follows the 5 % test. Some p-values are between the two limits."""
    kinds = set()
    for factor, seed in ((0.4, 4), (1.0, 4), (0.4, 20), (0.4, 22)):
        rng = np.random.default_rng(seed)
        risk, site = rng.beta(2, 5, 600), np.repeat(list("abc"), 200)
        died = rng.random(600) < np.where(site == "c", factor, 1.0) * risk
        p = Predictions(np.column_stack([1 - risk, risk]), died.astype(int), metadata=pd.DataFrame({"site": site}))
        for level in (0.9, 0.99):
            for line in cc.update_gains(p, "site", level=level).frame().iloc[1:].to_dict("records"):
                assert line["helps"] == (line["gain"] > 0 and line["p_holm"] <= 0.05)
                if line["gain"] > 0:
                    kinds.add((line["p"] <= 0.05, line["p_holm"] <= 0.05, line["p_holm"] <= 0.1))
    assert {(True, True, True), (True, False, True), (True, False, False), (False, False, False)} <= kinds


def test_the_value_that_is_updated_in_a_fold_is_the_worst_of_the_other_folds():
    """With small errors at every site the worst site changes from fold to fold."""
    rng = np.random.default_rng(4)
    n, at = 900, rng.integers(5, size=900)
    truth = rng.normal(-1.5, 1.0, n)
    p = expit(truth)
    died = rng.random(n) < expit(truth + np.array([0.35, -0.35, 0.3, -0.3, 0.3])[at])
    rows = Predictions(np.column_stack([1 - p, p]), died.astype(int), metadata=pd.DataFrame({"site": SITES[at]}))
    fold, y, risk = plain_folds(rows, 5), rows.labels, rows.probs[:, 1].copy()
    named = []
    for one in range(5):
        fit, test = fold != one, fold == one
        lifted = cc.CALIBRATORS.make("intercept").fit(rows.probs[fit], y[fit]).predict_proba(rows.probs[fit])[:, 1]
        away = [abs((y[fit] - lifted)[at[fit] == s].sum()) / np.sqrt((lifted * (1 - lifted))[at[fit] == s].sum())
                for s in range(5)]  # fmt: skip
        worst = int(np.argmax(away))
        named.append(worst)
        mine, those = fit & (at == worst), test & (at == worst)
        fitted = cc.CALIBRATORS.make("intercept").fit(rows.probs[mine], y[mine])
        risk[those] = fitted.predict_proba(rows.probs[those])[:, 1]
    assert len(set(named)) > 1
    line = cc.update_gains(rows, "site", folds=5).frame().set_index("update").loc["intercept of one value"]
    assert line["log_loss"] == pytest.approx(-np.log(np.where(y == 1, risk, 1 - risk)).mean(), abs=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bad", [0.0, -0.9])
def test_the_worst_column_is_that_of_the_slices_which_are_called_off(bad):
    """One test for calibration rows and held-out rows: the advice denies no slice that the table shows."""
    found = 0
    for seed in range(20):
        rows = clinical(seed, n=1500, bad=bad, shift=0.0)
        slices = cc.slices.by_column(rows, notion="event")
        off = slices[slices["stands_out"] & slices["differs"]]
        column = cc.calls.worst_column(rows)
        assert column == (None if off.empty else off.loc[off["gap"].abs().idxmax(), "column"])
        found += column is not None
    assert found >= 10 if bad else found <= 3
