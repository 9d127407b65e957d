"""The levels view: it shows the computed numbers, follows a click to the rows, and is offered if applicable."""

from __future__ import annotations

import numpy as np
import pytest
from shown_models import judged
from streamlit.testing.v1 import AppTest

import calib_core as cc
from dashboard import session
from dashboard.chart import drawn, slot
from dashboard.chart.click import Click
from dashboard.selection import Selection, Source
from tests.dashboard.test_views import opened

LANGUAGE = Selection(source=Source(data="demo:language-model"), view="levels")


def read(app: AppTest) -> str:
    return " ".join(m.value for m in app.markdown).replace("\\", "").replace("\u00a0", " ")


def tabs_of(app: AppTest) -> list[str]:
    return next(list(group.options) for group in app.button_group if group.label == "View")


def test_it_shows_what_is_computed_and_a_click_shows_its_rows() -> None:
    app = opened(LANGUAGE)
    rows = judged(session.models(LANGUAGE).shown[0])
    found = cc.diagrams.levels(rows)
    assert f"{found.headline}." in read(app)
    table = next(d.value for d in app.dataframe if "p_holm" in d.value.columns)
    np.testing.assert_array_equal(table["right"], found.right)
    points = drawn(app)["levels"].figure["data"][1]
    np.testing.assert_array_equal(points["x"], found.confidence)
    curve = cc.diagrams.selective(rows)
    assert curve.headline(0.8) in read(app)
    app.session_state[slot("levels")] = Click(1, 2, points["customdata"][2], 0.5, 0.5, 1)
    app.run()
    assert not app.exception
    stated = np.isclose(rows.confidence, found.confidence[2])
    assert f"{stated.sum():,}" in read(app)
    assert any(len(d.value) == stated.sum() for d in app.dataframe)


@pytest.mark.parametrize(("demo", "offered"), [("language-model", True), ("digits-mlp", False)])
def test_it_is_offered_where_confidences_repeat(demo: str, offered: bool) -> None:
    app = opened(Selection(source=Source(data=f"demo:{demo}"), view="reliability"))
    assert ("Confidence levels" in tabs_of(app)) == offered
    why = [c.help for c in app.caption if "not available" in c.value and "Confidence levels: " in c.help]
    assert bool(why) != offered
    # A view without content for most files is not listed or mentioned.
    assert "Judged answers" not in tabs_of(app)
    assert not any("Judged answers" in c.value for c in app.caption)
