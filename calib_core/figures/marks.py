"""Shared parts of figures: the diagonal, models with their styles, and marks with records.

A model's symbol next to its name is drawn, since few fonts have all symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.diagrams.reliability import FEW_ROWS
from calib_core.figures.look import REFERENCE, style
from calib_core.palette import Style, outline
from calib_core.text import plain

Diagrams = TypeVar("Diagrams")
Record = dict[str, object]


def symbols(look: Style, counts: ArrayLike) -> NDArray[np.str_]:
    """Symbol of every mark of a model, hollow if it has few rows.

    >>> symbols(style(0), [3, 300]).tolist()
    ['star-open', 'star']
    """
    return np.where(np.asarray(counts) < FEW_ROWS, f"{look.symbol}-open", look.symbol)


IDEAL = "perfect calibration"
"""Name of the diagonal's trace."""


def diagonal(low: float = 0.0, high: float = 1.0, **where: Any) -> go.Scatter:
    """Diagonal of perfect calibration."""
    return go.Scatter(
        x=[low, high],
        y=[low, high],
        mode="lines",
        line={"color": REFERENCE, "dash": "dash", "width": 1.5},
        name=IDEAL,
        hoverinfo="skip",
        showlegend=False,
        **where,
    )


def numbered(
    diagrams: Diagrams | Mapping[str, Diagrams], looks: Mapping[str, int] | None
) -> list[tuple[int, str, Diagrams]]:
    """Number, title and diagram of each model; the number, from ``looks`` or its position, determines the style.

    ``looks`` are the numbers of all models shown, by title: a model keeps its style in any figure and order.

    >>> numbered({"after": 1.5}, {"before": 0, "after": 4}), numbered(1.5, None)
    ([(4, 'after', 1.5)], [(0, 'model', 1.5)])
    """
    named = diagrams if isinstance(diagrams, Mapping) else {"model": diagrams}
    places = numbers(named, looks)
    return [(places[title], title, diagram) for title, diagram in named.items()]


def numbers(titles: Iterable[str], looks: Mapping[str, int] | None) -> dict[str, int]:
    """Number of every title: that of ``looks``, else the next free one.

    >>> numbers(["a", "b", "c"], {"b": 0})
    {'b': 0, 'a': 1, 'c': 2}
    """
    found = dict(looks or {})
    for title in titles:
        found.setdefault(title, next(i for i in range(len(found) + 1) if i not in found.values()))
    return found


def records(frame: pd.DataFrame, **same: object) -> list[dict[str, object]]:
    """Records of the marks for customdata, with the target of a click and the values of the hover text.

    A model's title in it is not escaped: hover texts use the escaped one in ``meta`` or ``hovertext``.

    >>> records(pd.DataFrame({"bin": [3], "delta": [float("nan")]}), model="cat")
    [{'model': 'cat', 'bin': 3, 'delta': None}]
    """
    known = frame.astype(object).where(frame.notna(), None)
    return [{**same, **{str(name): value for name, value in row.items()}} for row in known.to_dict("records")]


def entry(title: str, number: int, **named: Any) -> go.Scatter:
    """Legend entry of a model, as a trace without marks: one with marks would have the style of its first mark."""
    look = style(number)
    return go.Scatter(
        x=[None],
        y=[None],
        mode="lines+markers",
        name=plain(title),
        legendgroup=f"m{number}",
        line={"color": look.colour, "dash": look.dash, "width": 1},
        marker={"symbol": look.symbol, "size": 12, "color": look.colour},
        **named,
    )


def with_gaps(sure: Bools) -> Codes:
    """Positions of points, with -1 for gaps in the line, which connects adjacent points that both have enough rows.

    >>> with_gaps(np.array([False, True, True, False])).tolist()
    [0, -1, 1, 2, -1, 3]
    """
    apart = np.flatnonzero(~(sure[:-1] & sure[1:])) + 1
    return np.insert(np.arange(len(sure)), apart, -1)


def taken(values: ArrayLike, places: Codes) -> Float64s:
    """Values at these positions, NaN at gaps.

    >>> taken([0.5, 0.7], np.array([0, -1, 1])).tolist()
    [0.5, nan, 0.7]
    """
    numbers = np.append(np.asarray(values, dtype=np.float64), np.nan)
    return np.asarray(numbers[places])


def taken_from(records: Sequence[Record], places: Codes) -> list[Record | None]:
    """Records at these positions, None at gaps."""
    return [None if place < 0 else records[place] for place in places.tolist()]


def symbol(look: Style, across: float, up: float, radius: float = 7.0, **place: Any) -> dict[str, object]:
    """Shape of a style's symbol, centered at this distance in pixels to the right of and above an anchor.

    ``place`` is the anchor: ``xref``, ``xanchor``, ``yref`` and ``yanchor`` of Plotly's shapes.
    """
    # Pixels of a shape increase upwards.
    corners = " L ".join(f"{across + radius * x:.2f} {up + radius * y:.2f}" for x, y in outline(look.symbol))
    drawn = {"type": "path", "path": f"M {corners} Z", "fillcolor": look.colour, "line": {"width": 0}}
    return drawn | {"xsizemode": "pixel", "ysizemode": "pixel", **place}
