"""The map of a binary calibrator, score in and score out, over the density of the scores."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.binary_map import BinaryMap
from calib_core.figures.look import finished, style
from calib_core.figures.marks import diagonal
from calib_core.figures.shown import draws


@draws(BinaryMap)
def binary_map(diagram: BinaryMap) -> go.Figure:
    """The map as a line over bars of the test rows' scores, its interval, and the diagonal that changes nothing."""
    figure = go.Figure()
    cells = len(diagram.density)
    figure.add_trace(
        go.Bar(
            x=(np.arange(cells) + 0.5) / cells,
            y=diagram.density,
            width=1 / cells,
            name="share of test rows",
            marker={"color": "#8C8C8C", "opacity": 0.45},
            hovertemplate="%{y:.1~%} of the test rows have a score near %{x:.0%}<extra></extra>",
        )
    )
    figure.add_trace(diagonal())
    if diagram.lower is not None and diagram.upper is not None:
        figure.add_trace(
            go.Scatter(
                x=np.append(diagram.score, diagram.score[::-1]),
                y=np.append(diagram.lower, diagram.upper[::-1]),
                fill="toself",
                line={"width": 0, "color": style(1).colour},
                mode="lines",
                opacity=0.3,
                name="interval",
                hoverinfo="skip",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=diagram.score,
            y=diagram.output,
            mode="lines",
            name="recalibrated score",
            line={"color": style(1).colour, "width": 2.5},
            hovertemplate="%{x:.1~%} becomes %{y:.1~%}<extra></extra>",
        )
    )
    return finished(
        figure,
        xaxis={"title": "score in", "range": [-0.01, 1.01]},
        yaxis={"title": "score out; share of rows (bars)", "range": [-0.02, 1.04]},
        uirevision="binary map",
        height=430,
    )
