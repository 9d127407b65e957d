"""Tables of a report: raw values in a frame, and how each column is written for readers, in HTML, CSV or LaTeX."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from calib_core.text import latex_escaped
from dashboard.exhibits.columns import (
    Column,
    between,
    number,
    probability,
    share,
    span,
    text,
    whole,
    written,
)
from dashboard.export import csv_bytes
from dashboard.session import Call

__all__ = ["Column", "TypesetTable", "between", "number", "probability", "share", "span", "text", "whole"]


@dataclass(frozen=True, eq=False)
class TypesetTable:
    """A captioned table; ``name`` is the slug its files are called by.

    ``frame`` holds the values at full precision and is what the CSV file has; ``columns`` say what is printed:
    the first ``most`` lines (0: the caption only), those at the places ``bold`` in bold. ``call`` makes the frame.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    columns: tuple[Column, ...]
    most: int | None = None
    bold: tuple[int, ...] = ()
    call: Call[pd.DataFrame] | None = None

    @property
    def cells(self) -> list[list[str]]:
        """What is printed, line by line; the first ``most`` lines only."""
        frame = self.frame if self.most is None else self.frame.head(self.most)
        return written(frame, self.columns)

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
