"""The decision curve: net benefit of acting on a class's probability, against the threshold."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib_core._base.arrays import Float64s
from calib_core.diagrams.decision_curve import DecisionCurve
from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import numbered, records
from calib_core.figures.probability_axis import percent_ticks
from calib_core.figures.shown import draws
from calib_core.text import between, plain, points, short_percent

ALL, NONE = "acting on all", "acting on none"
"""Names of what the model is compared with."""
_BELOW, _ROOM = 0.35, 1.1
"""How far below 0 and above the largest benefit the axis reaches, as shares of that benefit."""


@draws(DecisionCurve)
def decision_curve(
    diagrams: DecisionCurve | Mapping[str, DecisionCurve],
    *,
    threshold: float | None = None,
    looks: Mapping[str, int] | None = None,
) -> go.Figure:
    """A curve per model with its interval at each threshold, beside acting on all and on none.

    ``threshold`` is marked where it is given. What lies far below 0 is left out. A model keeps its look, that of its
    number in ``looks``.
    """
    models = numbered(diagrams, looks)
    top = max(1e-6, *(float(each.benefit.max()) for _, _, each in models), float(models[0][2].treat_all.max()))
    low, high = -_BELOW * top, _ROOM * top
    first = models[0][2]
    figure = go.Figure([_reference(first.threshold, _within(first.treat_all, low), ALL, "dash")])
    figure.add_trace(_reference(first.threshold, np.zeros(len(first.threshold)), NONE, "dot"))
    for number, title, each in models:
        figure.add_traces(_curve(number, title, each, low, high))
    if threshold is not None:
        figure.add_vline(x=threshold, line={"color": REFERENCE, "dash": "dot", "width": 1.5})
    return finished(
        figure,
        xaxis={
            "title": f"threshold: act where {plain(first.positive)} has more than this probability",
            "range": [0, 1],
            **percent_ticks((0, 0.2, 0.4, 0.6, 0.8, 1)),
        },
        yaxis={"title": "net benefit, share of rows", "range": [low, high], "tickformat": ".1~%"},
        margin={"r": 34},
        uirevision="decision curve",
        height=420,
    )


def _within(values: Float64s, low: float) -> Float64s:
    """The values that the axis shows."""
    return np.where(values >= low, values, np.nan)


def _reference(x: Float64s, y: Float64s, name: str, dash: str) -> go.Scatter:
    line = {"color": REFERENCE, "width": 1.5, "dash": dash}
    return go.Scatter(x=x, y=y, mode="lines", line=line, name=name, hoverinfo="skip")


def _curve(number: int, title: str, diagram: DecisionCurve, low: float, high: float) -> list[go.Scatter]:
    frame, look = diagram.frame(), style(number)
    group = {"legendgroup": f"m{number}"}
    band = go.Scatter(
        x=np.concatenate([frame["threshold"], frame["threshold"][::-1]]),
        y=np.clip(np.concatenate([frame["low"], frame["high"][::-1]]), low, high),
        fill="toself",
        mode="lines",
        line={"width": 0, "color": look.colour},
        opacity=0.15,
        showlegend=False,
        hoverinfo="skip",
        **group,
    )
    line = go.Scatter(
        x=frame["threshold"],
        y=_within(diagram.benefit, low),
        mode="lines",
        line={"color": look.colour, "dash": look.dash, "width": 2},
        name=plain(title),
        customdata=records(frame[["threshold", "acted", "benefit"]], model=title),
        hovertext=[f"{plain(title)}<br>{_words(line)}" for line in frame.to_dict("records")],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=True,
        **group,
    )
    return [band, line]


def _words(line: Mapping[Hashable, Any]) -> str:
    """What the pointer tells of a threshold."""
    ends = between(line["low"], line["high"])
    return (
        f"above {short_percent(line['threshold'])} acts on {short_percent(line['acted'])} of rows<br>"
        f"net benefit {short_percent(line['benefit'])} ({ends}), {points(line['over_all'])} over acting on all"
    )
