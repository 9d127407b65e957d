"""Report as a Word document: headings, paragraphs, ruled tables and figures that an author can edit."""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import docx
from docx.enum.table import WD_TABLE_ALIGNMENT
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_COLOR_INDEX
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Inches, Mm, Pt, RGBColor

from dashboard.export import zipped
from dashboard.report.chromium import Picture
from dashboard.report.document import (
    Beside,
    Blank,
    Block,
    Bullets,
    Code,
    Document,
    FactList,
    Figure,
    FlowChart,
    Folded,
    Heading,
    Headline,
    Paragraph,
    TypesetTable,
)
from dashboard.report.page import TableParts, in_one_piece, table_captions, table_parts
from dashboard.theme import unbroken

_EPOCH = datetime.datetime(2000, 1, 1)
_INK, _SOFT = RGBColor(0x1D, 0x21, 0x26), RGBColor(0x56, 0x5C, 0x63)
_FONT = "Arial"
"""Typeface that Word has; other programs have one with letters of the same width."""
_WIDTH = 7.0
"""Width of the text in inches, as of the printed page."""


def word_file(document: Document, pictures: Mapping[int, Picture]) -> bytes:
    """Return the report as a DOCX file; equal reports give equal bytes.

    ``pictures`` are its figures by their numbers; a figure without one is named only. What the page collapses is left
    out, as on paper.
    """
    writer = _Writer(docx.Document(), document, pictures)
    writer.begin()
    for number, section in enumerate(document.sections, start=1):
        if not section.leads:
            writer.file.add_heading(f"{number}. {_plain(section.title)}", level=1)
        writer.blocks(section.blocks)
    buffer = io.BytesIO()
    writer.file.save(buffer)
    with zipfile.ZipFile(buffer) as archive:
        return zipped({name: archive.read(name) for name in archive.namelist()})


