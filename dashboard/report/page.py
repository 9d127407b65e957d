"""Report as one self-contained HTML file: text escaped, scripts and style allowed only by their hashes."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from plotly.offline import get_plotlyjs

from calib_core.figures.paper import text_width
from dashboard.exhibits.line_words import READING
from dashboard.report.document import Document, Figure, TypesetTable
from dashboard.report.picture import PARTS, as_json, faces, printed, script_safe
from dashboard.theme import unbroken

_MAP_STYLES = re.compile(r'getElementById\("([0-9a-f]{64})"\)')
"""Pattern of plotly.js's check for the style sheet of its maps: an element of that name prevents adding it."""


def html_page(document: Document, version: str) -> bytes:
    """Return the report as a page that contains plotly.js once.

    Its content security policy forbids every request, and every script and style sheet except its own. Any text of the
    user stays text.
    """
    style, (plotly, draw) = _style(), scripts()
    numbered = (*document.tables, *document.figures)
    text = _template().render(
        document=document,
        version=version,
        policy=policy((plotly, draw), (style, "")),
        style=style,
        draw=draw,
        plotly=plotly,
        kept_out=_MAP_STYLES.findall(plotly),
        recipe=script_safe(document.recipe),
        figures=as_json({str(i): printed(figure.drawn, PARTS[figure.width]) for i, figure in document.figures}),
        number={block: i for i, block in numbered},
        caption=table_captions(document),
        parts={table: table_parts(table) for _, table in document.tables},
    )
    return text.encode()


@cache
def _style() -> str:
    """Return the style sheet, with the typeface in it."""
    return "\n".join((*faces().values(), _asset("page.css")))


def table_captions(document: Document) -> dict[TypesetTable | Figure, str]:
    """Return the captions of tables and figures; the explanation of estimates precedes the first table of estimates."""
    figures: dict[TypesetTable | Figure, str] = {f: f.caption.replace(f" {READING}", "") for _, f in document.figures}
    explained = [table for number, table in sorted(document.tables, key=_folded_last) if READING in table.caption]
    tables: dict[TypesetTable | Figure, str] = {
        table: table.caption if table in explained[:1] else table.caption.replace(f" {READING}", "")
        for _, table in document.tables
    }
    return {**figures, **tables}


def _folded_last(numbered: tuple[str, TypesetTable]) -> bool:
    return numbered[0].startswith("S")


_PAGE, _TYPE, _DENSE = 672, 11.0, 10.0
"""Width of the printed page in pixels, and the sizes of type of a table on it and of one with many columns."""
_PADDING = {_TYPE: 11.8, _DENSE: 7.4}
"""Pixels around each cell."""


def _escaped(cell: str, bold: bool) -> str:
    text = html.escape(cell, quote=False)
    return f"<b>{text}</b>" if bold else text


_SENTENCE, _NAME = 110, 84
"""Pixels in which a cell of words may be wrapped, and a name of a line in a table that needs all of the page."""
_EASY = 220, 160
"""The same where the page has room: otherwise the longest column would leave few words to a line of the others."""
LONGEST_WORD = 40
"""Letters of a word that is not broken in a table."""


@dataclass(frozen=True)
class TableParts:
    """Columns of each part of a table by their positions, whether its type is small, and whether names are wrapped.

    ``least`` is the least width of every column in pixels, ``sentence`` that of a column of sentences.
    """

    columns: tuple[tuple[int, ...], ...]
    dense: bool
    least: tuple[float, ...]
    sentence: float
    wrapped: bool = False

    def look(self, cell: str, numeric: bool) -> str:
        """Return the style of a cell: ``words`` are of a sentence; without one it may be wrapped anywhere."""
        if numeric:
            return "number"
        if any(len(word) > LONGEST_WORD for word in cell.split()):
            return "long"
        width = text_width(html.escape(cell, quote=False), _TYPE)
        if self.wrapped or _SENTENCE < width <= self.sentence:
            return ""
        return "line" if width <= _SENTENCE else "words"


