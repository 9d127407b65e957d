"""How to get the same numbers again: a command, Python lines, and the recipe."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard import session
from dashboard.exhibits import added
from dashboard.report import recipe
from dashboard.report.document import Beside, Block, Code, Heading, Paragraph
from dashboard.report.request import Request
from dashboard.report.sections import other_packages
from dashboard.report.sections.choices_behind import settings_table, versions_table


def blocks(request: Request) -> Iterator[Block | None]:
    """The same choices three times."""
    yield Paragraph(
        "The same file, choices and versions give the same numbers; the recipe is also held in this file for the "
        "program to read back: calib report FILE --like REPORT.html -o again.html, with --test or --other for further "
        "files. The same in Python and the recipe stand in the HTML file, not on paper."
    )
    options = request.options
    options_chosen = {name: getattr(options, name) for name in ("title", "author", "left_out", "added")}
    whole = request.selection.replace(**options_chosen)
    yield Code(session.report_line(whole), "The command that makes this report.")
    yield Beside((Heading("Settings"), settings_table(request)), (Heading("Versions"), versions_table()))
    if request.calls:
        wanted = {name.replace("-", "_"): call for name, call in request.calls.items()}
        foreign = any(name.startswith(other_packages.NAMED) for name in request.calls)
        needs = f"and {', '.join(added())}" if foreign else "alone"
        yield Code(
            session.python(**wanted),
            f"The tables in Python, on the library {needs}, by the names of their files.",
            folded=True,
        )
    yield Code(recipe.written(request.selection, request.options), "The recipe.", folded=True)
