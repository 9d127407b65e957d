"""Verdict strip: noise floor, tolerance, interval and point of every model on one axis, with word and icon."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.tolerance_axis import VerdictStrip
from calib_core.figures.look import REFERENCE, finished
from calib_core.figures.marks import numbers
from calib_core.figures.paper import shortened, text_width
from calib_core.figures.shown import draws
from calib_core.figures.two_tolerances import both_tolerances
from calib_core.figures.verdict_marks import WITHIN_TOLERANCE, floors, icon, interval_of, raw_values, title_of
from calib_core.text import at_level, plain, short_percent

ROW, HEAD, FOOT, RIGHT = 48, 26, 56, 236
"""Pixels of a model's row, of the parts above and below the rows, and of the text at the right."""
MANY, CLOSE_ROW = 5, 42
"""Rows from which on they are closer, and the pixels of one."""
_LONGEST = 24
_ABOVE, _NUMBERS, _TALL_ROW, _NAME = 20, 34, 56, 225
"""Pixels in a narrow column: of text above a row, of the axis's numbers, of a row, and of a name."""
_HALF = 0.009
"""Half the width of a digit on a narrow page, as a share of the axis."""


@draws(VerdictStrip)
def verdict_strip(strip: VerdictStrip, *, looks: Mapping[str, int] | None = None) -> go.Figure:
    """Draw interval and point of every model, the tolerance (dashed), and each verdict at the right.

    Below each interval, the hatched noise floor is a bracket for the raw value.
    For an event a second axis below it has the observed to expected ratio and its tolerance; verdicts are
    below the names. A model keeps its style, by its number in ``looks``.
    """
    places = numbers(strip.names, looks)
    if strip.ratio_limit is not None:
        return both_tolerances(strip, places)
    rows = range(len(strip.names))
    most = 106 * float(np.nanmax([1.3 * strip.eps, *strip.high, *strip.value, *strip.floor], initial=0.0))
    height = HEAD + FOOT + (ROW if len(strip.names) < MANY else CLOSE_ROW) * len(strip.names)
    each = (_row(strip, i, places[name]) for i, name in enumerate(strip.names))
    figure = go.Figure([floors(strip, "noise floor", "noise floor"), raw_values(strip), *each])
    # One legend entry for the interval: rows differ in color and shape.
    figure.add_scatter(
        x=[None], y=[None], mode="lines", name=f"{at_level(strip.level)} interval", hoverinfo="skip",
        line={"color": REFERENCE, "width": 3},
    )  # fmt: skip
    tolerance = f"tolerance {short_percent(strip.eps)}"
    left = 100 * strip.eps < 0.12 * most
    figure.update_layout(
        shapes=[*_tolerance(100 * strip.eps), *(shape for i in rows for shape in _icon(strip.words[i], i))],
        annotations=[
            {"x": 100 * strip.eps, "y": 1, "yref": "paper", "text": f"<b>{tolerance}</b>", "showarrow": False,
             "xanchor": "left" if left else "center", "yanchor": "bottom", "yshift": 2, "xshift": -8 if left else 0},
            *(words for i in rows for words in _words(strip, i, most)),
        ],
    )  # fmt: skip
    return finished(
        figure,
        xaxis={"range": [0, most], "ticksuffix": " %", "zeroline": False, "showgrid": False, "nticks": 8},
        yaxis={
            "range": [len(strip.names) - 0.5, -0.5],
            "tickvals": list(rows),
            "ticktext": [f"<b>{'<br>'.join(map(plain, _folded(name)))}</b>" for name in strip.names],
            "ticks": "",
            "ticklabelstandoff": 8,
            "showgrid": False,
            "showline": False,
            "zeroline": False,
            "fixedrange": True,
        },
        legend={"xref": "container", "x": 0, "xanchor": "left", "yref": "container", "y": 0, "yanchor": "bottom"},
        barmode="overlay",
        meta={"narrow": _narrow(strip)},
        margin={"l": _left(strip.names), "r": RIGHT, "t": HEAD, "b": FOOT, "autoexpand": False},
        height=height,
        uirevision=f"verdict {most:.3g}",
    )


