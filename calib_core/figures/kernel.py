"""The kernel reliability curve on its own: band, density and the local calibration error (Posocco & Bonnefoy 2021)."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.curve import KernelCurve
from calib_core.figures.look import finished, style
from calib_core.figures.marks import diagonal
from calib_core.figures.overlay import kernel_traces
from calib_core.figures.shown import draws
from calib_core.text import plain

_TALLEST = 0.25
"""Height of the density's peak, so that it stays below the curve."""


@draws(KernelCurve)
def kernel_curve(curve: KernelCurve, *, score: float | None = None) -> go.Figure:
    """Curve and band over the diagonal, where the scores lie below, and how far off it is at one ``score``."""
    figure = go.Figure()
    peak = float(np.max(curve.density, initial=0.0)) or 1.0
    figure.add_trace(
        go.Scatter(
            x=curve.score,
            y=curve.density / peak * _TALLEST,
            fill="tozeroy",
            mode="lines",
            line={"width": 0},
            fillcolor="rgba(128, 128, 128, 0.35)",
            name=f"where the scores lie (density per {curve.unit})",
            customdata=curve.density,
            hovertemplate="density %{customdata:.3g}<extra></extra>",
        )
    )
    figure.add_trace(diagonal())
    figure.add_traces(kernel_traces(curve))
    if score is not None and np.isfinite(curve.value(score)):
        look = style(2)
        figure.add_trace(
            go.Scatter(
                x=[score, score],
                y=[score, curve.value(score)],
                mode="lines+markers",
                line={"color": look.colour, "width": 3},
                marker={"size": 9, "color": look.colour},
                name="local calibration error",
                hovertemplate="%{y:.1~%} at %{x:.1~%}<extra></extra>",
            )
        )
    return finished(
        figure,
        height=460,
        xaxis={"title": f"score of {plain(curve.stratum)}", "range": [-0.02, 1.02], "tickformat": "~%"},
        yaxis={"title": "share that comes true", "range": [-0.02, 1.02], "tickformat": "~%"},
        uirevision="kernel",
    )
