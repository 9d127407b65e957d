"""Findings about an outcome that no name marks as one: which column was taken, and which others there are."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core.readers.checks.finding import Finding
from calib_core.readers.checks.subject import Subject
from calib_core.readers.foreign.recognition import proposed_fields
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.column_roles import role
from calib_core.readers.proposal.label_codes import plain
from calib_core.readers.proposal.risk_columns import called_covariate, outcome_columns, two_values
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table

_DIGITS = ("0", "1")


def outcome_by_values(subject: Subject) -> Iterator[Finding]:
    """A column taken as the outcome of a lone risk for its values, and not for its name."""
    table, reading = subject.table, subject.reading
    if subject.scores.shape[1] > 1 or len(reading.label) != 1 or table.joined is not None:
        return
    label = reading.label[0]
    if label not in table.columns or role(label) == "label" or "label" in proposed_fields(table, {}):
        return
    yield Finding("warning", "outcome", *_told(table, reading, label))


def _told(table: Table, reading: Reading, label: str) -> tuple[str, dict[str, tuple[str, ...]] | None, str | None]:
    """The sentence, and the change to another column of two values where there is one."""
    values = two_values(table.columns[label])
    if set(values) <= set(_DIGITS):
        seen = f"contains only {' and '.join(values)}"
    else:
        seen = f"has the values {listed(values)}"
    sentence = f"{quoted(label)} {seen}: it is read as the outcome."
    if {plain(value) for value in values} == {"1", "2"}:
        sentence += f" The event is taken to be {quoted(reading.event or reading.classes[-1])}."
    others = outcome_columns(table, set(reading.used)) or tuple(
        name for name, column in table.columns.items()
        if name not in reading.used and called_covariate(name) and len(two_values(column)) == 2
    )  # fmt: skip
    if not others:
        return sentence, None, None
    return sentence, {"label": others[:1]}, f"The outcome is {quoted(others[0])}"
