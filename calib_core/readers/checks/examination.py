"""What a table shows before anything is computed: findings with their evidence and what would settle them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from calib_core.predictions.predictions import InputError
from calib_core.readers.checks.check_list import CHECKS, Checked, checked
from calib_core.readers.checks.finding import Finding
from calib_core.readers.checks.model_checks import several_models
from calib_core.readers.checks.subject import Subject
from calib_core.readers.conversion import predictions
from calib_core.readers.foreign.recognition import shape_findings
from calib_core.readers.proposal.long_form import prediction_rows
from calib_core.readers.proposal.proposed_reading import propose
from calib_core.readers.reading import OF_SUMMARIES, Reading
from calib_core.readers.table import Table

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
