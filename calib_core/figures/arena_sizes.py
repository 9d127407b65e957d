"""Regret of methods of the arena by calibration rows, in one panel per group of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from calib_core.arena.contenders import BASE, RECOMMENDED, title_of
from calib_core.arena.leaderboard import Leaderboard
from calib_core.figures.look import REFERENCE, finished, style
from calib_core.predictions.predictions import InputError
from calib_core.text import plain, rounded

FIRST = 3
"""Number of methods that are drawn by default beside the recommended calibrator and no calibration."""
_GAP = 0.06
_LEAST = 0.03
"""Regret in 0.001 nats below which a mark is drawn at the axis: its logarithm has no end."""


def regret_by_size(board: Leaderboard, methods: Sequence[str] | None = None) -> go.Figure:
    """Draw the mean regret of methods by the number of calibration rows, on a logarithmic axis.

    Regret is the log loss minus that of the best method of each experiment, in 0.001 nats (``arena.table``). Each group
    of classes has a panel. ``methods`` are names of methods. By default they are the recommended calibrator, no
    calibration, and the ``FIRST`` other methods of the board. InputError for a method that is not on the board.
    """
    there = board.lines["method"].tolist()
    fixed = [name for name in (RECOMMENDED.name, BASE.name) if name in there]
    chosen = list(methods) if methods is not None else [*fixed, *[n for n in there if n not in fixed][:FIRST]]
    if unknown := [name for name in chosen if name not in there]:
        raise InputError(f"the leaderboard has no method {unknown[0]!r:.80}")
    sizes = board.by_size
    panels = list(dict.fromkeys(sizes["classes"]))
    # Groups by rows are in the order of the table; later panels can have further ones.
    ticks = list(dict.fromkeys(sizes.sort_values("rows", key=lambda each: each.map(_first), kind="stable")["rows"]))
    width = (1 - _GAP * (len(panels) - 1)) / len(panels)
    figure, axes, headings = go.Figure(), dict[str, Any](), list[dict[str, Any]]()
    for i, classes in enumerate(panels):
        place = (i * (width + _GAP), i * (width + _GAP) + width)
        here = sizes[sizes["classes"] == classes]
        axes[f"xaxis{i + 1}"] = {"domain": place, "anchor": "y", "title": "calibration rows", "fixedrange": True,
                                 "range": [-0.3, len(ticks) - 0.7], "tickvals": list(range(len(ticks))),
                                 "ticktext": ticks, "zeroline": False}  # fmt: skip
        headings.append({"x": place[0], "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left", "yshift": 6,
                         "yanchor": "bottom", "showarrow": False, "text": f"<b>Classes: {classes}</b>"})  # fmt: skip
        for j, name in enumerate(chosen):
            line = here[here["method"] == name]
            look, title = style(j), plain(title_of(name))
            colour = REFERENCE if name == BASE.name else look.colour
            figure.add_trace(
                go.Scatter(
                    x=[ticks.index(rows) for rows in line["rows"]],
                    y=line["regret"].clip(lower=_LEAST),
                    mode="lines+markers",
                    line={"color": colour, "width": 3 if name == RECOMMENDED.name else 1.5, "dash": look.dash},
                    marker={"size": 9, "color": colour, "symbol": look.symbol, "opacity": 1},
                    name=title,
                    legendgroup=title,
                    showlegend=i == 0,
                    xaxis=f"x{i + 1}",
                    customdata=[
                        [rounded(regret, 1), f"{experiments:,}"]
                        for regret, experiments in zip(line["regret"], line["experiments"], strict=True)
                    ],
                    hovertemplate=f"<b>{title}</b><br>regret %{{customdata[0]}} in 0.001 nats<br>"
                    "%{customdata[1]} experiments<extra></extra>",
                )
            )
    return finished(
        figure,
        annotations=headings,
        **axes,
        yaxis={"type": "log", "dtick": 1, "title": "regret, 0.001 nats", "fixedrange": True},
        showlegend=True,
        margin={"t": 44, "b": 96},
        height=420,
    )


def _first(rows: str) -> int:
    """Lower end of a group's name, for its order.

    >>> [_first(rows) for rows in ("up to 200", "201 to 1,000", "above 5,000")]
    [0, 201, 5000]
    """
    start, _, rest = rows.partition(" ")
    number = {"up": "0", "above": rest}.get(start, start)
    return int(number.replace(",", ""))
