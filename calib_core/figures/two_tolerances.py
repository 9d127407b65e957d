"""Verdict of an event: its error above, the observed to expected ratio below, each with a tolerance."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib_core._base.arrays import Float64s
from calib_core.diagrams.tolerance_axis import VerdictStrip
from calib_core.figures.look import REFERENCE, finished
from calib_core.figures.verdict_marks import WITHIN_TOLERANCE, floors, icon, interval_of, raw_values, title_of
from calib_core.inference.verdicts.verdict import ratio_range, tolerated_ratios
from calib_core.text import plain, score, short_percent

ROW, LOW_ROW, HEAD, TICKS, FOOT = 38, 28, 22, 24, 29
"""Pixels of a row of both axes, of the part above an axis, of its numbers, and of those at the figure's end."""
FEW, CLOSE_ROW = 2, 23
"""Number of models up to which a row of the lower axis has its full height, and its height with more models."""
_LONGEST = 24
_RATIOS = (0.1, 0.2, 0.25, 0.33, 0.5, 0.65, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0)
_APART = 0.11
"""Minimum share of the axis between the labels of two ratios."""
_LABEL = 0.3
"""Share of the axis for the number next to an interval."""
_CUT = 12.0
"""Largest ratio drawn, up or down; larger ones are cut."""


def both_tolerances(strip: VerdictStrip, places: Mapping[str, int]) -> go.Figure:
    """Draw both axes with a row per model; the verdict's word and icon are below the model's name."""
    n = len(strip.names)
    above, below = ROW * n, (LOW_ROW if n <= FEW else CLOSE_ROW) * n
    height = 2 * HEAD + TICKS + FOOT + above + below
    inner = height - HEAD - FOOT  # between the margins
    split = (below / inner, (inner - above) / inner)
    figure = go.Figure([floors(strip, "noise floor", "noise floor: level of a calibrated model"), raw_values(strip)])
    most = 1.45 * 100 * float(np.nanmax([1.3 * strip.eps, *strip.high, *strip.floor, *strip.value], initial=0.0))
    limit = float(strip.ratio_limit or 1.0)
    ends = [1 / limit, limit, *_known(strip.ratio_low), *_known(strip.ratio_high)]
    low, high = math.log(max(min(ends), 1 / _CUT)) - 0.12, math.log(min(max(ends), _CUT)) + 0.12
    high += _LABEL * (high - low)  # for the number next to the interval
    points = 100 * strip.low, 100 * strip.point, 100 * strip.high
    ratios = tuple(np.clip(_log(part), low, high) for part in (strip.ratio_low, strip.ratio, strip.ratio_high))
    notes, shapes = _tolerances(strip, split), _zones(100 * strip.eps, limit)
    for i, name in enumerate(strip.names):
        hover = f"{plain(name)}: {_percent(strip.point[i])}, {strip.notes[i]}"
        figure.add_trace(_row(strip, i, places[name], points, hover))
        notes += [*_words(strip, i), *_number(points, i, _points(strip.point[i]), "", (100 * strip.eps, _LABEL * most))]
        shapes += icon(strip.words[i], 8 - _left(strip.names), -9, 8, xref="paper", xanchor=0, yref="y", yanchor=i)
        if math.isfinite(float(strip.ratio_low[i])):
            value = "–" if math.isnan(float(strip.ratio[i])) else score(float(strip.ratio[i]))
            span = ratio_range(float(strip.ratio_low[i]), float(strip.ratio_high[i]), limit)
            lower = _row(strip, i, places[name], ratios, f"{plain(name)}: observed to expected {value}, {span}")
            figure.add_trace(lower.update(xaxis="x2", yaxis="y2"))
            gap = -math.log(limit) - float(ratios[2][i])
            room = _LABEL * (high - low)
            notes += _number(ratios, i, value, "2", (math.log(limit), room), before=0 <= gap < room)
    notes += _names(strip)
    axis = {"showgrid": False, "zeroline": False, "fixedrange": True}
    rows = {"range": [n - 0.5, -0.5], "showticklabels": False, "ticks": "", "showline": False, **axis}
    ticks = _ratio_ticks(low, high, limit)
    return finished(
        figure,
        xaxis={"range": [0, most], "nticks": 7, "anchor": "y", **axis},
        yaxis={"domain": [split[1], 1], **rows},
        xaxis2={
            "range": [low, high], "tickvals": [math.log(tick) for tick in ticks],
            "ticktext": [f"{tick:g}" for tick in ticks], "anchor": "y2", "tickangle": 0, **axis,
        },
        yaxis2={"domain": [0, split[0]], "anchor": "x2", **rows},
        shapes=shapes,
        annotations=notes,
        showlegend=False,
        barmode="overlay",
        margin={"l": _left(strip.names), "r": 14, "t": HEAD, "b": FOOT, "autoexpand": False},
        height=height,
        uirevision=f"verdict {most:.3g} {low:.3g}",
    )  # fmt: skip


