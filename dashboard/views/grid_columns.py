"""Columns of a grid that fit a narrow window: sentences are wrapped, and further columns are shown on request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from calib_core.figures.paper import text_width
from dashboard.exhibits.columns import Column, written

ROOM = 836
"""Pixels of a grid in a window of 900: no grid has to be scrolled sideways from there on."""
_TYPE, _PADDING, _CHOICE = 14, 20, 40
"""Size of type, and pixels around the text of a cell and of the boxes that select a line."""
_WIDEST, _WRAPPED, _SENTENCE = 400, 180, 300
"""Largest width of a column of words, and the smallest to which words and sentences are wrapped, in pixels."""
_MOST_LINES = 5
"""Largest number of lines of a wrapped cell."""


@dataclass(frozen=True)
class FittedColumns:
    """Widths of columns of words in pixels, lines of the tallest cell, and headings of the hidden columns."""

    widths: dict[str, int]
    lines: int
    hidden: tuple[str, ...]


def fitted(
    columns: Sequence[Column], frame: pd.DataFrame, aside: Sequence[str] = (), picked: bool = False
) -> FittedColumns:
    """Fit columns into the narrow room; those with headings in ``aside`` are hidden first.

    After these, columns are hidden from the last on; the first one never is.

    >>> table = pd.DataFrame({"finding": ["A sentence of some length. " * 4], "p": [0.5]})
    >>> from dashboard.exhibits.columns import number, sentences
    >>> fit = fitted((sentences("finding"), number("p")), table)
    >>> fit.widths, fit.lines, fit.hidden
    ({'finding': 400}, 2, ())
    """
    head = frame.head(200)
    wide = [_width(column, head) for column in columns]
    least = [
        width if column.digits else min(width, _SENTENCE if column.lines > 1 else _WRAPPED)
        for column, width in zip(columns, wide, strict=True)
    ]
    room = ROOM - (_CHOICE if picked else 0)
    shown = list(range(len(columns)))
    for i in _order(columns, aside):
        if sum(least[j] for j in shown) <= room:
            break
        shown.remove(i)
    words = [i for i in shown if not columns[i].digits]
    wanted = sum(wide[i] - least[i] for i in words)
    part = min(1.0, (room - sum(least[i] for i in shown)) / wanted) if wanted > 0 else 1.0
    widths = {columns[i].heading: math.floor(least[i] + part * (wide[i] - least[i])) for i in words}
    lines = max((_lines(columns[i], head, widths[columns[i].heading]) for i in words), default=1)
    hidden = tuple(column.heading for i, column in enumerate(columns) if i not in shown)
    return FittedColumns(widths, min(lines, _MOST_LINES), hidden)


def _width(column: Column, frame: pd.DataFrame) -> float:
    """Return the pixels that a column needs; a sentence and other words can be wrapped."""
    if not column.digits:
        return min(
            _WIDEST, max(text_width(text, _TYPE) for text in (column.heading, *_texts(column, frame))) + _PADDING
        )
    cells = {name: column.alone(frame, name) for name in column.numbers}
    return sum(
        max(text_width(text, _TYPE) for text in (heading, *cells[name])) + _PADDING
        for name, heading in column.headings().items()
    )


def _lines(column: Column, frame: pd.DataFrame, width: float) -> int:
    """Return the number of lines of the longest cell of a column of words at a width in pixels."""
    longest = max((text_width(text, _TYPE) for text in _texts(column, frame)), default=0.0)
    return max(1, math.ceil(longest / (width - _PADDING) - 0.02) + (longest > 2 * width))


def _texts(column: Column, frame: pd.DataFrame) -> list[str]:
    return [line[0] for line in written(frame, (column,))]


def _order(columns: Sequence[Column], aside: Sequence[str]) -> list[int]:
    """Return the positions of the columns in the order in which they are hidden."""
    first = [i for text in aside for i, column in enumerate(columns) if i and column.heading == text]
    return list(dict.fromkeys((*first, *range(len(columns) - 1, 0, -1))))
