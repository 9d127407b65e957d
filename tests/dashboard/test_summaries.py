"""Summaries on the command line and in the dashboard: created, gated like the rows, audited, shown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core.summaries import write_summary
from dashboard import session
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.selection import Selection, Source
from tests.dashboard.test_views import opened

pytest.importorskip("pyarrow")
DATA, ROWS = cc.datasets.demo("digits-naive-bayes")


def run(*words: str) -> Result:
    return CliRunner().invoke(main, [*words], prog_name="calib")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("calib_core.readers.formats.parquet._HAS_LIMITS", False)
    monkeypatch.chdir(tmp_path)
    Path(ROWS).write_bytes(DATA)
    return tmp_path


def test_a_summary_is_gated_as_its_rows_are():
    ended = run("summarise", ROWS, "-o", "counts.parquet", "--rows", "all")
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.startswith("counts.parquet: ")
    there, here = (run("gate", name, "--max-ece", "0.02", "--rows", "all") for name in (ROWS, "counts.parquet"))
    assert here.exit_code == there.exit_code == 1
    # A summary does not have the rows of subsets.
    lines = [line for line in there.stdout.splitlines() if not line.startswith("The result is about all judged rows")]
    assert here.stdout.splitlines()[1:] == lines[1:]


def test_an_audit_of_a_summary_says_what_needs_rows():
    run("summarise", ROWS, "-o", "counts.parquet")
    ended = run("audit", "counts.parquet")
    assert ended.exit_code == 0, ended.output
    assert "Top-label ECE" in ended.stdout
    assert "Class-wise ECE" in ended.stdout
    assert "needs rows" in ended.stdout
    again = run("summarise", "counts.parquet", "counts.parquet", "-o", "twice.parquet")
    assert again.exit_code == 0
    assert cc.read_summary("twice.parquet").n_rows == 2 * cc.read_summary("counts.parquet").n_rows


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("summarise", "none.csv", "-o", "a.parquet"), "none.csv cannot be opened"),
        (("summarise", "none.csv", "-o", "a.csv"), "a name that ends in .parquet"),
        (("fit", "counts.parquet", "--calibrator", "temperature", "-o", "cal.json"), "needs rows"),
        (("slices", "counts.parquet"), "has no slices"),
        (("audit", "counts.parquet", "--where", "site=a"), "calib summarise --column NAME"),
        (("audit", "none.csv", "--read", "layout=kept-rows"), "none.csv cannot be opened"),
    ],
)
def test_what_a_summary_cannot_is_said_in_a_sentence(words, why):
    write_summary(cc.Summary.of(cc.Predictions([[0.7, 0.3], [0.2, 0.8]] * 40, [0, 1] * 40)), "counts.parquet")
    ended = run(*words)
    assert why in ended.output
    assert "a mistake of the program" not in ended.output


def test_a_summary_is_reported_with_its_calibrators_and_fitted_by_the_rows_it_keeps():
    made = cc.Summary.of(cc.Predictions([[0.7, 0.2, 0.1], [0.2, 0.1, 0.7]] * 40, [0, 1] * 40))
    write_summary(made, "counts.parquet")
    ended = run("report", "counts.parquet", "--only", "calibrators", "-o", "report.html")
    assert ended.exit_code == 0, ended.output
    fit = ("fit", "counts.parquet", "--calibrator", "temperature", "-o", "cal.json")
    assert "layout=kept-rows" in run(*fit).stderr
    ended = run(*fit, "--read", "layout=kept-rows")
    assert ended.exit_code == 0, ended.output
    assert "fitted on 80 rows" in ended.stderr


@pytest.mark.parametrize("view", ["overview", "data", "reliability"])
def test_a_summary_opens_in_the_dashboard(view):
    write_summary(cc.Summary.of(cc.Predictions([[0.7, 0.3], [0.2, 0.8]] * 400, [0, 1] * 400)), "counts.parquet")
    key = session.hold(Path("counts.parquet").read_bytes(), "counts.parquet").key
    app = opened(Selection(source=Source(data=key), view=view))
    said = " ".join(str(each.value) for each in (*app.markdown, *app.metric, *app.caption))
    assert ("mean predicted risk" in said) if view == "reliability" else ("800" in said)


def test_a_summary_is_never_said_to_be_divided():
    write_summary(cc.Summary.of(cc.Predictions([[0.7, 0.3], [0.2, 0.8]] * 150, [0, 1] * 150)), "counts.parquet")
    key = session.hold(Path("counts.parquet").read_bytes(), "counts.parquet").key
    app = opened(Selection(source=Source(data=key), view="data"))
    said = " ".join(str(each.value) for each in (*app.markdown, *app.caption)).replace("\\", "")
    assert "All 300 rows are judged (a summary, evaluated as a whole" in said
    assert not any(words in said for words in ("seed", "share of", "calibration rows (", "test rows."))
    assert not [button for button in app.button if button.label == "Judge all rows"]
    assert session.parts(Source(data=key)).frame()["part"].tolist() == ["judged"]


def said_of_a_summary(view: str, **changes) -> tuple[AppTest, str]:
    """Return a view of a summary, and its visible text."""
    write_summary(cc.Summary.of(cc.Predictions([[0.7, 0.3], [0.2, 0.8]] * 150, [0, 1] * 150)), "counts.parquet")
    key = session.hold(Path("counts.parquet").read_bytes(), "counts.parquet").key
    app = opened(Selection(source=Source(data=key), view=view, **changes))
    said = " ".join(str(each.value) for each in (*app.markdown, *app.caption, *app.info, *app.warning))
    return app, said.replace("\\", "").replace("\u200b", "").replace("\u00a0", " ")


NO_CALIBRATOR = "No calibrator is fitted on a summary that is evaluated; calib fit can fit one on it for other rows."


@pytest.mark.parametrize("view", ["calibrators", "reliability", "classes", "curves"])
def test_no_calibrator_is_offered_for_a_summary_and_a_sentence_says_why(view):
    app, said = said_of_a_summary(view)
    assert said.count(NO_CALIBRATOR) == 1
    assert "cannot be used" not in said
    assert not app.checkbox
    labels = {each.label for each in app.get("button_group")}
    assert labels <= {"Room", "View", "Curve"}
    if view in ("classes", "curves"):
        assert {each.label for each in app.selectbox} == {"Bins"}


def test_a_bin_of_a_summary_says_what_its_line_of_the_table_does():
    _, said = said_of_a_summary("reliability", bin=4, binning="equal-width", bins=15)
    assert "150 rows: mean predicted risk 30 %, observed frequency 0 %." in said
    _, said = said_of_a_summary("reliability", notion="confidence", bin=10, binning="equal-width", bins=15)
    assert "150 rows: mean confidence 70 %, accuracy 100 %." in said
    assert "needs rows" not in said
    _, said = said_of_a_summary("reliability")
    assert "its number of rows" in said
    assert "classes and rows" not in said


def test_slices_of_a_summary_name_the_remedy_and_the_planner_says_whose_numbers_it_takes():
    assert "calib summarise --column" in said_of_a_summary("slices")[1]
    assert (
        "Typical numbers, not those of the loaded data: number of calibration rows" in said_of_a_summary("planner")[1]
    )
    assert "Typical numbers" not in said_of_rows("planner")


def said_of_rows(view: str) -> str:
    app = opened(Selection(source=Source(data="demo:wine-logistic"), view=view))
    return " ".join(str(each.value) for each in app.caption)


# -- slices, several models, and sampled rows --------------------------------------------------------------------


def sliced_table(name: str, sharp: float) -> str:
    """Return a CSV file of 400 rows with a column, the same rows for every model."""
    rng = np.random.default_rng(0)
    z, site = rng.normal(size=400), rng.choice(["a", "b"], 400)
    right = rng.random(400) < 1 / (1 + np.exp(-z))
    lines = [f"{1 / (1 + np.exp(-sharp * s)):.6f},{int(y)},{w}" for s, y, w in zip(z, right, site, strict=True)]
    Path(name).write_text("\n".join(["p,label,site", *lines]) + "\n")
    return name


def test_slices_of_a_summary_are_those_of_its_rows_on_the_command_line():
    sliced_table("rows.csv", 2.0)
    assert run("summarise", "rows.csv", "-o", "counts.parquet", "--column", "site").exit_code == 0
    there, here = (
        run("slices", name, "--by", "site", "--json", *more) for name, *more in (("rows.csv",), ("counts.parquet",))
    )
    assert here.exit_code == there.exit_code == 0, here.output
    assert {line["where"] for line in json.loads(here.stdout)["lines"]} == {"site=a", "site=b"}
    there, here = (
        run("audit", name, "--where", "site=a", "--notion", "confidence") for name in ("rows.csv", "counts.parquet")
    )
    assert here.exit_code == 0, here.output
    # A slice of a summary only has its confidences, and their mean gap most of the level; for two classes that of the
    # event has it. So the lower end is not lower. The upper end is from the same draws; all else is equal.
    (rows, counts) = (
        next(line for line in each.stdout.splitlines() if line.startswith("Confidence ECE"))
        .replace(" of the confidence", "")  # named where there is another mean gap
        .split()
        for each in (there, here)
    )
    ends = slice(rows.index("to") - 1, rows.index("to") + 2)
    assert 0 <= float(counts[ends][0]) - float(rows[ends][0]) <= 2
    assert float(counts[ends][2]) == pytest.approx(float(rows[ends][2]), abs=0.5)
    assert rows[: ends.start] + rows[ends.stop :] == counts[: ends.start] + counts[ends.stop :]
    assert "needs rows" in run("slices", "counts.parquet", "--scan").output
    assert "it has those of site" in run("gate", "counts.parquet", "--max-ece", "0.1", "--where", "age=3").output


def test_summaries_are_compared_over_all_rows_and_over_those_kept_together():
    for name, sharp in (("old", 2.0), ("new", 1.0)):
        sliced_table(f"{name}.csv", sharp)
        run("summarise", f"{name}.csv", "-o", f"{name}.parquet", "--rows-of", "test")
        run("summarise", f"{name}.csv", "-o", f"{name}-alone.parquet")
    rows, kept = (
        run("compare", *names, "--json") for names in (("old.csv", "new.csv"), ("old.parquet", "new.parquet"))
    )
    there, here = json.loads(rows.stdout)["lines"], json.loads(kept.stdout)["lines"]
    paired = [line for line in here if line["of"] == "400 rows sampled, paired"]
    assert [line["estimator"] for line in paired] == [line["estimator"] for line in there]
    for mine, known in zip(paired, there, strict=True):  # all 400 are sampled, in another order
        assert mine["difference"] == pytest.approx(known["difference"], abs=1e-9)
    apart = [line for line in here if line["of"] == "all, unpaired"]
    for wide, known in zip(apart, there, strict=True):
        assert wide["note"] or wide["low"] <= known["difference"] <= wide["high"]
    said = run("compare", "old-alone.parquet", "new-alone.parquet").stdout
    assert "Not paired: these summaries have samples of different rows" in said
    assert "rows sampled, paired" not in said


def test_the_rows_a_summary_keeps_are_a_click_away_and_so_is_the_way_back():
    app, said = said_of_a_summary("classes")
    assert "“Classes” needs rows, and a summary contains only counts" in said
    next(button for button in app.button if button.label == "Look at the 300 sampled rows").click().run()
    assert not app.exception
    source = app.session_state["calib.selection"].source
    assert session.parts(source).test.grain == "rows"
    assert len(session.whole(source.data, source.reading).true_labels) == 300
    next(button for button in app.button if button.label == "Rows sampled in the summary").click().run()
    assert app.session_state["calib.selection"].source.reading == ""


def test_what_of_a_picture_needs_rows_is_not_offered_of_a_summary():
    app, _ = said_of_a_summary("reliability", notion="confidence")
    overlay = next(box for box in app.selectbox if box.label == "Curve without bins")
    assert overlay.options == ["None"]
    corp = (EXHIBITS.described("reliability", overlay="corp"),)
    _, said = said_of_a_summary("reliability", notion="confidence", exhibits=corp)
    assert "“Isotonic curve (CORP)” needs" in said


def test_several_summaries_are_compared_on_screen_and_a_slice_of_both_is_judged():
    keys = []
    for name, sharp in (("old", 2.0), ("new", 1.0)):
        sliced_table(f"{name}.csv", sharp)
        run("summarise", f"{name}.csv", "-o", f"{name}.parquet", "--rows-of", "test", "--column", "site")
        keys.append(session.hold(Path(f"{name}.parquet").read_bytes(), f"{name}.parquet").key)
    chosen = Selection(source=Source(data=keys[0]), others=((keys[1], ""),), view="calibrators")
    app = opened(chosen)
    said = " ".join(str(each.value) for each in (*app.markdown, *app.caption)).replace("\\", "")
    assert "Paired differences, on the rows stored in summaries" in said
    within = Selection(source=Source(data=keys[0], within="site=a"), others=((keys[1], ""),), view="slices")
    first, second = (session.RESULTS.get(model.predictions) for model in session.models(within).shown)
    assert first.n_rows == second.n_rows < 400
    app = opened(Selection(source=Source(data=keys[0]), view="slices"))
    assert "Crossed with" not in {box.label for box in app.selectbox}
    assert not any("Scan" in each.label for each in app.expander)
