"""A click on a point of a figure, and the way it takes through the session's state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import streamlit as st


@dataclass(frozen=True)
class Click:
    """One click on one point of a figure.

    Attributes
    ----------
    trace : int
        Index of the trace in `figure.data`.
    point : int
        Index of the point in its trace; for a heatmap, row * columns + column.
    customdata : Any
        The point's `customdata`; None when the trace has none.
    x, y : Any
        Coordinates of the point, as Plotly reports them (a number, or the name on a category axis).
    seq : int
        Grows with every click in a browser; two clicks on the same point differ in it.
    """

    trace: int
    point: int
    customdata: Any
    x: Any
    y: Any
    seq: int

    @property
    def record(self) -> Mapping[str, Any]:
        """What the point stands for, by name; nothing when the point says nothing or was not sent as a record.

        >>> Click(0, 2, {"model": "net", "bin": 3}, 0.5, 0.6, 1).record["bin"], Click(0, 2, None, 0, 0, 1).record
        (3, {})
        """
        return self.customdata if isinstance(self.customdata, Mapping) else {}


def slot(key: str) -> str:
    """Name the place in `st.session_state` where a click on chart `key` waits; a test may put one there."""
    return f"calib.chart.click.{key}"


def waiting(key: str) -> Click | None:
    """Return the click that caused this run, without consuming it: `chart` still will."""
    click = st.session_state.get(slot(key))
    return click if isinstance(click, Click) else None


def take(key: str) -> Click | None:
    """Consume the click waiting for chart `key`."""
    click = st.session_state.pop(slot(key), None)
    return click if isinstance(click, Click) else None


def put(key: str, click: Click | None) -> None:
    """Let a click wait for chart `key`, unless it was seen before."""
    seen = f"calib.chart.seq.{key}"
    if click is None or click.seq <= st.session_state.get(seen, 0):
        return
    st.session_state[seen] = click.seq
    st.session_state[slot(key)] = click


def parse(payload: object) -> Click | None:
    """Read a click as the browser sends it; None for anything else, since a browser can send anything."""
    if not isinstance(payload, Mapping):
        return None
    trace, point, seq = (payload.get(name) for name in ("trace", "point", "seq"))
    if not (_is_count(trace) and _is_count(point) and _is_count(seq)):
        return None
    return Click(trace, point, payload.get("customdata"), payload.get("x"), payload.get("y"), seq)


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and value >= 0
