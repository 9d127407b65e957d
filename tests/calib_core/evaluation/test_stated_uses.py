"""A calibrator chosen for a stated use: the confidence, decisions at costs, and no group of a column harmed."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sharp_rows import rows

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions
from calib_core.evaluation.advice import sentences
from calib_core.evaluation.candidates import IDENTITY, FoldTrial, candidates_for, simplicity
from calib_core.evaluation.choice import Remaining, _Tried
from calib_core.evaluation.cross_fitting import over_folds, plain_folds
from calib_core.evaluation.decisions import decision_costs
from calib_core.evaluation.group_gains import HARM, GroupGains
from calib_core.inference.comparison.score_differences import mean_difference, mean_gain, of_own_outcomes
from calib_core.predictions.proper_scores import log_losses
from calib_core.registry.registry import Recipe
from calib_core.text import inside, rounded_up, short_percent
from calib_core.text import score as written

TEMPERATURE = Recipe("CALIBRATORS", "temperature")


def line_of(found, title):
    frame = found.frame().set_index("title")
    return frame.loc[title]


def cross_fitted(p, recipe=TEMPERATURE):
    fold = plain_folds(p, 7)
    return over_folds(p, p, recipe, fold, fold)


def confidence_losses(p):
    """Return minus the log probability of what happened to the claim of each row, one by one."""
    return np.array([-np.log(h if right else 1 - h) for h, right in zip(p.confidence, p.correct, strict=True)])


def risks(n=1500, seed=0, distort=lambda z: 2 * z, **extras):
    rng = np.random.default_rng(seed)
    z = rng.normal(-0.7, 1.3, n)
    s = expit(distort(z))
    return Predictions(np.column_stack([1 - s, s]), (rng.random(n) < expit(z)).astype(int), **extras)


@pytest.mark.parametrize("key", ["temperature", "vector", "top-label-hb"])
def test_gain_of_the_confidence_is_that_of_each_claim_with_its_own_class(key):
    p = rows(500, k=4)
    found = cc.choose(p, [key], score="confidence")
    after = cross_fitted(p, Recipe("CALIBRATORS", key))
    before = confidence_losses(p)
    assert found.before == pytest.approx(before.mean(), rel=1e-9)
    mine = line_of(found, cc.CALIBRATORS.recipe(key).title)
    assert mine["gain"] == pytest.approx((before - confidence_losses(after)).mean(), abs=1e-9)


def test_two_classes_have_one_loss_by_any_name():
    p = risks(400)
    table = [cc.choose(p, ["temperature"], score=key).frame() for key in ("confidence", "log-loss")]
    for name in ("score", "gain", "low", "high"):
        np.testing.assert_allclose(table[0][name], table[1][name], rtol=1e-9)


@pytest.mark.parametrize("costs", ["0.2", "0 5; 1 0", np.array([[0.0, 5.0], [1.0, 0.0]]), ""])
def test_costs_are_those_of_the_table_of_decisions(costs):
    p = risks()
    found = cc.choose(p, ["temperature", "intercept"], score="cost", costs=costs)
    for title, key in (("Temperature scaling", "temperature"), ("Intercept update", "intercept")):
        after = cross_fitted(p, Recipe("CALIBRATORS", key))
        table = decision_costs({"before": p, "after": after}, costs, {"after": "before"}).set_index("model")
        assert found.before == pytest.approx(table.loc["before", "realised"], abs=1e-12)
        assert line_of(found, title)["gain"] == pytest.approx(-table.loc["after", "change"], abs=1e-12)
    assert cc.choose(p, ["temperature"], score="cost").before == pytest.approx(1 - p.accuracy, abs=1e-12)


def test_costs_without_that_score_and_bad_costs_are_refused():
    p = risks(200)
    with pytest.raises(InputError, match="costs are for score='cost'"):
        cc.choose(p, costs="0.2")
    with pytest.raises(InputError, match="between 0 and 1"):
        cc.choose(p, ["temperature"], score="cost", costs="1.2")
    with pytest.raises(NotAnswerable, match="probabilities of all classes"):
        cc.choose(Predictions.from_confidence([0.8, 0.7, 0.6], [1, 0, 1]), score="cost")
    with pytest.raises(NotAnswerable, match="no metadata columns"):
        cc.choose(p, worst_of="site")


@pytest.mark.parametrize("use", [{"score": "confidence"}, {"score": "cost", "costs": ""}])
def test_a_blend_is_that_of_the_log_loss_whatever_it_is_used_for(use):
    p = rows(400, k=3, sharp=3.0)
    by_log_loss, found = cc.choose(p), cc.choose(p, **use)
    np.testing.assert_array_equal(by_log_loss.frame()["weight"], found.frame()["weight"])
    assert found.evidence == by_log_loss.evidence
    assert found.recipes == by_log_loss.recipes


def test_a_use_that_gains_nothing_leaves_the_model():
    """If all costs are equal, no map changes a cost."""
    p = risks()
    assert cc.choose(p).recalibrate
    found = cc.choose(p, score="cost", costs="1 1; 1 1")
    assert not found.recalibrate
    assert found.gain.point == 0
    assert "By log loss" in found.sentence
    assert "does not lower the decision cost" in found.sentence
    gains = cc.choose(p, score="cost", costs="0.1")
    assert gains.recalibrate
    assert gains.gain.point > 0
    assert "lowers decision cost" in gains.sentence


def test_held_out_rows_confirm_by_log_loss_and_a_lower_cost():
    fit, held_out = risks(1500, seed=1), risks(1500, seed=2)
    found = cc.choose(fit, score="cost", costs="0.1", held_out=held_out)
    assert found.recalibrate
    assert "the interval of its gain in log loss must be above 0, too" in " ".join(found.notes)
    assert "the whole interval of its gain in log loss on them is above 0, and if the decision cost falls" in (
        found.held_out_rule
    )
    # Where the model was right on the held-out rows, the log loss does not confirm.
    wrong = cc.choose(fit, score="cost", costs="0.1", held_out=risks(1500, seed=2, distort=lambda z: z))
    assert not wrong.recalibrate


@pytest.mark.parametrize("costs", ["0.1", "0 9; 1 0"])
def test_intervals_of_a_cost_are_those_of_its_change(costs):
    """The loss of each label is that of the decision in a row: transposed costs would give other ends."""
    p = risks(500)
    mine = line_of(cc.choose(p, ["temperature"], score="cost", costs=costs), "Temperature scaling")
    after, table = cross_fitted(p), cc.evaluation.decisions.cost_matrix(costs, 2)
    decided = lambda probs: table[(probs @ table.T).argmin(axis=1)]  # noqa: E731
    lost = [decided(each.probs)[np.arange(500), p.labels] for each in (p, after)]
    by_hand = mean_gain(p, after, lost[0] - lost[1], decided, 0.9)
    expected = by_hand.point, by_hand.low, by_hand.high
    np.testing.assert_allclose(mine[["gain", "low", "high"]].astype(float), expected, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_the_unit_of_costs_changes_no_recommendation(scale):
    p, costs = rows(900, k=3, sharp=3.0), np.array([[0.0, 1, 8], [1, 0, 1], [1, 3, 0]])
    one, other = (cc.choose(p, score="cost", costs=costs * each) for each in (1.0, scale))
    assert one.recipe == other.recipe
    assert one.equals == other.equals
    assert other.gain.point == pytest.approx(scale * one.gain.point)


def test_log_loss_confirms_on_held_out_rows_and_the_sentence_says_so():
    """Held-out rows of which the model was right for all but the risks near the threshold."""
    fit = risks(1500, seed=1)
    rng = np.random.default_rng(5)
    z = rng.normal(-0.7, 1.3, 3000)
    s = expit(2 * z)
    truth = np.where((s > 0.02) & (s < 0.1), 3 * s, s)  # above the threshold of 0.1 in truth
    judged = Predictions(np.column_stack([1 - s, s]), (rng.random(3000) < truth).astype(int))
    found = cc.choose(fit, score="cost", costs="0.1", held_out=judged)
    assert not found.recalibrate
    assert found.gain.point > 0
    assert "its gain in log loss on these rows is not significant, which is also required" in found.sentence
    # Shown by log loss, but the cost does not fall where decisions are all the same.
    same = cc.choose(
        fit, score="cost", costs="0.1", held_out=risks(1500, 2).take(np.flatnonzero(risks(1500, 2).probs[:, 1] > 0.5))
    )
    assert not same.recalibrate


def sites(n=2400, seed=0, off=("C",), k=2):
    """Return rows of three sites of which some are far too certain."""
    rng = np.random.default_rng(seed)
    site = rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2])
    z = rng.normal(size=(n, k)) * 1.3
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    logits = z * np.where(np.isin(site, off), 3.0, 1.0)[:, None]
    return Predictions(Predictions.from_logits(logits, y).probs, y, metadata=pd.DataFrame({"site": site}))


@pytest.mark.parametrize("k", [2, 3])
def test_gains_by_group_are_those_of_their_rows_with_a_corrected_level(k):
    p = sites(k=k)
    found = cc.choose(p, ["temperature"], worst_of="site")
    after = cross_fitted(p)
    score = cc.ESTIMATORS.make("log-loss")
    lines = found.groups.frame().set_index("group")
    assert len(lines) == 3
    for site in "ABC":
        where = np.flatnonzero(p.metadata["site"] == site)
        one, two = p.take(where), after.take(where)
        apart = score.losses(one) - score.losses(two)
        by_hand = mean_gain(one, two, apart, score.label_losses, 1 - 0.1 / 3)
        mine = lines.loc[f"site = {site}"]
        assert mine["rows"] == len(where)
        np.testing.assert_allclose(
            mine[["before", "gain", "low", "high"]].astype(float),
            [score.losses(one).mean(), apart.mean(), by_hand.low, by_hand.high], rtol=1e-7, atol=1e-12,
        )  # fmt: skip
    assert found.groups.frame()["gain"].is_monotonic_increasing
    assert found.groups.sentence.startswith(found.groups.frame()["group"].iloc[0])


def test_a_calibrator_that_harms_a_group_is_not_recommended():
    """One temperature for all makes two of three sites worse."""
    p = sites()
    assert cc.choose(p, ["temperature"]).recalibrate
    alone = cc.choose(p, ["temperature"], worst_of="site")
    assert not alone.recalibrate
    assert set(alone.groups.harmed["group"]) <= {"site = A", "site = B"}
    assert len(alone.groups.harmed)
    assert "harms a group" in alone.sentence
    found = cc.choose(p, worst_of="site")
    assert found.recalibrate
    assert not len(found.groups.harmed)
    assert any(dict(each.params).get("by") == "site" for each in found.recipes)
    assert "multicalibrated" in found.recipe.to_json()
    assert found.gain.point > cc.choose(p).gain.point


def test_harm_needs_to_be_significant_and_a_tenth_of_the_gain():
    """Computed by hand: groups lose 1, 0.2 (unsurely) and 0.001 for a gain of 0.1 in all rows."""
    lines = pd.DataFrame(
        {"group": list("abc"), "rows": 99, "before": 1.0, "gain": [-1.0, -0.2, -0.001],
         "low": [-1.1, -0.5, -0.002], "high": [-0.9, 0.1, -0.0005]}
    )  # fmt: skip
    assert pytest.approx(0.1) == HARM
    assert GroupGains("site", "log-loss", 0.9, 0.1, lines).harmed["group"].tolist() == ["a"]
    assert GroupGains("site", "log-loss", 0.9, 0.0, lines).harmed["group"].tolist() == ["a", "c"]


def test_a_blend_keeps_off_a_group_that_it_harms_and_held_out_rows_are_asked_too():
    fit, held_out = sites(seed=3), sites(seed=4)
    found = cc.choose(fit, worst_of="site", held_out=held_out)
    assert found.recalibrate
    fitted = found.recipe.build().fit_on(fit).apply(held_out)
    score = cc.ESTIMATORS.make("log-loss")
    apart = pd.Series(score.losses(held_out) - score.losses(fitted)).groupby(held_out.metadata["site"]).mean()
    mine = found.groups.frame().set_index("group")["gain"]
    np.testing.assert_allclose(sorted(mine), sorted(apart), atol=1e-9)


def test_harm_on_either_rows_is_named():
    fit = sites(1500, seed=1)
    harmless = sites(1500, seed=2, off=("A", "B", "C"))  # the temperature is right for every site there
    found = cc.choose(fit, ["temperature"], worst_of="site", held_out=harmless)
    assert not found.recalibrate
    assert "In cross-validation, site = " in found.sentence
    assert "is harmed: log loss rises by" in found.sentence
    everywhere = sites(1500, seed=3, off=("A", "B", "C"))
    assert cc.choose(everywhere, ["temperature"], worst_of="site", held_out=harmless).recalibrate
    only_there = cc.choose(everywhere, ["temperature"], worst_of="site", held_out=sites(1500, seed=4, off=("A", "B")))
    assert not only_there.recalibrate
    assert only_there.gain.low > 0
    assert only_there.sentence.count("site = C is harmed: log loss rises by") == 1


def test_the_simpler_calibrator_beside_a_blend_harms_no_group_either():
    for held_out in (None, sites(1500, seed=6)):
        found = cc.choose(sites(1500, seed=5), worst_of="site", held_out=held_out)
        if found.simple is None:
            continue
        judged = sites(1500, seed=5) if held_out is None else held_out
        after = found.simple.build().fit_on(sites(1500, seed=5)).apply(judged)
        trial = FoldTrial(judged, np.zeros(judged.n_rows, dtype=int), 1, "log-loss", 0.9)
        assert not len(GroupGains.of(trial, after, trial.gains(after, None), "site").harmed)
    tried = SimpleNamespace(blended=3, order=((-1.0,), (0.0,), (1.0,), (2.0,)), recipes=("no", "a", "b", "blend"))
    lines = [{"low": 1.0}] * 4
    assert _Tried._simple(tried, 3, [1, 2, 3], lines, lambda i: True) == "a"
    assert _Tried._simple(tried, 3, [1, 2, 3], lines, lambda i: i != 1) == "b"
    assert _Tried._simple(tried, 3, [1, 2, 3], lines, lambda i: False) is None


def test_in_place_of_one_that_harms_the_one_with_the_largest_least_gain_is_taken():
    """Computed by hand: 1 harms, 2 and 3 do not, 4 has no significant gain."""
    gains = {i: gains_of(least) for i, least in ((1, -1.0), (2, 0.1), (3, 0.2), (4, 0.3))}
    tried = SimpleNamespace(lines=[{"low": low} for low in (0, 1, 1, 1, -1)])
    assert _Tried._for_groups(tried, 1, gains) == 3
    assert _Tried._for_groups(tried, 2, gains) == 2
    assert _Tried._for_groups(tried, 1, {1: gains[1], 4: gains[4]}) == 0
    assert _Tried._for_groups(tried, 0, gains) == 0


def gains_of(least, low=None, high=None, more=0.5, small=0, **extras):
    ends = {"low": [least - 0.05 if low is None else low, 0.4], "high": [least + 0.05 if high is None else high, 0.6]}
    lines = pd.DataFrame({"group": ["site = a", "site = b"], "rows": 99, "before": 1.0, "gain": [least, more], **ends})
    few = pd.DataFrame({"group": ["site = c"] * small, "rows": 19}, columns=lines.columns)
    lines = pd.concat([lines, few], ignore_index=True) if small else lines
    return GroupGains("site", "log-loss", 0.9, 0.5, lines, **extras)


TWO = ", corrected for 2 groups"
FOR_TWO = f"90 % interval of the gain{TWO}"
LEAST, LOSS = "site = a gains least: log loss", "does not clearly change"
LITTLE = "2 groups have fewer than 20 rows and are not judged."


@pytest.mark.parametrize(
    ("gains", "sentence"),
    [
        (gains_of(0.2), f"{LEAST} falls by 0.2 ({FOR_TWO}: 0.15 to 0.25)."),
        (gains_of(-0.2), f"site = a is harmed: log loss rises by 0.2 ({FOR_TWO}: −0.25 to −0.15)."),
        (gains_of(-0.01), f"{LEAST} {LOSS} (gain −0.01; 90 % interval{TWO}: −0.06 to 0.04)."),
        (gains_of(0.01), f"{LEAST} {LOSS} (gain 0.01; 90 % interval{TWO}: −0.04 to 0.06)."),
        (gains_of(0.0, 0.0, 0.0), f"{LEAST} is unchanged."),
        (gains_of(0.2, np.nan, np.nan, small=2), f"{LEAST} falls by 0.2 (too few rows for an interval). {LITTLE}"),
        (gains_of(0.2, tested=False), f"{LEAST} falls by 0.2 ({FOR_TWO}: 0.15 to 0.25, a rough guide)."),
        (gains_of(0.2, where="In cross-validation, "), f"In cross-validation, {LEAST} falls by 0.2 ({FOR_TWO}: 0.15 to "
                                                       "0.25)."),
    ],
)  # fmt: skip
def test_sentences_on_a_group_state_its_gain(gains, sentence):
    assert gains.sentence == sentence


def test_the_harmed_group_is_named_even_if_another_gains_less():
    """An unclear loss of one group comes first in the table; a clear one of another is the harm."""
    lines = pd.DataFrame(
        {"group": ["site = a", "site = b"], "rows": 99, "before": 1.0, "gain": [-0.3, -0.1], "low": [-0.9, -0.15],
         "high": [0.3, -0.05]}
    )  # fmt: skip
    assert GroupGains("site", "log-loss", 0.95, 0.02, lines).sentence.startswith("site = b is harmed: log loss rises")
    small = GroupGains("site", "log-loss", 0.9, 0.1, lines.assign(rows=19))
    assert small.sentence == "By site, no group is judged: all have fewer than 20 rows."


def test_costs_of_a_record_are_those_that_were_given():
    p = risks(200)
    costs = np.array([[0.25, 1234567.0], [0.123456789, 0.0]])
    assert cc.choose(p, ["temperature"], score="cost", costs=costs).costs == "0.25 1234567; 0.123456789 0"
    assert "crosses 50 %" not in cc.choose(p, ["temperature"], score="cost", costs="0.1").sentence
    with pytest.raises(InputError, match="costs are for"):
        cc.choose(p, ["temperature"], costs=costs)


def test_means_of_own_outcomes_count_weights_and_groups():
    p = Predictions([[0.6, 0.4]] * 40, [0, 1] * 20, weights=np.tile([0.5, 1.5], 20))
    apart = np.tile([1.0, 3.0], 20) + np.linspace(0, 0.1, 40)
    assert of_own_outcomes(p, apart, 0.9).point == pytest.approx(np.average(apart, weights=p.weights))
    grouped = p.replace(weights=None, groups=np.arange(40) // 2)
    alone, together = (of_own_outcomes(each, apart, 0.9) for each in (p.replace(weights=None), grouped))
    assert together.high - together.low < alone.high - alone.low, "the two kinds of rows cancel within a group"


def test_joined_claims_keep_their_own_outcomes_in_the_order_of_the_rows():
    p = rows(300, k=4, sharp=0.3)
    trial = FoldTrial(p, plain_folds(p, 7), 7, "confidence", 0.9)
    after = trial.seen(cross_fitted(p, Recipe("CALIBRATORS", "dirichlet")), None)
    places = [np.flatnonzero(trial.fold == f) for f in range(7)]
    joined = trial.joined([after.take(place) for place in places], places)
    np.testing.assert_array_equal(joined.true_labels, after.true_labels)
    np.testing.assert_array_equal(joined.probs, after.probs)
    gains = trial.gains(after, None)
    mean, _, _ = trial.test(after, gains)
    by_hand = mean_difference(gains, np.ones(300), 0.9)
    assert (mean.low, mean.high) == pytest.approx((by_hand.low, by_hand.high)), "classes differ: Student's interval"


def test_rows_that_need_not_sum_to_one_are_judged_by_their_claims():
    rng = np.random.default_rng(0)
    q = rng.uniform(0.1, 0.9, (200, 2))
    p = Predictions.from_scores(q, (rng.random(200) < q[:, 1] / q.sum(axis=1)).astype(int))
    assert cc.choose(p, ["temperature"], score="confidence").before == pytest.approx(confidence_losses(p).mean())


def test_record_and_notes_state_the_use():
    p = sites()
    record = cc.choose(p, ["temperature"], score="cost", costs="0 5; 1 0", worst_of="site").record()
    assert record["costs"] == "0 5; 1 0"
    assert [line["group"] for line in record["groups"]]
    assert record["worst_of"] == "site"
    assert "costs" not in cc.choose(p, ["temperature"]).record()


def test_simulated_costs_fall_more_than_by_a_choice_that_looks_at_costs_alone():
    """The numbers of the docstring of ``choose`` (tests/simulations/stated_uses.py); the twin chooses by the cost."""
    cells = pd.read_csv(Path(__file__).parents[2] / "simulations/stated_uses.csv")
    assert len(cells) == 36
    share = cells[["use", "by_cost", "log_loss"]].sum() / cells["possible"].sum()
    np.testing.assert_allclose(share, [0.854, 0.494, 0.943], atol=5e-4)
    worse = cells[["use_worse", "log_loss_worse"]].mean()
    np.testing.assert_allclose(worse, [0.0347, 0.0903], atol=5e-4)


def test_the_trial_by_claims_judges_a_changed_class_by_its_own_outcome():
    """A falsified twin keeps the outcomes of the first classes."""
    p = rows(600, k=4, sharp=0.3)
    after = cross_fitted(p, Recipe("CALIBRATORS", "dirichlet"))
    assert (after.predicted != p.predicted).any()
    trial = FoldTrial(p, plain_folds(p, 7), 7, "confidence", 0.9)
    gains = trial.gains(after, None)
    kept = np.where(p.correct, -np.log(after.confidence), -np.log(1 - after.confidence))
    np.testing.assert_allclose(gains, confidence_losses(p) - confidence_losses(after), atol=1e-9)
    assert np.abs(gains - (confidence_losses(p) - kept)).max() > 0.1


def test_named_candidates_are_chosen_by_the_use_itself():
    p = rows(500, k=3, sharp=3.0)
    found = cc.choose(p, list(candidates_for(p))[:4], score="confidence")
    assert np.isnan(found.evidence)
    assert not found.blended


def test_a_group_with_few_rows_is_the_last_line_and_has_no_numbers():
    p = sites(400, seed=3)
    column = p.metadata["site"].where(np.arange(400) >= 19, "small")
    p = p.replace(metadata=p.metadata.assign(site=column))
    found = cc.choose(p, ["temperature"], worst_of="site")
    assert found.groups.frame()["rows"].sum() == 400
    last = found.groups.frame().iloc[-1]
    assert last["group"] == "site = small"
    assert last[["before", "gain", "low", "high"]].isna().all()
    assert found.record()["groups"][-1] == {"group": "site = small", "rows": 19, "before": None, "gain": None,
                                            "low": None, "high": None}  # fmt: skip
    assert found.groups.least == found.groups.frame()["gain"].min()
    others = found.groups.frame().iloc[:-1]
    assert (others["rows"] > 19).all()
    trial = FoldTrial(p, plain_folds(p, 7), 7, "log-loss", 0.9)
    after = cross_fitted(p)
    where = np.flatnonzero(column == others["group"].iloc[0].removeprefix("site = "))
    gains = trial.gains(after, None)
    gain = trial.part(where).test(after.take(where), gains[where], 1 - 0.1 / len(others))[0]
    assert others["low"].iloc[0] == pytest.approx(gain.low), "the level is corrected for the groups that are judged"


def test_a_calibrator_that_fails_on_held_out_rows_has_gains_by_group_in_cross_validation():
    fit = sites(900, seed=1)
    fit = fit.replace(metadata=fit.metadata.assign(ward=fit.metadata["site"]))
    by_ward = Recipe("CALIBRATORS", "logistic-recalibration", (("by", "ward"),))
    found = cc.choose(fit, [by_ward], worst_of="site", held_out=sites(900, seed=2))
    assert not found.recalibrate
    assert "ward" in line_of(found, by_ward.title)["note"]
    inside = cc.choose(fit, [by_ward], worst_of="site")
    assert found.groups.frame().equals(inside.groups.frame())
    assert found.groups.where == "In cross-validation, "


def steep(n=900, seed=1, **extras):
    """Return risks whose log-odds have a slope of 0.5 and a shift of 0.4."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-0.9, 1.3, n)
    s = expit(z)
    return Predictions(np.column_stack([1 - s, s]), (rng.random(n) < expit(0.4 + 0.5 * z)).astype(int), **extras)


