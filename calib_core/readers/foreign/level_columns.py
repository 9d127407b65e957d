"""Helpers for tables with one column per class level: find the label column, and detect repeated rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import frozen
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.reading import Fields
from calib_core.readers.table import Table

MISSING = frozenset({"", "NA"})
"""Text that R writes for a missing value."""
_UNNAMEABLE = re.compile(r"[^\w.]")
"""Characters that R's make.names replaces by a point."""
_NEAR = 0.05
_LOOKED_AT = 5000


def values_of(table: Table, name: str) -> list[str]:
    """Distinct values of a column as label texts, in order of appearance."""
    return [str(text) for text in pd.unique(label_texts(table.columns[name]))]


def texts_of(table: Table, name: str) -> set[str]:
    """Distinct values of a column, without missing ones."""
    return set(values_of(table, name)) - {""}


def label_among(table: Table, levels: Iterable[str], but: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the one column whose values are all levels; empty if there is none or more than one.

    >>> rows = {"y": np.array(["a", "b"], dtype=object), "z": np.array(["a", "?"], dtype=object)}
    >>> label_among(Table("t.csv", "csv", rows), ("a", "b", "c"))
    ('y',)
    """
    known, apart, n = set(levels), set(but), table.n_rows
    found = [
        name
        for name, column in table.columns.items()
        if name not in apart and len(column) == n and set() < texts_of(table, name) - MISSING <= known
    ]
    # 1.0 and 0.0 are labels if a value is missing; together with other values they are something else.
    found = [name for name in found if table.columns[name].dtype.kind != "f"] or found
    return (found[0],) if len(found) == 1 else ()


def as_named(level: str) -> str:
    """Return a level as a column name after R's name conversion.

    >>> as_named("Class 1")
    'Class.1'
    """
    return _UNNAMEABLE.sub(".", level)


def spelled(table: Table, levels: Sequence[str], but: Collection[str] = ()) -> tuple[str, ...]:
    """Restore levels to the spelling in a column where R wrote points into column names: "Class.1" for "Class 1".

    >>> rows = {"y": np.array(["Class 1", "Class 2"], dtype=object)}
    >>> spelled(Table("t.csv", "csv", rows), ("Class.1", "Class.2", "Class.3"))
    ('Class 1', 'Class 2', 'Class.3')
    """
    known: dict[str, str] = {}
    for name, column in table.columns.items():
        if column.dtype == object and name not in but and len(column) == table.n_rows:
            texts = {as_named(text): text for text in texts_of(table, name) - MISSING}
            known |= texts if texts and set(texts) <= set(levels) else {}
    return tuple(known.get(level, level) for level in levels)


def without_missing(table: Table, name: str) -> Table:
    """Return the table with missing-value texts of a label column as missing values.

    >>> t = Table("t.csv", "csv", {"y": np.array(["a", "NA"], dtype=object)})
    >>> without_missing(t, "y").columns["y"].tolist()
    ['a', '']
    """
    column = table.columns[name]
    if column.dtype != object or not texts_of(table, name) & MISSING:
        return table
    settled = np.array(["" if text in MISSING else text for text in column], dtype=object)
    return replace(table, columns={**table.columns, name: frozen(settled)})


def as_classes(table: Table, names: Sequence[str], called: Collection[str]) -> tuple[str, ...]:
    """Return the leading columns whose sum is closest to 1, including all that are ``called`` like classes.

    Return all columns if no sum is near 1, or if there are too few columns.

    >>> rows = {"a": np.array([0.7, 0.2]), "b": np.array([0.3, 0.8]), "offset": np.array([0.0, 0.0])}
    >>> as_classes(Table("t.csv", "csv", rows), ("a", "b", "offset"), {"a"})
    ('a', 'b')
    """
    least = max((i + 1 for i, name in enumerate(names) if name in called), default=2)
    first = max(least, 2)
    if len(names) < first:
        return tuple(names)
    values = np.column_stack([table.columns[name][:_LOOKED_AT].astype(np.float64) for name in names])
    with np.errstate(invalid="ignore"):
        off = (
            np.nanmedian(np.abs(np.cumsum(values, axis=1) - 1), axis=0) if len(values) else np.full(len(names), np.inf)
        )
    best = first + int(np.argmin(np.round(off[first - 1 :], 9)))
    return tuple(names[:best]) if off[best - 1] < _NEAR else tuple(names)


def repeats(table: Table, names: Iterable[str]) -> bool:
    """True if two rows have the same values in all of these columns."""
    return bool(pd.DataFrame({name: label_texts(table.columns[name]) for name in names}).duplicated().any())


def several(table: Table, name: str) -> bool:
    """True if the table has a column of this name with more than one value."""
    return name in table.columns and len(texts_of(table, name)) > 1


def known_fields(**fields: Unpack[Fields]) -> Fields:
    """Fields of a reading without the undetermined ones."""
    for name in [name for name, value in fields.items() if not value]:
        fields.pop(name)  # type: ignore[misc]
    return fields


def tuned(table: Table, names: Iterable[str]) -> NDArray[np.object_]:
    """Combine the values of several columns into one text per row: "mtry=2, splitrule=gini"."""
    columns = {name: label_texts(table.columns[name]) for name in names}
    rows = (zip(columns, row, strict=True) for row in zip(*columns.values(), strict=True))
    return np.array([", ".join(f"{name}={value}" for name, value in row) for row in rows], dtype=object)
