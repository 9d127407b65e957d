"""Parts of verdict figures: noise floors, intervals, the zone within the tolerance, and icons."""

from __future__ import annotations

import math
from typing import Any

import plotly.graph_objects as go

from calib_core.diagrams.tolerance_axis import VerdictStrip
from calib_core.figures.look import REFERENCE
from calib_core.palette import style
from calib_core.results.verdict_table import VERDICTS
from calib_core.text import plain

WITHIN_TOLERANCE = "rgba(46, 139, 87, 0.13)"
"""Color of the zone within the tolerance."""

_NO_VERDICT = ("#787884", "M -4 0 L 4 0")
"""Color and drawing for a missing verdict."""


def title_of(word: str) -> str:
    """Verdict word at the side of a row."""
    return VERDICTS[word].title if word else "No verdict"


LANE = 0.3
"""Distance below a row, in rows, of its noise floor and raw value: the one is compared with the other only."""
_LANE_WIDTH = 0.17


def floors(strip: VerdictStrip, name: str, hover: str) -> go.Bar:
    """Noise floors of calibrated models, from 0: one hatched bracket per model, below its row."""
    return go.Bar(
        x=100 * strip.floor,
        y=[i + LANE for i in range(len(strip.names))],
        orientation="h",
        width=_LANE_WIDTH,
        name=name,
        marker={
            "color": "rgba(0,0,0,0)",
            "pattern": {"shape": "/", "fgcolor": REFERENCE, "size": 5, "solidity": 0.35},
            "line": {"color": REFERENCE, "width": 1},
        },
        customdata=[{"model": title} for title in strip.names],
        hovertemplate=f"{hover} (95 % point): %{{x:.3~g}} %<extra></extra>",
    )


def raw_values(strip: VerdictStrip) -> go.Scatter:
    """Raw values, which include noise, on the brackets of the noise floors that they are compared with."""
    return go.Scatter(
        x=100 * strip.value,
        y=[i + LANE for i in range(len(strip.names))],
        mode="markers",
        name="raw value",
        marker={"symbol": "line-ns", "size": 13, "line": {"width": 2.5, "color": REFERENCE}},
        customdata=[{"model": name} for name in strip.names],
        hovertemplate="raw value, including noise: %{x:.3~g} %<extra></extra>",
    )


def interval_of(
    strip: VerdictStrip, i: int, look: int, ends: tuple[float, float, float], hover: str, *, size: float, cap: float
) -> go.Scatter:
    """Interval and point of one model in its row: low, point and high on the axis."""
    own = style(look)
    low, point, high = ends
    known = math.isfinite(point)
    return go.Scatter(
        x=[point] if known else [None],
        y=[i],
        error_x={
            "array": [high - point if known else 0], "arrayminus": [point - low if known else 0],
            "symmetric": False, "thickness": 3, "width": cap, "color": own.colour,
        },
        mode="markers",
        marker={"color": own.colour, "symbol": own.symbol, "size": size, "line": {"width": 1.5, "color": "#ffffff"}},
        cliponaxis=False,
        name=plain(strip.names[i]),
        customdata=[{"model": strip.names[i]}],
        hovertext=[hover],
        hoverinfo="text",
    )  # fmt: skip


def icon(word: str, across: float, up: float, radius: float = 9.0, **place: Any) -> list[dict[str, object]]:
    """Shapes of a disc with its sign, centered at this distance in pixels to the right of and above an anchor.

    ``place`` is the anchor: ``xref``, ``xanchor``, ``yref`` and ``yanchor`` of Plotly's shapes.
    """
    colour, path = (VERDICTS[word].colour, VERDICTS[word].drawing) if word else _NO_VERDICT
    sizes = {"xsizemode": "pixel", "ysizemode": "pixel", **place}
    disc = {
        "type": "circle",
        "x0": across - radius,
        "x1": across + radius,
        "y0": up - radius,
        "y1": up + radius,
        "fillcolor": colour,
        "line": {"width": 0},
    }
    return [disc | sizes, _sign(path, across, up, radius / 9) | sizes]


def _sign(path: str, across: float, up: float, scale: float) -> dict[str, Any]:
    """Drawing around the disc's center; pixels of a shape increase upwards."""
    parts = iter(path.split())
    moved = " ".join(
        f"{command} {scale * float(next(parts)) + across:g} {up - scale * float(next(parts)):g}" for command in parts
    )
    return {"type": "path", "path": moved, "line": {"color": "#ffffff", "width": 2}}
