"""What several figures share: the diagonal, models and their looks, marks that say what they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd
import plotly.graph_objects as go

from calib_core.figures.look import REFERENCE

Diagrams = TypeVar("Diagrams")

FEW_ROWS = 10
"""Bins of fewer rows than this are drawn hollow: their place is mostly chance."""

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
    diagrams: Diagrams | Mapping[str, Diagrams], looks: Sequence[str] | None
) -> list[tuple[int, str, Diagrams]]:
    """Each model's number, title and diagram: the number gives its look, its place among ``looks`` or else in order.

    ``looks`` are the titles of all models shown: drawn alone or in another order, a model keeps its colour.

    >>> numbered({"after": 1.5}, ["before", "after"]), numbered(1.5, None)
    ([(1, 'after', 1.5)], [(0, 'model', 1.5)])
    """
    named = diagrams if isinstance(diagrams, Mapping) else {"model": diagrams}
    places = numbers(named, looks)
    return [(places[title], title, diagram) for title, diagram in named.items()]


def numbers(titles: Iterable[str], looks: Sequence[str] | None) -> dict[str, int]:
    """The number of every title, in order after those of ``looks``."""
    return {title: i for i, title in enumerate(dict.fromkeys([*(looks or ()), *titles]))}


def records(frame: pd.DataFrame, **same: object) -> list[dict[str, object]]:
    """A named record for every mark, its customdata: what a click on it means and what the pointer shows.

    A model's title in it is as it was given: hover texts take theirs from ``meta`` or ``hovertext``, made safe.

    >>> records(pd.DataFrame({"bin": [3], "delta": [float("nan")]}), model="cat")
    [{'model': 'cat', 'bin': 3, 'delta': None}]
    """
    known = frame.astype(object).where(frame.notna(), None)
    return [{**same, **{str(name): value for name, value in row.items()}} for row in known.to_dict("records")]
