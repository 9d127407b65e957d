"""What shapes of tables share: the column of labels by its values, and rows that repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from calib_core.readers.labels import label_texts
from calib_core.readers.table import Table


def values_of(table: Table, name: str) -> list[str]:
    """The different values of a column, as labels are written, in the order of the rows."""
    return [str(text) for text in pd.unique(label_texts(table.columns[name]))]


def texts_of(table: Table, name: str) -> set[str]:
    """The different values of a column, missing ones apart."""
    return set(values_of(table, name)) - {""}


def label_among(table: Table, levels: Iterable[str], but: Iterable[str] = ()) -> tuple[str, ...]:
    """The one column all of whose values are levels; empty where there is none, or more than one.

    >>> rows = {"y": np.array(["a", "b"], dtype=object), "z": np.array(["a", "?"], dtype=object)}
    >>> label_among(Table("t.csv", "csv", rows), ("a", "b", "c"))
    ('y',)
    """
    known, apart, n = set(levels), set(but), table.n_rows
    found = [
        name
        for name, column in table.columns.items()
        if name not in apart and column.dtype.kind != "f" and len(column) == n and texts_of(table, name) <= known
    ]
    return (found[0],) if len(found) == 1 else ()


def repeats(table: Table, names: Iterable[str]) -> bool:
    """Do the columns together have the same values in two rows?"""
    return bool(pd.DataFrame({name: label_texts(table.columns[name]) for name in names}).duplicated().any())


def several(table: Table, name: str) -> bool:
    """Has the table a column of this name with more than one value?"""
    return name in table.columns and len(texts_of(table, name)) > 1


def known_fields(**fields: Any) -> Mapping[str, Any]:
    """Fields of a reading, those left open apart."""
    return {name: value for name, value in fields.items() if value}


def tuned(table: Table, names: Iterable[str]) -> np.ndarray[Any, np.dtype[np.object_]]:
    """The values of several columns as one text a row: "mtry=2, splitrule=gini"."""
    columns = {name: label_texts(table.columns[name]) for name in names}
    rows = (zip(columns, row, strict=True) for row in zip(*columns.values(), strict=True))
    return np.array([", ".join(f"{name}={value}" for name, value in row) for row in rows], dtype=object)
