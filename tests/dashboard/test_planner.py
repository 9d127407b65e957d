"""The planner: it shows the library's answer, sliders and clicks move the mark, and it works without data."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import Recipe
from calib_core.planning import PLANS, answer, answers
from dashboard import session
from dashboard.chart import drawn, slot
from dashboard.chart.click import Click
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.plan_answers import FIRST
from dashboard.selection import Selection, Source
from tests.dashboard.test_views import opened

WINE = Source(data="demo:wine-logistic")


def planned(key: str, source: Source = WINE, **params: Any) -> Selection:
    plan = PLANS.described(key, **params)
    recipe = EXHIBITS.described("plan", plan=plan)
    return Selection(source=source, view="planner", calibrators=()).with_exhibit(recipe)


def read(app: AppTest) -> str:
    texts = (*app.markdown, *app.caption, *app.info, *app.error)
    return " ".join(element.value for element in texts).replace("\\", "").replace("\u00a0", " ")


def marks(app: AppTest) -> dict[str, list[float]]:
    traces = {trace["name"]: trace for trace in drawn(app)["plan"].figure["data"]}
    return {name: [*traces[name]["x"], *traces[name]["y"]] for name in ("planned", "needed") if name in traces}


def in_use(source: Source = WINE) -> tuple[cc.Predictions, cc.Predictions]:
    rows = session.parts(source)
    return rows.fit, rows.test


def test_it_shows_what_the_library_answers_and_a_slider_moves_the_mark() -> None:
    app = opened(planned("histogram-binning", points=20))
    fit, test = in_use()
    found = answer(PLANS.make("histogram-binning", points=20), fit, test)
    assert found.inverse in read(app)
    assert all(sentence in read(app) for sentence in found.sentence.split(". "))
    np.testing.assert_allclose(marks(app)["planned"], [20, found.bound])
    slider = next(s for s in app.select_slider if s.label == "Rows per bin")
    assert slider.value == 20
    slider.set_value(40).run()
    assert not app.exception
    moved = answer(PLANS.make("histogram-binning", points=40), fit, test)
    np.testing.assert_allclose(marks(app)["planned"], [40, moved.bound])
    assert '"points":40' in str(app.query_params["exhibits"])


def test_a_click_on_the_curve_moves_the_mark_and_the_data_fill_in_again() -> None:
    app = opened(planned("accuracy-interval"))
    fit, test = in_use()
    assert marks(app)["planned"][0] == test.n_rows
    assert "Drag the mark along its curve" in read(app)
    figure = drawn(app)["plan"].figure
    curve = cc.diagrams.plan_curve("accuracy-interval", fit, test)
    places = [column["place"] for column in figure["layout"]["meta"]["columns"]]
    np.testing.assert_allclose(
        [up for _, up in places], curve.answer.plan.curves(np.array(places)[:, 0])[curve.names[0]]
    )
    assert [trace["name"] for trace in figure["data"] if "grab" in (trace.get("meta") or {})] == ["planned"]
    app.session_state[slot("plan")] = Click(None, None, {"amount": 250.0}, None, None, 1)
    app.run()
    assert not app.exception
    assert marks(app)["planned"][0] == 250
    assert next(s for s in app.select_slider if s.label == "Number of test rows").value == 250
    app.button(key="planner.data").click().run()
    assert marks(app)["planned"][0] == test.n_rows
    assert "250" not in str(app.query_params.get("exhibits"))
    app.selectbox(key="planner.question").set_value("miscoverage").run()
    assert answer("miscoverage", fit, test).inverse in read(app)


def test_a_share_chosen_by_its_slider_is_the_share() -> None:
    app = opened(planned("abstaining-gain", accuracy=0.9, classes=10))
    slider = next(s for s in app.slider if s.label == "Incorrect rows answered")
    slider.set_value(40.0).run()
    assert not app.exception
    expected = answer(PLANS.make("abstaining-gain", accuracy=0.9, classes=10, missed=0.4))
    np.testing.assert_allclose(marks(app)["planned"], [0.4, expected.bound])
    assert "needed" not in marks(app)


AT_ONCE = ("histogram-binning", "within", "accuracy-interval")
"""Questions drawn at every check: a theorem, one of the scores, and one of the outcomes."""
QUESTIONS = [pytest.param(key, marks=() if key in AT_ONCE else pytest.mark.wide) for key in PLANS]


@pytest.mark.parametrize("key", QUESTIONS)
def test_every_question_is_drawn_for_confidences_alone(key: str) -> None:
    source = Source(data="demo:language-model")
    app = opened(planned(key, source))
    assert answer(key, *in_use(source)).inverse in read(app)


def test_every_question_is_a_link_to_it_on_these_data() -> None:
    app = opened(planned("accuracy-interval", rows=250))
    (lines,) = (table.value for table in app.table if "sample size needed" in table.value.columns)
    links = [re.fullmatch(r"\[(.+)\]\(\?(.+)\)", text) for text in lines.index]
    assert [PLANS[key].title for key in PLANS] == [link[1].replace("\\", "") for link in links if link]
    for key, link in zip(PLANS, links, strict=True):
        assert link is not None
        there, problems = Selection.from_query(dict(parse_qsl(link[2])))
        assert (there.view, there.source, problems) == ("planner", WINE, ())
        assert dict(there.exhibit("plan").params).get("plan", Recipe("PLANS", FIRST)) == Recipe("PLANS", key)


def test_without_data_it_begins_with_usual_numbers() -> None:
    app = opened(planned("balance", Source(data="sha256:" + "0" * 64)))
    usual = answer(PLANS.make("balance", rows=1000))
    assert usual.inverse in read(app)
    assert marks(app)["planned"][0] == 1000
    slider = next(s for s in app.select_slider if s.label == "Number of calibration rows")
    slider.set_value(200).run()
    assert not app.exception
    assert marks(app)["planned"][0] == 200
    app = opened(planned("within", Source(data="sha256:" + "0" * 64)))
    assert "The number of rows depends on the scores, so a file of predictions is needed." in read(app)


def test_an_event_has_curves_for_both_tolerances_and_a_slider_for_the_ratio() -> None:
    source = Source(data="demo:breast-cancer-svm")
    app = opened(planned("within", source, error=0.1))
    found = answer(PLANS.make("within", error=0.1), *in_use(source))
    names = [trace["name"] for trace in drawn(app)["plan"].figure["data"]]
    assert {"within both tolerances", "error below 10 %", "ratio within 0.8 to 1.25"} <= set(names)
    assert marks(app)["needed"] == [found.needed, 0.8]
    slider = next(s for s in app.slider if s.label == "Tolerated ratio")
    assert slider.value == 1.25
    slider.set_value(1.02).run()
    assert not app.exception
    narrow = answer(PLANS.make("within", error=0.1, ratio=1.02), *in_use(source))
    assert marks(app)["needed"][0] == narrow.needed > found.needed
    assert narrow.inverse in read(app)
    of_page = Selection(source=source, view="planner", calibrators=(), ratio=1.02)
    assert (
        marks(opened(of_page.with_exhibit(planned("within", error=0.1).exhibit("plan"))))["needed"][0] == narrow.needed
    )
    ratio_given = calib("within", "demo:breast-cancer-svm", "--error", "0.1", "--ratio", "1.02")
    assert narrow.inverse in ratio_given.stdout


# ---- terminal output -----------------------------------------------------------------------------------------


def calib(*words: str) -> Any:
    return CliRunner().invoke(main, ["plan", *words], prog_name="calib")


def test_the_command_says_what_the_screen_says() -> None:
    fit, test = in_use()
    for key in ("histogram-binning", "within"):
        title, terms, *said = calib(key, "demo:wine-logistic", "--error", "0.05").stdout.splitlines()
        found = answer(PLANS.make(key, error=0.05), fit, test)
        assert [title, *said] == [f"{found.title} ({key})", found.sentence, found.inverse, found.basis]
        assert terms in " ".join(calib(key, "--help").stdout.split())
    every = answers(None, fit, test)
    lines = pd.read_csv(StringIO(calib("demo:wine-logistic", "--csv").stdout), keep_default_na=False, na_values=[])
    assert lines["answer"].tolist() == every["answer"].tolist()
    record = json.loads(calib("balance", "--rows", "500", "--bins", "10", "--json").stdout)
    (line,) = record["lines"]
    assert line["bound"] == answer(PLANS.make("balance", rows=500, bins=10)).bound
    assert line["plan"] == Recipe("PLANS", "balance", (("bins", 10), ("rows", 500))).to_dict()
    with_file = calib("show-nothing.csv")
    assert with_file.exit_code == 2
    assert "QUESTION 'show-nothing.csv' is not known" in with_file.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("within",), "a file of predictions is needed"),
        (("balance", "--rows", "-3"), "rows is -3; it must be a number from 2"),
        (("balance", "--points", "3"), "--points does not go with balance"),
        (("balance", "--rows", "9", "--json", "--csv"), "exclude each other"),
        (("histogram-binning", "--notion", "canonical"), "notion is 'canonical'"),
        (("balance", "no-such-file.csv"), "No such file"),
    ],
)
def test_the_command_refuses_in_a_sentence(words: tuple[str, ...], why: str) -> None:
    answered = calib(*words)
    assert answered.exit_code == 2
    assert why in answered.stderr
    assert "Traceback" not in answered.output


def test_without_a_file_it_says_how_numbers_are_given() -> None:
    answered = calib()
    assert answered.exit_code == 0
    assert "--rows 5000" in answered.stdout
    assert "No answer: “Number of calibration rows” (rows) is missing" in answered.stdout


@pytest.mark.parametrize("key", PLANS)
def test_the_help_of_a_question_lists_its_numbers_with_their_defaults(key: str) -> None:
    page = calib(key, "--help").stdout
    listed = page.partition(f"Numbers of {key}:\n")[2].partition("\n\n")[0]
    records = re.split(r"^  (?=--)", listed, flags=re.MULTILINE)[1:]
    options = {text.split()[0]: " ".join(text.split()) for text in records}
    assert list(options) == [f"--{param.name.replace('_', '-')}" for param in PLANS[key].params]
    common = {"error": 0.02, "ratio": 1.25}
    for param, text in zip(PLANS[key].params, options.values(), strict=True):
        default = common.get(param.name) if param.default is None else param.default
        stated = re.search(r"\[(.*)\]$", text)
        assert stated is not None
        if default is None:
            assert stated[1] in ("default: from FILE", "optional")
        else:
            assert stated[1].removeprefix("default: ") in (str(default), str(default).removesuffix(".0"))
    assert "QUESTION:" not in page


def test_the_help_of_all_questions_lists_them_and_leaves_their_numbers_to_the_help_of_one() -> None:
    page = calib("--help").stdout
    assert all(f"\n  {key} " in page for key in PLANS)
    assert "--event-rate" not in page.partition("QUESTION:")[2]
    assert "calib plan QUESTION --help" in " ".join(page.split())
