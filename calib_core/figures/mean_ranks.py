"""Mean ranks of methods with the critical difference: methods whose lines do not overlap differ significantly."""

from __future__ import annotations

import plotly.graph_objects as go

from calib_core.arena.average_ranks import MeanRanks
from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import records
from calib_core.figures.shown import draws
from calib_core.text import at_level, count, plain, rounded

_LINE, _ABOVE, _BELOW = 24, 44, 52
"""Pixels of a line, above the first line and below the last."""


@draws(MeanRanks)
def mean_ranks(ranks: MeanRanks) -> go.Figure:
    """Draw the mean rank of every method, the best on top, with half of the critical difference to each side.

    Two methods whose lines overlap do not differ significantly.
    """
    lines, look = ranks.lines, style(0)
    titles = [plain(title) for title in lines["title"]]
    figure = go.Figure(
        go.Scatter(
            x=lines["rank"],
            y=list(range(len(lines))),
            error_x={
                "type": "data",
                "symmetric": False,
                "array": lines["high"] - lines["rank"],
                "arrayminus": lines["rank"] - lines["low"],
                "thickness": 2.5,
                "width": 5,
                "color": look.colour,
            },
            mode="markers",
            marker={"symbol": "circle", "size": 10, "color": look.colour, "opacity": 1},
            name="mean rank",
            customdata=records(lines),
            hovertext=titles,
            hovertemplate="<b>%{hovertext}</b><br>mean rank %{x:.2f}<extra></extra>",
        )
    )
    middle = (len(lines) + 1) / 2
    basis = f"{at_level(ranks.level)} level, {count(ranks.n_datasets)} data sets"
    words = f"Critical difference {rounded(ranks.critical_difference, 2)} ({basis})"
    return finished(
        figure,
        shapes=[
            {"type": "line", "x0": middle, "x1": middle, "y0": 0, "y1": 1, "yref": "paper", "layer": "below",
             "line": {"color": REFERENCE, "dash": "dash", "width": 1}},
        ],
        annotations=[
            {"x": 0, "xref": "paper", "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 6,
             "text": words, "showarrow": False},
        ],
        xaxis={"title": "mean rank by log loss (1 is best)", "zeroline": False, "fixedrange": True},
        yaxis={"range": [len(lines) - 0.5, -0.5], "tickvals": list(range(len(lines))), "ticktext": titles,
               "fixedrange": True, "showgrid": True, "zeroline": False},
        margin={"l": 8, "r": 16, "t": _ABOVE, "b": _BELOW},
        showlegend=False,
        uirevision="mean ranks",
        height=_LINE * len(lines) + _ABOVE + _BELOW,
    )  # fmt: skip
