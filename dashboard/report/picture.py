"""Figures for print: light, at the width of a part of a report's page, or of a journal's column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import plotly.graph_objects as go
from plotly.io.json import to_json_plotly

from calib_core.figures import paper
from calib_core.figures.look import figure_template, spaced_percent

PIXELS_PER_INCH = 96
FONT = "Liberation Sans, Arial, Helvetica, Narrow DejaVu, sans-serif"


@dataclass(frozen=True)
class Width:
    """Width of a part of a page: its name, inches, and matching sizes.

    - ``font`` is the size of text in pixels.
    - ``marks`` and ``lines`` are the size of marks and the width of lines relative to the screen.
    - ``least`` is the minimum height of a figure as a share of its width.
    - ``flat`` is a factor on the height in proportion to the screen's.
    - ``below`` is the height in pixels of a legend below a figure whose own place for it would be too narrow.
    """

    name: str
    inches: float
    font: float
    marks: float
    lines: float
    least: float
    flat: float = 1.0
    below: int = 0

    @property
    def pixels(self) -> int:
        """Return CSS pixels, 96 to the inch."""
        return round(self.inches * PIXELS_PER_INCH)


FULL = Width("full", 7.0, font=11.0, marks=0.8, lines=1.0, least=0.62)
PARTS = {
    "full": FULL,
    "wide": Width("wide", 4.5, font=10.0, marks=0.75, lines=1.0, least=0.56, flat=0.9),
    "risk": Width("risk", 4.5, font=10.0, marks=0.75, lines=1.0, least=0.6),
    "half": Width("half", 3.375, font=9.0, marks=0.6, lines=0.8, least=0.96),
    "tall": Width("tall", 7.0, font=10.0, marks=0.75, lines=0.9, least=0.34, flat=1.2),
    "panels": Width("panels", 7.0, font=11.0, marks=0.8, lines=1.0, least=0.34, flat=0.78),
    "strip": Width("strip", 7.0, font=11.0, marks=0.85, lines=0.9, least=0.0, flat=1.34, below=20),
    "axes": Width("axes", 7.0, font=11.0, marks=0.85, lines=0.9, least=0.0, flat=1.28),
    "low": Width("low", 7.0, font=11.0, marks=0.8, lines=1.0, least=0.34, flat=0.7),
}
"""Parts of a report's page that figures take."""

_NATURAL = 900
"""Width in pixels at which the heights of figures on screen were chosen."""
_LEAST_OF_PANELS = 0.42
_ON_SCREEN, _SPACE = 14.0, 7.0
"""Size of text on screen, and the free space between its lines at any size, in pixels."""
_NARROW = 450
"""Width in pixels up to which the legend of a figure is a column rather than a line."""
_LEGEND_LINES, _LEGEND_LINE = 2, 1.9
"""Lines of a legend below a figure, and the height of one relative to its text."""


def on_paper(figure: go.Figure, width: str) -> dict[str, Any]:
    """Return a figure for a journal's column (`cc.figures.on_paper`) as plain values of JSON, without its hovers."""
    spec: dict[str, Any] = paper.on_paper(figure, width).to_plotly_json()
    for trace in spec["data"]:
        for name in ("customdata", "hovertext", "hovertemplate"):
            trace.pop(name, None)
    return spec


def printed(figure: go.Figure, width: Width = FULL) -> dict[str, Any]:
    """Return the figure's data and layout for white paper, as plain values of JSON."""
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
        "height": _height(spec, layout, width),
        "font": {"family": FONT, "color": "#1a1a1a", **text},
        "hoverlabel": {"font": text},
        "legend": {**layout.get("legend", {}), "font": text, "itemsizing": "trace", "maxheight": 1.0},
        "margin": {"l": 4.4 * width.font, "r": 12, "t": 12, "b": 3.6 * width.font, **layout.get("margin", {})},
    }
    if width.below:
        layout["height"] += width.below
        layout["margin"] = {**layout["margin"], "b": layout["margin"]["b"] + width.below}
        layout["legend"] |= {"yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "xanchor": "left"}
    _apart(layout, width)
    spaced_percent(spec)
    for trace in spec["data"]:
        _shrink(trace, width)
    return {"data": spec["data"], "layout": layout}


def _apart(layout: dict[str, Any], width: Width) -> None:
    """Reserve as many pixels between a strip of bars and the picture above it as on screen, less the smaller text."""
    strip, pixels = (layout.get("meta") or {}).get("strip", (0.0, 0))
    if pixels:
        legend = _LEGEND_LINES * _LEGEND_LINE * width.font  # moves the end of the picture up when it is drawn
        inner = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"] - legend
        gap = pixels * (width.font + _SPACE) / (_ON_SCREEN + _SPACE)
        layout["yaxis"] = {**layout["yaxis"], "domain": [strip + gap / inner, 1]}


def _axis(axis: dict[str, Any], width: Width) -> None:
    axis["tickfont"] = {"size": width.font - 1}
    if "title" in axis:
        axis["title"] = {**axis["title"], "font": {"size": width.font}, "standoff": 6}


def as_json(value: Any) -> str:
    """Return values of figures as JSON that is safe inside a script element."""
    text = cast(str, to_json_plotly(value))
    return script_safe(text)


def script_safe(text: str) -> str:
    r"""Return JSON text in which no character begins a tag or ends a line of JavaScript.

    >>> print(script_safe('"</script>"'))
    "\u003c/script\u003e"
    """
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _height(spec: dict[str, Any], layout: dict[str, Any], width: Width) -> int:
    """Return a height in proportion to the screen's, but not flattened; triangles keep their shape."""
    in_proportion: float = layout.get("height", 420) * width.pixels / _NATURAL * width.flat
    panels = _beside(layout) and not _keeps_shape(layout)
    least = min(_LEAST_OF_PANELS, width.least) if panels else width.least
    return round(max(in_proportion, least * width.pixels)) + _legend_room(spec, width)


def _legend_room(spec: dict[str, Any], width: Width) -> int:
    """Return the pixels that the legend of a narrow figure needs below it: most names there take a line each."""
    if width.pixels > _NARROW:
        return 0
    for trace in spec["data"]:
        if list(trace.get("x", ())) == [None] and "legendgroup" not in trace:
            trace["showlegend"] = False  # the meaning of marks is explained below the first of them
    named = sum(1 for trace in spec["data"] if trace.get("name") and trace.get("showlegend", True))
    return round(max(0, named - _LEGEND_LINES) * _LEGEND_LINE * width.font)


def _beside(layout: dict[str, Any]) -> bool:
    """Return True if the figure has pictures side by side."""
    axes = (axis for name, axis in layout.items() if name.startswith("xaxis"))
    return len({tuple(axis.get("domain", (0, 1))) for axis in axes}) > 1


def _keeps_shape(layout: dict[str, Any]) -> bool:
    return any("scaleanchor" in axis for axis in layout.values() if isinstance(axis, dict))


def _shrink(trace: dict[str, Any], width: Width) -> None:
    """Scale marks, lines and their texts to the size of the page."""
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
