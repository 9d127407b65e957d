"""Error against the number of bins, and error against sharpness (P1 Fig. 2; P2 Fig. 3b)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib_core._text import plain
from calib_core.diagrams import ErrorSweep, TradeOff, ValidityPlot
from calib_core.figures.look import style

_DASH = {0: "dash", 1: "solid"}


def draw_sweep(sweep: ErrorSweep) -> go.Figure:
    """A line per model and notion; a grey band a notion is what noise alone shows, for the first model.

    Every point tells the floor of its own model.
    """
    figure = go.Figure()
    models = list(dict.fromkeys(sweep.models))
    notions = list(dict.fromkeys(sweep.notions))
    floors = not np.isnan(sweep.floor[0]).all()
    if floors:
        figure.add_traces([_floor(sweep, line) for line in range(len(notions))])
    for line, (model, notion) in enumerate(zip(sweep.models, sweep.notions, strict=True)):
        look = style(models.index(model))
        figure.add_trace(
            go.Scatter(
                x=sweep.bins,
                y=sweep.value[line],
                mode="lines+markers",
                name=f"{plain(model)}, {plain(notion)}",
                line={"color": look.colour, "dash": _DASH.get(notions.index(notion), "dot"), "width": 2},
                marker={"symbol": look.symbol, "size": 6},
                customdata=sweep.floor[line],
                hovertemplate="%{x} bins: %{y:.4f}"
                + (", its noise floor %{customdata:.4f}" if floors else "")
                + "<extra></extra>",
            )
        )
    return figure.update_layout(
        xaxis={"title": "number of equal-width bins"},
        yaxis={"title": "ECE", "rangemode": "tozero"},
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
        hovertemplate="noise floor %{y:.4f}<extra></extra>",
    )


def draw_trade(
    points: Sequence[tuple[str, float, float]], curves: TradeOff | None = None, claim: str = "top-label"
) -> go.Figure:
    """Mean squared error against calibration error: a point per model, a curve per calibrator over numbers of bins.

    ``points`` are (name, squared calibration error, mean squared error); ``claim`` names the claims both are about.
    """
    figure = go.Figure()
    for i, title in enumerate(() if curves is None else curves.titles):
        assert curves is not None
        look = style(len(points) + i)
        deviations = [curves.error_deviation[i], curves.mse_deviation[i]]
        figure.add_trace(
            go.Scatter(
                x=curves.error[i],
                y=curves.mse[i],
                mode="lines+markers",
                name=f"{plain(title)}, {curves.bins[0]} to {curves.bins[-1]} bins",
                line={"color": look.colour, "width": 2},
                marker={"size": 4 + 8 * np.sqrt(np.asarray(curves.bins) / curves.bins[-1]), "symbol": look.symbol},
                customdata=np.stack([np.asarray(curves.bins, dtype=float), *deviations], axis=1),
                hovertemplate="%{customdata[0]:.0f} bins: squared calibration error %{x:.5f} ± %{customdata[1]:.5f}"
                "<br>mean squared error %{y:.4f} ± %{customdata[2]:.4f}<extra></extra>",
            )
        )
    for i, (name, x, y) in enumerate(points):
        look = style(i)
        figure.add_trace(
            go.Scatter(
                x=[x],
                y=[y],
                mode="markers",
                name=plain(name),
                marker={"color": look.colour, "symbol": look.symbol, "size": 13},
                hovertemplate="squared calibration error %{x:.5f}<br>mean squared error %{y:.4f}<extra></extra>",
            )
        )
    return figure.update_layout(
        xaxis={"title": f"debiased squared calibration error, {plain(claim)}"},
        yaxis={"title": "mean squared error of the same claims"},
        uirevision="trade",
        height=400,
    )


def draw_validity(models: Sequence[tuple[str, ValidityPlot]]) -> go.Figure:
    """Share of rows whose claim is off by at most epsilon, a step line per model."""
    figure = go.Figure()
    for i, (name, plot) in enumerate(models):
        look = style(i)
        figure.add_trace(
            go.Scatter(
                x=np.append(0.0, plot.eps),
                y=np.append(0.0, plot.share),
                mode="lines",
                name=plain(name),
                line={"color": look.colour, "dash": look.dash, "width": 2, "shape": "hv"},
                hovertemplate="%{y:.1%} of rows are off by at most %{x:.4f}<extra></extra>",
            )
        )
    return figure.update_layout(
        xaxis={"title": "epsilon", "rangemode": "tozero"},
        yaxis={"title": "V(epsilon), share of rows", "range": [-0.02, 1.04]},
        uirevision="validity",
        height=400,
    )
