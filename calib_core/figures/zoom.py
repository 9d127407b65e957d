"""Figures of one bin by class (P1 Fig. 1b) and by model, and of one predicted class by bin."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from calib_core.diagrams.one_class import ClassBins
from calib_core.diagrams.reliability import FEW_ROWS
from calib_core.diagrams.zoom import BinZoom
from calib_core.figures.look import DIVERGING, REFERENCE, finished, style
from calib_core.figures.marks import diagonal, numbered, numbers, records, symbol, symbols
from calib_core.figures.probability_axis import percent_ticks
from calib_core.figures.shown import draws
from calib_core.text import between, count, in_percent, percent, plain, share_range

BARS = 20
"""Number of classes in the histogram, those with most rows; the table lists all."""
LINES = 12
"""Maximum number of classes with a line."""
_LABELLED = 12
_HOVER = (
    "predicted %{hovertext}<br>%{customdata.count:,.6~g} rows in this bin<br>"
    "confidence %{customdata.confidence:.1~%}, accuracy %{customdata.accuracy:.1~%} "
    "(%{customdata.right_low:.0%} to %{customdata.right_high:.0%})<extra></extra>"
)


@draws(BinZoom)
def zoom(diagram: BinZoom) -> go.Figure:
    """Draw classes at (mean confidence, accuracy) in the bin, colored by their error, and their numbers of rows."""
    figure = make_subplots(
        cols=2, column_widths=[0.62, 0.38], horizontal_spacing=0.16, subplot_titles=("by class", "rows per class")
    )
    figure.add_trace(diagonal(*_span(diagram)), row=1, col=1)
    figure.add_trace(_classes(diagram), row=1, col=1)
    figure.add_trace(_star(diagram), row=1, col=1)
    figure.add_trace(_histogram(diagram), row=1, col=2)
    figure.update_xaxes(title="mean confidence", range=list(_span(diagram)), tickformat="~%", row=1, col=1)
    figure.update_yaxes(title="accuracy", range=[-0.04, 1.04], **percent_ticks([0, 0.25, 0.5, 0.75, 1]), row=1, col=1)
    figure.update_xaxes(title="rows", row=1, col=2)
    figure.update_yaxes(autorange="reversed", type="category", row=1, col=2)
    return finished(figure, height=440, uirevision=f"zoom {diagram.label}", showlegend=False, margin={"t": 40})


def _span(diagram: BinZoom) -> tuple[float, float]:
    """Range slightly wider than the confidences shown."""
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
        hovertemplate="all classes<br>confidence %{x:.1~%}, accuracy %{y:.1~%}<extra></extra>",
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
    """Positions of the classes by descending number of rows."""
    return np.argsort(-diagram.count, kind="stable")


def _records(diagram: BinZoom) -> list[dict[str, object]]:
    return records(diagram.frame().drop(columns="class").assign(code=diagram.classes))


def zoom_lines(diagram: BinZoom, *, look: int = 0, most: int = LINES) -> go.Figure:
    """Draw a line per class: rows, accuracy with its interval, and a tick at the mean confidence.

    Filled dots are significant, hollow ones are not; it draws the ``most`` classes furthest beyond noise. ``look`` is
    the model's style.
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
        height=50 + 17 * n,
        xaxis={"range": [-0.02, 1.02], **percent_ticks([0, 0.5, 1]), "zeroline": False},
        yaxis={"tickvals": places, "ticktext": words, "range": [n - 0.4, -0.6], "showgrid": False, "zeroline": False},
        margin={"t": 6, "b": 26, "l": 10, "r": 14},
        font={"size": 13},
        uirevision=f"lines {diagram.label}",
        meta={"columns": columns},
    )


def _line(diagram: BinZoom, i: int) -> str:
    return (
        f"{diagram.names[i]}: {diagram.count[i]:,.6g} rows, confidence {100 * diagram.confidence[i]:.3g} percent, "
        f"accuracy {100 * diagram.accuracy[i]:.3g} percent"
    )


