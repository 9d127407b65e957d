"""The sections of a report in order; to add one, write its blocks in a file here and one entry below."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dashboard.report.asked import Asked
from dashboard.report.document import Block
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
    """A section that can be made: its key, its title, what yields its blocks, and whether it says anything here.

    ``blocks`` yields None between pieces of work, where making it can be stopped.
    """

    key: str
    title: str
    blocks: Callable[[Asked], Iterator[Block | None]]
    able: Callable[[Asked], bool] = lambda _: True


def _has_classes(asked: Asked) -> bool:
    return any(asked.knows_classes(model) for model in asked.models.shown)


CHAPTERS: tuple[Chapter, ...] = (
    Chapter("summary", "Summary", summary.blocks),
    Chapter("data", "Data", data.blocks),
    Chapter("reliability", "Reliability diagrams", reliability.blocks),
    Chapter("calibrators", "Models and calibrators", calibrators.blocks),
    Chapter("estimators", "Estimators", estimators.blocks),
    Chapter("simplex", "Three classes as a triangle", simplex.blocks, simplex.able),
    Chapter("classes", "Appendix: classes", classes.blocks, _has_classes),
    Chapter("methods", "Methods", methods.blocks),
    Chapter("again", "How to get these numbers again", again.blocks),
)