def table_parts(table: TypesetTable) -> TableParts:
    """Divide a table that is wider than the page into parts that each begin with the columns naming its lines."""
    sizes = [(_TYPE, sentence) for sentence in (*_EASY, _SENTENCE)]
    for size, sentence in (*sizes, (_DENSE, _SENTENCE), (_DENSE, 0)):
        widths = _widths(table, size, sentence)
        if sum(widths) <= _PAGE:
            return TableParts((tuple(range(len(widths))),), size == _DENSE, tuple(widths), sentence, not sentence)
    widths = _widths(table, _DENSE, _SENTENCE)
    naming = _naming(table)
    own, rest = sum(widths[:naming]), widths[naming:]
    # Parts of about one width; where words are so long that this fails, each has one column more than those names.
    number = math.ceil(sum(rest) / max(_PAGE - own - max(rest), 1))
    parts: list[tuple[int, ...]] = []
    for i, width in enumerate(rest, start=naming):
        used = sum(widths[j] for j in parts[-1]) if parts else math.inf
        if used + width > min(_PAGE, own + sum(rest) / number + max(rest)):
            parts.append((*range(naming),))
        parts[-1] += (i,)
    return TableParts(tuple(parts), True, tuple(widths), _SENTENCE)


def _naming(table: TypesetTable) -> int:
    """Return the number of first columns that name the lines: one, or two if the second has words as well."""
    return 1 + (len(table.columns) > 1 and not table.columns[1].numeric)


def _widths(table: TypesetTable, size: float, sentence: float) -> list[float]:
    """Return the least pixels of each column: numbers are not wrapped, and of words only what is longer than this."""
    cells, naming = table.cells, _naming(table)
    found = []
    for i, column in enumerate(table.columns):
        heading = (f"<b>{word}</b>" for word in column.heading.split())
        # A table whose lines cannot be told by their first columns is not read: these are not squeezed.
        longest = sentence if sentence or i >= naming else _NAME
        own = {_escaped(line[i], j in table.bold) for j, line in enumerate(cells)}
        words = {word for cell in own for word in cell.split() if len(word) <= LONGEST_WORD}
        if column.numeric and not sentence:  # what a number is for can be below it
            own = {cell.partition(" (")[0] for cell in own}
        whole = (text_width(cell, size) for cell in own)
        least = whole if column.numeric else (min(each, longest) for each in whole)
        found.append(max(*least, *(text_width(word, size) for word in (*heading, *words)), 0.0) + _PADDING[size])
    return found


def scripts() -> tuple[str, str]:
    """Return the scripts of a report: plotly.js, and the code that draws the figures with it."""
    return plotly_js(), _asset("page.js")


def policy(scripts: tuple[str, ...], styles: tuple[str, ...]) -> str:
    """Return a content security policy that allows only these inline scripts and styles, and images within the file.

    Plotly fills an empty style element rule by rule, so that the empty text is one of the styles. It also sets style
    attributes, which cannot fetch anything because images come from within the file.
    """
    script, style = (" ".join(_digest(text) for text in texts) for texts in (scripts, styles))
    return (
        f"default-src 'none'; script-src {script}; style-src {style}; style-src-elem {style}; "
        "style-src-attr 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def plotly_js() -> str:
    """Return plotly.js for a script element: the small bundle that draws the charts on screen."""
    small = Path(__file__).parents[1] / "chart" / "assets" / "plotly-basic.min.js"
    # The whole library, four times as large, draws the same figures.
    text: Any = small.read_text(encoding="utf-8") if small.is_file() else get_plotlyjs()
    # The end tag of a script element inside the library's own strings would end it.
    return str(text).replace("</script", "<\\/script")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_printable
    )
    environment.filters["kept"] = unbroken
    environment.filters["number"] = in_one_piece
    return environment.from_string(_asset("page.html"))


def in_one_piece(cell: str) -> str:
    """Join a number with its sign and unit; a line can end before and within the brackets after it."""
    number, bracket, words = cell.partition(" (")
    return number.replace(" ", "\N{NO-BREAK SPACE}") + bracket + words


def _printable(value: object) -> object:
    """Remove invisible characters that reorder text or end a line; our own parts stay unchanged."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value


_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@cache
def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
