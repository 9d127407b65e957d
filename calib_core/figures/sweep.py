"""Figures of errors by number of bins, by temperature, and against sharpness (Kumar, Liang and Ma 2019)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib_core._base.errors import InputError
from calib_core.defaults import LEVEL
from calib_core.diagrams.error_by_bins import ErrorSweep
from calib_core.diagrams.recalibration import TemperaturePath
from calib_core.diagrams.trade import TradeOff, TradePoints
from calib_core.figures.look import REFERENCE, Style, finished, style
from calib_core.figures.marks import entry, numbers, records
from calib_core.figures.shown import draws
from calib_core.text import at_level, plain

_DASH = {0: "dash", 1: "solid"}


@draws(ErrorSweep)
def error_sweep(sweep: ErrorSweep, *, looks: Mapping[str, int] | None = None) -> go.Figure:
    """Draw one line per model and notion, with a gray band per notion for the first model's noise floor.

    The hover text of every point has the noise floor of its model. A model keeps its style, by its number in ``looks``.
    With intervals each line has a band in its color.
    """
    figure = go.Figure()
    places = numbers(sweep.models, looks)
    notions = list(dict.fromkeys(sweep.notions))
    floors = not np.isnan(sweep.floor[0]).all()
    digits, error = (".3~g", "squared error ") if sweep.squared else (".1~%", "")
    if floors:
        figure.add_traces([_floor(sweep, line, f"{error}%{{y:{digits}}}") for line in range(len(notions))])
    if sweep.ranged:
        figure.add_traces([_band(sweep, line, style(places[model])) for line, model in enumerate(sweep.models)])
    for line, (model, notion) in enumerate(zip(sweep.models, sweep.notions, strict=True)):
        look = style(places[model])
        beside, hover = sweep.floor[line], f"%{{x}} ({sweep.axis}): {error}%{{y:{digits}}}"
        if sweep.ranged:
            beside = np.column_stack([beside, sweep.low[line], sweep.high[line]])
            hover += f", interval %{{customdata[1]:{digits}}} to %{{customdata[2]:{digits}}}"
        if floors:
            hover += f", its noise floor %{{customdata{'[0]' if sweep.ranged else ''}:{digits}}}"
        figure.add_trace(
            go.Scatter(
                x=sweep.bins,
                y=sweep.value[line],
                mode="lines+markers",
                name=f"{plain(model)}, {plain(notion)}",
                line={"color": look.colour, "dash": _DASH.get(notions.index(notion), "dot"), "width": 2},
                marker={"symbol": look.symbol, "size": 6},
                customdata=beside,
                hovertemplate=f"{hover}<extra></extra>",
                legendgroup=f"m{places[model]}",
                showlegend=False,
            )
        )
    dash = "solid" if len(notions) > 1 else _DASH[0]
    figure.add_traces([entry(m, places[m]).update(line_dash=dash) for m in dict.fromkeys(sweep.models)])
    if len(notions) > 1:
        figure.add_traces([_of_notion(notion, _DASH.get(i, "dot")) for i, notion in enumerate(notions)])
    scale = {} if sweep.squared else {"tickformat": "~%"}
    return finished(
        figure,
        xaxis={"title": sweep.axis},
        yaxis={"title": sweep.title, "rangemode": "normal" if sweep.squared else "tozero", **scale},
        uirevision="sweep",
        height=440,
    )


def _of_notion(notion: str, dash: str) -> go.Scatter:
    """Legend entry of a notion, which is a dash in every color."""
    line = {"color": REFERENCE, "dash": dash, "width": 2}
    return go.Scatter(x=[None], y=[None], mode="lines", name=plain(notion), line=line, hoverinfo="skip")


def _floor(sweep: ErrorSweep, line: int, value: str) -> go.Scatter:
    """Noise level for one of the first model's lines."""
    return go.Scatter(
        x=sweep.bins,
        y=sweep.floor[line],
        fill="tozeroy",
        mode="lines",
        line={"color": "rgba(128, 128, 128, 0.6)", "dash": _DASH.get(line, "dot"), "width": 1},
        fillcolor="rgba(128, 128, 128, 0.2)",
        name=f"95 % of calibrated models, {plain(sweep.notions[line])}",
        hovertemplate=f"noise floor {value}<extra></extra>",
    )


