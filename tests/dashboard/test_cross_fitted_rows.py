"""Cross-fitted rows: screen, report, command and copied code show the same numbers, and name their rows."""

from __future__ import annotations

import io
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core import InputError, NotAnswerable, Recipe
from calib_core.defaults import LEVEL, TOLERANCE
from calib_core.evaluation.cross_fitting import COLUMN_UNUSED, CROSS_FITTED, OF_ALL_ROWS, over_folds, plain_folds
from dashboard import session
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS, papers
from dashboard.exhibits.recommendation import Recommendation
from dashboard.export import csv_bytes
from dashboard.report.sections import front_page
from dashboard.selection import Selection, Source
from dashboard.session import Scene
from dashboard.session.shell import report_line, show_line
from dashboard.views import data_rows
from tests.dashboard.test_views import opened
from tests.laws.test_words import code_in

WINE = Source(data="demo:wine-logistic", by="folds", folds=3, seed=4)
TICKED = tuple(Recipe("CALIBRATORS", key) for key in ("temperature", "top-label-hb"))
APART = ("triangle", "canonical-validity", "cell-rows")
"""Exhibits that learn something other than a calibrator from calibration rows, shown on other rows."""
OF_MAPS = ("promises", "fitted", "calibration-maps", "binary-map")
"""Exhibits about the map for later use."""


@pytest.fixture(scope="module")
def scene() -> Scene:
    return session.scene_of(Selection(source=WINE, calibrators=TICKED, code=1, bin=12, cell=2))


def patients(folder: Path, n: int = 120) -> Path:
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), n)
    y = (rng.random(n)[:, None] > (p**0.6 / (p**0.6).sum(axis=1, keepdims=True)).cumsum(axis=1)[:, :-1]).sum(axis=1)
    frame = pd.DataFrame(p, columns=["p_a", "p_b", "p_c"]).assign(label=np.array(["a", "b", "c"])[y])
    frame.assign(patient=np.arange(n) // 3, site=np.where(np.arange(n) % 4, "Kiel", "Bonn")).to_csv(
        folder / "few.csv", index=False
    )
    return folder / "few.csv"


def run(*words: object) -> Any:
    return CliRunner().invoke(main, [str(word) for word in words], prog_name="calib")


def same(a: cc.Predictions, b: cc.Predictions) -> None:
    np.testing.assert_array_equal(a.confidence, b.confidence)
    np.testing.assert_array_equal(a.correct, b.correct)


def shown(key: str, scene: Scene) -> pd.DataFrame | str:
    try:
        return scene.get(EXHIBITS.make(key).table(scene))
    except NotAnswerable as why:
        return str(why)


# ---- links ---------------------------------------------------------------------------------------------------


def test_a_link_keeps_the_folds_and_old_links_hold() -> None:
    found, problems = Selection.from_query(Selection(source=WINE).to_query())
    assert (found.source, problems) == (WINE, ())
    assert Selection.from_query({"by": "column", "share": "0.3"})[0].source == Source(by="column", share=0.3)
    for text in ("1", "21", "2.5"):
        assert Selection.from_query({"by": "folds", "folds": text})[1] == (
            f"The link's folds was left out: '{text}' is not possible.",
        )


# ---- models --------------------------------------------------------------------------------------------------


def test_every_model_is_judged_on_all_rows_by_maps_of_the_other_folds(scene: Scene) -> None:
    whole = session.whole(WINE.data, "")
    for model in scene.models.shown:
        fold = plain_folds(whole, 3, 4)
        wanted = whole if model.is_base else over_folds(whole, whole, model.recipe.key, fold, fold)
        same(scene.get(model.predictions), wanted)
        same(scene.get(model.fitted).apply(whole), model.recipe.build().fit_on(whole).apply(whole))
    assert session.shared(WINE) is None


def test_slices_and_other_models_share_the_folds(tmp_path: Path) -> None:
    key = session.hold(patients(tmp_path).read_bytes(), "few.csv").key
    reading = json.dumps({"group": "patient"})
    source = Source(key, reading=reading, by="folds", folds=4, within="site=Bonn")
    scene = session.scene_of(Selection(source=source, others=((key, ""),), calibrators=TICKED[:1]))
    rows = cc.calls.divide(session.whole(key, reading), folds=4)
    every = cc.calls.recalibrated(rows, cc.calls.fitted(rows, "temperature"))
    bonn = np.flatnonzero(np.arange(120) % 4 == 0)
    first, after, other, other_after = (scene.get(model.predictions) for model in scene.models.shown)
    same(first, rows.whole.take(bonn))
    same(after, every.take(bonn))
    same(other, first)
    same(other_after, after)  # the second model has no groups of its own: its rows are dealt out as the first one's
    assert scene.get(scene.models.shown[2].division).rule.endswith(
        "each group (patient) in one fold, like the first file"
    )


