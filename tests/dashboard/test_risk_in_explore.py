"""Explore of two classes: diagram, pane, rows, slices and findings are about the event's predicted risk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import Predictions
from dashboard import session
from dashboard.chart import drawn, slot
from dashboard.chart.click import Click
from dashboard.selection import Selection, Source

APP = Path(__file__).parents[2] / "dashboard" / "app.py"


def file_of(risk: np.ndarray[Any, Any], true: np.ndarray[Any, Any], seed: int) -> str:
    """A file of predicted risks, of an outcome drawn with the true ones, and of a site."""
    happened = np.random.default_rng(seed).random(len(risk)) < true
    lines = [f"{s:.6f},{int(y)},{'ab'[i % 2]}" for i, (s, y) in enumerate(zip(risk, happened, strict=True))]
    text = "\n".join(["risk,died,site", *lines]).encode()
    return session.hold(text, f"risk{seed}.csv").key


@pytest.fixture(scope="module")
def too_high() -> str:
    risk = 1 / (1 + np.exp(-np.random.default_rng(1).normal(-1, 1, 3000)))
    return file_of(risk, risk / 2, 2)


@pytest.fixture(scope="module")
def rare() -> str:
    risk = 1 / (1 + np.exp(-np.random.default_rng(3).normal(-5, 0.7, 4000)))
    return file_of(risk, risk, 4)


def opened(data: str, **choices: Any) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=90)
    for name, text in Selection(source=Source(data=data, by="folds"), **choices).to_query().items():
        app.query_params[name] = text
    app.run()
    assert not app.exception, [e.value for e in app.exception]
    return app


def texts(app: AppTest) -> str:
    every = (element.value for element in (*app.markdown, *app.caption))
    return "\n".join(text.replace("\\", "").replace("\u00a0", " ") for text in every)


def rows_of(data: str) -> Predictions:
    return session.parts(Source(data=data, by="folds")).test


def test_the_diagram_is_of_the_risk_on_the_range_of_the_data(too_high: str) -> None:
    app = opened(too_high, view="reliability", calibrators=())
    picture = drawn(app)["reliability"]
    diagram = cc.diagrams.risk_diagram(rows_of(too_high))
    np.testing.assert_array_equal(picture.trace("Base model")["x"], diagram.frame()["risk"])
    np.testing.assert_array_equal(picture.trace("Base model")["y"], diagram.frame()["observed"])
    assert "are too high." in texts(app)
    assert "Gap from the smooth curve" in texts(app)


def test_a_click_on_a_bin_shows_its_rows_whatever_class_was_predicted(too_high: str) -> None:
    app = opened(too_high, view="reliability", calibrators=())
    app.session_state[slot("reliability")] = Click(2, 0, {"model": "Base model", "bin": 9}, None, None, 1)
    app.run()
    assert not app.exception
    rows = rows_of(too_high)
    risk, died = rows.rows.column(1), rows.true_labels == 1
    inside = (risk >= 9 / 15) & (risk < 10 / 15)
    assert f"Of {inside.sum()} rows given 60 to 66.7 %" in texts(app)
    assert f"{died[inside].sum()} died" in texts(app)
    shown = app.dataframe[-1].value
    np.testing.assert_array_equal(np.sort(shown["risk"]), np.sort(risk[inside]))
    assert (shown["event"] == "yes").sum() == died[inside].sum()


def test_a_rare_event_has_tenths_of_risk_and_axes_of_its_own(rare: str) -> None:
    frame = cc.diagrams.risk_diagram(rows_of(rare)).frame()
    assert len(frame) == 10
    assert frame["count"].between(390, 410).all()
    app = opened(rare, view="reliability", calibrators=())
    assert "No single bin of predicted risk is significantly off." in texts(app)
    assert "10 equal mass" in texts(app)


def test_the_confidence_is_one_choice_away_and_a_link_with_its_notion_opens_it(too_high: str) -> None:
    app = opened(too_high, view="reliability", notion="confidence", calibrators=())
    diagram = cc.diagrams.reliability(rows_of(too_high)).frame()
    np.testing.assert_array_equal(drawn(app)["reliability"].trace("Base model: rows")["y"], diagram["count"])


def test_slices_and_findings_speak_of_the_risk(too_high: str) -> None:
    slices = texts(opened(too_high, view="slices", calibrators=()))
    assert "mean risk" in slices
    assert "observed" in slices
    found = texts(opened(too_high, view="findings", calibrators=()))
    assert "Of rows given a risk of" in found
    assert "says" not in found.partition("Of rows given a risk of")[2].partition("\n")[0]


def test_the_model_in_focus_is_named_above_every_view(too_high: str) -> None:
    for view in ("reliability", "findings", "slices"):
        app = opened(too_high, view=view, model="Temperature scaling")
        (switch,) = [each for each in app.button_group if each.label == "Model in focus"]
        assert switch.value == "Temperature scaling"
