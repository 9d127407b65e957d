"""Names for classes, from the names of score columns and the values of labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from calib_core.predictions.event_names import event_of
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.number_texts import numbers
from calib_core.readers.proposal.column_roles import class_of
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.reading import LabelCoding
from calib_core.readers.table import Array


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
