"""Charts for an audience: text, margins and height a quarter larger, the numbers unchanged."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st

TIMES = 1.25
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_PRESENTED = "calib.chart.presented"
_LENGTHS = ("xshift", "yshift", "ax", "ay", "standoff", "tracegroupgap")
"""Lengths next to text, which scale with it; the ends of an arrow may be in data coordinates instead."""


def present(on: bool) -> None:
    """Set whether every chart of this page is drawn enlarged."""
    st.session_state[_PRESENTED] = on


def times() -> float:
    """Return the current scale factor of charts."""
    return TIMES if st.session_state.get(_PRESENTED) else 1.0


def enlarge(part: Any, by: float) -> None:
    """Scale text, and the distances around it, by this factor, in place, everywhere in ``part``.

    >>> title = {"title": {"text": "a", "font": {"size": 10}}, "margin": {"l": 20}, "xaxis": {"range": [0, 1]}}
    >>> enlarge(title, 1.5)
    >>> title["title"]["font"], title["margin"], title["xaxis"]
    ({'size': 15.0}, {'l': 30.0}, {'range': [0, 1]})
    >>> sign = {"xsizemode": "pixel", "ysizemode": "pixel", "x0": 4, "path": "M 2 -3.5 L 4 1"}
    >>> enlarge(sign, 2)
    >>> sign["x0"], sign["path"]
    (8, 'M 4 -7 L 8 2')
    """
    if isinstance(part, list | tuple):
        for each in part:
            enlarge(each, by)
        return
    if not isinstance(part, dict):
        return
    for name, value in part.items():
        if name.endswith("font") and isinstance(value, dict):
            _scaled(value, ("size",), by)
        elif name == "margin" and isinstance(value, dict):
            _scaled(value, ("l", "r", "t", "b"), by)
        else:
            enlarge(value, by)
    for axis in "xy":  # shapes of a size in pixels, such as the sign of a verdict
        if part.get(f"{axis}sizemode") == "pixel":
            _scaled(part, (f"{axis}0", f"{axis}1"), by)
    if isinstance(part.get("path"), str) and part.get("xsizemode") == part.get("ysizemode") == "pixel":
        part["path"] = _NUMBER.sub(lambda number: f"{float(number[0]) * by:g}", part["path"])
    data = any(str(part.get(ref, "pixel")) != "pixel" for ref in ("axref", "ayref"))
    _scaled(part, [name for name in _LENGTHS if not (data and name in ("ax", "ay"))], by)


def _scaled(part: dict[str, Any], names: Any, by: float) -> None:
    for name in names:
        if isinstance(part.get(name), int | float) and not isinstance(part[name], bool):
            part[name] = part[name] * by
