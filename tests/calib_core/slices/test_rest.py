"""A slice against all other rows: numbers by hand, for any dependence of rows, and simulated false alarms."""

import math

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import Predictions
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.slices.gaps import against_rest


def off_everywhere(rng, n=600, sites=6, worse=(), gap=0.2, **more):
    """Return a model that is off by this much at every site, and by twice that at the worse ones."""
    h, site = rng.uniform(0.6, 0.95, n), np.arange(n) % sites
    right = rng.random(n) < h - gap - gap * np.isin(site, worse)
    return Predictions.from_confidence(h, right, metadata=pd.DataFrame({"site": site.astype(str)}), **more)


def test_counted_rows_by_hand():
    site = pd.DataFrame({"site": ["a"] * 40 + ["b"] * 60})
    right = [True] * 10 + [False] * 30 + [True] * 45 + [False] * 15
    line = cc.slices.table(Predictions.from_confidence([0.75] * 100, right, metadata=site), "site").set_index("slice")
    line = line.loc["site = a"]
    (low, high), (low_rest, high_rest) = (clopper_pearson(k, n, 0.9) for k, n in ((10, 40), (45, 60)))
    assert line["beyond"] == pytest.approx(0.25 - 0.75)
    assert line["beyond_low"] == pytest.approx(-0.5 - math.hypot(0.25 - low, high_rest - 0.75))
    assert line["beyond_high"] == pytest.approx(-0.5 + math.hypot(high - 0.25, 0.75 - low_rest))
    assert line["differs"]


def test_a_slice_differs_after_correction_for_its_column_and_for_the_number_of_columns():
    p = off_everywhere(np.random.default_rng(3), 900, 3, (0,), 0.1)
    first = cc.slices.table(p, "site", columns=1)
    least = float(first["p_beyond"].min()) * 3
    assert least < 0.05
    most = int(0.05 / least)
    for columns, differs in ((most, True), (most + 1, False)):
        assert cc.slices.table(p, "site", columns=columns)["differs"].any() == differs


@pytest.mark.parametrize("seed", range(3))
def test_the_p_value_is_the_least_miss_of_an_interval_without_0(seed):
    p = off_everywhere(np.random.default_rng(seed), 200, 3)
    for line in cc.slices.table(p, "site").to_dict("records"):
        for factor, out in ((1.001, True), (0.999, False)):
            level = 1 - min(line["p_beyond"] * factor, 0.9999)
            again = cc.slices.table(p, "site", level=level).set_index("slice").loc[line["slice"]]
            if line["p_beyond"] < 0.99:
                assert (not again["beyond_low"] <= 0 <= again["beyond_high"]) == out


def test_rows_in_groups_and_with_weights_by_a_loop():
    rng = np.random.default_rng(0)
    groups, weights = rng.integers(0, 60, 400), rng.uniform(0.5, 2, 400)
    site = np.where(rng.random(400) < 0.4, "a", "b")
    h, right = rng.uniform(0.5, 1, 400), rng.random(400) < 0.5
    p = Predictions.from_confidence(h, right, weights=weights, groups=groups, metadata=pd.DataFrame({"site": site}))
    line = cc.slices.table(p, "site").set_index("slice").loc["site = a"]
    w, here = p.weights, site == "a"
    share = np.where(here, w / w[here].sum(), w / w[~here].sum())
    squares = sum(share[groups == g].sum() ** 2 for g in range(60))
    beyond = (share * np.where(here, 1, -1) * (right - h)).sum()
    assert line["beyond"] == pytest.approx(beyond)
    assert line["p_beyond"] == pytest.approx(min(1, 2 * math.exp(-2 * beyond**2 / squares)))
    assert line["beyond_high"] - beyond == pytest.approx(math.sqrt(math.log(20) * squares / 2))


def test_where_no_other_rows_are_enough_nothing_is_compared():
    site = pd.DataFrame({"site": ["a"] * 93 + ["b"] * 7})
    table = cc.slices.table(Predictions.from_confidence([0.9] * 100, [True] * 60 + [False] * 40, metadata=site), "site")
    assert table["beyond"].isna().all()
    assert not table["differs"].any()
    assert "other rows" not in cc.diagrams.slice_dots(table).basis


