"""The report view: options go into the report, building it can be canceled, and finished files are offered."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from urllib.parse import unquote

import pytest
from streamlit.testing.v1 import AppTest

from calib_core import InputError
from dashboard.report import Options, Progress, Report, steps
from dashboard.report.sections import CHAPTERS
from dashboard.selection import Selection, Source
from dashboard.session import scene
from dashboard.theme import markdown_plain
from dashboard.views import report as view

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
SOME = tuple(chapter.key for chapter in CHAPTERS if chapter.key not in ("summary", "data"))


@pytest.fixture
def app() -> AppTest:
    """Return the report view of a small demo, with few sections."""
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


def offered(app: AppTest) -> list[str]:
    return [button.label for button in app.get("download_button")]


def test_the_report_makes_itself_and_is_offered(app: AppTest) -> None:
    assert [section.key for section in made(app).document.sections] == ["summary", "data"]
    assert made(app).document.title == "T <b>"
    assert b"<title>T &lt;b&gt;</title>" in made(app).html
    assert offered(app)[0] == "Download the report"
    assert not {"report.make", "report.cancel"} & {button.key for button in app.button}


def test_its_first_page_is_shown_and_nothing_in_it_reaches_the_dashboard(app: AppTest) -> None:
    (frame,) = app.get("iframe")
    # A page of the dashboard's own origin could read it; a data address has no origin.
    assert frame.proto.src.startswith("data:text/html;charset=utf-8,")
    assert not frame.proto.srcdoc
    page = unquote(frame.proto.src.partition(",")[2])
    assert page == app.session_state[view._FIRST][1].html.decode()
    assert '<section id="summary"' in page
    assert '<section id="data"' not in page


def test_without_its_first_section_the_next_is_shown(app: AppTest) -> None:
    app.button_group("report.sections").set_value(["data"]).run()
    assert [section.key for section in app.session_state[view._FIRST][1].document.sections] == ["data"]


def test_a_section_on_request_is_ticked_by_hand_and_kept_in_the_link(app: AppTest) -> None:
    assert "planner" not in app.button_group("report.sections").value
    app.button_group("report.sections").set_value(["summary", "planner"]).run()
    assert [section.key for section in made(app).document.sections] == ["summary", "planner"]
    assert app.query_params["added"] == '["planner"]'
    app.button_group("report.sections").set_value(["summary"]).run()
    assert "added" not in app.query_params


def test_other_choices_make_another_report(app: AppTest) -> None:
    before = made(app)
    app.text_input("choice.author").set_value("A. Reviewer").run()
    assert made(app).document.author == "A. Reviewer"
    assert made(app).stem != before.stem
    assert offered(app)


def test_where_it_takes_minutes_it_waits_to_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene, "LARGE", 10)
    app = opened_on("demo:example-1")
    assert view._MADE not in app.session_state
    assert not offered(app)
    assert app.get("iframe"), "the first page is there all the same"
    app.button("report.make").click().run()
    assert offered(app)[0] == "Download the report"


def test_no_green_tick_for_a_file_that_was_made(app: AppTest) -> None:
    assert not app.success


def test_sections_are_ticked(app: AppTest) -> None:
    app.button_group("report.sections").set_value(["summary"]).run()
    assert [section.key for section in made(app).document.sections] == ["summary"]


def test_a_section_that_cannot_be_made_is_not_offered_and_says_why(app: AppTest) -> None:
    assert "Simplex" in app.button_group("report.sections").options
    app = opened_on("demo:breast-cancer-svm")
    assert "Simplex" not in app.button_group("report.sections").options
    slices, triangle = view._sections(app.session_state["calib.selection"])[1]
    assert slices.startswith("No section “Results by slice”: ")
    assert triangle.startswith("No section “Simplex”: ")
    assert {markdown_plain(why) for why in (slices, triangle)} <= {caption.value for caption in app.caption}


def test_it_can_be_stopped_between_steps_and_does_not_begin_again(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def stuck(selection: Selection, options: Options) -> Generator[Progress, None, Report]:
        if options.added:
            return (yield from steps(selection, options))  # only the first page
        begun.append("one")
        yield Progress(0.25, "Data")
        begun.append("two")
        raise InputError("too far")

    monkeypatch.setattr(view, "steps", stuck)
    job = view.Job((Selection(), view.Options()), view._kept((Selection(), view.Options())))
    assert next(job.steps).what == "Data"
    job.steps.close()
    assert begun == ["one"]
    app.text_input("choice.author").set_value("A. Reviewer").run()
    assert app.error[0].value == "too far"
    assert view._JOB not in app.session_state
    begun.clear()
    app.run()
    assert begun == [], "a report that was stopped waits for a click"
    app.button("report.make").click().run()
    assert begun
