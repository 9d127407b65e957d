"""Put a figure on screen.

The browser receives for one chart: a short header, a newline, the figure as Plotly's JSON.
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from plotly.io.json import to_json_plotly

from calib_core.figures.look import DARK_PAGE, figure_template, spaced_percent
from dashboard.chart import click as clicks
from dashboard.chart import larger
from dashboard.chart.click import Click
from dashboard.chart.component import renderer
from dashboard.chart.larger import enlarge
from dashboard.selection import PLACES

DEFAULT_HEIGHT = 420
LOOKED_AT = tuple(name for name in PLACES if name != "label")
"""Names of a focus by which columns and marks are compared; the true class of rows is shown in a table only."""


def payload(
    figure: go.Figure,
    *,
    key: str,
    label: str,
    height: int | None,
    focus: Mapping[str, Any] | None = None,
    live: Mapping[str, Any] | None = None,
    times: float = 1.0,
    room: int | None = None,
) -> bytes:
    """Serialize a figure for the browser.

    The header is its own JSON text, so that a rerun which changes nothing costs the browser no parsing of the figure.
    Arrays travel base64-encoded in their own number type. The focus and the slider are no part of the revision: another
    focus is shown on the existing figure. Letters and height are enlarged by the factor ``times``. With ``room`` the
    picture is as high as the window without these pixels, if that is more.
    """
    body = figure_json(figure, key, times)
    header = {
        "key": key,
        "label": label,
        "height": round((height or figure.layout.height or DEFAULT_HEIGHT) * times),
        "room": room,
        "times": times,
        **_fitted(figure),
    }
    header["revision"] = _digest(json.dumps(header).encode() + body)
    header |= {"focus": _known(focus or {}), "live": live}
    return (
        json.dumps(header)[:-1].encode()
        + b',"templates":'
        + _templates(times)
        + b',"onDark":'
        + _json(DARK_PAGE)
        + b"}\n"
        + body
    )


def _fitted(figure: go.Figure) -> dict[str, Any]:
    """Return how the figure's size follows the screen, if it does: known to the browser before it reads the figure."""
    meta = figure.layout.meta
    return {name: meta[name] for name in ("fit", "strip") if name in meta} if isinstance(meta, dict) else {}


def _known(focus: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known entries of a focus; empty if there are none."""
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
    """Tie the browser's memory of a hidden trace to its name, not to its position in the list.

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


_LOGGER = logging.getLogger(__name__)


def chart(
    figure: go.Figure,
    *,
    key: str,
    label: str,
    height: int | None = None,
    focus: Mapping[str, Any] | None = None,
    live: Mapping[str, Any] | None = None,
    room: int | None = None,
) -> Click | None:
    """Show a figure and return the choice in it that caused this run, once.

    Parameters
    ----------
    figure : go.Figure
        Any figure; it is not changed, and its template is replaced by the page's.
    key : str
        Unique on the page. Charts of the same key are the same chart: zoom and legend state stay.
    label : str
        One sentence for people who do not see the picture.
    height : int, optional
        Pixels; the figure's own height or 420 otherwise. The width is the container's.
    focus : mapping, optional
        The current focus: `bin`, `class`, `cell`, and `between`, a pair of ends. Columns and marks whose records agree
        with it are highlighted, without redrawing the figure.
    live : mapping, optional
        A temperature slider below the picture, as `live_path` gives it.
    room : int, optional
        Pixels of the window's height that something else needs: a taller window then has a taller picture.
    """
    try:
        mount = renderer()
    except Exception:
        # Another release of Streamlit may raise anything; a plainer chart is better than none.
        _LOGGER.warning("The chart component is not available; using st.plotly_chart.", exc_info=True)
        return _plain_chart(figure, key=key, label=label, height=height)
    mount(
        key=key,
        data=payload(
            figure, key=key, label=label, height=height, focus=focus, live=live, times=larger.times(), room=room
        ),
        on_click_change=partial(_arrive, key),
    )
    return clicks.take(key)


def is_dark() -> bool:
    """Return True if the page is dark; False until the browser has reported it."""
    return bool(st.context.theme.type == "dark")


def _arrive(key: str) -> None:
    """Store the click for `chart`, before the run that it causes."""
    clicks.put(key, clicks.parse(st.session_state[key].get("click")))


def _plain_chart(figure: go.Figure, *, key: str, label: str, height: int | None) -> Click | None:
    dressed = go.Figure(figure).update_layout(
        template=figure_template(is_dark()), height=height or figure.layout.height or DEFAULT_HEIGHT
    )
    state: Any = st.plotly_chart(
        dressed,
        key=key,
        alt=label,
        theme=None,
        config={"displaylogo": False},
        on_select="rerun",
        selection_mode="points",
    )
    clicks.put(key, _selected(key, state["selection"]["points"]))
    return clicks.take(key)


def _selected(key: str, points: list[dict[str, Any]]) -> Click | None:
    """Parse a selection as a click: it stays selected over reruns, so only a changed selection counts."""
    last, number = st.session_state.get(f"calib.chart.selected.{key}", (None, 0))
    chosen = points[0] if points else None
    if chosen == last:
        return None
    st.session_state[f"calib.chart.selected.{key}"] = (chosen, number + 1)
    return clicks.parse(
        chosen
        and {
            **{name: chosen.get(name) for name in ("customdata", "x", "y")},
            "trace": chosen.get("curve_number"),
            "point": chosen.get("point_index"),
            "seq": number + 1,
        }
    )
