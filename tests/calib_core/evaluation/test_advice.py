"""Advice: a model is left unchanged only if no evidence on the evaluated rows shows an error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from scipy.stats import binom

import calib_core as cc
from calib_core.calibrators.base import as_calibrator
from calib_core.defaults import SIGNIFICANCE
from calib_core.evaluation.advice import (
    MOST_TRIED,
    error_beyond_places,
    error_tests,
    headline,
    held_out_slice,
    own_update,
    sentences,
    shown_error,
    smaller_error,
)
from calib_core.evaluation.choice import CalibratorChoice, choose
from calib_core.evaluation.remaining_error import classes_off
from calib_core.inference import other_errors, primary
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Recipe
from calib_core.slices.findings import headline as findings_headline

LEAVE = "Leave the model unchanged"
STILL = "The model still shows an error."
IDENTITY = Recipe("CALIBRATORS", "identity")


def risks(n: int, seed: int, slope: float = 1.0, shift: float = 0.0, middle: float = -0.9) -> Predictions:
    """Return risks whose log-odds are ``shift`` and 1 / ``slope`` times off."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(middle, 1.3, n)
    happened = rng.random(n) < expit(shift + slope * logit)
    return Predictions(np.column_stack([1 - expit(logit), expit(logit)]), happened.astype(int))


def simulated() -> dict[str, Predictions]:
    calibrated = {f"calibrated {n} {seed}": risks(n, seed) for n in (200, 750) for seed in range(6)}
    steep = {f"slope {s} {seed}": risks(750, seed, slope=s) for s in (0.7, 0.85, 1.4) for seed in range(3)}
    shifted = {f"shift {d} {seed}": risks(400, seed, shift=d) for d in (-0.8, -0.25) for seed in range(3)}
    probs = np.tile([[0.7, 0.3, 0], [0.3, 0.7, 0]], (200, 1))
    cancelling = Predictions(probs, ([0, 1] * 5 + [1, 1] * 4 + [1, 0]) * 20)
    return calibrated | steep | shifted | {"errors of two classes that cancel": cancelling}


FILES = simulated()
DEMOS = tuple(demo.key for demo in cc.datasets.DEMOS)


@pytest.fixture(scope="module")
def unchanged() -> CalibratorChoice:
    """Return a choice that recommends no calibrator."""
    found = choose(risks(300, 1), ["temperature"])
    return replace(found, recipe=IDENTITY)


def facts(rows: Predictions) -> dict[str, bool]:
    """Return the evidence of an error on these rows, each kind by its own number."""
    line = primary(rows)
    shown = {
        "verdict": line.line.verdict == "miscalibrated",
        "test": line.shown.p_value <= SIGNIFICANCE,
        "error": line.line.p is not None and line.line.p <= SIGNIFICANCE,
        "other notions": bool(other_errors(line)),
    }
    if rows.event is None:
        return shown
    large = cc.risk.in_the_large(rows)
    gap = large.frame().set_index("measure").loc["gap", ["low", "high"]]
    return shown | {"slope": large.slope_p <= SIGNIFICANCE, "gap": not gap["low"] <= 0 <= gap["high"]}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [*FILES, *DEMOS])
def test_a_model_is_left_as_it_is_only_where_nothing_shows_an_error(name, unchanged):
    rows = (
        FILES[name]
        if name in FILES
        else cc.calls.divide(cc.read_predictions(*cc.datasets.demo(name), rows="all", accepted="models")).test
    )
    error, shown = shown_error(rows), facts(rows)
    first = sentences(unchanged, error=error)
    assert bool(error) == any(shown.values()), shown
    assert first[0].startswith(LEAVE) == (not any(shown.values())), shown
    assert (first[-1] == error) == bool(error)


def test_an_error_that_is_shown_has_the_level_asked_for():
    """Risks too extreme on the log-odds, right on average: the slope's ends are those of the level, recomputed."""
    rng = np.random.default_rng(5)
    odds = rng.normal(0, 1.2, 3000)
    risk = 1 / (1 + np.exp(-odds))
    died = rng.random(3000) < 1 / (1 + np.exp(-0.85 * odds))
    rows = Predictions(np.column_stack([1 - risk, risk]), died.astype(int))
    said = {}
    for level in (0.5, 0.9, 0.99):
        found = cc.risk.in_the_large(rows, level)
        assert not found.differs
        said[level] = shown_error(rows, eps=0.2, level=level)
        if found.slope_high < 1:
            ends = f"{cc.text.score(found.slope_low)} to {cc.text.score(found.slope_high)}"
            assert f"({100 * level:g} % interval {ends})" in said[level]
    assert len(set(said.values())) == 3


