"""Tables of a report: raw values in a frame, and how each column is written for readers, in HTML, CSV or LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from calib_core._text import count, error, p_value, percent
from dashboard.export import csv_bytes, latex_escaped

NOT_KNOWN = "–"


@dataclass(frozen=True)
class Column:
    """One printed column: its heading, the columns of the frame it is made of, and how they are written.

    ``write`` gets their values in order; a column of numbers is aligned to the right.
    """

    heading: str
    made_of: tuple[str, ...]
    write: Callable[..., str]
    numeric: bool = True


@dataclass(frozen=True, eq=False)
class Table:
    """A captioned table; ``name`` is the slug its files are called by.

    ``frame`` holds the values at full precision and is what the CSV file has; ``columns`` say what is printed:
    the first ``most`` lines, those at the places ``bold`` in bold.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    columns: tuple[Column, ...]
    most: int | None = None
    bold: tuple[int, ...] = ()

    @property
    def cells(self) -> list[list[str]]:
        """What is printed, line by line; the first ``most`` lines only."""
        frame = self.frame.head(self.most) if self.most else self.frame
        parts = [(column, [frame[name].tolist() for name in column.made_of]) for column in self.columns]
        return [[column.write(*(values[i] for values in held)) for column, held in parts] for i in range(len(frame))]

    def csv(self) -> bytes:
        """The values at full precision."""
        return csv_bytes(self.frame)

    def _in_latex(self, line: int, cell: str) -> str:
        return rf"\textbf{{{latex_escaped(cell)}}}" if line in self.bold else latex_escaped(cell)

    def latex(self) -> str:
        """A floating table for a document with ``\\usepackage{booktabs}``; every text is escaped."""
        places = "".join("r" if column.numeric else "l" for column in self.columns)
        head = " & ".join(latex_escaped(column.heading) for column in self.columns)
        lines = [" & ".join(self._in_latex(i, cell) for cell in line) + r" \\" for i, line in enumerate(self.cells)]
        return "\n".join(
            [
                "% needs \\usepackage{booktabs}",
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{latex_escaped(self.caption)}}}",
                rf"\label{{tab:{self.name}}}",
                rf"\begin{{tabular}}{{{places}}}",
                r"\toprule",
                rf"{head} \\",
                r"\midrule",
                *lines,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )


def text(heading: str, name: str | None = None) -> Column:
    """A column of words."""
    return Column(heading, (name or heading,), _words, numeric=False)


def number(heading: str, name: str | None = None) -> Column:
    """A column of errors or scores, four decimals."""
    return Column(heading, (name or heading,), _known(lambda value: error(value).replace("-", "−")))


def whole(heading: str, name: str | None = None) -> Column:
    """A column of counts."""
    return Column(heading, (name or heading,), _known(lambda value: count(round(value))))


def share(heading: str, name: str | None = None) -> Column:
    """A column of fractions, as percentages."""
    return Column(heading, (name or heading,), _known(percent))


def between(heading: str, low: str, high: str) -> Column:
    """A column of intervals, from two columns of the frame."""
    return Column(heading, (low, high), span)


def probability(heading: str, name: str | None = None) -> Column:
    """A column of p-values."""
    return Column(heading, (name or heading,), _known(p_value))


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