@pytest.mark.parametrize(
    ("how", "key"), [({}, "logistic-recalibration"), ({"score": "cost", "costs": 0.2}, "temperature")]
)
def test_the_numbers_of_the_simpler_calibrator_stand_beside_those_of_the_blend(how, key):
    """At a threshold of 0.2 a temperature costs as little as the blend, although its mean risk is off."""
    found = cc.choose(steep(), **how)
    assert found.simple.key == key
    simple, blend = (line_of(found, each.title) for each in (found.simple, found.recipe))
    gains = found.price[0]
    for line, name in ((simple, "the simpler one"), (blend, "the blend")):
        ends = f"{written(line['low'])} to {written(line['high'])}"
        assert f"{written(line['gain'])} with {name} (90 % interval {ends})" in gains
    (means,) = (text for text in found.price if "mean predicted risk" in text.lower())
    before = line_of(found, "Original model")["mean_risk"]
    texts = [f"ean predicted risk rises from {short_percent(before)} to {short_percent(line['mean_risk'])}."
             for line in (simple, blend)]  # fmt: skip
    both = f"With the simpler one, m{texts[0]} With the blend, m{texts[1]}"
    alike = f"M{texts[1]}", f"With either, m{texts[1]}"
    assert means in ([both] if key == "temperature" else alike)
    (accuracy,) = (text for text in found.price if "accuracy" in text.lower())
    assert accuracy.startswith(f"With {'the blend' if key == 'temperature' else 'the simpler one'}, accuracy")
    left = found.remaining(steep())
    assert found.with_recommended(left.sentence) in sentences(found, left)
    assert found.with_recommended(left.sentence).startswith("With the blend, ")


