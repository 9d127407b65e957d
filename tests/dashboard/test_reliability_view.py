"""The reliability view: the diagram, the pane next to it, and links from a bin to its classes and rows."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shown_models import judged
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import Recipe
from calib_core.figures import probability_axis
from calib_core.palette import style
from calib_core.text import score, short_percent
from dashboard import session
from dashboard.chart import drawn, slot
from dashboard.chart.click import Click
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits import reliability as exhibit
from dashboard.exhibits.stars import called
from dashboard.selection import Selection, Source
from dashboard.session import Model
from dashboard.session.model_looks import mark
from dashboard.theme import unbroken
from dashboard.views import pane

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
WINE, DIGITS = Source(data="demo:wine-logistic"), Source(data="demo:digits-naive-bayes")


def opened(selection: Selection | None = None, **choices: Any) -> AppTest:
    """Return the view as a link with these choices opens it."""
    app = AppTest.from_file(str(APP), default_timeout=90)
    chosen = selection or Selection(source=DIGITS, **choices)
    for name, text in chosen.replace(view="reliability").to_query().items():
        app.query_params[name] = text
    app.run()
    assert not app.exception, [e.value for e in app.exception]
    return app


def clicked(app: AppTest, picture: str, record: object, seq: int = 1) -> AppTest:
    app.session_state[slot(picture)] = Click(2, 0, record, None, None, seq)
    app.run()
    assert not app.exception, [e.value for e in app.exception]
    return app


def plain(text: str) -> str:
    return text.replace("\\", "").replace("\u00a0", " ")


def texts(app: AppTest) -> str:
    return "\n".join(plain(element.value) for element in (*app.markdown, *app.caption))


def test_a_click_on_a_bin_shows_its_models_and_classes_and_one_on_a_class_its_rows() -> None:
    app = opened()
    test = session.parts(DIGITS).test
    diagram = cc.diagrams.reliability(test)
    b = diagram.worst
    clicked(app, "reliability", {"model": "Original model", "bin": b})
    assert app.query_params["bin"] == str(b)
    zoom = cc.diagrams.zoom(test, diagram, b)
    lines = drawn(app)[pane.CLASSES].trace("right")
    np.testing.assert_array_equal(lines["x"], zoom.accuracy)
    np.testing.assert_array_equal(np.asarray(lines["x"]) + lines["error_x"]["array"], zoom.high)
    np.testing.assert_array_equal(app.dataframe[-1].value["row"], session.parts(DIGITS).test_rows[zoom.rows])
    # The second click: a class of the bin, and only its rows are listed.
    clicked(app, pane.CLASSES, lines["customdata"][0])
    first = int(zoom.classes[0])
    assert app.query_params["code"] == str(first)
    rows = app.dataframe[-1].value
    assert set(rows["predicted"]) == {test.class_names[first]}  # type: ignore[index]
    assert len(rows) == zoom.count[0]
    app.button(key="detail.all-classes").click().run()
    assert len(app.dataframe[-1].value) == len(zoom.rows)
    app.button(key="detail.clear").click().run()
    assert not {"bin", "code"} & set(app.query_params)
    assert pane.CLASSES not in drawn(app)
    assert "Click a bin" in texts(app)


def test_the_pane_says_what_each_model_says_and_how_often_it_is_right() -> None:
    app = opened(bin=9, binning="equal-width", bins=10)
    models = {model.title: judged(model) for model in session.models(Selection(source=DIGITS)).shown}
    table = cc.diagrams.models_in_range(models, 0.9, 1.0)
    base = table.iloc[0]
    assert f"When the original model says {100 * base['says']:.1f} %, it is right {100 * base['right']:.0f} %" in texts(
        app
    )
    shown = app.table[0].value
    assert [plain(name) for name in shown.index] == [f"{mark(i)} {t}" for i, t in enumerate(models)]
    assert [plain(rows).replace(",", "") for rows in shown["rows"]] == [str(rows) for rows in table["rows"]]


@pytest.mark.parametrize("data", ["digits-naive-bayes", "digits-random-forest"])
def test_the_headline_is_about_the_model_whose_findings_are_chosen(data: str) -> None:
    selection = Selection(source=Source(data=f"demo:{data}"))
    scene = session.scene_of(selection)
    claims = {
        model.title: cc.diagrams.headline(
            cc.diagrams.bins_standing_out({model.title: judged(model)}, bins=scene.bins), {model.title: called(model)}
        )[0]
        for model in scene.models.shown
    }
    assert len(set(claims.values())) == 2
    app = opened(selection)
    for title in (*reversed(claims), *claims):
        app.button_group("workspace.focus").set_value(title).run()
        first, second = (texts(app).index(claim) for claim in (claims[title], claims[other_than(title, claims)]))
        assert first < second, "the largest words are about the chosen model"
        wanted = session.scene_of(Selection.from_query(dict(app.query_params))[0])
        assert EXHIBITS.make("reliability").words(wanted).headline[0] == claims[title]


def other_than(title: str, titles: Iterable[str]) -> str:
    (other,) = (each for each in titles if each != title)
    return other


def test_of_many_models_the_pane_draws_the_intervals_and_says_what_each_costs() -> None:
    keys = ("temperature", "top-label-hb", "isotonic-ovr")
    app = opened(bin=9, binning="equal-width", bins=10, calibrators=tuple(Recipe("CALIBRATORS", key) for key in keys))
    scene = session.scene_of(Selection.from_query(dict(app.query_params))[0])
    models = {model.title: judged(model) for model in scene.models.shown}
    table = cc.diagrams.models_in_range(models, 0.9, 1.0)
    picture = drawn(app)[pane.MODELS]
    for title, right, high in zip(table["model"], table["right"], table["right_high"], strict=True):
        trace = picture.trace(f"{title}: accuracy")
        assert (trace["x"][0], trace["x"][0] + trace["error_x"]["array"][0]) == pytest.approx((right, high))
    costs = app.table[0].value
    assert [plain(name) for name in costs.index] == [f"{mark(scene.looks[title])} {title}" for title in models]
    accuracy, loss = ([plain(cell) for cell in costs[name]] for name in ("accuracy", "log loss"))
    assert accuracy[0].strip("*") == f"{100 * models['Original model'].accuracy:.1f} %"
    whole = {title: rows for title, rows in models.items() if rows.kind == "full"}
    losses = {title: cc.estimate(rows, None, "log-loss").value for title, rows in whole.items()}
    best = min(losses, key=losses.__getitem__)
    assert len(losses) == 3
    written = {title: f"**{score(value)}**" if title == best else score(value) for title, value in losses.items()}
    assert loss == [written.get(title, "\u2013") for title in models]
    clicked(app, pane.MODELS, picture.trace("Temperature scaling: accuracy")["customdata"][0])
    assert app.query_params["model"] == "Temperature scaling"
    assert app.query_params["bin"] == "9"


def test_a_range_of_the_confidence_is_looked_at_as_a_bin_is() -> None:
    app = clicked(opened(bin=9), "reliability", {"low": 0.5, "high": 0.85})
    assert "bin" not in app.query_params
    assert "Confidence 50 to 85 %" in texts(app)
    test = session.parts(DIGITS).test
    rows = np.flatnonzero((test.confidence >= 0.5) & (test.confidence < 0.85))
    np.testing.assert_array_equal(app.dataframe[-1].value["row"], session.parts(DIGITS).test_rows[rows])
    np.testing.assert_array_equal(
        drawn(app)[pane.CLASSES].trace("right")["x"],
        cc.diagrams.zoom(test, cc.diagrams.reliability(test, cc.binning.Edges((0, 0.5, 0.85, 1))), 1).accuracy,
    )
    clicked(app, "reliability", {"clear": True}, 2)
    assert "between" not in app.query_params


@pytest.mark.parametrize("ends", [(0.0, 0.7), (0.7, 1.0), (0.0, 1.0), (0.0, 0.001)])
def test_ranges_that_reach_an_end_or_hold_nothing(ends: tuple[float, float]) -> None:
    app = opened(between=ends)
    test = session.parts(DIGITS).test
    n = int(((test.confidence >= ends[0]) & ((test.confidence < ends[1]) | (ends[1] == 1))).sum())
    if n:
        assert len(app.dataframe[-1].value) == n
    else:
        assert "has no rows here" in texts(app)


def test_a_click_looks_at_the_model_whose_mark_it_was() -> None:
    app = opened()
    point = drawn(app)["reliability"].trace("Temperature scaling")["customdata"][-1]
    clicked(app, "reliability", point)
    assert app.query_params["model"] == "Temperature scaling"
    after = judged(Model(DIGITS, Recipe("CALIBRATORS", "temperature")))
    zoom = cc.diagrams.zoom(after, cc.diagrams.reliability(after), point["bin"])
    lines = drawn(app)[pane.CLASSES].trace("right")
    np.testing.assert_array_equal(lines["x"], zoom.accuracy)
    assert lines["marker"]["color"] == style(1).colour


@pytest.mark.parametrize(
    "record", [{"model": "no such", "bin": 9}, {"bin": "9"}, {"bin": None}, {"low": 0.2, "high": 1.5}, "9", None]
)
def test_a_click_that_says_nothing_of_this_page_changes_nothing(record: object) -> None:
    app = clicked(opened(), "reliability", record)
    assert not {"bin", "between"} & {*app.query_params}
    assert pane.CLASSES not in drawn(app)


def test_confidences_alone_have_rows_and_no_classes() -> None:
    text = b"confidence,correct\n" + b"0.95,1\n0.97,0\n0.2,0\n" * 20
    source = Source(data=session.hold(text, "bare.csv").key)
    app = opened(Selection(source=source, bin=14, calibrators=()))
    assert pane.CLASSES not in drawn(app)
    test = session.parts(source).test
    rows = cc.diagrams.bin_rows(test, cc.diagrams.reliability(test), 14)
    assert len(rows) > 10
    assert app.dataframe[-1].value["confidence"].tolist() == rows["confidence"].tolist()


def test_the_headline_stands_above_the_diagram_in_the_words_of_the_library() -> None:
    app = opened()
    models = session.models(Selection(source=DIGITS)).shown
    table = cc.diagrams.bins_standing_out({model.title: judged(model) for model in models})
    names = {"Original model": "the original model", "Temperature scaling": "temperature scaling"}
    for sentence in cc.diagrams.headline(table, names):
        assert sentence in texts(app)


def test_the_chart_stays_one_chart_whatever_the_number_of_models() -> None:
    keys = ("temperature", "vector", "top-label-hb")
    looks: dict[str, set[str]] = {}
    for n in range(4):
        app = opened(calibrators=tuple(Recipe("CALIBRATORS", key) for key in keys[:n]))
        (chart,) = (chart for key, chart in drawn(app).items() if key == "reliability")
        stars = [t for t in chart.figure["data"] if t.get("mode") == "lines+markers" and t.get("customdata")]
        assert len(stars) == n + 1
        assert len({trace.get("xaxis", "x") for trace in stars}) == (n + 1 if n > 1 else 1)
        for trace in stars:
            looks.setdefault(trace["name"], set()).add(trace["line"]["color"])
    # A model has one color, and no two the same.
    assert [len(colours) for colours in looks.values()] == [1] * 4
    assert len(set.union(*looks.values())) == 4


def test_what_the_exhibit_offers_is_what_the_figure_draws() -> None:
    figure = import_module("calib_core.figures.reliability")
    assert exhibit.AXES == probability_axis.AXES
    assert (exhibit.TOGETHER, exhibit.MOST_LAID_OVER) == (figure.TOGETHER, figure.MOST_LAID_OVER)
    for plusses in figure.PLUSSES:
        assert exhibit.Reliability(plusses=plusses).plusses == plusses


@pytest.mark.parametrize("overlay", ["none", "corp", "kernel"])
@pytest.mark.parametrize("demo", ["wine-logistic", "language-model"])
def test_every_overlay_is_drawn_and_explained(overlay: str, demo: str) -> None:
    chosen = EXHIBITS.described("reliability", overlay=overlay)
    app = opened(Selection(source=Source(data=f"demo:{demo}")).with_exhibit(chosen))
    assert not app.error
    traces = {trace.get("name") for trace in drawn(app)["reliability"].figure["data"]}
    curve = {"corp": {"CORP curve"}, "kernel": {"kernel curve"}}.get(overlay, set())
    assert {"90 % of calibrated models", *curve} <= traces
    test = session.parts(Source(data=f"demo:{demo}")).test
    if overlay == "kernel":
        assert f"Bandwidth {cc.diagrams.kernel_curve(test).bandwidth:.2g}" in texts(app)
    if overlay == "corp":
        assert f"miscalibration {score(cc.diagrams.corp(test).miscalibration)}" in texts(app)


def test_the_options_of_an_overlay_are_on_screen_with_it_only() -> None:
    boxes = {
        overlay: {
            str(box.key).split(".")[2] for box in app.selectbox if str(box.key).startswith("exhibit.reliability.")
        }
        for overlay in ("none", "corp", "kernel")
        for app in [opened(Selection(source=WINE).with_exhibit(EXHIBITS.described("reliability", overlay=overlay)))]
    }
    always = {"together", "axis", "overlay", "bins_of", "plusses"}
    assert boxes == {"none": always, "corp": {*always, "band"}, "kernel": {*always, "band", "kernel"}}


def test_where_a_model_abstains_the_rows_of_the_table_are_chosen() -> None:
    recipes = tuple(Recipe("CALIBRATORS", key) for key in ("temperature", "metacal-miscoverage"))
    app = opened(calibrators=recipes)
    app.session_state["reliability.numbers"] = True
    app.run()
    assert "rows that all models answer" in texts(app)
    app.segmented_control(key="choice.counting").set_value("all").run()
    assert not app.exception
    assert app.query_params["counting"] == "all"
    assert "counts as its prediction" in texts(app)


def test_the_numbers_before_and_after_are_those_computed() -> None:
    selection = Selection(source=DIGITS, binning="equal-width", bins=12)
    app = opened(selection)
    assert not app.table
    app.session_state["reliability.numbers"] = True
    app.run()
    assert not app.exception
    shown = app.table[0].value.replace(r"\\", "", regex=True).rename(index=lambda name: name.replace("\\", ""))
    before, after = (judged(model) for model in session.models(selection).shown)
    for name, notion in (("TL-ECE", "top-label"), ("conf-ECE", "confidence")):
        old, new = (cc.estimate(rows, notion, "ece", 12).value for rows in (before, after))
        bold = [
            f"**{short_percent(value)}**" if value == min(old, new) else short_percent(value) for value in (old, new)
        ]
        assert shown.loc[name].tolist() == [unbroken(text) for text in bold]
    heights = np.asarray(drawn(app)["reliability"].trace("Temperature scaling")["y"])
    marks = cc.diagrams.reliability(after, 12).marks()
    np.testing.assert_allclose(heights[np.isfinite(heights)], marks["accuracy"])
