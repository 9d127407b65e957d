"""Consistent numbers of an event: the curve's distances in order, and one interval of the mean gap."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

import calib_core as cc
from calib_core import risk
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.mean_gap import EventGap
from calib_core.inference.intervals.observed_expected import binomial_ends
from calib_core.inference.verdicts.estimate_tables import unbinned_tests
from calib_core.risk.smooth_curve import SEPARATED


def predictions(s, y):
    return cc.Predictions(np.column_stack([1 - s, s]), np.asarray(y).astype(int), class_names=["0", "1"])


def calibrated(seed, n=150):
    rng = np.random.default_rng(seed)
    s = rng.beta(2, 5, n)
    return predictions(s, rng.random(n) < s)


# -- the curve's distances ----------------------------------------------------------------------------------------


def test_median_ninety_percent_and_largest_distance_are_in_order_inside_their_ends():
    apart = 0
    for seed in range(12):
        d = risk.smooth_curve(calibrated(seed)).distances.set_index("measure")
        assert d.loc["e50", "value"] <= d.loc["e90", "value"] <= d.loc["emax", "value"] + 1e-12
        assert d.loc["e50", "low"] <= d.loc["e90", "low"]
        assert d.loc["e50", "high"] <= d.loc["e90", "high"]
        some = d.loc[["ici", "e50", "e90"]]
        assert (some["low"] <= some["value"]).all()
        assert (some["value"] <= some["high"]).all()
        # Twin: separate corrections (raw less mean noise) would not preserve the order.
        alone = (some["raw"] - some["floor_mean"]).clip(lower=0)
        apart += alone["e50"] > alone["e90"]
    assert apart > 0


def test_values_are_those_of_one_curve_and_free_of_the_bias_of_noise():
    """The mean of the ICI over samples with doubled odds is near the true one; the raw one is above."""
    rng, values, raw, true = np.random.default_rng(1), [], [], []
    for _ in range(12):
        s = rng.beta(2, 8, 400)
        p = expit(logit(s) + 0.4)
        d = risk.smooth_curve(predictions(s, rng.random(400) < p)).distances.set_index("measure")
        values.append(d.loc["ici", "value"])
        raw.append(d.loc["ici", "raw"])
        true.append(np.abs(p - s).mean())
    spread = np.std(np.subtract(values, true)) / math.sqrt(12)
    assert abs(np.mean(values) - np.mean(true)) < 3 * spread
    assert np.mean(raw) > np.mean(values)


def test_risks_that_separate_the_event_have_no_interval_and_say_why():
    rng = np.random.default_rng(2)
    s = expit(rng.normal(0, 1, 500))
    p = predictions(s, rng.random(500) < expit(12 * logit(s)))
    d = risk.smooth_curve(p).distances.set_index("measure")
    assert (d.loc[["ici", "e50", "e90"], "note"] == SEPARATED).all()
    assert d.loc[["ici", "e50", "e90"], ["low", "high"]].isna().all(axis=None)
    assert d.loc[["ici", "e50", "e90"], "floor"].notna().all()
    assert (risk.smooth_curve(calibrated(3)).distances["note"].iloc[:3] == "").all()


# -- the mean gap -------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_the_lower_end_of_the_gap_lies_above_it_no_more_often_than_its_tail(shift):
    """The falsified twin, the one-sided end, takes the sign as known and misses twice as often without a gap."""
    rng, runs, tail, missed, twin = np.random.default_rng(4), 400, 0.05, 0, 0
    for _ in range(runs):
        s = rng.beta(2, 8, 300)
        p = expit(logit(s) + shift)
        found = EventGap.of(EventRows.of(predictions(s, rng.random(300) < p)))
        truth = abs(p.mean() - s.mean())
        missed += found.least(tail) > truth + 1e-12
        low, high = (end / 300 for end in found.events(1 - 2 * tail, tail))
        assert (low > s.mean() + 1e-12 or high < s.mean() - 1e-12) == (found.least(tail) > 0)
        below, above = (end / 300 - s.mean() for end in binomial_ends(found.observed, found.rows, tail, 300))
        twin += max(below, -above) > truth
    most = runs * tail + 3 * math.sqrt(runs * tail * (1 - tail))
    assert missed <= most
    if shift == 0.0:
        assert twin > most


def test_equal_risks_have_the_end_of_a_binomial_test_of_both_sides():
    s = np.full(100, 0.3)
    found = EventGap.of(EventRows.of(predictions(s, np.arange(100) < 45)))
    theta = found.least(0.05) * 100
    q = (30 + theta) / 100
    assert binom.sf(44, 100, q) + binom.cdf(15, 100, q) == pytest.approx(0.05, abs=1e-6)


# -- words --------------------------------------------------------------------------------------------------------


def test_a_line_is_about_its_error_and_the_overall_verdict_about_the_ratio_too():
    rng = np.random.default_rng(7)
    s = 0.004 * rng.uniform(0.5, 1.5, 20_000)
    p = predictions(s, rng.random(20_000) < 3 * s)
    asked = [(notion, "ece") for notion in ("event", "class-wise")]
    lines = cc.inference.estimate_lines(cc.inference.estimates({"m": p}, asked))
    assert lines["verdict"].tolist() == ["within", "within"]
    first = cc.inference.verdicts(cc.inference.primaries({"m": p})).iloc[0]
    assert (first["verdict"], first["ratio_word"]) == ("miscalibrated", "outside")
    assert "calibration error is within 2 %" in first["sentence"]


@pytest.mark.parametrize("tolerance", [0.02, 0.105, 0.13])
def test_evidence_of_some_error_is_said_once(tolerance):
    rng = np.random.default_rng(8)
    s = rng.beta(2, 5, 400)
    first = cc.inference.primary(predictions(s, rng.random(400) < s / 2), tolerance)
    assert first.sentence.count("There is evidence of some error") == 1


@pytest.mark.parametrize("slope", [1.0, 0.7])
def test_evidence_of_some_error_is_next_to_the_word_too_few_rows(slope):
    rng = np.random.default_rng(3)
    logit = rng.normal(-1, 1.2, 700)
    rows = predictions(1 / (1 + np.exp(-logit)), rng.random(700) < 1 / (1 + np.exp(-slope * logit)))
    first = cc.inference.primary(rows)
    assert first.line.verdict == "too few rows to tell"
    assert (first.shown.p_value < 0.001) == (slope < 1)
    place, estimate = (first.sentence.find(words) for words in ("evidence of some error", "estimated at"))
    assert (0 < place < estimate) == (slope < 1)
    assert first.sentence.startswith("Too few rows to tell")


def test_the_test_beside_a_verdict_has_one_p_value():
    rng = np.random.default_rng(9)
    s = rng.beta(2, 5, 300)
    models = {"a": predictions(s, rng.random(300) < 0.85 * s), "b": predictions(s**1.1, rng.random(300) < s)}
    table = unbinned_tests(models)
    chosen = table["test"].str.contains("Brier")
    assert (table.loc[chosen, "p_holm"] == table.loc[chosen, "p"]).all()
    assert (table.loc[~chosen, "p_holm"] > table.loc[~chosen, "p"]).any()
    shown = [line.shown.p_value for line in cc.inference.primaries(models).values()]
    assert table.loc[chosen, "p_holm"].tolist() == shown


def test_the_test_of_cumulative_differences_is_of_the_notion_judged():
    rng = np.random.default_rng(9)
    s = rng.beta(2, 5, 300)
    rows = predictions(s, rng.random(300) < 0.85 * s)
    for asked, notion in ((None, cc.inference.primary(rows).notion), ("confidence", "confidence")):
        line = unbinned_tests({"a": rows}, asked).iloc[0]
        made = cc.inference.kuiper(rows, notion)
        assert (line["subject"], line["statistic"], line["p"]) == (notion, made.statistic, made.p_value)
    of_risk, of_confidence = (cc.inference.kuiper(rows, notion) for notion in ("event", "confidence"))
    assert of_risk.statistic != of_confidence.statistic


def test_the_event_is_called_by_the_column_of_its_outcome():
    data = b"risk,died\n" + b"\n".join(
        b"%.2f,%d" % (0.2 + i % 7 / 20, (i % 7 > 4) != (i % 11 == 0)) for i in range(200)
    )
    p = cc.read_predictions(data, "clinic.csv")
    updated = cc.CALIBRATORS.make("logistic-recalibration").fit_on(p).apply(p)
    for rows in (p, p.take(np.arange(50)), p.with_probs(p.probs), updated):
        assert "“died”" in cc.inference.primary(rows).reason
    assert "“died = 0”" in cc.inference.primary(p.with_event("0")).reason


@pytest.mark.parametrize("events", [0, 3])
def test_few_events_leave_no_number_that_is_none(events):
    s = np.linspace(0.05, 0.6, 60)
    table = risk.summary(predictions(s, np.arange(60) >= 60 - events)).set_index("measure")
    slope = table.loc["slope"]
    assert slope[["value", "low", "high"]].isna().all()
    assert "needs at least 5 events" in slope["note"]
    assert not np.isinf(table[["value", "low", "high"]].to_numpy(dtype=float)).any()
    missing = table[table["value"].isna()]
    assert missing["note"].astype(bool).all()
