"""Forest plot of sites: observed to expected events of each, the pooled ratio, and what a new site can have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib_core._base.arrays import Float64s
from calib_core.figures.classes import numbers_at_right
from calib_core.figures.look import REFERENCE, finished
from calib_core.figures.marks import records
from calib_core.figures.shown import draws
from calib_core.figures.verdict_marks import WITHIN_TOLERANCE
from calib_core.results.verdict_table import MISCALIBRATED, TOO_CLOSE, TOO_FEW, VERDICTS, WITHIN
from calib_core.slices.between import BetweenSites
from calib_core.text import count, measured_between, plain, score

_SYMBOLS = {WITHIN: "circle", MISCALIBRATED: "x", TOO_CLOSE: "diamond-open", TOO_FEW: "circle-open"}
"""Mark of each verdict, so that color is not the only one."""
_LEAST, _MOST, _NAME, _LINE = 0.1, 10.0, 40, 26
_TICKS = (0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
_FINE = (0.8, 1.25, 1.5)
"""Ticks that would touch their neighbors on a wide axis."""
_HOVER = (
    "<b>%{hovertext}</b><br>observed : expected %{customdata.ratio:.3~g} (%{customdata.interval})<br>"
    "%{customdata.events:,} events among %{customdata.rows:,} rows<br>%{customdata.verdict}<extra></extra>"
)


@draws(BetweenSites)
def sites(found: BetweenSites) -> go.Figure:
    """Draw the ratio of every site with its simultaneous interval on a log axis, and the pooled ratio below.

    The shaded zone is the tolerance. Marks have the color and form of the verdict. The diamond is the pooled ratio with
    its interval; the thin line below it is the prediction interval of a new site. Intervals are cut at 0.1 and 10.
    """
    lines = found.sites
    places = np.arange(len(lines), dtype=np.float64)
    ratio, low, high = (_within(lines[name]) for name in ("ratio", "ratio_low", "ratio_high"))
    figure = go.Figure()
    for verdict, symbol in _SYMBOLS.items():
        here = np.flatnonzero(lines["verdict"] == verdict)
        if len(here):
            figure.add_trace(_marks(lines.iloc[here], places[here], (ratio[here], low[here], high[here]), symbol))
    names = [plain(name if len(name) <= _NAME else f"{name[: _NAME - 1].rstrip()}…") for name in lines["slice"]]
    facts = [
        (score(line["ratio"]), count(round(line["events"])), count(line["rows"])) for line in lines.to_dict("records")
    ]
    pooled: Any = found.pooled.to_dict("records")[0]
    ends = [low, high]
    if np.isfinite(pooled["mean"]):
        last = float(len(lines))
        figure.add_traces(_pooled(pooled, last))
        names += ["pooled", "a new one"] if np.isfinite(pooled["new_high"]) else ["pooled"]
        ends.append(_within(pd.Series([pooled[name] for name in ("low", "high", "new_low", "new_high")])))
        facts += [(score(pooled["mean"]), "", "")] + [("", "", "")] * (len(names) - len(lines) - 1)
    shown = np.concatenate([*ends, np.array([1 / found.ratio, found.ratio])])
    least, most = float(np.nanmin(shown)) / 1.05, float(np.nanmax(shown)) * 1.05
    zone = {"type": "rect", "xref": "x", "yref": "paper", "x0": 1 / found.ratio, "x1": found.ratio, "y0": 0, "y1": 1}
    line = {"type": "line", "xref": "x", "yref": "paper", "x0": 1, "x1": 1, "y0": 0, "y1": 1}
    wide = most > 2.5 * least
    ticks = [tick for tick in _TICKS if least <= tick <= most and not (wide and tick in _FINE)]
    return finished(
        figure,
        height=110 + _LINE * len(names),
        annotations=numbers_at_right(facts, ("O : E", "events", "rows")),
        shapes=[
            {**zone, "fillcolor": WITHIN_TOLERANCE, "line": {"width": 0}, "layer": "below"},
            {**line, "line": {"color": REFERENCE, "width": 1.5, "dash": "dash"}, "layer": "below"},
        ],
        margin={"r": 204, "t": 28},
        xaxis={
            "title": "observed : expected events",
            "type": "log",
            "range": [float(np.log10(least)), float(np.log10(most))],
            "tickvals": ticks,
            "ticktext": [f"{tick:g}" for tick in ticks],
            "zeroline": False,
        },
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "range": [len(names) - 0.5, -0.5],
            "showgrid": False,
            "ticks": "",
        },
        uirevision="sites",
    )


def _within(values: pd.Series[Any]) -> Float64s:
    """Ratios cut at the ends of the axis."""
    return np.asarray(np.clip(values.to_numpy(dtype=np.float64), _LEAST, _MOST))


def _marks(lines: pd.DataFrame, y: Float64s, x: tuple[Float64s, Float64s, Float64s], symbol: str) -> go.Scatter:
    """Sites with one verdict."""
    ratio, low, high = x
    look = VERDICTS[str(lines["verdict"].iloc[0])]
    table = pd.DataFrame(
        {
            "slice": lines["where"],
            "ratio": lines["ratio"],
            "interval": [
                measured_between(a, b, "score") for a, b in zip(lines["ratio_low"], lines["ratio_high"], strict=True)
            ],
            "events": lines["events"].round().astype(int),
            "rows": lines["rows"],
            "verdict": look.in_full,
        }
    )
    return go.Scatter(
        x=ratio,
        y=y,
        mode="markers",
        name=look.in_full,
        marker={
            "symbol": symbol,
            "size": 11,
            "color": look.colour,
            "opacity": 1,
            "line": {"width": 2, "color": look.colour},
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": high - ratio,
            "arrayminus": ratio - low,
            "color": look.colour,
            "thickness": 1.5,
            "width": 4,
        },
        customdata=records(table),
        hovertext=[plain(name) for name in lines["slice"]],
        hovertemplate=_HOVER,
        cliponaxis=False,
    )


def _pooled(line: dict[str, Any], y: float) -> list[go.Scatter]:
    """The pooled ratio with its interval, and the prediction interval of a new site."""
    mean, low, high, new_low, new_high = _within(
        pd.Series([line[name] for name in ("mean", "low", "high", "new_low", "new_high")])
    )
    hidden: dict[str, Any] = {"hoverinfo": "skip", "mode": "lines"}
    traces = [
        go.Scatter(x=[low, high], y=[y, y], line={"color": REFERENCE, "width": 3}, showlegend=False, **hidden),
        go.Scatter(
            x=[mean],
            y=[y],
            mode="markers",
            name="pooled",
            marker={"symbol": "diamond", "size": 13, "color": REFERENCE},
            hovertemplate=f"pooled {score(line['mean'])} ({measured_between(line['low'], line['high'], 'score')})"
            "<extra></extra>",
        ),
    ]
    if np.isfinite(line["new_high"]):
        thin = {"color": REFERENCE, "width": 1.5, "dash": "dot"}
        traces.append(go.Scatter(x=[new_low, new_high], y=[y + 1, y + 1], line=thin, name="a new one", **hidden))
    return traces
