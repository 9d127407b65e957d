"""The sections of a report in order; to add one, write its blocks in a file here and one entry below."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dashboard.report.document import Block
from dashboard.report.request import Request
from dashboard.report.sections import (
    again,
    calibrators,
    classes,
    data,
    estimators,
    methods,
    reliability,
    simplex,
    summary,
)


@dataclass(frozen=True)
class Chapter:
    """A section that can be made: its key, its title, what yields its blocks, and why it is not made here.

    ``blocks`` yields None between pieces of work, where making it can be stopped. ``why_not`` is empty where the
    section says something.
    """

    key: str
    title: str
    blocks: Callable[[Request], Iterator[Block | None]]
    why_not: Callable[[Request], str] = lambda _: ""


def _no_classes(request: Request) -> str:
    known = any(request.knows_classes(model) for model in request.models.shown)
    return "" if known else "these predictions do not say which class they are about"


CHAPTERS: tuple[Chapter, ...] = (
    Chapter("summary", "Summary", summary.blocks),
    Chapter("data", "Data", data.blocks),
    Chapter("reliability", "Reliability diagrams", reliability.blocks),
    Chapter("calibrators", "Models and calibrators", calibrators.blocks),
    Chapter("estimators", "Estimators", estimators.blocks),
    Chapter("simplex", "Three classes as a triangle", simplex.blocks, simplex.why_not),
    Chapter("classes", "Appendix: classes", classes.blocks, _no_classes),
    Chapter("methods", "Methods", methods.blocks),
    Chapter("again", "How to get these numbers again", again.blocks),
)
