"""Answers marked by a judge: the view, the report and the command show the library's numbers for all rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core import NotAnswerable, figures
from calib_core.figures.look import REFERENCE
from calib_core.palette import style
from calib_core.readers import examine, propose, read_table
from dashboard import session
from dashboard.chart import drawn
from dashboard.cli import main
from dashboard.report.build import build
from dashboard.report.request import Options
from dashboard.report.sections import CHAPTERS
from dashboard.selection import Selection, Source
from tests.dashboard.test_levels_view import tabs_of
from tests.dashboard.test_views import opened


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    subject = rng.choice(["law", "history", "chess"], 400, p=[0.5, 0.45, 0.05])
    confidence = np.round(rng.beta(6, 1.5, 400), 2)
    truth = rng.random(400) < confidence - 0.15
    judge = rng.random(400) < np.where(truth, 0.95, 0.3)
    checked = np.where(rng.random(400) < 0.25, np.where(truth, "yes", "no"), "")
    path = tmp_path_factory.mktemp("answers") / "answers.csv"
    columns = {"subject": subject, "confidence": confidence, "correct": judge.astype(int), "checked": checked}
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def chosen(path: Path, view: str = "judged") -> Selection:
    return Selection(source=Source(data=session.hold(path.read_bytes(), path.name).key), view=view)


def test_the_view_shows_all_rows_and_is_offered(answers: Path) -> None:
    app = opened(chosen(answers))
    found = cc.judged.judged_answers(cc.read_predictions(answers))
    text = " ".join(m.value for m in app.markdown).replace("\\", "").replace("\u00a0", " ")
    assert found.headline in text
    assert found.share.errors is not None
    assert found.share.errors.sentence in text
    shown = drawn(app)["judged-answers"].figure["data"]
    both = next(trace for trace in shown if trace["name"] == "both, judge and people")
    assert list(both["x"]) == [found.share.interval.point]
    assert "Judged answers" in tabs_of(app)


def test_parts_chosen_on_screen_are_told_of_apart(answers: Path) -> None:
    app = opened(chosen(answers))
    next(box for box in app.selectbox if box.label == "Parts by").select("subject").run()
    assert not app.exception
    table = next(d.value for d in app.dataframe if "marked" in d.value.columns)
    found = cc.judged.judged_answers(cc.read_predictions(answers), by="subject").frame()
    assert table["part"].tolist() == found["part"].tolist()
    np.testing.assert_array_equal(table["gap"], found["gap"])
    few = found[found["part"] == "subject = chess"]
    assert few["by"].tolist() == ["judge alone"]
    assert "need at least 10" in few["why"].item()


def test_the_numbers_beside_the_picture_are_of_judge_and_people_together(answers: Path) -> None:
    found = cc.judged.judged_answers(cc.read_predictions(answers), by="subject")
    notes = [note.text for note in figures.judged_answers(found).layout.annotations]
    lines = found.frame()
    both = lines[lines["by"] == "both"].set_index("part")["right"].reindex(lines["part"].unique())
    assert notes[3::3] == ["\u2013" if right != right else f"{100 * right:.1f}" for right in both]
    alone = lines[lines["by"] == "judge alone"].set_index("part")["right"]
    assert (both.dropna() != alone[both.dropna().index]).all(), "else one could stand for the other"


def test_only_what_is_relied_on_is_in_the_colour_of_the_model(answers: Path) -> None:
    figure = figures.judged_answers(cc.judged.judged_answers(cc.read_predictions(answers)), looks={"model": 1})
    drawn_in = {trace.name: trace.marker.color for trace in figure.data}
    assert drawn_in.pop("both, judge and people") == style(1).colour
    assert len(drawn_in) == 4
    assert set(drawn_in.values()) == {REFERENCE}


def test_report_and_commands_have_the_same_numbers(answers: Path) -> None:
    others = tuple(chapter.key for chapter in CHAPTERS if chapter.key != "judged")
    report = build(chosen(answers), Options(left_out=others))
    table = next(table for _, table in report.document.tables if table.name == "judged-answers")
    found = cc.judged.judged_answers(cc.read_predictions(answers))
    pd.testing.assert_frame_equal(table.frame, found.frame(), check_exact=True)
    shown = CliRunner().invoke(main, ["show", "judged-answers", str(answers), "--format", "json"]).stdout
    line = json.loads(shown)["lines"][2]
    record = json.loads(
        CliRunner().invoke(main, ["judge", str(answers), "--judge", "correct", "--human", "checked", "--json"]).stdout
    )["share"]
    assert (line["by"], line["right_low"], line["right_high"]) == ("both", record["low"], record["high"])
    assert record["sentence"] == found.share.sentence


def test_such_a_column_is_found_in_the_file(answers: Path) -> None:
    def codes(frame: pd.DataFrame) -> list[str]:
        data = frame.to_csv(index=False).encode()
        table = read_table(data, "answers.csv")
        return [finding.message for finding in examine(table, propose(table)) if finding.code == "people-marks"]

    frame = pd.read_csv(answers, keep_default_na=False)
    (message,) = codes(frame)
    assert '"checked" marks' in message
    assert "calib judge" in message
    assert not codes(frame.assign(checked=np.where(frame["checked"] == "yes", "yes", "")))  # a flag, no marks
    assert not codes(frame.assign(checked=np.where(frame["checked"] == "", "no", frame["checked"])))
    assert not codes(frame.drop(columns="checked"))


@pytest.mark.parametrize("kind", ["category", "boolean", "Int64", "float64", "str"])
def test_marks_of_every_type_are_read_alike(answers: Path, kind: str) -> None:
    p = cc.read_predictions(answers)
    assert p.metadata is not None
    marks = p.metadata["checked"]
    told = marks.map({"yes": 1.0, "no": 0.0})
    column: Any = {
        "category": marks.where(marks != "").astype("category"),
        "boolean": told.astype("boolean"),
        "Int64": told.astype("Int64"),
        "float64": told,
        "str": marks,
    }[kind]
    other = p.replace(metadata=pd.DataFrame({"checked": column}))
    assert cc.judged.marked_by_people(other) == ("checked",)
    pd.testing.assert_frame_equal(cc.judged.judged_answers(other).frame(), cc.judged.judged_answers(p).frame())


def test_what_it_needs_is_said(answers: Path) -> None:
    p = cc.read_predictions(answers)
    summary: Any = cc.Summary.of(p)
    assert p.metadata is not None
    with pytest.raises(NotAnswerable, match="no metadata column has right or wrong"):
        cc.judged.judged_answers(p.replace(metadata=p.metadata[["subject"]]))
    with pytest.raises(NotAnswerable, match="no metadata column 'nobody'"):
        cc.judged.judged_answers(p, "nobody")
    with pytest.raises(cc.InputError, match=r'column "subject", .* is not a verdict'):
        cc.judged.judged_answers(p, "subject")
    with pytest.raises(NotAnswerable, match="a summary has only counts"):
        cc.judged.judged_answers(summary)
    with pytest.raises(NotAnswerable, match="rows are weighted"):
        cc.judged.judged_answers(p.replace(weights=np.linspace(1, 2, 400)))
    together = cc.judged.judged_answers(p.replace(groups=np.arange(400) // 4)).share.interval
    assert not together.tested
