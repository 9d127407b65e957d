"""Curve of a plan, and the rate that a calibrator attains against its target rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib_core._base.arrays import Float64s
from calib_core.diagrams.plan_curve import NEEDED, PLANNED, WANTED, ConstraintDiagram, PlanCurve
from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import diagonal, records
from calib_core.figures.shown import draws
from calib_core.text import short_percent

CLICKED = 120
"""Number of clickable positions along the figure."""
_HEIGHT, _AROUND = 400, 140
"""Pixels of the curve of a plan, and above and below its axes."""
_FIT = {"ratio": 0.5, "less": 500, "frame": _AROUND}
"""Shape of its axes on a page, as `FIT` of the reliability diagram."""


@draws(PlanCurve)
def plan_curve(curve: PlanCurve) -> go.Figure:
    """Draw one line per bound, the target as a level, and marks at the current and the needed amount."""
    plan, frame = curve.answer.plan, curve.frame()
    x = "%{x:,.0f}" if plan.counts else "%{x:.1~%}"
    y = "%{y:.2~%}" if plan.unit == "share" else "%{y:.3~g} times"
    figure = go.Figure()
    for number, name in enumerate(curve.names):
        look, points = style(number), frame[frame["curve"] == name]
        figure.add_trace(
            go.Scatter(
                x=points["amount"],
                y=points["bound"],
                mode="lines",
                name=name,
                line={"color": look.colour, "dash": look.dash, "width": 2},
                customdata=records(points[["amount", "bound"]]),
                hovertemplate=f"{name}<br>{plan.x_title} {x}<br>{y}<extra></extra>",
            )
        )
    level = frame[frame["curve"] == WANTED]
    if len(level):
        line = {"color": REFERENCE, "dash": "dash", "width": 1.5}
        places = {"x": level["amount"], "y": level["bound"]}
        figure.add_trace(go.Scatter(**places, mode="lines", line=line, name=WANTED, hoverinfo="skip"))
    for name, symbol, size in ((NEEDED, "diamond-open", 13), (PLANNED, "circle", 15)):
        point = frame[frame["curve"] == name]
        if len(point):
            figure.add_trace(
                go.Scatter(
                    x=point["amount"],
                    y=point["bound"],
                    mode="markers",
                    name=name,
                    marker={"symbol": symbol, "size": size, "color": style(0).colour, "line": {"width": 2}},
                    customdata=records(point[["amount", "bound"]]),
                    meta={"grab": {"along": "columns"}} if name == PLANNED else None,
                    hovertemplate=f"{name}: {x}<br>{y}<extra></extra>",
                )
            )
    across = {"type": "log", "dtick": 1, "tickformat": ",~r"} if plan.counts else {"tickformat": ".0%"}
    return finished(
        figure,
        xaxis={"title": plan.x_title, **across},
        yaxis={
            "title": plan.titled(curve.names[0]),
            "rangemode": "tozero",
            **({"tickformat": ".2~%"} if plan.unit == "share" else {}),
        },
        margin={"r": 34},
        uirevision=f"plan {curve.answer.key}",
        meta={"columns": _clicked(curve), "fit": _FIT},
        height=_HEIGHT,
    )


def _clicked(curve: PlanCurve) -> list[dict[str, Any]]:
    """Clickable positions, also targets of dragging; each extends halfway to the adjacent ones."""
    plan, amounts, bounds = curve.answer.plan, curve.amounts, curve.bounds[0]
    along = np.log10(amounts) if plan.counts else amounts
    chosen = _apart(along, (along[-1] - along[0]) / CLICKED, int(np.argmin(np.abs(amounts - plan.amount))))
    places, whole = along[chosen], along[-1] - along[0]
    ends = np.concatenate([[places[0] - whole], (places[1:] + places[:-1]) / 2, [places[-1] + whole]])
    return [
        {
            "axis": "x",
            "low": float(low),
            "high": float(high),
            "record": {"amount": float(amounts[i])},
            "here": bool(amounts[i] == plan.amount),
            **({"place": [float(amounts[i]), float(bounds[i])]} if np.isfinite(bounds[i]) else {}),
            "says": f"{f'{amounts[i]:,.0f}' if plan.counts else short_percent(amounts[i])} {plan.x_title}",
        }
        for i, low, high in zip(chosen, ends, ends[1:], strict=False)
    ]


def _apart(along: Float64s, least: float, kept: int) -> list[int]:
    """Indices of positions at least this far apart, including the one to keep."""
    chosen: list[int] = []
    for i, place in enumerate(along):
        room = abs(place - along[kept]) >= least or i == kept
        if room and (not chosen or i == kept or place - along[chosen[-1]] >= least):
            chosen.append(i)
    return chosen


_HOVER = (
    "target %{x:.2~%}<br>attained %{y:.2~%} on average<br>met in %{customdata.kept:.0%} of the splits<br>"
    "%{customdata.coverage:.1~%} of rows answered<br>%{customdata.refused} splits refused<extra></extra>"
)


@draws(ConstraintDiagram)
def constraint(diagram: ConstraintDiagram) -> go.Figure:
    """Draw the mean attained rate with two standard deviations over splits, and the line of the target rate."""
    known = ~np.isnan(diagram.attained)
    low, high = float(diagram.wanted.min()), float(diagram.wanted.max())
    figure = go.Figure(diagonal(low, high))
    figure.add_trace(
        go.Scatter(
            x=diagram.wanted[known],
            y=diagram.attained[known],
            error_y={"type": "data", "array": 2 * np.nan_to_num(diagram.deviation[known]), "thickness": 1.5},
            mode="markers",
            name=f"attained {diagram.rate}",
            marker={"color": style(1).colour, "symbol": style(1).symbol, "size": 9},
            customdata=records(diagram.frame()[["wanted", "kept", "coverage", "refused"]][known]),
            hovertemplate=_HOVER,
        )
    )
    return finished(
        figure,
        xaxis={"title": f"target {diagram.rate}", "tickformat": "~%"},
        yaxis={"title": f"attained {diagram.rate}, mean ± 2 sd over splits", "tickformat": "~%"},
        showlegend=False,
        uirevision=f"constraint {diagram.rate}",
        height=400,
    )
