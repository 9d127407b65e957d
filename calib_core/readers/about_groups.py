"""A finding about rows that belong together: a column that says so and is not used as the group."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core._row_groups import FEWEST_GROUPS
from calib_core.readers.finding import Finding
from calib_core.readers.labels import label_texts
from calib_core.readers.roles import named
from calib_core.readers.subject import Subject
from calib_core.readers.wording import quoted


def belonging(subject: Subject) -> Iterator[Finding]:
    """A column named as people, questions or authors are, whose values repeat, while no column is the group.

    Of fewer values than intervals need groups a column divides rows by topic rather than telling who they are of.
    """
    table, reading = subject.table, subject.reading
    if reading.group is not None:
        return
    for name in named(table.columns, "group"):
        texts = label_texts(table.columns[name])
        groups, n = len(set(texts.tolist())), len(texts)
        if name in reading.used or not FEWEST_GROUPS <= groups < n or (texts == "").any():
            continue
        yield Finding(
            "note",
            "group",
            f"The column {quoted(name)} has {groups:,} values in {n:,} rows: if rows with the same value belong "
            "together, naming it the group keeps them on one side of every split and makes intervals honest about it.",
            {"group": name},
            "Rows with the same value belong together",
        )
        return
