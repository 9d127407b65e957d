"""The class-wise zoom of one bin (P1 Fig. 1b): a point per class, the bin's star, rows per class."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from calib_core._text import plain
from calib_core.diagrams import BinZoom
from calib_core.figures.look import DIVERGING, REFERENCE, finished
from calib_core.figures.marks import FEW_ROWS, diagonal, records
from calib_core.figures.shown import draws

BARS = 20
"""The histogram shows the classes with most rows; the frame below it lists all."""
_LABELLED = 12
_HOVER = (
    "predicted %{hovertext}<br>%{customdata.count:,.6~g} rows in this bin<br>"
    "mean confidence %{customdata.confidence:.4f}<br>"
    "accuracy %{customdata.accuracy:.4f}<br>off by %{customdata.gap:+.4f}<extra></extra>"
)


@draws(BinZoom)
def zoom(diagram: BinZoom) -> go.Figure:
    """Classes at (mean confidence, accuracy) in the bin, coloured by how far they are off, beside their row counts."""
    figure = make_subplots(
        cols=2, column_widths=[0.62, 0.38], horizontal_spacing=0.16, subplot_titles=("class by class", "rows per class")
    )
    figure.add_trace(diagonal(*_span(diagram)), row=1, col=1)
    figure.add_trace(_classes(diagram), row=1, col=1)
    figure.add_trace(_star(diagram), row=1, col=1)
    figure.add_trace(_histogram(diagram), row=1, col=2)
    figure.update_xaxes(title="mean confidence", range=list(_span(diagram)), row=1, col=1)
    figure.update_yaxes(title="accuracy", range=[-0.04, 1.04], row=1, col=1)
    figure.update_xaxes(title="rows", row=1, col=2)
    figure.update_yaxes(autorange="reversed", type="category", row=1, col=2)
    return finished(figure, height=440, uirevision=f"zoom {diagram.label}", showlegend=False, margin={"t": 40})


def _span(diagram: BinZoom) -> tuple[float, float]:
    """A little more than the confidences shown."""
    low, high = float(diagram.confidence.min()), float(diagram.confidence.max())
    room = max(0.15 * (high - low), 0.005)
    return low - room, high + room


def _classes(diagram: BinZoom) -> go.Scatter:
    labelled = set(_heaviest(diagram)[:_LABELLED].tolist())
    return go.Scatter(
        x=diagram.confidence,
        y=diagram.accuracy,
        mode="markers+text",
        name="classes",
        text=[plain(name[:18]) if j in labelled else "" for j, name in enumerate(diagram.names)],
        textposition="top center",
        textfont={"size": 11},
        marker={
            "size": np.sqrt(diagram.count),
            "sizemode": "diameter",
            "sizeref": float(np.sqrt(diagram.count.max())) / 26,
            "sizemin": 6,
            "color": diagram.gap,
            "colorscale": [list(stop) for stop in DIVERGING],
            "cmin": -0.5,
            "cmax": 0.5,
            "symbol": np.where(diagram.count < FEW_ROWS, "circle-open-dot", "circle").tolist(),
            "line": {"width": 1.5, "color": REFERENCE},
        },
        hovertext=[plain(name) for name in diagram.names],
        customdata=_records(diagram),
        hovertemplate=_HOVER,
    )


def _star(diagram: BinZoom) -> go.Scatter:
    return go.Scatter(
        x=[diagram.star[0]],
        y=[diagram.star[1]],
        mode="markers",
        name="all classes",
        marker={"symbol": "star", "size": 18, "color": "#E69F00", "line": {"width": 1, "color": REFERENCE}},
        hovertemplate="all classes together<br>mean confidence %{x:.4f}<br>accuracy %{y:.4f}<extra></extra>",
    )


def _histogram(diagram: BinZoom) -> go.Bar:
    first, marks = _heaviest(diagram)[:BARS], _records(diagram)
    return go.Bar(
        x=diagram.count[first],
        y=[plain(diagram.names[j][:24]) for j in first],
        orientation="h",
        name="rows",
        marker={
            "color": diagram.gap[first],
            "colorscale": [list(stop) for stop in DIVERGING],
            "cmin": -0.5,
            "cmax": 0.5,
            "line": {"width": 1, "color": REFERENCE},
        },
        hovertext=[plain(diagram.names[j]) for j in first],
        customdata=[marks[j] for j in first],
        hovertemplate=_HOVER,
    )


def _heaviest(diagram: BinZoom) -> NDArray[np.intp]:
    """Positions of the classes by falling number of rows."""
    return np.argsort(-diagram.count, kind="stable")


def _records(diagram: BinZoom) -> list[dict[str, object]]:
    return records(diagram.frame().assign(**{"class": diagram.classes}))
