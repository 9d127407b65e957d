"""How far estimates lie from the truth, sample by sample: histograms as steps."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib_core.figures.look import finished, style
from calib_core.figures.marks import records
from calib_core.figures.shown import draws
from calib_core.lab.sample_distances import ErrorDistances
from calib_core.text import plain


@draws(ErrorDistances)
def error_distances(distances: ErrorDistances) -> go.Figure:
    """A line of steps for each estimator: in how many samples it was so far off; the truth lies on the left edge."""
    figure, form = go.Figure(), ".3~%" if distances.unit == "share" else ".3~g"
    of = "error" if distances.unit == "share" else "squared error"
    for number, (series, mine) in enumerate(distances.frame().groupby("series", sort=False)):
        look = style(number)
        figure.add_trace(
            go.Scatter(
                x=np.append(mine["low"], mine["high"].iloc[-1:]),
                y=np.append(mine["draws"], mine["draws"].iloc[-1:]),
                mode="lines",
                name=plain(str(series)),
                line={"color": look.colour, "dash": look.dash, "width": 2, "shape": "hv"},
                customdata=records(mine),
                hovertemplate=f"{plain(str(series))}<br>%{{customdata.low:{form}}} to %{{customdata.high:{form}}} off "
                f"the true {of}: %{{customdata.draws:,}} samples<extra></extra>",
            )
        )
    scale = {"tickformat": "~%"} if distances.unit == "share" else {}
    return finished(
        figure,
        xaxis={"title": f"how far an estimate lies from the true {of}", "rangemode": "tozero", **scale},
        yaxis={"title": "samples", "rangemode": "tozero"},
        uirevision=f"distances {distances.title}",
        height=400,
    )
