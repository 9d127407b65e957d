"""Before and after on one reliability diagram: both models' marks, an arrow from the one to the other in every bin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.movement import Movement
from calib_core.diagrams.reliability import ReliabilityDiagram
from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import FEW_ROWS, diagonal, numbers, records, symbols, taken, taken_from, with_gaps
from calib_core.figures.probability_axis import percent_ticks
from calib_core.figures.shown import draws
from calib_core.text import between, plain, short_percent

MARKS, ARROWS = "after", "arrows"
"""Names of the traces of the recalibrated model's marks, and of the arrows to them."""

SHORTEST = 0.03
"""Moves shorter than this have no arrow: its head would cover both marks."""

_HOVER = "%{meta.title}<br>%{customdata.count} rows<br>it says %{x:.1~%}, it is right %{y:.1~%}<extra></extra>"


@draws(Movement)
def movement(
    diagram: Movement, *, titles: tuple[str, str] = ("before", "after"), looks: Mapping[str, int] | None = None
) -> go.Figure:
    """What is said against what is right, before and after: marks of bins with 10 rows or more, arrows between them.

    ``titles`` of the model and of the recalibrated model; ``looks`` are the numbers of all models shown, so that both
    keep their colours and symbols. The marks of the second travel from those of the first where motion is shown.

    >>> import calib_core as cc
    >>> base = cc.Predictions.from_confidence([0.9] * 40, [True] * 20 + [False] * 20)
    >>> better = cc.Predictions.from_confidence([0.85] * 40, [True] * 20 + [False] * 20)
    >>> [trace.uid for trace in movement(cc.diagrams.movement(base, better, 5)).data]
    [None, 'arrows', 'before', 'after']
    """
    place = numbers(titles, looks)
    parts = {"before": diagram.before, MARKS: diagram.after}
    drawn = [_marks(uid, place[title], title, part) for (uid, part), title in zip(parts.items(), titles, strict=True)]
    low = _least([end for trace in drawn for end in (*trace.x, *trace.y) if end == end])
    figure = go.Figure([diagonal(low, 1.0), _arrows(diagram), *drawn])
    step = 2 if low < 0.6 else 1
    ticks = [tenth / 10 for tenth in range(10, round(10 * low) - 1, -step)]
    axis = {"range": [low - 0.02, 1.02], **percent_ticks(ticks[::-1])}
    columns = [
        {
            "axis": "x",
            "low": line["lower"],
            "high": line["upper"],
            "record": {"bin": line["bin"]},
            "says": f"{between(line['lower'], line['upper'])}: {line['count']:,.0f} rows after recalibration, "
            f"says {short_percent(line['confidence'], 0)}, right {short_percent(line['accuracy'], 0)}",
        }
        for line in diagram.after.frame().to_dict("records")
    ]
    return finished(
        figure,
        xaxis={"title": "It says", **axis},
        yaxis={"title": "It is right", **axis},
        legend={
            "x": 0,
            "y": 1.01,
            "xanchor": "left",
            "yanchor": "bottom",
            "yref": "paper",
            "orientation": "h",
            "bgcolor": "rgba(0,0,0,0)",
        },
        # Plotly hides a label that would reach past the edge.
        margin={"l": 56, "r": 20, "t": 34, "b": 40},
        uirevision="movement",
        meta={"columns": columns},
        height=400,
    )


def _marks(uid: str, i: int, title: str, diagram: ReliabilityDiagram) -> go.Scatter:
    """A model's marks, those of bins with enough rows; where fewer than two have enough all, the others hollow."""
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
        hovertemplate=_HOVER,
    )


def _arrows(diagram: Movement) -> go.Scatter:
    """An arrow from every mark to its counterpart, short of it; none where a mark hardly moves."""
    steps = diagram.steps(FEW_ROWS)
    right, up = (steps[f"{name}_after"] - steps[name] for name in ("confidence", "accuracy"))
    steps = steps[np.hypot(right, up) >= SHORTEST]
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


def _least(values: Sequence[float]) -> float:
    """Where both axes begin: a whole tenth at or below every mark, and .9 at most."""
    return min(0.9, float(np.floor(10 * min(values, default=0.0) + 1e-9)) / 10)
