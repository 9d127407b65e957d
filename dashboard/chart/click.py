"""User's choice in a chart, by pointer or keys, and its way through the session's state."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import streamlit as st

_DEPTH = 4
_ITEMS = 200
_LETTERS = 2000


@dataclass(frozen=True)
class Click:
    """Choice in a chart: a mark, a column, a range, a temperature, or a cleared choice.

    Attributes
    ----------
    trace : int, optional
        Index of the trace in `figure.data`; None unless a mark was clicked.
    point : int, optional
        Index of the point in its trace; for a heatmap, row * columns + column.
    customdata : Any
        The point's `customdata`, or the record that was sent; None when the trace has none.
    x, y : Any
        Coordinates of the point, as Plotly reports them (a number, or the name on a category axis).
    seq : int
        Grows with every click in a browser; two clicks on the same point differ in it.
    """

    trace: int | None
    point: int | None
    customdata: Any
    x: Any
    y: Any
    seq: int

    @property
    def record(self) -> Mapping[str, Any]:
        """Return the chosen record, by name; empty if the mark has none or it was not sent as a record.

        A mark's or a column's own record, `low` and `high` of a range, `temperature`, or `clear`.

        >>> Click(0, 2, {"model": "net", "bin": 3}, 0.5, 0.6, 1).record["bin"], Click(0, 2, None, 0, 0, 1).record
        (3, {})
        """
        return self.customdata if isinstance(self.customdata, Mapping) else {}


def slot(key: str) -> str:
    """Return the key in `st.session_state` of a pending click on chart `key`; a test may set it."""
    return f"calib.chart.click.{key}"


def waiting(key: str) -> Click | None:
    """Return the click that caused this run, without consuming it: `chart` still will."""
    click = st.session_state.get(slot(key))
    return click if isinstance(click, Click) else None


def take(key: str) -> Click | None:
    """Consume the pending click on chart `key`."""
    click = st.session_state.pop(slot(key), None)
    return click if isinstance(click, Click) else None


def put(key: str, click: Click | None) -> None:
    """Store a click for chart `key`, unless it was seen before."""
    seen = f"calib.chart.seq.{key}"
    if click is None or click.seq <= st.session_state.get(seen, 0):
        return
    st.session_state[seen] = click.seq
    st.session_state[slot(key)] = click


def parse(payload: object) -> Click | None:
    """Parse a click as the browser sends it; None for anything else, since a browser can send anything.

    >>> parse({"record": {"low": 0.2, "high": 0.4}, "seq": 1}).record
    {'low': 0.2, 'high': 0.4}
    >>> parse({"record": {"low": 0.4, "high": 0.2}, "seq": 1}) is None
    True
    """
    if not isinstance(payload, Mapping) or not _is_count(payload.get("seq")):
        return None
    seq = payload["seq"]
    if "record" in payload:
        record = payload["record"]
        return Click(None, None, record, None, None, seq) if _is_record(record) else None
    trace, point = payload.get("trace"), payload.get("point")
    customdata, x, y = (payload.get(name) for name in ("customdata", "x", "y"))
    if not (_is_count(trace) and _is_count(point) and all(map(_is_plain, (customdata, x, y)))):
        return None
    return Click(trace, point, customdata, x, y, seq)


def _is_record(record: object) -> bool:
    """Return True if this can be chosen in a chart without a mark: a range has two ends, a temperature is above 0."""
    if not isinstance(record, Mapping) or not record or not _is_plain(record):
        return False
    if "low" in record or "high" in record:
        low, high = record.get("low"), record.get("high")
        return _is_number(low) and _is_number(high) and low < high
    if "temperature" in record:
        temperature = record["temperature"]
        return _is_number(temperature) and temperature > 0
    return "clear" not in record or record["clear"] is True


def _is_plain(value: object, depth: int = _DEPTH) -> bool:
    """Return True if a value is what marks carry: numbers, texts, and small lists and mappings of them."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, str):
        return len(value) <= _LETTERS
    if isinstance(value, int | float):
        return _is_number(value)
    if depth == 0 or not isinstance(value, list | Mapping) or len(value) > _ITEMS:
        return False
    if isinstance(value, list):
        return all(_is_plain(item, depth - 1) for item in value)
    return all(isinstance(name, str) and _is_plain(item, depth - 1) for name, item in value.items())


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
