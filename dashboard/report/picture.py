"""Figures for print: light, at the width of a part of a report's page, or of a journal's column."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import plotly.graph_objects as go
from plotly.io.json import to_json_plotly

from calib_core.figures import paper
from calib_core.figures.look import spaced_percent
from calib_core.fonts import NAME, PER_INCH, STYLES, ColumnWidth, face

PIXELS_PER_INCH = PER_INCH
_LOOKS = {"Regular": "font-weight: 400", "Bold": "font-weight: 700", "Italic": "font-style: italic"}


@dataclass(frozen=True)
class PagePart:
    """Part of a report's page: its width and type, and factors on heights in proportion to the screen's.

    ``flat`` is that of the figure, ``strip`` of a strip of bars, ``gap`` of the space above it, where type on paper is
    larger.
    """

    column: ColumnWidth
    flat: float = 1.0
    gap: float = 1.45
    strip: float = 1.0


_WHOLE, _MAIN, _HALF = (
    ColumnWidth(*each) for each in (("whole", 7.0, 8.0), ("main", 540 / 96, 8.0), ("half", 3.375, 7.5))
)
FULL = PagePart(_WHOLE)
PARTS = {
    "full": FULL,
    "main": PagePart(_MAIN, 0.6, gap=1.15, strip=0.75),
    "half": PagePart(_HALF, 0.58),
    "low": PagePart(_WHOLE, 0.64),
    "flat": PagePart(_WHOLE, 0.46),
    "rows": PagePart(_WHOLE, 0.84),
}
"""Parts of a report's page that figures take."""
_END = 8
"""Pixels below a strip of bars: the axis and its title are above it."""
LEGEND = 0.3
"""Largest share of a figure's height for its legend: a journal's figure is taller."""


def on_paper(figure: go.Figure, width: str) -> dict[str, Any]:
    """Return a figure for a journal's column (`cc.figures.on_paper`) as plain values of JSON, without its hovers."""
    spec: dict[str, Any] = paper.on_paper(figure, width).to_plotly_json()
    for trace in spec["data"]:
        for name in ("customdata", "hovertext", "hovertemplate"):
            trace.pop(name, None)
    return spec


def printed(figure: go.Figure, part: PagePart = FULL) -> dict[str, Any]:
    """Return the figure's data and layout for a part of the page, as plain values of JSON."""
    spec: dict[str, Any] = figure.to_plotly_json()
    if part.flat != 1 and not _keeps_shape(spec["layout"]):
        _flatten(spec["layout"], part)
    spaced_percent(paper.at_width(spec, part.column, LEGEND))
    return spec


def _flatten(layout: dict[str, Any], part: PagePart) -> None:
    """Lower a figure; a strip of bars below it and the space above the strip keep their pixels."""
    around = sum(layout.get("margin", {}).get(end, 0) for end in ("t", "b"))
    before = layout.get("height") or paper.HEIGHT
    layout["height"] = part.flat * before
    strip, gap = layout.get("meta", {}).get("strip", (0.0, 0))
    if gap:
        bars = part.strip * strip * (before - around)
        around += _END - layout["margin"].get("b", 0)
        layout["margin"]["b"] = _END
        share = bars / (layout["height"] - around)
        layout["yaxis"]["domain"] = [share + part.gap * gap / (layout["height"] - around), 1]
        layout["yaxis2"]["domain"] = [0, share]
        for note in layout.get("annotations", ()):
            note["y"] = share if note.get("yref") == "paper" and note["y"] == strip else note["y"]


def _keeps_shape(layout: Mapping[str, Any]) -> bool:
    """Return True for pictures whose axes have one scale, as triangles have."""
    return any("scaleanchor" in axis for name, axis in layout.items() if name.startswith(("xaxis", "yaxis")))


def faces() -> dict[str, str]:
    """Return the style sheet of each style of the typeface, with the file in it."""
    return {
        style: f"@font-face {{ font-family: {NAME}; {_LOOKS[style]}; "
        f"src: url(data:font/ttf;base64,{base64.b64encode(face(style)).decode()}) }}"
        for style in STYLES
    }


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
