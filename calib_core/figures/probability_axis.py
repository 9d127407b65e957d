"""Axes of probabilities, linear or in log-odds (for models with confidences above 0.99), and headings of panels.

A heading has the model, its error with the interval, and the verdict as a word, with drawn icons.
"""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from calib_core._base.arrays import Float64s
from calib_core._base.errors import InputError
from calib_core.figures.marks import symbol
from calib_core.figures.verdict_marks import icon
from calib_core.palette import Style
from calib_core.results.verdict_table import in_full
from calib_core.text import between, plain, short_percent

AXES = ("linear", "log-odds")
"""Kinds of axes of probabilities."""
_ROOM = 0.025
"""Free share of a linear axis beyond 0 and 1, so that no mark is cut."""
_TICKS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
_MORE = (0.01, 0.05, 0.3, 0.7, 0.95, 0.99, 0.9999)
_FINEST = 1e-7
"""Distance to 0 or 1 below which a probability is at the end of a log-odds axis."""


@dataclass(frozen=True)
class ProbabilityAxis:
    """Axis of probabilities from ``low`` to ``high``, in axis units."""

    kind: str
    low: float
    high: float

    def place(self, values: ArrayLike) -> Float64s:
        """Positions of probabilities; in log-odds those beyond the axis are at its ends.

        >>> ProbabilityAxis("log-odds", -5, 5).place([0.0, 0.5, 0.9]).round(2).tolist()
        [-5.0, 0.0, 2.2]
        """
        shares = np.asarray(values, dtype=np.float64)
        if self.kind == "linear":
            return shares
        inside = np.clip(shares, 1e-15, 1 - 1e-15)
        return np.asarray(np.clip(np.log(inside) - np.log1p(-inside), self.low, self.high))

    def layout(self, room: float = _ROOM, few: bool = False) -> dict[str, object]:
        """Range and ticks in percent, optionally few; ``room`` is a share of the axis beyond its ends."""
        more = room * (self.high - self.low)
        found: dict[str, Any] = {"range": [self.low - more, self.high + more], "zeroline": False}
        if self.kind == "linear":
            return {**found, **percent_ticks([0, 0.5, 1] if few else [0, 0.2, 0.4, 0.6, 0.8, 1])}
        ticks = [
            tick for tick in _TICKS if self.low < np.log(tick / (1 - tick)) < self.high and not (few and tick in _MORE)
        ]
        words = [f"{100 * tick:.6g} %" for tick in ticks]
        return {**found, "tickvals": [float(self.place(tick)) for tick in ticks], "ticktext": words}

    def between(self, n: int = 201) -> Float64s:
        """Probabilities that are equally spaced on the axis."""
        places = np.linspace(self.low, self.high, n)
        return places if self.kind == "linear" else np.asarray(1 / (1 + np.exp(-places)))


def percent_ticks(ticks: Sequence[float]) -> dict[str, list[float] | list[str]]:
    """Ticks of an axis at these shares, the last one with the unit.

    >>> percent_ticks([0, 0.5, 1])["ticktext"]
    ['0', '50', '100 %']
    """
    texts = [f"{100 * tick:.4g}" for tick in ticks]
    return {"tickvals": list(ticks), "ticktext": [*texts[:-1], f"{texts[-1]} %"]}


def axis_for(kind: str, *values: ArrayLike) -> ProbabilityAxis:
    """Axis that includes all these probabilities; NaN are ignored.

    >>> axis_for("linear", [0.5, 0.9])
    ProbabilityAxis(kind='linear', low=0.0, high=1.0)
    """
    if kind not in AXES:
        raise InputError(f"the axis is {kind!r}; it must be one of {', '.join(AXES)}")
    if kind == "linear":
        return ProbabilityAxis(kind, 0.0, 1.0)
    every = np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in values])
    inside = every[(every > _FINEST) & (every < 1 - _FINEST)]
    if not len(inside):
        inside = np.array([0.1, 0.9])
    ends = np.log(inside / (1 - inside))
    return ProbabilityAxis(kind, min(float(ends.min()) - 0.7, -0.5), max(float(ends.max()) + 0.7, 0.5))


