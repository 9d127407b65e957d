"""Calibration over time: three strips on one axis of time, with the alarm and the start of the error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib_core.figures.look import REFERENCE, finished
from calib_core.figures.marks import records
from calib_core.figures.shown import draws
from calib_core.monitoring.calibration_by_period import OverTime
from calib_core.palette import COLOURS
from calib_core.text import at_level, short_percent

_HEIGHT, _TOP, _FOOT = 620, 34, 44
_STRIPS = ((0.56, 1.0), (0.27, 0.47), (0.0, 0.18))
"""Heights of the three strips, as shares of the figure from below."""
_NOW, _SINCE = COLOURS[0], COLOURS[1]
_BANDS = {_NOW: "rgba(0, 114, 178, 0.16)", _SINCE: "rgba(213, 94, 0, 0.2)", REFERENCE: "rgba(128, 128, 128, 0.25)"}
_SINCE_ZONE = "rgba(213, 94, 0, 0.07)"
_SINCE_ENDS = ["since_low", "since_high"]
_HOVER = (
    "<b>%{customdata.period}</b><br>predicted %{customdata.predicted:.1%}, observed %{customdata.observed:.1%} "
    "(%{customdata.low:.1%} to %{customdata.high:.1%})<br>%{customdata.rows:,} rows<extra></extra>"
)
_GAP_HOVER = (
    "<b>%{customdata.period}</b><br>mean gap so far %{customdata.mean_gap:+.1%} "
    "(%{customdata.mean_low:+.1%} to %{customdata.mean_high:+.1%})<extra></extra>"
)
_RECORD = ("period", "rows", "predicted", "observed", "low", "high", "mean_gap", "mean_low", "mean_high")


@draws(OverTime)
def over_time(found: OverTime) -> go.Figure:
    """Draw predicted and observed means by period, the mean gap so far, and the distribution of the predictions.

    Filled marks are periods whose interval excludes the prediction. The bands of the mean gap are valid at all times:
    blue since the beginning, orange since the period that explains the alarm best. The time since then is shaded. The
    dashed vertical line is the first alarm. A mark's record has ``slice``, the period's rows.
    """
    lines = found.lines
    dated = found.unit != "value"
    x = lines["start"].tolist() if dated else [int(start) for start in lines["start"]]
    customdata = [
        {**record, "slice": where} for record, where in zip(records(lines[list(_RECORD)]), lines["where"], strict=True)
    ]
    figure = go.Figure(
        [
            _line(x, lines["predicted"], REFERENCE, "predicted", ""),
            _observed(x, lines, customdata, at_level(found.level)),
            _band(x, 100 * lines["mean_low"], 100 * lines["mean_high"], _NOW, "2"),
            _line(x, 100 * lines["mean_gap"], _NOW, "since the beginning", "2", customdata=customdata,
                  hovertemplate=_GAP_HOVER, hoverinfo=None),
            _band(x, lines["score_low"], lines["score_high"], REFERENCE, "3"),
            _line(x, lines["score_median"], REFERENCE, "median", "3"),
        ]
    )  # fmt: skip
    notes = [
        _heading(f"Predicted (line) and observed (marks with {at_level(found.level)} interval)", 0),
        _heading(_gap_words(found), 1),
        _heading("Predictions: median and middle 80 % of the rows", 2),
    ]
    shapes: list[dict[str, Any]] = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y2", "y0": 0, "y1": 0,
         "line": {"color": REFERENCE, "width": 1}, "layer": "below"}
    ]  # fmt: skip
    if found.answer.alarm:
        after = lines[lines["since_gap"].notna()]
        later = x[-len(after) :]
        figure.add_traces([
            _band(later, 100 * after["since_low"], 100 * after["since_high"], _SINCE, "2"),
            _line(later, 100 * after["since_gap"], _SINCE, f"since {found.since}", "2", dash="dash"),
        ])  # fmt: skip
        whole = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
        alarm = x[lines["start"].tolist().index(found.answer.alarm_period)]
        shapes += [
            {"type": "rect", "x0": later[0], "x1": x[-1], "fillcolor": _SINCE_ZONE, "line": {"width": 0}, **whole},
            {"type": "line", "x0": alarm, "x1": alarm, "line": {"color": _SINCE, "width": 2, "dash": "dash"}, **whole},
        ]
        right = x.index(alarm) > len(x) / 2
        notes.append({
            "x": alarm, "y": 1, "yref": "paper", "yanchor": "bottom", "xanchor": "right" if right else "left",
            "text": "<b>alarm</b>", "showarrow": False, "font": {"size": 13, "color": _SINCE},
        })  # fmt: skip
    up: dict[str, Any] = {"tickformat": ".0%", "zeroline": False}
    # Bands of the first periods are wide: the axis fits the later ones.
    end = lines.tail(len(x) // 2 + 1)
    ends = (lines[["mean_gap", "since_gap"]], end[["mean_low", "mean_high"]], lines[_SINCE_ENDS].tail(2))
    reach = 1.1 * max(float(np.nanmax(np.abs(part.to_numpy(dtype=np.float64)), initial=1e-3)) for part in ends)
    return finished(
        figure,
        height=_HEIGHT,
        margin={"t": _TOP, "b": _FOOT},
        annotations=notes,
        shapes=shapes,
        xaxis={"type": "date" if dated else "linear", "anchor": "y3", "showgrid": False},
        yaxis={**up, "domain": _STRIPS[0], "rangemode": "normal"},
        yaxis2={**up, "domain": _STRIPS[1], "tickformat": "~g", "range": [-100 * reach, 100 * reach]},
        yaxis3={**up, "domain": _STRIPS[2], "rangemode": "tozero"},
        showlegend=False,
        hovermode="closest",
        uirevision="over-time",
    )


def _gap_words(found: OverTime) -> str:
    level = short_percent(1 - found.answer.alpha)
    if not found.answer.alarm:
        return f"Mean gap so far in points, observed minus predicted, with the {level} band for looks at any time"
    return f"Mean gap in points, observed minus predicted: since the beginning, and since {found.since} (dashed)"


def _heading(text: str, strip: int) -> dict[str, Any]:
    return {
        "text": f"<b>{text}</b>", "x": 0, "xref": "paper", "xanchor": "left", "y": _STRIPS[strip][1], "yref": "paper",
        "yanchor": "bottom", "yshift": 4, "showarrow": False, "font": {"size": 13},
    }  # fmt: skip


def _observed(x: list[Any], lines: pd.DataFrame, customdata: list[dict[str, object]], level: str) -> go.Scatter:
    """Observed means with their intervals; filled where the interval excludes the prediction."""
    return go.Scatter(
        x=x,
        y=lines["observed"],
        mode="markers",
        name=f"observed, {level} interval",
        marker={
            "symbol": ["circle" if misses else "circle-open" for misses in lines["misses"]],
            "size": 8,
            "color": _NOW,
            "opacity": 1,
            "line": {"width": 2, "color": _NOW},
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": lines["high"] - lines["observed"],
            "arrayminus": lines["observed"] - lines["low"],
            "color": _NOW,
            "thickness": 1.5,
            "width": 0,
        },
        customdata=customdata,
        hovertemplate=_HOVER,
    )


def _line(
    x: list[Any], y: pd.Series[Any], colour: str, name: str, axis: str, dash: str = "solid", **more: Any
) -> go.Scatter:
    return go.Scatter(
        x=x, y=y, yaxis=f"y{axis}", mode="lines", name=name,
        line={"color": colour, "width": 2.5, "dash": dash}, **{"hoverinfo": "skip", **more},
    )  # fmt: skip


def _band(x: list[Any], low: pd.Series[Any], high: pd.Series[Any], colour: str, axis: str) -> go.Scatter:
    return go.Scatter(
        x=[*x, *x[::-1]], y=[*low, *high[::-1]], yaxis=f"y{axis}", fill="toself", fillcolor=_BANDS[colour],
        mode="lines", line={"width": 0}, hoverinfo="skip",
    )  # fmt: skip
