"""Findings about names: of classes, which cannot be those of the scores; that look alike, or hold what nobody sees."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from calib_core.readers.checks.finding import Finding
from calib_core.readers.checks.subject import Subject
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.column_roles import named
from calib_core.readers.proposal.label_codes import plain


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


def look_alikes(subject: Subject) -> Iterator[Finding]:
    """Names that look alike on screen, or hold characters nobody sees."""
    table, reading = subject.table, subject.reading
    names = list(dict.fromkeys((*table.names, *reading.classes)))
    reported: list[str] = []
    for name in names:
        if any(name in other for other in reported):
            continue
        hidden = [c for c in name if unicodedata.category(c) in ("Cf", "Cc", "Co", "Zl", "Zp")]
        if hidden:
            reported.append(name)
            points = ", ".join(sorted({f"U+{ord(c):04X}" for c in hidden}))
            yield Finding("warning", "names", f"The name {quoted(name)} holds characters that are not shown: {points}.")
    alike: dict[str, list[str]] = {}
    for name in reading.classes:
        alike.setdefault(_skeleton(name), []).append(name)
    for same in alike.values():
        if len(same) > 1:
            yield Finding("warning", "names", f"Classes {listed(same)} look alike; they are kept apart.")


# Cyrillic and Greek letters that look like Latin ones.
_LOOKALIKES = str.maketrans("аеорсухіАВЕКМНОРСТХоαορνΑΒΕΗΙΚΜΝΟΡΤΧ", "aeopcyxiABEKMHOPCTXoaopvABEHIKMNOPTX")


def _skeleton(name: str) -> str:
    seen = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return plain(seen.translate(_LOOKALIKES))
