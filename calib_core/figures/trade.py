"""Calibration error against sharpness: of models, and of calibrators over bins (Kumar, Liang & Ma 2019)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib_core._base.errors import InputError
from calib_core.defaults import LEVEL
from calib_core.diagrams.trade import TradeOff, TradePoints
from calib_core.figures.look import finished, style
from calib_core.figures.marks import numbers, records
from calib_core.figures.shown import draws
from calib_core.text import at_level, plain

AGAINST = {
    "error": "squared calibration error",
    "upper": f"upper end of the {at_level(LEVEL)} interval of the squared calibration error",
    "plug_in": "plug-in bound of the squared calibration error",
}
"""What mean squared errors can stand against, and what it is called."""


@draws(TradePoints)
def trade_points(points: TradePoints) -> go.Figure:
    """A point per model: mean squared error against calibration error."""
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
    """Mean squared error against calibration error: a curve per calibrator over numbers of bins, a point per model.

    ``points`` are those of ``diagrams.trade_points``, or (squared calibration error, mean squared error) by the model's
    title; ``claims`` names the claims that all are about. With ``against`` "upper" or "plug_in" the upper ends of the
    errors' intervals, or the plug-in bounds, take the errors' place. A model keeps its look, that of its number in
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
        xaxis={"title": ", ".join(filter(None, [f"debiased {error}" if against == "error" else error, plain(claims)]))},
        yaxis={"title": "mean squared error of the same claims"},
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