@pytest.mark.wide
def test_a_calibrated_model_is_rarely_reported_to_have_a_significant_error():
    """Falsified twin: tests without correction, and a slope's 90 % interval, report an error too often."""
    reported, twin, runs = 0, 0, 0
    for n in (300, 1000, 3000):
        for middle in (-4.2, -2.4, 0.0):  # events of 2, 11 and 50 %
            for seed in range(10):
                rows = risks(n, 1000 * n + seed, middle=middle)
                error, large = shown_error(rows), cc.risk.in_the_large(rows)
                reported += error.startswith(STILL)
                twin += bool(error) or large.slope_low > 1 or large.slope_high < 1
                runs += 1
    most = binom.ppf(0.95, runs, SIGNIFICANCE)
    assert reported <= most < twin, (reported, most, twin)


@pytest.mark.parametrize("name", FILES)
def test_tests_of_all_rows_name_the_error_that_the_advice_names(name):
    """Holm's rule by hand: the smallest p-value decides whether there is a significant test."""
    rows = FILES[name]
    error, words, line = shown_error(rows), error_tests(rows), primary(rows)
    p = {line.line.title: line.line.p, "Spiegelhalter's test": line.shown.p_value}
    if rows.event is not None:
        large = cc.risk.in_the_large(rows)
        p |= {"mean gap": large.p_value, "calibration slope": large.slope_p}
    smallest, significant = min(p, key=p.get), words.partition("Significant: ")[2]
    assert (len(p) * p[smallest] <= SIGNIFICANCE) == bool(significant) == (smallest in significant)
    miscalibrated = line.line.verdict == "miscalibrated"
    off = bool(classes_off(rows))
    assert error.startswith(STILL) == (bool(significant) or miscalibrated or off)
    assert ("verdict" in words) == miscalibrated
    kinds = {"mean predicted risk": "mean gap", "calibration slope": "calibration slope", "Spiegelhalter": "Spieg"}
    for start, test in kinds.items():
        if error.startswith(STILL) and start in error:
            assert test in significant


def test_an_error_that_is_significant_only_before_correction_is_described_as_such(unchanged):
    rows = Predictions([[0.7, 0.3]] * 100, [0] * 60 + [1] * 40)
    large = cc.risk.in_the_large(rows)
    assert large.p_value <= SIGNIFICANCE < 3 * large.p_value
    error = shown_error(rows)
    assert not error.startswith(STILL)
    assert f"mean gap ({cc.text.chance(large.p_value)})" in error
    assert not headline(unchanged, error).startswith(LEAVE)


def test_both_answers_of_the_law_happen():
    found = {name: bool(shown_error(rows)) for name, rows in FILES.items()}
    assert not all(found[name] for name in found if name.startswith("calibrated"))
    assert all(found[name] for name in found if name.startswith(("slope 0.7", "shift -0.8")))
    assert found["errors of two classes that cancel"]


def test_what_nobody_looked_for_is_no_reason_to_leave_a_model(unchanged):
    assert LEAVE not in unchanged.sentence
    assert headline(unchanged) == headline(unchanged, "An error is shown.") == unchanged.headline
    assert headline(unchanged, "") == LEAVE
    assert LEAVE not in headline(replace(unchanged, recipe=Recipe("CALIBRATORS", "temperature")), "")


def test_each_kind_of_evidence_is_enough(monkeypatch):
    """The first that shows an error is named; if it shows none, the next one is."""
    from calib_core.evaluation import advice

    kinds = ("_gap", "_verdict", "_slope", "_any_size", "_large_error", "_before_correction", "_other_notions")
    files = list(FILES.values())
    for kind in kinds:
        with monkeypatch.context() as patch:
            for other in kinds:
                if other != kind:
                    patch.setattr(advice, other, lambda _: "")
            found = [bool(shown_error(rows)) for rows in files]
        assert 0 < sum(found) < len(files), kind


def sites(n: int, seed: int) -> Predictions:
    """Return risks of three sites, of which those of C are too high."""
    rng = np.random.default_rng(seed)
    risk, site = rng.beta(2, 4, n), np.array(list("ABC"))[np.arange(n) % 3]
    died = rng.random(n) < np.where(site == "C", 0.45 * risk, risk)
    return Predictions(np.column_stack([1 - risk, risk]), died.astype(int), metadata=pd.DataFrame({"site": site}))