# ---- exhibits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["rows", "summary", "movement", *OF_MAPS])
def test_copied_code_makes_the_very_table(scene: Scene, key: str) -> None:
    names: dict[str, Any] = {}
    exec(EXHIBITS.make(key).python(scene), names)  # what people copy
    pd.testing.assert_frame_equal(names["table"], shown(key, scene), check_exact=True)


@pytest.mark.parametrize("key", APART)
def test_what_needs_rows_apart_says_so(scene: Scene, key: str) -> None:
    assert "divide the rows in two" in str(shown(key, scene))
    apart = session.scene_of(Selection(source=Source(data=WINE.data, by="share"), calibrators=TICKED, cell=2))
    assert not isinstance(shown(key, apart), str)


def test_tables_of_methods_divide_all_rows_by_themselves_and_never_a_slice_from_itself() -> None:
    assert papers._rows(WINE) == session.Model(WINE).whole
    fit, _ = papers._rows(replace(WINE, corners="0,1,2,pool"))
    with pytest.raises(NotAnswerable, match="divide the rows in two"):
        session.scene_of(Selection(source=WINE)).get(fit)


def test_a_sweep_never_judges_a_map_on_the_rows_it_was_fitted_on_anew(scene: Scene) -> None:
    sweep = EXHIBITS.make("sweep", refit=True)
    shown = set(scene.get(sweep.table(scene))["model"])
    anew = [model.title for model in scene.models.shown if sweep._anew(model)]
    assert anew
    assert shown
    assert not shown & set(anew)
    notes = " ".join(sweep.words(scene).notes)
    assert all(f"{title}: " in notes for title in anew)
    assert "divide the rows in two" in notes


def test_the_words_say_what_is_judged(scene: Scene) -> None:
    rows = EXHIBITS.make("rows").words(scene)
    assert "cross-fitted in 3 random folds, seed 4" in rows.caption
    assert CROSS_FITTED in rows.notes
    for key in OF_MAPS:
        assert any(OF_ALL_ROWS in note for note in EXHIBITS.make(key).words(scene).notes), key
    assert "not to the cross-fitted rows" in EXHIBITS.make("promises").words(scene).notes[0]
    for key in ("movement", "gains"):
        assert "178 rows, cross-fitted" in EXHIBITS.make(key).words(scene).caption
    apart = session.scene_of(Selection(source=Source(data=WINE.data, by="share"), calibrators=TICKED))
    for key in ("rows", "movement", *OF_MAPS):
        words = EXHIBITS.make(key).words(apart)
        assert not any(text in (OF_ALL_ROWS, CROSS_FITTED) or "cross" in text for text in (words.caption, *words.notes))


@pytest.mark.wide
@pytest.mark.parametrize("key", list(EXHIBITS))
def test_every_exhibit_is_shown_or_says_why_not(scene: Scene, key: str) -> None:
    exhibit, table = EXHIBITS.make(key), shown(key, scene)
    if not isinstance(table, str):
        assert exhibit.columns(table)
        words = exhibit.words(scene)
        assert words.caption
        assert not [text for text in (words.caption, *words.notes) if code_in(text)]
        assert exhibit.figure(scene) is None or scene.get(exhibit.figure(scene)).data


# ---- commands ------------------------------------------------------------------------------------------------


