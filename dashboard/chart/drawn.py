"""Charts that a run of the script drew, for tests."""

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest


@dataclass(frozen=True)
class SentChart:
    """Chart as it was sent to the browser.

    Attributes
    ----------
    key, label : str
        As given to `chart`.
    height : int
        Pixels.
    revision : str
        Changes with the figure; the browser writes it to `data-calib-revision` when the figure is on screen.
    focus : dict
        What is highlighted.
    live : dict, optional
        The temperature slider below it.
    figure : dict
        `data` and `layout` in Plotly's JSON form, with encoded arrays decoded to NumPy arrays.
    """

    key: str
    label: str
    height: int
    revision: str
    focus: dict[str, Any]
    live: dict[str, Any] | None
    figure: dict[str, Any]

    def trace(self, name: str) -> dict[str, Any]:
        """Return the first trace of that name."""
        return next(trace for trace in self.figure["data"] if trace.get("name") == name)


def drawn(app: "AppTest") -> dict[str, SentChart]:
    """Return the charts on the page of an `AppTest`, by key, in the order they were drawn.

    >>> from streamlit.testing.v1 import AppTest
    >>> def script():
    ...     import plotly.graph_objects as go
    ...     from dashboard.chart import chart
    ...     chart(go.Figure(go.Bar(x=["a"], y=[2.0])), key="bars", label="One bar.")
    >>> app = AppTest.from_function(script).run()
    >>> drawn(app)["bars"].figure["data"][0]["y"]
    [2.0]
    """
    charts = [_read(element.proto.bytes) for element in app.get("bidi_component") if _is_chart(element.proto)]
    return {chart.key: chart for chart in charts}


def _is_chart(proto: Any) -> bool:
    return bool(proto.component_name == "calib.chart")


def _read(message: bytes) -> SentChart:
    head, body = message.split(b"\n", 1)
    header = json.loads(head)
    sent = {name: header[name] for name in ("key", "label", "height", "revision", "focus", "live")}
    return SentChart(**sent, figure=_decoded(json.loads(body)))


def _decoded(node: Any) -> Any:
    if isinstance(node, list):
        return [_decoded(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "bdata" in node:
        return _array(node)
    return {name: _decoded(item) for name, item in node.items()}


def _array(spec: dict[str, Any]) -> Any:
    flat = np.frombuffer(base64.b64decode(spec["bdata"]), dtype=np.dtype(spec["dtype"]))
    shape = [int(size) for size in str(spec.get("shape", flat.size)).split(",")]
    return flat.reshape(shape)
