"""The report view: options go into the report, making it can be cancelled, and what is made is offered."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from calib_core import InputError
from dashboard.report import Progress, Report
from dashboard.report.sections import CHAPTERS
from dashboard.selection import Selection, Source
from dashboard.theme import markdown_plain
from dashboard.views import report as view

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
SOME = tuple(chapter.key for chapter in CHAPTERS if chapter.key not in ("summary", "data"))


@pytest.fixture
def app() -> AppTest:
    """The report view of a small demo, with few sections."""
    return opened_on("demo:example-1")


def opened_on(data: str) -> AppTest:
    selection = Selection(source=Source(data=data), view="report", calibrators=(), left_out=SOME, title="T <b>")
    opened = AppTest.from_file(str(APP), default_timeout=60)
    for name, text in selection.to_query().items():
        opened.query_params[name] = text
    opened.run()
    assert not opened.exception
    return opened


def made(app: AppTest) -> Report:
    report: Report = app.session_state[view._MADE][1]
    return report


def test_a_click_makes_the_report_and_offers_it(app: AppTest) -> None:
    assert view._MADE not in app.session_state
    app.button("report.make").click().run()
    assert not app.exception
    assert [section.key for section in made(app).document.sections] == ["summary", "data"]
    assert made(app).document.title == "T <b>"
    assert b"<title>T &lt;b&gt;</title>" in made(app).html
    assert app.success
    assert "report.make" not in [button.key for button in app.button]


def test_other_choices_ask_for_another_report(app: AppTest) -> None:
    app.button("report.make").click().run()
    app.text_input("choice.author").set_value("A. Reviewer").run()
    assert not app.success
    app.button("report.make").click().run()
    assert made(app).document.author == "A. Reviewer"


def test_sections_are_ticked(app: AppTest) -> None:
    app.button_group("report.sections").set_value(["summary"]).run()
    app.button("report.make").click().run()
    assert [section.key for section in made(app).document.sections] == ["summary"]


def test_a_section_that_cannot_be_made_is_not_offered_and_says_why(app: AppTest) -> None:
    assert "Three classes as a triangle" in app.button_group("report.sections").options
    app = opened_on("demo:breast-cancer-svm")
    assert "Three classes as a triangle" not in app.button_group("report.sections").options
    (why,) = view._sections(app.session_state["calib.selection"])[1]
    assert why.startswith("No section “Three classes as a triangle”: ")
    assert markdown_plain(why) in [caption.value for caption in app.caption]


def test_it_can_be_cancelled_between_steps(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def stuck(*_: object) -> Generator[Progress, None, Report]:
        asked.append("one")
        yield Progress(0.25, "Data")
        asked.append("two")
        raise InputError("too far")

    monkeypatch.setattr(view, "steps", stuck)
    job = view.Job((Selection(), view.Options()), view._kept((Selection(), view.Options())))
    assert next(job.steps).what == "Data"
    job.steps.close()
    assert asked == ["one"]
    app.button("report.make").click().run()
    assert app.error[0].value == "too far"
    assert view._JOB not in app.session_state
