"""Labels as numbers of classes, and names of classes: how a column names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.event_names import event_of
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.messages import affected, listed, quoted, shown
from calib_core.readers.proposal.column_roles import class_of
from calib_core.readers.proposal.score_survey import evidence, survey
from calib_core.readers.reading import LabelCoding, Reading
from calib_core.readers.table import Array, Table
from calib_core.readers.text_encoding import missing_text, numbers

_LOOKED_AT = 5000
_IGNORED = "-100"
"""The label of what a loss passes over in PyTorch and Transformers."""


@dataclass(frozen=True, eq=False)
class Coded:
    """Codes 0..K-1 with -1 where the label is missing or is no class."""

    codes: NDArray[np.int64]
    missing: NDArray[np.bool_]

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Labels that are there and name no class."""
        return (self.codes < 0) & ~self.missing


def coded_labels(table: Table, reading: Reading) -> Coded:
    """The label column (or columns) of a reading as codes."""
    if reading.label_coding == "one-hot":
        return _one_hot(table, reading)
    if len(reading.label) != 1:
        raise InputError(f'{len(reading.label)} label columns are chosen; choose one, or label coding "one-hot"')
    return coded(table.column(reading.label[0]), reading.label_coding, reading.classes)


def coded(column: Array, coding: LabelCoding, classes: Sequence[str]) -> Coded:
    """One column of labels as codes.

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
    # "NA" is a missing label, unless a class is called so.
    return Coded(codes.astype(np.int64), np.asarray((codes < 0) & missing_text(texts)))


def label_texts(column: Array) -> NDArray[np.object_]:
    """Labels as text: whole numbers without a decimal point, NaN as the empty text.

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
    marks = table.matrix(reading.label)
    if marks.ndim != 2 or marks.shape[1] != len(reading.classes):
        given = marks.shape[-1] if marks.ndim == 2 else 1
        raise InputError(
            f"{table.name}: {given} one-hot label columns for {len(reading.classes)} classes; choose one a class"
        )
    missing = np.asarray(np.isnan(marks.astype(np.float64, copy=False)).any(axis=1))
    good = ((marks == 0) | (marks == 1)).all(axis=1) & (marks.sum(axis=1) == 1)
    return Coded(np.where(good, marks.argmax(axis=1), -1).astype(np.int64), missing)


def unknown_label(table: Table, reading: Reading, found: Coded) -> str:
    """The sentence about labels that are no class: the first place, how many, and what to do."""
    rows = np.flatnonzero(found.unknown)
    row = int(rows[0])
    where = f"{table.name}, column {quoted(reading.label[0])}, {table.place(row)}"
    count = affected(len(rows), len(found.codes))
    if reading.label_coding == "one-hot":
        return f"{where}: the row does not mark exactly one class with 1 and the others with 0; {count}."
    value = label_texts(table.column(reading.label[0]))[row]
    if reading.label_coding == "names":
        near = [c for c in reading.classes if plain(c) == plain(str(value))]
        advice = (
            f"It differs from {quoted(near[0])} in capitals or spaces only: spell both alike."
            if near
            else f"The classes are {listed(reading.classes, 5)}."
        )
        return f"{where}: {quoted(value)} is not a class; {count}. {advice}"
    first = 0 if reading.label_coding == "0-based" else 1
    last = first + len(reading.classes) - 1
    marked = "It marks rows that training leaves out: leave them out of the file." if value == _IGNORED else ""
    return f"{where}: {shown(value)} is not a whole number from {first} to {last}; {count}. " + (
        marked or _other_base(table, reading)
    )


def _other_base(table: Table, reading: Reading) -> str:
    other: LabelCoding = "1-based" if reading.label_coding == "0-based" else "0-based"
    again = coded(table.column(reading.label[0]), other, reading.classes)
    if not again.unknown.any():
        return f'Counted from {other[0]}? choose label coding "{other}".'
    return 'Class names? choose label coding "names".'


def plain(text: str) -> str:
    """A name without capitals and surrounding or repeated spaces, to find near misses."""
    return " ".join(text.casefold().split())


def label_inside(matrix: Array) -> int | None:
    """Which column of a lone matrix holds labels: whole numbers beside rows of scores that sum to 1."""
    k = matrix.shape[1] - 1
    some = matrix[:_LOOKED_AT].astype(np.float64)
    # Rows of probabilities may have a whole-number column too, of a class never predicted.
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
    """Class names in score column names: what follows a common prefix, else the names themselves."""
    found = [class_of(name) for name in scores]
    if all(found) and len({f[0] for f in found if f}) == 1:
        return tuple(f[1] for f in found if f)
    inner = [name.rpartition("[:, ") for name in scores]
    if all(i[1] for i in inner):
        return digits(len(scores))
    return tuple(scores)


def digits(k: int) -> tuple[str, ...]:
    return tuple(str(j) for j in range(k))


def numbered(column: Array, names: tuple[str, ...], k: int) -> tuple[tuple[str, ...], LabelCoding]:
    """How whole-number labels name k classes."""
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
    """Class names spelled as the labels spell them, where that differs in capitals or spaces only."""
    by_plain: dict[str, list[str]] = {}
    for value in labels:
        by_plain.setdefault(plain(str(value)), []).append(str(value))
    out = []
    for name in names:
        same = by_plain.get(plain(name), [])
        out.append(same[0] if len(same) == 1 and name not in same else name)
    return tuple(out)


def classes_of_both(columns: list[Array]) -> tuple[tuple[str, ...], LabelCoding]:
    """Classes of a top-label table: all that occur as prediction or label."""
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
        raise InputError(f"there are {len(names):,} different labels; at most {limits.CLASSES:,} classes are read")
    return tuple(sorted(names)), "names"


def positive_of(two: Sequence[str]) -> str:
    """Which of two labels is the positive one: the larger number, else by the usual words, else the later name.

    >>> positive_of(["9", "10"]), positive_of(["died", "alive"]), positive_of(["dog", "cat"])
    ('10', 'died', 'dog')
    """
    values = numbers(np.array(two, dtype=object))
    if not np.isnan(values).any():
        return two[int(values.argmax())]
    names = sorted(two)
    return names[event_of(names)]
