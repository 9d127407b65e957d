"""Convert labels to class codes, and find the class names and coding of a label column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.event_names import event_of, side_of, words_of
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.messages import affected, listed, quoted, shown
from calib_core.readers.proposal.column_roles import class_of
from calib_core.readers.proposal.score_survey import evidence, survey
from calib_core.readers.reading import LabelCoding, Reading
from calib_core.readers.table import Array, Table
from calib_core.readers.text_encoding import missing_text, numbers

_LOOKED_AT = 5000
_LISTED = 5
"""Up to this many numbered classes are listed one by one."""
_IGNORED = "-100"
"""Label of positions that losses ignore in PyTorch and Transformers."""


@dataclass(frozen=True, eq=False)
class Coded:
    """Codes 0..K-1, with -1 for labels that are missing or not classes."""

    codes: NDArray[np.int64]
    missing: NDArray[np.bool_]

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Labels that are present but are not classes."""
        return (self.codes < 0) & ~self.missing


def coded_labels(table: Table, reading: Reading) -> Coded:
    """Return the label column (or columns) of a reading as codes."""
    if reading.label_coding == "one-hot":
        return _one_hot(table, reading)
    if len(reading.label) != 1:
        raise InputError(f'{len(reading.label)} label columns are chosen; choose only one, or label coding "one-hot"')
    return coded(table.column(reading.label[0]), reading.label_coding, reading.classes)


def coded(column: Array, coding: LabelCoding, classes: Sequence[str]) -> Coded:
    """Convert one column of labels to codes.

    >>> coded(np.array([1, 2, 4]), "1-based", ("cat", "dog", "bird")).codes.tolist()
    [0, 1, -1]
    >>> coded(np.array(["dog", ""], dtype=object), "names", ("cat", "dog")).codes.tolist()
    [1, -1]
    """
    if coding == "names":
        return _named(column, classes)
    values = numbers(column)
    missing = np.asarray(np.isnan(values))
    if column.dtype == object:
        missing &= missing_text(column)
    values = values - 1 if coding == "1-based" else values
    with np.errstate(invalid="ignore"):
        good = (values >= 0) & (values < len(classes)) & (values == np.floor(values))
    return Coded(np.where(good, values, -1).astype(np.int64), missing)


def _named(column: Array, classes: Sequence[str]) -> Coded:
    texts = label_texts(column)
    codes = pd.Index(list(classes), dtype=object).get_indexer(pd.Index(texts, dtype=object))
    # "NA" is a missing label, unless it is the name of a class.
    return Coded(codes.astype(np.int64), np.asarray((codes < 0) & missing_text(texts)))


def label_texts(column: Array) -> NDArray[np.object_]:
    """Convert labels to text: whole numbers without a decimal point, NaN as empty text.

    >>> label_texts(np.array([1.0, np.nan, 2.5])).tolist()
    ['1', '', '2.5']
    """
    if column.dtype == object:
        return column
    codes, values = pd.factorize(column)
    words = np.empty(len(values) + 1, dtype=object)
    words[:] = [*(_written(v) for v in values.tolist()), ""]
    return np.asarray(words[codes])


def _written(value: float | bool) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _one_hot(table: Table, reading: Reading) -> Coded:
    marks = one_hot_marks(table, reading.label)
    if marks.ndim != 2 or marks.shape[1] != len(reading.classes):
        given = marks.shape[-1] if marks.ndim == 2 else 1
        raise InputError(
            f"{table.name}: {given} one-hot label columns for {len(reading.classes)} classes; choose one column per "
            "class"
        )
    missing = np.asarray(np.isnan(marks.astype(np.float64, copy=False)).any(axis=1))
    good = ((marks == 0) | (marks == 1)).all(axis=1) & (marks.sum(axis=1) == 1)
    return Coded(np.where(good, marks.argmax(axis=1), -1).astype(np.int64), missing)


def one_hot_marks(table: Table, names: Sequence[str]) -> Array:
    """Return one-hot labels as numbers (n, K), also if they are written as true and false.

    >>> truth = np.array(["True", "FALSE", ""], dtype=object)
    >>> one_hot_marks(Table("a.csv", "csv", {"a": truth, "b": np.array([0, 1, 1])}), ("a", "b")).tolist()
    [[1.0, 0.0], [0.0, 1.0], [nan, 1.0]]
    """
    truths = [_truth(table.columns[name]) if name in table.columns else None for name in names]
    if all(truth is None for truth in truths):
        return table.matrix(names)
    marks = zip(names, truths, strict=True)
    return np.column_stack([table.numeric(name) if truth is None else truth for name, truth in marks])


