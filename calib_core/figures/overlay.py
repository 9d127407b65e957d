"""Overlays of a reliability diagram: bands of calibrated models, intervals, and curves without bins.

Each is a separate figure, and `reliability` accepts figures of this module as ``over``.
"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib_core._base.arrays import Float64s
from calib_core.diagrams.bins_that_stand_out import ReliabilityBands
from calib_core.diagrams.corp import CorpBand, CorpCurve
from calib_core.diagrams.curve import KernelCurve
from calib_core.figures.look import CELLS, REFERENCE, finished, style
from calib_core.figures.marks import IDEAL, diagonal
from calib_core.figures.shown import draws
from calib_core.text import percent, plain

_BAND = "rgba(128, 128, 128, 0.25)"
_COLOUR = CELLS[-1]
"""Color that no model has."""
CORP, KERNEL = CURVES = ("CORP curve", "kernel curve")
"""Names of curves without bins."""


def laid_over(figure: go.Figure) -> list[go.Scatter]:
    """Marks of a figure of this module, for another figure's diagonal."""
    return [trace for trace in figure.data if trace.name != IDEAL]


def _alone(*traces: go.Scatter) -> go.Figure:
    return finished(
        go.Figure([diagonal(), *traces]),
        xaxis={"title": "score", "range": [-0.01, 1.01]},
        yaxis={"title": "observed frequency", "range": [-0.02, 1.04]},
        height=460,
    )


@draws(ReliabilityBands)
def reliability_bands(bands: ReliabilityBands) -> go.Figure:
    """Draw bands of a calibrated model's stars, and an interval for the accuracy of each bin."""
    return _alone(*laid_over(consistency_bands(bands)), *laid_over(bin_intervals(bands)))


def bin_intervals(bands: ReliabilityBands) -> go.Figure:
    """Draw an exact interval for the true accuracy of each bin, around its star."""
    frame = bands.frame()
    return _alone(
        go.Scatter(
            x=frame["confidence"],
            y=frame["accuracy"],
            error_y={
                "type": "data",
                "symmetric": False,
                "array": frame["accuracy_high"] - frame["accuracy"],
                "arrayminus": frame["accuracy"] - frame["accuracy_low"],
                "color": _COLOUR,
                "thickness": 1.5,
            },
            mode="markers",
            # A tick in the interval's color: a point would leave the legend empty.
            marker={"symbol": "line-ns", "size": 8, "line": {"width": 1.5, "color": _COLOUR}},
            name=f"{percent(bands.level, 0)} intervals",
            hoverinfo="skip",
        )
    )


def consistency_bands(bands: ReliabilityBands) -> go.Figure:
    """Draw bands for the stars of a calibrated model with these scores, for each bin."""
    frame = bands.frame()
    return _alone(
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
            name=f"{percent(bands.level, 0)} of calibrated models",
            hoverinfo="skip",
        )
    )


@draws(CorpCurve)
def corp(curve: CorpCurve) -> go.Figure:
    """Draw the isotonic fit as steps, where there are enough rows."""
    x, y = within(curve.ranges, np.column_stack([curve.lower, curve.upper]).ravel(), np.repeat(curve.outcome, 2))
    return _alone(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": _COLOUR, "width": 2.5},
            name=CORP,
            hovertemplate="isotonic fit %{y:.1~%} at %{x:.1~%}<extra></extra>",
        )
    )


@draws(CorpBand)
def corp_band(band: CorpBand) -> go.Figure:
    """Draw the band around the isotonic fit as steps, from the ends at the nearest score below or above."""
    x, low, high = (np.repeat(values, 2) for values in (band.score, band.lower, band.upper))
    # In the doubled points the lower end steps one point late, and the upper one point early.
    ends = np.append(low[:1], low[:-1]), np.append(high[1:], high[-1:])
    x, low, high = within(band.ranges, x, *ends)
    return _alone(filled(x, low, high, band.band_title))


def within(ranges: Float64s, x: Float64s, *heights: Float64s) -> tuple[Float64s, ...]:
    """Lines through ``heights`` at ascending ``x``, cut to these ranges of x, with NaN between the pieces.

    >>> x, y = within(np.array([[0.0, 1.0], [3.0, 4.0]]), np.array([1.0, 5.0]), np.array([2.0, 6.0]))
    >>> x.tolist(), y.tolist()
    ([1.0, nan, 3.0, 4.0], [2.0, nan, 4.0, 5.0])
    """
    pieces: list[Float64s] = []
    for low, high in ranges:
        inside = x[(x >= low) & (x <= high)]
        ends = [end for end in (low, high) if x[0] < end < x[-1] and end not in inside]
        across = np.sort(np.append(inside, ends))
        cut = [np.interp(across, x, y) for y in heights]
        for value, y in zip(cut, heights, strict=True):
            value[np.isin(across, inside)] = y[(x >= low) & (x <= high)]  # steps have two heights at one x
        pieces += [np.stack([across, *cut])] if len(across) else []
    gap = np.full((1 + len(heights), 1), np.nan)
    whole = np.hstack([part for piece in pieces for part in (gap, piece)][1:]) if pieces else gap
    return tuple(whole)


def kernel_band(curve: KernelCurve) -> go.Figure:
    """Draw the kernel curve over its band, with gaps where there are no data."""
    return _alone(*kernel_traces(curve))


def kernel_traces(curve: KernelCurve) -> list[go.Scatter]:
    """The curve, and its band, if any, below it."""
    line = go.Scatter(
        x=curve.score,
        y=curve.curve,
        mode="lines",
        line={"color": _COLOUR, "width": 2.5},
        name=KERNEL,
        hovertemplate="predicted %{x:.1~%}, observed %{y:.1~%}<extra></extra>",
    )
    if curve.band == "none":
        return [line]
    return [filled(curve.score, curve.lower, curve.upper, curve.band_title), line]


def filled(x: Float64s, low: Float64s, high: Float64s, name: str) -> go.Scatter:
    """Closed outlines, one per run of points without a gap."""
    known = np.flatnonzero(~np.isnan(low))
    runs = np.split(known, np.flatnonzero(np.diff(known) > 1) + 1)
    across = [np.concatenate([x[run], x[run[::-1]], [np.nan]]) for run in runs]
    ends = [np.concatenate([low[run], high[run[::-1]], [np.nan]]) for run in runs]
    return go.Scatter(
        x=np.concatenate(across)[:-1],
        y=np.concatenate(ends)[:-1],
        fill="toself",
        fillcolor=_BAND,
        mode="lines",
        line={"width": 0},
        name=name,
        hoverinfo="skip",
    )


_TALLEST = 0.25
"""Height of the density's peak, low enough to stay below the curve."""


@draws(KernelCurve)
def kernel_curve(curve: KernelCurve, *, score: float | None = None) -> go.Figure:
    """Draw curve, band and diagonal, the density of the scores, and the calibration error at one ``score``."""
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
            name=f"density of the scores (per {curve.unit})",
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
        yaxis={"title": "observed frequency", "range": [-0.02, 1.02], "tickformat": "~%"},
        uirevision="kernel",
    )