@pytest.mark.parametrize("how", [{}, {"score": "cost", "costs": 0.2}])
def test_the_error_after_the_simpler_calibrator_is_stated_beside_that_after_the_blend(how):
    """It is the error of the same rows after the simpler calibrator, computed here without the choice."""
    p = steep()
    found = cc.choose(p, **how)
    simpler = found.remaining(p, recipe=found.simple)
    fold = plain_folds(p, len(found.picks), found.random_state)
    twin = cc.inference.primary(over_folds(p, p, found.simple, fold, fold)).line
    assert simpler.line.line.point == twin.point
    left = replace(found.remaining(p), simpler=simpler)
    text = " ".join(sentences(found, left))
    before, after = (short_percent(each.line.line.point) for each in (found.remaining(p, recipe=IDENTITY), simpler))
    assert f"the calibration error is estimated to fall from {before} to {after} (" in text
    if simpler.change != left.change:
        assert f"With the simpler one, {inside(simpler.change)}" in text
        assert f"With the blend, {inside(left.change)}" in text
        assert text.index(inside(simpler.change)) < text.index(inside(left.change))
    if simpler.sentence == left.sentence:
        assert f"With either, {inside(left.sentence)}" in sentences(found, left)
    else:
        both = f"With the simpler one, {inside(simpler.sentence)} With the blend, {inside(left.sentence)}"
        assert both in sentences(found, left)