def test_the_command_says_what_the_screen_shows(tmp_path: Path) -> None:
    file = patients(tmp_path)
    words = (
        "--folds",
        4,
        "--seed",
        3,
        "--calibrator",
        "temperature",
        "--where",
        "site=Kiel",
        "--read",
        "group=patient",
    )
    only = ("--notion", "confidence", "--estimator", "ece")
    lines = pd.read_csv(io.StringIO(run("audit", file, *words, *only, "--csv").stdout))
    key = session.hold(file.read_bytes(), "few.csv").key
    source = Source(key, json.dumps({"group": "patient"}), by="folds", folds=4, seed=3, within="site=Kiel")
    scene = session.scene_of(Selection(source=source, calibrators=TICKED[:1]))
    models = {model.title: scene.get(model.predictions) for model in scene.models.shown}
    answers = cc.inference.estimates(models, [("confidence", "ece")])
    screen = cc.inference.estimate_lines(answers, TOLERANCE, LEVEL)
    assert lines[["low", "high", "value"]].values.tolist() == screen[["low", "high", "value"]].values.tolist()
    text = run("audit", file, *words, *only)
    assert text.exit_code == 0, text.stderr
    assert "Cross-fitted in 4 random folds, each group (patient) in one fold, seed 3. " + CROSS_FITTED in text.stdout
    record = json.loads(run("audit", file, *words, *only, "--json").stdout)
    assert record["options"]["folds"] == 4


def test_a_line_to_copy_shows_the_same_table(scene: Scene) -> None:
    selection = Selection(source=WINE, calibrators=TICKED)
    line = shlex.split(show_line(selection, Recipe("EXHIBITS", "summary")))
    assert line[line.index("--folds") :][:2] == ["--folds", "3"]
    assert run(*line[1:], "--format", "csv").stdout == csv_bytes(shown("summary", scene)).decode()
    assert "--folds 5" in report_line(selection.replace(folds=5, share=0.3))
    assert "--share" not in report_line(selection.replace(share=0.3))
    assert "folds" not in report_line(selection.replace(by="share"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audit", "--share", 0.5), "--folds does not go with --share, --rows or --test: every row is judged."),
        (("audit", "--rows", "all"), "--folds does not go with --share, --rows or --test: every row is judged."),
        (("show", "--share", 0.5), "--folds does not go with --share, --rows or --test: every row is judged."),
        (("show", "--test", "few.csv"), "--folds does not go with --share, --rows or --test: every row is judged."),
    ],
)
def test_what_does_not_go_with_folds_is_refused(tmp_path: Path, words: tuple[Any, ...], said: str) -> None:
    command, *rest = words
    answer = run(command, *(["rows"] if command == "show" else []), patients(tmp_path), "--folds", 3, *rest)
    assert answer.exit_code == 2
    assert said in answer.stderr


@pytest.mark.parametrize("fitted", [("--calibrator", "temperature"), ()])
def test_more_folds_than_groups_are_refused_in_a_sentence(tmp_path: Path, fitted: tuple[str, ...]) -> None:
    answer = run("audit", patients(tmp_path), "--folds", 41, "--read", "group=patient", *fitted)
    assert answer.exit_code == 2
    assert "folds is 41; it must be a whole number from 2 to 40: there are 40 groups (patient)" in answer.stderr
    with pytest.raises(InputError, match="from 2 to 178"):
        session.parts(Source(data=WINE.data, by="folds", folds=179))


def test_what_folds_leave_out_is_said(tmp_path: Path) -> None:
    table = pd.read_csv(patients(tmp_path)).assign(split=["calibration", "test"] * 60)
    file = tmp_path / "marked.csv"
    table.to_csv(file, index=False)
    only = ("--notion", "confidence", "--estimator", "ece")
    unused, nothing = COLUMN_UNUSED.format("split"), "No calibrator is fitted"
    bare, marked = (run("audit", each, "--folds", 3, *only).stdout for each in (tmp_path / "few.csv", file))
    assert "judged on all 120 rows" in marked
    assert (nothing in bare, nothing in marked) == (True, True)
    assert (unused in bare, unused in marked) == (False, True)
    record = json.loads(run("audit", file, "--folds", 3, *only, "--calibrator", "temperature", "--json").stdout)
    assert record["options"]["note"].endswith(f"{CROSS_FITTED} {unused}")
    plain = run("audit", file, *only).stdout
    assert "judged on 60 held-out rows" in plain
    assert unused not in plain
    key = session.hold(file.read_bytes(), "marked.csv").key
    for by in ("folds", "column"):
        notes = EXHIBITS.make("rows").words(session.scene_of(Selection(source=Source(key, by=by)))).notes
        assert (unused in notes) == (by == "folds")


