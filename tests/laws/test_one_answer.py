"""Every output about a model gives the same number for the same rows, with the same word.

Facts are collected from every exhibit, from the cards, the advice and the records of commands; each has one value.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core import InputError, NotAnswerable, Recipe
from calib_core.datasets import demo
from calib_core.evaluation.study import error_keys
from calib_core.reductions import claims_of
from calib_core.text import in_percent, score
from dashboard import session
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.columns import GAP
from dashboard.exhibits.hero import Hero
from dashboard.exhibits.recommendation import Recommendation
from dashboard.hero.sentence_slider import payload
from dashboard.report.sections import for_event
from dashboard.selection import Selection, Source
from dashboard.views.rows_judged import judged_words

NUMBERS = ("value", "point", "low", "high", "floor", "p", "verdict", "rows", "ratio", "ratio_low", "ratio_high")
"""Numbers of a line about a model, a notion and an estimator."""


class Fact(NamedTuple):
    """Number or word about one model, and its place."""

    model: str
    notion: str
    estimator: str
    name: str
    value: Any
    said: str


def unknown(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def contradictions(facts: Iterable[Fact]) -> list[str]:
    """Return a sentence for each fact with two different values."""
    by_key: dict[tuple[str, ...], list[Fact]] = defaultdict(list)
    for fact in facts:
        if not unknown(fact.value):
            by_key[fact[:4]].append(fact)
    found = []
    for key, said in by_key.items():
        first = said[0]
        for other in said[1:]:
            same = first.value == other.value
            if not same and not isinstance(first.value, str) and not isinstance(other.value, str):
                same = math.isclose(first.value, other.value, rel_tol=1e-9, abs_tol=1e-13)
            if not same:
                found.append(f"{key}: {first.value} in {first.said}, {other.value} in {other.said}")
    return found


def test_the_law_finds_a_contradiction() -> None:
    one = Fact("Original model", "event", "ece", "point", 0.04, "here")
    assert contradictions([one, one._replace(said="there"), one._replace(name="low", value=0.01)]) == []
    for other in (0.0401, -0.04):
        assert len(contradictions([one, one._replace(value=other)])) == 1
    word = one._replace(name="verdict", value="within")
    assert len(contradictions([word, word._replace(value="miscalibrated")])) == 1


# ---- data ----------------------------------------------------------------------------------------------------


def clinical(n: int, seed: int) -> tuple[bytes, str]:
    """Return risks that are twice too high, at four sites."""
    rng = np.random.default_rng(seed)
    risk = rng.beta(2, 5, n)
    frame = pd.DataFrame({"risk": risk, "died": (rng.random(n) < risk / 2).astype(int)})
    return frame.assign(site=np.array(list("abcd"))[np.arange(n) % 4]).to_csv(index=False).encode(), f"clinic-{n}.csv"


def confidences(n: int) -> tuple[bytes, str]:
    rng = np.random.default_rng(3)
    confidence = rng.uniform(0.5, 1, n)
    right = rng.random(n) < 0.5 + 0.7 * (confidence - 0.5)
    return pd.DataFrame({"confidence": confidence, "correct": right.astype(int)}).to_csv(index=False).encode(), "c.csv"


DATA = {
    "clinic, few rows": clinical(400, 1),
    "clinic, many rows": clinical(1_600, 2),
    "confidences": confidences(700),
    "wine-logistic": demo("wine-logistic"),
    "digits-naive-bayes": demo("digits-naive-bayes"),
}


@lru_cache(len(DATA))
def selected(name: str) -> Selection:
    """Return the data in their default state, with the recommended calibrator and temperature scaling ticked."""
    data, file = DATA[name]
    source = Source(data=session.hold(data, file).key)
    chosen = Selection(source=source)
    scene = session.scene_of(chosen)
    found = scene.get(Recommendation.suited(scene).found(scene))
    ticked = dict.fromkeys((*chosen.calibrators, *([found.recipe] if found.recalibrate else [])))
    kept = [recipe for recipe in ticked if recipe.key in session.usable(chosen, [recipe.key])]
    return replace(chosen, calibrators=tuple(kept))


# ---- statements ----------------------------------------------------------------------------------------------


def of_lines(lines: Iterable[dict[Any, Any]], said: str, *, overall: bool = False) -> Iterator[Fact]:
    """Yield the facts of lines of estimates; lines in other than the default bins are about something else.

    The word of a line that decides (``overall``) is about observed : expected too, that of others about its error.
    """
    for line in lines:
        for name in NUMBERS:
            if name in line:
                notion = "" if unknown(line["notion"]) else line["notion"]
                whole = overall and name == "verdict" and notion == "event"
                yield Fact(
                    line["model"], notion, line["estimator"], "overall verdict" if whole else name, line[name], said
                )
        if line.get("estimator") == "ece" and not unknown(line.get("ratio")):
            for end in ("", "_low", "_high"):
                yield Fact(line["model"], "event", "large", f"ratio{end or '_value'}", line[f"ratio{end}"], said)
        if line.get("estimator") in ("brier", "log-loss") and line["notion"] in ("event", None):
            # For two classes both are the event's, in any notion.
            for name in ("value", "low", "high"):
                yield Fact(line["model"], "two classes", line["estimator"], name, line.get(name), said)


def of_large(measures: Iterable[dict[Any, Any]], model: str, said: str) -> Iterator[Fact]:
    """Yield the facts of a table of measures of the event's risk."""
    for line in measures:
        ends = {"value": line["value"], "low": line["low"], "high": line["high"]}
        for name, number in ends.items():
            yield Fact(model, "event", "large", f"{line['measure']}_{name}", number, said)
            if line["measure"] in ("brier", "log-loss"):
                yield Fact(model, "two classes", line["measure"], name, number, said)


