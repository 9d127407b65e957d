"""Laws of grouped rows: rows of a group never count as independent, and the names of groups never matter.

Every row is copied four times as one group: the copies add no information. So every result is about as uncertain as for
the original rows, or is refused with a message.
"""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from generated import ordinary_rows

import calib_core as cc
from calib_core import NotAnswerable, Predictions, diagrams, estimate, inference
from calib_core.estimators import ESTIMATORS
from calib_core.estimators.base import Question
from calib_core.reductions import REDUCTIONS
from calib_core.slices.findings import findings

COPIES, ALMOST = 4, 0.93
N = 200


@pytest.fixture(scope="module")
def once():
    # Calibrated, scores spread out: what was seen is then about as much as what the scores expect.
    probs = np.random.default_rng(3).dirichlet(np.ones(3), N)
    labels = (np.random.default_rng(4).random((N, 1)) > probs.cumsum(axis=1)[:, :2]).sum(axis=1)
    return Predictions(probs, labels)


@pytest.fixture(scope="module")
def copied(once):
    return once.take(np.repeat(np.arange(N), COPIES)).replace(groups=np.repeat(np.arange(N), COPIES))


def other(rows):
    return rows.with_probs(0.8 * rows.probs + 0.2 / 3)


BY_ROW = [key for key in ESTIMATORS if ESTIMATORS[key].flags.judged in ("residuals", "pairs")]
QUICK = [key for key in ESTIMATORS if key not in BY_ROW]
WIDE = [pytest.param("confidence", key, marks=pytest.mark.wide) for key in BY_ROW if key != "max-deviation"]
QUESTIONS = [
    *((None, key) for key in QUICK if "predictions" in ESTIMATORS[key].flags.takes),
    *(("confidence", key) for key in QUICK),
    *((notion, key) for notion in REDUCTIONS if notion != "confidence" for key in ("ece", "mce", "brier")),
    ("confidence", "max-deviation"),
    *WIDE,
]


@pytest.mark.parametrize(("notion", "key"), QUESTIONS)
def test_four_copies_of_a_row_are_no_surer_than_the_row(notion, key, once, copied):
    try:
        first, grouped = estimate(once, notion, key), estimate(copied, notion, key)
    except NotAnswerable:
        return
    for ask in (lambda e: e.interval(), lambda e: e.verdict()):
        try:
            narrow, wide = ask(first), ask(grouped)
        except NotAnswerable:
            continue
        assert wide.high - wide.low >= ALMOST * (narrow.high - narrow.low)
    try:
        narrow, wide = first.noise_floor, grouped.noise_floor
    except NotAnswerable:
        return
    noise = narrow.high - narrow.mean
    # Quantiles of a thousand draws each are off by some percent.
    assert (wide.high - narrow.mean) / noise >= 0.88 if noise else wide.high == narrow.high
    if np.isclose(first.value, grouped.value):  # bins can follow the number of rows
        assert wide.p_value >= ALMOST * narrow.p_value - 0.03


def spread(frame, low, high):
    return (frame[high] - frame[low]).to_numpy(dtype=float)


def in_levels(rows):
    """Return the same rows with one of two confidences."""
    sure = rows.probs.max(axis=1, keepdims=True) > 0.7
    return rows.with_probs(np.where(sure, [0.8, 0.15, 0.05], [0.5, 0.3, 0.2]))


def of_skills(rows):
    frame = inference.skills({"a": rows})
    names = ("accuracy", "overconfidence", "skill", "auroc", "risk_area", "excess_area", "accuracy_answered")
    return np.concatenate([spread(frame, f"{name}_low", f"{name}_high") for name in names])


def of_changes(rows):
    frame = cc.evaluation.decisions.decision_costs({"a": rows, "b": other(rows)}, "0 2 1; 1 0 1; 1 1 0", {"b": "a"})
    if frame["note"].iloc[1]:
        raise NotAnswerable(frame["note"].iloc[1])
    return spread(frame[1:], "change_low", "change_high")


def of_p(test):
    """Return a p-value as a width: more certain results have smaller values."""
    return np.array([test.p_value])


