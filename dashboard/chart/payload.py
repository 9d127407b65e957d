"""What is sent to the browser for one chart: a short header, a newline, the figure as Plotly's JSON."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import plotly.graph_objects as go
from plotly.io.json import to_json_plotly

from calib_core.figures.look import figure_template, spaced_percent
from dashboard.chart.larger import enlarge
from dashboard.selection import PLACES

DEFAULT_HEIGHT = 420
LOOKED_AT = tuple(name for name in PLACES if name != "label")
"""Names of a focus that columns and marks are compared by: what rows really are of is shown in a table."""


def payload(
    figure: go.Figure,
    *,
    key: str,
    label: str,
    height: int | None,
    focus: Mapping[str, Any] | None = None,
    live: Mapping[str, Any] | None = None,
    times: float = 1.0,
) -> bytes:
    """Serialise a figure for the browser.

    The header is its own JSON text, so that a rerun which changes nothing costs the browser no parsing of the
    figure. Arrays travel base64-encoded in their own number type. The focus and the slider are no part of the
    revision: another focus is shown on the figure that is there. ``times`` as large are letters and height.
    """
    body = figure_json(figure, key, times)
    header = {
        "key": key,
        "label": label,
        "height": round((height or figure.layout.height or DEFAULT_HEIGHT) * times),
    }
    header["revision"] = _digest(json.dumps(header).encode() + body)
    header |= {"focus": _known(focus or {}), "live": live}
    return json.dumps(header)[:-1].encode() + b',"templates":' + _templates(times) + b"}\n" + body


def _known(focus: Mapping[str, Any]) -> dict[str, Any]:
    """What of a focus is looked at; empty where it is nothing."""
    return {name: value for name, value in focus.items() if value is not None and name in LOOKED_AT}


def figure_json(figure: go.Figure, key: str, times: float = 1.0) -> bytes:
    """Return the figure as JSON, without its template and size, which belong to the page."""
    spec: dict[str, Any] = figure.to_plotly_json()
    layout = spec.setdefault("layout", {})
    for name in ("template", "width", "height"):
        layout.pop(name, None)
    layout.setdefault("uirevision", key)
    _name_traces(spec.get("data", ()))
    spaced_percent(spec)
    if times != 1:
        enlarge(spec, times)
    return _json(spec)


def _name_traces(traces: list[dict[str, Any]]) -> None:
    """Tie the browser's memory of a hidden trace to its name, not to its place in the list.

    The name is hashed, for Plotly puts the uid into CSS selectors.
    """
    seen: Counter[str] = Counter()
    for trace in traces:
        name = f"{trace.get('type', 'scatter')} {trace.get('name', '')}"
        trace.setdefault("uid", f"t{_digest(f'{name} {seen[name]}'.encode())}")
        seen[name] += 1


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=8).hexdigest()


@cache
def _templates(times: float) -> bytes:
    both = {name: figure_template(dark).to_plotly_json() for name, dark in (("light", False), ("dark", True))}
    if times != 1:
        enlarge(both, times)
    return _json(both)


def _json(value: dict[str, Any]) -> bytes:
    text: str = to_json_plotly(value)
    return text.encode()
