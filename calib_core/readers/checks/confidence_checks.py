"""Findings about tables of (confidence, correct) or (confidence, predicted, label)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError
from calib_core.readers.checks.finding import Finding
from calib_core.readers.checks.shuffled_labels import CHANCE, association
from calib_core.readers.checks.subject import Subject
from calib_core.readers.messages import quoted, shown
from calib_core.readers.proposal.class_names import digits
from calib_core.readers.proposal.label_codes import coded_labels, label_texts, unknown_label
from calib_core.readers.proposal.score_columns import check_scores
from calib_core.readers.proposal.score_survey import survey
from calib_core.readers.proposal.verbal_confidence import SOURCES, confidences, phrases, ratings, shares_of, stands_for
from calib_core.text import percent

_FEWEST_ROWS = 50
"""Rows below which poor accuracy is no evidence of anything."""
_MOST_CLASSES = 256
"""Classes up to which predicted ones are compared with shuffled labels, with a number for every row and class."""
_BETTER = 0.2
"""By how much more often another base has to be right, to be evidence by itself."""


def confidence(subject: Subject) -> Iterator[Finding]:
    name = str(subject.reading.confidence)
    values = confidences(subject.table, subject.reading)
    found = survey(values)
    try:
        check_scores(subject.table, subject.reading, values)
    except InputError as e:
        yield from _out_of_range(subject, str(e), found.low, found.high)
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
    claimed = subject.reading.of_predicted
    predicted = coded_labels(subject.table, claimed)
    if predicted.unknown.any():
        yield Finding("problem", "labels", unknown_label(subject.table, claimed, predicted))
        return
    if other := _other_base(subject, predicted.codes, labels.codes):
        yield other
        return
    known = (labels.codes >= 0) & (predicted.codes >= 0)
    if known.any() and not (labels.codes == predicted.codes)[known].any():
        some = ", ".join(map(shown, pd.unique(label_texts(subject.table.column(str(subject.reading.predicted))))[:3]))
        yield Finding(
            "warning",
            "never-right",
            f"No row predicts its label: are predictions ({some}) and labels coded alike?",
        )
    elif known.sum() >= _FEWEST_ROWS:
        yield from _by_chance(predicted.codes[known], labels.codes[known], len(subject.reading.classes))


def _out_of_range(subject: Subject, why: str, low: float, high: float) -> Iterator[Finding]:
    if subject.reading.kind == "probabilities" and low >= 0 and 1 < high <= 100:
        if steps := ratings(values := subject.table.numeric(str(subject.reading.confidence))):
            numbers = shares_of(steps)
            yield Finding(
                "problem",
                "range",
                f"{why} {len(pd.unique(values))} whole numbers up to {steps[-1]} look like ratings.",
                {"kind": "words", "words": numbers},
                f"Ratings: {numbers[0].replace('=', ' is ')} … {numbers[-1].replace('=', ' is ')}",
            )
        message = "Or are they percentages?" if steps else why
        yield Finding("problem", "range", message, {"kind": "percentages"}, "Read as percentages")
    else:
        yield Finding("problem", "range", why)


def _other_base(subject: Subject, predicted: NDArray[np.int64], labels: NDArray[np.int64]) -> Finding | None:
    """Predicted classes that count from 0 where labels count from 1, or the other way round."""
    reading = subject.reading
    names = (str(reading.predicted), reading.label[0])
    if reading.predicted_coding is not None or any(
        subject.table.column(name).dtype.kind not in "iuf" for name in names
    ):
        return None
    base = int(reading.label_coding == "1-based")
    claims, truth = predicted[predicted >= 0] + base, labels[labels >= 0] + base
    right = float(np.mean(predicted == labels))
    for first, codings in ((0, ("0-based", "1-based")), (1, ("1-based", "0-based"))):
        moved = float(np.mean(predicted + (1 if first == 0 else -1) == labels))
        ranges = (claims.min(), truth.min()) == (first, 1 - first) and abs(int(claims.max()) - int(truth.max())) == 1
        if moved > right and (ranges or (len(labels) >= _FEWEST_ROWS and moved > right + _BETTER)):
            most = max(int(claims.max()) - first, int(truth.max()) - 1 + first) + 1
            return Finding(
                "warning",
                "labels",
                f"Predicted classes run from {claims.min()} to {claims.max()} and labels from {truth.min()} to "
                f"{truth.max()}; accuracy {percent(right)}. With predicted classes counted from {first} and labels "
                f"from {1 - first} it would be {percent(moved)}.",
                {"predicted_coding": codings[0], "label_coding": codings[1], "classes": digits(most)},
                f"Predicted classes count from {first}, labels from {1 - first}",
            )
    return None


def _by_chance(predicted: NDArray[np.int64], labels: NDArray[np.int64], k: int) -> Iterator[Finding]:
    """Predicted classes that go with the labels no better than with shuffled ones."""
    found = association(np.eye(k)[predicted], labels) if k <= _MOST_CLASSES else None
    if found is None or found >= CHANCE:
        return
    shuffled = float(np.bincount(predicted, minlength=k) @ np.bincount(labels, minlength=k)) / len(labels) ** 2
    yield Finding(
        "warning",
        "chance",
        f"Accuracy is {percent(float(np.mean(predicted == labels)))}, and labels shuffled over the rows would give "
        f"{percent(shuffled)}: are labels shifted by a row, or in the order of another file?",
    )
