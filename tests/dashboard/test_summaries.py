"""A summary at the command line and in the dashboard: made, gated like the rows, audited, looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core.summaries import write_summary
from dashboard import session
from dashboard.cli import main
from dashboard.selection import Selection, Source
from tests.dashboard.test_views import opened

pytest.importorskip("pyarrow")
DATA, ROWS = cc.datasets.demo("digits-naive-bayes")


def run(*words: str) -> Result:
    return CliRunner().invoke(main, [*words], prog_name="calib")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("calib_core.readers.parquet._HAS_LIMITS", False)
    monkeypatch.chdir(tmp_path)
    Path(ROWS).write_bytes(DATA)
    return tmp_path


def test_a_summary_is_gated_as_its_rows_are():
    ended = run("summarise", ROWS, "-o", "counts.parquet", "--rows", "all")
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.startswith("counts.parquet: ")
    there, here = (run("gate", name, "--max-ece", "0.02", "--rows", "all") for name in (ROWS, "counts.parquet"))
    assert here.exit_code == there.exit_code == 1
    assert here.stdout.splitlines()[1:] == there.stdout.splitlines()[1:]


def test_an_audit_of_a_summary_says_what_needs_rows():
    run("summarise", ROWS, "-o", "counts.parquet")
    ended = run("audit", "counts.parquet")
    assert ended.exit_code == 0, ended.output
    assert "Top-label ECE" in ended.stdout
    assert "over all classes need rows" in ended.stdout
    again = run("summarise", "counts.parquet", "counts.parquet", "-o", "twice.parquet")
    assert again.exit_code == 0
    assert cc.read_summary("twice.parquet").n_rows == 2 * cc.read_summary("counts.parquet").n_rows


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("summarise", "none.csv", "-o", "a.parquet"), "none.csv cannot be opened"),
        (("summarise", "none.csv", "-o", "a.csv"), "a name that ends in .parquet"),
        (("fit", "counts.parquet", "--calibrator", "temperature", "-o", "cal.json"), "needs rows"),
        (("slices", "counts.parquet"), "keeps no slices"),
        (("audit", "counts.parquet", "--where", "site=a"), "calib summarise --column NAME"),
        (("audit", "none.csv", "--read", "layout=kept-rows"), "none.csv cannot be opened"),
    ],
)
def test_what_a_summary_cannot_is_said_in_a_sentence(words, why):
    write_summary(cc.Summary.of(cc.Predictions([[0.7, 0.3], [0.2, 0.8]] * 40, [0, 1] * 40)), "counts.parquet")
    ended = run(*words)
    assert why in ended.output
    assert "should not have happened" not in ended.output


@pytest.mark.parametrize("view", ["overview", "data", "reliability"])
def test_a_summary_opens_in_the_dashboard(view):
    write_summary(cc.Summary.of(cc.Predictions([[0.7, 0.3], [0.2, 0.8]] * 400, [0, 1] * 400)), "counts.parquet")
    key = session.hold(Path("counts.parquet").read_bytes(), "counts.parquet").key
    app = opened(Selection(source=Source(data=key), view=view))
    said = " ".join(str(each.value) for each in (*app.markdown, *app.metric, *app.caption))
    assert ("star" in said) if view == "reliability" else ("800" in said)


def test_a_summary_is_never_said_to_be_divided():
    write_summary(cc.Summary.of(cc.Predictions([[0.7, 0.3], [0.2, 0.8]] * 150, [0, 1] * 150)), "counts.parquet")
    key = session.hold(Path("counts.parquet").read_bytes(), "counts.parquet").key
    app = opened(Selection(source=Source(data=key), view="data"))
    said = " ".join(str(each.value) for each in (*app.markdown, *app.caption)).replace("\\", "")
    assert "All 300 rows are judged (a summary, judged as a whole" in said
    assert not any(words in said for words in ("seed", "share of", "calibration rows (", "test rows."))
    assert not [button for button in app.button if button.label == "Judge every row"]
    assert session.parts(Source(data=key)).frame()["part"].tolist() == ["judged"]


def said_of_a_summary(view: str, **changes) -> tuple[AppTest, str]:
    """A view of a summary, and what it says, as people read it."""
    write_summary(cc.Summary.of(cc.Predictions([[0.7, 0.3], [0.2, 0.8]] * 150, [0, 1] * 150)), "counts.parquet")
    key = session.hold(Path("counts.parquet").read_bytes(), "counts.parquet").key
    app = opened(Selection(source=Source(data=key), view=view, **changes))
    said = " ".join(str(each.value) for each in (*app.markdown, *app.caption, *app.info, *app.warning))
    return app, said.replace("\\", "").replace("\u200b", "").replace("\u00a0", " ")


NO_CALIBRATOR = "No calibrator is fitted on a summary: it holds counts, and a map is fitted to rows."


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
    _, said = said_of_a_summary("reliability", zoom=10, binning="equal-width", bins=15)
    assert "150 rows: says 70 %, right 100 %." in said
    assert "needs rows" not in said
    _, said = said_of_a_summary("reliability")
    assert "how many rows it holds" in said
    assert "classes and rows" not in said


def test_slices_of_a_summary_name_the_remedy_and_the_planner_says_whose_numbers_it_takes():
    assert "calib summarise --column" in said_of_a_summary("slices")[1]
    assert "Usual numbers, not those of the data in use: number of calibration rows" in said_of_a_summary("planner")[1]
    assert "Usual numbers" not in said_of_rows("planner")


def said_of_rows(view: str) -> str:
    app = opened(Selection(source=Source(data="demo:wine-logistic"), view=view))
    return " ".join(str(each.value) for each in app.caption)
