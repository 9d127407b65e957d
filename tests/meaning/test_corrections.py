"""Corrections, noise floors, refusals and seeds: omissions that do not make a number look wrong."""

from __future__ import annotations

import by_hand
import numpy as np
import pandas as pd
import pytest
from compared import data_of
from scipy.stats import binom

import calib_core as cc
from calib_core.evaluation.error_tests import ErrorTests
from calib_core.inference.significance.multiple_testing import benjamini_hochberg, benjamini_yekutieli, holm
from calib_core.inference.verdicts.verdict import any_size
from calib_core.results.uncertainty import TestOfCalibration
from dashboard.exhibits import EXHIBITS, slices

pytestmark = pytest.mark.law
P = [0.04, 0.001, float("nan"), 0.02, 0.03, 0.5]
"""p-values that every rule corrects differently."""


def test_the_three_rules_differ_and_are_those_of_their_names():
    rules = {holm: by_hand.holm, benjamini_hochberg: by_hand.benjamini_hochberg,
             benjamini_yekutieli: by_hand.benjamini_yekutieli}  # fmt: skip
    found = [rule(P) for rule in rules]
    for mine, rule in zip(found, rules.values(), strict=True):
        assert np.allclose(mine, rule(P), equal_nan=True)
    assert len({tuple(np.nan_to_num(part).round(6)) for part in [P, *found]}) == 4


def test_a_picked_column_is_corrected_for_all_columns_even_where_these_are_many(monkeypatch):
    data = data_of("three")
    exhibit = EXHIBITS.make("slices", by="site")
    frame = data.scene.get(exhibit.table(data.scene))
    monkeypatch.setattr(slices, "MOST_TESTED", 0)
    assert slices.too_many(data.scene)
    many = data.scene.get(exhibit.table(data.scene))
    assert many["p_corrected"].tolist() == pytest.approx(frame["p_corrected"].tolist())
    alone = by_hand.holm(frame["p"].tolist())
    assert frame["p_corrected"].tolist() == pytest.approx([min(1, data.kinds * len(data.columns) * p) for p in alone])
    # It matters: uncorrected, or without the columns, another slice would be significant.
    assert ((frame["p"] <= 0.05) & ~frame["stands_out"]).any()
    assert dict(exhibit.table(data.scene).options)["columns"] == len(data.columns)


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        (cc.Predictions([[0.7, 0.3]] * 4, [0, 1, 0, 1]), 4),
        (cc.Predictions([[0.7, 0.3]] * 4, [0, 1, 0, 1], metadata=pd.DataFrame({"a": list("xxyy")})), 5),
        (cc.Predictions.from_confidence([0.7] * 4, predicted=[0, 1, 0, 1], labels=[0, 1, 1, 1]), 3),
        (cc.Predictions.from_confidence([0.7] * 4, [True, False] * 2), 1),
        (cc.Predictions.from_confidence([0.7] * 4, [True, False] * 2, metadata=pd.DataFrame({"a": list("xxyy")})), 2),
    ],
)
def test_bins_classes_and_slices_are_counted_as_kinds_of_places(rows, kinds):
    """The kinds are bins; predicted classes, and these in bins; probabilities of classes; slices."""
    assert cc.inference.significance.count_tests.kinds_of_places(rows) == kinds


def test_what_stands_out_is_corrected_by_as_many_as_were_looked_at():
    """One of ten levels has a p-value that is small uncorrected but not among ten."""
    h = np.repeat(np.arange(50, 60) / 100, 40)
    right = np.concatenate([np.arange(40) < round(40 * level) for level in np.arange(50, 60) / 100])
    right[:40] = np.arange(40) < 28
    frame = cc.diagrams.levels(cc.Predictions.from_confidence(h, right)).frame()
    p = [by_hand.share_p(int(r * 40), 40, c) for r, c in zip(frame["right"].round(6), frame["confidence"], strict=True)]
    assert p[0] <= 0.05
    assert frame["p"].tolist() == pytest.approx(p)
    assert frame["p_holm"].tolist() == pytest.approx(by_hand.holm(p))
    assert set(frame["stands_out"]) == {""}


@pytest.mark.parametrize("part", [0.25, 0.9, 1.1, 1.9, 2.1, 3.9])
def test_evidence_says_that_it_is_uncorrected_where_it_matters_in_an_audit(part):
    """A p-value that is not significant among the tests that an audit lists for a risk is marked, and no other."""
    tests = len(ErrorTests(data_of("risk").scene.get(data_of("risk").scene.model.predictions)).p_values)
    shown = TestOfCalibration("", 2.0, part * 0.05 / tests)
    said = any_size(None, shown)
    assert "evidence of some error" in said
    assert ("not corrected for other tests" in said) == (min(by_hand.holm([shown.p_value] * tests)) > 0.05)


@pytest.mark.parametrize("bins", [5, 15])
def test_intervals_of_bin_balance_hold_for_all_bins_together(bins):
    data = data_of("three")
    rows = data.scene.get(data.scene.models.shown[0].predictions)
    frame = cc.planning.balance_in_use(rows, bins=bins).frame()
    for line in frame.to_dict("records"):
        ends = by_hand.clopper_pearson(int(line["rows"]), len(data.base), 1 - 0.1 / bins)
        assert (line["low"], line["high"]) == pytest.approx(ends)


def test_the_floor_of_accuracy_is_what_calibrated_models_reach_at_least():
    """Lower is worse for accuracy: 95 % of calibrated models have more, and p is the share with at most as much."""
    h, n = 0.8, 400
    probs = np.column_stack([np.full(n, h), np.full(n, 1 - h)])
    lines = []
    for right in (300, 340):
        p = cc.Predictions(probs, (np.arange(n) >= right).astype(int))
        found = cc.estimate(p, None, "accuracy")
        lines.append(cc.inference.estimate_line(found))
        assert found.noise_floor.p_value == pytest.approx(binom.cdf(right, n, h), abs=0.02)
    for line in lines:
        assert line.floor == pytest.approx(binom.ppf(0.05, n, h) / n, abs=0.006)
        assert line.floor < h