ANSWERS = {
    "bins_standing_out": lambda p: spread(diagrams.bins_standing_out({"a": p}, 5), "low", "high"),
    "bootstrap": lambda p: np.array([inference.bootstrap(Question(p, REDUCTIONS.make("confidence"), ACCURACY)).std()]),
    "class_bias": lambda p: spread(
        diagrams.class_bias(p, fewest=1).frame().sort_values(["class", "label"]), "low", "high"
    ),
    "class_bins": lambda p: spread(diagrams.class_bins(p, 1, 5).frame(), "low", "high"),
    "class_claims": lambda p: spread(diagrams.class_claims({"a": p}, 1), "low", "high"),
    "classes_standing_out": lambda p: np.array(diagrams.classes_standing_out(p, 5).frame().shape, dtype=float),
    "compare": lambda p: spread(inference.compare({"a": p, "b": other(p)}, None, "brier"), "low", "high"),
    "corp_band": lambda p: spread(diagrams.corp_band(p).frame(), "lower", "upper"),
    "kernel_curve": lambda p: spread(diagrams.kernel_curve(p).frame(), "lower", "upper"),
    "kernel_curves": lambda p: spread(
        diagrams.kernel_curves(p, "confidence", band="pointwise")[0].frame(), "lower", "upper"
    ),
    "decision_curve": lambda p: spread(diagrams.decision_curve(p, 0).frame(), "low", "high"),
    "decision_curve, over acting on all": lambda p: spread(
        diagrams.decision_curve(p, 0).frame(), "over_all_low", "over_all_high"
    ),
    "net_benefits": lambda p: spread(
        cc.evaluation.decisions.net_benefits({"a": p}, 0.3, 0), "benefit_low", "benefit_high"
    ),
    "decision_costs": lambda p: spread(
        cc.evaluation.decisions.decision_costs({"a": p}, "0 5 1; 1 0 1; 2 2 0"), "realised_low", "realised_high"
    ),
    "decision_costs, changes": of_changes,
    "levels": lambda p: spread(diagrams.levels(in_levels(p)).frame(), "low", "high"),
    "levels, tests": lambda p: diagrams.levels(in_levels(p)).frame()["p"].to_numpy(),
    "selective": lambda p: spread(diagrams.selective(in_levels(p)).frame(), "low", "high"),
    "skills": of_skills,
    "skill_differences": lambda p: spread(
        inference.skill_differences({"a": p, "b": other(p)}).iloc[[0, 1, 2]], "low", "high"
    ),
    "kuiper": lambda p: of_p(inference.kuiper(p)),
    "local_accuracy": lambda p: spread(diagrams.local_accuracy(p, [0.5, 0.7, 0.9]).frame(), "low", "high"),
    "models_in_range": lambda p: spread(diagrams.models_in_range({"a": p}, 0.5, 0.9), "right_low", "right_high"),
    "overall_gap": lambda p: spread(diagrams.overall_gap(p).frame(), "low", "high"),
    "paired_difference": lambda p: np.array(
        [f.high - f.low for f in [inference.paired_difference(p, other(p), "confidence", "ece", 5)]]
    ),
    "not_worse": lambda p: np.array(
        [f.difference.high - f.difference.low for f in [inference.not_worse(p, other(p), None, "log-loss")]]
    ),
    "paired_difference of scores": lambda p: np.array(
        [f.high - f.low for f in [inference.paired_difference(p, other(p), None, "log-loss")]]
    ),
    "paired_difference of squares": lambda p: np.array(
        [f.high - f.low for f in [inference.paired_difference(p, other(p))]]
    ),
    "per_class_tests": lambda p: inference.per_class_tests(p)["p"].to_numpy(),
    "plan_curve": lambda p: np.array([diagrams.plan_curve("error-interval", test=p).answer.bound]),
    "primary": lambda p: np.array([inference.primary(p).line.high - inference.primary(p).line.low]),
    "reliability_bands": lambda p: spread(diagrams.reliability_bands(p, 5).frame(), "band_low", "band_high"),
    "reliability_bands, accuracy": lambda p: spread(
        diagrams.reliability_bands(p, 5).frame(), "accuracy_low", "accuracy_high"
    ),
    "shown_at_all": lambda p: of_p(inference.shown_at_all(p)),
    "spiegelhalter": lambda p: of_p(inference.spiegelhalter(p)),
    "spiegelhalter, log loss": lambda p: of_p(inference.spiegelhalter(p, "log-loss")),
    "unbinned_bound": lambda p: np.array([inference.unbinned_bound(p).value]),
    "zoom": lambda p: spread(diagrams.zoom(p, diagrams.reliability(p, 5)).frame(), "right_low", "right_high"),
    "error_sweep": lambda p: diagrams.error_sweep(p, ["confidence"], bins=[5, 10]).floor.ravel(),
}
ACCURACY = ESTIMATORS.make("accuracy")


def answer(ask, rows):
    """Return the result; None if it is refused because of the groups."""
    try:
        return ask(rows)
    except NotAnswerable as why:
        if "groups" not in str(why):
            raise
        return None


@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_takes_copies_for_news(name, once, copied):
    wide = answer(ANSWERS[name], copied)
    if wide is None:
        return
    narrow = ANSWERS[name](once)
    known = ~np.isnan(narrow)
    assert np.isfinite(wide[known]).all()
    least = ALMOST * narrow[known].mean() - 0.01 * (name == "p")
    assert wide[known].mean() >= least, (wide, narrow)