def test_an_error_that_does_not_fall_after_the_simpler_calibrator_is_stated_with_that_before():
    p = steep()
    same = Remaining.of(p, p, 0.02, 0.9)
    assert same.fall == ""
    line = same.line.line
    assert same.change == (
        f"The calibration error is estimated at {line.written(line.point)} (90 % interval {line.interval}), before "
        f"recalibration at {line.written(line.point)}."
    )


def test_times_chosen_count_the_folds_without_which_it_would_be_named():
    """The twin takes the simplest candidate with 90 % of the best gain in the other folds."""
    p = rows(900, k=5, sharp=2.0)
    found = cc.choose(p)
    table = found.frame()
    blend, simple = (table.iloc[found.recipes.index(each)] for each in (found.recipe, found.simple))
    assert blend["picked"] == sum(pick == found.recipe for pick in found.picks) == 7
    fold = plain_folds(p, 7)
    singles = [each for each in found.recipes[1:] if each.key not in ("top-label-hb", "blend")]
    gains = np.array([log_losses(p) - log_losses(cross_fitted(p, each)) for each in singles])
    totals = np.array([gains[:, fold != f].sum(axis=1) for f in range(7)])
    near = totals[:, singles.index(found.simple)] >= 0.9 * totals.max(axis=1)
    assert found.simple.key == "temperature", "nothing is simpler"
    assert simple["picked"] == near.sum() == 7
    assert table["picked"].sum() == 14