@pytest.mark.parametrize(("right", "wrong"), [(60, 9), (9, 60)])
def test_a_ranking_with_one_thin_side_has_no_interval(right, wrong):
    rng = np.random.default_rng(0)
    z = np.r_[np.ones(right, bool), np.zeros(wrong, bool)]
    h = np.clip(0.7 + 0.1 * z + rng.normal(0, 0.1, len(z)), 0.05, 0.95)
    rows = cc.Predictions.from_confidence(h, z)
    line = cc.inference.skills({"net": rows}).iloc[0]
    assert line["auroc"] == pytest.approx(by_hand.auroc(h, z))
    assert np.isnan(line[["auroc_low", "auroc_high", "skill_low", "risk_area_low"]].astype(float)).all()
    assert line["note"]
    enough = cc.Predictions.from_confidence(np.r_[h, h], np.r_[z, z])
    assert cc.inference.skills({"net": enough}).iloc[0]["auroc_low"] > 0


@pytest.mark.parametrize(("events", "others", "known"), [(4, 80, False), (80, 4, False), (5, 80, True), (80, 5, True)])
def test_the_auroc_of_a_risk_needs_five_rows_of_either_side(events, others, known):
    rng = np.random.default_rng(1)
    y = np.r_[np.ones(events, int), np.zeros(others, int)]
    risk = np.clip(0.4 + 0.2 * y + rng.normal(0, 0.15, len(y)), 0.02, 0.98)
    scores = cc.risk.scores(cc.Predictions(np.column_stack([1 - risk, risk]), y)).set_index("measure")
    assert scores.loc["auroc", "value"] == pytest.approx(by_hand.auroc(risk, y == 1))
    assert bool(scores.loc["auroc", "low"] > 0) is known
    assert bool(scores.loc["auroc", "note"]) is not known


def test_another_seed_of_the_lab_draws_other_rows():
    data = data_of("three")
    tables = []
    for seed in (0, 0, 1):
        exhibit = EXHIBITS.make("lab-curve", n=200, seed=seed)
        frame = data.scene.get(exhibit.table(data.scene))
        tables.append(frame[frame["of"] == "sample"].reset_index(drop=True))
        rows = data.scene.get(exhibit.sample())
        same = cc.lab.sample("drawn", 200, seed)
        assert np.array_equal(rows.probs, same.probs)
        assert np.array_equal(rows.labels, same.labels)
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])
    for key, options in (("lab-errors", {"draws": 3}), ("lab-distances", {"draws": 3, "n": 100})):
        made = [data.scene.get(EXHIBITS.make(key, seed=s, **options).table(data.scene)) for s in (0, 1)]
        assert not made[0].equals(made[1])


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("key", ["top-label-hb", "confidence-hb", "class-wise-hb"])
def test_another_seed_of_histogram_binning_draws_anew(key, tied):
    """The seed determines the rows that place edges for tied scores, and the perturbation that separates values."""
    rng = np.random.default_rng(2)
    h = rng.choice([0.6, 0.7, 0.8], 600) if tied else rng.uniform(0.55, 0.95, 600)
    fit = cc.Predictions(np.column_stack([h, 1 - h]), (rng.random(600) > h).astype(int))
    delta = 0.0 if tied else 0.001
    outputs = []
    for seed in (0, 0, 1):
        made = cc.CALIBRATORS.make(key, random_state=seed, points_per_bin=60, delta=delta).fit_on(fit)
        outputs.append(np.asarray(made.apply(fit).confidence))
    assert np.array_equal(outputs[0], outputs[1])
    apart = np.abs(outputs[0] - outputs[2]).max()
    assert apart > 0
    assert tied or apart <= delta


def test_models_are_judged_on_the_rows_that_all_of_them_answer():
    """An abstaining model leaves out hard rows: a model compared with it is evaluated without them, too."""
    data = data_of("risk")
    abstaining = next(model for model in data.models.values() if not model.answered.all())
    assert 0 < (~abstaining.answered).sum() < len(abstaining)
    before = data.base.only(abstaining.answered)
    frame = data.scene.get(EXHIBITS.make("summary").table(data.scene)).set_index("model")
    alike, every = (by_hand.log_loss(rows.probs, rows.label) for rows in (before, data.base))
    assert alike != pytest.approx(every, abs=1e-6)
    assert frame.loc[data.title, "Log loss"] == pytest.approx(alike)


def test_rows_that_are_abstained_on_claim_nothing_in_any_notion():
    """Uniform probabilities on abstained rows are no claim of one in K."""
    data = data_of("risk")
    model = data.scene.models.shown[-1]
    rows = data.scene.get(model.predictions)
    assert rows.abstained.sum() == 3
    for notion in ("event", "class-wise", "class-specific", "confidence", "top-label"):
        found = cc.estimate(rows, notion)
        assert found.value == pytest.approx(cc.estimate(rows.answered, notion).value), notion
        assert cc.inference.estimate_line(found).rows == rows.n_rows - 3
    event = cc.inference.claimed_rows(rows, "event")
    assert event.n_rows == rows.n_rows
    assert event.answered.n_rows == rows.n_rows - 3
    assert cc.diagrams.risk_diagram(rows).frame()["count"].sum() == rows.n_rows - 3
    assert cc.findings(rows, notion="event").query("kind == 'direction'")["rows"].tolist() == [rows.n_rows - 3]
