"""Unequal weights by bin: each bin's interval depends on the effective sample size of its own rows."""

from __future__ import annotations

import numpy as np
import pytest

import calib_core as cc
from calib_core.diagrams import bins_standing_out, reliability, reliability_bands, zoom
from calib_core.inference import clopper_pearson

RUNS = 150


def gathered(score, rng):
    """Return a few very heavy rows among light ones in the eighth of 15 bins; equal weights elsewhere."""
    heavy = np.where(rng.random(len(score)) < 0.08, 30.0, 0.2)
    return np.where((score > 7 / 15) & (score < 8 / 15), heavy, 1.0)


def independent(score, rng):
    return 0.5 + rng.random(len(score))


def gamma(score, rng):
    return rng.gamma(1.0, 1.0, len(score)) + 1e-6


def sample(weigh, seed, rows=1500):
    rng = np.random.default_rng(seed)
    score = rng.random(rows)
    return cc.Predictions.from_confidence(score, rng.random(rows) < score, weights=weigh(score, rng))


def global_ratio(p):
    """Return the former value of one unit of weight, the same in every bin."""
    return p.weights.sum() / np.square(p.weights).sum()


def margin(share):
    return 3 * np.sqrt(share * (1 - share) / RUNS)


@pytest.mark.wide
@pytest.mark.parametrize("weigh", [gathered, independent, gamma])
def test_of_calibrated_models_any_bin_stands_out_in_a_tenth_of_runs_at_most(weigh):
    off = sum((bins_standing_out({"m": sample(weigh, seed)})["stands_out"] != "").any() for seed in range(RUNS))
    assert off / RUNS <= 0.1 + margin(0.1)


@pytest.mark.wide
def test_with_one_ratio_for_all_bins_they_stand_out_far_more_often():
    off = 0
    for seed in range(RUNS):
        p = sample(gathered, seed)
        table = bins_standing_out({"m": p})
        rows, says = table["count"].to_numpy() * global_ratio(p), table["confidence"].to_numpy()
        low, high = clopper_pearson(table["accuracy"].to_numpy() * rows, rows, 1 - 0.1 / len(table))
        off += bool(((says < low) | (says > high)).any())
    assert off / RUNS > 0.1 + 1.5 * margin(0.1)


def misses(weigh, of):
    """Return the share of the eighth bin's 90 % intervals that exclude its rows' mean score, the true value here."""
    missed = []
    for seed in range(RUNS):
        p = sample(weigh, seed)
        score, low, high = of(p)
        missed.append(not low <= score <= high)
    return float(np.mean(missed))


def bar(p):
    bands = reliability_bands(p, resamples=2)
    return bands.confidence[7], bands.accuracy_low[7], bands.accuracy_high[7]


def bar_by_one_ratio(p):
    bands = reliability_bands(p, resamples=2)
    rows = bands.count[7:8] * global_ratio(p)
    low, high = clopper_pearson(bands.accuracy[7:8] * rows, rows)
    return bands.confidence[7], low[0], high[0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("weigh", [gathered, independent, gamma])
def test_a_bar_misses_as_often_as_its_level_allows(weigh):
    assert misses(weigh, bar) <= 0.1 + margin(0.1)


def test_a_bar_with_one_ratio_for_all_bins_misses_far_more_often():
    assert misses(gathered, bar_by_one_ratio) > 0.4


def test_classes_of_a_bin_count_their_own_rows():
    rng = np.random.default_rng(3)
    score = np.repeat([0.95, 0.65], 200)
    weights = np.concatenate([np.where(np.arange(200) < 4, 50.0, 0.1), np.full(200, 1.5)])
    code = np.arange(400) % 2
    labels = np.where(rng.random(400) < score, code, 1 - code)
    p = cc.Predictions.from_confidence(score, predicted=code, labels=labels, weights=weights)
    found = zoom(p, reliability(p, 10), 9, level=0.9)
    for place, name in enumerate(found.names):
        mine = (code == int(name)) & (score > 0.9)
        w, right = p.weights[mine], p.correct[mine]
        rows = w.sum() ** 2 / np.square(w).sum()
        low, high = clopper_pearson(np.array([w @ right / w.sum() * rows]), np.array([rows]), 0.95)
        assert found.low[place] == pytest.approx(low[0])
        assert found.high[place] == pytest.approx(high[0])


def test_copies_count_as_many_rows_as_there_are():
    rng = np.random.default_rng(5)
    score, times = rng.beta(5, 1.3, 200), rng.integers(1, 5, 200)
    right = rng.random(200) < score
    few = cc.Predictions.from_confidence(score, right, weights=times)
    many = cc.Predictions.from_confidence(np.repeat(score, times), np.repeat(right, times))
    one, other = (bins_standing_out({"m": p}) for p in (few, many))
    np.testing.assert_allclose(one[["low", "high"]].to_numpy(), other[["low", "high"]].to_numpy())
    ends = [reliability_bands(p, resamples=2).frame()[["accuracy_low", "accuracy_high"]] for p in (few, many)]
    np.testing.assert_allclose(*ends)


def test_equal_weights_that_are_no_counts_change_nothing():
    rng = np.random.default_rng(6)
    score = rng.beta(5, 1.3, 300)
    right = rng.random(300) < score
    plain, weighed = (cc.Predictions.from_confidence(score, right, weights=w) for w in (None, np.full(300, 0.3)))
    one, other = (bins_standing_out({"m": p})[["low", "high"]].to_numpy() for p in (plain, weighed))
    np.testing.assert_allclose(one, other)
