"""Findings about tables of (confidence, correct) or (confidence, predicted, label)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from calib_core._text import percent
from calib_core.predictions import InputError
from calib_core.readers.finding import Finding
from calib_core.readers.labels import coded, coded_labels, label_texts, unknown_label
from calib_core.readers.score_checks import check_scores
from calib_core.readers.subject import Subject
from calib_core.readers.survey import survey
from calib_core.readers.verbal import SOURCES, confidences, phrases, stands_for
from calib_core.readers.wording import quoted, shown


def confidence(subject: Subject) -> Iterator[Finding]:
    name = str(subject.reading.confidence)
    values = confidences(subject.table, subject.reading)
    found = survey(values)
    try:
        check_scores(subject.table, subject.reading, values)
    except InputError as e:
        offer = subject.reading.kind == "probabilities" and found.low >= 0 and 1 < found.high <= 100
        yield Finding(
            "problem",
            "range",
            str(e),
            {"kind": "percentages"} if offer else None,
            "Read as percentages" if offer else None,
        )
    if subject.reading.kind == "percentages":
        yield Finding(
            "note",
            "kind",
            f"{quoted(name)} is read as percentages: values from {found.low:.4g} to {found.high:.4g}.",
            {"kind": "probabilities"},
            "Read as probabilities",
        )
    if subject.reading.kind == "words":
        known, counts = stands_for(subject.reading), phrases(subject.table.column(name))
        some = ", ".join(f"{quoted(phrase)} {percent(known[phrase])}" for phrase in counts.index[:5])
        more = f" and {len(counts) - 5} more" if len(counts) > 5 else ""
        yield Finding("note", "words", f"{quoted(name)} is in words, which stand for {some}{more}. {SOURCES}")
    if len(values) > 1 and found.duplicates == len(values) - 1:
        yield Finding("warning", "constant", f"All {len(values):,} rows have the same confidence.")
    if subject.reading.layout == "top-label":
        yield from _claims(subject)


def _claims(subject: Subject) -> Iterator[Finding]:
    labels = coded_labels(subject.table, subject.reading)
    if labels.unknown.any():
        yield Finding("problem", "labels", unknown_label(subject.table, subject.reading, labels))
        return
    predicted = coded(
        subject.table.column(str(subject.reading.predicted)), subject.reading.label_coding, subject.reading.classes
    )
    if predicted.unknown.any():
        claimed = subject.reading.replace(label=(str(subject.reading.predicted),))
        yield Finding("problem", "labels", unknown_label(subject.table, claimed, predicted))
        return
    known = (labels.codes >= 0) & (predicted.codes >= 0)
    if known.any() and not (labels.codes == predicted.codes)[known].any():
        some = ", ".join(map(shown, pd.unique(label_texts(subject.table.column(str(subject.reading.predicted))))[:3]))
        yield Finding(
            "warning",
            "never-right",
            f"No row predicts its label: are predictions ({some}) and labels coded alike?",
        )
