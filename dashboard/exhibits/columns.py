"""How the columns of a table are written for readers: the kinds of values there are, and one writer for each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from calib_core._text import count, error, p_value, percent

NOT_KNOWN = "–"


@dataclass(frozen=True)
class Column:
    """One printed column: its heading, the columns of the frame it is made of, and how they are written.

    ``write`` gets their values in order; a column of numbers is aligned to the right. ``digits`` is the printf
    format in which a table that can be sorted shows them. The "high" or "low" end of a column that is ``best`` in a
    comparison is set in bold.
    """

    heading: str
    made_of: tuple[str, ...]
    write: Callable[..., str]
    numeric: bool = True
    digits: str = ""
    best: str = ""


def written(frame: pd.DataFrame, columns: tuple[Column, ...]) -> list[list[str]]:
    """The cells of a table, line by line, as readers see them."""
    parts = [(column, [frame[name].tolist() for name in column.made_of]) for column in columns]
    return [[column.write(*(values[i] for values in lists)) for column, lists in parts] for i in range(len(frame))]


def best_cells(frame: pd.DataFrame, columns: tuple[Column, ...]) -> set[tuple[int, int]]:
    """Line and column of the best values, where there are several lines to compare.

    >>> frame = pd.DataFrame({"accuracy": [0.9, 0.8, 0.9]})
    >>> sorted(best_cells(frame, (number("accuracy", best="high"),)))
    [(0, 0), (2, 0)]
    """
    found = set()
    for j, column in enumerate(columns):
        if column.best and len(frame) > 1:
            values = frame[column.made_of[0]]
            end = values.max() if column.best == "high" else values.min()
            found |= {(i, j) for i, value in enumerate(values) if value == end}
    return found


def text(heading: str, name: str | None = None) -> Column:
    """A column of words."""
    return Column(heading, (name or heading,), _words, numeric=False)


def number(heading: str, name: str | None = None, best: str = "") -> Column:
    """A column of errors or scores, four decimals."""
    write = _known(lambda value: error(value).replace("-", "−"))
    return Column(heading, (name or heading,), write, digits="%.4f", best=best)


def whole(heading: str, name: str | None = None) -> Column:
    """A column of counts."""
    return Column(heading, (name or heading,), _known(lambda value: count(round(value))), digits="%.6g")


def given(name: str, values: pd.Series) -> Column:
    """A column as it stands in the user's file, or that is yes or no: nothing is rounded."""
    if pd.api.types.is_bool_dtype(values):
        return Column(name, (name,), lambda value: "yes" if value else "no", numeric=False)
    numeric = pd.api.types.is_numeric_dtype(values)
    return Column(name, (name,), _words, numeric, "plain" if numeric else "")


def share(heading: str, name: str | None = None) -> Column:
    """A column of fractions, as percentages."""
    return Column(heading, (name or heading,), _known(percent), digits="percent")


def between(heading: str, low: str, high: str) -> Column:
    """A column of intervals, from two columns of the frame."""
    return Column(heading, (low, high), span, digits="%.4f")


def probability(heading: str, name: str | None = None) -> Column:
    """A column of p-values."""
    return Column(heading, (name or heading,), _known(p_value), digits="%.3g")


def flag(heading: str, name: str | None = None) -> Column:
    """A column of what always holds, or need not."""
    return Column(heading, (name or heading,), lambda value: "yes" if value else "no", numeric=False)


def marks(frame: pd.DataFrame, marked: Sequence[str]) -> tuple[Column, ...]:
    """The column of marks of the intervals before it, a mark a line of the frame; none where nothing is marked.

    The frame has a column ``about``, which the marks stand for, and ``tested``.
    """
    known = dict(zip(zip(frame["about"], map(str, frame["tested"].tolist()), strict=True), marked, strict=True))
    column = Column("mark", ("about", "tested"), lambda about, tested: known[about, str(tested)], numeric=False)
    return (column,) if any(marked) else ()


def span(low: float | None, high: float | None) -> str:
    """Both ends of an interval.

    >>> span(0.01, 0.02)
    '0.0100 to 0.0200'
    """
    if low is None or high is None or _missing(low) or _missing(high):
        return NOT_KNOWN
    return f"{error(low)} to {error(high)}".replace("-", "−")


def _words(value: Any) -> str:
    return NOT_KNOWN if _missing(value) else _CONTROLS.sub(" ", str(value))


def _known(write: Callable[[float], str]) -> Callable[[Any], str]:
    return lambda value: NOT_KNOWN if _missing(value) else write(float(value))


def _missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
