"""The class-wise zoom of one bin (P1 Fig. 1b): a point per class, the bin's star, rows per class."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from calib_core.diagrams.zoom import BinZoom
from calib_core.figures.look import DIVERGING, REFERENCE, finished
from calib_core.figures.marks import FEW_ROWS, diagonal, records
from calib_core.figures.probability_axis import percent_ticks
from calib_core.figures.shown import draws
from calib_core.palette import style
from calib_core.text import plain

BARS = 20
"""The histogram shows the classes with most rows; the frame below it lists all."""
LINES = 12
"""Classes that get a line of their own."""
_LABELLED = 12
_HOVER = (
    "predicted %{hovertext}<br>%{customdata.count:,.6~g} rows in this bin<br>"
    "says %{customdata.confidence:.1~%}, right %{customdata.accuracy:.1~%} "
    "(%{customdata.right_low:.0%} to %{customdata.right_high:.0%})<extra></extra>"
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
        hovertemplate="all classes together<br>says %{x:.1~%}, right %{y:.1~%}<extra></extra>",
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
    return records(diagram.frame().drop(columns="class").assign(code=diagram.classes))


def zoom_lines(diagram: BinZoom, *, look: int = 0, most: int = LINES) -> go.Figure:
    """A line for each class: rows, the share that is right with its interval, and a tick at what is said of it.

    Filled dots stand out, hollow ones do not; the ``most`` furthest beyond noise are drawn. ``look`` is the model's.
    """
    n = min(most, len(diagram.names))
    places, colour = list(range(n)), style(look).colour
    right, says = diagram.accuracy[:n], diagram.confidence[:n]
    marks = _records(diagram)[:n]
    names = [plain(name) for name in diagram.names[:n]]
    shared = {"customdata": marks, "hovertext": names, "hovertemplate": _HOVER, "showlegend": False}
    dots = go.Scatter(
        x=right,
        y=places,
        error_x={
            "type": "data",
            "symmetric": False,
            "array": diagram.high[:n] - right,
            "arrayminus": right - diagram.low[:n],
            "color": colour,
            "thickness": 1.8,
            "width": 0,
        },
        mode="markers",
        marker={
            "size": 9,
            "opacity": 1,
            "symbol": np.where(diagram.stands_out[:n], "circle", "circle-open").tolist(),
            "color": colour,
            "line": {"width": 1.8, "color": colour},
        },
        name="right",
        uid="right",
        cliponaxis=False,
        **shared,
    )
    ticks = go.Scatter(
        x=says,
        y=places,
        mode="markers",
        marker={"symbol": "line-ns", "size": 12, "line": {"width": 2.5, "color": REFERENCE}},
        name="says",
        uid="says",
        cliponaxis=False,
        **shared,
    )
    columns = [
        {"axis": "y", "low": i - 0.5, "high": i + 0.5, "record": {"code": record["code"]}, "says": _line(diagram, i)}
        for i, record in enumerate(marks)
    ]
    longest = 18
    words = [
        f"{plain(name if len(name) <= longest else name[: longest - 1] + '…')} · {rows:,.6g}"
        for name, rows in zip(diagram.names[:n], diagram.count[:n], strict=True)
    ]
    return finished(
        go.Figure([dots, ticks]),
        height=56 + 22 * n,
        xaxis={"range": [-0.02, 1.02], **percent_ticks([0, 0.5, 1]), "zeroline": False},
        yaxis={"tickvals": places, "ticktext": words, "range": [n - 0.4, -0.6], "showgrid": False, "zeroline": False},
        margin={"t": 6, "b": 26, "l": 10, "r": 14},
        font={"size": 13},
        uirevision=f"lines {diagram.label}",
        meta={"columns": columns},
    )


def _line(diagram: BinZoom, i: int) -> str:
    return (
        f"{diagram.names[i]}: {diagram.count[i]:,.6g} rows, says {100 * diagram.confidence[i]:.3g} percent, right "
        f"{100 * diagram.accuracy[i]:.3g} percent"
    )
