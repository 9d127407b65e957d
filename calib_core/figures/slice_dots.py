"""Slices as a ranked dot plot: a line each, what is said as an open mark, how often it is right as a filled one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from calib_core._base.arrays import Float64s
from calib_core.diagrams.slice_dots import SliceDots
from calib_core.figures.classes import NOISE, numbers_at_right
from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import numbers, records
from calib_core.figures.probability_axis import percent_ticks
from calib_core.figures.shown import draws
from calib_core.text import at_level, count, of_rows, percent, plain, points, rounded, share_range

_UNITS = (0.001, 0.002, 0.005, 0.01, 0.02)
"""Steps of an axis of rare events."""
_LINE, _NAME = 26, 40
"""Pixels of a line, and letters of a name."""
_OUT = "\u25cf "
"""Before the name of a slice that stands out, which is bold too: not by colour alone."""
_HOVER = (
    "<b>%{hovertext}</b><br>says %{customdata.claimed:.1~%}, right %{customdata.right:.1~%} "
    "(%{customdata.interval})<br>%{customdata.basis}<br>%{customdata.verdict}%{customdata.beside}<extra></extra>"
)


@draws(SliceDots)
def slice_dots(dots: SliceDots, *, model: str = "model", looks: Mapping[str, int] | None = None) -> go.Figure:
    """A line a slice, the worst first: what it says, how often it is right, and what noise alone would show.

    The open mark is the mean confidence, the grey bar around it what 95 % of calibrated models stay within; the filled
    mark is the share right, with its interval. Slices that stand out have a line between the two, and a bold name
    after a dot. The model keeps its look, by its number in ``looks``.
    """
    says_word, right_word = ("mean risk", "observed") if dots.of_event else ("says", "right")
    lines, look = dots.lines, style(numbers([model], looks)[model])
    places = np.arange(len(lines))
    says, right, low, high, floor = (
        lines[name].to_numpy(dtype=np.float64) for name in ("claimed", "right", "low", "high", "floor")
    )
    out = lines["stands_out"].to_numpy(dtype=bool)
    noise = np.clip(says - floor, 0, 1), np.clip(says + floor, 0, 1)
    same: dict[str, Any] = {
        "y": places,
        "customdata": _records(dots, model),
        "hovertext": [plain(name) for name in lines["slice"]],
        "hovertemplate": _HOVER.replace("says ", f"{says_word} ").replace("right ", f"{right_word} "),
    }
    figure = go.Figure(
        [
            _segments(noise[0], noise[1], places, {"color": NOISE, "width": 15}, "noise alone"),
            _segments(says[out], right[out], places[out], {"color": look.colour, "width": 7}, "stands out", 0.35),
            go.Scatter(
                x=says,
                mode="markers",
                name=says_word,
                marker={"symbol": "diamond-open", "size": 11, "color": REFERENCE, "line": {"width": 2}, "opacity": 1},
                cliponaxis=False,
                **same,
            ),
            go.Scatter(
                x=right,
                mode="markers",
                name=f"{right_word}, {at_level(dots.level)} interval",
                marker={"symbol": look.symbol, "size": 12, "color": look.colour, "opacity": 1},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": high - right,
                    "arrayminus": right - low,
                    "color": look.colour,
                    "thickness": 1.5,
                    "width": 4,
                },
                cliponaxis=False,
                **same,
            ),
        ]
    )
    facts = [
        (rounded(100 * s, 1), rounded(100 * r, 1), count(round(n)))
        for s, r, n in zip(says, right, lines["rows"].tolist(), strict=True)
    ]
    title = "what it says, and how often it is right"
    if dots.of_event:
        title = "mean predicted risk, and observed frequency"
    return finished(
        figure,
        height=110 + _LINE * len(lines),
        annotations=numbers_at_right(facts, (f"{says_word} %", f"{right_word} %", "rows")),
        margin={"r": 182, "t": 28},
        xaxis={"title": title, **_axis(np.concatenate([low, high, *noise, says]))},
        yaxis={
            "tickvals": places.tolist(),
            "ticktext": [_name(name, stands) for name, stands in zip(lines["slice"], out, strict=True)],
            "range": [len(lines) - 0.5, -0.5],
            "showgrid": False,
            "ticks": "",
        },
        meta={"columns": _clicked(lines)},
        uirevision="slice dots",
    )


def _segments(
    start: Float64s, end: Float64s, places: NDArray[Any], line: dict[str, Any], name: str, opacity: float = 1.0
) -> go.Scatter:
    """A thick line on each of some lines."""
    gaps = np.full(len(places), np.nan)
    return go.Scatter(
        x=np.column_stack([start, end, gaps]).ravel(),
        y=np.column_stack([places, places, gaps]).ravel(),
        mode="lines",
        line=line,
        name=name,
        opacity=opacity,
        hoverinfo="skip",
    )


def _axis(shown: Float64s) -> dict[str, Any]:
    """From the tenth below what is drawn to the one above; of shares near 0 in finer steps."""
    known = shown[~np.isnan(shown)]
    unit = next((u for u in _UNITS if len(known) and known.max() <= 5 * u), 0.1)
    low, high = (int(np.floor(known.min() / unit)), int(np.ceil(known.max() / unit))) if len(known) else (0, 10)
    step = 1 if high - low <= 5 else 2
    ticks = [unit * i for i in range(low, high + 1, step)]
    room = 0.1 * unit
    return {"range": [low * unit - room, high * unit + room], "zeroline": False, **percent_ticks(ticks)}


def _name(title: str, stands_out: bool) -> str:
    short = title if len(title) <= _NAME else f"{title[: _NAME - 1].rstrip()}\u2026"
    return f"{_OUT}<b>{plain(short)}</b>" if stands_out else plain(short)


def _records(dots: SliceDots, model: str) -> list[dict[str, object]]:
    lines = dots.lines
    ranges = [
        f"{share_range(low, high)}, {at_level(dots.level)} interval"
        for low, high in zip(lines["low"], lines["high"], strict=True)
    ]
    untested = lines["p"].isna()
    verdict = np.where(lines["stands_out"], "stands out of the noise", "within what noise alone shows")
    verdict = np.where(untested, "too few rows to be tested", verdict)
    groups = lines["groups"] if "groups" in lines else [None] * len(lines)
    shown = pd.DataFrame(
        {
            "slice": lines["where"],
            "claimed": lines["claimed"],
            "right": lines["right"],
            "basis": [of_rows(*each) for each in zip(lines["rows"], lines["worth"], groups, strict=True)],
            "interval": ranges,
            "verdict": verdict,
            "beside": list(map(_beside, lines["beyond"], lines["differs"])),
        }
    )
    return records(shown, model=model)


def _beside(beyond: float, differs: bool) -> str:
    """How a slice compares with all other rows, where these are enough."""
    if np.isnan(beyond):
        return ""
    return f"<br>{points(beyond)} against all other rows{'' if differs else ', which can be chance'}"


def _clicked(lines: pd.DataFrame) -> list[dict[str, Any]]:
    """The whole line stands for its slice."""
    texts = zip(lines["where"], lines["slice"], lines["claimed"], lines["right"], strict=True)
    return [
        {
            "axis": "y",
            "low": j - 0.5,
            "high": j + 0.5,
            "record": {"slice": where},
            "says": f"{plain(title)}: says {percent(claimed)}, right {percent(right)}",
        }
        for j, (where, title, claimed, right) in enumerate(texts)
    ]
