"""Charts as far as a script sees them; what the browser makes of them is in tests/browser/test_chart.py."""

import copy
import logging

import numpy as np
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from calib_core.figures.look import figure_template
from dashboard.chart import Click, drawn, slot
from dashboard.chart.click import parse
from dashboard.chart.payload import figure_json, payload

CLICK = {"trace": 0, "point": 2, "customdata": [7, 1], "x": 0.5, "y": "a", "seq": 5}


def script() -> None:
    import numpy as np
    import plotly.graph_objects as go
    import streamlit as st

    from dashboard.chart import chart, waiting

    high = st.toggle("high")
    figure = go.Figure(
        [go.Scatter(x=np.arange(3.0), y=np.arange(3.0) + high, name="line"), go.Heatmap(z=np.eye(3, dtype="int8"))]
    )
    st.session_state["before"] = waiting("one")
    st.session_state["click"] = chart(figure, key="one", label="A line.", height=300)
    chart(go.Figure(go.Bar(x=["a"], y=[1])), key="two", label="A bar.")


@pytest.fixture
def app() -> AppTest:
    app = AppTest.from_function(script).run()
    assert not app.exception
    return app


def test_a_test_sees_the_figures(app: AppTest) -> None:
    charts = drawn(app)
    assert list(charts) == ["one", "two"]
    assert (charts["one"].label, charts["one"].height) == ("A line.", 300)
    assert charts["two"].height == 420
    np.testing.assert_array_equal(charts["one"].trace("line")["y"], [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(charts["one"].figure["data"][1]["z"], np.eye(3))


def test_a_new_figure_has_a_new_revision_and_an_old_one_its_old(app: AppTest) -> None:
    first = {key: chart.revision for key, chart in drawn(app).items()}
    app.toggle[0].set_value(True).run()
    second = {key: chart.revision for key, chart in drawn(app).items()}
    assert second["one"] != first["one"]
    assert second["two"] == first["two"]
    app.toggle[0].set_value(False).run()
    assert {key: chart.revision for key, chart in drawn(app).items()} == first


def test_a_click_is_handed_over_once(app: AppTest) -> None:
    click = parse(CLICK)
    app.session_state[slot("one")] = click
    app.run()
    assert app.session_state["before"] == click
    assert app.session_state["click"] == click
    app.run()
    assert app.session_state["before"] is None
    assert app.session_state["click"] is None


def test_a_click_is_read_as_sent() -> None:
    assert parse(CLICK) == Click(trace=0, point=2, customdata=[7, 1], x=0.5, y="a", seq=5)


@pytest.mark.parametrize(
    "payload",
    [None, 3, "x", [], {}, {**CLICK, "trace": -1}, {**CLICK, "point": "2"}, {**CLICK, "seq": 1.5}],
)
def test_what_is_no_click_is_ignored(payload: object) -> None:
    assert parse(payload) is None


def test_a_figure_is_not_changed_by_being_shown() -> None:
    figure = go.Figure(go.Scatter(x=np.arange(4), name="<b>"), layout={"template": "plotly", "height": 77})
    before = copy.deepcopy(figure.to_dict())
    message = payload(figure, key="k", label="l", height=None)
    assert figure.to_dict() == before
    assert b'"height": 77' in message.split(b"\n")[0]


def test_arrays_travel_encoded_and_the_template_stays_at_home() -> None:
    text = figure_json(go.Figure(go.Scatter(x=np.zeros(1000, dtype="float32"))), "k").decode()
    assert '"dtype":"f4"' in text
    assert '"template"' not in text
    assert len(text) < 6000


def test_the_figure_may_say_itself_when_the_zoom_ends() -> None:
    assert b'"uirevision":"k"' in figure_json(go.Figure(), "k")
    assert b'"uirevision":"log"' in figure_json(go.Figure(layout={"uirevision": "log"}), "k")


def test_traces_are_known_by_name_whatever_stands_before_them(app: AppTest) -> None:
    def uids(*names: str) -> dict[str, str]:
        figure = go.Figure([go.Scatter(name=name) for name in names])
        import json

        return {trace["name"]: trace["uid"] for trace in json.loads(figure_json(figure, "k"))["data"]}

    assert uids("a", "b")["b"] == uids("b")["b"]
    assert len(set(uids("a", "b").values())) == 2
    assert all(uid.isalnum() for uid in uids("with space", "<b>").values())  # Plotly builds CSS selectors of them


@pytest.fixture
def plain_app(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> AppTest:
    def missing() -> None:
        raise AttributeError("another Streamlit")

    monkeypatch.setattr("dashboard.chart.show.renderer", missing)
    with caplog.at_level(logging.WARNING):
        app = AppTest.from_function(script).run()
    assert "using st.plotly_chart" in caplog.text
    assert not app.exception
    return app


def test_without_the_component_streamlit_draws_the_chart(plain_app: AppTest) -> None:
    charts = plain_app.get("plotly_chart")
    assert len(charts) == 2
    assert charts[0].proto.theme == ""
    assert figure_template(False).layout.font.color in charts[0].proto.spec


def test_without_the_component_a_selection_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from dashboard.chart import show

    state: dict[str, object] = {}
    monkeypatch.setattr(show.st, "session_state", state)
    point = {"curve_number": 1, "point_index": 4, "customdata": [3], "x": 0.1, "y": 0.2}
    click = show._selected("k", [point])
    assert click == Click(1, 4, [3], 0.1, 0.2, seq=1)
    assert show._selected("k", [point]) is None
    assert show._selected("k", []) is None
    again = show._selected("k", [point])
    assert again is not None
    assert again.seq > click.seq
