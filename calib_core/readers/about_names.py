"""A finding about names of classes that a file holds and that cannot be those of its scores."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core.readers.finding import Finding
from calib_core.readers.roles import named
from calib_core.readers.subject import Subject
from calib_core.readers.wording import quoted


def unused_names(subject: Subject) -> Iterator[Finding]:
    """An array that is called class names, and is as long as no row of scores, names a class twice, or is no text."""
    columns = subject.table.columns
    k = len(subject.reading.classes)
    for name in named(columns, "class names"):
        column = columns[name]
        texts = [str(value) for value in column[: k + 1]]
        if name in subject.reading.used or len(column) == subject.table.n_rows:
            continue
        if len(column) != k:
            why = f"{len(column):,} names for {k:,} classes"
        elif len(set(texts)) < k:
            why = f"{quoted(next(text for text in texts if texts.count(text) > 1))} stands in it twice"
        elif column.dtype != object:
            why = "numbers and no text"
        else:
            continue
        yield Finding("warning", "unused-names", f"The class names in {quoted(name)} are not used: {why}.")