def on_screen(selection: Selection) -> Iterator[Fact]:
    """Yield the facts of every exhibit, the cards and the advice."""
    scene = session.scene_of(selection)
    for key in EXHIBITS:
        try:
            frame = scene.get(EXHIBITS.make(key).table(scene))
        except (InputError, NotAnswerable):
            continue
        lines = frame.to_dict("records")
        if {"model", "notion", "estimator", "value"} <= set(frame):
            yield from of_lines(lines, key, overall=key == "verdict")
        if key in ("in-the-large", "curve-gaps"):
            for title, part in frame.groupby("model") if "model" in frame else [(scene.titles[0], frame)]:
                yield from of_large(part.to_dict("records"), str(title), key)
        if key == "costs":
            for line in lines:
                yield Fact(line["model"], "", "log-loss", "value", line["log_loss"], key)
        if {"model", "accuracy", "rows"} <= set(frame) and key != "rows":
            for line in lines:
                yield Fact(line["model"], "", "accuracy", "value", line["accuracy"], key)
        if key == "tests":
            for line in lines:
                if "Brier score" in line["test"]:
                    yield Fact(line["model"], "", "any size", "p", line["p"], key)
        if key == "verdict":
            for line in lines:
                yield Fact(line["model"], "", "any size", "p", line["p_of_any_error"], key)
    yield from of_cards(selection)


def of_cards(selection: Selection) -> Iterator[Fact]:
    """Yield the facts of calibrator cards, and of the recommendation."""
    scene = session.scene_of(selection)
    notion = next(iter(scene.get(EXHIBITS.make("verdict").table(scene))["notion"]))
    base = scene.titles[0]
    if scene.models.recalibrated:
        for line in scene.get(EXHIBITS.make("gains").table(scene)).to_dict("records"):
            for name in ("point", "low", "high", "verdict"):
                whole = name == "verdict" and notion == "event"
                yield Fact(line["calibrator"], notion, "ece", "overall verdict" if whole else name, line[name], "card")
            yield Fact(base, notion, "ece", "point", line["point_before"], "card of a calibrator")
            if scene.get(scene.models.shown[0].predictions).kind == "full":
                yield Fact(line["calibrator"], "", "log-loss", "value", line["log_loss"], "card")
                yield Fact(base, "", "log-loss", "value", line["log_loss_before"], "card of a calibrator")
    exhibit = Recommendation.suited(scene)
    found = scene.get(exhibit.found(scene))
    record = found.record() | {"sentences": exhibit.advice(scene, found)}
    yield from of_choice(record, found.recipe.title, base, "advice", full=found.kind == "full")


