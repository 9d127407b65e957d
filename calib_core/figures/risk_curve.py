"""Risk diagram: observed frequency against predicted risk on the data's range, with the events below.

The module also has the decision curve: net benefit of acting on a class's probability, by threshold.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from calib_core._base.arrays import Float64s
from calib_core._base.errors import InputError
from calib_core.diagrams.bins_that_stand_out import edges_said
from calib_core.diagrams.decision_curve import DecisionCurve
from calib_core.diagrams.reliability import FEW_ROWS
from calib_core.diagrams.risk_diagram import RiskDiagram
from calib_core.evaluation.decisions import ALL, NONE
from calib_core.figures.bin_marks import name_of
from calib_core.figures.look import CALIBRATED, EVENTS, REFERENCE, finished
from calib_core.figures.marks import diagonal, entry, numbered, records, symbols
from calib_core.figures.overlay import filled, within
from calib_core.figures.probability_axis import heading, percent_ticks
from calib_core.figures.reliability import FIT
from calib_core.figures.shown import draws
from calib_core.palette import style
from calib_core.text import (
    at_level,
    between,
    count,
    exact_tolerance,
    in_percent,
    plain,
    points,
    share_range,
    short_percent,
)

_HEIGHT, _TOP, _FOOT = 560, 28, 40
"""Pixels of the figure, and above and below its axes."""
_STRIP, _BETWEEN = 0.15, 60
"""Height of the strip of events, as a share, and pixels between it and the plot, for the numbers of the axis."""
_STEPS = tuple(unit * part for unit in (1e-4, 1e-3, 1e-2, 1e-1) for part in (1.0, 2.0, 5.0))
_MOST_TICKS, _ROOM, _BEYOND = 7, 0.02, 1.5
"""Maximum ticks of an axis, room beyond its ends, and limit of intervals relative to the largest mark."""
MOST_LAID_OVER, _COLUMNS, _PANEL = 2, 3, 300
"""Maximum number of overlaid models, panels per row, and pixels of a row."""
_PICTURE, _NARROWEST = 214, 180
"""Pixels of a panel's axes in narrow columns: their height, and the least width that its heading fits in."""
_SIDES = "above the dashed line, risks are too low; below it, too high"
_BAND = 0.18


@draws(RiskDiagram)
def risk_diagram(
    diagrams: RiskDiagram | Mapping[str, RiskDiagram],
    *,
    looks: Mapping[str, int] | None = None,
    tolerance: float | None = None,
    rows: str = "rows",
    happened: str = "",
    event: str = "",
) -> go.Figure:
    """Draw stars with exact intervals and a smooth curve of one model on the range of its risks, with events below.

    With two models by title the first has all parts, and the other stars and curve. Three or more have a panel each,
    with the first model's curve behind it. Axes have the range of bins with 10 rows or more. A bin with fewer beyond it
    is a hollow triangle at the edge, without an interval. The gray band is for bins of a calibrated model, the dotted
    lines are ``tolerance`` above and below the diagonal. ``rows`` and ``happened`` are words for the rows and the event
    ("Of rows with a risk of 20 to 27 %, 12 % died"). ``event`` is the event's name on the axis, by default that of its
    class. Every star has a record as customdata: ``model``, ``bin`` and its numbers.

    >>> import calib_core as cc
    >>> test = cc.Predictions([[0.75, 0.25], [0.9, 0.1]] * 20, [1, 0, 0, 0] * 10)
    >>> figure = risk_diagram(cc.diagrams.risk_diagram(test), happened="died")
    >>> figure.layout.xaxis.title.text, [trace.name for trace in figure.data][-1]
    ('predicted risk of “1”', 'model')
    """
    models = [_Marks(number, title, diagram, rows, happened) for number, title, diagram in numbered(diagrams, looks)]
    first = models[0]
    x, y = _across(models), _up(models)
    if len(models) > MOST_LAID_OVER:
        return _panels(models, x, y, tolerance, plain(event or first.diagram.event))
    figure = go.Figure([*_ground(first.diagram, x, y, tolerance), *first.spikes()])
    for each in models[::-1]:
        figure.add_traces(each.curve(whole=each is first))
    for each in models[::-1]:
        figure.add_traces([each.stars(whole=each is first), *each.beyond(y)])
    figure.add_traces([entry(each.title, each.number, uid=name_of("legend", each.title)) for each in models])
    up, down = (float(np.sqrt(first.diagram.spikes[name].max())) for name in ("events", "others"))
    # Each half has the room of its spikes: that of a rare event would be empty, and its number far above.
    strip = {
        "range": [-1.15 * max(down, up / 4), 1.15 * max(up, down / 4)],
        "showgrid": False,
        "showticklabels": False,
        "ticks": "",
    }
    name = plain(event or first.diagram.event)
    finished(
        figure,
        xaxis={**_axis(*x), "title": f"predicted risk of \u201c{name}\u201d", "anchor": "y", "showgrid": False},
        yaxis={**_axis(*y), "domain": [_STRIP + _BETWEEN / (_HEIGHT - _TOP - _FOOT), 1]},
        yaxis2={**strip, "domain": [0, _STRIP], "anchor": "x", "fixedrange": True, "showline": False, "zeroline": True},
        height=_HEIGHT,
        margin={"t": _TOP},
        bargap=0,
        barmode="overlay",
        legend={"tracegroupgap": 0, "font": {"size": 12}},
        meta={
            "columns": first.columns(*x),
            "range": True,
            "strip": [_STRIP, _BETWEEN],
            "fit": {**FIT, "frame": _TOP + _FOOT},
        },
        uirevision="risk",
    )
    _words(figure, first)
    return figure