def test_without_a_fold_the_use_must_gain_too():
    """The twin adds the errors that the blend saves in the other folds; by log loss it is better without each."""
    p = rows(300, k=4, sharp=2.0, seed=0)
    found = cc.choose(p, score="cost")
    params = dict(found.recipe.params)
    shares = np.array(params["weights"]) / sum(params["weights"])
    probs = sum(w * cross_fitted(p, each).probs for each, w in zip(params["members"], shares, strict=True))
    saved = (probs.argmax(axis=1) == p.true_labels) - p.correct.astype(int)
    fold = plain_folds(p, 7)
    gains = [saved[fold != f].sum() > 0 for f in range(7)]
    assert [pick != found.recipes[0] for pick in found.picks] == gains
    assert 0 < sum(gains) < 7
    assert found.evidence > 10
    assert f"both are so in {sum(gains)} of 7 cases" in " ".join(found.notes)
    assert found.frame()["picked"].iloc[0] == 7 - sum(gains)
    assert "not a clear change; log loss clearly falls." in found.effect()


def test_a_blend_needs_the_rows_of_its_members_by_weight():
    found = cc.choose(rows(900, k=5, sharp=2.0))
    params = dict(found.recipe.params)
    needed = [line_of(found, member.title)["rows_needed"] for member in params["members"]]
    mean = np.dot(needed, params["weights"]) / sum(params["weights"])
    mine = line_of(found, found.recipe.title)["rows_needed"]
    assert mine == rounded_up(mean) > 0
    assert f"For a good fit, the blend needs about {mine} calibration rows; you have 900." in found.price
    assert simplicity(found.recipe, 5)[-1] == np.inf, "a blend stays the least simple"
    (members,) = (text for text in found.price if text.startswith("The blend is a weighted average"))
    by_weight = sorted(params["members"], key=lambda member: -line_of(found, member.title)["weight"])
    for i, member in enumerate(by_weight):
        weight = short_percent(line_of(found, member.title)["weight"])
        assert (f"{weight} for {inside(member.title)}" in members) == (i < 3), "the largest three"


