"""One number per name: the screen, the report and the command line agree for the same rows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from law_data import LawData, on_law_data
from shown_models import judged

import calib_core as cc
from calib_core import Recipe
from calib_core.datasets import DEMOS, demo
from calib_core.defaults import BINS
from calib_core.evaluation.study import MEASURES, Measure, every_measure
from dashboard import session
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.selection import Selection, Source
from dashboard.session import Models

KEYS = ("temperature", "top-label-hb", "class-wise-hb")
NOTIONS = ("confidence", "top-label", "class-wise")
SMALL = ("wine-logistic", "breast-cancer-svm")
"""Data sets with fast intervals, which the command line and the report always compute."""


def chosen(key: str, *calibrators: str, **choices: Any) -> Selection:
    recipes = tuple(Recipe("CALIBRATORS", each) for each in calibrators)
    return Selection(source=Source(data=f"demo:{key}"), calibrators=recipes, **choices)


def shown(key: str, selection: Selection) -> Any:
    """Return the table of an exhibit, on screen and in the report."""
    scene = session.scene_of(selection)
    return scene.get(EXHIBITS.make(key).table(scene))


def screen(selection: Selection, models: Models) -> dict[tuple[str, str], float]:
    """Return (model, measure): the number next to the reliability diagram, equal to that of the calibrators' table."""
    found: dict[tuple[str, str], float] = {}
    table = shown("calibrators", selection).set_index("model")
    frame = shown("summary", selection).set_index("model")
    for model in models.shown:
        for measure in MEASURES:
            found[model.title, measure.name] = value = float(frame.loc[model.title, measure.name])
            np.testing.assert_allclose(table.loc[model.title, measure.name], value, rtol=0, atol=1e-14)
    return found


