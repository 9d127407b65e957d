"""Attained against wanted rate of a calibrator that abstains (Ma and Blaschko 2021, Fig. 1 and 2)."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.constraints import ConstraintDiagram
from calib_core.figures.look import finished, style
from calib_core.figures.marks import diagonal, records
from calib_core.figures.shown import draws

_HOVER = (
    "wanted %{x:.2~%}<br>attained %{y:.2~%} on average<br>kept in %{customdata.kept:.0%} of the splits<br>"
    "%{customdata.coverage:.1~%} of rows answered<br>%{customdata.refused} splits refused<extra></extra>"
)


@draws(ConstraintDiagram)
def constraint(diagram: ConstraintDiagram) -> go.Figure:
    """Mean attained rate with two standard deviations over splits, beside the line where it equals the wanted one."""
    known = ~np.isnan(diagram.attained)
    low, high = float(diagram.wanted.min()), float(diagram.wanted.max())
    figure = go.Figure(diagonal(low, high))
    figure.add_trace(
        go.Scatter(
            x=diagram.wanted[known],
            y=diagram.attained[known],
            error_y={"type": "data", "array": 2 * np.nan_to_num(diagram.deviation[known]), "thickness": 1.5},
            mode="markers",
            name=f"attained {diagram.rate}",
            marker={"color": style(1).colour, "symbol": style(1).symbol, "size": 9},
            customdata=records(diagram.frame()[["wanted", "kept", "coverage", "refused"]][known]),
            hovertemplate=_HOVER,
        )
    )
    return finished(
        figure,
        xaxis={"title": f"wanted {diagram.rate}", "tickformat": "~%"},
        yaxis={"title": f"attained {diagram.rate}, mean ± 2 sd over splits", "tickformat": "~%"},
        showlegend=False,
        uirevision=f"constraint {diagram.rate}",
        height=400,
    )
