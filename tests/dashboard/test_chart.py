"""Charts as a script sees them; the browser's side is tested in tests/browser/test_chart.py."""

import ast
import base64
import copy
import gzip
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import plotly
import plotly.graph_objects as go
import pytest
from own_loop import run_in_own_loop
from starlette.routing import Route
from streamlit.testing.v1 import AppTest

import calib_core
from calib_core import Predictions
from calib_core.diagrams import temperature_path
from calib_core.figures.look import figure_template
from dashboard.chart import Click, drawn, live_path, page_head, slot
from dashboard.chart.click import parse
from dashboard.chart.show import figure_json, payload

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


NESTED: list[object] = []
NESTED.append(NESTED)


@pytest.mark.parametrize(
    "payload",
    [
        None, 3, "x", [], {}, {**CLICK, "trace": -1}, {**CLICK, "point": "2"}, {**CLICK, "seq": 1.5},
        {**CLICK, "seq": True}, {**CLICK, "customdata": {"bin": float("nan")}}, {**CLICK, "customdata": {1: 2}},
        {**CLICK, "customdata": ["x" * 3000]}, {**CLICK, "x": [[[[[1]]]]]}, {**CLICK, "customdata": NESTED},
        {**CLICK, "y": object()}, {**CLICK, "customdata": list(range(1000))},
    ],
)  # fmt: skip
def test_what_is_no_click_is_ignored(payload: object) -> None:
    assert parse(payload) is None


@pytest.mark.parametrize(
    "record",
    [{"bin": 3}, {"code": 0, "model": "net"}, {"low": 0.2, "high": 0.4}, {"clear": True}, {"temperature": 1.7}],
)
def test_what_is_chosen_without_a_mark_is_its_record(record: dict[str, object]) -> None:
    click = parse({"record": record, "seq": 3})
    assert click == Click(None, None, record, None, None, 3)
    assert click.record == record


@pytest.mark.parametrize(
    "record",
    [
        None, [], {}, "bin", {"low": 0.4, "high": 0.2}, {"low": 0.4}, {"low": "0", "high": 1},
        {"low": False, "high": 1}, {"low": 0.1, "high": float("inf")}, {"temperature": 0}, {"temperature": "2"},
        {"clear": 1}, {"bin": {"a": {}}, 3: 4},
    ],
)  # fmt: skip
def test_what_cannot_be_chosen_is_ignored(record: object) -> None:
    assert parse({"record": record, "seq": 3}) is None
    assert parse({"record": {"bin": 3}}) is None


def test_another_focus_is_no_new_figure() -> None:
    figure = go.Figure(go.Scatter(x=[1.0]), layout={"meta": {"columns": [], "range": True}})

    def header(**focus: object) -> dict[str, object]:
        message = payload(figure, key="k", label="l", height=None, focus=focus)
        return json.loads(message.split(b"\n", 1)[0])  # type: ignore[no-any-return]

    near, far = header(bin=3, model="net", between=None), header(between=(0.2, 0.4))
    assert near["focus"] == {"bin": 3}
    assert far["focus"] == {"between": [0.2, 0.4]}
    assert header(bin=0, code=0)["focus"] == {"bin": 0, "code": 0}, "the first is one like the others"
    assert near["revision"] == far["revision"]


@pytest.mark.parametrize(
    "other", [{"label": "m"}, {"height": 300}, {"room": 90}, {"times": 1.25}, {"key": "l"}], ids=str
)
def test_what_the_browser_is_told_beside_a_figure_makes_another_revision(other: dict[str, Any]) -> None:
    """Else the browser keeps the old description or size when only these change."""
    figure = go.Figure(go.Scatter(x=[1.0]))
    usual: dict[str, Any] = {"key": "k", "label": "l", "height": None}
    (before, _), (after, _) = (_parts(payload(figure, **usual | more)) for more in ({}, other))
    assert before["revision"] != after["revision"]
    assert before["revision"] == _parts(payload(figure, **usual))[0]["revision"]


# ---- the temperature slider and the way plotly.js is served ---------------------------------------------------


def test_a_slider_carries_the_sums_of_the_path() -> None:
    generator = np.random.default_rng(0)
    rows = Predictions.from_logits(generator.normal(size=(500, 3)) * 3, generator.integers(0, 3, 500))
    path = temperature_path(rows, 10, also=[1.69])
    live = live_path(path, "stars", bars="bars", value=1.69, marks={1.0: "as it is", 1.69: "fitted", 20.0: "far"})
    for name, table in (("rows", path.count), ("sums", path.confidence_sum), ("right", path.right)):
        sent = np.frombuffer(base64.b64decode(live[name]), "<f4").reshape(62, 10)
        np.testing.assert_allclose(sent, table, rtol=1e-6)
    assert live["value"] in live["temperatures"]
    assert [mark["label"] for mark in live["marks"]] == ["as it is", "fitted"]
    assert live["lower"][3] == pytest.approx(0.3)
    assert live_path(temperature_path(rows, "equal-mass"), "stars")["lower"] is None
    message = payload(go.Figure(), key="k", label="l", height=None, live=live)
    assert len(message) < 60_000