def _panels(
    models: Sequence[_Marks], x: tuple[float, float], y: tuple[float, float], tolerance: float | None, name: str
) -> go.Figure:
    """Draw a panel per model on shared axes, with the first model's curve in gray behind it."""
    figure, columns = go.Figure(), min(_COLUMNS, len(models))
    x = x[0], min(1.0, x[1] + 0.03 * (x[1] - x[0]))  # on a narrow axis half a mark is a larger part
    lines = math.ceil(len(models) / columns)
    height = lines * _PANEL + 90
    across, up = (1 + 0.06) / columns, (1 + 0.22 * (lines > 1)) / lines
    clickable: list[dict[str, object]] = []
    boxes: list[tuple[float, ...]] = []
    for i, each in enumerate(models):
        row, column = divmod(i, columns)
        end = str(i + 1) if i else ""
        axes = {"xaxis": f"x{end}", "yaxis": f"y{end}"}
        ends = [column * across, column * across + across - 0.06]
        top = 1 - row * up
        domain = [max(0.0, top - up + 0.22 * (lines > 1)), top]
        boxes.append((*ends, *domain))
        ghost = [] if not i else [trace.update(line_color=REFERENCE) for trace in models[0].curve(False)]
        traces = [
            *_ground(each.diagram, x, y, tolerance), *ghost, *each.curve(True), each.stars(True), *each.beyond(y)
        ]  # fmt: skip
        for trace in traces:
            shown_before = i > 0 or trace.uid not in ("consistency", "tolerance")
            figure.add_trace(trace.update(uid=name_of("panel", f"{trace.uid or trace.name} {i}"), **axes))
            if shown_before:
                figure.data[-1].showlegend = False
        figure.update_layout(
            {
                f"xaxis{end}": {**_axis(*x, few=True), "domain": ends, "anchor": axes["yaxis"], "showgrid": False,
                                "title": f"predicted risk of \u201c{name}\u201d" if row == lines - 1 else ""},
                f"yaxis{end}": {**_axis(*y), "domain": domain, "anchor": axes["xaxis"], "showticklabels": not column},
            }
        )  # fmt: skip
        named = heading(each.title, style(each.number), None, ends[0], top)
        for annotation in named["annotations"]:
            figure.add_annotation(annotation)
        for shape in named["shapes"]:
            figure.add_shape(shape)
        clickable += [{**found, "axis": axes["xaxis"]} for found in each.columns(*x)]
    return finished(
        figure,
        height=height,
        margin={"t": 44},
        legend={"tracegroupgap": 0, "font": {"size": 12}},
        meta={
            "columns": clickable,
            "range": True,
            "panels": {"boxes": boxes, "high": _PICTURE, "gap": _PANEL - _PICTURE, "least": _NARROWEST},
        },
        uirevision="risk panels",
    )


