"""Stated confidences, each a point of its own: how often it is right, with its interval and its number of rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.levels import Levels
from calib_core.figures.look import finished, style
from calib_core.figures.marks import diagonal, entry, numbered, records, symbols
from calib_core.figures.probability_axis import ProbabilityAxis
from calib_core.figures.shown import draws
from calib_core.text import count, plain

_SMALLEST, _LARGEST = 7.0, 24.0
"""Pixels of a point of no rows, and of one that has all."""
_LABELLED = 30
"""Points that carry their number of rows at most."""
_PALE = 0.45
"""Opacity of a point that does not stand out."""
_HOVER = (
    "%{meta}<br>says %{customdata.confidence:.1~%}, right %{customdata.right:.1~%} "
    "(%{customdata.low:.1~%} to %{customdata.high:.1~%})<br>%{customdata.rows:,.4~r} rows<extra></extra>"
)


@draws(Levels)
def levels(diagrams: Levels | Mapping[str, Levels], *, looks: Mapping[str, int] | None = None) -> go.Figure:
    """A point per stated confidence of one model, or of several by title, over the line of perfect calibration.

    The larger a point the larger its share of rows, pale where the level does not stand out, hollow where it is of
    fewer than 10 rows; the number of rows stands beside the points of one model. Points of several models that state
    the same stand beside one another. A model keeps its look, that of its number in ``looks``.

    >>> import calib_core as cc
    >>> test = cc.Predictions.from_confidence([0.5, 0.5, 0.9], [True, False, True])
    >>> levels(cc.diagrams.levels(test)).data[1].text
    ('2', '1')
    """
    models = numbered(diagrams, looks)
    labelled = len(models) == 1 and len(models[0][2].confidence) <= _LABELLED
    axis = ProbabilityAxis("linear", 0.0, 1.0).layout()
    figure = go.Figure([diagonal(), *(_points(number, title, each, labelled) for number, title, each in models)])
    figure.add_traces([entry(title, number, showlegend=len(models) > 1) for number, title, _ in models])
    return finished(
        figure,
        xaxis={**axis, "title": "confidence: what the model says", "showgrid": False},
        yaxis={**axis, "title": "share that is right"},
        # Bars of one level would hide each other.
        scattermode="group",
        scattergap=0.6,
        uirevision="levels",
        margin={"r": 34},
        height=480,
    )


def _points(number: int, title: str, diagram: Levels, labelled: bool) -> go.Scatter:
    frame, look = diagram.frame(), style(number)
    return go.Scatter(
        x=frame["confidence"],
        y=frame["right"],
        mode="markers+text" if labelled else "markers",
        text=[count(round(n)) for n in frame["rows"]] if labelled else None,
        textposition="middle right",
        textfont={"size": 12},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": frame["high"] - frame["right"],
            "arrayminus": frame["right"] - frame["low"],
            "color": look.colour,
            "thickness": 1.8,
            "width": 3,
        },
        marker={
            "symbol": symbols(look, frame["rows"]).tolist(),
            "size": _SMALLEST + (_LARGEST - _SMALLEST) * np.sqrt(frame["share"]),
            "color": look.colour,
            "opacity": np.where(frame["stands_out"] != "", 1.0, _PALE).tolist(),
            "line": {"width": 1.2, "color": look.colour},
        },
        name=plain(title),
        meta=plain(title),
        legendgroup=f"m{number}",
        offsetgroup=str(number),
        showlegend=False,
        cliponaxis=False,
        customdata=records(frame.drop(columns=["share", "p", "p_holm"]), model=title),
        hovertemplate=_HOVER,
    )
