"""Explore for two classes: diagram, pane, rows, slices and findings are about the event's predicted risk."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import CALIBRATORS, Predictions
from calib_core.text import short_percent
from dashboard import session
from dashboard.chart import drawn, slot
from dashboard.chart.click import Click
from dashboard.exhibits import EXHIBITS
from dashboard.selection import Selection, Source
from dashboard.views.card_words import verdict_badge

APP = Path(__file__).parents[2] / "dashboard" / "app.py"


def file_of(risk: np.ndarray[Any, Any], true: np.ndarray[Any, Any], seed: int) -> str:
    """Return a file of predicted risks, of outcomes drawn with the true ones, and of sites."""
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
    np.testing.assert_array_equal(picture.trace("Original model")["x"], diagram.frame()["risk"])
    np.testing.assert_array_equal(picture.trace("Original model")["y"], diagram.frame()["observed"])
    assert "are significantly too high." in texts(app)
    assert "Gap from the smooth curve" in texts(app)


def test_the_summary_beside_the_diagram_has_the_numbers_of_its_tables() -> None:
    """Each cell is the number of its heading, and the sentence has the estimate of the verdict."""
    risk = 1 / (1 + np.exp(-np.random.default_rng(1).normal(-1, 1, 3000)))
    little = file_of(risk, 0.97 * risk, 7)
    app = opened(little, view="reliability", calibrators=())
    scene = session.scene_of(Selection(source=Source(data=little, by="folds"), calibrators=()))
    gaps = scene.get(EXHIBITS.make("curve-gaps").table(scene)).set_index("measure")
    gaps.loc[["ici", "e50", "e90"], ["value", "low", "high", "floor"]] *= 100
    curve, large = (table.value for table in app.table if "90 % interval" in table.value.columns)
    for shown, keys in ((curve, ("ici", "e50", "e90")), (large, ("ratio", "intercept", "slope", "auroc"))):
        first, *floor = ("distance, %", "noise floor") if shown is curve else ("value",)
        assert list(shown.columns) == [first, "90 % interval", *floor]
        names = [str(name).replace("\\", "").replace("\u00a0", " ") for name in shown.index]
        assert names == gaps.loc[[*keys], "title"].tolist()
        for (_, cells), key in zip(shown.iterrows(), keys, strict=True):
            told = numbers(" ".join(cells).replace("\\", "").replace("\u200b", ""))
            wanted = gaps.loc[key, ["value", "low", "high", *(["floor"] if shown is curve else [])]].tolist()
            assert told == pytest.approx(wanted, rel=0.06), (key, told, wanted)
            assert len({round(number, 6) for number in wanted}) == len(wanted), "or cells could stand for one another"
    verdict = scene.get(EXHIBITS.make("verdict").table(scene)).iloc[0]
    (line,) = (text for text in texts(app).split("\n") if text.startswith("Calibration error "))
    assert line.startswith(f"Calibration error {short_percent(verdict['point'])} (")
    assert short_percent(verdict["value"]) != short_percent(verdict["point"]), "or one could stand for the other"
    assert numbers(line)[1:3] == pytest.approx([100 * verdict["low"], 100 * verdict["high"]], rel=0.05)


@pytest.mark.parametrize("focus", [0, 1])
def test_the_verdict_beside_the_diagram_is_of_the_model_looked_at(too_high: str, focus: int) -> None:
    chosen = Selection(
        source=Source(data=too_high, by="folds"), calibrators=(CALIBRATORS.described("logistic-recalibration"),)
    )
    title = session.scene_of(chosen).titles[focus]
    app = opened(too_high, view="reliability", calibrators=chosen.calibrators, model=title)
    found = session.scene_of(chosen).get(EXHIBITS.make("verdict").table(session.scene_of(chosen)))
    line = found.set_index("model").loc[title]
    assert len(set(found["verdict"])) == len(found) == 2, "or one could stand for the other"
    (told,) = (text for text in texts(app).split("\n") if text.startswith("Calibration error "))
    assert told.startswith(f"Calibration error {short_percent(line['point'])} (")
    assert any(verdict_badge(str(line["verdict"])) == each.value for each in app.markdown)


def test_a_mean_gap_is_told_beside_tests_that_are_not_significant_after_correction(too_high: str) -> None:
    scene = session.scene_of(Selection(source=Source(data=too_high, by="folds"), calibrators=()))
    exhibit = EXHIBITS.make("tests")
    frame = scene.get(exhibit.table(scene))
    for corrected, said in ((0.06, True), (0.04, False)):
        text = exhibit._gaps(scene, frame.assign(p=0.03, p_holm=corrected))
        assert text.startswith("The mean gap is nevertheless significant") == said


def numbers(text: str) -> list[float]:
    """Return all numbers of a text."""
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", text.replace("−", "-"))]


def test_a_click_on_a_bin_shows_its_rows_whatever_class_was_predicted(too_high: str) -> None:
    app = opened(too_high, view="reliability", calibrators=())
    app.session_state[slot("reliability")] = Click(2, 0, {"model": "Original model", "bin": 9}, None, None, 1)
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
    diagram = cc.diagrams.reliability(rows_of(too_high), notion="confidence").frame()
    np.testing.assert_array_equal(drawn(app)["reliability"].trace("Original model: rows")["y"], diagram["count"])


def test_slices_and_findings_speak_of_the_risk(too_high: str) -> None:
    slices = texts(opened(too_high, view="slices", calibrators=()))
    assert "mean risk" in slices
    assert "observed" in slices
    found = texts(opened(too_high, view="findings", calibrators=()))
    assert "Over all rows, the mean risk is" in found
    assert "says" not in found.partition("Over all rows, the mean risk is")[2].partition("\n")[0]


def test_the_model_in_focus_is_named_above_every_view(too_high: str) -> None:
    for view in ("reliability", "findings", "slices"):
        app = opened(too_high, view=view, model="Temperature scaling")
        (switch,) = [each for each in app.button_group if each.label == "Findings of"]
        assert switch.value == "Temperature scaling"
