"""Doubts about labels: on the first screen, on a report's first page and in the output of every command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from streamlit.testing.v1 import AppTest

from dashboard import session
from dashboard.cli import main
from dashboard.exhibits.doubt_words import rules_out_advice, sentences
from dashboard.report import CHAPTERS
from dashboard.selection import Selection, Source
from tests.corpus.risk_files import OUTCOME, RISK, SEX, table
from tests.dashboard.test_data_view import click, plain, source
from tests.dashboard.test_data_view import opened as empty
from tests.dashboard.test_data_view import upload as uploaded

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
WARD = [f"ward {i % 3}" for i in range(200)]
ONE_CLASS = table({"risk": RISK.tolist(), "outcome": [0] * len(RISK), "ward": WARD[: len(RISK)]})
HONEST = table({"risk": RISK.tolist(), "outcome": OUTCOME.tolist(), "ward": WARD[: len(RISK)]})
RISKS = np.random.default_rng(4).uniform(0.02, 0.98, 120)
COPIED = table({"risk": RISKS.tolist(), "outcome": (RISKS > 0.5).astype(int).tolist(), "ward": WARD[:120]})
SAID = {
    "one class": (ONE_CLASS, "with no other class"),
    "copied": (COPIED, "label equals the predicted class in all"),
}


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


COMMANDS: dict[str, Callable[[Path, Path], list[str | Path]]] = {
    "audit": lambda file, _: ["audit", file, "--estimator", "ece"],
    "choose": lambda file, _: ["choose", file],
    "gate": lambda file, _: ["gate", file, "--max-ece", "0.05"],
    "compare": lambda file, _: ["compare", file, file],
    "fit": lambda file, out: ["fit", file, "--calibrator", "temperature", "-o", out],
    "report": lambda file, out: ["report", file, "-o", out, "--only", "summary"],
    "show": lambda file, _: ["show", "reliability", file],
    "slices": lambda file, _: ["slices", file, "--by", "ward"],
    "plan": lambda file, _: ["plan", "within", file],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", SAID)
def test_every_command_reports_the_doubt(command: str, case: str, tmp_path: Path) -> None:
    data, said = SAID[case]
    (file := tmp_path / "risk.csv").write_bytes(data)
    found = run(*COMMANDS[command](file, tmp_path / "out.file"))
    assert said in found.stderr
    assert "doubt: " in found.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_of_honest_rows_no_command_reports_one(command: str, tmp_path: Path) -> None:
    (file := tmp_path / "risk.csv").write_bytes(HONEST)
    found = run(*COMMANDS[command](file, tmp_path / "out.file"))
    assert found.exit_code in (0, 1), found.stderr
    assert "doubt: " not in found.stderr


def test_records_have_the_doubts(tmp_path: Path) -> None:
    (file := tmp_path / "risk.csv").write_bytes(ONE_CLASS)
    record = json.loads(run("audit", file, "--json", "--notion", "confidence", "--estimator", "ece").stdout)
    assert [(doubt["key"], doubt["blocks_advice"]) for doubt in record["file"]["doubts"]] == [("one-class", True)]


def test_the_first_page_of_a_report_has_it(tmp_path: Path) -> None:
    (file := tmp_path / "risk.csv").write_bytes(COPIED)
    run("report", file, "-o", tmp_path / "report.html", "--only", "summary")
    page = (tmp_path / "report.html").read_text()
    assert "The label equals the predicted class in all" in page


def opened(data: bytes, view: str = "overview") -> tuple[AppTest, Selection]:
    key = session.hold(data, "risk.csv").key
    later = tuple(chapter.key for chapter in CHAPTERS if chapter.key != "summary")
    selection = Selection(view=view, source=Source(key, share=0.5), left_out=later)
    app = AppTest.from_file(str(APP), default_timeout=60)
    for name, text in selection.to_query().items():
        app.query_params[name] = text
    app.run()
    assert not app.exception, [e.value for e in app.exception]
    return app, selection


def test_the_overview_opens_with_it_and_offers_no_calibrator() -> None:
    app, selection = opened(ONE_CLASS)
    assert any("with no other class" in box.value for box in app.warning)
    assert rules_out_advice(session.scene_of(selection))
    assert not any("recalibrat" in each.value.lower() or "log loss" in each.value for each in app.markdown)


@pytest.mark.parametrize("view", ["reliability", "slices", "calibrators", "estimators", "report"])
def test_every_room_whose_numbers_rest_on_it_says_it_first(view: str) -> None:
    app, _ = opened(COPIED, view)
    assert any("label equals the predicted class in all" in box.value for box in app.warning)


def test_a_slice_without_an_event_is_no_doubt() -> None:
    rows = {"risk": RISK.tolist(), "outcome": OUTCOME.tolist(), "ward": WARD[: len(RISK)]}
    rows["outcome"] = [0 if ward == "ward 0" else y for y, ward in zip(rows["outcome"], WARD, strict=False)]
    selection = Selection(source=Source(session.hold(table(rows), "risk.csv").key, share=0.5, within="ward=ward 0"))
    assert sentences(session.scene_of(selection)) == ()


def test_the_overview_of_honest_rows_has_no_doubt() -> None:
    app, selection = opened(HONEST)
    assert sentences(session.scene_of(selection)) == ()
    assert not any("observed" in box.value for box in app.warning)


def test_label_and_event_are_options(tmp_path: Path) -> None:
    file = tmp_path / "risk.csv"
    file.write_bytes(table({"risk": RISK.tolist(), "died": OUTCOME.tolist(), "readmitted": SEX.tolist()}))
    refused = run("audit", file)
    assert refused.exit_code == 2
    assert '"died", "readmitted"' in refused.stderr
    read = run("audit", file, "--label", "died", "--event", "0", "--json", "--notion", "confidence",
               "--estimator", "ece")  # fmt: skip
    how = json.loads(json.loads(read.stdout)["file"]["reading"])
    assert (how["label"], how["event"]) == (["died"], "0")


def test_the_outcome_taken_is_named_with_the_option_that_changes_it(tmp_path: Path) -> None:
    (file := tmp_path / "risk.csv").write_bytes(table({"risk": RISK.tolist(), "died": OUTCOME.tolist()}))
    taken = run("gate", file, "--max-ece", "0.3")
    assert 'note: "died" contains only 0 and 1, so it is read as the outcome. If the ' in taken.stderr
    assert "add --label COLUMN" in taken.stderr
    assert "is read as the outcome" not in run("gate", file, "--max-ece", "0.3", "--label", "died").stderr


def test_one_click_takes_a_column_as_the_outcome() -> None:
    data = table({"risk": RISK.tolist(), "died": OUTCOME.tolist(), "readmitted": SEX.tolist()})
    app = uploaded(empty(), "risk.csv", data)
    offered = [plain(button.label) for button in app.button if "as the outcome" in button.label]
    assert offered == ["Use “died” as the outcome", "Use “readmitted” as the outcome"]
    assert source(click(app, offered[0])).data == session.hold(data, "risk.csv").key
    assert session.reading(source(app).data, source(app).reading).label == ("died",)


@pytest.mark.parametrize("data", [ONE_CLASS, COPIED])
def test_recalibrate_begins_with_the_doubt_and_recommends_nothing(data: bytes) -> None:
    app, selection = opened(data, "calibrators")
    (doubt, *_) = sentences(session.scene_of(selection))
    assert any(doubt in box.value.replace("\\", "").replace("\u00a0", " ") for box in app.warning)
    assert not any("Recommended" in each.value or "Why it is tried first" in each.value for each in app.markdown)
    assert not [button for button in app.button if button.key == "drawer.recommended"]
