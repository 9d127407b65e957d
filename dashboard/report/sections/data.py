"""Data behind the numbers: the rows, how their file was read, and the findings about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from calib_core import InputError
from calib_core.evaluation.cross_fitting import CROSS_FITTED
from calib_core.readers.checks.examination import Checked, Outcome
from calib_core.readers.table_findings import Finding
from calib_core.text import begun
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.report.document import Block, Bullets, Heading, Paragraph
from dashboard.report.exhibited import blocks as exhibited
from dashboard.report.request import Request

_OUTCOME: dict[Outcome, str] = {"passed": "checks passed", "skipped": "checks skipped"}
"""Outcomes that a report lists: a check that does not apply to a file says nothing about it."""
_SEVERITY = {"problem": "Problem", "warning": "Warning", "note": "Note"}


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield all files, the reader's steps and findings for each, and the division of the rows."""
    scene = session.scene_of(request.selection)
    yield from exhibited(EXHIBITS.described("file"), scene)
    for source in request.selection.sources:
        yield from found(source.data, source.reading)
        if source.test:
            yield from found(source.test, source.test_reading)
    for block in exhibited(EXHIBITS.described("rows"), scene):
        if request.models.recalibrated or not (isinstance(block, Paragraph) and block.text == CROSS_FITTED):
            yield block


def found(key: str, changed: str) -> Iterator[Block]:
    """Yield the steps and findings of the reader of a file."""
    try:
        title, whole = session.title_read(key, changed), session.whole(key, changed)
    except InputError as why:
        yield Paragraph(str(why), lead="A file could not be used.")
        return
    accepted = session.reading(key, changed).accepted
    findings = [f"{_head(finding, accepted)}: {finding.message}" for finding in session.findings(key, changed)]
    yield Heading(f"{title}: what the reader did and found")
    if findings or whole.notes:
        yield Bullets((*findings, *whole.notes))
    else:
        yield Paragraph("The checks of the file found nothing unusual.", aside=True)
    done = session.checks(key, changed)
    listed = (_listed(done, outcome) for outcome in ("passed", "skipped"))
    yield Paragraph(" ".join(filter(None, listed)), aside=True)


def _head(finding: Finding, accepted: Collection[str]) -> str:
    noted = finding.severity == "note" and finding.code in accepted
    return "Accepted warning" if noted else _SEVERITY[finding.severity]


def _listed(done: Iterable[Checked], outcome: Outcome) -> str:
    """Return the checks with one outcome, and the reasons; empty if there are none."""
    texts = [f"{each.title}{f' ({each.why})' if each.why else ''}" for each in done if each.outcome == outcome]
    return f"{begun(_OUTCOME[outcome])}: {'; '.join(texts)}." if texts else ""
