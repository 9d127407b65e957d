"""Building of a report section by section, so that it can report progress and be stopped."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import UTC, datetime

from calib_core import InputError
from calib_core.text import begun, listed
from dashboard import session
from dashboard.exhibits import event_words
from dashboard.export import zipped
from dashboard.report import chromium, recipe
from dashboard.report.document import Block, Document, Paragraph, Section, TypesetTable, within
from dashboard.report.latex import latex_file
from dashboard.report.page import html_page
from dashboard.report.request import Options, Request
from dashboard.report.sections import chapters, wanted
from dashboard.report.sections.validation import items as validation
from dashboard.selection import COLUMNS, Selection


@dataclass(frozen=True)
class Progress:
    """Progress of a report: the share done, and the current step."""

    share: float
    what: str


@dataclass(frozen=True, eq=False)
class Report:
    """Finished report: the document and its page."""

    document: Document
    html: bytes

    @property
    def stem(self) -> str:
        """Return the base name of its files, free of the user's text."""
        return f"calibration-report-{hashlib.sha256(self.document.recipe.encode()).hexdigest()[:8]}"

    def csv_files(self) -> dict[str, bytes]:
        """Return every table at full precision, by file name."""
        return {f"{_file(i, table)}.csv": table.csv() for i, table in self.document.tables}

    def latex_files(self) -> dict[str, bytes]:
        """Return every table for a LaTeX document with booktabs, by file name."""
        return {f"{_file(i, table)}.tex": table.latex().encode() for i, table in self.document.tables if table.cells}

    def word(self) -> bytes:
        """Return the report as a Word document, with its figures if there is Chromium to draw them."""
        from dashboard.report.word import word_file  # an extra

        return word_file(self.document, chromium.on_page(self.document))

    def latex(self) -> bytes:
        """Return the whole report as a LaTeX file: text, gaps and tables, with a place for each figure."""
        return latex_file(self.document).encode()

    def table_files(self) -> bytes:
        """Return both as a ZIP archive."""
        return zipped(self.csv_files() | self.latex_files())


def _file(number: str, table: TypesetTable) -> str:
    """Return the name of a table's files: table-04-bins, table-S12-hero."""
    folded = "S" * number.startswith("S")
    return f"table-{folded}{int(number.removeprefix('S')):02d}-{table.name}"


def steps(selection: Selection, options: Options | None = None) -> Generator[Progress, None, Report]:
    """Build a report in small steps: each ``next`` does some work and yields the next step, the last the report.

    Not calling ``next`` again stops it. The same choices, files and date give the same bytes.
    """
    # The view, and state that only the report view has, change no number: the report is the same from any page.
    own = {
        "title": "",
        "author": "",
        "left_out": (),
        "added": (),
        "style": Selection().style,
        "column": COLUMNS[-1],
        "present": False,
        "question": "",
        "tour": 0,
    }
    plain = selection.replace(view=Selection().view, **own)
    request = Request(plain, _in_order(options or Options()))
    session.parts(selection.source)
    yield Progress(0.0, "Models")
    if not request.models.shown:
        raise InputError(request.models.refused[0][1])
    if request.options.style == "validation" and (why := validation.why_not(request)):
        raise InputError(f"There is no report of this style. {begun(why)}.")
    asked_for = wanted(request.options, of_event=request.of_event)
    chapters = [c for c in asked_for if not c.why_not(request)]
    if not chapters:
        reasons = "; ".join(f"{c.title}: {c.why_not(request)}" for c in asked_for) or "all sections are left out"
        raise InputError(f"There is nothing to report. {begun(reasons)}.")
    sections = []
    for i, chapter in enumerate(chapters):
        blocks: list[Block] = [Paragraph(chapter.about)] if chapter.about else []
        title = chapter.title_of(request)
        yield Progress(i / len(chapters), title)
        for block in chapter.blocks(request):
            if block is not None:
                blocks.append(block)
                for table in within([block]):
                    if isinstance(table, TypesetTable) and table.call is not None:
                        request.calls[table.name] = table.call
            yield Progress(i / len(chapters), title)
        sections.append(Section(chapter.key, title, tuple(blocks)))
    yield Progress(1.0, "The page")
    document = _document(request, tuple(sections))
    return Report(document, html_page(document, recipe.versions()["calib"]))


def _in_order(options: Options) -> Options:
    """Return the same options, with the omitted and added sections in their order in the report."""
    left_out, added = (
        tuple(c.key for c in chapters(options.style) if c.key in keys) for keys in (options.left_out, options.added)
    )
    return dataclasses.replace(options, left_out=left_out, added=added)


def build(
    selection: Selection, options: Options | None = None, *, progress: Callable[[Progress], None] | None = None
) -> Report:
    """Build a report for these choices.

    ``progress`` is called between pieces of work; any exception from it stops the work. InputError explains in one
    sentence why there is no report.
    """
    work = steps(selection, options)
    while True:
        try:
            step = next(work)
        except StopIteration as done:
            report: Report = done.value
            return report
        if progress is not None:
            progress(step)


def again(page: bytes, date: str = "") -> Report:
    """Rebuild a report from its own recipe; InputError if its files are not available."""
    earlier = recipe.read(page)
    return build(earlier.selection, dataclasses.replace(earlier.options, date=date))


def _named(request: Request) -> str:
    """Return the titles of its files; of many, the first with their number."""
    titles = session.file_names(request.selection)
    if len(titles) > 3:
        return f"{titles[0]} and {len(titles) - 1} other files"
    return listed(titles)


_SUBJECTS = {"review": "Calibration", "validation": "Evaluation"}
"""Beginnings of titles by style."""


def _document(request: Request, sections: tuple[Section, ...]) -> Document:
    file = session.file(request.selection.source.data)
    options, where = request.options, session.parts(request.selection.source).where
    among = f", where {where}" if where else ""
    event = f", event: {event_words.of_scene(request.scene)}" if request.of_event else ""
    return Document(
        title=options.title or f"{_SUBJECTS[options.style]} of {_named(request)}{among}",
        author=options.author,
        date=options.date or f"Written on {datetime.now(UTC):%Y-%m-%d} (UTC)",
        about=f"Calibration report on {file.table.name}, SHA-256 {file.digest[:16]}…{among}{event}",
        sections=sections,
        recipe=recipe.written(request.selection, options),
    )
