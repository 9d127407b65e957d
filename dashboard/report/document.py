"""What a report is made of: sections of paragraphs, lists, tables, figures and lines of code, numbered in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import plotly.graph_objects as go

from dashboard.report.tables import Table


@dataclass(frozen=True)
class Paragraph:
    """Words, as plain text; ``lead`` is set in bold before them. An ``aside`` is set small."""

    text: str
    lead: str = ""
    aside: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list of plain texts."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Lines to be copied as they are."""

    text: str
    caption: str


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: str


@dataclass(frozen=True, eq=False)
class Figure:
    """A captioned figure of a diagram; ``label`` says it to people who do not see it, ``name`` is its files' slug."""

    name: str
    drawn: go.Figure
    caption: str
    label: str


Block: TypeAlias = Paragraph | Bullets | Code | Heading | Table | Figure


@dataclass(frozen=True, eq=False)
class Section:
    """A titled part of a report."""

    key: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, eq=False)
class Document:
    """A whole report before it becomes a page: front matter, then sections.

    ``date`` and nothing else in it depends on when it was made; ``recipe`` is the JSON text from which it can be
    made again.
    """

    title: str
    author: str
    date: str
    about: str
    sections: tuple[Section, ...]
    recipe: str = field(default="{}")

    @property
    def tables(self) -> tuple[tuple[int, Table], ...]:
        """Every table with its number."""
        return tuple(enumerate((block for block in self._blocks() if isinstance(block, Table)), start=1))

    @property
    def figures(self) -> tuple[tuple[int, Figure], ...]:
        """Every figure with its number."""
        return tuple(enumerate((block for block in self._blocks() if isinstance(block, Figure)), start=1))

    def _blocks(self) -> Iterator[Block]:
        for section in self.sections:
            yield from section.blocks