def test_a_site_that_is_off_on_held_out_rows_alone_is_named_and_changes_no_choice():
    held_out = sites(3000, 1)
    rng = np.random.default_rng(2)
    fit = held_out.replace(labels=(rng.random(held_out.n_rows) < held_out.probs[:, 1]).astype(int))
    assert own_update(fit) is None
    found, said = choose(fit, ["temperature"], held_out=held_out), held_out_slice(held_out)
    here = (held_out.metadata["site"] == "C").to_numpy()
    risk, died = held_out.probs[here, 1].mean(), held_out.true_labels[here].mean()
    predicted = cc.text.short_percent(risk)
    assert f"site = C has a significantly larger error than the other rows: {predicted} predicted" in said
    assert f"{cc.text.short_percent(died)} observed" in said
    assert held_out_slice(fit) == ""
    unchanged = replace(found, recipe=IDENTITY)
    assert sentences(unchanged, error="")[0].startswith(LEAVE)
    both = sentences(unchanged, error="", held_out=said)
    assert not both[0].startswith(LEAVE), "an error is shown"
    assert both[-1] == said
    assert sentences(found, held_out=said)[-1] == said


def test_a_site_that_is_off_without_a_gain_has_both_gains_in_one_sentence():
    fit, held_out = sites(900, 0), sites(150, 1)
    found, update = choose(fit, held_out=held_out), own_update(fit)
    assert update is not None
    # Independent of these few rows, the test is that no gain is shown.
    own = next(recipe for recipe in found.recipes if dict(recipe.params).get("only") == "C")
    none = replace(found, recipe=IDENTITY, about=own)
    said = sentences(none, None, update, "")
    assert not said[0].startswith(LEAVE), "a site is off"
    lines = found.frame().assign(recipe=found.recipes)
    for recipe in (own, Recipe("CALIBRATORS", "intercept")):
        line = lines.iloc[found.recipes.index(recipe)]
        for name in ("gain", "low", "high"):
            assert cc.text.score(line[name]) in said[0]
    assert "for C, predicted and observed frequency differ more" in said[0]
    assert none.judged_on in said[0]
    assert "or evaluate all of them, cross-fitted." in said[0]
    assert "--" not in said[0], "the library has no command line"
    assert (
        "evaluate all of them, cross-fitted (the switch)" in sentences(none, None, update, "", all_rows="the switch")[0]
    )
    assert said[0].count(cc.text.score(lines["gain"].iloc[found.recipes.index(own)])) == 1, "one gain, once"
    everywhere = replace(none, held_out=0)
    assert "or evaluate all of them" not in sentences(everywhere, None, update, "", all_rows="the switch")[0]


def many_classes(seed: int, sharp: float = 1.2, n: int = 500) -> Predictions:
    """Return rows of five classes whose logits are ``sharp`` times the true ones."""
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.normal(size=(n, 5))
    return Predictions.from_logits(sharp * z, (z + rng.gumbel(size=z.shape)).argmax(axis=1))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["risk", "classes"])
def test_an_error_of_all_rows_leads_the_findings_where_no_place_is_off(name):
    """Small errors of many places add up: "no place is off" first would hide what the corrected tests show."""
    kinds = set()
    for seed in range(8):
        rows = risks(500, seed, slope=0.75) if name == "risk" else many_classes(seed)
        error, audit, table = error_beyond_places(rows), error_tests(rows), cc.findings(rows)
        significant = audit.partition("Significant: ")[2]
        assert bool(error) == (significant.replace("mean gap", "").strip(" ,.") != "")
        if "calibration slope" in significant:
            assert cc.text.score(cc.risk.in_the_large(rows).slope) in error
            assert "too extreme" in error
        first, *_ = findings_headline(table, error)
        off = bool(table["stands_out"].any())
        assert first.startswith(str(table["finding"].iloc[0]) if off else error or "No subset")
        assert off or "significantly off" in first
        kinds.add((bool(error), off))
    assert {(True, False), (False, False)} <= kinds, kinds


def test_a_slice_off_like_all_other_rows_is_no_news():
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.2, 0.6, 4000)
    died = rng.random(4000) < risk / 2
    sites = pd.DataFrame({"site": np.array(["A", "B", "C"])[rng.integers(3, size=4000)]})
    rows = Predictions(np.column_stack([1 - risk, risk]), died.astype(int), metadata=sites)
    assert cc.slices.by_column(rows, notion="event")["stands_out"].all(), "every site is off"
    assert held_out_slice(rows) == ""


