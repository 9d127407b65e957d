"""Cells with one number per class, such as "[0.1, 0.9]" or "0.1;0.9": a column of them is a matrix."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.messages import quoted, size
from calib_core.readers.table import Array, Table

_BRACKETS = re.compile(r"\s*(?:\w+\()?[\[({](?P<inside>[^\[\](){}]*)[\])}](?:,[^\[\](){}]*)?\)?\s*")
"""A list, a tuple, an array of a database, or a call such as "array([0.1, 0.9], dtype=float32)"."""
_CALLS = re.compile(r"\bnp\.\w+\(([^()]*)\)")
"""Numbers as NumPy 2 writes them in lists: np.float64(0.1)."""
_SEPARATOR = re.compile(r"\s*[,;|]\s*|\s+")
_BARE = re.compile(r"\s*[\d.eE+-]+(?:\s*[;|]\s*[\d.eE+-]+|\s+[\d.eE+-]+)+\s*")
"""Numbers between semicolons, bars or spaces, without brackets."""
_LOOKED_AT = 50
_SUM = 0.02
"""Largest distance from 1 of the sum of probabilities without brackets, which may be rounded."""


def with_matrices(table: Table) -> Table:
    """Return the table with columns of lists as matrices; a missing list is a row of NaN.

    Without brackets, numbers must be probabilities that sum to 1, since dates and places of boxes are lists too.

    >>> rows = Table("a.csv", "csv", {"p": np.array(["[0.1, 0.9]", "[0.7 0.3]"], dtype=object)})
    >>> with_matrices(rows).matrices["p"].tolist()
    [[0.1, 0.9], [0.7, 0.3]]
    """
    found = {
        name: matrix for name, column in table.columns.items() if (matrix := _matrix(table, name, column)) is not None
    }
    if not found:
        return table
    columns = {name: column for name, column in table.columns.items() if name not in found}
    return replace(table, columns=columns, matrices={**table.matrices, **found})


def _matrix(table: Table, name: str, column: Array) -> Array | None:
    """Return the numbers in the lists of a column; None for other columns and for lists of different lengths."""
    if column.dtype != object or len(column) != table.n_rows:
        return None
    if any("np." in text for text in column[:_LOOKED_AT]):
        column = np.array([_CALLS.sub(r"\1", text) for text in column], dtype=object)
    some = [text for text in column[:_LOOKED_AT] if text.strip()]
    if not some:
        return None
    bare = all(map(_BARE.fullmatch, some))
    if not bare and not all(map(_BRACKETS.fullmatch, some)):
        return None
    if any("..." in text for text in some):
        row = next(i for i, text in enumerate(column) if "..." in text)
        raise InputError(
            f"{table.name}, column {quoted(name)}, {table.place(row)}: the list was shortened (...) when it was "
            "written; write all numbers, for example with values.tolist()"
        )
    width = len(_numbers(some[0], bare))
    if width < 2 or width > limits.COLUMNS:
        return None
    if len(column) * width * 8 > limits.DECODED_BYTES:
        raise InputError(
            f"{table.name} has {size(len(column) * width * 8)} of numbers; the maximum is "
            f"{size(limits.DECODED_BYTES)}. Save fewer rows"
        )
    matrix = np.full((len(column), width), np.nan)
    try:
        for i, text in enumerate(column):
            if text.strip():
                if not bare and _BRACKETS.fullmatch(text) is None:
                    return None
                matrix[i] = np.array(_numbers(text, bare), dtype=np.float64)
    except ValueError:
        return None
    return frozen(matrix) if not bare or _are_probabilities(matrix) else None


def _numbers(text: str, bare: bool) -> list[str]:
    found = None if bare else _BRACKETS.fullmatch(text)
    inside = (text if found is None else found["inside"]).strip().rstrip(",")
    return _SEPARATOR.split(inside) if inside else []


def _are_probabilities(matrix: NDArray[np.float64]) -> bool:
    rows = matrix[~np.isnan(matrix).any(axis=1)]
    return bool(len(rows) and (rows >= 0).all() and (np.abs(rows.sum(axis=1) - 1) <= _SUM).all())