def of_choice(record: dict[str, Any], title: str, base: str, said: str, *, full: bool) -> Iterator[Fact]:
    """Yield score and gain of the recommended calibrator."""
    yield Fact("", "", "advice", "recommended", json.dumps(record["recommended"], sort_keys=True), said)
    yield Fact("", "", "advice", "said", record["sentences"][0], said)
    yield Fact("", "", "advice", "judged on", record["judged_on"], said)
    for name in ("point", "low", "high"):
        yield Fact("", "", "advice", f"gain, {name}", record["gain"][name], said)
    if full:
        yield Fact(base, "", "log-loss", "value", record["before"], said)
        if record["gain_shown"]:
            yield Fact(title, "", "log-loss", "value", record["before"] - record["gain"]["point"], said)


def rows_of(name: str) -> Any:
    """Return the predictions of a file, for all of its rows."""
    return cc.read_predictions(*DATA[name])


def run(*words: object, exits: tuple[int, ...] = (0,)) -> Any:
    ended = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
    assert ended.exit_code in exits, ended.output
    return ended.stdout


def by_commands(name: str, selection: Selection, folder: Path) -> Iterator[Fact]:
    """Yield the facts of the commands about the same file, each with its defaults."""
    data, file = DATA[name]
    (path := folder / file).write_bytes(data)
    scene = session.scene_of(selection)
    base = scene.titles[0]
    ticked = [word for recipe in selection.calibrators for word in ("--calibrator", recipe.key)]
    audit = json.loads(run("audit", path, "--json", *ticked))
    titles = {"Original model": base}
    named = [line | {"model": titles.get(line["model"], line["model"])} for line in audit["lines"]]
    yield from of_lines(named, "calib audit")
    for model, told in audit["models"].items():
        title, line = titles.get(model, model), told["primary"]["line"]
        yield from of_lines([line | {"model": title}], "calib audit, the line that decides", overall=True)
        yield from of_large(told["in_the_large"] or [], title, "calib audit, in the large")
        yield Fact(title, "", "any size", "p", told["primary"]["shown"]["p_value"], "calib audit")
    yield Fact("", "", "rows", "judged", audit["options"]["judged"], "calib audit")
    record = json.loads(run("choose", path, "--json"))
    full = scene.get(scene.models.shown[0].predictions).kind == "full"
    recommended = Recipe.from_dict("CALIBRATORS", record["recommended"])
    yield from of_choice(record, recommended.title, base, "calib choose", full=full)
    if record["remaining"]:
        left = record["remaining"]["line"] | {"model": recommended.title}
        yield from of_lines([left], "calib choose, what remains", overall=True)
    words = [word for recipe in selection.calibrators for word in ("--calibrator", recipe.to_json())]
    shown = json.loads(run("show", "verdict", path, "--format", "json", *words))["lines"]
    yield from of_lines(shown, "calib show", overall=True)
    told = json.loads(run("gate", path, "--max-ece", 0.02, "--format", "json", exits=(0, 1)))["checks"][0]
    yield from of_lines([told["line"] | {"model": base}], "calib gate", overall=True)
    # A gate fits nothing, so that nothing is cross-fitted: the rows are the same.
    for rows, said in (
        (told["judged"].partition(" of ")[0], "calib gate"),
        (audit["options"]["judged"], "calib audit"),
    ):
        yield Fact("", "", "rows", "judged rows", rows.removesuffix(", cross-fitted"), said)
    yield from of_report(scene)


def of_report(scene: Any) -> Iterator[Fact]:
    """Yield AUROC, Brier score and O:E on page one of the report, as printed."""
    facts = for_event.in_the_large(scene)
    written = {} if facts is None else dict(facts.items)
    table = {} if facts is None else large_of_screen(scene)
    for name, key in (("AUROC", "auroc"), ("Slope", "slope"), ("Intercept", "intercept"), ("Log loss", "log-loss")):
        if name in written and math.isfinite(table[key]["value"]):
            shown = score(table[key]["value"])
            yield Fact(scene.titles[0], "event", "written", key, shown, "screen")
            yield Fact(scene.titles[0], "event", "written", key, written[name].partition(" (")[0], "report")