@dataclass(frozen=True, eq=False)
class _Marks:
    """Marks of one model."""

    number: int
    title: str
    diagram: RiskDiagram
    rows: str
    happened: str

    @cached_property
    def frame(self) -> pd.DataFrame:
        return self.diagram.frame()

    @cached_property
    def sure(self) -> NDArray[np.bool_]:
        """Mask of bins with enough rows; all bins if fewer than two have enough."""
        enough = self.frame["count"].to_numpy() >= FEW_ROWS
        return enough if enough.sum() > 1 else np.ones_like(enough)

    def beyond(self, y: tuple[float, float]) -> list[go.Scatter]:
        """Bins with few rows beyond the axis, at its edge."""
        frame = self.frame
        out = ~self.sure & ((frame["observed"] > y[1]) | (frame["observed"] < y[0])).to_numpy()
        if not out.any():
            return []
        up = (frame["observed"][out] > y[1]).to_numpy()
        look = style(self.number)
        return [
            go.Scatter(
                x=frame["risk"][out],
                y=np.where(up, y[1], y[0]),
                mode="markers",
                marker={
                    "symbol": np.where(up, "triangle-up-open", "triangle-down-open").tolist(),
                    "size": 11,
                    "opacity": 1,
                    "color": look.colour,
                    "line": {"width": 1.2, "color": look.colour},
                },
                name=f"fewer than {FEW_ROWS} rows, beyond the axis: {plain(self.title)}",
                uid=name_of("beyond", self.title),
                legendgroup=f"m{self.number}",
                showlegend=False,
                customdata=records(frame[out], model=self.title),
                hovertext=[
                    f"<b>{plain(self.title)}</b><br>{plain(text)}"
                    for text, is_out in zip(self.says, out, strict=True)
                    if is_out
                ],
                hovertemplate="%{hovertext}<extra></extra>",
            )
        ]

    @cached_property
    def says(self) -> list[str]:
        """Sentence about each bin."""
        return [
            f"Of {count(round(line['count']))} {self.rows} with a risk of {edges_said(line['lower'], line['upper'])} "
            f"(mean {in_percent(line['risk'])}), {in_percent(line['observed'])} {self.happened or 'had the event'} "
            f"({share_range(line['low'], line['high'])})"
            for line in self.frame.to_dict("records")
        ]

    def stars(self, whole: bool) -> go.Scatter:
        """One star per bin, with its interval if ``whole``; hollow if it has few rows."""
        look, frame = style(self.number), self.frame
        ends = {
            "type": "data",
            "symmetric": False,
            "array": np.where(self.sure, frame["high"] - frame["observed"], np.nan),
            "arrayminus": np.where(self.sure, frame["observed"] - frame["low"], np.nan),
            "color": look.colour,
            "thickness": 1.6,
            "width": 4,
        }
        return go.Scatter(
            x=frame["risk"],
            y=frame["observed"],
            mode="markers",
            **({"error_y": ends} if whole else {}),
            marker={
                "symbol": symbols(look, frame["count"]).tolist(),
                "size": 14 if whole else 10,
                "opacity": 1 if whole else 0.8,
                "color": look.colour,
                "line": {"width": 1.2, "color": look.colour},
            },
            name=plain(self.title),
            uid=name_of("stars", self.title),
            legendgroup=f"m{self.number}",
            showlegend=False,
            customdata=records(frame, model=self.title),
            hovertext=[f"<b>{plain(self.title)}</b><br>{plain(text)}" for text in self.says],
            hovertemplate="%{hovertext}<extra></extra>",
        )

    def curve(self, whole: bool) -> list[go.Scatter]:
        """Smooth curve over the range of the data, with its band if ``whole``."""
        if self.diagram.curve is None:
            return []
        look, curve = style(self.number), self.diagram.curve.frame()
        x, observed, low, high = (curve[name].to_numpy() for name in ("score", "observed", "low", "high"))
        if self.diagram.ranges is not None:
            x, observed, low, high = within(self.diagram.ranges, x, observed, low, high)
        line = go.Scatter(
            x=x,
            y=observed,
            mode="lines",
            line={"color": look.colour, "width": 2.2 if whole else 1.2, "dash": look.dash},
            name="smooth curve" if whole else f"smooth curve: {plain(self.title)}",
            uid=name_of("curve", self.title),
            legendgroup=f"m{self.number}",
            showlegend=False,
            hoverinfo="skip",
        )
        if not whole or np.isnan(low).all():
            return [line]
        around = filled(x, low, high, f"smooth curve, {at_level(self.diagram.level)} band")
        return [around.update(fillcolor=_faint(look.colour), uid=name_of("band", self.title)), line]

    def spikes(self) -> list[go.Bar]:
        """Rows with the event above the line and rows without it below, on a square-root scale."""
        spikes, name = self.diagram.spikes, self.happened or "with the event"
        width = float(np.diff(spikes["score"]).min()) if len(spikes) > 1 else 0.01
        found = []
        for column, sign, colour, words in (("events", 1, EVENTS, name), ("others", -1, REFERENCE, "of the others")):
            texts = [
                f"risk about {in_percent(score)}: {count(round(n))} {plain(words)}"
                for score, n in zip(spikes["score"], spikes[column], strict=True)
            ]
            found.append(
                go.Bar(
                    x=spikes["score"],
                    y=sign * np.sqrt(spikes[column]),
                    width=0.62 * width,
                    marker={"color": colour},
                    yaxis="y2",
                    name=column,
                    uid=f"spikes{column}",
                    showlegend=False,
                    hovertext=texts,
                    hovertemplate="%{hovertext}<extra></extra>",
                )
            )
        return found

    def columns(self, low: float, high: float) -> list[dict[str, object]]:
        """Clickable columns of the non-empty bins."""
        return [
            {
                "axis": "x",
                "low": max(low, float(line["lower"])),
                "high": min(high, float(line["upper"])),
                "from": float(line["lower"]),
                "to": float(line["upper"]),
                "record": {"model": self.title, "bin": int(line["bin"])},
                "says": text.replace("%", "percent"),
            }
            for line, text in zip(self.frame.to_dict("records"), self.says, strict=True)
        ]


