"""What a table shows before anything is computed: findings with their evidence and what would settle them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from calib_core.predictions import InputError
from calib_core.readers.about_chance import no_better_than_chance
from calib_core.readers.about_confidence import confidence
from calib_core.readers.about_groups import belonging
from calib_core.readers.about_labels import assumed_order, class_order, label_coding, leak, unused_classes
from calib_core.readers.about_models import several_models
from calib_core.readers.about_names import unused_names
from calib_core.readers.about_scores import kind, missing, repeated_rows, sums, written_texts
from calib_core.readers.about_weights import unused_weights
from calib_core.readers.finding import Finding
from calib_core.readers.labels import plain
from calib_core.readers.long_form import prediction_rows
from calib_core.readers.predict import predictions
from calib_core.readers.proposal import propose
from calib_core.readers.reading import OF_SUMMARIES, Reading
from calib_core.readers.subject import Subject
from calib_core.readers.table import Table
from calib_core.readers.wording import listed, quoted

__all__ = ["examine", "propose"]

_ORDER = {"problem": 0, "warning": 1, "note": 2}


def examine(table: Table, reading: Reading) -> tuple[Finding, ...]:
    """Everything worth knowing about a table read this way, problems first.

    A problem says why ``predictions`` would refuse; an empty tuple means nothing stands out.

    >>> import numpy as np
    >>> t = Table("a.csv", "csv", {"p": np.array([70.0, 20.0]), "y": np.array([1, 0])})
    >>> [(f.code, dict(f.change)) for f in examine(t, propose(t)) if f.change_label == "Read as percentages"]
    [('range', {'kind': 'percentages'})]
    """
    if reading.layout in OF_SUMMARIES:
        return _of_summary(table, reading)
    found: list[Finding] = list(several_models(table, reading))
    try:
        table, reading = prediction_rows(table, reading)
    except InputError as e:
        return (Finding("problem", "unreadable", str(e)),)
    found += [Finding("note", "reader", note) for note in table.notes]
    found += _names(table, reading)
    try:
        found += list(_findings(Subject(table, reading)))
    except InputError as e:
        found.append(Finding("problem", "unreadable", str(e)))
    return tuple(sorted(found, key=lambda f: _ORDER[f.severity]))


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


def _findings(subject: Subject) -> Iterator[Finding]:
    yield from missing(subject)
    yield from written_texts(subject)
    yield from belonging(subject)
    yield from unused_weights(subject)
    if subject.reading.layout != "wide":
        yield from confidence(subject)
        return
    yield from unused_names(subject)
    yield from leak(subject)
    yield from kind(subject)
    yield from label_coding(subject)
    if subject.refused or subject.labels.unknown.any():
        # Nothing said about accuracy or rows would hold once scores and labels are read as they are meant.
        return
    yield from sums(subject)
    mixed_up = list(class_order(subject))
    yield from mixed_up
    if not mixed_up:
        yield from assumed_order(subject)
        yield from no_better_than_chance(subject)
    yield from unused_classes(subject)
    yield from repeated_rows(subject)


def _names(table: Table, reading: Reading) -> Iterator[Finding]:
    """Names that look alike on screen, or hold characters nobody sees."""
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