def test_a_blend_that_harms_a_group_is_named_beside_the_calibrator_that_replaces_it():
    p = sites(1500, seed=1, off=("B", "C"))
    found = cc.choose(p, worst_of="site")
    assert (found.recipe.key, found.harmful.key) == ("multicalibrated", "blend")
    name = f"A {found.harmful.title[0].lower()}{found.harmful.title[1:]}"
    assert f"{name} is not recommended: in cross-validation, it harms a group." in found.price
    assert not any("less simple" in text for text in found.price)
    params = dict(found.harmful.params)
    shares = np.array(params["weights"]) / sum(params["weights"])
    probs = sum(w * cross_fitted(p, each).probs for each, w in zip(params["members"], shares, strict=True))
    apart = pd.Series(log_losses(p) - log_losses(p.with_probs(probs))).groupby(p.metadata["site"]).mean()
    assert apart["A"] < -0.1 * apart.mean()
    assert not len(found.groups.harmed)


def test_a_refusal_names_the_calibrator_that_harms_a_group_not_the_best():
    found = cc.choose(sites(1500, seed=2), ["temperature", "dirichlet", "vector"], worst_of="site")
    assert found.winner.key == "dirichlet"
    assert found.harmful == found.about == TEMPERATURE
    assert found.headline == "No calibrator is recommended"
    assert found.effect().startswith("Temperature scaling lowers the log loss of all rows, but harms a group.")
    assert cc.choose(risks(400), ["temperature"]).harmful is None


def test_groups_are_judged_by_the_costs_that_were_given():
    p, costs = sites(900, seed=4, off=("A", "B", "C")), "0 5; 1 0"
    found = cc.choose(p, ["temperature"], score="cost", costs=costs, worst_of="site")
    after = cross_fitted(p)
    for line in found.groups.frame().itertuples():
        where = np.flatnonzero(p.metadata["site"] == line.group.removeprefix("site = "))
        before, gain = (decision_costs({"": each.take(where)}, costs)["realised"][0] for each in (p, after))
        assert line.before == pytest.approx(before)
        assert line.gain == pytest.approx(before - gain)
        trial = FoldTrial(p.take(where), np.zeros(len(where), dtype=int), 1, "cost", 1 - 0.1 / 3, costs)
        there = after.take(where)
        ends = trial.test(there, trial.gains(there, None))[0]
        assert (line.low, line.high) == pytest.approx((ends.low, ends.high))
