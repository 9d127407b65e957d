"""A finding about answers that a judge marked: a column in which people marked a few of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calib_core.readers.checks.finding import Finding
from calib_core.readers.checks.subject import Subject
from calib_core.readers.messages import quoted
from calib_core.readers.proposal.verdict_words import marks_some, verdicts


def people_marks(subject: Subject) -> Iterator[Finding]:
    """A column that says right or wrong of some rows and nothing of the others, beside one that says it of all."""
    table, reading = subject.table, subject.reading
    if reading.correct is None:
        return
    for name, column in table.columns.items():
        if name in reading.used or len(column) != table.n_rows or not marks_some(column):
            continue
        marked = int((~np.isnan(verdicts(table, name))).sum())
        yield Finding(
            "note",
            "people-marks",
            f"The column {quoted(name)} says right or wrong of {marked:,} of {table.n_rows:,} rows, and nothing of the "
            f"others. If people marked these, drawn at random, and a judge all rows in {quoted(reading.correct)}, what "
            "the judge says can be corrected: see Judged answers among the views of Explore, or run calib judge.",
        )
        return
