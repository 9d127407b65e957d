"""Sections of a report in order; to add one, write its blocks in a file here and one entry below."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dashboard.report.document import Block
from dashboard.report.request import Options, Request
from dashboard.report.sections import (
    again,
    calibrators,
    classes,
    data,
    estimators,
    how_many_rows,
    marked_by_people,
    methods,
    other_packages,
    reliability,
    simplex,
    slices,
    summary,
)
from dashboard.report.sections.validation import items
from dashboard.report.sections.validation.tripod import TITLES


@dataclass(frozen=True)
class Chapter:
    """Section that can be included: its key, its title, its blocks, and the reason if it is not available.

    - ``blocks`` yields None between pieces of work, where building can be stopped.
    - ``why_not`` is empty if the section has content.
    - ``on_request``: it is included only on request; all other sections unless they are left out.
    - ``rare``: most files have nothing for it, and its absence is not mentioned.
    - ``of_event`` is its title in a report about the risk of an event.
    - ``titled`` returns a title that depends on the content.
    - ``of_predicted``: it is about the predicted class, so that a report about an event has it only on request.
    - ``about``: first sentences, which tell a newcomer what the section is for.
    """

    key: str
    title: str
    blocks: Callable[[Request], Iterator[Block | None]]
    why_not: Callable[[Request], str] = lambda _: ""
    on_request: bool = False
    rare: bool = False
    of_event: str = ""
    of_predicted: bool = False
    titled: Callable[[Request], str] | None = None
    about: str = ""

    def title_of(self, request: Request) -> str:
        """Return its title in this report."""
        if self.titled is not None:
            return self.titled(request)
        return self.of_event if self.of_event and request.of_event else self.title

    def only_asked(self, of_event: bool) -> bool:
        """Return True if it is included on request only."""
        return self.on_request or (self.of_predicted and of_event)


def _no_classes(request: Request) -> str:
    known = any(request.knows_classes(model) for model in request.models.shown)
    return "" if known else "these predictions name no classes"


CHAPTERS: tuple[Chapter, ...] = (
    Chapter("summary", "The verdict", summary.blocks),
    Chapter(
        "reliability",
        "Reliability diagrams",
        reliability.blocks,
        of_event="Reliability diagrams of the risk",
        about="Which predictions are off? The findings test every subset of the rows. The diagrams compare predictions "
        "with outcomes.",
    ),
    Chapter(
        "classes",
        "Results by class",
        classes.blocks,
        _no_classes,
        of_event="Confidence by predicted class",
        of_predicted=True,
        about="Is every class calibrated? A model can be right on average and wrong for single classes.",
    ),
    Chapter(
        "slices",
        "Results by slice",
        slices.blocks,
        slices.why_not,
        about="Is every group of rows calibrated? A slice contains the rows that share a value of a metadata column (a "
        "column besides predictions and labels). A model can be right on average and wrong in a slice.",
    ),
    Chapter(
        "judged",
        "Answers marked by a judge and by people",
        marked_by_people.blocks,
        marked_by_people.why_not,
        rare=True,
    ),
    Chapter(
        "simplex",
        "Simplex",
        simplex.blocks,
        simplex.why_not,
        about="The probabilities of three classes are a point in a triangle (a simplex). The nearer the point is to a "
        "corner, the more probable is the class of this corner.",
    ),
    Chapter(
        "calibrators",
        "Effects of recalibration",
        calibrators.blocks,
        about="Does a correction help? A calibrator is a function that corrects probabilities; it is fitted to rows "
        "with known labels. This chapter compares the predictions before and after.",
    ),
    Chapter(
        "estimators",
        "Estimators, intervals and tests",
        estimators.blocks,
        about="Do other measures agree with the verdict? An estimator is a formula for the calibration error. The "
        "verdict rests on one measure, fixed in advance; the others do not change it.",
    ),
    Chapter("planner", "Sample size", how_many_rows.blocks, on_request=True),
    Chapter(
        "extensions",
        "Added by other packages",
        other_packages.blocks,
        other_packages.why_not,
        rare=True,
        titled=other_packages.title,
    ),
    Chapter(
        "data",
        "Appendix: the data",
        data.blocks,
        about="What the file contains, how it was read, and which rows were used for what.",
    ),
    Chapter(
        "methods",
        "Appendix: methods",
        methods.blocks,
        about="How the numbers were computed, for statisticians. The other chapters can be read without this one.",
    ),
    Chapter("again", "Appendix: reproducing the numbers", again.blocks),
)
"""Chapters in the order of the rooms: the verdict, where, recalibration, evidence, then reference material."""


VALIDATION: tuple[Chapter, ...] = (
    *(Chapter(key, title, items.of_section(key)) for key, title in TITLES.items()),
    Chapter("references", "References", items.references),
    Chapter("checklist", "Appendix: TRIPOD+AI checklist", items.checklist),
    Chapter("again", "Appendix: reproducing the numbers", again.blocks),
)
"""Chapters of a report for a paper, in its order."""


def chapters(style: str) -> tuple[Chapter, ...]:
    """Return the sections that a report of this style can have."""
    return VALIDATION if style == "validation" else CHAPTERS


def wanted(options: Options, *, of_event: bool = False) -> tuple[Chapter, ...]:
    """Return the requested sections, in order, of a report about confidence or about the risk of an event."""
    return tuple(
        c
        for c in chapters(options.style)
        if (c.key in options.added if c.only_asked(of_event) else c.key not in options.left_out)
    )
