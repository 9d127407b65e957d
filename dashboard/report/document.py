"""Content of a report: sections of paragraphs, lists, tables, figures and lines of code, numbered in order.

Tables of a report: raw values in a frame, and how each column is written for readers, in HTML, CSV or LaTeX.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import TypeAlias

import pandas as pd
import plotly.graph_objects as go

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
    """Captioned table; ``name`` is the slug of its files.

    ``frame`` contains the values at full precision, as in the CSV file; ``columns`` define the printed columns. The
    first ``most`` lines are printed (0: the caption only), those at the positions ``bold`` in bold. ``call`` computes
    the frame.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    columns: tuple[Column, ...]
    most: int | None = None
    bold: tuple[int, ...] = ()
    call: Call[pd.DataFrame] | None = None

    @cached_property
    def cells(self) -> list[list[str]]:
        """Return the printed cells, line by line; the first ``most`` lines only."""
        frame = self.frame if self.most is None else self.frame.head(self.most)
        return written(frame, self.columns)

    def csv(self) -> bytes:
        """Return the values at full precision as CSV."""
        return csv_bytes(self.frame)

    def _in_latex(self, line: int, cell: str) -> str:
        return rf"\textbf{{{latex_escaped(cell)}}}" if line in self.bold else latex_escaped(cell)

    def latex(self) -> str:
        """Return a floating table for a document with ``\\usepackage{booktabs}``; every text is escaped."""
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


@dataclass(frozen=True)
class Headline:
    """Answer in the largest words of the page: the sentence, its consequence, and the numbers behind both."""

    text: str
    below: tuple[str, ...] = ()
    small: str = ""


@dataclass(frozen=True)
class Paragraph:
    """Plain text; ``lead`` precedes it in bold. An ``aside`` is set small."""

    text: str
    lead: str = ""
    aside: bool = False


@dataclass(frozen=True)
class Blank:
    """Place for text that only the author can write: the ``text`` to replace, and the ``item`` of the checklist."""

    text: str
    item: str

    @property
    def lead(self) -> str:
        """Return the mark that the author searches for."""
        return f"[To be filled in, item {self.item}]"


@dataclass(frozen=True)
class Bullets:
    """List of plain texts; ``small`` reference lists are set in two columns."""

    items: tuple[str, ...]
    small: bool = False


@dataclass(frozen=True)
class FactList:
    """Short facts, each below its name; ``in_lines``: next to it, one line each."""

    items: tuple[tuple[str, str], ...]
    in_lines: bool = False


@dataclass(frozen=True)
class Code:
    """Lines to be copied unchanged; ``folded``: collapsed on screen, not on paper."""

    text: str
    caption: str
    folded: bool = False


@dataclass(frozen=True)
class Heading:
    """Heading within a section; one with ``page`` begins a new page on paper only."""

    text: str
    page: bool = False


@dataclass(frozen=True, eq=False)
class Figure:
    """Captioned figure of a diagram; ``label`` describes it for screen readers, ``name`` is the slug of its files.

    ``width`` is its part of the page: "full", "rows", "low", "flat", "main" (next to a narrow column) or "half".
    """

    name: str
    drawn: go.Figure
    caption: str
    label: str
    width: str = "full"


@dataclass(frozen=True)
class FlowStep:
    """Box of a flow of rows: its ``title``, its ``lines``, and what is ``left_out`` before the next box."""

    title: str
    lines: tuple[str, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class FlowChart:
    """Boxes from top to bottom, with what is left out between them to the right. It consists of text only."""

    caption: str
    steps: tuple[FlowStep, ...]


@dataclass(frozen=True, eq=False)
class Beside:
    """Blocks in columns: of equal width, or with ``main`` the left one four fifths of the page."""

    left: tuple[Block, ...]
    right: tuple[Block, ...]
    third: tuple[Block, ...] = ()
    main: bool = False

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks of all columns, from left to right."""
        return (*self.left, *self.right, *self.third)


@dataclass(frozen=True, eq=False)
class Folded:
    """Content collapsed under its title on screen and not printed."""

    title: str
    blocks: tuple[Block, ...]


Block: TypeAlias = (
    Headline
    | Paragraph
    | Blank
    | Bullets
    | FactList
    | Code
    | Heading
    | TypesetTable
    | Figure
    | FlowChart
    | Beside
    | Folded
)


def within(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks in reading order, including those inside others."""
    for block in blocks:
        yield block
        if isinstance(block, Beside | Folded):
            yield from within(block.blocks)


@dataclass(frozen=True, eq=False)
class Section:
    """Titled part of a report."""

    key: str
    title: str
    blocks: tuple[Block, ...]

    @property
    def leads(self) -> bool:
        """Return True if it begins with a headline, which replaces its title."""
        return bool(self.blocks) and isinstance(self.blocks[0], Headline)


@dataclass(frozen=True, eq=False)
class Document:
    """Whole report before it becomes a page: front matter, then sections.

    Only ``date`` depends on the time of its creation; ``recipe`` is the JSON text from which it can be rebuilt.
    """

    title: str
    author: str
    date: str
    about: str
    sections: tuple[Section, ...]
    recipe: str = field(default="{}")

    @property
    def tables(self) -> tuple[tuple[str, TypesetTable], ...]:
        """Return every table with its number: 1, 2 and so on on paper, S1, S2 and so on where it is not printed."""
        folded = {id(each) for block in self._blocks() if isinstance(block, Folded) for each in within(block.blocks)}
        numbers, supplements = count(1), count(1)
        return tuple(
            (f"S{next(supplements)}" if id(block) in folded or not block.cells else f"{next(numbers)}", block)
            for block in self._blocks()
            if isinstance(block, TypesetTable)
        )

    @property
    def figures(self) -> tuple[tuple[int, Figure], ...]:
        """Return every figure with its number."""
        return tuple(enumerate((block for block in self._blocks() if isinstance(block, Figure)), start=1))

    def _blocks(self) -> Iterator[Block]:
        for section in self.sections:
            yield from within(section.blocks)