@dataclass(eq=False)
class _Writer:
    """A document being written."""

    file: Any
    document: Document
    pictures: Mapping[int, Picture]

    def begin(self) -> None:
        """Write properties, styles, page and title."""
        self._properties()
        self._styles()
        page = self.file.sections[0]
        page.page_width, page.page_height = Mm(210), Mm(297)
        page.left_margin = page.right_margin = Mm(16)
        page.top_margin, page.bottom_margin = Mm(16), Mm(18)
        _page_number(page.footer.paragraphs[0])
        self.file.add_paragraph(_plain(self.document.title), style="Title")
        for text in filter(None, (self.document.author, self.document.about, self.document.date)):
            self.small(text)

    def _properties(self) -> None:
        about = self.file.core_properties
        about.title, about.author = _plain(self.document.title)[:255], _plain(self.document.author)[:255]
        about.comments, about.language = "", "en-US"
        about.created = about.modified = _EPOCH

    def _styles(self) -> None:
        sizes = {"Normal": 10, "Title": 18, "Heading 1": 14, "Heading 2": 11, "Caption": 9, "List Bullet": 10}
        for name, size in sizes.items():
            style = self.file.styles[name]
            style.font.name, style.font.size, style.font.color.rgb = _FONT, Pt(size), _INK
            fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
            for kind in ("asciiTheme", "hAnsiTheme", "eastAsiaTheme", "cstheme"):
                fonts.attrib.pop(qn(f"w:{kind}"), None)
            fonts.set(qn("w:eastAsia"), _FONT)
            style.paragraph_format.space_after = Pt(6 if name != "List Bullet" else 2)
            style.font.bold = name.startswith(("Heading", "Title"))
        for border in self.file.styles["Title"].element.xpath(".//w:pBdr"):
            border.getparent().remove(border)
        caption = self.file.styles["Caption"]
        caption.font.italic = False
        caption.paragraph_format.space_before = Pt(6)

    def small(self, text: str) -> None:
        """Write an aside."""
        run = self.file.add_paragraph().add_run(_plain(text))
        run.font.size, run.font.color.rgb = Pt(8.5), _SOFT

    def blocks(self, blocks: Iterable[Block]) -> None:
        """Write blocks in reading order."""
        for block in blocks:
            self.block(block)

    def block(self, block: Block) -> None:
        """Write one block."""
        match block:
            case Headline():
                self.file.add_heading(_plain(block.text), level=1)
                for sentence in block.below:
                    self.file.add_paragraph(_plain(sentence))
                if block.small:
                    self.small(block.small)
            case Paragraph():
                self.paragraph(block)
            case Blank():
                self.gap(block)
            case Heading():
                heading = self.file.add_heading(_plain(block.text), level=2)
                heading.paragraph_format.page_break_before = block.page
            case Bullets():
                for item in block.items:
                    self.file.add_paragraph(_plain(item), style="List Bullet")
            case FactList():
                for name, fact in block.items:
                    self.lead(f"{name}:", fact)
            case Code():
                self.code(block)
            case TypesetTable():
                self.table(block)
            case Figure():
                self.figure(block)
            case FlowChart():
                self.flow(block)
            case Beside():
                self.blocks(block.blocks)
            case Folded():
                pass

    def paragraph(self, block: Paragraph) -> None:
        """Write a paragraph with its bold lead."""
        if block.aside:
            self.small(" ".join(filter(None, (block.lead, block.text))))
        else:
            self.lead(block.lead, block.text)

    def lead(self, lead: str, text: str) -> Any:
        """Write a text after bold words."""
        paragraph = self.file.add_paragraph()
        if lead:
            paragraph.add_run(f"{_plain(lead)} ").bold = True
        paragraph.add_run(_plain(text))
        return paragraph

    def gap(self, block: Blank) -> None:
        """Write a gap on yellow, so that it is found and replaced."""
        for run in self.lead(block.lead, block.text).runs:
            run.font.highlight_color = WD_COLOR_INDEX.YELLOW

    def code(self, block: Code) -> None:
        """Write lines to copy; those that the page collapses are in its file only."""
        if block.folded:
            return
        self.caption(block.caption)
        run = self.file.add_paragraph().add_run(_plain(block.text, lines=True))
        run.font.name, run.font.size = "Liberation Mono", Pt(8.5)

    def caption(self, text: str, number: str = "", *, below: bool = False) -> None:
        """Write a caption that stays with what it is about, which is above it if the caption is ``below``."""
        paragraph = self.file.add_paragraph(style="Caption")
        paragraph.paragraph_format.keep_with_next = not below
        if number:
            paragraph.add_run(f"{number} ").bold = True
        paragraph.add_run(_plain(text))

    def table(self, block: TypesetTable) -> None:
        """Write a table in as many parts as fit the page, ruled above, below its heading and below."""
        number = next(number for number, table in self.document.tables if table is block)
        self.caption(table_captions(self.document)[block], f"Table {number}.")
        if not block.cells:
            return
        parts = table_parts(block)
        for places in parts.columns:
            self.part(block, places, parts)

    def part(self, block: TypesetTable, places: tuple[int, ...], parts: TableParts) -> None:
        """Write some columns of a table; each is as wide as its words need, and all together as the page."""
        table = self.file.add_table(rows=1, cols=len(places))
        table.alignment, table.autofit = WD_TABLE_ALIGNMENT.LEFT, False
        size, margin = (7.5, 48) if parts.dense else (8.25, 84)
        each = [_WIDTH * parts.least[i] / sum(parts.least[i] for i in places) for i in places]
        for column, inches in zip(table.columns, each, strict=True):
            column.width = Inches(inches)
        _ruled(table)
        _margins(table, margin)
        _repeated(table.rows[0])
        lines: list[list[str]] = [[block.columns[i].heading for i in places]]
        lines += [[line[i] for i in places] for line in block.cells]
        for number, line in enumerate(lines):
            row = table.rows[0] if number == 0 else table.add_row()
            _whole(row)
            for cell, i, text, inches in zip(row.cells, places, line, each, strict=True):
                cell.width = Inches(inches)
                paragraph = cell.paragraphs[0]
                paragraph.paragraph_format.space_after = Pt(1)
                paragraph.paragraph_format.keep_with_next = number == 0
                if block.columns[i].numeric:
                    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
                whole = block.columns[i].numeric and number > 0
                run = paragraph.add_run(_unbroken(text, parts.wrapped) if whole else _plain(text))
                run.font.size, run.bold = Pt(size), number == 0 or number - 1 in block.bold
            if number == 0:
                for cell in row.cells:
                    _bottom(cell)
        self.file.add_paragraph().paragraph_format.space_after = Pt(2)

    def flow(self, block: FlowChart) -> None:
        """Write boxes of a flow of rows as cells with borders: steps on the left, rows left out on the right."""
        lines = [(step, out) for step in block.steps for out in (False, True) if not out or step is not block.steps[-1]]
        table = self.file.add_table(rows=0, cols=2)
        table.autofit = False
        for step, out in lines:
            row = table.add_row()
            _whole(row)
            for cell, inches in zip(row.cells, (3.2, 3.8), strict=True):
                cell.width = Inches(inches)
                cell.paragraphs[0].paragraph_format.keep_with_next = True
            if out:
                self.box(row.cells[0], "", ("\N{DOWNWARDS ARROW}",))
            if not out or step.left_out:
                title, texts = ("Left out", step.left_out) if out else (step.title, step.lines)
                self.box(row.cells[out], title, texts)
                _boxed(row.cells[out])
        self.caption(block.caption)

    def box(self, cell: Any, title: str, lines: Iterable[str]) -> None:
        """Write a bold title and lines below it into a cell."""
        paragraph = cell.paragraphs[0]
        paragraph.paragraph_format.space_after = Pt(2)
        if not title or title != "Left out":
            paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
        if title:
            paragraph.add_run(_plain(title)).bold = True
        for i, line in enumerate(lines):
            run = paragraph.add_run()
            if title or i:
                run.add_break()
            run.add_text(_plain(line))
        for run in paragraph.runs:
            run.font.size = Pt(9)

    def figure(self, block: Figure) -> None:
        """Write a figure with its description for screen readers, and its caption below."""
        number = next(number for number, figure in self.document.figures if figure is block)
        if number in self.pictures:
            picture = self.pictures[number]
            paragraph = self.file.add_paragraph()
            paragraph.paragraph_format.keep_with_next = True
            width = Inches(min(picture.inches, _WIDTH))
            shown = paragraph.add_run().add_picture(io.BytesIO(picture.png), width=width)
            shown._inline.docPr.set("descr", _plain(block.label))
        else:
            self.small("This figure is in the HTML file of the report: without Chromium none was drawn here.")
        self.caption(table_captions(self.document)[block], f"Figure {number}.", below=True)


