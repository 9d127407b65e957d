"""Text in one Unicode form: an accented letter may be one character or two, and is the same letter."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import numpy as np
import pandas as pd

from calib_core._base.arrays import frozen
from calib_core.readers.messages import quoted
from calib_core.readers.table import Array, Table, unique_names


def composed(text: str) -> str:
    """The text in Unicode's form NFC, in which equal texts are equal characters.

    >>> composed("cha\u0301t") == "ch\u00e1t"
    True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def one_form(table: Table) -> Table:
    """The table with names and texts in the form NFC, and a note where some were written otherwise.

    >>> rows = Table("a.csv", "csv", {"y": np.array(["cha\u0301t", "ch\u00e1t"], dtype=object)})
    >>> len(set(one_form(rows).columns["y"])), len(one_form(rows).notes)
    (1, 1)
    """
    names = [composed(name) for name in table.names]
    unique_names(names, table.name)
    found = {name: _composed(column) for name, column in table.columns.items()}
    changed = [name for name, column in found.items() if column is not table.columns[name]]
    if not changed and names == list(table.names):
        return table
    where = f"some texts of {quoted(changed[0])}" if changed else "some names of columns"
    note = f"Accented letters in {where} are written as two characters (form NFD) and read as one (form NFC)."
    return replace(
        table,
        columns={composed(name): column for name, column in found.items()},
        matrices={composed(name): matrix for name, matrix in table.matrices.items()},
        notes=(*table.notes, note),
    )


def _composed(column: Array) -> Array:
    if column.dtype != object or all(map(str.isascii, column)):
        return column
    codes, values = pd.factorize(column)
    same = np.array([composed(str(value)) for value in values], dtype=object)
    return column if (same == values).all() else frozen(same[codes])