def _truth(column: Array) -> NDArray[np.float64] | None:
    """Return 1 for true and 0 for false; None for other columns."""
    if column.dtype != object:
        return None
    codes, values = pd.factorize(column)
    found = [_TRUTH.get(plain(str(value)), np.nan) for value in values]
    if np.isnan(found).all() or not missing_text(np.asarray(values, dtype=object)[np.isnan(found)]).all():
        return None
    return np.array([*found, np.nan])[codes]


_TRUTH = {"true": 1.0, "false": 0.0}


def unknown_label(table: Table, reading: Reading, found: Coded) -> str:
    """Return the message about labels that are not classes: the first place, the number, and a remedy."""
    rows = np.flatnonzero(found.unknown)
    row = int(rows[0])
    where = f"{table.name}, column {quoted(reading.label[0])}, {table.place(row)}"
    count = affected(len(rows), len(found.codes))
    share = f"{len(rows):,} of {len(found.codes):,} rows"
    if reading.label_coding == "one-hot":
        return f"{where}: the row must mark exactly one class with 1 and the others with 0; {count}."
    value = label_texts(table.column(reading.label[0]))[row]
    if reading.label_coding == "names":
        near = [c for c in reading.classes if plain(c) == plain(str(value))]
        advice = (
            f"It differs from {quoted(near[0])} only in capitals or spaces; use the same spelling."
            if near
            else f"The classes are {listed(reading.classes, 5)}."
        )
        return f"{where}: {quoted(value)} is not a class; {count}. {advice}"
    first = 0 if reading.label_coding == "0-based" else 1
    last = first + len(reading.classes) - 1
    classes = f"{first} to {last}" if last - first >= _LISTED else ", ".join(map(str, range(first, last + 1)))
    marked = "It marks rows that training ignores; remove them from the file." if value == _IGNORED else ""
    advice = marked or _other_base(table, reading)
    return f"{where}: label {shown(value)} is not among the classes {classes} ({share}). {advice}"


def _other_base(table: Table, reading: Reading) -> str:
    other: LabelCoding = "1-based" if reading.label_coding == "0-based" else "0-based"
    again = coded(table.column(reading.label[0]), other, reading.classes)
    if not again.unknown.any():
        return f'If labels are counted from {other[0]}, choose label coding "{other}".'
    return "Correct it, or check whether a class column is missing."


def plain(text: str) -> str:
    """Normalize a name for comparisons: lower case, single spaces."""
    return " ".join(text.casefold().split())


def label_inside(matrix: Array) -> int | None:
    """Return the column of a single matrix that contains labels: whole numbers next to rows that sum to 1."""
    k = matrix.shape[1] - 1
    some = matrix[:_LOOKED_AT].astype(np.float64)
    # Probabilities can also have a column of whole numbers, for a class that is never predicted.
    if bool((np.abs(some.sum(axis=1) - 1) < 0.05).all()):
        return None
    for j in (k, 0):
        label = matrix[:, j]
        rest = np.delete(some, j, axis=1)
        with np.errstate(invalid="ignore"):
            whole = bool(((label >= 0) & (label <= max(k, 1)) & (label == np.floor(label))).all())
        if whole and evidence(rest, survey(rest))[0] == "probabilities":
            return j
    return None


def score_classes(scores: Sequence[str]) -> tuple[str, ...]:
    """Return the class names in score column names: the part after a common prefix, or the whole names."""
    found = [class_of(name) for name in scores]
    if all(found) and len({f[0] for f in found if f}) == 1:
        return tuple(f[1] for f in found if f)
    inner = [name.rpartition("[:, ") for name in scores]
    if all(i[1] for i in inner):
        return digits(len(scores))
    return tuple(scores)