_LINE_OF_MODELS, _BELOW = 46, 28
"""Pixels of a model, with its text above its interval, and of the numbers of the axis."""
_UP, _LONGEST = 17, 24
"""Pixels of a name above its line, and its maximum letters."""
_HOVER_OF_MODELS = "%{hovertext}<extra></extra>"


def models_in_range(table: pd.DataFrame, *, looks: Mapping[str, int] | None = None) -> go.Figure:
    """Draw a table of `diagrams.models_in_range`: accuracy with its interval and a tick at the mean confidence.

    Hollow marks have fewer than 10 rows; without rows there is no mark. A model keeps its style, by its number in
    ``looks``.
    """
    lines, found = table.to_dict("records"), numbers(table["model"], looks)
    figure = go.Figure()
    for i, line in enumerate(lines):
        if line["rows"]:
            figure.add_traces(_marks(line, i, found[str(line["model"])]))
    ticks = _ticks(table)
    low, high = ticks[0], ticks[-1]
    return finished(
        figure,
        height=_LINE_OF_MODELS * len(lines) + _BELOW,
        margin={"l": 10, "r": 14, "t": 2, "b": _BELOW},
        showlegend=False,
        xaxis={
            "range": [low - 0.02 * (high - low), high + 0.02 * (high - low)],
            **percent_ticks(ticks),
            "zeroline": False,
            "fixedrange": True,
        },
        yaxis={
            "range": [len(lines) - 0.6, -0.75],
            "showticklabels": False,
            "showgrid": False,
            "zeroline": False,
            "showline": False,
            "ticks": "",
            "fixedrange": True,
        },
        shapes=[
            symbol(style(found[str(line["model"])]), 2, _UP, 6, xref="paper", xanchor=0, yref="y", yanchor=i)
            for i, line in enumerate(lines)
        ],
        annotations=[words for i, line in enumerate(lines) for words in _words(line, i, found[str(line["model"])])],
        font={"size": 13},
        uirevision="models of a bin",
    )


def _marks(line: dict[Hashable, Any], i: int, look: int) -> list[go.Scatter]:
    """Interval with its point, and the tick at the mean confidence."""
    own, title = style(look), str(line["model"])
    says = f"{plain(title)}: confidence {in_percent(line['says'])}, accuracy {in_percent(line['right'])}"
    shared: dict[str, Any] = {
        "y": [i],
        "mode": "markers",
        "cliponaxis": False,
        "customdata": records(pd.DataFrame([{"model": title}])),
        "hovertext": [f"{says} ({share_range(line['right_low'], line['right_high'])}), {count(line['rows'])} rows"],
        "hovertemplate": _HOVER_OF_MODELS,
    }
    right = go.Scatter(
        x=[line["right"]],
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [line["right_high"] - line["right"]],
            "arrayminus": [line["right"] - line["right_low"]],
            "color": own.colour,
            "thickness": 2.2,
            "width": 0,
        },
        marker={
            "symbol": str(symbols(own, line["rows"])),
            "size": 13,
            "opacity": 1,
            "color": own.colour,
            "line": {"width": 1.5, "color": own.colour},
        },
        name=f"{plain(title)}: accuracy",
        **shared,
    )
    tick = {"symbol": "line-ns", "size": 11, "line": {"width": 2.5, "color": REFERENCE}}
    return [right, go.Scatter(x=[line["says"]], marker=tick, name=f"{plain(title)}: confidence", **shared)]


def _words(line: dict[Hashable, Any], i: int, look: int) -> list[dict[str, Any]]:
    """Model's name above its line, and its numbers at the right."""
    title = str(line["model"])
    name = plain(title if len(title) <= _LONGEST else f"{title[: _LONGEST - 1]}…")
    facts = "no rows here"
    if line["rows"]:
        ends = share_range(line["right_low"], line["right_high"]).removesuffix(" %")
        rows = f"{count(line['rows'])} row{'s' * (line['rows'] != 1)}"
        facts = f"<b>{in_percent(line['right'])}</b> ({ends}) · {rows}"
    shared = {"y": i, "yshift": _UP, "xref": "paper", "showarrow": False}
    return [
        {**shared, "x": 0, "xanchor": "left", "xshift": 10, "text": f"<b>{name}</b>"},
        {**shared, "x": 1, "xanchor": "right", "xshift": 8, "text": facts},
    ]