def on_axis(trace: go.Scatter, axis: ProbabilityAxis) -> go.Scatter:
    """Trace of probabilities over probabilities in axis units, including its error bars."""
    if axis.kind == "linear":
        return trace
    x, y = (np.asarray(values, dtype=np.float64) for values in (trace.x, trace.y))
    moved = go.Scatter(trace).update(x=axis.place(x), y=axis.place(y))
    if trace.hovertemplate:  # it still shows the probabilities
        hover = trace.hovertemplate.replace("%{x", "%{customdata[0]").replace("%{y", "%{customdata[1]")
        moved.update(customdata=np.column_stack([x, y]), hovertemplate=hover)
    whiskers = trace.error_y
    if whiskers.array is not None:
        up = np.asarray(whiskers.array, dtype=np.float64)
        down = up if whiskers.arrayminus is None else np.asarray(whiskers.arrayminus, dtype=np.float64)
        middle = axis.place(y)
        ends = {"array": axis.place(y + up) - middle, "arrayminus": middle - axis.place(y - down)}
        moved.update(error_y={**ends, "symmetric": False})
    return moved


Pieces: TypeAlias = dict[str, list[dict[str, object]]]
"""Annotations and shapes of a layout."""

_LONGEST = 24
_SIGNS, _LETTERS, _LINE, _ABOVE = 18, 13, 16.9, 4
"""Pixels of the column of icons, of the letters, between lines, and from the plot up to the last line."""


def heading(title: str, look: Style, verdicts: pd.DataFrame | None, x: float, y: float) -> Pieces:
    """Annotation and shapes of a heading, as arguments of a layout, with the lower left corner at (x, y) on the paper.

    Without a verdict it is only the title.
    """
    names = [f"<b>{plain(line)}</b>" for line in name_lines(title)]
    judged = _judged(title, verdicts)
    word = None if judged is None else judged["verdict"]
    lines = [*names, *([] if judged is None else [_error(judged)]), *([in_full(word)] if word else [])]
    text = {
        "text": "<br>".join(lines), "x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left",
        "yanchor": "bottom", "xshift": _SIGNS, "yshift": _ABOVE, "align": "left", "showarrow": False,
        "font": {"size": _LETTERS},
    }  # fmt: skip
    place: dict[str, Any] = {"xref": "paper", "xanchor": x, "yref": "paper", "yanchor": y}
    first, last = _ABOVE + _LINE * (len(lines) - 0.5), _ABOVE + _LINE / 2
    signs = [
        symbol(look, _SIGNS / 2, first, **place),
        *(icon(word, _SIGNS / 2, last, 6.5, **place) if word else []),
    ]
    return {"annotations": [text], "shapes": signs}


def name_lines(title: str) -> list[str]:
    """Title broken into lines of a panel's width, at most two.

    >>> name_lines("predictions.csv, Temperature scaling")
    ['predictions.csv,', 'Temperature scaling']
    """
    return textwrap.wrap(title, _LONGEST, max_lines=2, placeholder="…") or [title]


def _judged(title: str, verdicts: pd.DataFrame | None) -> Mapping[Hashable, Any] | None:
    """Row of a model whose error is a share of rows."""
    if verdicts is None:
        return None
    line = next(iter(verdicts[verdicts["model"] == title].to_dict("records")), None)
    return None if line is None or pd.isna(line["point"]) or line["unit"] != "share" else line


def _error(line: Mapping[Hashable, Any]) -> str:
    ends = between(line["low"], line["high"]).removesuffix(" %")
    return f"error <b>{short_percent(line['point']).removesuffix(' %')}</b> ({ends}) points"
