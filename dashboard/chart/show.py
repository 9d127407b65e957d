"""Put a figure on screen."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from calib_core.figures.look import figure_template
from dashboard.chart import click as clicks
from dashboard.chart import larger
from dashboard.chart.click import Click
from dashboard.chart.component import renderer
from dashboard.chart.payload import DEFAULT_HEIGHT, payload

_LOGGER = logging.getLogger(__name__)


def chart(
    figure: go.Figure,
    *,
    key: str,
    label: str,
    height: int | None = None,
    focus: Mapping[str, Any] | None = None,
    live: Mapping[str, Any] | None = None,
) -> Click | None:
    """Show a figure and return what was chosen in it and caused this run, once.

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
        What is looked at: `bin`, `class`, `cell`, and `between`, a pair of ends. Columns and marks whose records
        agree with it are highlighted, without drawing the figure anew.
    live : mapping, optional
        A temperature slider below the picture, as `live_path` gives it.
    """
    try:
        mount = renderer()
    except Exception:
        # Whatever a different Streamlit raises, a plainer chart is better than none.
        _LOGGER.warning("The chart component is not available; using st.plotly_chart.", exc_info=True)
        return _plain_chart(figure, key=key, label=label, height=height)
    mount(
        key=key,
        data=payload(figure, key=key, label=label, height=height, focus=focus, live=live, times=larger.times()),
        on_click_change=partial(_arrive, key),
    )
    return clicks.take(key)


def is_dark() -> bool:
    """Tell whether the page now shown is dark; light as long as the browser has not said."""
    return bool(st.context.theme.type == "dark")


def _arrive(key: str) -> None:
    """Before the run that a click causes: keep the click for `chart`."""
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
    """Read a selection as a click: it stays selected over reruns, so only a change of it counts."""
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
