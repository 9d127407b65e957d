"""Figures as they are printed: light, at a stated width, with text small enough for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import plotly.graph_objects as go
from plotly.io.json import to_json_plotly

from calib_core.figures.look import figure_template

PIXELS_PER_INCH = 96
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


@dataclass(frozen=True)
class Width:
    """A column width of a journal: its name, inches, and what suits it.

    ``font`` is the size of text in pixels, ``marks`` and ``lines`` the size of marks and the width of lines against
    those on screen, ``least`` the least height of a figure as a share of its width.
    """

    name: str
    inches: float
    font: float
    marks: float
    lines: float
    least: float

    @property
    def pixels(self) -> int:
        """CSS pixels, 96 to the inch."""
        return round(self.inches * PIXELS_PER_INCH)


DOUBLE = Width("double", 7.0, font=11.0, marks=0.8, lines=1.0, least=0.62)
SINGLE = Width("single", 3.4, font=8.5, marks=0.5, lines=0.6, least=0.85)
WIDTHS = {width.name: width for width in (SINGLE, DOUBLE)}

_NATURAL = 900
"""Width in pixels at which the heights of figures on screen were chosen."""
_LEAST_OF_PANELS = 0.42
_PANELS = 4
"""A figure of more panels than this, each with its heading, needs a double column."""


def fitting(figure: go.Figure, width: Width) -> Width:
    """The width a figure is printed at when this one is asked for: small multiples need a double column."""
    return DOUBLE if len(figure.layout.annotations) > _PANELS else width


def printed(figure: go.Figure, width: Width = DOUBLE) -> dict[str, Any]:
    """The figure's data and layout for a page of white paper, as plain values of JSON."""
    spec = figure.to_plotly_json()
    layout: dict[str, Any] = spec.get("layout", {})
    text = {"size": width.font}
    for name, value in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            _axis(value, width)
    for note in layout.get("annotations", ()):
        note["font"] = {**note.get("font", {}), **text}
    layout |= {
        "template": figure_template(dark=False).to_plotly_json(),
        "width": width.pixels,
        "height": _height(layout, width),
        "font": {"family": FONT, "color": "#1a1a1a", **text},
        "hoverlabel": {"font": text},
        "legend": {**layout.get("legend", {}), "font": text, "itemsizing": "trace"},
        "margin": {"l": 4.4 * width.font, "r": 12, "t": 12, "b": 3.6 * width.font, **layout.get("margin", {})},
    }
    for trace in spec["data"]:
        _shrink(trace, width)
    return {"data": spec["data"], "layout": layout}


def _axis(axis: dict[str, Any], width: Width) -> None:
    axis["tickfont"] = {"size": width.font - 1}
    if "title" in axis:
        axis["title"] = {**axis["title"], "font": {"size": width.font}, "standoff": 6}


def as_json(value: Any) -> str:
    """Values of figures as JSON that may stand in a script element: nothing in it ends one."""
    text = cast(str, to_json_plotly(value))
    return script_safe(text)


def script_safe(text: str) -> str:
    r"""JSON text in which no character begins a tag or ends a line of JavaScript.

    >>> print(script_safe('"</script>"'))
    "\u003c/script\u003e"
    """
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _height(layout: dict[str, Any], width: Width) -> int:
    """In proportion to the screen's, but not flattened; triangles keep their shape."""
    in_proportion: float = layout.get("height", 420) * width.pixels / _NATURAL
    if any("scaleanchor" in axis for axis in layout.values() if isinstance(axis, dict)):
        return round(in_proportion)
    least = _LEAST_OF_PANELS if "annotations" in layout else width.least
    return round(max(in_proportion, least * width.pixels))


def _shrink(trace: dict[str, Any], width: Width) -> None:
    """Marks, lines and their texts to the size of the page."""
    marker = trace.get("marker", {})
    for line in (trace.get("line", {}), marker.get("line", {}), trace.get("error_y", {})):
        for name in {"width", "thickness"} & line.keys():
            line[name] *= width.lines
    if isinstance(marker.get("size"), (int, float)):
        marker["size"] = max(marker["size"] * width.marks, 3)
    elif "sizeref" in marker:
        marker["sizeref"] /= width.marks
    if "text" in trace:
        trace["textfont"] = {**trace.get("textfont", {}), "size": width.font - 1}
