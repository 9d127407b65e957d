"""Check a table before anything is computed: the list of checks, their findings and the proposed reading."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from calib_core._base.notebook_display import Shown
from calib_core.predictions.predictions import InputError
from calib_core.readers.checks.column_checks import (
    answers_by_values,
    belonging,
    counted_copies,
    look_alikes,
    outcome_by_values,
    people_marks,
    time_to_event,
    unused_names,
    unused_split,
    unused_weights,
)
from calib_core.readers.checks.label_checks import (
    assumed_order,
    beside_classes,
    class_order,
    label_coding,
    leak,
    named_columns,
    unused_classes,
)
from calib_core.readers.checks.model_checks import labels_elsewhere, several_models
from calib_core.readers.checks.score_checks import confidence, kind, missing, repeated_rows, sums, written_texts
from calib_core.readers.checks.shuffled_labels import no_better_than_chance, reversed_confidence
from calib_core.readers.checks.subject import Subject
from calib_core.readers.conversion import predictions
from calib_core.readers.proposal.long_form import prediction_rows
from calib_core.readers.proposal.proposed_reading import propose
from calib_core.readers.reading import OF_SUMMARIES, Reading
from calib_core.readers.table import ASSUMED, SUMMARY, Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.tool_shapes import shape_findings

Outcome = Literal["found", "passed", "not applicable", "skipped"]
Look = Callable[[Subject], Iterator[Finding]]


@dataclass(frozen=True)
class Checked(Shown):
    """One check of a file and its outcome.

    Parameters
    ----------
    title : the property that was checked.
    outcome : "found" (there are findings); "passed"; "not applicable" to a file of this layout; or "skipped", because
        another finding has to be resolved first.
    why : the reason for the last two outcomes; otherwise empty.
    findings : the findings.
    """

    title: str
    outcome: Outcome
    why: str = ""
    findings: tuple[Finding, ...] = ()

    def noted(self, codes: Collection[str]) -> Checked:
        """Return the check with its warnings of these codes as notes."""
        return replace(self, findings=tuple(each.noted(codes) for each in self.findings))

    def _facts(self) -> dict[str, object]:
        return {"check": self.title, self.outcome: self.why or " ".join(each.message for each in self.findings)}


@dataclass(frozen=True)
class Check:
    """A check: its title, its function, the layouts it applies to, and its preconditions."""

    title: str
    look: Look
    wide: bool | None = None
    """True: only files with a score for every class; False: only files with one confidence per row; None: all files."""
    settled: bool = False
    """True: the check is meaningless while scores are out of range, or while labels are not classes."""
    unless: Look | None = None
    """The check is skipped if this other check has findings."""


CHECKS = (
    Check("Distinct names", look_alikes),
    Check("No missing values", missing),
    Check("Plain numbers", written_texts),
    Check("Labels joined to their rows", labels_elsewhere),
    Check("No undeclared groups of rows", belonging),
    Check("Parts of the file", unused_split),
    Check("Row weights", unused_weights),
    Check("Weights as copies", counted_copies),
    Check("Confidence range and labels", confidence, wide=False),
    Check("Columns next to the classes", beside_classes, wide=True),
    Check("Human marks next to a judge's", people_marks, wide=False),
    Check("Class names", unused_names, wide=True),
    Check("No label among the scores", leak, wide=True),
    Check("Score type", kind, wide=True),
    Check("Outcome column", outcome_by_values, wide=True),
    Check("Columns of answers", answers_by_values, wide=False),
    Check("Higher confidence in right answers", reversed_confidence, wide=False),
    Check("Labels are classes", label_coding, wide=True),
    Check("No follow-up times", time_to_event, wide=True),
    Check("Probabilities sum to 1", sums, wide=True, settled=True),
    Check("Class order matches the labels", class_order, wide=True, settled=True),
    Check("Class order is known", assumed_order, wide=True, settled=True, unless=class_order),
    Check("Labels and columns name classes alike", named_columns, wide=True, settled=True),
    Check("Labels match the predictions", no_better_than_chance, True, True, unless=class_order),
    Check("Every class occurs and is predicted", unused_classes, wide=True, settled=True),
    Check("Distinct rows, none impossible", repeated_rows, wide=True, settled=True),
)
"""All checks, in the order in which they run; add new ones here."""

_UNSETTLED = "first resolve the findings about scores or labels"
_MIXED_UP = "first resolve the finding about the order of the classes"


def checked(subject: Subject) -> Iterator[Checked]:
    """Run every check on a table and its reading; InputError if the table cannot be read this way.

    >>> import numpy as np
    >>> from calib_core.readers.reading import Reading
    >>> from calib_core.readers.table import Table
    >>> p = np.linspace(0.1, 0.9, 20)
    >>> t = Table("a.csv", "csv", {"p": p, "y": (p > 0.4).astype(int)})
    >>> done = list(checked(Subject(t, Reading(scores=("p",), label=("y",), classes=("no", "yes")))))
    >>> [each.title for each in done if each.outcome == "found"]
    ['Score type']
    """
    wide = subject.reading.layout == "wide"
    telling: set[Look] = set()
    for check in CHECKS:
        if check.wide not in (None, wide):
            why = "the file has one score for every class" if wide else "the file has one confidence per row"
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
    """True if scores are out of range or labels unknown, so that accuracy and repeated rows mean nothing yet."""
    return bool(subject.refused) or bool(subject.labels.unknown.any())


__all__ = ["by_severity", "checks", "examine", "propose"]

_WHOLE = "The file as a whole"
_READABLE = "The file can be read this way"
_ORDER = {"problem": 0, "warning": 1, "note": 2}


def examine(table: Table, reading: Reading) -> tuple[Finding, ...]:
    """Return all findings about a table and its reading, problems first.

    A problem is a reason for which ``predictions`` would raise InputError. An empty tuple: nothing is doubtful.

    >>> import numpy as np
    >>> t = Table("a.csv", "csv", {"p": np.array([70.0, 20.0]), "y": np.array([1, 0])})
    >>> [(f.code, dict(f.change)) for f in examine(t, propose(t)) if f.change_label == "Read as percentages"]
    [('range', {'kind': 'percentages'})]
    """
    return by_severity(checks(table, reading))


def checks(table: Table, reading: Reading) -> tuple[Checked, ...]:
    """Return every check of a table and its reading with its outcome: found, passed, not applicable or skipped.

    Warnings that the reading accepts are notes.

    >>> import numpy as np
    >>> p = np.linspace(0.1, 0.9, 20)
    >>> t = Table("a.csv", "csv", {"p": p, "y": (p > 0.4).astype(int)})
    >>> [(each.outcome, each.title) for each in checks(t, propose(t))][2]
    ('passed', 'No missing values')
    """
    done = _checks(table, reading)
    return tuple(each.noted(reading.accepted) for each in done) if reading.accepted else done


def _checks(table: Table, reading: Reading) -> tuple[Checked, ...]:
    if reading.layout in OF_SUMMARIES:
        return (Checked(_WHOLE, "found", findings=_of_summary(table, reading)),)
    whole = [*shape_findings(table, reading), *several_models(table, reading)]
    try:
        rows, how = prediction_rows(table, reading)
    except InputError as why:
        return _stopped([], str(why))
    whole += [Finding("note", "reader", note) for note in rows.notes]
    whole += reader_doubts(rows, how)
    done = [Checked(_WHOLE, "found" if whole else "passed", findings=tuple(whole))]
    try:
        for each in checked(Subject(rows, how)):
            # One by one, so that the checks before a failing one are reported.
            done.append(_of_all_models(each) if reading.score_sets else each)
    except InputError as why:
        return _stopped(done, str(why))
    return tuple(done)


def reader_doubts(table: Table, reading: Reading) -> tuple[Finding, ...]:
    """Return a warning for each assumption of the reader that would move numbers; choosing the columns settles most.

    >>> table = Table("a.csv", "csv", {}, doubts=(("no-header", "The header line is missing."),))
    >>> [dict(each.change) for each in reader_doubts(table, Reading(scores=("column 1",), label=("column 2",)))]
    [{'scores': ('column 1',), 'label': ('column 2',)}]
    """
    names = ("scores", "label") if reading.layout == "wide" else ("confidence", "correct", "predicted", "label")
    change = {name: value for name in names if (value := getattr(reading, name))}
    return tuple(
        Finding("warning", code, message) if code == "stated-rows" else
        Finding("warning", code, message, change, "Read these columns")
        for code, message in table.doubts
    )  # fmt: skip


def _of_all_models(check: Checked) -> Checked:
    """Remove changes of score columns: they are for one model, while the reading has several."""
    settled = (
        replace(each, change=None, change_label=None) if "scores" in (each.change or {}) else each
        for each in check.findings
    )
    return replace(check, findings=tuple(settled))


def by_severity(done: Iterable[Checked]) -> tuple[Finding, ...]:
    """Return the findings of all checks, problems first."""
    return tuple(sorted((found for each in done for found in each.findings), key=lambda found: _ORDER[found.severity]))


def _stopped(done: list[Checked], why: str) -> tuple[Checked, ...]:
    """Return the checks up to the point where the table could not be read; the others are skipped."""
    known = {each.title for each in done}
    rest = (
        Checked(check.title, "skipped", "the file cannot be read this way")
        for check in CHECKS
        if check.title not in known
    )
    return (
        *done,
        Checked(_READABLE, "found", findings=(Finding("problem", "unreadable", why),)),
        *rest,
    )


def _of_summary(table: Table, reading: Reading) -> tuple[Finding, ...]:
    try:
        n, whole = predictions(table, reading).n_rows, predictions(table, Reading("summary")).n_rows
    except InputError as e:
        return (Finding("problem", "unreadable", str(e)),)
    return (*_assumed_of(table), _kind_of_summary(n, whole, reading))


def _assumed_of(table: Table) -> tuple[Finding, ...]:
    """Return a warning for each assumption about the files that were counted."""
    notes = table.columns["text"][table.columns[SUMMARY] == "note"]
    return tuple(Finding("warning", "counted", str(note)) for note in notes if str(note).startswith(ASSUMED))


def _kind_of_summary(n: int, whole: int, reading: Reading) -> Finding:
    if reading.layout == "kept-rows":
        message = f"These are the {n:,} sampled rows stored in a summary of {whole:,} rows."
        return Finding("note", "kept-rows", message, {"layout": "summary"}, "Use the counts of all rows")
    message = (
        f"This is a summary: counts of {n:,} rows, written by calib summarise. Analyses that need rows are not "
        "available."
    )
    return Finding("note", "summary", message, {"layout": "kept-rows"}, "Use the sampled rows")