def _ratio_ticks(low: float, high: float, limit: float) -> list[float]:
    """Labeled ratios between these logarithms: the tolerance's ends, then those with room from 1 outwards."""
    inside = sorted((tick for tick in _RATIOS if low <= math.log(tick) <= high), key=lambda tick: abs(math.log(tick)))
    kept: list[float] = []
    for tick in (*(round(end, 2) for end in (1 / limit, limit) if end != 1), *inside):
        if all(abs(math.log(tick / other)) >= _APART * (high - low) for other in kept):
            kept.append(tick)
    return sorted(kept)


def _row(strip: VerdictStrip, i: int, look: int, ends: Sequence[Float64s], hover: str) -> go.Scatter:
    """Interval and point of one model on one of the axes."""
    low, point, high = (float(part[i]) for part in ends)
    return interval_of(strip, i, look, (low, point, high), hover, size=15, cap=7)


def _zones(eps: float, limit: float) -> list[dict[str, Any]]:
    """Zones within the tolerance on both axes, and their ends."""
    zones = [("", 0.0, eps, (eps,)), ("2", -math.log(limit), math.log(limit), (-math.log(limit), math.log(limit)))]
    found: list[dict[str, Any]] = []
    green = {"type": "rect", "fillcolor": WITHIN_TOLERANCE, "line": {"width": 0}}
    for axis, start, stop, ends in zones:
        where = {"xref": f"x{axis}", "yref": f"y{axis} domain", "y0": 0, "y1": 1, "layer": "below"}
        found.append(where | green | {"x0": start, "x1": stop})
        dash = {"color": REFERENCE, "width": 2, "dash": "dash"}
        found += [where | {"type": "line", "x0": end, "x1": end, "line": dash} for end in ends]
    return found


def _tolerances(strip: VerdictStrip, split: tuple[float, float]) -> list[dict[str, Any]]:
    """Labels above both zones."""
    limit = float(strip.ratio_limit or 1.0)
    text = {"showarrow": False, "yanchor": "bottom", "yshift": 2, "font": {"size": 13}}
    return [
        text | {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper",
                "text": f"<b>tolerance {short_percent(strip.eps)}</b>"},
        text | {"x": 0, "xref": "x2", "y": split[0], "yref": "paper",
                "text": f"<b>tolerance {tolerated_ratios(limit)}</b>"},
    ]  # fmt: skip


def _names(strip: VerdictStrip) -> list[dict[str, Any]]:
    """Names next to the rows of the lower axis, and titles of both axes."""
    small = {"font": {"size": 12.5}, "opacity": 0.85}
    place = {"xref": "paper", "x": 0, "xanchor": "left", "xshift": -_left(strip.names), "showarrow": False}
    return [
        place | {"yref": "y2", "y": i, "text": plain(_short(name)), "font": {"size": 13}}
        for i, name in enumerate(strip.names)
    ] + [
        place | {"yref": "y domain", "y": 0, "yanchor": "top", "yshift": -3, "text": "calibration error, %", **small},
        place | {"yref": "y2 domain", "y": 0, "yanchor": "top", "yshift": -3, "text": "observed : expected", **small},
    ]


def _words(strip: VerdictStrip, i: int) -> list[dict[str, Any]]:
    """Model's name, with its verdict below."""
    word = title_of(strip.words[i])
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "y", "y": i, "showarrow": False, "align": "left"}
    left = -_left(strip.names)
    return [
        place
        | {"text": f"<b>{plain(_short(strip.names[i]))}</b>", "xshift": left, "yshift": 9, "font": {"size": 13.5}},
        place | {"text": word, "xshift": left + 20, "yshift": -9, "font": {"size": 13.5}},
    ]


def _number(
    ends: Sequence[Float64s], i: int, text: str, axis: str, tolerance: tuple[float, float], before: bool = False
) -> list[dict[str, Any]]:
    """Estimate after the interval of row i, or before it if it would overlap an end of the tolerance.

    It is named, since it is not the end of the interval that it is next to. It is beyond the upper end of the
    ``tolerance`` if this is in its room, the second number.
    """
    high = float(ends[0 if before else 2][i])
    if not math.isfinite(high):
        return []
    limit, room = tolerance
    high = limit if not before and high < limit < high + room else high
    place = {"xref": f"x{axis}", "x": high, "yref": f"y{axis}", "y": i, "showarrow": False}
    side = {"xanchor": "right", "xshift": -8} if before else {"xanchor": "left", "xshift": 8}
    return [place | side | {"text": f"estimate <b>{text}</b>", "font": {"size": 14}}]


def _points(share: float) -> str:
    return short_percent(float(share)).removesuffix(" %")


def _percent(share: float) -> str:
    return short_percent(float(share)) if math.isfinite(float(share)) else "–"


def _known(values: Float64s) -> list[float]:
    return [float(value) for value in values if math.isfinite(value) and value > 0]


def _log(values: Float64s) -> Float64s:
    with np.errstate(divide="ignore"):
        return np.log(values)


def _left(names: Sequence[str]) -> int:
    """Pixels of the longest name or word."""
    return 22 + max(150, round(8 * max((len(_short(name)) for name in names), default=0)))


def _short(name: str) -> str:
    return textwrap.shorten(name, _LONGEST, placeholder="…") if len(name) > _LONGEST else name
