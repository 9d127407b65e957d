"""Marks that several figures share."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from calib_core.figures.look import REFERENCE

FEW_ROWS = 10
"""Bins of fewer rows than this are drawn hollow: their place is mostly chance."""


def diagonal(low: float = 0.0, high: float = 1.0, **where: Any) -> go.Scatter:
    """The line of perfect calibration."""
    return go.Scatter(
        x=[low, high],
        y=[low, high],
        mode="lines",
        line={"color": REFERENCE, "dash": "dash", "width": 1.5},
        name="perfect calibration",
        hoverinfo="skip",
        showlegend=False,
        **where,
    )