def _ground(
    diagram: RiskDiagram, x: tuple[float, float], y: tuple[float, float], tolerance: float | None
) -> list[go.Scatter]:
    """Band of a calibrated model's bins, the diagonal, and the tolerance around it."""
    frame = diagram.frame()
    enough = frame["count"] >= FEW_ROWS
    frame = frame[enough] if enough.sum() > 1 else frame
    shared: dict[str, Any] = {"mode": "lines", "hoverinfo": "skip"}
    band = go.Scatter(
        x=np.append(frame["risk"], frame["risk"][::-1]),
        y=np.append(frame["band_low"], frame["band_high"][::-1]),
        fill="toself",
        fillcolor=CALIBRATED,
        line={"width": 0},
        name=f"{at_level(diagram.level)} of calibrated models, per bin",
        uid="consistency",
        **shared,
    )
    ends = max(x[0], y[0]), min(x[1], y[1])
    found = [band, diagonal(*ends, uid="diagonal")]
    if tolerance is None:
        return found
    below, above = (_parallel(x, y, shift) for shift in (-tolerance, tolerance))
    tolerated = go.Scatter(
        x=[*below[0], None, *above[0]],
        y=[*below[1], None, *above[1]],
        line={"width": 1, "dash": "dot", "color": REFERENCE},
        name=f"tolerance of {exact_tolerance(tolerance)}",
        uid="tolerance",
        **shared,
    )
    return [*found, tolerated]


def _parallel(x: tuple[float, float], y: tuple[float, float], shift: float) -> tuple[list[float], list[float]]:
    """Ends of the diagonal shifted upwards, cut where it leaves the axes; nothing if it never crosses them.

    >>> _parallel((0.0, 0.75), (0.0, 0.5), 0.125), _parallel((0.0, 0.75), (0.0, 0.5), -0.25)
    (([0.0, 0.375], [0.125, 0.5]), ([0.25, 0.75], [0.0, 0.5]))
    """
    first, last = max(x[0], y[0] - shift), min(x[1], y[1] - shift)
    return ([first, last], [first + shift, last + shift]) if first < last else ([], [])


