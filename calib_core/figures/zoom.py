"""The class-wise zoom of one bin (P1 Fig. 1b): a point per class, the bin's star, rows per class."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from calib_core._text import plain
from calib_core.diagrams import BinZoom
from calib_core.figures.look import DIVERGING, REFERENCE
from calib_core.figures.marks import FEW_ROWS, diagonal

BARS = 20
"""The histogram shows the classes with most rows; the frame below it lists all."""
_LABELLED = 12
_HOVER = (
    "predicted %{customdata[0]}<br>%{customdata[1]:,.6~g} rows in this bin<br>mean confidence %{customdata[2]:.4f}<br>"
    "accuracy %{customdata[3]:.4f}<br>off by %{customdata[4]:+.4f}<extra></extra>"
)


def draw_zoom(zoom: BinZoom) -> go.Figure:
    """Classes at (mean confidence, accuracy) in the bin, coloured by how far they are off, beside their row counts."""
    figure = make_subplots(
        cols=2, column_widths=[0.62, 0.38], horizontal_spacing=0.16, subplot_titles=("class by class", "rows per class")
    )
    figure.add_trace(diagonal(*_span(zoom)), row=1, col=1)
    figure.add_trace(_classes(zoom), row=1, col=1)
    figure.add_trace(_star(zoom), row=1, col=1)
    figure.add_trace(_histogram(zoom), row=1, col=2)
    figure.update_xaxes(title="mean confidence", range=list(_span(zoom)), row=1, col=1)
    figure.update_yaxes(title="accuracy", range=[-0.04, 1.04], row=1, col=1)
    figure.update_xaxes(title="rows", row=1, col=2)
    figure.update_yaxes(autorange="reversed", type="category", row=1, col=2)
    return figure.update_layout(height=440, uirevision=f"zoom {zoom.label}", showlegend=False, margin={"t": 40})


def _span(zoom: BinZoom) -> tuple[float, float]:
    """A little more than the confidences shown."""
    low, high = float(zoom.confidence.min()), float(zoom.confidence.max())
    room = max(0.15 * (high - low), 0.005)
    return low - room, high + room


def _classes(zoom: BinZoom) -> go.Scatter:
    labelled = set(_heaviest(zoom)[:_LABELLED].tolist())
    return go.Scatter(
        x=zoom.confidence,
        y=zoom.accuracy,
        mode="markers+text",
        name="classes",
        text=[plain(name[:18]) if j in labelled else "" for j, name in enumerate(zoom.names)],
        textposition="top center",
        textfont={"size": 11},
        marker={
            "size": np.sqrt(zoom.count),
            "sizemode": "diameter",
            "sizeref": float(np.sqrt(zoom.count.max())) / 26,
            "sizemin": 6,
            "color": zoom.gap,
            "colorscale": [list(stop) for stop in DIVERGING],
            "cmin": -0.5,
            "cmax": 0.5,
            "symbol": np.where(zoom.count < FEW_ROWS, "circle-open-dot", "circle").tolist(),
            "line": {"width": 1.5, "color": REFERENCE},
        },
        customdata=_customdata(zoom),
        hovertemplate=_HOVER,
    )


def _star(zoom: BinZoom) -> go.Scatter:
    return go.Scatter(
        x=[zoom.star[0]],
        y=[zoom.star[1]],
        mode="markers",
        name="all classes",
        marker={"symbol": "star", "size": 18, "color": "#E69F00", "line": {"width": 1, "color": REFERENCE}},
        hovertemplate="all classes together<br>mean confidence %{x:.4f}<br>accuracy %{y:.4f}<extra></extra>",
    )


def _histogram(zoom: BinZoom) -> go.Bar:
    first = _heaviest(zoom)[:BARS]
    return go.Bar(
        x=zoom.count[first],
        y=[plain(zoom.names[j][:24]) for j in first],
        orientation="h",
        name="rows",
        marker={
            "color": zoom.gap[first],
            "colorscale": [list(stop) for stop in DIVERGING],
            "cmin": -0.5,
            "cmax": 0.5,
            "line": {"width": 1, "color": REFERENCE},
        },
        customdata=[_customdata(zoom)[j] for j in first],
        hovertemplate=_HOVER,
    )


def _heaviest(zoom: BinZoom) -> NDArray[np.intp]:
    """Positions of the classes by falling number of rows."""
    return np.argsort(-zoom.count, kind="stable")


def _customdata(zoom: BinZoom) -> list[list[object]]:
    return [
        [plain(name), *values]
        for name, *values in zip(
            zoom.names,
            zoom.count.tolist(),
            zoom.confidence.tolist(),
            zoom.accuracy.tolist(),
            zoom.gap.tolist(),
            zoom.classes.tolist(),
            strict=True,
        )
    ]
