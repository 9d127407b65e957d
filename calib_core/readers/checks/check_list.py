"""Everything that is looked for in a file, in order: found, passed, not applicable, or skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from calib_core._base.notebook_display import Shown
from calib_core.readers.checks.confidence_checks import confidence
from calib_core.readers.checks.finding import Finding
from calib_core.readers.checks.group_checks import belonging
from calib_core.readers.checks.join_checks import labels_elsewhere
from calib_core.readers.checks.judge_checks import people_marks
from calib_core.readers.checks.label_checks import assumed_order, class_order, label_coding, leak, unused_classes
from calib_core.readers.checks.name_checks import look_alikes, unused_names
from calib_core.readers.checks.outcome_checks import outcome_by_values
from calib_core.readers.checks.score_checks import kind, missing, repeated_rows, sums, written_texts
from calib_core.readers.checks.shuffled_labels import no_better_than_chance
from calib_core.readers.checks.subject import Subject
from calib_core.readers.checks.survival_times import time_to_event
from calib_core.readers.checks.weight_checks import unused_weights
from calib_core.readers.proposal.class_block import beside_classes

Outcome = Literal["found", "passed", "not applicable", "skipped"]
Look = Callable[[Subject], Iterator[Finding]]


@dataclass(frozen=True)
class Checked(Shown):
    """One thing that was looked for in a file, and what came of it.

    Parameters
    ----------
    title : what was looked for.
    outcome : "found"; "passed" where nothing of the kind is in the file; "not applicable" where such a file cannot have
        it; "skipped" where something else has to be settled before it can be told.
    why : the reason of the last two; empty for the others.
    findings : what was found.
    """

    title: str
    outcome: Outcome
    why: str = ""
    findings: tuple[Finding, ...] = ()

    def _facts(self) -> dict[str, object]:
        return {"looked for": self.title, self.outcome: self.why or " ".join(each.message for each in self.findings)}


@dataclass(frozen=True)
class Check:
    """One thing to look for: its title, what looks, in which layouts, and whether it needs labels that are classes."""

    title: str
    look: Look
    wide: bool | None = None
    """True: only where every class has a score; False: only where a row has one confidence; None: anywhere."""
    settled: bool = False
    """It would tell nothing while scores are out of range, or labels are no classes."""
    unless: Look | None = None
    """It would tell nothing where this look has found something."""


CHECKS = (
    Check("Names that people can tell apart", look_alikes),
    Check("A value in every row", missing),
    Check("Numbers written as numbers", written_texts),
    Check("Labels of another file beside their rows", labels_elsewhere),
    Check("Rows that belong together", belonging),
    Check("Weights that are used", unused_weights),
    Check("A confidence that is one, and fits its labels", confidence, wide=False),
    Check("Columns beside those of classes", beside_classes, wide=True),
    Check("Marks of people beside a judge's", people_marks, wide=False),
    Check("Class names that are used", unused_names, wide=True),
    Check("No label among the scores", leak, wide=True),
    Check("Scores that are what they are called", kind, wide=True),
    Check("An outcome that is named as one", outcome_by_values, wide=True),
    Check("Labels that are classes", label_coding, wide=True),
    Check("Outcomes that are known for every row", time_to_event, wide=True),
    Check("Probabilities that sum to 1", sums, wide=True, settled=True),
    Check("Classes in the order of the labels", class_order, wide=True, settled=True),
    Check("An order of classes that is known", assumed_order, wide=True, settled=True, unless=class_order),
    Check("Labels of the same rows: better than chance", no_better_than_chance, True, True, unless=class_order),
    Check("Classes that come true and are predicted", unused_classes, wide=True, settled=True),
    Check("Rows that differ, and none impossible", repeated_rows, wide=True, settled=True),
)
"""In the order in which they are made; another one is added here."""

_UNSETTLED = "scores or labels have to be settled first"
_MIXED_UP = "what was found about the order of the classes comes first"


def checked(subject: Subject) -> Iterator[Checked]:
    """Make every check of a table read in one way; InputError where it cannot be read so.

    >>> import numpy as np
    >>> from calib_core.readers.reading import Reading
    >>> from calib_core.readers.table import Table
    >>> p = np.linspace(0.1, 0.9, 20)
    >>> t = Table("a.csv", "csv", {"p": p, "y": (p > 0.4).astype(int)})
    >>> done = list(checked(Subject(t, Reading(scores=("p",), label=("y",), classes=("no", "yes")))))
    >>> [each.title for each in done if each.outcome == "found"]
    ['Scores that are what they are called']
    """
    wide = subject.reading.layout == "wide"
    telling: set[Look] = set()
    for check in CHECKS:
        if check.wide not in (None, wide):
            why = "rows have one score for every class" if wide else "rows have one confidence"
            yield Checked(check.title, "not applicable", why)
        elif check.settled and _unsettled(subject):
            yield Checked(check.title, "skipped", _UNSETTLED)
        elif check.unless in telling:
            yield Checked(check.title, "skipped", _MIXED_UP)
        else:
            found = tuple(check.look(subject))
            telling |= {check.look} if found else set()
            yield Checked(check.title, "found" if found else "passed", findings=found)


def _unsettled(subject: Subject) -> bool:
    """Nothing said about accuracy or rows would hold before scores and labels are read as they are meant."""
    return bool(subject.refused) or bool(subject.labels.unknown.any())