def _band(sweep: ErrorSweep, line: int, look: Style) -> go.Scatter:
    """Band of the intervals of one line, from its upper ends back along its lower ones."""
    return go.Scatter(
        x=[*sweep.bins, *sweep.bins[::-1]],
        y=np.concatenate([sweep.high[line], sweep.low[line][::-1]]),
        fill="toself",
        mode="lines",
        line={"color": look.colour, "width": 0},
        fillcolor=look.colour,
        opacity=0.15,
        name=f"{plain(sweep.models[line])}, {plain(sweep.notions[line])}: {at_level(sweep.level)} interval",
        hoverinfo="skip",
        showlegend=False,
    )


@draws(TemperaturePath)
def temperature_path(path: TemperaturePath) -> go.Figure:
    """Draw the calibration error at every temperature; T = 1 is the original model."""
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


AGAINST = {
    "error": "squared calibration error",
    "upper": f"upper end of the {at_level(LEVEL)} interval of the squared calibration error",
    "plug_in": "plug-in bound of the squared calibration error",
}
"""Quantities on the axis of a trade-off figure, with their titles."""


@draws(TradePoints)
def trade_points(points: TradePoints) -> go.Figure:
    """Draw one point per model: mean squared error against calibration error."""
    return trade_off(points=points)


@draws(TradeOff)
def trade_off(
    curves: TradeOff | None = None,
    *,
    points: TradePoints | Mapping[str, tuple[float, float]] | None = None,
    claims: str = "",
    against: str = "error",
    looks: Mapping[str, int] | None = None,
) -> go.Figure:
    """Draw mean squared error against calibration error: a curve per calibrator by number of bins, a point per model.

    ``points`` are those of ``diagrams.trade_points``, or (squared calibration error, mean squared error) by the model's
    title; ``claims`` names the claims of all points. With ``against`` "upper" or "plug_in" the upper ends of the
    errors' intervals, or the plug-in bounds, replace the errors. A model keeps its style, by its number in
    ``looks``.
    """
    if against not in AGAINST:
        raise InputError(f"against is {against!r}; it must be one of {', '.join(AGAINST)}")
    shown = points.beside(against) if isinstance(points, TradePoints) else points or {}
    error = AGAINST[against]
    places = numbers(points.models if isinstance(points, TradePoints) else shown, looks)
    figure = go.Figure()
    if curves is not None:
        first = max(places.values(), default=-1) + 1
        figure.add_traces([_curve(curves, i, first + i, against) for i in range(len(curves.titles))])
    for title, (x, mse) in shown.items():
        look = style(places[title])
        figure.add_trace(
            go.Scatter(
                x=[x],
                y=[mse],
                mode="markers",
                name=plain(title),
                marker={"color": look.colour, "symbol": look.symbol, "size": 13},
                customdata=[{"model": title}],
                hovertemplate=f"{error} %{{x:.5f}}<br>mean squared error %{{y:.4f}}<extra></extra>",
            )
        )
    return finished(
        figure,
        xaxis={
            "title": ", ".join(filter(None, [f"debiased {error}" if against == "error" else error, plain(claims)])),
            "exponentformat": "power",
        },
        yaxis={"title": "mean squared error of the same claims", "exponentformat": "power"},
        uirevision="trade",
        height=400,
    )


def _curve(curves: TradeOff, i: int, number: int, against: str) -> go.Scatter:
    look = style(number)
    bins = np.asarray(curves.bins)
    columns = {"bins": bins, "error_deviation": curves.error_deviation[i], "mse_deviation": curves.mse_deviation[i]}
    spread = " ± %{customdata.error_deviation:.5f}" if against == "error" else ""
    return go.Scatter(
        x=getattr(curves, against)[i],
        y=curves.mse[i],
        mode="lines+markers",
        name=f"{plain(curves.titles[i])}, {bins[0]} to {bins[-1]} bins",
        line={"color": look.colour, "width": 2},
        marker={"size": 4 + 8 * np.sqrt(bins / bins[-1]), "symbol": look.symbol},
        customdata=records(pd.DataFrame(columns), calibrator=curves.keys[i]),
        hovertemplate=f"%{{customdata.bins}} bins: {AGAINST[against]} %{{x:.5f}}{spread}"
        "<br>mean squared error %{y:.4f} ± %{customdata.mse_deviation:.4f}<extra></extra>",
    )
