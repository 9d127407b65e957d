"""Validity: the share of rows whose claim is off by at most epsilon, a step line a model (Gupta & Ramdas 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.validity import ValidityPair, ValidityPlot
from calib_core.figures.look import Style, finished, style
from calib_core.figures.marks import numbered
from calib_core.figures.shown import draws
from calib_core.text import plain


@draws(ValidityPlot)
def validity(plots: ValidityPlot | Mapping[str, ValidityPlot], *, looks: Mapping[str, int] | None = None) -> go.Figure:
    """Share of rows whose claim is off by at most epsilon, a step line per model.

    A model keeps its look, that of its number in ``looks``.
    """
    shown = numbered(plots, looks)
    off = (
        {"title": "off by at most (L1 distance)"}
        if any(plot.distance for _, _, plot in shown)
        else {"title": "off by at most", "tickformat": "~%"}
    )
    return finished(
        go.Figure([steps(plot, title, style(i)) for i, title, plot in shown]),
        xaxis={**off, "rangemode": "tozero"},
        yaxis={"title": "share of rows", "range": [-0.02, 1.04], "tickformat": "~%"},
        uirevision="validity",
        height=400,
    )


@draws(ValidityPair)
def validity_pair(pair: ValidityPair) -> go.Figure:
    """The model before recalibration and after it, on the same groups of rows."""
    return validity({"before": pair.before, "after": pair.after})


def steps(plot: ValidityPlot, title: str, look: Style, **how: Any) -> go.Scatter:
    """V as a step line from (0, 0)."""
    off = "at a distance of at most %{x:.2~f}" if plot.distance else "off by at most %{x:.2~%}"
    return go.Scatter(
        x=np.append(0.0, plot.eps),
        y=np.append(0.0, plot.share),
        mode="lines",
        name=plain(title),
        line={"color": look.colour, "dash": look.dash, "width": 2, "shape": "hv"},
        hovertemplate=f"%{{y:.1~%}} of rows are {off}<extra></extra>",
        **how,
    )