def _narrow(strip: VerdictStrip) -> dict[str, Any]:
    """Form in a narrow column: name, number and verdict are above their row."""
    here: dict[str, Any] = {"xref": "paper", "yref": "y", "showarrow": False, "yshift": _ABOVE}
    words: list[dict[str, Any]] = []
    signs: list[dict[str, Any]] = []
    for i, name in enumerate(strip.names):
        number = f"<b>{short_percent(float(strip.point[i]))}</b> " if math.isfinite(float(strip.point[i])) else ""
        bold = shortened(f"<b>{plain(name)}</b>", _NAME, 14)
        verdict = f"{number}{title_of(strip.words[i])}"
        words += [
            here | {"x": 0, "y": i, "xanchor": "left", "xshift": -8, "text": bold},
            here | {"x": 1, "y": i, "xanchor": "right", "text": verdict},
        ]
        before = -text_width(f"<b>{verdict}</b>", 14) - 14
        signs += icon(strip.words[i], before, _ABOVE, 7, xref="paper", xanchor=1, yref="y", yanchor=i)
    limit = 100 * strip.eps
    above = {"x": limit, "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "bottom", "xshift": -8, "yshift": 2}
    title = above | {"showarrow": False, "text": f"<b>tolerance {short_percent(strip.eps)}</b>"}
    return {
        "layout": {
            "annotations": [title, *words],
            "shapes": [*_tolerance(limit), *signs],
            "yaxis": {"showticklabels": False},
            "margin": {"l": 14, "r": 14, "t": HEAD, "b": _NUMBERS},
            "height": HEAD + _NUMBERS + _TALL_ROW * len(strip.names),
        }
    }


def _row(strip: VerdictStrip, i: int, look: int) -> go.Scatter:
    """Interval and point of one model."""
    low, point, high = (100 * float(part[i]) for part in (strip.low, strip.point, strip.high))
    known = math.isfinite(point)
    hover = f"{plain(strip.names[i])}: {short_percent(point / 100)}, {strip.notes[i]}" if known else ""
    return interval_of(strip, i, look, (low, point, high), hover, size=17, cap=8).update(showlegend=False)


def _tolerance(eps: float) -> list[dict[str, Any]]:
    """Zone within the tolerance, and its end."""
    across = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    zone = {"type": "rect", "x0": 0, "x1": eps, "fillcolor": WITHIN_TOLERANCE, "line": {"width": 0}}
    end = {"type": "line", "x0": eps, "x1": eps, "line": {"color": REFERENCE, "width": 2, "dash": "dash"}}
    return [zone | across, end | across]


def _icon(word: str, i: int) -> list[dict[str, Any]]:
    """Disc with its sign, at the right of row i."""
    return icon(word, 27, 11, xref="paper", xanchor=1, yref="y", yanchor=i)


def _words(strip: VerdictStrip, i: int, most: float) -> list[dict[str, Any]]:
    """Number above its point, and the verdict in words at the right."""
    word = title_of(strip.words[i])
    note = strip.notes[i] if len(strip.notes[i]) <= 40 else f"{strip.notes[i][:39]}…"
    right = {"xref": "paper", "x": 1, "yref": "y", "y": i, "showarrow": False, "xanchor": "left", "align": "left"}
    found = [
        right | {"text": f"<b>{word}</b>", "xshift": 42, "yshift": 11, "font": {"size": 15}},
        right | {"text": plain(note), "xshift": 18, "yshift": -10, "font": {"size": 13}},
    ]
    if math.isfinite(float(strip.point[i])):
        number = short_percent(float(strip.point[i]))
        place = _number_place(100 * float(strip.point[i]), 100 * strip.eps, _HALF * len(number) * most)
        above = {**place, "y": i, "showarrow": False, "yshift": 19, "font": {"size": 15}}
        found.append(above | {"text": f"<b>{number}</b>"})
    return found


def _number_place(point: float, limit: float, half: float) -> dict[str, Any]:
    """Position of a number of width 2 ``half``: above its point, but not over the tolerance's label or the names."""
    low = max(point - half, 0.0)
    if low < limit < low + 2 * half:
        return {"x": limit, "xanchor": "left", "xshift": 5}
    return {"x": point} if low else {"x": 0, "xanchor": "left"}


def _left(names: Sequence[str]) -> int:
    """Pixels of the longest line of a bold name, measured, since room reserved later would shrink the rows."""
    return 24 + round(8.2 * max((len(line) for name in names for line in _folded(name)), default=0))


def _folded(name: str) -> list[str]:
    """Name in at most two lines that fit next to its row, cut if longer."""
    return textwrap.wrap(name, _LONGEST, max_lines=2, placeholder="…") or [name]
