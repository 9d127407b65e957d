"""What can be laid over a reliability diagram: how far stars may lie by chance, and curves without bins."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams import CorpCurve, KernelCurve, ReliabilityBands
from dashboard.theme import REFERENCE, style

_BAND = "rgba(128, 128, 128, 0.25)"
_LOOK = style(4)


def wilson_intervals(bands: ReliabilityBands) -> list[go.Scatter]:
    """An interval for the true accuracy of each bin, around its star."""
    frame = bands.frame()
    return [
        go.Scatter(
            x=frame["confidence"],
            y=frame["accuracy"],
            error_y={
                "type": "data",
                "symmetric": False,
                "array": frame["accuracy_high"] - frame["accuracy"],
                "arrayminus": frame["accuracy"] - frame["accuracy_low"],
                "color": _LOOK.colour,
                "thickness": 1.5,
            },
            mode="markers",
            # A tick of the interval's own colour: a point would leave the legend empty.
            marker={"symbol": "line-ns", "size": 8, "line": {"width": 1.5, "color": _LOOK.colour}},
            name=f"{bands.level:.0%} Wilson intervals",
            hoverinfo="skip",
        )
    ]


def consistency_bands(bands: ReliabilityBands) -> list[go.Scatter]:
    """Where the stars of a calibrated model with these scores would lie, bin by bin."""
    frame = bands.frame()
    return [
        go.Scatter(
            x=frame["confidence"],
            y=(frame["band_low"] + frame["band_high"]) / 2,
            error_y={
                "type": "data",
                "array": (frame["band_high"] - frame["band_low"]) / 2,
                "color": REFERENCE,
                "thickness": 9,
                "width": 0,
            },
            opacity=0.45,
            mode="markers",
            marker={"size": 9, "symbol": "square", "color": REFERENCE},
            name=f"{bands.level:.0%} of calibrated models",
            hoverinfo="skip",
        )
    ]


def corp_curve(curve: CorpCurve) -> list[go.Scatter]:
    """The isotonic fit as steps."""
    x = np.column_stack([curve.lower, curve.upper]).ravel()
    return [
        go.Scatter(
            x=x,
            y=np.repeat(curve.outcome, 2),
            mode="lines",
            line={"color": _LOOK.colour, "width": 2.5},
            name="CORP curve",
            hovertemplate="isotonic fit %{y:.4f} at %{x:.4f}<extra></extra>",
        )
    ]


def kernel_band(curve: KernelCurve) -> list[go.Scatter]:
    """The kernel curve with its bootstrap median and band; gaps where no data lie."""
    held = ~np.isnan(curve.lower)
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    return [
        go.Scatter(x=curve.score[held], y=curve.lower[held], **edge),
        go.Scatter(x=curve.score[held], y=curve.upper[held], fill="tonexty", fillcolor=_BAND, **edge),
        go.Scatter(
            x=curve.score,
            y=curve.median,
            mode="lines",
            line={"color": REFERENCE, "width": 1, "dash": "dot"},
            name="bootstrap median",
            hoverinfo="skip",
        ),
        go.Scatter(
            x=curve.score,
            y=curve.curve,
            mode="lines",
            line={"color": _LOOK.colour, "width": 2.5},
            name=f"kernel curve, {curve.level:.0%} band",
            hovertemplate="P(right) %{y:.4f} at %{x:.4f}<extra></extra>",
        ),
    ]
