"""Slices on screen, in a link, in the report and on a terminal: the same numbers, and one slice used everywhere."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core import NotAnswerable, Predictions, Recipe
from calib_core.slices import Slice
from dashboard import session
from dashboard.chart import drawn
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.report import Options, build
from dashboard.report.build import _document
from dashboard.report.request import Request
from dashboard.report.sections.front_page import headline
from dashboard.selection import Selection, Source
from dashboard.views import VIEWS
from tests.dashboard.test_reliability_view import clicked
from tests.dashboard.test_views import opened

DATA = "demo:language-model"
LAW = Selection(source=Source(data=DATA, within="subject=law"), view="slices")
BASE = Selection(source=Source(data=DATA), view="slices")


def chosen(app: Any) -> Selection:
    selection: Selection = app.session_state["calib.selection"]
    return selection


def judged_rows() -> Predictions:
    return cc.calls.divide(cc.read_predictions(*cc.datasets.demo("language-model"), accepted="models")).test


def held_csv(n: int = 600, **columns: Any) -> str:
    """Return a stored file of confidences only, with columns."""
    rng = np.random.default_rng(0)
    h = rng.uniform(0.5, 1, n).round(3)
    frame = pd.DataFrame({"confidence": h, "correct": (rng.random(n) < h).astype(int), **columns})
    return session.hold(frame.to_csv(index=False).encode(), "sliced.csv").key


# ---- the view ------------------------------------------------------------------------------------------------


def test_the_picture_is_of_the_table_and_its_first_line_is_the_headline() -> None:
    app = opened(BASE)
    table = cc.slices.table(judged_rows(), "subject")
    figure = drawn(app)["slices"].figure
    right = drawn(app)["slices"].trace("accuracy: significantly off")
    assert list(right["x"]) == pytest.approx(table["right"].tolist())
    assert [record["slice"] for record in right["customdata"]] == table["where"].tolist()
    assert [text.startswith("\u25cf <b>") for text in figure["layout"]["yaxis"]["ticktext"]] == [True] * 3
    found = cc.diagrams.slice_dots(table)
    headline = (
        next(m.value for m in app.markdown if m.value.startswith("#####")).replace("\\", "").replace("\u00a0", " ")
    )
    assert headline == f"##### {found.headline}.\n\n{found.basis}"


def test_a_click_leaves_its_slice_in_every_room_and_the_chip_takes_it_away() -> None:
    app = opened(BASE)
    clicked(app, "slices", {"slice": "subject=law", "model": "Original model"})
    assert chosen(app).source.within == "subject=law"
    assert "judged on 318 rows" in app.button("frame.data").label
    assert app.button("frame.slice").label.replace("\\", "") == "subject = law"
    clicked(app, "slices", {"slice": "model=small"}, seq=2)
    assert chosen(app).source.within == "subject=law & model=small"
    clicked(app, "slices", {"slice": "no slice"}, seq=3)
    assert chosen(app).source.within == "subject=law & model=small"
    again = opened(chosen(app))
    assert "judged on 156 rows" in again.button("frame.data").label
    again.button("frame.slice").click().run()
    assert chosen(again).source.within == ""
    assert "judged on 1,000 rows" in again.button("frame.data").label
    clicked(app, "slices", {"clear": True}, seq=4)
    assert chosen(app).source.within == ""


def test_columns_are_chosen_crossed_and_cut() -> None:
    app = opened(BASE)
    app.selectbox("slices.by").select("question").run()
    assert chosen(app).exhibit("slices") == Recipe("EXHIBITS", "slices", (("by", "question"),))
    again = opened(chosen(app))  # as a link opens it, where the box has no state of its own
    assert again.selectbox("slices.by").value == "question"
    assert app.selectbox("slices.by").value == "question"
    app.text_input("exhibit.slices.edges").set_value("300; 600").run()
    assert not app.exception
    table = cc.slices.table(judged_rows(), "question", edges=(300, 600))
    assert _lines(app) == by_gap(table)
    app.text_input("exhibit.slices.edges").set_value("many").run()
    assert any("is not a list of numbers" in info.value.replace("\\", "") for info in app.info)
    app.selectbox("slices.crossed").select("model").run()
    assert _lines(app) == by_gap(cc.slices.table(judged_rows(), ("question", "model")))


def by_gap(table: pd.DataFrame) -> list[str]:
    """Return the slices in the order of the picture."""
    return list(table.iloc[np.lexsort((-table["gap"].abs(), table["p"].isna()))]["where"])


def _lines(app: Any) -> list[str]:
    right = drawn(app)["slices"].trace("confidence")
    return [record["slice"] for record in right["customdata"]]


def test_a_file_without_columns_says_what_one_would_add() -> None:
    app = opened(Selection(source=Source(data="demo:wine-logistic"), view="slices"))
    assert any("A column such as" in info.value for info in app.info)
    listed = opened(Selection(source=Source(data="demo:wine-logistic"), view="reliability"))
    absent = next(caption for caption in listed.caption if "not available" in caption.value)
    assert "Slices: " in absent.help


def test_a_calibrated_file_with_rare_values_singles_none_out() -> None:
    key = held_csv(site=["a", "b", "c"] * 200, rare=["x"] * 594 + ["y"] * 6)
    app = opened(
        Selection(source=Source(data=key), view="slices").with_exhibit(EXHIBITS.described("slices", by="rare"))
    )
    text = " ".join(m.value for m in app.markdown).replace("\\", "")
    assert "No slice is significantly off." in text
    assert "1 slice has too few rows to be tested: rare = y" in text


@pytest.mark.parametrize("view", [key for key in VIEWS if key not in ("start", "coverage", "report")])
def test_every_view_draws_a_slice(view: str) -> None:
    app = opened(LAW.replace(view=view, bin=None))
    if view != "data":
        assert "judged on 318 rows" in app.button("frame.data").label


# ---- one slice in every view ---------------------------------------------------------------------------------


def test_every_model_is_fitted_once_and_judged_on_the_slice() -> None:
    ticked = (Recipe("CALIBRATORS", "top-label-hb"),)
    law, every = (session.models(selection.replace(calibrators=ticked)).shown for selection in (LAW, BASE))
    assert len(law) == 2
    for model, whole in zip(law, every, strict=True):
        rows = session.RESULTS.get(model.predictions)
        kept = Slice.read("subject=law").rows(session.RESULTS.get(whole.predictions))
        assert rows.confidence.tolist() == session.RESULTS.get(whole.predictions).confidence[kept].tolist()
        assert model.fitted.key == whole.fitted.key


def test_other_models_and_corners_are_judged_on_the_same_rows() -> None:
    plain = cc.datasets.demo("language-model")[0].decode().splitlines()
    without = [json.dumps({k: v for k, v in json.loads(line).items() if k != "subject"}) for line in plain]
    key = session.hold("\n".join(without).encode(), "other.jsonl").key
    models = session.models(LAW.replace(others=((key, ""),), calibrators=())).shown
    first, second = (session.RESULTS.get(model.division) for model in models)
    assert second.test_rows.tolist() == first.test_rows.tolist()
    assert second.where == "subject = law"
    metadata = pd.DataFrame({"site": np.tile(["a", "b"], 3000)})
    three = cc.datasets.valk_kull(6000).predictions.replace(metadata=metadata)
    part = cc.calls.within(cc.calls.three_corners(cc.calls.divide(three), (0, 1, 2)), "site=a")
    assert set(part.test.metadata["site"]) == {"a"}


def test_a_slice_of_no_rows_and_a_column_that_is_not_there_say_so() -> None:
    rows = cc.calls.divide(cc.read_predictions(*cc.datasets.demo("language-model"), accepted="models"))
    with pytest.raises(NotAnswerable, match="no row is in the slice subject = art"):
        cc.calls.within(rows, "subject=art")
    app = opened(LAW.replace(within="site=a", view="overview"))
    assert any("no column" in error.value for error in app.error)
    app.button("frame.slice").click().run()
    assert not app.error


@pytest.mark.parametrize(
    ("text", "good"), [("subject=law", True), (" age = 1..2 & b= ", True), ("law", False), ("a=b & a=c", False)]
)
def test_a_link_takes_slices_and_nothing_else(text: str, good: bool) -> None:
    selection, problems = Selection.from_query({"within": text})
    assert bool(problems) != good
    assert selection.source.within == (str(Slice.read(text)) if good else "")
    assert Selection.from_query(selection.to_query())[0] == selection


def test_the_report_says_which_rows_and_holds_the_slices() -> None:
    report = build(LAW.replace(calibrators=()), Options(left_out=("estimators", "classes", "calibrators", "methods")))
    page = report.html.decode()
    assert "subject = law" in page
    assert "every number is for the held-out rows with subject = law" in page
    names = [table.name for _, table in report.document.tables]
    assert {"slices", "slice-panels", "slice-columns", "multicalibration"} <= set(names)
    settings = next(table for _, table in report.document.tables if table.name == "settings").frame
    assert settings.set_index("setting")["value"]["test rows judged"] == "subject = law"


# ---- terminal output -----------------------------------------------------------------------------------------


def calib(*words: str) -> Any:
    return CliRunner().invoke(main, list(words), prog_name="calib")


def test_the_command_writes_the_table_on_screen() -> None:
    answer = calib("slices", DATA, "--by", "subject", "--by", "model", "--json")
    record = json.loads(answer.stdout)
    table = cc.slices.table(judged_rows(), ("subject", "model"))
    assert record["lines"] == json.loads(json.dumps(table.to_dict("records"), default=lambda value: value.item()))
    assert record["headline"][0].startswith("subject = law, model = small: mean confidence 79 %, accuracy 47 %")
    assert calib("slices", DATA, "--by", "question", "--edges", "300,600", "--csv").stdout.count("\n") == 4
    assert "9 of 9 slices are significantly off" in calib("slices", DATA).stdout
    scanned = calib("slices", DATA, "--scan").stdout
    assert cc.slices.scan(judged_rows()).headline in scanned
    assert "confirmed (exact test, Holm-corrected)" in scanned


def test_the_error_within_the_worst_group_is_that_of_the_library_everywhere() -> None:
    found = cc.slices.multicalibration(judged_rows(), ("subject", "model"), crossings=True)
    record = json.loads(calib("slices", DATA, "--by", "subject", "--by", "model", "--worst-group", "--json").stdout)
    assert record["headline"] == [found.headline, found.sentence]
    assert [line["high"] for line in record["lines"]] == found.frame()["high"].tolist()
    every = calib("slices", DATA, "--worst-group").stdout
    assert cc.slices.multicalibration(judged_rows()).sentence in every
    assert "--worst-group goes only with --by" in calib("slices", DATA, "--worst-group", "--scan").stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--by", "a", "--by", "b", "--by", "c"], "Give --by once, or twice"),
        (["--scan", "--by", "a"], "--scan searches every column"),
        (["--csv", "--json"], "exclude each other"),
        (["--parts", "3"], "--parts goes with --by"),
        (["--scan", "--parts", "4"], "--parts goes with --by"),
        (["--min-rows", "50", "--by", "subject"], "--min-rows goes with --scan"),
        (["--by", "subjct"], "did you mean 'subject'"),
        (["--where", "law"], "--where: 'law' is not possible"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(words: list[str], sentence: str) -> None:
    answer = calib("slices", DATA, *words)
    assert answer.exit_code == 2
    assert sentence in answer.stderr


def test_where_says_the_same_as_the_chip_and_is_in_the_copied_command() -> None:
    recipe = EXHIBITS.described("overall")
    line = session.show_line(LAW, recipe)
    assert line.endswith("--where subject=law")
    shown = calib("show", "overall", DATA, "--calibrator", "temperature", "--where", "subject=law", "--format", "csv")
    frame = session.RESULTS.get(recipe.build().table(session.scene_of(LAW)))
    assert shown.stdout.splitlines()[1].split(",")[0] == frame.iloc[0, 0]
    assert str(318) in shown.stdout
    python = recipe.build().python(session.scene_of(LAW))
    assert "cc.calls.within(" in python
    assert "'subject=law'" in python


def test_audit_and_gate_judge_a_slice_and_say_so(tmp_path: Any) -> None:
    content, name = cc.datasets.demo("language-model")
    file = tmp_path / name
    file.write_bytes(content)
    law = cc.slices.part(cc.read_predictions(content, name, accepted="models"), "subject=law")
    words = ("--where", "subject=law", "--notion", "confidence", "--estimator", "ece")
    audit = calib("audit", str(file), "--judge", "all", *words)
    assert f"judged on {law.n_rows:,} rows with subject = law" in audit.stdout
    assert f"{100 * cc.estimate(law, 'confidence').value:.0f}" in audit.stdout
    gate = calib("gate", str(file), "--judge", "all", "--where", "subject=law", "--max-ece", "0.05")
    assert gate.exit_code == 1
    assert f"{law.n_rows:,} rows with subject = law" in gate.stdout
    nothing = calib("gate", str(file), "--where", "subject=art", "--max-ece", "0.05")
    assert nothing.exit_code == 2
    assert "no row is in the slice subject = art" in nothing.stderr


def few_groups(tmp_path: Any, **columns: Any) -> str:
    frame = pd.DataFrame({"confidence": [0.7, 0.9] * 30, "correct": [1, 0, 1, 1] * 15, "site": ["a", "b"] * 30})
    frame.assign(**columns).to_csv(tmp_path / "few.csv", index=False)
    return str(tmp_path / "few.csv")


def test_what_is_said_of_few_groups_are_sentences_with_an_end(tmp_path: Any) -> None:
    file = few_groups(tmp_path, patient=["p", "q"] * 30, half=["x"] * 30 + ["y"] * 30)
    answer = calib("audit", file, "--read", "group=patient", "--where", "site=a", "--estimator", "ece")
    assert "\nRows belong to 1 group (patient): " in answer.stdout
    assert "evaluate one row per group.\nA test of all rows together" in answer.stdout
    scanned = calib("slices", file, "--read", "group=patient", "--where", "site=b", "--scan")
    assert (scanned.exit_code, scanned.stdout) == (2, "")
    assert "rows in 1 group (patient) cannot be divided" in scanned.stderr


def test_a_slice_that_weighs_nothing_is_a_sentence(tmp_path: Any) -> None:
    file = few_groups(tmp_path, weight=[0, 1] * 30)
    for command in (["audit", file], ["slices", file, "--by", "site"], ["show", "hero", file]):
        answer = calib(*command, "--where", "site=a", "--read", "weights=weight")
        assert answer.exit_code == 2
        assert "every row in the slice site = a has weight 0" in answer.stderr


def test_the_first_words_of_a_report_name_the_slice() -> None:
    request = Request(dataclasses.replace(LAW, calibrators=()), Options())
    work = headline(request)
    while True:
        try:
            next(work)
        except StopIteration as done:
            said = done.value.block.text
            break
    assert said.startswith("Where subject is law: when it says 90 %, it is right ")
    document = _document(request, ())
    assert document.title.endswith(", where subject = law")
    assert document.about.endswith(", where subject = law")
    assert "where" not in _document(Request(BASE, Options()), ()).title
    assert _document(Request(LAW, Options(title="Mine")), ()).title == "Mine"


@pytest.mark.parametrize("view", [key for key, each in VIEWS.items() if each.room == "explore"])
def test_a_slice_without_rows_is_a_sentence_in_every_view_of_explore(view: str) -> None:
    app = opened(Selection(source=Source(data="demo:language-model", within="subject=nowhere"), view=view))
    (why,) = (element.value.replace("\\", "") for element in app.error)
    assert why.startswith("no row is in the slice subject = nowhere")
