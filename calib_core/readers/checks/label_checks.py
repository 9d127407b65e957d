"""Checks of labels: their coding, the order of the classes, classes that never occur, and labels among the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from calib_core.predictions.event_names import NEGATIVE, POSITIVE, side_of
from calib_core.readers.checks.subject import Subject
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.class_columns import called_alike, side_by_side_with, summed_block, two_values
from calib_core.readers.proposal.column_roles import class_of, one_hot_class, role
from calib_core.readers.proposal.label_codes import (
    codes_inside,
    digits,
    label_texts,
    plain,
    same_sides,
    score_classes,
    unknown_label,
)
from calib_core.readers.proposal.score_columns import score_names
from calib_core.readers.reading import LabelCoding
from calib_core.readers.table import Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.text_encoding import looks_numeric, numbers
from calib_core.text import percent

_ENOUGH_ROWS = 50
"""With fewer rows, perfect or poor accuracy is no evidence."""
_BETTER = 0.2
"""Minimum gain in accuracy for another order of the classes to be evidence."""


def label_coding(subject: Subject) -> Iterator[Finding]:
    unknown = subject.labels.unknown
    if unknown.any():
        yield _unknown(subject)
        return
    base = subject.reading.label_coding
    if base in ("0-based", "1-based") and not subject.labels.missing.all():
        yield from _base(subject, base)
    yield from _variants(subject)


def _unknown(subject: Subject) -> Finding:
    why = unknown_label(subject.table, subject.reading, subject.labels)
    codings: tuple[LabelCoding, ...] = ("1-based", "0-based", "names")
    for coding in codings:
        if coding != subject.reading.label_coding and subject.reading.label_coding != "one-hot":
            other = subject.recoded(coding)
            if not other.unknown.any():
                label = "Labels are class names" if coding == "names" else f"Labels count from {coding[0]}"
                return Finding(
                    "problem",
                    "labels",
                    f"{why} Read as {coding}, every label is a class, and accuracy is "
                    f"{percent(subject.accuracy(other.codes))}.",
                    {"label_coding": coding},
                    label,
                )
    texts = sorted({str(text) for text in label_texts(subject.table.column(subject.reading.label[0]))} - {""})
    if (
        subject.reading.label_coding == "names"
        and len(texts) == subject.k
        and set(subject.reading.classes) == set(digits(subject.k))
    ):
        some = listed(texts, 5)
        return Finding(
            "problem",
            "labels",
            f"{why} The labels are {some}. Which score column belongs to which label?",
            {"classes": tuple(texts)},
            f"Columns are {listed(texts, 3)}, in alphabetical order",
        )
    return Finding("problem", "labels", why)


def _base(subject: Subject, base: LabelCoding) -> Iterator[Finding]:
    other: LabelCoding = "1-based" if base == "0-based" else "0-based"
    here, there = subject.accuracy(subject.labels.codes), subject.recoded(other)
    first, last = subject.reading.classes[0], subject.reading.classes[-1]
    values = numbers(subject.table.column(subject.reading.label[0]))
    sentence = (
        f"Labels run from {np.nanmin(values):g} to {np.nanmax(values):g} and are counted from {base[0]}: {base[0]} is "
        f"{quoted(first)} and {int(base[0]) + len(subject.reading.classes) - 1} is {quoted(last)}. Accuracy is "
        f"{percent(here)}"
    )
    if there.unknown.any():
        if base == "1-based":
            yield Finding("note", "from-one", f"{sentence}.")
        return
    counted = subject.accuracy(there.codes)
    yield Finding(
        "warning" if counted > here else "note",
        "labels",
        f"{sentence} ({percent(counted)} if counted from {other[0]}).",
        {"label_coding": other},
        f"Labels count from {other[0]}",
    )


def _variants(subject: Subject) -> Iterator[Finding]:
    if subject.reading.label_coding != "names":
        return
    by_plain: dict[str, list[str]] = {}
    for name in subject.reading.classes:
        by_plain.setdefault(plain(name), []).append(name)
    for same in by_plain.values():
        if len(same) > 1:
            yield Finding(
                "warning",
                "variants",
                f"Classes {listed(same)} differ only in capitals or spaces; they are treated as different classes.",
            )


def class_order(subject: Subject) -> Iterator[Finding]:
    """Find signs that the score columns are in another order than the classes of the labels."""
    codes = subject.labels.codes
    known = codes >= 0
    n = int(known.sum())
    if not n:
        return
    accuracy = subject.accuracy(codes)
    if accuracy == 1 and (n >= _ENOUGH_ROWS or _certain(subject)):
        yield Finding(
            "warning", "perfect", f"All {n:,} predictions are right. Are the labels among the model's inputs?"
        )
    elif accuracy < 1 and (cut := _cut(subject, codes)) is not None:
        first, second = subject.reading.classes if len(subject.reading.classes) == 2 else ("0", "1")
        yield Finding(
            "warning",
            "perfect",
            f"The label is {quoted(second)} in all {n:,} rows from a probability of {cut:.4g}, and {quoted(first)} in "
            "all rows below. Calibrated probabilities would have exceptions. Are the labels predictions?",
        )
    order, best = _best_order(codes[known], subject.predicted[known], subject.k, above=accuracy + _BETTER)
    chance = 1 / subject.k
    # Two standard errors below chance: with few rows, a worse result is only bad luck.
    below = accuracy < chance - 2 * np.sqrt(chance * (1 - chance) / n)
    # For any few rows some order looks better; only a much better order on many rows is evidence.
    better = n >= max(_ENOUGH_ROWS, 10 * subject.k) and best > accuracy + _BETTER
    if not (below or better):
        return
    sentence = f"Accuracy is {percent(accuracy)} (chance: {percent(chance)}). Are the classes in the wrong order?"
    if not better:
        yield Finding("warning", "class-order", sentence)
        return
    names = [subject.reading.classes[j] for j in order] if len(subject.reading.classes) == subject.k else []
    sentence += f" With the score columns in the order {listed(names, 5)}, it would be {percent(best)}."
    change = _reordered(subject, order)
    yield Finding("warning", "class-order", sentence, change, f"Use this order ({percent(best)})" if change else None)


def _certain(subject: Subject) -> bool:
    """True if every probability is 0 or 1: decisions in place of probabilities."""
    scale = {"probabilities": 1.0, "percentages": 100.0}.get(subject.reading.kind)
    return scale is not None and bool(np.isin(subject.scores, (0.0, scale)).all())


_EXCEPTIONS = 10.0
"""Expected number of rows on the wrong side of a cut above which none is evidence: its probability is below e^-10."""


def _cut(subject: Subject, codes: NDArray[np.int64]) -> float | None:
    """Return the probability of the second of two classes that separates its rows from all others; None if none does.

    Also None if so few exceptions are expected of calibrated probabilities that none is no surprise.
    """
    scale = {"probabilities": 1.0, "percentages": 100.0}.get(subject.reading.kind)
    if scale is None or subject.k != 2:
        return None
    risk = subject.scores[:, -1].astype(np.float64) / scale
    used = (codes >= 0) & np.isfinite(risk)
    risk, event = risk[used], codes[used] == 1
    if not event.any() or event.all() or risk[event].min() <= risk[~event].max():
        return None
    return float(risk[event].min()) if risk[~event].sum() + (1 - risk[event]).sum() > _EXCEPTIONS else None


def assumed_order(subject: Subject) -> Iterator[Finding]:
    """Find labels whose names no score column has, and which are therefore assigned in an assumed order."""
    table, reading, k = subject.table, subject.reading, subject.scores.shape[1]
    if reading.label_coding != "names" or k == 1 or set(reading.classes) <= set(digits(k)):
        return
    unnamed = len(reading.scores) < k or score_classes(reading.scores) == digits(k)
    if not unnamed or any(tuple(map(str, c)) == reading.classes for c in table.columns.values() if len(c) == k):
        return
    codes = subject.labels.codes[subject.labels.codes >= 0]
    here = subject.accuracy(subject.labels.codes)
    surely, best = _surely(subject, codes)
    seen = tuple(dict.fromkeys(reading.classes[code] for code in codes.tolist()))
    other = seen if len(seen) == k and seen != reading.classes else reading.classes[::-1]
    order = "in alphabetical order" if list(reading.classes) == sorted(reading.classes) else "in this order"
    yield Finding(
        "note" if surely else "warning",
        "assumed-order",
        f"The score columns have no class names and are assigned {order} to {listed(reading.classes, 5)}. Accuracy is "
        f"{percent(here)}"
        + (
            "; no other order gives more."
            if surely
            else f", or up to {percent(best)} in another order. Is this the right one?"
        ),
        {"classes": other},
        f"The order is {listed(other, 3)}",
    )


def named_columns(subject: Subject) -> Iterator[Finding]:
    """Find labels that are numbers, or other words, for classes that the score columns name.

    A note if both of two columns are named like codes, in the order of their codes. More columns count as the labels
    do; that is certain if their names are sorted, or if no other order is as accurate.
    """
    reading, k = subject.reading, subject.scores.shape[1]
    names = codes_inside(score_classes(reading.scores))
    if len(reading.scores) != k or k == 1 or len(reading.label) != 1 or set(names) <= {*digits(k + 1)}:
        return
    labels = two_values(subject.table.column(reading.label[0]))
    if reading.label_coding in ("0-based", "1-based"):
        first = int(reading.label_coding[0])
        coded = {code: str(first + code) for code in range(k)}
    elif k == 2 and same_sides(names, labels):
        coded = dict(enumerate(reading.classes))
    else:
        return
    if k > 2 and list(names) == sorted(names):
        return
    yield _swappable(subject, names, coded) if k == 2 else _counted(subject, names, coded)


def _swappable(subject: Subject, names: tuple[str, ...], coded: dict[int, str]) -> Finding:
    """Report which of two named columns belongs to which of two labels."""
    reading, accuracy = subject.reading, subject.accuracy(subject.labels.codes)
    in_file = [name for name in subject.table.columns if name in reading.scores] == list(reading.scores)
    in_order = in_file or reading.label_coding == "names"
    alike = side_of(coded[0]) < side_of(coded[1]) and plain(names[0]) in NEGATIVE and plain(names[1]) in POSITIVE
    by_name = side_of(names[0]) != side_of(names[1])
    change: dict[str, Any] = {"scores": reading.scores[::-1], "classes": names[::-1]}
    if reading.label_coding == "names":
        change = {"scores": reading.scores, "classes": reading.classes[::-1], "label_coding": "names"}
    return Finding(
        "note" if in_order and alike else "warning",
        "named-columns",
        f"{quoted(reading.label[0])} has other values than the names of the score columns. By "
        f"{'the names' if by_name else 'the order of the columns'}, {coded[0]} is read as {quoted(names[0])} and "
        f"{coded[1]} as {quoted(names[1])}. Accuracy is {percent(accuracy)} (swapped: {percent(1 - accuracy)}).",
        change,
        f"Labels of {coded[0]} mean {quoted(names[1])}",
    )


def _counted(subject: Subject, names: tuple[str, ...], coded: dict[int, str]) -> Finding:
    """Report that numbered labels count the named columns in their order, which is not alphabetical."""
    reading, known = subject.reading, subject.labels.codes[subject.labels.codes >= 0]
    surely, best = _surely(subject, known)
    surely = surely and len(known) >= _ENOUGH_ROWS
    by_name = tuple(sorted(range(len(names)), key=names.__getitem__))
    last = len(names) - 1
    return Finding(
        "note" if surely else "warning",
        "named-columns",
        f"The numbers in {quoted(reading.label[0])} count the score columns in their order: {coded[0]} is "
        f"{quoted(names[0])} and {coded[last]} is {quoted(names[last])}. Accuracy is "
        f"{percent(subject.accuracy(subject.labels.codes))}"
        + ("; no other order gives more." if surely else f", or up to {percent(best)} in another order."),
        {"scores": tuple(reading.scores[j] for j in by_name), "classes": tuple(names[j] for j in by_name)},
        "Labels count the classes in alphabetical order",
    )


def _surely(subject: Subject, known: NDArray[np.int64]) -> tuple[bool, float]:
    """Return whether this order of the classes is significantly the most accurate, and the best accuracy."""
    k = subject.scores.shape[1]
    here, chance = subject.accuracy(subject.labels.codes), 1 / k
    best = _best_order(known, subject.predicted[subject.labels.codes >= 0], k, above=-1.0)[1]
    return here == best and here > chance + 3 * np.sqrt(chance * (1 - chance) / max(1, len(known))), best


def _best_order(codes: NDArray[np.int64], predicted: NDArray[np.intp], k: int, above: float) -> tuple[list[int], float]:
    """Return the label for each predicted class that gives the highest accuracy, and that accuracy.

    There is no search if an upper bound (the most frequent label of each predicted class) does not exceed ``above``.
    """
    counts = np.bincount(predicted * k + codes, minlength=k * k).reshape(k, k)
    if counts.max(axis=1).sum() <= above * len(codes):
        return [], 0.0
    rows, labels = scipy.optimize.linear_sum_assignment(counts, maximize=True)
    return labels.tolist(), float(counts[rows, labels].sum() / len(codes))


def _reordered(subject: Subject, order: list[int]) -> dict[str, Any] | None:
    """Return the change that makes score column j represent class ``order[j]``."""
    names = subject.reading.classes
    if subject.reading.label_coding == "one-hot" or len(names) != subject.k:
        return None
    moved = tuple(names[j] for j in order)
    if subject.reading.label_coding == "names":
        return {"classes": moved}
    if subject.reading.label_coding == "0-based" and names == tuple(str(j) for j in range(subject.k)):
        return {"classes": moved, "label_coding": "names"}
    if len(subject.reading.scores) != subject.k:
        return None
    # The columns keep their names; the label codes get other names.
    back = np.argsort(order)
    return {
        "scores": tuple(subject.reading.scores[j] for j in back),
        "classes": tuple(names[j] for j in back),
    }


def unused_classes(subject: Subject) -> Iterator[Finding]:
    names = subject.reading.classes or tuple(str(j) for j in range(subject.k))
    if len(names) != subject.k:
        return
    codes = subject.labels.codes
    for what, classes in (("true", codes[codes >= 0]), ("predicted", subject.predicted)):
        counts = np.bincount(classes, minlength=subject.k)
        never = [names[j] for j in np.flatnonzero(counts == 0)]
        if never:
            count = f"{len(never)} of {subject.k} classes {'is' if len(never) == 1 else 'are'}"
            yield Finding("note", f"never-{what}", f"{count} never {what}: {listed(never, 5)}.")


def leak(subject: Subject) -> Iterator[Finding]:
    k = subject.scores.shape[1]
    if subject.reading.label_coding == "one-hot" or k == 1 or len(subject.scores) < 3:
        return
    codes = subject.labels.codes.astype(np.float64)
    if len(np.unique(codes)) < 2:
        return
    values = numbers(subject.table.column(subject.reading.label[0])) if subject.numeric_label else codes
    names, some = score_names(subject.reading, k), subject.scores[:1000]
    for j in np.flatnonzero(((some == values[:1000, None]) | (some == codes[:1000, None])).all(axis=0)):
        column = subject.scores[:, j]
        if np.array_equal(column, values) or np.array_equal(column, codes):
            rest = [i for i in range(k) if i != j]
            change = {
                "scores": tuple(names[i] for i in rest),
                "classes": tuple(subject.reading.classes[i] for i in rest),
            }
            problem = f"The score column {quoted(names[j])} contains the labels themselves."
            # With two columns, scores that are all 0 or 1 mean a very confident model rather than a leak.
            if k > 2:
                yield Finding("problem", "leak", problem, change, f"Leave out {quoted(names[j])}")


def beside_classes(subject: Subject) -> Iterator[Finding]:
    """Find columns next to those named like the labels' classes, and report whether they are read as classes."""
    table, reading = subject.table, subject.reading
    if len(reading.label) != 1 or reading.label[0] not in table.columns or len(reading.classes) != len(reading.scores):
        return
    if any(name not in table.columns or class_of(name) for name in reading.scores):
        return
    alike = called_alike(table, reading.scores, reading.label[0])
    if len(alike) < 2:
        return
    spelled = dict(zip(reading.scores, reading.classes, strict=True))
    if more := [name for name in reading.scores if name not in alike]:
        summed = reading.kind != "logits"
        if summed and len(summed_block(table, alike, alike) or ()) != len(alike):
            return  # without them rows would not sum to 1
        why = (
            "with them, rows sum to 1 more closely" if summed else f"their numbers resemble those of {listed(alike, 3)}"
        )
        they = "It is" if len(more) == 1 else "They are"
        yield Finding(
            "note" if summed else "warning",
            "classes-beside",
            f"No label is called {listed(more, 5)}. {they} next to the class columns and read as {_class(more)} that "
            f"never occurred: {why}.",
            _change(alike, spelled),
            f"Leave out {listed(more, 3)}",
        )
    elif reading.kind == "logits":
        free = [name for name in table.columns if name not in reading.used and _free(table, name)]
        every = side_by_side_with(table, alike, free)
        if left := [name for name in every if name not in alike]:
            they = "It is" if len(left) == 1 else "They are"
            yield Finding(
                "note",
                "classes-beside",
                f"No label is called {listed(left, 5)}. {they} next to the class columns, but not read as "
                f"{_class(left)}.",
                _change(every, spelled),
                f"Read {listed(left, 3)} as {_class(left)}",
            )


def _class(names: Sequence[str]) -> str:
    return "a class" if len(names) == 1 else "classes"


def _change(names: Sequence[str], spelled: dict[str, str]) -> dict[str, Any]:
    return {
        "scores": tuple(names),
        "classes": tuple(spelled.get(name, name) for name in names),
        "label_coding": "names",
    }


def _free(table: Table, name: str) -> bool:
    column = table.columns[name]
    return looks_numeric(column) and len(column) == table.n_rows and role(name) is None and not one_hot_class(name)
