"""Paragraphs and tables as lines of text that fit the width of a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

UNKNOWN_WIDTH = 80
"""Width of output that goes to no terminal."""
_GAP = "  "
_NARROWEST = 16
"""Width to which cells of words are wrapped if a table is too wide."""


class PrintedColumn(NamedTuple):
    """One printed column: its heading, then its cells; ``numeric`` cells are never wrapped."""

    texts: Sequence[str]
    numeric: bool

    @property
    def width(self) -> int:
        return max(map(len, self.texts))

    @property
    def least(self) -> int:
        """Width below which this column cannot be wrapped."""
        words = _longest_word(self.texts[:1] if self.numeric else self.texts)
        cells = max(map(len, self.texts[1:]), default=0) if self.numeric else min(self.width, _NARROWEST)
        return max(words, cells)

    def lines(self, place: int, width: int) -> list[str]:
        """Return the lines of one cell."""
        text = self.texts[place]
        lines = [text] if self.numeric and place else _wrapped(text, width)
        return [line.rjust(width) if self.numeric else line.ljust(width) for line in lines]


def terminal_width() -> int:
    """Return the width of the terminal that reads the output, from COLUMNS or from the terminal itself; else 80."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return shutil.get_terminal_size().columns if known else UNKNOWN_WIDTH


def paragraph_lines(text: str, room: int) -> list[str]:
    """Return a paragraph as lines of at most ``room`` characters; options to be copied stay in one line.

    >>> paragraph_lines("  one two three", 10)
    ['  one two', '  three']
    """
    start = text[: len(text) - len(text.lstrip())]
    return [text] if text.startswith("--", len(start)) else _wrapped(text, room, start)


def table_lines(columns: Sequence[PrintedColumn], room: int) -> list[str]:
    """Return a table as lines of at most ``room`` characters, unless a single column needs more.

    Headings and cells of words are wrapped where this helps. Columns that do not fit continue below the table, next to
    its first columns. These are the columns of words before the first number, in at most half of the room.

    >>> names, values = PrintedColumn(["model", "a"], False), PrintedColumn(["value", "0.1"], True)
    >>> columns = [names, values, PrintedColumn(["interval", "0 to 1"], True)]
    >>> for line in table_lines(columns, 23):
    ...     print(line)
    model  value  interval
    a        0.1    0 to 1
    >>> for line in table_lines(columns, 16):
    ...     print(line)
    model  value
    a        0.1
    <BLANKLINE>
    model  interval
    a        0 to 1
    """
    lines: list[str] = []
    for part in _parts(columns, room):
        lines += [""] if lines else []
        lines += _rows(part, _widths(part, room))
    return lines


def _parts(columns: Sequence[PrintedColumn], room: int) -> Iterator[list[PrintedColumn]]:
    """Yield the columns of each part of the table; all parts start with the same ones."""
    names = next((place for place, column in enumerate(columns) if column.numeric), len(columns) - 1)
    while names > 1 and _total(columns[:names]) > room // 2:
        names -= 1
    first, rest = list(columns[: max(names, 1)]), list(columns[max(names, 1) :])
    part = list(first)
    for column in rest:
        if len(part) > len(first) and _total([*part, column]) > room:
            yield part
            part = list(first)
        part.append(column)
    yield part


def _total(columns: Sequence[PrintedColumn]) -> int:
    return sum(column.least for column in columns) + len(_GAP) * (len(columns) - 1)


def _widths(columns: Sequence[PrintedColumn], room: int) -> list[int]:
    """Return the width of each column: first the headings of numbers are wrapped, then words, the widest first."""
    widths, least = [column.width for column in columns], [column.least for column in columns]
    room -= len(_GAP) * (len(columns) - 1)
    for numeric in (True, False):
        wide = [place for place, column in enumerate(columns) if column.numeric == numeric]
        while sum(widths) > room and (left := [place for place in wide if widths[place] > least[place]]):
            widths[max(left, key=widths.__getitem__)] -= 1
    return widths


def _rows(columns: Sequence[PrintedColumn], widths: Sequence[int]) -> Iterator[str]:
    for place in range(len(columns[0].texts)):
        cells = [column.lines(place, width) for column, width in zip(columns, widths, strict=True)]
        for line in zip_longest(*cells):
            parts = (" " * width if text is None else text for text, width in zip(line, widths, strict=True))
            yield _GAP.join(parts).rstrip()


def _longest_word(texts: Sequence[str]) -> int:
    return max((len(word) for text in texts for word in text.split()), default=0)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Return text as lines; a number and its percent sign stay together."""
    lines = textwrap.wrap(
        text.replace(" %", "\u00a0%"),
        max(width, 1),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0%", " %") for line in lines] or [""]
