"""Figures of the laboratory: a true curve with one sample, and estimators or calibrators against the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import diagonal, records, symbols
from calib_core.figures.probability_axis import ProbabilityAxis
from calib_core.figures.shown import draws
from calib_core.lab.experiments import MEASURES, ErrorCurves
from calib_core.lab.one_sample import ErrorDistances, TruthCurve
from calib_core.text import plain

_LINE_FROM = 5
"""Number of points from which on a true curve is drawn as a line."""


@draws(TruthCurve)
def truth_curve(curve: TruthCurve) -> go.Figure:
    """Draw the true curve, and the bins of one sample as points with intervals, in one style per stratum."""
    frame = curve.frame()
    figure = go.Figure([diagonal()])
    for number, stratum in enumerate(dict.fromkeys(frame["stratum"])):
        mine = frame[frame["stratum"] == stratum]
        true, points = (mine[mine["of"] == of] for of in ("truth", "point"))
        figure.add_traces([_true(true, number, stratum), *_sample(mine, number, stratum), *_through(points, number)])
    axis = ProbabilityAxis("linear", 0.0, 1.0).layout()
    return finished(
        figure,
        xaxis={**axis, "title": "score", "showgrid": False},
        yaxis={**axis, "title": "observed frequency"},
        uirevision="truth",
        height=440,
    )


def _true(frame: pd.DataFrame, number: int, stratum: str) -> go.Scatter:
    look = style(number)
    return go.Scatter(
        x=frame["score"],
        y=frame["right"],
        mode="lines" if len(frame) >= _LINE_FROM else "markers",
        name=f"truth, {plain(stratum)}",
        line={"color": look.colour, "width": 2, "dash": look.dash},
        marker={"symbol": "line-ew-open", "size": 22, "color": look.colour},
        hovertemplate="score %{x:.1~%}: true frequency %{y:.1~%}<extra>truth</extra>",
    )


def _sample(frame: pd.DataFrame, number: int, stratum: str) -> list[go.Scatter]:
    drawn, look = frame[frame["of"] == "sample"], style(number)
    if drawn.empty:
        return []
    points = go.Scatter(
        x=drawn["score"],
        y=drawn["right"],
        mode="markers",
        name=f"sample, {plain(stratum)}",
        error_y=_bars(drawn["right"], drawn["low"], drawn["high"], look.colour),
        marker={"symbol": symbols(look, drawn["rows"]).tolist(), "size": 10, "color": look.colour},
        cliponaxis=False,
        customdata=records(drawn.drop(columns="of")),
        hovertemplate="score %{x:.1~%}: observed %{y:.1~%} (%{customdata.low:.1~%} to %{customdata.high:.1~%})<br>"
        "%{customdata.rows:,.4~r} rows<extra>sample</extra>",
    )
    return [points]


def _through(points: pd.DataFrame, number: int) -> list[go.Scatter]:
    """Movable points that define a drawn curve, on top of the sample."""
    if points.empty:
        return []
    look = style(number)
    trace = go.Scatter(
        x=points["score"],
        y=points["right"],
        mode="lines+markers",
        name="points to drag",
        line={"color": look.colour, "width": 2, "dash": look.dash},
        marker={"symbol": "diamond", "size": 14, "color": look.colour, "line": {"width": 1.5, "color": "white"}},
        cliponaxis=False,
        customdata=[{"point": i, "share": share} for i, share in enumerate(points["right"])],
        hovertemplate="score %{x:.1~%}: true frequency %{y:.1~%}<br>drag it up or down<extra></extra>",
        meta={"grab": {"along": "y", "name": "share", "low": 0, "high": 1, "step": 0.01}},
    )
    return [trace]


@draws(ErrorCurves)
def error_curves(curves: ErrorCurves) -> go.Figure:
    """Draw one line per estimator or calibrator, over rows (in powers of ten) or bins; the true error is dashed."""
    frame, form = curves.frame(), ".3~%" if curves.unit == "share" else ".4~g"
    name = "before calibration" if curves.calibrators else "true error"
    figure = go.Figure([_truth_line(frame, target, name, form) for target in _targets(curves)])
    for number, series in enumerate(dict.fromkeys(frame["series"])):
        mine, look = frame[frame["series"] == series], style(number)
        figure.add_trace(
            go.Scatter(
                x=mine["x"],
                y=mine["value"],
                mode="lines+markers",
                name=plain(series),
                line={"color": look.colour, "dash": look.dash, "width": 2},
                marker={"symbol": look.symbol, "size": 9, "color": look.colour},
                error_y=_bars(mine["value"], mine["low"], mine["high"], look.colour),
                customdata=records(mine.drop(columns=["note"])),
                hovertemplate=f"{plain(series)}<br>%{{x:,}} {curves.over}: %{{y:{form}}}<br>"
                "%{customdata.draws:,} draws<extra></extra>",
            )
        )
    log = curves.measure == "mse" or curves.calibrators
    scale = {"type": "log", "exponentformat": "power", "dtick": 1} if log else {"rangemode": "tozero"}
    scale |= {"tickformat": "~%"} if curves.unit == "share" else {}
    over = {"title": "number of bins"} if curves.over == "bins" else {"title": "rows per sample", "type": "log"}
    ticks = sorted(set(frame["x"]))
    return finished(
        figure,
        xaxis={**over, "tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]},
        yaxis={
            "title": "squared true error after recalibration" if curves.calibrators else MEASURES[curves.measure],
            **scale,
        },
        uirevision=f"lab {curves.title} {curves.measure}",
        height=440,
    )


def _targets(curves: ErrorCurves) -> list[float]:
    """True errors to draw, for comparison with mean estimates."""
    shown = curves.measure == "mean"
    return sorted({round(value, 12) for value in curves.frame()["true"].dropna()}) if shown else []


def _truth_line(frame: pd.DataFrame, target: float, name: str, form: str) -> go.Scatter:
    return go.Scatter(
        x=sorted(set(frame["x"])),
        y=np.full(frame["x"].nunique(), target),
        mode="lines",
        name=name,
        line={"color": REFERENCE, "dash": "dash", "width": 1.5},
        hovertemplate=f"{name} %{{y:{form}}}<extra></extra>",
    )


def _bars(middle: pd.Series, low: pd.Series, high: pd.Series, colour: str) -> dict[str, Any]:
    """Interval ends in Plotly's form; empty if an end is unknown."""
    return {
        "type": "data",
        "symmetric": False,
        "array": (high - middle).clip(lower=0),
        "arrayminus": (middle - low).clip(lower=0),
        "color": colour,
        "thickness": 1.5,
        "width": 3,
    }


@draws(ErrorDistances)
def error_distances(distances: ErrorDistances) -> go.Figure:
    """Draw a histogram line of each estimator's distances over samples; the truth is at the left edge."""
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
                hovertemplate=f"{plain(str(series))}<br>%{{customdata.low:{form}}} to %{{customdata.high:{form}}} from "
                f"the true {of}: %{{customdata.draws:,}} samples<extra></extra>",
            )
        )
    scale = {"tickformat": "~%"} if distances.unit == "share" else {}
    return finished(
        figure,
        xaxis={"title": f"distance of an estimate from the true {of}", "rangemode": "tozero", **scale},
        yaxis={"title": "samples", "rangemode": "tozero"},
        uirevision=f"distances {distances.title}",
        height=400,
    )