def test_the_planner_says_whose_rows_it_counts(scene: Scene) -> None:
    for key in ("plan", "plans"):
        (note,) = EXHIBITS.make(key).words(scene).notes
        assert "the final calibrator is fitted on all 178 calibration rows" in note
        assert note.endswith("fitted on fewer, 118 or more.")
        assert not EXHIBITS.make(key).words(session.scene_of(Selection(source=replace(WINE, by="share")))).notes
    chosen = Selection(source=WINE, binning="equal-mass", bins=5)
    with pytest.raises(NotAnswerable, match="set on calibration rows, which are not counted"):
        session.scene_of(chosen).get(EXHIBITS.make("bin-balance").table(session.scene_of(chosen)))


def test_the_overview_says_which_rows_its_cards_are_of() -> None:
    for source, of in ((WINE, "all rows"), (replace(WINE, by="share"), "the held-out rows")):
        captions = [caption.value for caption in opened(Selection(source=source)).caption]
        assert any(words.startswith(f"By class, on {of}") for words in captions)


def test_the_report_says_that_rows_are_cross_fitted(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    for recalibrated in (["--calibrator", "temperature"], []):
        words = ("report", patients(tmp_path), "-o", page, "--folds", 3, *recalibrated, "--only", "data")
        assert run(*words).exit_code == 0
        assert (CROSS_FITTED in page.read_text("utf-8")) == bool(recalibrated)
    assert front_page._rows(session.parts(WINE)) == "178, all judged"


# ---- screen --------------------------------------------------------------------------------------------------


def test_few_rows_are_offered_to_be_judged_whole() -> None:
    app = opened(Selection(view="data", source=Source(data=WINE.data, by="share"), calibrators=TICKED))
    app = app.button(key="data.rows.offer").click().run()
    assert not app.exception
    assert app.session_state["calib.selection"].source == Source(data=WINE.data, by="folds")
    captions = " ".join(text.value.replace("\\", "") for text in (*app.caption, *app.markdown))
    assert "All 178 rows are judged (cross\N{NON-BREAKING HYPHEN}fitted in 7 random folds, seed 0)" in captions
    assert CROSS_FITTED in captions
    assert not [button for button in app.button if button.key == "data.rows.offer"]
    assert "judged on 178 rows, cross-fitted" in app.button(key="frame.data").label
    assert app.button(key="frame.data").help == CROSS_FITTED
    app = app.slider(key="choice.folds").set_value(3).run()
    assert app.session_state["calib.selection"].source.folds == 3


def test_many_rows_are_not_offered_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_rows, "FEW", 177)
    app = opened(Selection(view="data", source=Source(data=WINE.data, by="share")))
    assert not [button for button in app.button if button.key == "data.rows.offer"]


def test_pairs_of_rows_are_turned_round_within_folds_alone(scene: Scene) -> None:
    """Rows of two folds have two maps, whose scores are not compared."""
    frame = scene.get(EXHIBITS.make("uses").table(scene)).set_index(["calibrator", "measure"])["after"]
    before, after, _ = scene.recalibrations
    fold = np.asarray(scene.get(scene.models.shown[0].division).test_folds)
    alike, differ = np.triu(fold[:, None] == fold, 1), 0
    for name in after:
        old, new = (scene.get(part[name]).confidence.astype(float).round(12) for part in (before, after))
        turned = np.sign(old[:, None] - old) * np.sign(new[:, None] - new) < 0
        assert frame[name, "reversed"] == pytest.approx(turned[alike].mean())
        differ += turned[alike].mean() != turned[np.triu_indices(len(fold), 1)].mean()
    assert differ, "pairs of two folds are turned round, too"


def test_the_seed_of_the_rows_is_that_of_the_advice() -> None:
    source = Source(data="demo:breast-cancer-svm", by="folds", seed=7)
    scene = session.scene_of(Selection(source=source, calibrators=()))
    assert dict(Recommendation.suited(scene).found(scene).options)["random_state"] == 7


def test_a_line_to_copy_counts_the_rows_that_the_page_counts() -> None:
    abstaining = Selection(source=WINE, calibrators=(Recipe("CALIBRATORS", "metacal-miscoverage"),))
    choices = [parse_qs(shlex.split(show_line(each, Recipe("EXHIBITS", "summary")))[-1])
               for each in (abstaining, abstaining.replace(counting="all"))]  # fmt: skip
    assert "counting" not in choices[0]
    assert choices[1]["counting"] == ["all"]