def audited(key: str, folder: Path, *options: str) -> list[dict[str, Any]]:
    """Return the lines of the record that the command writes about the same file."""
    data, name = demo(key)
    (folder / name).write_bytes(data)
    words = ["audit", str(folder / name), "--json", *(w for k in KEYS for w in ("--calibrator", k)), *options]
    ended = CliRunner().invoke(main, words, catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    lines: list[dict[str, Any]] = json.loads(ended.stdout)["lines"]
    return lines


@on_law_data
def test_the_screen_shows_what_the_library_says(data: LawData) -> None:
    selection = replace(chosen("", *KEYS), source=Source(data=session.hold(*data.file()).key))
    models = session.models(selection)
    found = screen(selection, models)
    for model in models.shown:
        for measure in MEASURES:
            value = found[model.title, measure.name]
            if np.isnan(value):
                continue
            of_event = measure.estimator == "brier" and measure.reduction is None and judged(model).event is not None
            made = cc.estimate(judged(model), "event" if of_event else measure.reduction, measure.estimator)
            assert value == pytest.approx(made.value, abs=1e-14), (model.title, measure.name)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", SMALL)
def test_the_command_and_the_report_say_what_the_screen_says(key: str, tmp_path: Path) -> None:
    selection = chosen(key, *KEYS)
    models = session.models(selection)
    found = screen(selection, models)
    told = {"Original model": models.shown[0].title}
    compared = 0
    for line in audited(key, tmp_path):
        measure = next((m for m in MEASURES if (m.reduction, m.estimator) == (line["notion"], line["estimator"])), None)
        if measure is None or line["value"] is None:
            continue
        title = told.get(line["model"], line["model"])
        assert line["value"] == pytest.approx(found[title, measure.name], abs=1e-14), (title, measure.name)
        compared += 1
    assert compared >= 20
    errors, scores = shown("calibrator-errors", selection), shown("scores", selection)
    names = {(m.reduction, m.estimator): m.name for m in MEASURES}
    for line in [*errors.to_dict("records"), *scores.to_dict("records")]:
        name = names.get((line["notion"], line["estimator"]))
        if name is not None:
            assert line["value"] == pytest.approx(found[line["model"], name], abs=1e-14, nan_ok=True)
    assert len(set(errors["bins"].str.partition(" (")[0]) - {""}) == 2
    exhibit: Exhibit = EXHIBITS.make("calibrator-errors")
    assert "bins" in [column.heading for column in exhibit.columns(errors)]


def test_lines_judged_in_different_bins_say_so_on_screen_and_others_do_not() -> None:
    for calibrators, told in ((("temperature",), False), (KEYS, True)):
        selection = chosen("wine-logistic", *calibrators)
        assert ("Bins" in headings("summary", selection)) == told
        assert ("bins" in headings("calibrators", selection)) == told
    bins = shown("summary", selection)["bins"]
    assert bins[0] == f"{BINS} equal width"
    assert bins[2] == f"one per value; TL-MCE of bins: {BINS} equal width"
    given = chosen("wine-logistic", *KEYS, binning="equal-width", bins=7)
    assert "bins" not in headings("calibrators", given)


def headings(key: str, selection: Selection) -> list[str]:
    exhibit: Exhibit = EXHIBITS.make(key)
    return [column.heading for column in exhibit.columns(shown(key, selection))]


@pytest.mark.parametrize("counting", ["answered", "all"])
def test_where_a_model_abstains_every_number_is_over_the_same_rows(counting: str, tmp_path: Path) -> None:
    selection = chosen("digits-naive-bayes", "temperature", "metacal-miscoverage", counting=counting)
    models = session.models(selection)
    alike = session.scene_of(selection).over_same_rows()
    rows = {model: session.RESULTS.get(alike[model.title]) for model in models.shown}
    n = {model.n_rows for model in rows.values()}
    silent = judged(models.shown[-1]).abstained
    assert silent is not None
    assert n == {int((~silent).sum()) if counting == "answered" else len(silent)}
    base, temperature, meta = shown("calibrators", selection).to_dict("records")
    assert base["Accuracy"] == temperature["Accuracy"] == rows[models.shown[0]].accuracy
    notes = EXHIBITS.make("calibrators").words(session.scene_of(selection)).notes
    if counting == "answered":
        assert meta["Accuracy"] == base["Accuracy"]
        assert f"the {int((~silent).sum()):,} of {len(silent):,} rows" in notes[0]
    else:
        assert f"over all {len(silent):,} rows" in notes[0]
    errors = shown("calibrator-errors", selection)
    error = errors[(errors["notion"] == "confidence") & (errors["model"] == models.shown[-1].title)]["value"].item()
    assert error == pytest.approx(meta["conf-ECE"], abs=1e-14)


@pytest.mark.parametrize("counting", ["answered", "all"])
def test_verdicts_of_a_table_are_over_the_same_rows(counting: str, tmp_path: Path) -> None:
    """Next to a model that abstains, the rows are the same by hand, on screen and in the audit, and they are named."""
    selection = chosen("breast-cancer-svm", "metacal-miscoverage", counting=counting)
    scene = session.scene_of(selection)
    base, meta = map(judged, session.models(selection).shown)
    silent = meta.abstained
    assert silent is not None
    assert 0 < silent.sum() < len(silent)
    rows = ~silent if counting == "answered" else np.full(len(silent), True)
    by_hand = {}
    for title, model in zip(scene.titles, (base, meta), strict=True):
        risk, happened = model.probs[rows, model.event], model.true_labels[rows] == model.event
        by_hand[title] = happened.sum() / risk.sum(), np.square(risk - happened).mean()
    for title, line in shown("verdict", selection).set_index("model").iterrows():
        assert line["ratio"] == pytest.approx(by_hand[title][0])
        assert line["rows"] == rows.sum()
    large = shown("in-the-large", selection).set_index(["model", "measure"])["value"]
    for title, (ratio, brier) in by_hand.items():
        assert large[title, "ratio"] == pytest.approx(ratio)
        assert large[title, "brier"] == pytest.approx(brier)
    for key in ("verdict", "overall", "in-the-large", "tests", "notions", "sweep", "trade"):
        assert scene.rows_counted in EXHIBITS.make(key).words(scene).notes, key
    data, name = demo("breast-cancer-svm")
    (tmp_path / name).write_bytes(data)
    words = ["audit", str(tmp_path / name), "--calibrator", "metacal-miscoverage", "--notion", "event", "--estimator"]
    ended = CliRunner().invoke(main, [*words, "ece", "--counting", counting, "--json"], catch_exceptions=False)
    ratios = [model["primary"]["line"]["ratio"] for model in json.loads(ended.stdout)["models"].values()]
    assert sorted(ratios) == pytest.approx(sorted(ratio for ratio, _ in by_hand.values()))


def test_accuracies_and_errors_named_in_a_demos_text_are_those_of_its_file() -> None:
    said = {"digits-mlp": "0.9 %", "wine-logistic": "3.6 %", "imbalanced-forest": "10 %"}
    for each in DEMOS:
        if each.key in said:
            made = cc.estimate(cc.read_predictions(*demo(each.key), rows="all", accepted="models"), "confidence")
            digits = len(said[each.key].partition(".")[2].rstrip(" %"))
            assert f"{100 * made.value:.{digits}f} %" == said[each.key]
            names = ("confidence ECE of", "confidence ECE is", "average gap of")
            assert any(f"{name} {said[each.key]}" in each.lesson for name in names)


def test_measures_have_one_name_each() -> None:
    def asked(measures: tuple[Measure, ...]) -> dict[tuple[str | None, str], str]:
        return {(m.reduction, m.estimator): m.name for m in measures}

    every = asked(every_measure())
    assert len(set(every.values())) == len(every)
    assert asked(MEASURES).items() <= every.items()
