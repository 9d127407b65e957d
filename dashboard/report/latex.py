"""Report as one LaTeX file: the whole text, gaps marked, tables with booktabs, and a place for each figure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import wrap

from calib_core.text import latex_escaped
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
from dashboard.report.page import table_captions, table_parts

_PREAMBLE = r"""\documentclass[a4paper,10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp,amsmath,array,booktabs,longtable,graphicx,xcolor}
\usepackage[margin=16mm]{geometry}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\setlength{\emergencystretch}{3em}
\setcounter{secnumdepth}{1}
\newcommand{\gap}[2]{\par\colorbox{yellow!30}{\parbox{0.97\linewidth}{\textbf{#1} #2}}\par}
\newcommand{\drawn}[1]{\IfFileExists{#1}{\includegraphics[width=\linewidth]{#1}}{\fbox{Figure: see the HTML file}}}
\DeclareUnicodeCharacter{2265}{\ensuremath{\ge}}
\DeclareUnicodeCharacter{2264}{\ensuremath{\le}}
\DeclareUnicodeCharacter{2248}{\ensuremath{\approx}}
\DeclareUnicodeCharacter{03C4}{\ensuremath{\tau}}
"""
"""Beginning of the file. Its commands, and those of ``latex_file``, are all that the file has."""
_SEPARATION, _POINTS = 2, 505
"""Points on both sides of each column, and of a line of the page."""
_SIDES = {False: r"\raggedright", True: r"\raggedleft"}
"""Alignment of cells of words, and of numbers."""


def latex_file(document: Document) -> str:
    r"""Return the report as a LaTeX file with one figure file per figure, ``figure-01.pdf`` and so on.

    Every text is escaped. What the page collapses is left out, as on paper. A figure whose file is missing is replaced
    by a note, so that the file compiles without figures.
    """
    lines = [_PREAMBLE, r"\begin{document}"]
    lines.append(rf"{{\Large\bfseries {latex_escaped(document.title)}\par}}")
    about = filter(None, (document.author, document.about, document.date))
    lines += [rf"{{\small {latex_escaped(text)}\par}}" for text in about]
    writer = _Writer(document)
    for section in document.sections:
        if not section.leads:
            lines.append(rf"\section{{{latex_escaped(section.title)}}}")
        lines += writer.blocks(section.blocks)
    return "\n".join([*lines, r"\end{document}", ""])


class _Writer:
    """Lines of the blocks of a document, with the numbers of its tables and figures."""

    def __init__(self, document: Document) -> None:
        self.captions = table_captions(document)
        self.numbers = {id(block): str(number) for number, block in (*document.tables, *document.figures)}

    def blocks(self, blocks: Iterable[Block]) -> Iterator[str]:
        """Yield the lines of blocks in reading order."""
        for block in blocks:
            yield from self.block(block)

    def block(self, block: Block) -> Iterator[str]:
        """Yield the lines of one block."""
        match block:
            case Headline():
                yield rf"\section*{{{latex_escaped(block.text)}}}"
                yield from (_paragraph(sentence) for sentence in (*block.below, block.small) if sentence)
            case Paragraph():
                text = _paragraph(block.text, block.lead)
                yield rf"{{\small {text}\par}}" if block.aside else text
            case Blank():
                yield rf"\gap{{{latex_escaped(block.lead)}}}{{{latex_escaped(block.text)}}}"
            case Heading():
                yield rf"\subsection*{{{latex_escaped(block.text)}}}"
            case Bullets():
                items = (rf"\item {latex_escaped(item)}" for item in block.items)
                yield from (r"\begin{itemize}", *items, r"\end{itemize}")
            case FactList():
                yield from (_paragraph(fact, f"{name}:") for name, fact in block.items)
            case Code():
                yield from () if block.folded else _code(block)
            case TypesetTable():
                yield from self.table(block)
            case Figure():
                yield from self.figure(block)
            case FlowChart():
                yield from _flow(block)
            case Beside():
                yield from self.blocks(block.blocks)
            case Folded():
                pass

    def table(self, block: TypesetTable) -> Iterator[str]:
        """Yield a table in as many parts as fit the page; a page can end between its lines."""
        if not block.cells:
            return
        parts = table_parts(block)
        caption = rf"\textbf{{Table {self.numbers[id(block)]}.}} {latex_escaped(self.captions[block])}"
        yield rf"{caption}\nopagebreak\par"
        for places in parts.columns:
            total = sum(parts.least[i] for i in places)
            room = 1.0 - 2 * _SEPARATION * len(places) / _POINTS
            widths = (room * parts.least[i] / total for i in places)
            shape = "".join(
                rf">{{{_SIDES[block.columns[i].numeric]}\arraybackslash}}p{{{width:.3f}\linewidth}}"
                for i, width in zip(places, widths, strict=True)
            )
            yield rf"{{\{'scriptsize' if parts.dense else 'footnotesize'}\setlength{{\tabcolsep}}{{{_SEPARATION}pt}}"
            yield rf"\begin{{longtable}}[l]{{{shape}}}"
            yield r"\toprule"
            yield _cells(block.columns[i].heading for i in places)
            yield from (r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot")
            for number, line in enumerate(block.cells):
                yield _cells((line[i] for i in places), number in block.bold)
            yield r"\end{longtable}}"

    def figure(self, block: Figure) -> Iterator[str]:
        """Yield the place of a figure and its caption."""
        number = self.numbers[id(block)]
        yield r"\begin{center}"
        yield rf"\drawn{{figure-{int(number):02d}.pdf}}"
        yield r"\end{center}"
        yield _paragraph(self.captions[block], f"Figure {number}.")


def _paragraph(text: str, lead: str = "") -> str:
    bold = rf"\textbf{{{latex_escaped(lead)}}} " if lead else ""
    return rf"{bold}{latex_escaped(text)}\par"


def _cells(cells: Iterable[str], bold: bool = False) -> str:
    texts = (_DIGEST.sub(_in_parts, latex_escaped(cell)) for cell in cells)
    return " & ".join(rf"\textbf{{{text}}}" if bold else text for text in texts) + r" \\"


_DIGEST = re.compile(r"[0-9a-f]{40,}")


def _in_parts(digest: re.Match[str]) -> str:
    """Let a line end within a digest, which is wider than its column."""
    return r"\allowbreak{}".join(wrap(digest[0], 8))


def _code(block: Code) -> Iterator[str]:
    yield rf"{{\small {_paragraph(block.caption)}}}"
    yield from (rf"{{\footnotesize\ttfamily {latex_escaped(line)}\par}}" for line in block.text.splitlines() if line)


def _flow(block: FlowChart) -> Iterator[str]:
    """Yield boxes from top to bottom, with rows left out to the right of the arrow between them."""
    for i, step in enumerate(block.steps):
        lines = r"\\ ".join((rf"\textbf{{{latex_escaped(step.title)}}}", *map(latex_escaped, step.lines)))
        yield rf"\fbox{{\parbox{{0.42\linewidth}}{{\centering {lines}}}}}\nopagebreak\par"
        if i + 1 < len(block.steps):
            out = r"\\ ".join((r"\textbf{Left out}", *map(latex_escaped, step.left_out)))
            box = rf"$\rightarrow$ \fbox{{\parbox{{0.48\linewidth}}{{\raggedright {out}}}}}" if step.left_out else ""
            yield rf"\hspace*{{0.2\linewidth}}$\downarrow$ {box}\nopagebreak\par"
    yield rf"{{\small {_paragraph(block.caption)}}}"
