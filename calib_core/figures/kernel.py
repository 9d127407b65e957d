"""The kernel reliability curve on its own: band, density and the local calibration error at one score (P5 Fig. 1)."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib_core._text import plain
from calib_core.diagrams import KernelCurve
from calib_core.figures.look import style
from calib_core.figures.marks import diagonal
from calib_core.figures.overlay import kernel_band

_TALLEST = 0.25
"""Height of the density's peak, so that it stays below the curve."""


def draw_kernel(curve: KernelCurve, at: float) -> go.Figure:
    """Curve and band over the diagonal, where the scores lie below, and the distance at score ``at``."""
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
    figure.add_traces(kernel_band(curve))
    there = curve.value(at)
    if np.isfinite(there):
        look = style(2)
        figure.add_trace(
            go.Scatter(
                x=[at, at],
                y=[at, there],
                mode="lines+markers",
                line={"color": look.colour, "width": 3},
                marker={"size": 9, "color": look.colour},
                name="local calibration error",
                hovertemplate="%{y:.4f} at %{x:.4f}<extra></extra>",
            )
        )
    return figure.update_layout(
        height=460,
        xaxis={"title": f"score of {plain(curve.stratum)}", "range": [-0.02, 1.02]},
        yaxis={"title": "share that comes true", "range": [-0.02, 1.02]},
        uirevision="kernel",
    )