def large_of_screen(scene: Any) -> dict[str, dict[str, Any]]:
    frame = scene.get(EXHIBITS.make("curve-gaps").table(scene))
    return dict(frame.set_index("measure").to_dict("index"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.wide if name in ("clinic, many rows", "digits-naive-bayes") else ())
        for name in DATA
    ],
)
def test_every_way_to_ask_gives_one_answer(name: str, tmp_path: Path) -> None:
    selection = selected(name)
    facts = [*on_screen(selection), *by_commands(name, selection, tmp_path)]
    judged = session.parts(selection.source).judged
    facts.append(Fact("", "", "rows", "judged", judged, "Overview"))
    assert contradictions(facts) == []
    said = {fact.said for fact in facts if not unknown(fact.value)}
    assert {"verdict", "card", "advice", "calib audit", "calib choose", "calib show", "calib gate"} <= said
    if session.scene_of(selection).claims == "event":
        assert {"in-the-large", "curve-gaps", "calib audit, in the large", "report"} <= said
    rows = {fact.value for fact in facts if fact.name == "rows" and fact.estimator == "ece"}
    assert rows == {session.parts(selection.source).test.n_rows}


@pytest.mark.parametrize("name", ["clinic, few rows", "clinic, many rows", "wine-logistic"])
def test_the_switch_names_both_ways_and_the_one_in_use(name: str) -> None:
    source = selected(name).source
    words = judged_words(source)
    n = session.whole(source.data, "").n_rows
    assert words["folds"] == f"all {n:,} rows, cross-fitted"
    assert words["share"].endswith(" held-out rows")
    assert session.split_by(source) == ("folds" if n <= 1_000 else "share")
    other = replace(source, by="share" if n <= 1_000 else "folds")
    assert judged_words(other) == words
    assert words[session.split_by(other)] == session.parts(other).judged


def test_a_recommended_calibrator_is_named_beside_the_verdict_on_what_remains() -> None:
    selection = selected("clinic, few rows")
    scene = session.scene_of(selection)
    exhibit = Recommendation.suited(scene)
    found = scene.get(exhibit.found(scene))
    assert found.recalibrate
    _, left = exhibit.advice(scene, found)
    card = next(
        line
        for line in scene.get(EXHIBITS.make("gains").table(scene)).to_dict("records")
        if line["calibrator"] == found.recipe.title
    )
    words = {"within": "is within", "miscalibrated": "still"}
    assert words.get(card["verdict"], "do not show") in left
    record = cc.evaluation.advice.remaining(
        *(scene.get(m.predictions) for m in (scene.models.shown[0], scene.models.shown[-1]))
    )
    assert record.word == card["verdict"]


@pytest.mark.parametrize("name", ["clinic, few rows", "clinic, many rows"])
@pytest.mark.parametrize("bins", [None, 5])
def test_one_mean_gap_lies_below_the_error_that_dominates_it(name: str, bins: int | None) -> None:
    p = rows_of(name)
    gap, large = cc.inference.mean_gap(p, "event", bins=bins), cc.risk.in_the_large(p, bins=bins)
    assert (gap.gap, gap.low, gap.high) == pytest.approx((large.gap, large.gap_low, large.gap_high), abs=1e-12)
    ratio = cc.estimate(p, "event", "ece", bins).verdict().ratio
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((large.ratio, large.ratio_low, large.ratio_high))
    error = cc.estimate(p, "event", "ece", bins).interval()
    assert error.low >= gap.least - 1e-12
    assert error.high >= gap.most - 1e-12
    # Twin: the ends at the full level lie above the error's, so that the law can fail.
    full = cc.inference.mean_gap(p, "event", bins=bins).gap
    assert abs(full) > error.low


