"""The reliability diagram of one or several models (P1 Fig. 1a)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib_core._text import plain
from calib_core.diagrams import ReliabilityDiagram
from calib_core.figures.look import style
from calib_core.figures.marks import FEW_ROWS, diagonal

Named = tuple[str, ReliabilityDiagram]

_HOVER = (
    "<b>%{customdata[7]}</b>, bin %{customdata[6]}<br>"
    "%{customdata[1]:,.6~g} rows, %{customdata[2]:.1%} of all<br>"
    "mean confidence %{customdata[3]:.4f}<br>"
    "accuracy %{customdata[4]:.4f}<br>"
    "class by class off by %{customdata[5]:.4f} on average"
    "<extra></extra>"
)


def draw_reliability(models: Sequence[Named], overlay: Sequence[go.Scatter] = ()) -> go.Figure:
    """Bars of row share, confidence stars and top-label plusses of each model, first the base model.

    ``overlay`` is drawn under the stars.
    Every mark of a bin carries (bin, count, share, confidence, accuracy, delta, interval, model, model index) as
    customdata: a click on it says which bin of which model is meant.
    """
    figure = go.Figure()
    for i, named in enumerate(models):
        figure.add_trace(_bars(i, len(models), *named))
    figure.add_trace(diagonal())
    figure.add_traces(list(overlay))
    for i, named in enumerate(models):
        figure.add_trace(_stars(i, *named))
    for i, named in enumerate(models):
        if not np.isnan(named[1].frame()["delta"]).all():
            figure.add_trace(_plusses(i, *named))
    for i, (name, _) in enumerate(models):
        figure.add_trace(_legend(i, name))
    return figure.update_layout(
        barmode="overlay",
        bargap=0,
        xaxis={
            "title": "confidence in the predicted class",
            "range": [-0.01, 1.01],
            "dtick": 0.1,
            "constrain": "domain",
        },
        yaxis={"title": "accuracy; share of rows (bars)", "range": [-0.02, 1.04], "dtick": 0.2},
        legend={"tracegroupgap": 0, "traceorder": "normal"},
        uirevision="reliability",
        height=560,
    )


def _bars(i: int, n: int, name: str, diagram: ReliabilityDiagram) -> go.Bar:
    """Row shares; with several models each bin's width is divided between them."""
    frame = diagram.frame()
    bin_width = (frame["upper"] - frame["lower"]).to_numpy()
    width = bin_width * 0.94
    left = frame["lower"].to_numpy() + bin_width * 0.03 + width * i / n
    return go.Bar(
        x=left + width / n / 2,
        y=frame["share"].to_numpy(),
        width=width / n,
        name=f"{plain(name)}: row share",
        legendgroup=f"m{i}",
        showlegend=False,
        marker={"color": style(i).colour, "opacity": 0.28},
        customdata=_customdata(i, name, diagram),
        hovertemplate=_HOVER,
    )


def _stars(i: int, name: str, diagram: ReliabilityDiagram) -> go.Scatter:
    frame, look = diagram.frame(), style(i)
    few = frame["count"].to_numpy() < FEW_ROWS
    return go.Scatter(
        x=frame["confidence"].to_numpy(),
        y=frame["accuracy"].to_numpy(),
        mode="lines+markers",
        name=plain(name),
        legendgroup=f"m{i}",
        showlegend=False,
        line={"color": look.colour, "dash": look.dash, "width": 1},
        marker={
            "symbol": np.where(few, "star-open", "star").tolist(),
            "size": 14,
            "color": look.colour,
            "line": {"width": 1, "color": look.colour},
        },
        customdata=_customdata(i, name, diagram),
        hovertemplate=_HOVER,
    )


def _legend(i: int, name: str) -> go.Scatter:
    """A model's entry in the legend; a mark of its own, since a trace's entry takes the look of its first bin."""
    look = style(i)
    return go.Scatter(
        x=[None],
        y=[None],
        mode="lines+markers",
        name=plain(name),
        legendgroup=f"m{i}",
        line={"color": look.colour, "dash": look.dash, "width": 1},
        marker={"symbol": "star", "size": 14, "color": look.colour},
    )


def _plusses(i: int, name: str, diagram: ReliabilityDiagram) -> go.Scatter:
    frame, look = diagram.frame(), style(i)
    return go.Scatter(
        x=frame["confidence"].to_numpy(),
        y=frame["top_label"].to_numpy(),
        mode="markers",
        name=f"{plain(name)}: top-label",
        legendgroup=f"m{i}",
        showlegend=False,
        marker={"symbol": "cross-thin", "size": 13, "line": {"color": look.colour, "width": 3}},
        customdata=_customdata(i, name, diagram),
        hovertemplate=_HOVER,
    )


def _customdata(i: int, name: str, diagram: ReliabilityDiagram) -> list[list[object]]:
    frame = diagram.frame()
    columns = ("bin", "count", "share", "confidence", "accuracy", "delta")
    return [
        [*row, diagram.label(int(row[0])), plain(name), i]
        for row in frame[list(columns)].astype(object).where(frame[list(columns)].notna(), None).to_numpy().tolist()
    ]