def _ticks(table: pd.DataFrame) -> list[float]:
    """Tenths or fifths around all marks; 0 to 1 without marks."""
    drawn = table[["says", "right_low", "right_high"]].to_numpy(dtype=np.float64)
    drawn = drawn[~np.isnan(drawn)]
    least, most = (float(drawn.min()), float(drawn.max())) if len(drawn) else (0.0, 1.0)
    step = 0.1 if most - least < 0.45 else 0.2
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return [round(step * i, 1) for i in range(first, max(last, first + 1) + 1)]


_LINE = 22
_HOVER_OF_CLASS = (
    "observed %{x:.1~%}, predicted %{customdata.says:.1~%}<br>%{customdata.count:,.6~g} rows<extra></extra>"
)


@draws(ClassBins)
def class_bins(
    diagram: ClassBins | Mapping[str, ClassBins],
    *,
    code: int | None = None,
    looks: Mapping[str, int] | None = None,
) -> go.Figure:
    """Draw a line per bin: observed frequency with its exact interval, and a tick at the mean prediction.

    For several models it draws the first. Marks of fewer than 10 rows are hollow; their records have the ``bin``, and
    the ``code`` of the class if given.
    """
    i, title, bins = numbered(diagram, looks)[0]
    look, places = style(i), np.arange(len(bins.count))
    class_of = {} if code is None else {"code": code}
    marks = records(bins.frame()[["bin", "count", "says"]], model=title, **class_of)
    hollow = symbols(look, bins.count).tolist()
    gaps = np.full(len(places), np.nan)
    intervals = np.column_stack([bins.low, bins.high, gaps]).ravel()
    lines = go.Scatter(
        x=intervals, y=np.repeat(places, 3), mode="lines", name="interval", line={"color": look.colour, "width": 2},
        hoverinfo="skip",
    )  # fmt: skip
    says = go.Scatter(
        x=bins.says, y=places, mode="markers", name="says", hoverinfo="skip", customdata=marks,
        marker={"symbol": "line-ns-open", "size": 14, "color": REFERENCE, "line": {"width": 3}},
    )  # fmt: skip
    right = go.Scatter(
        x=bins.right, y=places, mode="markers", name="right", customdata=marks, hovertemplate=_HOVER_OF_CLASS,
        cliponaxis=False,
        marker={"symbol": hollow, "size": 11, "color": look.colour, "opacity": 1},
    )  # fmt: skip
    columns = [
        {
            "axis": "y",
            "low": j - 0.5,
            "high": j + 0.5,
            "record": class_of | {"bin": b},
            "says": _words_of_class(bins, j),
        }
        for j, b in enumerate(bins.bins.tolist())
    ]
    return finished(
        go.Figure([lines, says, right]),
        height=34 + _LINE * len(places),
        margin={"l": 8, "r": 44, "t": 6, "b": 26},
        showlegend=False,
        xaxis={"range": [-0.02, 1.02], **percent_ticks([0, 0.5, 1]), "tickfont": {"size": 12}},
        yaxis={
            "tickvals": places.tolist(),
            "ticktext": [between(low, high) for low, high in zip(bins.lower, bins.upper, strict=True)],
            "range": [-0.5, len(places) - 0.5],
            "showgrid": False,
            "ticks": "",
            "tickfont": {"size": 12},
        },
        annotations=[_rows(bins, j) for j in places.tolist()],
        meta={"columns": columns},
        uirevision=f"class bins {plain(bins.name)}",
    )


def _rows(bins: ClassBins, j: int) -> dict[str, object]:
    return {
        "x": 1,
        "y": j,
        "xref": "paper",
        "xshift": 42,
        "text": count(round(bins.count[j])),
        "xanchor": "right",
        "showarrow": False,
        "font": {"size": 12},
    }


def _words_of_class(bins: ClassBins, j: int) -> str:
    place = between(bins.lower[j], bins.upper[j])
    says, right = percent(bins.says[j]), percent(bins.right[j])
    return f"{place}: {count(round(bins.count[j]))} rows, predicted {says}, observed {right}"