BUILT_ON_THEM = {
    "canonical_errors", "deciding", "estimate_line", "estimate_lines", "estimates", "interval", "noise_floor",
    "on_scale_of", "on_tolerance_scale", "plain_line", "primaries", "sharpen", "unbinned_bounds", "unbinned_tests",
    "verdict", "verdicts", "verdict_strip", "gate_check", "baseline", "increase", "local_frequency", "risk_diagram",
    "large_lines", "event_ratio", "updated_frequency", "other_errors", "other_errors_of",
}  # fmt: skip
"""Functions based on estimates, whose results are tested above."""
UNKNOWN = {"jointly_off"}
"""Functions whose p-value is NaN for rows in groups."""
WITHOUT_CHANCE = {
    "bin_rows", "binary_map", "class_confusions", "class_curves", "class_gaps", "class_list", "class_panels",
    "class_rows", "class_table", "class_validity", "constraint", "corp", "fitted_parameters", "map_scale", "movement",
    "plug_in_bound", "reconciled", "reliability", "rows_in_range", "temperature_path", "trade_off", "trade_points",
    "validity_against", "validity_by_cell", "validity_of", "validity_pair", "wanted_rates", "canonical_validity",
    "recalibration", "claimed_rows", "notion_looked_at", "opening", "mean_gap",
}  # fmt: skip
"""Functions that count without statistics, or that receive guarantees of calibrators, which have a law below."""


def test_every_function_of_rows_is_looked_at():
    of_rows = {
        name
        for module in (inference, diagrams)
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
        if any(
            word in str(parameter.annotation)
            for parameter in inspect.signature(getattr(module, name)).parameters.values()
            for word in ("Predictions", "Question", "PrimaryLine", "Estimate")
        )
    }
    judged = {name.partition(",")[0].partition(" of ")[0] for name in ANSWERS}
    assert of_rows == (judged | BUILT_ON_THEM | WITHOUT_CHANCE | UNKNOWN) - {"decision_costs", "net_benefits"}