def test_sentences_say_as_much_as_is_shown():
    rng = np.random.default_rng(1)
    for worse, said in (
        ((), "no slice differs significantly from the rest"),
        ((2,), "points larger than that of the other rows"),
    ):
        table = cc.slices.table(off_everywhere(rng, 3000, worse=worse), "site")
        assert table["stands_out"].all()
        assert table["differs"].any() == table["differs"][0] == bool(worse)
        assert said in f"{(dots := cc.diagrams.slice_dots(table)).headline}. {dots.basis}"
        assert dots.alike == (not worse)
    assert table["slice"][0] == "site = 2"


@pytest.mark.parametrize("trials", [40, pytest.param(600, marks=pytest.mark.wide)])
def test_a_model_that_is_off_everywhere_differs_nowhere(trials):
    """The falsified twin, the gaps of all slices, finds errors there, but they do not differ between slices."""
    false, taken, uncorrected = [], [], []
    for seed in range(trials):
        table = cc.slices.table(off_everywhere(np.random.default_rng(seed)), "site")
        false.append(table["differs"].any())
        uncorrected.append((table["p_beyond"] <= 0.05).any())
        taken.append(table["stands_out"].any())
    assert np.mean(false) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
    assert np.mean(taken) > 0.9
    assert np.mean(uncorrected) > np.mean(false)


TRIALS = pytest.mark.parametrize("trials", [40, pytest.param(600, marks=pytest.mark.wide)])


@TRIALS
def test_among_those_that_differ_few_are_false(trials):
    """Two sites are off by as much in opposite directions: the ten others, and all but one of these, do not differ.

    False is what differs though its true gap is that of all other rows. The twin corrects nothing.
    """
    site, false, uncorrected, power = np.arange(1200) % 12, [], [], []
    shift = np.where(site == 0, 0.2, np.where(site == 1, -0.2, 0.0))
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        h = rng.uniform(0.6, 0.78, 1200)
        p = Predictions.from_confidence(h, rng.random(1200) < h + shift, metadata=pd.DataFrame({"site": site}))
        table = cc.slices.table(p, "site")
        null = ~table["where"].isin(["site=0", "site=1"])
        for calls, shares in ((table["differs"], false), (table["p_beyond"] <= 0.05, uncorrected)):
            shares.append((calls & null).sum() / max(1, calls.sum()))
        power.append(table["differs"][~null].mean())
    assert np.mean(false) <= 0.05 + 3 * np.std(false) / math.sqrt(trials)
    assert np.mean(false) < np.mean(uncorrected) / 2
    assert np.mean(uncorrected) > 0.05 + 2 * np.std(uncorrected) / math.sqrt(trials)
    assert np.mean(power) > 0.8


@TRIALS
def test_rows_in_groups_that_come_out_alike_differ_nowhere(trials):
    """Fifteen hundred rows in 150 groups, each right or wrong as one. The twin takes them as independent."""
    group, grouped, apart = np.repeat(np.arange(150), 10), 0, 0
    for seed in range(trials):
        right = (np.random.default_rng(seed).random(150) < 0.6)[group]
        metadata = pd.DataFrame({"site": (group % 5).astype(str)})
        p = Predictions.from_confidence([0.8] * 1500, right, groups=group, metadata=metadata)
        grouped += cc.slices.table(p, "site")["differs"].any()
        apart += cc.slices.table(p.replace(groups=None), "site")["differs"].any()
    assert grouped / trials <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
    assert apart / trials > 0.3


def test_a_scan_compares_with_the_other_rows_kept_apart():
    p = off_everywhere(np.random.default_rng(3), 4000, worse=(1,))
    found = cc.slices.scan(p).frame()
    first = cc.predictions.predictions.split_rows(np.zeros(4000, dtype=int), 0.5, 0)
    apart = np.flatnonzero(first)
    mine = apart[(p.metadata["site"] == "1").to_numpy()[apart]]
    line = found.set_index("where").loc["site=1"]
    assert line["differs"]
    twin = against_rest(p.take(apart), [np.searchsorted(apart, mine)], None, 20, 0.9).iloc[0]
    assert line[twin.index].astype(float).tolist() == pytest.approx(twin.tolist())
