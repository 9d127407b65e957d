"""Check a table before anything is computed: the list of checks, their findings and the reading proposed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from calib_core._base.notebook_display import Shown
from calib_core.predictions.predictions import InputError
from calib_core.readers.checks.column_checks import (
    belonging,
    look_alikes,
    outcome_by_values,
    people_marks,
    time_to_event,
    unused_names,
    unused_weights,
)
from calib_core.readers.checks.label_checks import (
    assumed_order,
    beside_classes,
    class_order,
    label_coding,
    leak,
    unused_classes,
)
from calib_core.readers.checks.model_checks import labels_elsewhere, several_models
from calib_core.readers.checks.score_checks import confidence, kind, missing, repeated_rows, sums, written_texts
from calib_core.readers.checks.shuffled_labels import no_better_than_chance
from calib_core.readers.checks.subject import Subject
from calib_core.readers.conversion import predictions
from calib_core.readers.proposal.long_form import prediction_rows
from calib_core.readers.proposal.proposed_reading import propose
from calib_core.readers.reading import OF_SUMMARIES, Reading
from calib_core.readers.table import Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.tool_shapes import shape_findings

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


__all__ = ["by_severity", "checks", "examine", "propose"]

_WHOLE = "The file as a whole"
_READABLE = "A file that can be read so"
_ORDER = {"problem": 0, "warning": 1, "note": 2}


def examine(table: Table, reading: Reading) -> tuple[Finding, ...]:
    """Everything worth knowing about a table read this way, problems first.

    A problem says why ``predictions`` would refuse; an empty tuple means nothing stands out.

    >>> import numpy as np
    >>> t = Table("a.csv", "csv", {"p": np.array([70.0, 20.0]), "y": np.array([1, 0])})
    >>> [(f.code, dict(f.change)) for f in examine(t, propose(t)) if f.change_label == "Read as percentages"]
    [('range', {'kind': 'percentages'})]
    """
    return by_severity(checks(table, reading))


def checks(table: Table, reading: Reading) -> tuple[Checked, ...]:
    """Everything that was looked for in a table read this way: found, passed, not applicable or skipped, and why.

    >>> import numpy as np
    >>> p = np.linspace(0.1, 0.9, 20)
    >>> t = Table("a.csv", "csv", {"p": p, "y": (p > 0.4).astype(int)})
    >>> [(each.outcome, each.title) for each in checks(t, propose(t))][2]
    ('passed', 'A value in every row')
    """
    if reading.layout in OF_SUMMARIES:
        return (Checked(_WHOLE, "found", findings=_of_summary(table, reading)),)
    whole = [*shape_findings(table, reading), *several_models(table, reading)]
    try:
        rows, how = prediction_rows(table, reading)
    except InputError as why:
        return _stopped([], str(why))
    whole += [Finding("note", "reader", note) for note in rows.notes]
    done = [Checked(_WHOLE, "found" if whole else "passed", findings=tuple(whole))]
    try:
        for each in checked(Subject(rows, how)):
            # One by one: those before the one that fails stand.
            done.append(_of_all_models(each) if reading.score_sets else each)
    except InputError as why:
        return _stopped(done, str(why))
    return tuple(done)


def _of_all_models(check: Checked) -> Checked:
    """Without changes of score columns, which would be those of one model where the reading has those of several."""
    settled = (
        replace(each, change=None, change_label=None) if "scores" in (each.change or {}) else each
        for each in check.findings
    )
    return replace(check, findings=tuple(settled))


def by_severity(done: Iterable[Checked]) -> tuple[Finding, ...]:
    """What checks have found, problems first."""
    return tuple(sorted((found for each in done for found in each.findings), key=lambda found: _ORDER[found.severity]))


def _stopped(done: list[Checked], why: str) -> tuple[Checked, ...]:
    """What was checked until the table could not be read so; the rest is skipped."""
    known = {each.title for each in done}
    rest = (
        Checked(check.title, "skipped", "the file cannot be read so") for check in CHECKS if check.title not in known
    )
    return (
        *done,
        Checked("A file that can be read so", "found", findings=(Finding("problem", "unreadable", why),)),
        *rest,
    )


def _of_summary(table: Table, reading: Reading) -> tuple[Finding, ...]:
    try:
        n, whole = predictions(table, reading).n_rows, predictions(table, Reading("summary")).n_rows
    except InputError as e:
        return (Finding("problem", "unreadable", str(e)),)
    if reading.layout == "kept-rows":
        message = f"The {n:,} rows that a summary of {whole:,} keeps, chosen by a hash of their numbers."
        return (Finding("note", "kept-rows", message, {"layout": "summary"}, "Back to the counts"),)
    message = f"Counts of {n:,} rows, made by calib summarise: what needs rows says so."
    return (Finding("note", "summary", message, {"layout": "kept-rows"}, "Look at the rows it keeps"),)
