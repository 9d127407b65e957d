"""What several figures share: the diagonal, models and their looks, marks that say what they stand for.

The symbol of a model beside its name: drawn, for few fonts have all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.figures.look import REFERENCE, style
from calib_core.palette import Style, outline
from calib_core.text import plain

Diagrams = TypeVar("Diagrams")
Record = dict[str, object]

FEW_ROWS = 10
"""Bins of fewer rows than this are drawn hollow, and no line goes to them: their place is mostly chance."""


def symbols(look: Style, counts: ArrayLike) -> NDArray[np.str_]:
    """The symbol of every mark of a model: hollow where it is of few rows.

    >>> symbols(style(0), [3, 300]).tolist()
    ['star-open', 'star']
    """
    return np.where(np.asarray(counts) < FEW_ROWS, f"{look.symbol}-open", look.symbol)


IDEAL = "perfect calibration"
"""Name of the diagonal's trace."""


def diagonal(low: float = 0.0, high: float = 1.0, **where: Any) -> go.Scatter:
    """The line of perfect calibration."""
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
    """Each model's number, title and diagram: the number gives its look, that of ``looks`` or else its place.

    ``looks`` are the numbers of all models shown, by title: drawn alone or in another order, a model keeps its look.

    >>> numbered({"after": 1.5}, {"before": 0, "after": 4}), numbered(1.5, None)
    ([(4, 'after', 1.5)], [(0, 'model', 1.5)])
    """
    named = diagrams if isinstance(diagrams, Mapping) else {"model": diagrams}
    places = numbers(named, looks)
    return [(places[title], title, diagram) for title, diagram in named.items()]


def numbers(titles: Iterable[str], looks: Mapping[str, int] | None) -> dict[str, int]:
    """The number of every title: that of ``looks``, and for others the next that are free.

    >>> numbers(["a", "b", "c"], {"b": 0})
    {'b': 0, 'a': 1, 'c': 2}
    """
    found = dict(looks or {})
    for title in titles:
        found.setdefault(title, next(i for i in range(len(found) + 1) if i not in found.values()))
    return found


def records(frame: pd.DataFrame, **same: object) -> list[dict[str, object]]:
    """A named record for every mark, its customdata: what a click on it means and what the pointer shows.

    A model's title in it is as it was given: hover texts take theirs from ``meta`` or ``hovertext``, made safe.

    >>> records(pd.DataFrame({"bin": [3], "delta": [float("nan")]}), model="cat")
    [{'model': 'cat', 'bin': 3, 'delta': None}]
    """
    known = frame.astype(object).where(frame.notna(), None)
    return [{**same, **{str(name): value for name, value in row.items()}} for row in known.to_dict("records")]


def entry(title: str, number: int, **named: Any) -> go.Scatter:
    """A model in the legend, as a trace of no marks: one with marks would take the look of its first."""
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
    """Places of points, with -1 where the line through them breaks: it joins neighbours that are both sure.

    >>> with_gaps(np.array([False, True, True, False])).tolist()
    [0, -1, 1, 2, -1, 3]
    """
    apart = np.flatnonzero(~(sure[:-1] & sure[1:])) + 1
    return np.insert(np.arange(len(sure)), apart, -1)


def taken(values: ArrayLike, places: Codes) -> Float64s:
    """The values at these places, NaN at gaps.

    >>> taken([0.5, 0.7], np.array([0, -1, 1])).tolist()
    [0.5, nan, 0.7]
    """
    numbers = np.append(np.asarray(values, dtype=np.float64), np.nan)
    return np.asarray(numbers[places])


def taken_from(records: Sequence[Record], places: Codes) -> list[Record | None]:
    """The records at these places, None at gaps."""
    return [None if place < 0 else records[place] for place in places.tolist()]


def symbol(look: Style, across: float, up: float, radius: float = 7.0, **place: Any) -> dict[str, object]:
    """A shape: the symbol of a look, with its middle so many pixels beside and above an anchor.

    ``place`` says where that is: ``xref``, ``xanchor``, ``yref`` and ``yanchor`` of Plotly's shapes.
    """
    # Pixels of a shape count upwards.
    corners = " L ".join(f"{across + radius * x:.2f} {up + radius * y:.2f}" for x, y in outline(look.symbol))
    drawn = {"type": "path", "path": f"M {corners} Z", "fillcolor": look.colour, "line": {"width": 0}}
    return drawn | {"xsizemode": "pixel", "ysizemode": "pixel", **place}
