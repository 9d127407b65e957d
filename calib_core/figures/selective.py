"""The risk-coverage curve: how often a model is wrong among the rows it is surest of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.selective import RiskCoverage
from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import numbered, records
from calib_core.figures.probability_axis import percent_ticks
from calib_core.figures.shown import draws
from calib_core.text import plain

_TICKS = (0, 0.2, 0.4, 0.6, 0.8, 1)
_FEW = 30
"""Points that are marked at most; of more the line alone is drawn."""
_HOVER = (
    "%{meta}<br>surest %{x:.1~%} of rows (confidence %{customdata.threshold:.2~%} or more): %{y:.1~%} wrong "
    "(%{customdata.low:.1~%} to %{customdata.high:.1~%})<extra></extra>"
)


@draws(RiskCoverage)
def selective(
    diagrams: RiskCoverage | Mapping[str, RiskCoverage],
    *,
    coverage: float | None = None,
    looks: Mapping[str, int] | None = None,
) -> go.Figure:
    """A curve per model with its interval point by point; a faint line at its share of wrong rows over all.

    A line that stays on the faint one would say that confidence tells nothing. ``coverage`` is marked where it is
    given. A model keeps its look, that of its number in ``looks``.
    """
    models = numbered(diagrams, looks)
    figure = go.Figure([trace for number, title, each in models for trace in _curve(number, title, each)])
    if coverage is not None:
        figure.add_vline(x=coverage, line={"color": REFERENCE, "dash": "dot", "width": 1.5})
    return finished(
        figure,
        xaxis={"title": "share of rows answered, the surest first", "range": [0, 1.01], **percent_ticks(_TICKS)},
        yaxis={"title": "share of them that is wrong", "rangemode": "tozero", "tickformat": ".0%"},
        uirevision="selective",
        margin={"r": 34},
        height=420,
    )


def _curve(number: int, title: str, diagram: RiskCoverage) -> list[go.Scatter]:
    frame, look = diagram.frame(), style(number)
    group = {"legendgroup": f"m{number}", "showlegend": False, "hoverinfo": "skip"}
    band = go.Scatter(
        x=np.concatenate([frame["coverage"], frame["coverage"][::-1]]),
        y=np.concatenate([frame["low"], frame["high"][::-1]]),
        fill="toself",
        line={"width": 0, "color": look.colour},
        mode="lines",
        opacity=0.18,
        **group,
    )
    level = go.Scatter(
        x=[0, 1],
        y=[diagram.risk[-1]] * 2,
        mode="lines",
        line={"color": look.colour, "width": 1, "dash": "dot"},
        opacity=0.6,
        **group,
    )
    line = go.Scatter(
        x=frame["coverage"],
        y=frame["risk"],
        mode="lines+markers" if len(frame) <= _FEW else "lines",
        line={"color": look.colour, "dash": look.dash, "width": 2},
        marker={"symbol": look.symbol, "size": 9, "color": look.colour},
        name=plain(title),
        meta=plain(title),
        legendgroup=f"m{number}",
        showlegend=True,
        customdata=records(frame, model=title),
        hovertemplate=_HOVER,
    )
    return [band, level, line]
