"""Cells with one number per class, such as "[0.1, 0.9]" or "0.1;0.9": a column of them is a matrix."""

from __future__ import annotations

import re
import unicodedata
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
    >>> one = Table("a.csv", "csv", {"p": np.array(["[0.1]", "tensor(0.7, device='cpu')"], dtype=object)})
    >>> with_matrices(one).columns["p"].tolist()
    [0.1, 0.7]
    """
    table = _unwrapped(table)
    found = {
        name: matrix for name, column in table.columns.items() if (matrix := _matrix(table, name, column)) is not None
    }
    if not found:
        return table
    columns = {name: column for name, column in table.columns.items() if name not in found}
    return replace(table, columns=columns, matrices={**table.matrices, **found})


_ONE = re.compile(r"(?:tensor\()?\s*\[*\s*([+-]?[\d.]+(?:e[+-]?\d+)?)\s*\]*(?:,[^\[\](){}]*)?\)?", re.IGNORECASE)
"""One number in brackets, or as PyTorch prints it: "[0.294]", "tensor(0.294, device='cuda:0')"."""
_STARTS = re.compile(r"\s*(?:\[|tensor\(|[^\D0-9])")
"""Start of one number in a cell: a bracket, or a digit of another script, such as of full width."""


def _unwrapped(table: Table) -> Table:
    """Return the table with the numbers in cells such as "[0.294]" and "tensor(0.294)"."""
    columns = {
        name: numbers for name, column in table.columns.items()
        if len(column) == table.n_rows and (numbers := _single(column)) is not None
    }  # fmt: skip
    return replace(table, columns={**table.columns, **columns}) if columns else table


def _single(column: Array) -> Array | None:
    if column.dtype != object or not all(map(_STARTS.match, column[:_LOOKED_AT])):
        return None
    found = [_ONE.fullmatch(unicodedata.normalize("NFKC", text.strip())) for text in column]
    try:
        values = np.array([float(each[1]) for each in found if each])
    except ValueError:
        return None
    if not all(found):
        return None
    return frozen(values.astype(np.int64) if (values == np.floor(values)).all() else values)


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
