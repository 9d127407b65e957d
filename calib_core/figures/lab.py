"""Figures of the laboratory: a true curve with one sample, methods against the truth, and simulated coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import diagonal, records, symbols
from calib_core.figures.probability_axis import ProbabilityAxis
from calib_core.figures.reliability import FIT
from calib_core.figures.shown import draws
from calib_core.lab.experiments import MEASURES, ErrorCurves
from calib_core.lab.one_sample import ErrorDistances, TruthCurve
from calib_core.monitoring.drift_delays import DriftDelays
from calib_core.palette import COLOURS
from calib_core.text import percent, plain

_LINE_FROM = 5
"""Number of points from which on a true curve is drawn as a line."""
_HEIGHT, _AROUND = 440, 130
"""Pixels of the picture of a truth, and above and below its axes."""


@draws(TruthCurve)
def truth_curve(curve: TruthCurve) -> go.Figure:
    """Draw the true curve, and the bins of one sample as points with intervals, in one style per stratum."""
    frame = curve.frame()
    figure = go.Figure([diagonal()])
    strata = list(dict.fromkeys(frame["stratum"]))
    for number, stratum in enumerate(strata):
        mine = frame[frame["stratum"] == stratum]
        true, points = (mine[mine["of"] == of] for of in ("truth", "point"))
        of = f", {plain(stratum)}" if len(strata) > 1 else ""
        figure.add_traces([_true(true, number, of), *_sample(mine, number, of), *_through(points, number)])
    axis = ProbabilityAxis("linear", 0.0, 1.0).layout()
    return finished(
        figure,
        xaxis={**axis, "title": "score", "showgrid": False},
        yaxis={**axis, "title": "observed frequency"},
        uirevision="truth",
        height=_HEIGHT,
        meta={"fit": {**FIT, "frame": _AROUND}},
    )


def _true(frame: pd.DataFrame, number: int, of: str) -> go.Scatter:
    look = style(number)
    return go.Scatter(
        x=frame["score"],
        y=frame["right"],
        mode="lines" if len(frame) >= _LINE_FROM else "markers",
        name=f"truth{of}",
        line={"color": look.colour, "width": 2, "dash": look.dash},
        marker={"symbol": "line-ew-open", "size": 22, "color": look.colour},
        hovertemplate="score %{x:.1~%}: true frequency %{y:.1~%}<extra>truth</extra>",
    )


def _sample(frame: pd.DataFrame, number: int, of: str) -> list[go.Scatter]:
    drawn, look = frame[frame["of"] == "sample"], style(number)
    if drawn.empty:
        return []
    points = go.Scatter(
        x=drawn["score"],
        y=drawn["right"],
        mode="markers",
        name=f"sample{of}",
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


@draws(DriftDelays)
def drift_delays(found: DriftDelays) -> go.Figure:
    """Draw when each method raised its first alarm: the median, and 80 % of the years; false alarms on the right.

    The shaded time is that of the drift. A mark before it is a false alarm. A line to the edge ends in no alarm.
    """
    lines = found.frame()
    place, colours = np.arange(len(lines)), [COLOURS[0], *[REFERENCE] * (len(lines) - 1)]
    end = found.periods + 1
    figure = go.Figure()
    for y, line, colour in zip(place.tolist(), lines.to_dict("records"), colours, strict=True):
        if line["early"] == line["early"]:
            late = line["late"] if line["late"] == line["late"] else end
            figure.add_scatter(
                x=[line["early"], late], y=[y, y], mode="lines", line={"color": colour, "width": 3}, hoverinfo="skip",
                showlegend=False,
            )  # fmt: skip
    known = lines["median"].notna()
    figure.add_scatter(
        x=lines.loc[known, "median"], y=place[known], mode="markers", name="median",
        marker={"size": 12, "color": [colour for colour, here in zip(colours, known, strict=True) if here]},
        customdata=records(lines[known]),
        hovertemplate="<b>%{customdata.method}</b><br>first alarm at period %{x} (median)<br>false alarms in "
        "%{customdata.false_alarms:.1~%} of the years<extra></extra>",
        showlegend=False,
    )  # fmt: skip
    shares = [
        {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 8, "y": y, "showarrow": False,
         "text": percent(share, 0)} for y, share in zip(place.tolist(), lines["false_alarms"], strict=True)
    ]  # fmt: skip
    head = {
        "x": 1,
        "xref": "paper",
        "xanchor": "left",
        "xshift": 8,
        "y": -0.8,
        "showarrow": False,
        "text": "<b>false</b>",
    }
    drift = {"type": "rect", "x0": found.start - 0.5, "x1": end, "yref": "paper", "y0": 0, "y1": 1,
             "fillcolor": "rgba(213, 94, 0, 0.07)", "line": {"width": 0}, "layer": "below"}  # fmt: skip
    return finished(
        figure,
        height=90 + 40 * len(lines),
        margin={"r": 64, "t": 24},
        annotations=[*shares, head],
        shapes=[] if found.shape == "none" else [drift],
        xaxis={"title": "period of the first alarm", "range": [0, end], "zeroline": False},
        yaxis={"tickvals": place.tolist(), "ticktext": lines["method"].tolist(), "range": [len(lines) - 0.5, -1.1],
               "showgrid": False, "zeroline": False, "automargin": True},
        uirevision="drifts",
    )  # fmt: skip


_GROUNDS = ("rgba(0, 114, 178, 0.3)", "rgba(128, 128, 128, 0.2)", "rgba(213, 94, 0, 0.4)")
"""Colors of good, fair and poor cells, on which the letters of both pages can be read."""
_CELL_LINE = 36
"""Pixels of a line of cells."""
LEAST, ALLOWED = 0.9, 0.86
"""Least coverage of a good cell, and of one whose intervals may be called tested."""
MOST, ACCURATE = 0.05, 0.07
"""Largest share of false alarms of a good cell, and of one within the accuracy of the simulation."""


_IN_WORDS = "in words"
"""Name of the texts of cells that are too long for narrow columns."""


def coverage_map(cells: pd.DataFrame) -> go.Figure:
    """Draw `inference.coverage_cells`: one line per estimator, one column per range of rows.

    The color shows the lowest coverage of a cell.
    """
    low = cells["worst"]
    kinds = np.where(low >= LEAST, 0, np.where(low >= ALLOWED, 1, 2))
    words = (
        f"{percent(LEAST, 0)} or more in every case",
        f"{percent(ALLOWED, 0)} or more in every case",
        f"below {percent(ALLOWED, 0)} in some case",
    )
    return _cells(cells, [f"{rows} rows" for rows in cells["rows"]], kinds, words, digits=0)


def rejection_map(cells: pd.DataFrame) -> go.Figure:
    """Draw `inference.rejection_cells`: one line per estimator, one column per notion.

    The color shows the largest share of calibrated models that are rejected; it should be 5 % or less.
    """
    high = cells["worst"]
    kinds = np.where(high <= MOST, 0, np.where(high <= ACCURATE, 1, 2))
    words = (
        f"{percent(MOST, 0)} or less in every case",
        f"{percent(ACCURATE, 0)} or less, not distinguishable from {percent(MOST, 0)}",
        f"more than {percent(ACCURATE, 0)} in some case",
    )
    return _cells(cells, cells["notion"].tolist(), kinds, words, digits=1)


def _cells(
    cells: pd.DataFrame, heads: list[str], kinds: NDArray[Any], words: tuple[str, ...], digits: int
) -> go.Figure:
    """Cells by estimator and column, colored by kind, with worst and median share; narrow columns show the worst."""
    lines = list(dict.fromkeys(cells["estimator"]))
    x, y = cells["column"].to_numpy(), np.array([lines.index(name) for name in cells["estimator"]])
    columns = [heads[int(np.flatnonzero(x == place)[0])] for place in range(int(x.max()) + 1)]
    figure = go.Figure()
    for kind, (ground, name) in enumerate(zip(_GROUNDS, words, strict=True)):
        here = np.flatnonzero(kinds == kind)
        hovers = [f"{lines[y[i]]}, {columns[x[i]]}: {cells['cases'].iloc[i]:,} simulated cases" for i in here]
        figure.add_bar(
            x=np.full(len(here), 0.96),
            base=x[here] - 0.48,
            y=y[here],
            width=0.9,
            orientation="h",
            name=name,
            marker={"color": ground, "line": {"width": 0}},
            hovertext=hovers,
            hovertemplate="%{hovertext}<extra></extra>",
        )
    short = [f"<b>{percent(worst, 1)}</b>" for worst in cells["worst"]]
    whole = [f"{text}, median {percent(share, digits)}" for text, share in zip(short, cells["median"], strict=True)]
    figure.add_scatter(
        x=x, y=y, mode="text", text=whole, textfont={"size": 13}, hoverinfo="skip", showlegend=False, name=_IN_WORDS
    )
    shared: dict[str, Any] = {"showgrid": False, "zeroline": False, "ticks": "", "showline": False}
    across = {"tickvals": list(range(len(columns))), "ticktext": columns, "range": [-0.5, len(columns) - 0.5]}
    down = {"tickvals": list(range(len(lines))), "ticktext": lines, "range": [len(lines) - 0.5, -0.5]}
    return finished(
        figure,
        height=96 + _CELL_LINE * len(lines),
        barmode="overlay",
        margin={"t": 40, "b": 8, "l": 8, "r": 8},
        xaxis={"side": "top", **across, **shared},
        yaxis={**down, **shared},
        uirevision="cells",
        meta={"narrow": {"without": (_IN_WORDS,), "layout": _narrow(x, y, short, columns)}},
    )


def _narrow(x: NDArray[Any], y: NDArray[Any], texts: list[str], columns: list[str]) -> dict[str, Any]:
    """Layout in a narrow column: cells with one number, and folded names of columns."""
    each = zip(x.tolist(), y.tolist(), texts, strict=True)
    folded = [name.replace(" to ", " to<br>").replace("-", "-<br>").replace(" or ", "<br>or ") for name in columns]
    folded = [name.replace("than ", "than<br>") for name in folded]
    return {
        "annotations": [{"x": a, "y": b, "text": text, "showarrow": False} for a, b, text in each],
        "xaxis": {"ticktext": folded},
        "margin": {"t": 60},
    }