def test_the_brier_score_of_two_classes_is_the_events_in_every_table() -> None:
    p = rows_of("clinic, few rows")
    event = float(np.mean((p.probs[:, 1] - p.labels) ** 2))
    whole = cc.estimate(p, None, "brier")
    assert whole.value == pytest.approx(2 * event)
    assert cc.inference.estimate_line(whole).title == "Brier score, summed over classes"
    assert cc.inference.estimate_line(cc.estimate(p, "event", "brier")).title == "Brier score"
    other = p.with_probs(p.probs[::-1])
    pair = cc.compare({"a": p, "b": other}, "event", "brier")
    assert pair["first_value"].iloc[0] == pytest.approx(event)
    assert pair["difference"].iloc[0] == pytest.approx(
        cc.compare({"a": p, "b": other}, None, "brier")["difference"].iloc[0] / 2
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("grouped", [False, True])
def test_one_p_value_decides_whether_all_rows_are_off(grouped: bool) -> None:
    """The card of all rows, calibration-in-the-large and the findings have the same gap, p and decision."""
    answers, by_interval = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        risk = rng.beta(1.6, 4.0, 240)
        if grouped:
            risk = np.repeat(risk[:80], 3)
        logit = np.log(risk / (1 - risk)) - rng.uniform(0, 0.5)
        died = rng.random(80 if grouped else 240) < 1 / (1 + np.exp(-logit[:: 3 if grouped else 1]))
        died = np.repeat(died, 3) if grouped else died
        groups = np.arange(240) // 3 if grouped else None
        p = cc.Predictions(np.column_stack([1 - risk, risk]), died.astype(int), groups=groups)
        large, card = cc.risk.in_the_large(p), cc.diagrams.overall_gap(p, notion="event")
        found = cc.findings(p, notion="event")
        line = found[found["kind"] == "direction"].iloc[0]
        assert large.p_value == pytest.approx(line["p"], rel=1e-12)
        assert card.p_value == pytest.approx(line["p"], rel=1e-12)
        assert large.differs == bool(card.direction) == bool(line["stands_out"]) == (line["p"] <= 0.05)
        assert card.direction in ("", "too high" if large.gap < 0 else "too low")
        answers.append(large.differs)
        by_interval.append(not large.gap_low <= 0 <= large.gap_high)
    assert len(set(answers)) == 2
    # For independent rows p is at most .05 exactly if the interval excludes the claim; for others only if it does.
    assert answers == by_interval or (
        grouped and not any(a and not b for a, b in zip(answers, by_interval, strict=True))
    )


def test_a_p_value_of_an_error_within_this_one_says_whose_it_is() -> None:
    """A value below its noise floor has a small p if an error that it contains is significant."""
    named = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        risk = rng.beta(1.6, 4.0, 300)
        died = rng.random(300) < 0.75 * risk
        p = cc.Predictions(np.column_stack([1 - risk, risk]), died.astype(int))
        line = cc.inference.estimate_line(cc.estimate(p, "event"))
        gap = cc.inference.mean_gap(p, "event")
        assert line.p_of in ("", "mean gap")
        if line.value <= line.floor and line.p <= 0.05:
            assert line.p_of == "mean gap"
            assert abs(gap.gap) > 0
            named += 1
    assert named, "no case"


PREDICTED_OBSERVED = (("claimed", "right"), ("says", "right"), ("mean_score", "mean_outcome"))
"""Columns of predicted and observed values, in tables of places."""


def test_every_gap_is_observed_less_predicted() -> None:
    """For risks twice too high, the gap over all rows is negative everywhere, and headings state its direction."""
    scene, rows = session.scene_of(selected("clinic, few rows")), rows_of("clinic, few rows")
    large = cc.risk.in_the_large(rows)
    keys = ("overall", "findings", "slices", "slice-columns", "slice-panels", "slice-scan", "classes", "class-panels")
    for key in keys:
        exhibit = EXHIBITS.make(key)
        frame = scene.get(exhibit.table(scene))
        (pair,) = (pair for pair in PREDICTED_OBSERVED if set(pair) <= set(frame))
        assert np.allclose(frame["gap"], frame[pair[1]] - frame[pair[0]], atol=1e-9), key
        printed = [column.heading for column in exhibit.columns(frame) if "gap" in column.made_of]
        assert printed in ([], [GAP]), key
        if key in ("overall", "findings"):
            whole = frame.iloc[0] if key == "overall" else frame[frame["kind"] == "direction"].iloc[0]
            assert whole["gap"] == pytest.approx(large.gap)
    assert large.gap_high < 0
    assert cc.inference.mean_gap(rows, "event").gap == pytest.approx(large.gap)
    assert "observed - predicted" in GAP
    assert "observed - predicted" in str(large.frame().set_index("measure").loc["gap", "title"])


@pytest.mark.parametrize("name", ["clinic, few rows", "clinic, many rows"])
def test_the_first_sentence_states_the_predicted_risk_of_its_line_of_the_table(name: str) -> None:
    """The position of the slider is another number with its own column; the slider shows the former."""
    scene, exhibit = session.scene_of(selected(name)), Hero()
    frame = scene.get(exhibit.table(scene))
    headings = {column.made_of[0]: column.heading for column in exhibit.columns(frame)}
    local = scene.get(next(iter(exhibit.answers(scene).values())))
    apart = 0
    for place in local.confidence[local.near]:
        answer = local.answer(place)
        line = frame[(frame["model"] == "Original model") & (frame["confidence"] == answer.confidence)].iloc[0]
        if answer.enough:
            label = payload({"Original model": local}, place)
            assert label["percents"][label["asked"]] == in_percent(line["claimed"]) == answer.stated
            assert answer.stated in answer.headline
            apart += in_percent(line["confidence"]) != answer.stated
    assert apart > 0, "else the slider's place could be stated as well"
    assert (headings["claimed"], headings["confidence"]) == ("predicted", "slider at")
    assert local.answer(scene.asked_about).stated in exhibit.words(scene).caption


@pytest.mark.parametrize("factor", [0.6, 0.9, 1.0, 1.6])
def test_one_rule_chooses_the_words_about_a_gap_for_every_line_of_the_first_sentence(factor: float) -> None:
    """A line before and a line after recalibration with the same test and interval have the same words."""
    rng = np.random.default_rng(3)
    risk = rng.uniform(0.02, 0.6, 800)
    before = cc.Predictions(np.column_stack([1 - risk, risk]), (rng.random(800) < risk).astype(int))
    after = before.with_probs(np.column_stack([1 - factor * risk, factor * risk]))
    own = cc.diagrams.local_frequency(before)
    others = cc.diagrams.updated_frequency(before, after, own.confidence)
    words = set()
    for answer in (*own.answers, *others.answers):
        agrees = answer.low <= answer.claimed <= answer.high
        expected = "gap" if answer.gap is not None else "few" if not answer.enough else "none" if agrees else "one"
        words.add((expected, answer.difference if answer.gap is None else "gap"))
        assert answer.difference == replace(answer, updated=not answer.updated).difference
    assert len(dict(words)) == len(words), words
    assert {"none"} < {kind for kind, _ in words}


def test_no_list_of_measures_has_one_number_twice() -> None:
    """In a notion of one stratum the MCE of bins is the MCE; in others it is another number, and listed."""
    scene = session.scene_of(selected("wine-logistic"))
    rows = scene.get(scene.model.predictions)
    two = rows_of("clinic, few rows")
    for key in cc.REDUCTIONS:
        scope = cc.REDUCTIONS[key].flags
        if scope.of in ("vector", "class"):
            continue
        p = two if scope.of == "event" else rows
        if scope.one_stratum:
            assert len(claims_of(p, key).strata) == 1
            assert cc.estimate(p, key, "mce").value == cc.estimate(p, key, "mce-of-bins").value
            assert "mce-of-bins" not in error_keys(key)
        elif scope.of != "ranks":
            assert cc.estimate(p, key, "mce").value != cc.estimate(p, key, "mce-of-bins").value
            assert "mce-of-bins" in error_keys(key)
    assert {key for key in cc.REDUCTIONS if cc.REDUCTIONS[key].flags.one_stratum} > {"event", "confidence"}


@pytest.mark.parametrize("name", ["clinic, few rows", "wine-logistic"])
def test_of_two_classes_what_opens_has_no_top_k_notions(name: str) -> None:
    scene, ranks = session.scene_of(selected(name)), {k for k in cc.REDUCTIONS if cc.REDUCTIONS[k].flags.of == "ranks"}
    rows = scene.get(scene.model.predictions)
    several = rows.n_classes != 2
    assert bool(ranks & set(scene.get(EXHIBITS.make("calibrator-errors").table(scene))["notion"])) == several
    printed = EXHIBITS.make("calibrators")
    headings = [column.heading for column in printed.columns(scene.get(printed.table(scene)))]
    assert any("Top-k" in heading for heading in headings) == several
    assert cc.estimate(rows, "top-k-label", "ece").value >= 0, "it can still be asked for"