def test_an_equally_good_calibrator_that_leaves_a_smaller_error_is_named():
    """A temperature mends most of the log loss, but not accuracies of 55 to 85 % at confidences of 60 to 99 %."""
    rng = np.random.default_rng(0)
    confidence = rng.choice([0.6, 0.7, 0.8, 0.9, 0.99], 2_000)
    p = Predictions.from_confidence(confidence, rng.random(2_000) < 0.1 + 0.75 * confidence)
    found = choose(p, [cc.CALIBRATORS.described("confidence", binary=key) for key in ("temperature", "beta")])
    left = {recipe: found.remaining(p, recipe=recipe) for recipe in found.equals}
    (other,) = set(found.equals) - {found.recipe}
    assert (found.recipe.title, left[found.recipe].word) == ("Temperature scaling of the confidence", "miscalibrated")
    sentence = smaller_error(found, left[found.recipe], left.get)
    assert sentence.startswith(f"{other.title}, about equally good by log loss, leaves an error estimated at ")
    assert left[other].line.line.interval in sentence
    assert replace(left[found.recipe], smaller=sentence).sentence.endswith(sentence)
    assert smaller_error(replace(found, recipe=other), left[other], left.get) == ""


def of_one_class_off(n=6_000, seed=0):
    """Logits 1.3 times too large, and those of rows predicted as "d" nearly three times."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, 5))
    true = np.where((logits.argmax(axis=1) == 3)[:, None], 0.45, 1.0) * logits
    labels = np.array([rng.choice(5, p=row) for row in softmax(true, axis=1)])
    return Predictions(softmax(1.3 * logits, axis=1), labels, class_names=list("abcde"))


def test_a_class_that_one_map_for_all_leaves_off_is_named_with_an_equal_calibrator_that_does_not():
    fit, held_out = of_one_class_off().split(0.5, random_state=0)
    found = choose(fit, ["ensemble-temperature", "vector"], held_out=held_out)
    assert found.recipe.key == "ensemble-temperature"
    assert {recipe.key for recipe in found.equals} == {"ensemble-temperature", "vector"}
    left = found.remaining(fit, held_out)
    after = as_calibrator(found.recipe).fit_on(fit).apply(held_out)
    rows = np.asarray(after.predicted) == 3
    says, right = after.confidence[rows].mean(), after.correct[rows].mean()
    assert left.off == (("d", pytest.approx(says), pytest.approx(right), rows.sum()),)
    assert says - right > 0.1
    assert (
        "Predictions of “d” are still significantly off (tested bin by bin), by more than 2 % on average: mean "
        f"confidence {100 * says:.0f} %, accuracy {100 * right:.0f} % ({rows.sum():,} rows)."
    ) in left.sentence
    sentence = smaller_error(found, left, lambda recipe: found.remaining(fit, held_out, recipe=recipe))
    assert sentence.startswith("Vector scaling, about equally good by log loss, leaves ")
    assert sentence.endswith("no such class.")
    tried = []
    more = tuple(cc.CALIBRATORS.described("grid", cells=5 + i) for i in range(9))
    simplicity = (*found.order, *((100.0 + i,) for i in range(9)))
    many = replace(found, equals=(*found.equals, *more), recipes=(*found.recipes, *more), order=simplicity)
    assert smaller_error(many, left, lambda recipe: tried.append(recipe)) == ""
    assert len(tried) == MOST_TRIED, "each costs a fit"
    # Its error in the words: which one, since there are several.
    assert left.fall.startswith("The calibration error (confidence ECE) is estimated to fall from ")


def test_classes_that_are_off_are_those_of_the_findings_beyond_the_tolerance():
    p = of_one_class_off(3_000, 1)
    table = cc.findings(p, by=())
    mine = table[(table["kind"] == "predicted class") & table["stands_out"]]
    for eps in (0.02, 0.1):
        beyond = mine[mine["gap"].abs() > eps].sort_values("gap", key=lambda gap: -gap.abs())
        assert [off.name for off in classes_off(p, eps)] == beyond["class"].tolist()
    assert classes_off(p, 0.9) == ()
    calibrated = Predictions(np.full((400, 4), 0.25), np.arange(400) % 4)
    assert classes_off(calibrated) == ()