def codes_inside(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the numbers in two names that are equal otherwise, such as "class_0" and "class_1"; else the names.

    >>> codes_inside(("Y=0", "Y=1")), codes_inside(("cat", "dog"))
    (('0', '1'), ('cat', 'dog'))
    """
    numbers_in = [re.findall(r"\d+", name) for name in names]
    alike = len(names) == 2 and len({re.sub(r"\d+", "#", name) for name in names}) == 1
    return tuple(each[0] for each in numbers_in) if alike and all(len(each) == 1 for each in numbers_in) else names


def digits(k: int) -> tuple[str, ...]:
    return tuple(str(j) for j in range(k))


def numbered(column: Array, names: tuple[str, ...], k: int) -> tuple[tuple[str, ...], LabelCoding]:
    """Return how whole-number labels name k classes."""
    names = names or digits(k)
    if column.dtype.kind == "b":
        return names, "0-based"
    if names == digits(k):
        values = column[~np.isnan(column)] if column.dtype.kind == "f" else column
        counted_from_one = len(values) and values.min() == 1 and values.max() == k
        return names, "1-based" if counted_from_one else "0-based"
    texts = {str(v) for v in pd.unique(label_texts(column))} - {""}
    if texts <= set(names):
        return names, "names"
    low, high = (float(np.nanmin(column)), float(np.nanmax(column))) if len(column) else (0.0, 0.0)
    return names, "1-based" if low == 1 and high == k else "0-based"


def spelled_alike(names: tuple[str, ...], labels: Array) -> tuple[str, ...]:
    """Return class names in the labels' spelling, if they differ only in capitals, or in signs between words.

    >>> spelled_alike(("very_low", "High"), np.array(["very low", "high"], dtype=object))
    ('very low', 'high')
    """
    present = {str(value) for value in labels}
    for key in (plain, lambda name: " ".join(words_of(name))):
        by_key: dict[str, list[str]] = {}
        for value in present:
            by_key.setdefault(key(value), []).append(value)
        keys = [key(name) for name in names]
        alone = {each: same[0] for each, same in by_key.items() if len(same) == keys.count(each) == 1}
        pairs = zip(names, keys, strict=True)
        names = tuple(name if name in present else alone.get(each, name) for name, each in pairs)
    return names


def same_sides(names: Sequence[str], labels: Sequence[str]) -> tuple[str, ...]:
    """Return two labels in the order of two other names, by their meaning; empty unless both are opposites.

    0 and 1 count the columns instead, so their meaning is that of codes.

    >>> same_sides(("neg", "pos"), ("yes", "no")), same_sides(("neg", "pos"), ("-1", "1")), same_sides("ab", ("0", "1"))
    (('no', 'yes'), ('-1', '1'), ())
    """
    if len(labels) != 2 or set(labels) <= {"0", "1"} or {plain(label) for label in labels} & set(map(plain, names)):
        return ()
    by_side = {side_of(label): label for label in labels}
    sides = [side_of(name) for name in names]
    return tuple(by_side[side] for side in sides) if set(sides) == by_side.keys() == {-1, 1} else ()


def classes_of_both(columns: list[Array]) -> tuple[tuple[str, ...], LabelCoding]:
    """Return the classes of a top-label table: all that occur as prediction or label."""
    if all(c.dtype != object for c in columns):
        high = max(float(np.nanmax(c)) for c in columns)
        low = min(float(np.nanmin(c)) for c in columns)
        if low >= 0 and high < limits.CLASSES and high == int(high):
            return (
                (tuple(str(j) for j in range(1, int(high) + 1)), "1-based")
                if low == 1
                else (digits(int(high) + 1), "0-based")
            )
    names = {str(v) for c in columns for v in pd.unique(label_texts(c))} - {""}
    if len(names) > limits.CLASSES:
        raise InputError(f"there are {len(names):,} different labels; the maximum is {limits.CLASSES:,} classes")
    return tuple(sorted(names)), "names"


def positive_of(two: Sequence[str]) -> str:
    """Return the positive one of two labels: the larger number, else by usual words, else the later name.

    >>> positive_of(["9", "10"]), positive_of(["died", "alive"]), positive_of(["dog", "cat"])
    ('10', 'died', 'dog')
    """
    values = numbers(np.array(two, dtype=object))
    if not np.isnan(values).any():
        return two[int(values.argmax())]
    names = sorted(two)
    return names[event_of(names)]