def test_the_bundle_is_of_the_version_of_the_plotly_package() -> None:
    whole = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    with whole.open(encoding="utf-8") as file:
        assert f"plotly.js v{page_head.bundle_version()}\n" in file.read(300)
    assert "MIT License" in (page_head.ASSETS / "plotly-basic.LICENSE.txt").read_text()


def test_the_bundle_draws_every_figure_of_the_product() -> None:
    drawn_with = {
        node.attr
        for file in (Path(calib_core.__file__).parent / "figures").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "go"
    }
    assert {"Scatter", "Bar"} <= drawn_with <= {"Scatter", "Bar", "Figure", "layout"}


def asked(app: object, path: str, method: str = "GET", **headers: str) -> tuple[dict[str, str], bytes]:
    """Return headers and body of the response of an ASGI application."""
    messages: list[dict[str, object]] = []

    async def send(message: dict[str, object]) -> None:
        messages.append(message)

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    lines = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": lines, "query_string": b""}
    run_in_own_loop(app(scope, receive, send))  # type: ignore[operator]
    answer = {name.decode(): value.decode() for name, value in messages[0]["headers"]}  # type: ignore[attr-defined]
    return answer, b"".join(message.get("body", b"") for message in messages[1:])  # type: ignore[misc]


async def page_in_parts(scope: dict[str, object], receive: object, send: Any) -> None:
    assert b"if-none-match" not in dict(scope["headers"])  # type: ignore[call-overload]
    start = [(b"content-type", b"text/html"), (b"etag", b"x"), (b"content-length", b"28")]
    await send({"type": "http.response.start", "status": 200, "headers": start})
    await send({"type": "http.response.body", "body": b"<html><head></he", "more_body": True})
    await send({"type": "http.response.body", "body": b"ad><head></html>"})


def test_the_page_names_what_its_first_chart_needs() -> None:
    answer, body = asked(page_head.Head(page_in_parts, page_head.links()), "/", if_none_match="x")
    assert body == b"<html><head>" + page_head.links() + b"</head><head></html>"
    assert answer == {"content-type": "text/html", "content-length": str(len(body))}
    for name in ("chart.js", "travel.js", "looking.js", "live.js"):
        assert f"calib.chart/{name}".encode() in body
    untouched, other = asked(page_head.Head(page_in_parts, page_head.links()), "/elsewhere")
    assert other == b"<html><head></head><head></html>"
    assert untouched["etag"] == "x"


@pytest.mark.parametrize("packed", ["gzip", ""])
def test_the_bundle_may_be_kept_for_ever(packed: str) -> None:
    route = Route("/b", page_head.bundle)
    answer, body = asked(route, "/b", accept_encoding=packed)
    assert "immutable" in answer["cache-control"]
    assert answer["content-type"].startswith("text/javascript")
    assert (gzip.decompress(body) if packed else body) == page_head.BUNDLE.read_bytes()


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


def test_a_presented_chart_has_larger_letters_and_the_same_numbers() -> None:
    figure = go.Figure(go.Scatter(x=[0.1, 0.2], y=[1, 2]), layout={"height": 400, "xaxis": {"tickfont": {"size": 12}}})
    figure.add_annotation(text="a", x=0.1, y=1, ax=8, yshift=4)
    figure.add_annotation(text="b", x=0.1, y=1, ax=0.2, axref="x")
    (plain, as_it_is), (larger, body) = (
        _parts(payload(figure, key="k", label="l", height=None, times=times)) for times in (1.0, 1.25)
    )
    assert (plain["height"], larger["height"]) == (400, 500)
    sizes = [each["templates"]["light"]["layout"]["font"]["size"] for each in (plain, larger)]
    assert sizes[1] == 1.25 * sizes[0]
    assert body["layout"]["xaxis"]["tickfont"]["size"] == 15
    first, second = body["layout"]["annotations"]
    assert (first["ax"], first["yshift"], second["ax"]) == (10, 5, 0.2)
    assert body["data"] == as_it_is["data"]
    assert figure.layout.annotations[0].ax == 8, "the figure itself is not changed"


def _parts(message: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    header, body = message.split(b"\n", 1)
    return json.loads(header), json.loads(body)
