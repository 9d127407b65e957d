"""Error against the number of bins, with what noise alone would show, and against the temperature."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from calib_core._text import plain
from calib_core.diagrams import ErrorSweep, TemperaturePath
from calib_core.figures.look import finished, style
from calib_core.figures.marks import numbers
from calib_core.figures.shown import draws

_DASH = {0: "dash", 1: "solid"}


@draws(ErrorSweep)
def error_sweep(sweep: ErrorSweep, *, looks: Mapping[str, int] | None = None) -> go.Figure:
    """A line per model and notion; a grey band a notion is what noise alone shows, for the first model.

    Every point tells the floor of its own model; a model keeps its look, that of its number in ``looks``.
    """
    figure = go.Figure()
    places = numbers(sweep.models, looks)
    notions = list(dict.fromkeys(sweep.notions))
    floors = not np.isnan(sweep.floor[0]).all()
    if floors:
        figure.add_traces([_floor(sweep, line) for line in range(len(notions))])
    for line, (model, notion) in enumerate(zip(sweep.models, sweep.notions, strict=True)):
        look = style(places[model])
        figure.add_trace(
            go.Scatter(
                x=sweep.bins,
                y=sweep.value[line],
                mode="lines+markers",
                name=f"{plain(model)}, {plain(notion)}",
                line={"color": look.colour, "dash": _DASH.get(notions.index(notion), "dot"), "width": 2},
                marker={"symbol": look.symbol, "size": 6},
                customdata=sweep.floor[line],
                hovertemplate="%{x} bins: %{y:.2~%}"
                + (", its noise floor %{customdata:.2~%}" if floors else "")
                + "<extra></extra>",
            )
        )
    return finished(
        figure,
        xaxis={"title": "number of equal-width bins"},
        yaxis={"title": "calibration error", "rangemode": "tozero", "tickformat": "~%"},
        uirevision="sweep",
        height=440,
    )


def _floor(sweep: ErrorSweep, line: int) -> go.Scatter:
    """What noise alone shows of one of the first model's lines."""
    return go.Scatter(
        x=sweep.bins,
        y=sweep.floor[line],
        fill="tozeroy",
        mode="lines",
        line={"color": "rgba(128, 128, 128, 0.6)", "dash": _DASH.get(line, "dot"), "width": 1},
        fillcolor="rgba(128, 128, 128, 0.2)",
        name=f"95 % of calibrated models, {plain(sweep.notions[line])}",
        hovertemplate="noise floor %{y:.2~%}<extra></extra>",
    )


@draws(TemperaturePath)
def temperature_path(path: TemperaturePath) -> go.Figure:
    """The calibration error at every temperature; at T = 1 the model is as it is."""
    figure = go.Figure(
        go.Scatter(
            x=path.temperatures,
            y=path.error,
            mode="lines",
            line={"color": style(0).colour, "width": 2},
            hovertemplate="temperature %{x:.3g}: %{y:.4f}<extra></extra>",
            showlegend=False,
        )
    )
    return finished(
        figure,
        xaxis={"title": "temperature", "type": "log", "tickvals": [0.25, 0.5, 1, 2, 4, 8]},
        yaxis={"title": "ECE", "rangemode": "tozero"},
        uirevision="temperature",
        height=320,
    )
