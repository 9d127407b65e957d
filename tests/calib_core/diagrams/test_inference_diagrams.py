"""Sweeps, bands and CORP curves: each number against its definition."""

import numpy as np
import pytest
from generated import full_predictions
from hypothesis import given, settings
from null_rates import gumbel_labels, spread_rows
from sklearn.isotonic import IsotonicRegression

from calib_core import NotAnswerable, Predictions, RegistryError, estimate
from calib_core.binning import EqualWidth
from calib_core.diagrams import (
    bins_standing_out,
    corp,
    error_sweep,
    models_in_range,
    reliability,
    reliability_bands,
    risk_diagram,
)
from calib_core.estimators import as_estimator
from calib_core.inference import clopper_pearson


def sample(n=500, k=4, seed=0, power=1.0):
    rng = np.random.default_rng(seed)
    p = spread_rows(n, k, rng, 2.0)
    said = p**power
    return Predictions(said / said.sum(1, keepdims=True), gumbel_labels(p, rng))


@pytest.mark.parametrize("key", ["ece", "rmsce", "debiased-l2"])
def test_a_sweep_holds_the_estimate_of_every_number_of_bins(key):
    models = {"base": sample(power=1.5), "other": sample()}
    for floor in (True, False):
        swept = error_sweep(models, estimator=key, bins=range(5, 9), floor=floor)
        frame = swept.frame()
        assert len(frame) == 2 * 2 * 4
        for _, line in frame.iterrows():
            alone = estimate(models[line["model"]], line["notion"], as_estimator(key, EqualWidth(line["bins"])))
            assert line["value"] == pytest.approx(alone.value, abs=1e-12)
        assert np.isnan(swept.floor).all() != floor
    assert error_sweep(models["base"]).bins == tuple(range(5, 26))


def test_the_floor_of_a_sweep_rises_and_lies_below_a_miscalibrated_model():
    swept = error_sweep(sample(2000, power=2.0), ["confidence"], bins=[5, 25])
    assert swept.floor[0, 0] < swept.floor[0, 1] < swept.value[0, 1]
    with pytest.raises(RegistryError, match="whole numbers of at least 1"):
        error_sweep(sample(), bins=[])


@settings(max_examples=25)
@given(p=full_predictions())
def test_bands_lie_on_the_bins_of_the_reliability_diagram(p):
    bands, diagram = reliability_bands(p, 7, resamples=20), reliability(p, 7)
    for mine, theirs in ((bands.count, diagram.count), (bands.accuracy, diagram.accuracy)):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)
    held = bands.count > 0
    assert (bands.accuracy_low <= bands.accuracy + 1e-12)[held].all()
    assert (bands.accuracy_high >= bands.accuracy - 1e-12)[held].all()
    assert np.isnan(bands.band_low[~held]).all()
    assert len(bands.frame()) == held.sum()


def test_bands_hold_the_stars_of_a_calibrated_model_as_often_as_they_say():
    p = spread_rows(1000, 3, np.random.default_rng(1), 1.5)
    rng = np.random.default_rng(2)
    first = reliability_bands(Predictions(p, gumbel_labels(p, rng)), 8)
    outside = []
    for _ in range(150):
        d = reliability(Predictions(p, gumbel_labels(p, rng)), 8)
        held = d.count >= 20
        outside.append(((d.accuracy < first.band_low - 1e-9) | (d.accuracy > first.band_high + 1e-9))[held].mean())
    assert np.mean(outside) == pytest.approx(0.08, abs=0.035)
    sharper = reliability_bands(Predictions(p**2 / (p**2).sum(1, keepdims=True), gumbel_labels(p, rng)), 8)
    assert sharper.outside >= 4
    frame = sharper.frame()
    wanted = clopper_pearson(frame["accuracy"].to_numpy() * frame["count"].to_numpy(), frame["count"].to_numpy())
    np.testing.assert_allclose((frame["accuracy_low"], frame["accuracy_high"]), wanted)
    assert np.isnan(sharper.accuracy_low[sharper.count == 0]).all()


@pytest.mark.parametrize("kind", ["rows", "weights", "copies", "groups"])
def test_a_bin_has_one_interval_in_diagrams_tables_and_the_pane(kind):
    rng, n = np.random.default_rng(4), 600
    risk, group = rng.beta(2, 5, n), np.arange(n) // 4
    died = rng.random(n) < 1 / (1 + np.exp(rng.normal(size=n)[group] - np.log(risk / (1 - risk))))
    more = {"weights": {"weights": rng.gamma(2, size=n)}, "copies": {"weights": rng.integers(1, 4, n)},
            "groups": {"groups": group}}.get(kind, {})  # fmt: skip
    p = Predictions(np.column_stack([1 - risk, risk]), died.astype(int), **more)
    bands = reliability_bands(p, reduction="event").frame()
    wanted = bands[["accuracy_low", "accuracy_high"]].to_numpy()
    np.testing.assert_array_equal(risk_diagram(p).frame()[["low", "high"]], wanted)
    np.testing.assert_array_equal(bins_standing_out({"m": p}, notion="event")[["low", "high"]], wanted)
    for line, ends in zip(bands.to_dict("records"), wanted, strict=True):
        here = models_in_range({"m": p}, low=line["lower"], high=line["upper"], notion="event")
        np.testing.assert_allclose(here[["right_low", "right_high"]].to_numpy()[0], ends)


def test_bands_exist_for_any_stratum_of_a_binary_notion():
    p = sample(100)
    one = reliability_bands(p, 5, "class-wise", stratum=2)
    assert one.count.sum() == 100
    np.testing.assert_array_equal(one.band_low, reliability_bands(p, 5, "class-wise", stratum=2).band_low)
    with pytest.raises(NotAnswerable):
        reliability_bands(p, 5, "canonical")


@settings(max_examples=40)
@given(p=full_predictions())
def test_corp_takes_the_brier_score_apart(p):
    curve = corp(p, "confidence")
    brier = estimate(p, "confidence", "brier").value
    assert curve.score == pytest.approx(brier, abs=1e-12)
    assert curve.score == pytest.approx(curve.miscalibration - curve.discrimination + curve.uncertainty, abs=1e-12)
    assert min(curve.miscalibration, curve.discrimination, curve.uncertainty) >= 0
    assert (np.diff(curve.outcome) > 0).all()
    assert curve.uncertainty == pytest.approx(p.accuracy * (1 - p.accuracy), abs=1e-12)


def test_corp_is_the_isotonic_fit_of_the_rows():
    p = sample(300, 3)
    for notion, stratum in (("confidence", 0), ("class-wise", 1)):
        curve = corp(p, notion, stratum)
        s = p.confidence if notion == "confidence" else p.probs[:, 1]
        z = (p.correct if notion == "confidence" else p.labels == 1).astype(float)
        fitted = IsotonicRegression().fit(s, z).predict(s)
        at = np.searchsorted(curve.lower, s, side="right") - 1
        np.testing.assert_allclose(curve.outcome[at], fitted, atol=1e-12)
        assert (s <= curve.upper[at]).all()
        assert curve.miscalibration == pytest.approx(np.mean((s - z) ** 2 - (fitted - z) ** 2), abs=1e-12)
        np.testing.assert_array_equal(np.bincount(at), curve.count)
