"""Leaderboard of the arena: win rate, relative improvement and share made worse of every method, in aligned panels."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib_core._base.arrays import Bools
from calib_core.arena.contenders import BASE, RECOMMENDED
from calib_core.arena.leaderboard import Leaderboard
from calib_core.figures.look import REFERENCE, finished
from calib_core.figures.marks import Record, records
from calib_core.figures.shown import draws
from calib_core.palette import COLOURS
from calib_core.text import at_level, between, in_percent, plain, score, short_percent

_LINE, _ABOVE, _BELOW = 26, 50, 34
"""Pixels of a line, above the first line and below the last."""
_REACH = 1.5
"""A fall below 0 is drawn up to this many times the largest gain; what is beyond is an arrow."""
_LEAST = 0.1
"""Smallest distance from 0 at which an improvement is cut."""


class _Panel(NamedTuple):
    """Column of the table in a panel: its axis, place, right end of its numbers, titles, reference and marks.

    ``narrow`` and ``short`` are place and title in a narrow column.
    """

    column: str
    axis: str
    place: tuple[float, float]
    numbers: float
    title: str
    below: str
    reference: float | None
    colour: str
    symbol: str
    narrow: tuple[float, float]
    short: str


_PANELS = (
    _Panel("win_rate", "x", (0.0, 0.19), 0.275, "Win rate", "of all comparisons, %", 0.5, COLOURS[0], "circle",
           (0.0, 0.24), "Win<br>rate, %"),
    _Panel("ratio", "x2", (0.32, 0.52), 0.615, "Relative improvement", "of log loss, %", 0.0, COLOURS[0], "circle",
           (0.31, 0.67), "Improvement,<br>%"),
    _Panel("worse", "x3", (0.66, 0.81), 0.885, "Made worse", "of experiments, %", None, COLOURS[1], "diamond",
           (0.77, 1.0), "Made<br>worse, %"),
)  # fmt: skip
_SECONDS = (0.915, 1.0)
_NOTHING = {"showticklabels": False, "showline": False, "showgrid": False, "zeroline": False, "ticks": ""}


@draws(Leaderboard)
def leaderboard(board: Leaderboard) -> go.Figure:
    """Draw win rate, relative improvement and share made worse of every method with their intervals, and its seconds.

    A filled mark's interval excludes 50 % or 0 (dashed); shares made worse are filled if they have an interval. The
    recommended calibrator has a band. The original model, with which all others are compared, is gray.
    """
    lines = board.lines
    every = _records(board)
    figure = go.Figure()
    for panel in _PANELS:
        ends = _ends(lines, panel)
        for name, which, marker in _kinds(lines, panel):
            figure.add_trace(_marks(lines, panel, ends, name, which, marker, every))
    columns = {panel.column: (panel.place[1], panel.numbers) for panel in _PANELS} | {"seconds": _SECONDS}
    for i, column in enumerate(columns, 4):
        figure.add_trace(_texts(lines, column, f"x{i}", every))
    n = len(lines)
    return finished(
        figure,
        shapes=[*_bands(lines), *_references(n)],
        annotations=_headings(),
        meta={"narrow": _narrow()},
        **{f"{panel.axis[0]}axis{panel.axis[1:]}": _axis(lines, panel) for panel in _PANELS},
        **{
            f"xaxis{i}": {"domain": place, "range": [0, 1], "anchor": "y", "fixedrange": True, **_NOTHING}
            for i, place in enumerate(columns.values(), 4)
        },
        yaxis={
            "range": [n - 0.5, -0.5],
            "tickvals": list(range(n)),
            "ticktext": _names(lines),
            "ticks": "",
            "showline": False,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        margin={"l": 8, "r": 8, "t": _ABOVE, "b": _BELOW},
        showlegend=False,
        uirevision="leaderboard",
        height=_LINE * n + _ABOVE + _BELOW,
    )


def _narrow() -> dict[str, Any]:
    """Form in a narrow column: the marks show the numbers, and there is no room for the seconds."""
    axes = {f"{panel.axis[0]}axis{panel.axis[1:]}": {"domain": panel.narrow, "nticks": 3} for panel in _PANELS}
    above = _above("left")
    headings = [{**above, "x": panel.narrow[0], "text": f"<b>{panel.short}</b>"} for panel in _PANELS]
    return {
        "without": [*(panel.column for panel in _PANELS), "seconds"],
        "layout": {**axes, "annotations": headings},
    }


def _names(lines: pd.DataFrame) -> list[str]:
    strong = lines["method"].isin((BASE.name, RECOMMENDED.name))
    return [f"<b>{plain(title)}</b>" if b else plain(title) for title, b in zip(lines["title"], strong, strict=True)]


def _records(board: Leaderboard) -> list[Record]:
    """Records of every line: its numbers as they are written, and their intervals."""
    found = pd.DataFrame({"method": board.lines["title"]})
    for panel in _PANELS:
        column = panel.column
        found[column] = _written(board.lines, column)
        ends = zip(board.lines[f"{column}_low"], board.lines[f"{column}_high"], strict=True)
        level = at_level(board.level)
        found[f"{column}_range"] = [
            "no interval" if math.isnan(low) else f"{between(low, high)}, {level} interval" for low, high in ends
        ]
    found["seconds"] = _written(board.lines, "seconds")
    return records(found)


_HOVER = (
    "<b>%{hovertext}</b><br>win rate %{customdata.win_rate} (%{customdata.win_rate_range})<br>relative improvement "
    "%{customdata.ratio} (%{customdata.ratio_range})<br>share made worse %{customdata.worse} "
    "(%{customdata.worse_range})<br>%{customdata.seconds} seconds<extra></extra>"
)


def _written(lines: pd.DataFrame, column: str) -> list[str]:
    """Numbers of a column as text; an improvement has its sign."""
    if column == "seconds":
        return [score(float(f"{value:.2g}")) for value in lines[column]]
    if column == "ratio":
        return [("+" if value > 0 else "") + short_percent(value) for value in lines[column]]
    return [in_percent(value) if math.isfinite(value) else "–" for value in lines[column]]


def _kinds(lines: pd.DataFrame, panel: _Panel) -> list[tuple[str, Bools, dict[str, Any]]]:
    """Kinds of marks in a panel: name, lines and marker."""
    base = (lines["method"] == BASE.name).to_numpy()
    low, high = (lines[f"{panel.column}_{end}"].to_numpy() for end in ("low", "high"))
    mark = panel.reference
    clear = np.isfinite(low) & ~base if mark is None else (low > mark) | (high < mark)
    return [
        (
            f"{panel.title}{', filled' if full else ''}{', original model' if of_base else ''}",
            (base == of_base) & (clear == full),
            {
                "symbol": panel.symbol if full else f"{panel.symbol}-open",
                "color": REFERENCE if of_base else panel.colour,
                "size": 10,
                "line": {"width": 0 if full else 2},
            },
        )
        for of_base in (False, True)
        for full in (False, True)
    ]


def _ends(lines: pd.DataFrame, panel: _Panel) -> tuple[float, float]:
    """Ends of a panel's axis before room is added: of all intervals, for falls up to ``_REACH``."""
    known = lines[[panel.column, f"{panel.column}_low", f"{panel.column}_high"]].to_numpy(dtype=float)
    known = known[np.isfinite(known)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if panel.reference is None:
        return 0.0, max(high, 0.02)
    low, high = min(low, panel.reference), max(high, panel.reference)
    return (max(low, -max(_LEAST, _REACH * high)), high) if panel.reference == 0.0 else (low, high)


def _axis(lines: pd.DataFrame, panel: _Panel) -> dict[str, Any]:
    low, high = _ends(lines, panel)
    room = 0.06 * max(high - low, 0.02)
    return {
        "domain": panel.place,
        "range": [100 * (low - room), 100 * (high + room)],
        "anchor": "y",
        "nticks": 6,
        "tickangle": 0,
        "zeroline": False,
        "showgrid": True,
        "fixedrange": True,
    }


def _marks(
    lines: pd.DataFrame,
    panel: _Panel,
    ends: tuple[float, float],
    name: str,
    which: Bools,
    marker: dict[str, Any],
    every: list[Record],
) -> go.Scatter:
    part = lines[which]
    value = part[panel.column].to_numpy(dtype=float)
    x, low, high = (
        100 * np.clip(part[f"{panel.column}{end}"].to_numpy(dtype=float), *ends) for end in ("", "_low", "_high")
    )
    beyond = value < ends[0]
    return go.Scatter(
        x=x,
        y=np.flatnonzero(which),
        error_x={
            "type": "data",
            "symmetric": False,
            "array": np.nan_to_num(high - x),
            "arrayminus": np.nan_to_num(x - low),
            "thickness": 2,
            "width": 0,
            "color": marker["color"],
        },
        mode="markers",
        marker={**marker, "symbol": np.where(beyond, "triangle-left", marker["symbol"]).tolist(), "opacity": 1},
        name=name,
        xaxis=panel.axis,
        cliponaxis=False,
        customdata=[record for record, mine in zip(every, which, strict=True) if mine],
        hovertext=[plain(title) for title in part["title"]],
        hovertemplate=_HOVER,
    )


def _texts(lines: pd.DataFrame, column: str, axis: str, every: list[Record]) -> go.Scatter:
    """Numbers of a column, aligned at their right end; none where the original model is the reference."""
    texts = _written(lines, column)
    if column != "win_rate":
        texts = ["" if name == BASE.name else text for name, text in zip(lines["method"], texts, strict=True)]
    bold = lines["method"] == RECOMMENDED.name
    return go.Scatter(
        x=np.ones(len(lines)),
        y=list(range(len(lines))),
        mode="text",
        text=[f"<b>{text}</b>" if b else text for text, b in zip(texts, bold, strict=True)],
        textposition="middle left",
        cliponaxis=False,
        xaxis=axis,
        name=column,
        customdata=every,
        hovertext=[plain(title) for title in lines["title"]],
        hovertemplate=_HOVER,
    )


def _bands(lines: pd.DataFrame) -> list[dict[str, Any]]:
    """Band of the recommended calibrator, and a thin line below every method, across names and numbers."""
    across = {"xref": "paper", "xsizemode": "pixel", "xanchor": 0, "x0": -1000, "x1": 4000, "layer": "below"}
    rule = {"type": "line", "line": {"color": REFERENCE, "width": 0.5}, "opacity": 0.4}
    band = {"type": "rect", "fillcolor": "rgba(0, 114, 178, 0.12)", "line": {"width": 0}}
    chosen = np.flatnonzero(lines["method"] == RECOMMENDED.name).tolist()
    return [
        *({**across, **band, "y0": i - 0.5, "y1": i + 0.5} for i in chosen),
        *({**across, **rule, "y0": i - 0.5, "y1": i - 0.5} for i in range(len(lines))),
    ]


def _references(n: int) -> list[dict[str, Any]]:
    """Dashed lines at 50 % and at 0."""
    dashed = {"type": "line", "y0": -0.5, "y1": n - 0.5, "layer": "below",
              "line": {"color": REFERENCE, "dash": "dash", "width": 1.5}}  # fmt: skip
    known = [(panel.axis, 100 * panel.reference) for panel in _PANELS if panel.reference is not None]
    return [{**dashed, "xref": axis, "x0": x, "x1": x} for axis, x in known]


def _above(side: str) -> dict[str, Any]:
    """Place of a heading above the first line, at this side of its position."""
    return {"xref": "paper", "yref": "paper", "y": 1, "xanchor": side, "yanchor": "bottom", "yshift": 4, "align": side,
            "showarrow": False, "font": {"size": 13}}  # fmt: skip


def _headings() -> list[dict[str, Any]]:
    """Titles of the panels and of the seconds, above the first line."""
    panels = [
        {**_above("left"), "x": panel.place[0], "text": f"<b>{panel.title}</b><br>{panel.below}"} for panel in _PANELS
    ]
    return [*panels, {**_above("right"), "x": 1, "text": "<b>Seconds</b><br>median"}]
