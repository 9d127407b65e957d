"""Models in one bin or range: how often each is right there, with its interval, beside what it says."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import numbers, records, symbols
from calib_core.figures.probability_axis import percent_ticks
from calib_core.figures.symbol import symbol
from calib_core.text import count, in_percent, plain, share_range

_LINE, _BELOW = 46, 28
"""Pixels of a model: its words above its interval; and of the numbers of the axis."""
_UP, _LONGEST = 17, 24
"""Pixels that a name stands above its line, and its most letters."""
_HOVER = "%{hovertext}<extra></extra>"


def models_in_range(table: pd.DataFrame, *, looks: Mapping[str, int] | None = None) -> go.Figure:
    """A line a model of a table of `diagrams.models_in_range`: share right with its interval, a tick at what it says.

    Hollow marks are of fewer than 10 rows; of none there is no mark. A model keeps its look, that of its number in
    ``looks``.
    """
    lines, found = table.to_dict("records"), numbers(table["model"], looks)
    figure = go.Figure()
    for i, line in enumerate(lines):
        if line["rows"]:
            figure.add_traces(_marks(line, i, found[str(line["model"])]))
    ticks = _ticks(table)
    low, high = ticks[0], ticks[-1]
    return finished(
        figure,
        height=_LINE * len(lines) + _BELOW,
        margin={"l": 10, "r": 14, "t": 2, "b": _BELOW},
        showlegend=False,
        xaxis={
            "range": [low - 0.02 * (high - low), high + 0.02 * (high - low)],
            **percent_ticks(ticks),
            "zeroline": False,
            "fixedrange": True,
        },
        yaxis={
            "range": [len(lines) - 0.6, -0.75],
            "showticklabels": False,
            "showgrid": False,
            "zeroline": False,
            "showline": False,
            "ticks": "",
            "fixedrange": True,
        },
        shapes=[
            symbol(style(found[str(line["model"])]), 2, _UP, 6, xref="paper", xanchor=0, yref="y", yanchor=i)
            for i, line in enumerate(lines)
        ],
        annotations=[words for i, line in enumerate(lines) for words in _words(line, i, found[str(line["model"])])],
        font={"size": 13},
        uirevision="models of a bin",
    )


def _marks(line: dict[Hashable, Any], i: int, look: int) -> list[go.Scatter]:
    """The interval with its point, and the tick at what is said."""
    own, title = style(look), str(line["model"])
    says = f"{plain(title)}: says {in_percent(line['says'])}, right {in_percent(line['right'])}"
    shared: dict[str, Any] = {
        "y": [i],
        "mode": "markers",
        "cliponaxis": False,
        "customdata": records(pd.DataFrame([{"model": title}])),
        "hovertext": [f"{says} ({share_range(line['right_low'], line['right_high'])}), {count(line['rows'])} rows"],
        "hovertemplate": _HOVER,
    }
    right = go.Scatter(
        x=[line["right"]],
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [line["right_high"] - line["right"]],
            "arrayminus": [line["right"] - line["right_low"]],
            "color": own.colour,
            "thickness": 2.2,
            "width": 0,
        },
        marker={
            "symbol": str(symbols(own, line["rows"])),
            "size": 13,
            "opacity": 1,
            "color": own.colour,
            "line": {"width": 1.5, "color": own.colour},
        },
        name=f"{plain(title)}: right",
        **shared,
    )
    tick = {"symbol": "line-ns", "size": 11, "line": {"width": 2.5, "color": REFERENCE}}
    return [right, go.Scatter(x=[line["says"]], marker=tick, name=f"{plain(title)}: says", **shared)]


def _words(line: dict[Hashable, Any], i: int, look: int) -> list[dict[str, Any]]:
    """The model's name above its line, and its numbers at the right of it."""
    title = str(line["model"])
    name = plain(title if len(title) <= _LONGEST else f"{title[: _LONGEST - 1]}…")
    facts = "no rows here"
    if line["rows"]:
        ends = share_range(line["right_low"], line["right_high"]).removesuffix(" %")
        rows = f"{count(line['rows'])} row{'s' * (line['rows'] != 1)}"
        facts = f"<b>{in_percent(line['right'])}</b> ({ends}) · {rows}"
    shared = {"y": i, "yshift": _UP, "xref": "paper", "showarrow": False}
    return [
        {**shared, "x": 0, "xanchor": "left", "xshift": 10, "text": f"<b>{name}</b>"},
        {**shared, "x": 1, "xanchor": "right", "xshift": 8, "text": facts},
    ]


def _ticks(table: pd.DataFrame) -> list[float]:
    """Tenths, or fifths, from below all that is drawn to above it; of 0 to 1 where nothing is."""
    drawn = table[["says", "right_low", "right_high"]].to_numpy(dtype=np.float64)
    drawn = drawn[~np.isnan(drawn)]
    least, most = (float(drawn.min()), float(drawn.max())) if len(drawn) else (0.0, 1.0)
    step = 0.1 if most - least < 0.45 else 0.2
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return [round(step * i, 1) for i in range(first, max(last, first + 1) + 1)]
