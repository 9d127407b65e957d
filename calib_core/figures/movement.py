"""Reliability diagram before and after recalibration: both models' marks, with an arrow per bin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.recalibration import Movement
from calib_core.diagrams.reliability import FEW_ROWS, ReliabilityDiagram
from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import diagonal, numbers, records, symbols, taken, taken_from, with_gaps
from calib_core.figures.probability_axis import percent_ticks
from calib_core.figures.shown import draws
from calib_core.text import between, plain, short_percent

MARKS, ARROWS = "after", "arrows"
"""Names of the traces of the recalibrated model's marks and of the arrows."""

_ENDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SHORTEST = 0.03
"""Shortest move with an arrow; the head of a shorter one would cover both marks."""

_HOVER = "%{meta.title}<br>%{customdata.count} rows<br>"
_HOVERS = {
    "confidence": _HOVER + "confidence %{x:.1~%}, accuracy %{y:.1~%}<extra></extra>",
    "event": _HOVER + "mean risk %{x:.1~%}, observed frequency %{y:.1~%}<extra></extra>",
}
_AXES = {"confidence": ("Confidence", "Accuracy"), "event": ("Predicted risk", "Observed frequency")}


@draws(Movement)
def movement(
    diagram: Movement,
    *,
    titles: tuple[str, str] = ("before", "after"),
    looks: Mapping[str, int] | None = None,
    reach: Sequence[float] = (),
) -> go.Figure:
    """Draw accuracy against confidence before and after: marks of bins with 10 rows or more, arrows between them.

    For an event it is observed frequency against predicted risk, on the range of the data.

    ``titles`` of the model and of the recalibrated model; ``looks`` are the numbers of all models shown, so both
    keep their colors and symbols. With animation the second model's marks move from those of the first. The axes
    also contain ``reach``, for marks that move.

    >>> import calib_core as cc
    >>> base = cc.Predictions.from_confidence([0.9] * 40, [True] * 20 + [False] * 20)
    >>> better = cc.Predictions.from_confidence([0.85] * 40, [True] * 20 + [False] * 20)
    >>> [trace.uid for trace in movement(cc.diagrams.movement(base, better, 5)).data]
    [None, 'arrows', 'before', 'after']
    """
    place = numbers(titles, looks)
    parts = {"before": diagram.before, MARKS: diagram.after}
    drawn = [
        _marks(uid, place[title], title, part, diagram.notion)
        for (uid, part), title in zip(parts.items(), titles, strict=True)
    ]
    of_event = diagram.notion == "event"
    ends = [end for trace in drawn for end in (*trace.x, *trace.y) if end == end] + list(reach)
    low, high = (0.0, _most(ends)) if of_event else (_least(ends), 1.0)
    figure = go.Figure([diagonal(low, high), _arrows(diagram), *drawn])
    axis = _axis(low, high)
    columns = [
        {
            "axis": "x",
            "low": line["lower"],
            "high": line["upper"],
            "record": {"bin": line["bin"]},
            "says": f"{between(line['lower'], line['upper'])}: {line['count']:,.0f} rows, after recalibration "
            f"{_AXES[diagram.notion][0].lower()} {short_percent(line['confidence'], 0)}, "
            f"{_AXES[diagram.notion][1].lower()} {short_percent(line['accuracy'], 0)}",
        }
        for line in diagram.after.frame().to_dict("records")
    ]
    return finished(
        figure,
        xaxis={"title": _AXES[diagram.notion][0], **axis},
        yaxis={"title": _AXES[diagram.notion][1], **axis},
        legend={
            "x": 0,
            "y": 1.01,
            "xanchor": "left",
            "yanchor": "bottom",
            "yref": "paper",
            "orientation": "h",
            "bgcolor": "rgba(0,0,0,0)",
        },
        # Plotly hides a label that would extend past the edge.
        margin={"l": 56, "r": 20, "t": 34, "b": 40},
        uirevision="movement",
        meta={"columns": columns},
        height=400,
    )


def _marks(uid: str, i: int, title: str, diagram: ReliabilityDiagram, notion: str) -> go.Scatter:
    """Marks of a model's bins with enough rows; if fewer than two have enough, all bins, the others hollow."""
    frame, look = diagram.frame(), style(i)
    enough = frame["count"].to_numpy() >= FEW_ROWS
    places = with_gaps(enough)
    if enough.sum() >= 2:
        places = places[(places < 0) | enough[places]]
    return go.Scatter(
        x=taken(frame["confidence"], places),
        y=taken(frame["accuracy"], places),
        uid=uid,
        mode="lines+markers",
        name=plain(title),
        line={"color": look.colour, "dash": look.dash, "width": 2},
        marker={
            "symbol": symbols(look, frame["count"])[places].tolist(),
            "size": 12,
            "opacity": 1,
            "color": look.colour,
            "line": {"width": 1, "color": look.colour},
        },
        meta={"title": plain(title), **({} if uid == "before" else {"from": "before"})},
        customdata=taken_from(records(frame[["bin", "count", "confidence", "accuracy"]], model=title), places),
        hovertemplate=_HOVERS[notion],
    )


def _arrows(diagram: Movement) -> go.Scatter:
    """Arrows from every mark almost to its counterpart; none if a mark hardly moves."""
    steps = diagram.steps(FEW_ROWS)
    shortest = SHORTEST * (_most([*steps["confidence"], *steps["accuracy"]]) if diagram.notion == "event" else 1.0)
    right, up = (steps[f"{name}_after"] - steps[name] for name in ("confidence", "accuracy"))
    steps = steps[np.hypot(right, up) >= shortest]
    gap = np.full(len(steps), np.nan)
    x, y = (np.column_stack([steps[name], steps[f"{name}_after"], gap]).ravel() for name in ("confidence", "accuracy"))
    bins: list[dict[str, int] | None] = [None] * len(x)
    bins[::3] = [{"bin": int(b)} for b in steps["bin"]]
    return go.Scatter(
        x=x,
        y=y,
        uid=ARROWS,
        mode="lines+markers",
        line={"color": REFERENCE, "width": 1.3, "backoff": 8},
        marker={
            "symbol": "arrow",
            "angleref": "previous",
            "size": np.tile([0.0, 10.0, 0.0], len(steps)).tolist(),
            "standoff": 8,
            "opacity": 1,
            "color": REFERENCE,
            "line": {"width": 0},
        },
        customdata=bins,
        hoverinfo="skip",
        showlegend=False,
    )


def _axis(low: float, high: float) -> dict[str, Any]:
    """Range and ticks of both axes."""
    step = 0.2 if low < 0.6 else 0.1
    if high < 1:
        step = next(each for each in (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002) if high / each >= 3)
    ticks = [round(i * step, 6) for i in range(math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6) + 1)]
    room = 0.02 * (high if high < 1 else 1.0)
    return {"range": [low - room, high + room], **percent_ticks(ticks)}


def _most(values: Sequence[float]) -> float:
    """End of both axes of a risk: a round share above every mark."""
    top = max(values, default=1.0)
    return next((end for end in _ENDS if end >= top), 1.0)


def _least(values: Sequence[float]) -> float:
    """Start of both axes: a whole tenth at or below every mark, at most .9."""
    return min(0.9, float(np.floor(10 * min(values, default=0.0) + 1e-9)) / 10)