def _across(models: Sequence[_Marks]) -> tuple[float, float]:
    """Ends of the axis of risks: the data's range, from 0 if that is near."""
    ends = [each.diagram.ends for each in models]
    high = max(high for _, high in ends)
    return _range(min(low for low, _ in ends), high)[0], min(1.0, high)


def _up(models: Sequence[_Marks]) -> tuple[float, float]:
    """Ends of the axis of frequencies: marks with enough rows, and intervals up to a limit."""
    marks = pd.concat([each.frame[each.sure] for each in models])
    top = float(max(marks["observed"].max(), marks["risk"].max()))
    high = min(float(marks["high"].max()), _BEYOND * top)
    low = float(min(marks["low"].min(), marks["band_low"].min()))
    return _range(low, max(top, high))


def _range(low: float, high: float) -> tuple[float, float]:
    """Round ends of an axis around these; 0 if the low one is near it."""
    low = 0.0 if high - low > 0.5 * high else low
    step = _step(low, high)
    return max(0.0, math.floor(low / step + 1e-9) * step), min(1.0, math.ceil(high / step - 1e-9) * step)


def _step(low: float, high: float) -> float:
    return next((step for step in _STEPS if (high - low) / step <= _MOST_TICKS), _STEPS[-1])


def _axis(low: float, high: float, few: bool = False) -> dict[str, Any]:
    """Range and ticks of an axis, optionally only every second tick."""
    step, room = _step(low, high) * (2 if few else 1), _ROOM * (high - low)
    # Labeled is also what is just beyond the data: risks that end at 99.9 % have an axis that includes 100 %.
    first, last = math.ceil(max(0.0, low - room) / step - 1e-9), math.floor(min(1.0, high + room) / step + 1e-9)
    ticks = [i * step for i in range(first, last + 1)]
    return {"range": [low - room, high + room], "zeroline": False, **percent_ticks(ticks)}


def _words(figure: go.Figure, marks: _Marks) -> None:
    """Add labels of the diagonal's sides, the vertical axis and the halves of the strip."""
    paper: dict[str, Any] = {"showarrow": False, "xref": "paper", "yref": "paper"}
    figure.add_annotation(
        text="<b>observed frequency</b>", x=0, y=1, xanchor="left", yanchor="bottom", yshift=6, xshift=-34, **paper
    )
    # Above the plot, where no interval can cross it.
    figure.add_annotation(text=f"<i>{_SIDES}</i>", x=1, y=1, xanchor="right", yanchor="bottom", yshift=6, **paper)
    events, rows = marks.diagram.events, marks.diagram.rows
    name = marks.happened or "with the event"
    for text, up, anchor in (
        (f"{plain(name)}: {count(round(events))}", _STRIP, "bottom"),
        (f"others: {count(round(rows - events))}", 0.0, "bottom"),
    ):
        figure.add_annotation(text=text, x=1, y=up, xanchor="right", yanchor=anchor, font={"size": 12}, **paper)


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {_BAND})"


_BELOW, _CURVE_ROOM = 0.35, 1.1
"""Range of the axis below 0 and above the largest benefit, as shares of that benefit."""


_SCALES = {
    "benefit": "net benefit, share of rows",
    "standardized": "standardized net benefit",
    "avoided": "acting avoided, net share of rows",
}


