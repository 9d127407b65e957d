"""Style of figures: colors, markers, dashes, and templates for a light and a dark page."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

from calib_core.palette import COLOURS, ON_DARK, REFERENCE, Style, style

__all__ = [
    "CALIBRATED",
    "CELLS",
    "DIVERGING",
    "REFERENCE",
    "SEQUENTIAL",
    "Style",
    "figure_template",
    "finished",
    "spaced_percent",
    "style",
]

CELLS = (*COLOURS, "#8C8C8C", "#999933", "#A65E3A")
"""Ten colors for the cells of a partition, used cyclically: adjacent cells differ, cells ten apart may not."""

EVENTS = "#4D4D4D"
"""Color of spikes of events, beside those of other rows in the color of references."""

DARK_PAGE = ON_DARK | {"#A65E3A": "#C97B54", EVENTS: "#D0D0D0"}
"""Colors that are replaced on the dark page, with their replacements, each 4.5:1 or better there."""

CALIBRATED = "rgba(128, 128, 128, 0.28)"
"""Color of bands of calibrated models."""

SEQUENTIAL = "Cividis"
"""Plotly's name of the color scale for ordered, unsigned values."""

DIVERGING = ((0.0, "#0072B2"), (0.25, "#7FB6D8"), (0.5, "#F0F0F0"), (0.75, "#EBA27A"), (1.0, "#D55E00"))
"""Color scale for signed gaps: blue below zero, vermilion above; needs its middle at 0 (`zmid=0`)."""


@dataclass(frozen=True)
class _Page:
    background: str
    text: str
    grid: str
    line: str


# Streamlit's background and text colors; the page reads them again from its style sheet.
_LIGHT = _Page(background="#ffffff", text="#2f2d2b", grid="#e4e4e2", line="#8a8a88")
_DARK = _Page(background="#171614", text="#edebe8", grid="#3a3936", line="#8a8a88")
_NAMES = {False: "calib_light", True: "calib_dark"}


@cache
def figure_template(dark: bool) -> go.layout.Template:
    """Return the Plotly template of the light or the dark page.

    It is registered in `plotly.io.templates` as `calib_light` or `calib_dark`.
    """
    template = _template(_DARK if dark else _LIGHT)
    pio.templates[_NAMES[dark]] = template
    return template


def finished(figure: go.Figure, **layout: Any) -> go.Figure:
    """Return the figure with this layout, styled for a light page; the dashboard restyles it for its page."""
    figure.update_layout(**layout)
    # Plotly validates a template anew for each figure, which takes longer than to draw most of them.
    figure.layout._validate = False
    figure.layout.template = figure_template(dark=False)
    figure.layout._validate = True
    spaced = {"labelalias": _spaced()}
    figure.for_each_xaxis(lambda axis: axis.update(spaced) if "%" in (axis.tickformat or "") else None)
    figure.for_each_yaxis(lambda axis: axis.update(spaced) if "%" in (axis.tickformat or "") else None)
    return figure


@cache
def _spaced() -> dict[str, str]:
    """Map from Plotly's percent format (40%) to the format used elsewhere (40 %)."""
    steps = ((100, 1), (20, 0.5), (5, 0.1), (0.5, 0.01))
    numbers = {f"{step * i:.4g}" for most, step in steps for i in range(round(most / step) + 1)}
    return {f"{sign}{number}%": f"{sign}{number} %" for sign in ("", "\u2212") for number in sorted(numbers)}


_PERCENT = re.compile(r"(%\{[^}:]+:[+-]?)([^}$]*%\})")


def spaced_percent(spec: dict[str, Any]) -> None:
    """Make hover texts show 40 %, like the axes, instead of 40%.

    Plotly has one percent format, but its money format follows the locale, which pages set to a space and a %.
    """
    for trace in spec.get("data", ()):
        if isinstance(trace.get("hovertemplate"), str):
            trace["hovertemplate"] = _PERCENT.sub(r"\1$\2", trace["hovertemplate"])


def _template(page: _Page) -> go.layout.Template:
    axis = {
        "gridcolor": page.grid,
        "linecolor": page.line,
        "zerolinecolor": page.grid,
        "tickcolor": page.line,
        "ticks": "outside",
        "showline": True,
        "automargin": True,
        "title": {"standoff": 8, "font": {"size": 14}},
    }
    return go.layout.Template(
        layout={
            "paper_bgcolor": page.background,
            "plot_bgcolor": page.background,
            "font": {"family": '"Source Sans", "Source Sans 3", sans-serif', "size": 14, "color": page.text},
            "colorway": list(ON_DARK.values() if page is _DARK else COLOURS),
            "colorscale": {"sequential": SEQUENTIAL, "sequentialminus": SEQUENTIAL, "diverging": DIVERGING},
            "coloraxis": {"colorbar": {"outlinewidth": 0, "thickness": 14}},
            "xaxis": axis,
            "yaxis": axis,
            "hovermode": "closest",
            "hoverlabel": {
                "bgcolor": page.background,
                "bordercolor": page.line,
                "font": {"color": page.text},
                "align": "left",
            },
            # Below, and measured from the figure's edge: Plotly then makes room for it under the axis title.
            "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0},
            "margin": {"l": 56, "r": 16, "t": 24, "b": 40},
            "title": {
                "x": 0,
                "xanchor": "left",
                "yref": "container",
                "y": 1,
                "yanchor": "top",
                "pad": {"t": 6, "b": 10},
                "automargin": True,
                "font": {"size": 16},
            },
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": page.line, "activecolor": page.text},
        },
        data={
            "heatmap": [{"colorscale": SEQUENTIAL, "colorbar": {"outlinewidth": 0, "thickness": 14}}],
            "bar": [{"marker": {"line": {"width": 0}}}],
        },
    )


for _dark in _NAMES:
    figure_template(_dark)