def _plain(text: str, *, lines: bool = False) -> str:
    """Remove characters that XML cannot contain, or that reorder text."""
    return "".join(_kept(text, "\n")) if lines else unbroken("".join(_kept(text, "")))


def _unbroken(number: str, wrapped: bool) -> str:
    """Keep a number in one line, or with its unit where there is no room for what it is for."""
    return _plain(in_one_piece(number) if wrapped else number.replace(" ", "\N{NO-BREAK SPACE}"))


def _kept(text: str, also: str) -> Iterator[str]:
    for letter in text:
        if letter.isprintable() or letter in also or letter.isspace():
            yield " " if letter.isspace() and letter not in also and letter != "\N{NO-BREAK SPACE}" else letter
        else:
            yield "\N{REPLACEMENT CHARACTER}"


def _element(name: str, **attributes: str) -> Any:
    element = OxmlElement(name)
    for key, value in attributes.items():
        element.set(qn(f"w:{key}"), value)
    return element


def _rule(end: str, eighths: int) -> Any:
    return _element(f"w:{end}", val="single", sz=str(eighths), color="1D2126")


def _ruled(table: Any) -> None:
    borders = _element("w:tblBorders")
    borders.extend([_rule("top", 8), _rule("bottom", 8)])
    table._tbl.tblPr.append(borders)


def _margins(table: Any, twips: int) -> None:
    """Set the space at both sides of every cell, for which the least widths are computed."""
    margins = _element("w:tblCellMar")
    margins.extend(_element(f"w:{side}", w=str(twips), type="dxa") for side in ("left", "right"))
    table._tbl.tblPr.append(margins)


def _bottom(cell: Any) -> None:
    borders = _element("w:tcBorders")
    borders.append(_rule("bottom", 4))
    cell._tc.get_or_add_tcPr().append(borders)


def _boxed(cell: Any) -> None:
    borders = _element("w:tcBorders")
    borders.extend(_rule(side, 8) for side in ("top", "left", "bottom", "right"))
    cell._tc.get_or_add_tcPr().append(borders)


def _repeated(row: Any) -> None:
    row._tr.get_or_add_trPr().append(_element("w:tblHeader", val="true"))


def _whole(row: Any) -> None:
    row._tr.get_or_add_trPr().append(_element("w:cantSplit", val="true"))


def _page_number(paragraph: Any) -> None:
    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    run = paragraph.add_run()
    for kind, text in (("begin", ""), ("", "PAGE"), ("end", "")):
        if text:
            field = _element("w:instrText")
            field.text = text
        else:
            field = _element("w:fldChar", fldCharType=kind)
        run._r.append(field)
