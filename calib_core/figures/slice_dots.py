"""Slices as a ranked dot plot: a line each, what is said as an open mark, how often it is right as a filled one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib_core._text import count, percent, plain
from calib_core.diagrams import SliceDots
from calib_core.figures.classes import NOISE, numbers_at_right
from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import numbers, records
from calib_core.figures.shown import draws
from calib_core.inference.number_words import at_level, share_range

_LINE, _NAME = 26, 40
"""Pixels of a line, and letters of a name."""
_OUT = "\u25cf "
"""Before the name of a slice that stands out, which is bold too: not by colour alone."""
_HOVER = (
    "<b>%{hovertext}</b><br>says %{customdata.claimed:.1%}, right %{customdata.right:.1%} "
    "(%{customdata.interval})<br>%{customdata.rows:,} rows<br>%{customdata.verdict}<extra></extra>"
)


@draws(SliceDots)
def slice_dots(dots: SliceDots, *, model: str = "model", looks: Mapping[str, int] | None = None) -> go.Figure:
    """A line a slice, the worst first: what it says, how often it is right, and what noise alone would show.

    The open mark is the mean confidence, the grey bar around it what 95 % of calibrated models stay within; the filled
    mark is the share right, with its interval. Slices that stand out have a filled bar between the two, and a bold name
    after a dot. The model keeps its look, by its number in ``looks``.
    """
    lines, look = dots.lines, style(numbers([model], looks)[model])
    places = np.arange(len(lines))
    says, right = (100 * lines[name].to_numpy(dtype=np.float64) for name in ("claimed", "right"))
    floor = 100 * lines["floor"].fillna(0.0).to_numpy(dtype=np.float64)
    out = lines["stands_out"].to_numpy(dtype=bool)
    ends = [100 * lines[name].to_numpy(dtype=np.float64) for name in ("low", "high")]
    same: dict[str, Any] = {
        "y": places,
        "customdata": _records(dots, model),
        "hovertext": [plain(name) for name in lines["slice"]],
        "hovertemplate": _HOVER,
    }
    bar: dict[str, Any] = {"orientation": "h", "hoverinfo": "skip", "y": places}
    noise = np.clip(says - floor, 0, 100), np.clip(says + floor, 0, 100)
    figure = go.Figure(
        [
            go.Bar(x=noise[1] - noise[0], base=noise[0], width=0.62, marker={"color": NOISE}, name="noise", **bar),
            go.Bar(
                x=np.where(out, right - says, 0.0),
                base=says,
                width=0.14,
                marker={"color": look.colour, "opacity": 0.55},
                name="stands out",
                **bar,
            ),
            go.Scatter(
                x=says,
                mode="markers",
                name="says",
                marker={"symbol": "diamond-open", "size": 11, "color": REFERENCE, "line": {"width": 2}, "opacity": 1},
                cliponaxis=False,
                **same,
            ),
            go.Scatter(
                x=right,
                mode="markers",
                name=f"right, {at_level(dots.level)} interval",
                marker={"symbol": look.symbol, "size": 12, "color": look.colour, "opacity": 1},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": ends[1] - right,
                    "arrayminus": right - ends[0],
                    "color": look.colour,
                    "thickness": 1.5,
                    "width": 4,
                },
                cliponaxis=False,
                **same,
            ),
        ]
    )
    facts = [(f"{s:.1f}", f"{r:.1f}", count(n)) for s, r, n in zip(says, right, lines["rows"].tolist(), strict=True)]
    return finished(
        figure,
        height=110 + _LINE * len(lines),
        barmode="overlay",
        annotations=numbers_at_right(facts, ("says %", "right %", "rows")),
        margin={"r": 182, "t": 28},
        xaxis={"title": "share of the slice's rows", **_axis(np.concatenate([*ends, *noise, says]))},
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


def _axis(shown: np.ndarray[Any, Any]) -> dict[str, Any]:
    """From a whole tenth below what is drawn to one above."""
    known = shown[~np.isnan(shown)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 100.0)
    ends = max(0.0, 10 * np.floor(low / 10)), min(100.0, 10 * np.ceil(high / 10))
    return {"range": [ends[0] - 0.5, ends[1] + 0.5], "ticksuffix": " %", "zeroline": False}


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
    shown = pd.DataFrame(
        {
            "slice": lines["where"],
            "claimed": lines["claimed"],
            "right": lines["right"],
            "rows": lines["rows"],
            "interval": ranges,
            "verdict": verdict,
        }
    )
    return records(shown, model=model)


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