@draws(DecisionCurve)
def decision_curve(
    diagrams: DecisionCurve | Mapping[str, DecisionCurve],
    *,
    threshold: float | None = None,
    scale: Literal["benefit", "standardized", "avoided"] = "benefit",
    looks: Mapping[str, int] | None = None,
) -> go.Figure:
    """Draw one curve per model with pointwise intervals, and the curves of acting on all and on none.

    A given ``threshold`` is marked. ``scale`` is the vertical axis: net benefit, standardized net benefit, or the share
    of rows on which acting is avoided. Values far below 0 are left out. A model keeps its style, by its number in
    ``looks``.
    """
    if scale not in _SCALES:
        raise InputError(f"scale is {scale!r:.80}; it must be one of {', '.join(_SCALES)}")
    models = numbered(diagrams, looks)
    first = models[0][2]
    every, none = _without_a_model(first, scale)
    finite = [float(np.nanmax(getattr(each, scale), initial=0.0)) for _, _, each in models]
    top = max(1e-6, *finite, float(np.nanmax(every, initial=0.0)))
    low, high = -_BELOW * top, _CURVE_ROOM * top
    figure = go.Figure([_reference(first.threshold, _within(every, low), ALL, "dash")])
    figure.add_trace(_reference(first.threshold, _within(none, low), NONE, "dot"))
    for number, title, each in models:
        figure.add_traces(_curve(number, title, each, low, high, scale))
    if threshold is not None:
        figure.add_vline(x=threshold, line={"color": REFERENCE, "dash": "dot", "width": 1.5})
    return finished(
        figure,
        xaxis={
            "title": f"threshold: act where {plain(first.positive)} has more than this probability",
            "range": [0, 1],
            **percent_ticks((0, 0.2, 0.4, 0.6, 0.8, 1)),
        },
        yaxis={"title": _SCALES[scale], "range": [low, high], "tickformat": ".1~%"},
        margin={"r": 34},
        uirevision="decision curve",
        height=420,
    )


def _within(values: Float64s, low: float) -> Float64s:
    """Values within the range of the axis."""
    return np.where(values >= low, values, np.nan)


def _reference(x: Float64s, y: Float64s, name: str, dash: str) -> go.Scatter:
    line = {"color": REFERENCE, "width": 1.5, "dash": dash}
    return go.Scatter(x=x, y=y, mode="lines", line=line, name=name, hoverinfo="skip")


def _without_a_model(curve: DecisionCurve, scale: str) -> tuple[Float64s, Float64s]:
    """Acting on all and on none, on the vertical axis."""
    zero = np.zeros(len(curve.threshold))
    if scale == "avoided":
        return zero, -curve.treat_all / curve.odds
    if scale == "benefit":
        return curve.treat_all, zero
    share = (curve.treat_all + curve.odds) / (1 + curve.odds)
    return np.divide(curve.treat_all, share, out=np.full(len(zero), np.nan), where=share > 0), zero


def _curve(number: int, title: str, diagram: DecisionCurve, low: float, high: float, scale: str) -> list[go.Scatter]:
    frame, look = diagram.frame(), style(number)
    ends = ("low", "high") if scale == "benefit" else (f"{scale}_low", f"{scale}_high")
    group = {"legendgroup": f"m{number}"}
    band = go.Scatter(
        x=np.concatenate([frame["threshold"], frame["threshold"][::-1]]),
        y=np.clip(np.concatenate([frame[ends[0]], frame[ends[1]][::-1]]), low, high),
        fill="toself",
        mode="lines",
        line={"width": 0, "color": look.colour},
        opacity=0.15,
        showlegend=False,
        hoverinfo="skip",
        **group,
    )
    line = go.Scatter(
        x=frame["threshold"],
        y=_within(getattr(diagram, scale), low),
        mode="lines",
        line={"color": look.colour, "dash": look.dash, "width": 2},
        name=plain(title),
        customdata=records(frame[["threshold", "acted", scale]], model=title),
        hovertext=[f"{plain(title)}<br>{_benefit_words(line, scale)}" for line in frame.to_dict("records")],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=True,
        **group,
    )
    return [band, line]


def _benefit_words(line: Mapping[Hashable, Any], scale: str) -> str:
    """Hover text of a threshold."""
    if scale != "benefit":
        name = "standardized net benefit" if scale == "standardized" else "avoided, compared with acting on all:"
        return (
            f"above {short_percent(line['threshold'])} acts on {short_percent(line['acted'])} of rows<br>"
            f"{name} {short_percent(line[scale])} ({between(line[f'{scale}_low'], line[f'{scale}_high'])})"
        )
    ends = between(line["low"], line["high"])
    return (
        f"above {short_percent(line['threshold'])} acts on {short_percent(line['acted'])} of rows<br>"
        f"net benefit {short_percent(line['benefit'])} ({ends}), {points(line['over_all'])} over acting on all"
    )