@pytest.mark.parametrize("name", sorted(UNKNOWN))
def test_what_is_not_known_for_groups_is_known_without_them(name, once):
    ask = getattr(inference, name)
    assert np.isfinite(ask(once.replace(groups=None)))
    assert np.isnan(ask(once.replace(groups=np.arange(N) // 5)))


@pytest.mark.parametrize("key", ["ece", "mce", "max-deviation", "accuracy", "brier"])
def test_names_of_groups_and_order_of_rows_change_nothing(key, once):
    groups = np.arange(N) // 5
    rng = np.random.default_rng(1)
    places = rng.permutation(N)
    notion = "confidence"
    first = estimate(once.replace(groups=groups), notion, key)
    renamed = estimate(once.replace(groups=rng.permutation(1000)[groups]), notion, key)
    shuffled = estimate(once.replace(groups=groups).take(places), notion, key)
    assert renamed.interval() == first.interval()
    assert renamed.p_value == first.p_value
    found, here = first.interval(), shuffled.interval()
    np.testing.assert_allclose([here.low, here.high], [found.low, found.high], atol=1e-9)


@pytest.mark.parametrize("key", ["ece", "rmsce", "debiased-l2", "accuracy", "log-loss"])
def test_groups_of_one_row_are_no_groups_bit_for_bit(key, once):
    alone = once.replace(groups=np.arange(N))
    first, second = (estimate(rows, "confidence", key) for rows in (once, alone))
    assert first.interval() == second.interval()
    np.testing.assert_array_equal(first.noise_floor.draws, second.noise_floor.draws)


PROMISING = [key for key in cc.CALIBRATORS if cc.CALIBRATORS[key].flags.profile.promises]


@pytest.mark.parametrize("key", PROMISING)
def test_nothing_is_promised_of_calibration_rows_that_belong_together(key):
    rows = Predictions(*ordinary_rows(600, 3))
    fitted = cc.CALIBRATORS.make(key).fit_on(rows)
    promised = fitted.guarantee().holds
    if answer(fitted.fit_on, rows.replace(groups=np.arange(600) // 4)) is None:
        return
    assert not fitted.guarantee().holds
    assert not promised or "belong to 150 groups" in fitted.guarantee().sentence
    # Fitted again on independent rows, it has the same guarantee as before.
    assert fitted.fit_on(rows).guarantee().holds == promised


@pytest.mark.parametrize("seed", range(3))
def test_no_error_of_grouped_rows_lies_below_their_mean_gap(seed):
    """Both ends of the mean gap equal those of the interval at twice the level, because both signs count."""
    rng = np.random.default_rng(seed)
    said, group = rng.beta(5, 1.5, 400), np.repeat(np.arange(80), 5)
    p = Predictions.from_confidence(said, rng.random(400) < said - 0.08 * seed, groups=group)
    near = diagrams.overall_gap(p, 0.95)
    least = max(near.claimed - near.high, near.low - near.claimed, 0.0)
    for key in ("ece", "mce"):
        found = estimate(p, "confidence", key)
        assert found.interval(0.9).low >= least - 1e-9
        assert found.p_value <= near.p_value + 1e-12
        assert (least > 0) == (near.p_value < 0.05)


def test_errors_of_whole_vectors_of_grouped_rows_are_refused_in_a_sentence():
    rng = np.random.default_rng(4)
    p = Predictions(rng.dirichlet([1, 1, 1], 120), rng.integers(0, 3, 120), groups=np.repeat(np.arange(40), 3))
    with pytest.raises(NotAnswerable, match="group"):
        _ = estimate(p, "canonical", "ece", "projection").noise_floor


def test_no_word_of_grouped_rows_promises_more_than_as_many_independent_rows():
    rng = np.random.default_rng(5)
    said = rng.beta(5, 1.5, 300)
    right, groups = rng.random(300) < said, np.repeat(np.arange(60), 5)
    alone, together = (Predictions.from_confidence(said, right, groups=each) for each in (None, groups))
    words = [estimate(each, "confidence").verdict() for each in (alone, together)]
    assert [each.word for each in words] == ["too few rows to tell"] * 2
    assert "independent judged rows" in words[1].sentence
    assert "independent" not in words[0].sentence
    assert words[1].rows_needed == words[0].rows_needed


def visits(seed, people=100, visits=6, hang=1.0):
    """Return risks of visits: effects of persons make the outcomes of one person similar."""
    rng = np.random.default_rng([31, seed])
    person = np.repeat(np.arange(people), visits)
    x = rng.normal(0, 1, len(person))
    risk, chance = (1 / (1 + np.exp(-z)) for z in (x, x + hang * rng.normal(0, 1, people)[person]))
    died = rng.random(len(person)) < chance
    columns = pd.DataFrame({"site": rng.choice(list("ab"), len(person))})
    probs = np.column_stack([1 - risk, risk])
    return Predictions(probs, died.astype(int), groups=person, metadata=columns), x


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "copies"])
def test_a_bin_and_a_slice_of_grouped_rows_have_one_interval(weighted):
    p, _ = visits(0)
    if weighted:
        p = p.replace(weights=np.random.default_rng(0).integers(1, 4, p.n_rows).astype(float))
    for notion in ("event", "confidence"):
        table = findings(p, bins=5, notion=notion)
        ends = {kind: lines[["low", "high"]].to_numpy() for kind, lines in table.sort_values("bin").groupby("kind")}
        bins = diagrams.bins_standing_out({"a": p}, 5, notion=notion)[["low", "high"]].to_numpy()
        np.testing.assert_allclose(ends["bin"], bins, rtol=1e-12)
        if notion == "confidence":
            bands = diagrams.reliability_bands(p, bins=5, reduction="confidence").frame()
            np.testing.assert_allclose(bins, bands[["accuracy_low", "accuracy_high"]].to_numpy(), rtol=1e-12)
        slices = cc.slices.table(p, "site", notion=notion).set_index("slice")
        mine = table[table["kind"] == "slice"].set_index("place")
        for site in ("site = a", "site = b"):
            for end in ("low", "high"):
                assert slices.loc[site, end] == pytest.approx(mine.loc[site, end])
    classes = diagrams.class_bias(p, fewest=1).frame()
    own = classes[classes["class"] == classes["label"]].set_index("class")["low"]
    when = table[table["kind"] == "predicted class"].set_index("class")["low"]
    assert own.to_dict() == pytest.approx(when.to_dict())


@pytest.mark.wide
def test_intervals_of_bins_of_grouped_rows_miss_rarely_and_those_of_single_rows_do_not():
    """300 samples of 100 people: each end of a bin misses in at most 5 % of them, up to the error of 300 samples."""
    effects = np.random.default_rng(1).normal(0, 1, 4000)
    missed, alone, bins = np.zeros(2), np.zeros(2), 0
    for seed in range(300):
        p, x = visits(seed)
        true = (1 / (1 + np.exp(-(x[:, None] + effects[None, ::20])))).mean(axis=1)
        cell = np.minimum((p.probs[:, 1] * 3).astype(int), 2)
        expected = np.bincount(cell, true) / np.bincount(cell)
        for found, rows in ((missed, p), (alone, p.replace(groups=None))):
            lines = diagrams.bins_standing_out({"a": rows}, 3, notion="event")
            found += (lines["low"] > expected + 1e-9).sum(), (lines["high"] < expected - 1e-9).sum()
        bins += 3
    assert (missed / bins <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 300)).all()
    assert alone.sum() > 1.3 * missed.sum(), "the twin, rows taken to be independent"
