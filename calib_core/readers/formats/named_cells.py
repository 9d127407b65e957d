"""Cells with a probability for every named class, such as {"cat": 0.9, "dog": 0.1}: one column per class."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.arrays import frozen
from calib_core.readers import limits
from calib_core.readers.formats.jsonl import DECODER
from calib_core.readers.table import Array, Table

_LOOKED_AT = 50
_SUM = 0.02
"""Largest distance from 1 of a sum of probabilities, which may be rounded."""


def with_named_shares(table: Table) -> Table:
    """Return the table with a column for every name in columns of such cells; a missing cell is a row of NaN.

    Objects of JSON and of Python count, and lists of a label and a score for each class. Numbers must be probabilities
    of the same names that sum to 1, since settings and metadata are objects too.

    >>> cells = np.array(['{"cat": 0.9, "dog": 0.1}', "{'dog': 0.3, 'cat': 0.7}"], dtype=object)
    >>> with_named_shares(Table("a.csv", "csv", {"p": cells})).columns["p.dog"].tolist()
    [0.1, 0.3]
    """
    found = {name: shares for name, column in table.columns.items() if (shares := _shares(column, table.n_rows))}
    columns: dict[str, Array] = {}
    for name, column in table.columns.items():
        columns |= {f"{name}.{key}": each for key, each in found[name].items()} if name in found else {name: column}
    clash = len(columns) != len(table.columns) - len(found) + sum(map(len, found.values()))
    return table if not found or clash or len(columns) > limits.COLUMNS else replace(table, columns=columns)


def with_listed_names(table: Table) -> Table:
    """Return the table with a column for every class if one column lists the classes of the numbers of a matrix.

    Every row lists the same classes, in any order, as SageMaker writes them.

    >>> names = np.array(["['cat', 'dog']", "['dog', 'cat']"], dtype=object)
    >>> rows = Table("a.csv", "csv", {"labels": names}, {"p": np.array([[0.9, 0.1], [0.7, 0.3]])})
    >>> with_listed_names(rows).columns["p.dog"].tolist()
    [0.1, 0.7]
    """
    for name, matrix in table.matrices.items():
        for other in (each for each in table.names if each != name):
            listed = _rows_of_classes(table, other)
            if listed is None or len(listed) != len(matrix) or len(listed[0]) != matrix.shape[1]:
                continue
            names, order = listed[0], np.array([[row.index(each) for each in listed[0]] for row in listed])
            sorted_ = np.take_along_axis(matrix, order, axis=1)
            found = {f"{name}.{each}": frozen(sorted_[:, j].copy()) for j, each in enumerate(names)}
            columns = {key: each for key, each in table.columns.items() if key != other}
            matrices = {key: each for key, each in table.matrices.items() if key not in (name, other)}
            if not found.keys() & columns.keys():
                return replace(table, columns={**columns, **found}, matrices=matrices)
    return table


def _rows_of_classes(table: Table, name: str) -> list[list[str]] | None:
    """Return the classes that each row lists, which are always the same; None for other columns.

    Numbers 0 and 1 are classes only if every row is equal; otherwise they mark a class.
    """
    column = table.columns.get(name, table.matrices.get(name))
    if column is None or not len(column):
        return None
    if column.ndim == 2:
        if (column != np.floor(column)).any() or (column.max() <= 1 and (column != column[0]).any()):
            return None
        rows = [[str(int(each)) for each in row] for row in column.tolist()]
    elif column.dtype == object and str(column[0]).lstrip().startswith(("[", "(")):
        codes, cells = pd.factorize(column)
        lists = [_listed(str(cell)) for cell in cells]
        rows = [lists[code] for code in codes]
    else:
        return None
    classes = sorted(rows[0])
    whole = len(classes) > 1 and len(set(classes)) == len(classes)
    return rows if whole and all(sorted(row) == classes for row in rows) else None


def _listed(text: str) -> list[str]:
    """Return the texts that a cell lists; empty for other cells."""
    found = _value(text.strip())
    return list(found) if isinstance(found, list | tuple) and all(type(each) is str for each in found) else []


def _shares(column: Array, n: int) -> dict[str, Array]:
    """Return the probabilities in the cells of a column, by name; empty for other columns."""
    if column.dtype != object or len(column) != n:
        return {}
    some = [text for text in column[:_LOOKED_AT] if text.strip()]
    if not some or not all(map(_probabilities, some)):
        return {}
    rows = [_probabilities(text) if text.strip() else None for text in column]
    names = list(_probabilities(some[0]))
    if any(row is not None and row.keys() != set(names) for row in rows):
        return {}
    return {name: frozen(np.array([np.nan if row is None else row[name] for row in rows])) for name in names}


def _probabilities(text: str) -> dict[str, float]:
    """Return the probabilities of a cell by name; empty if it has none."""
    plain = text.strip()
    if plain[:1] + plain[-1:] not in ("{}", "[]") or ":" not in plain:
        return {}
    found = _named(_value(plain))
    whole = len(found) > 1 and all(0 <= each <= 1 for each in found.values())
    return found if whole and abs(sum(found.values()) - 1) <= _SUM else {}


def _value(text: str) -> Any:
    """Decode an object of JSON, or as Python prints it; None for other text."""
    for decode in (DECODER.decode, ast.literal_eval):
        try:
            return decode(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _named(value: Any) -> dict[str, float]:
    """Return the numbers of an object, or of a list of objects with one text and one number each."""
    if isinstance(value, list):
        pairs = [_pair(each) if isinstance(each, Mapping) else None for each in value]
        named = dict(pair for pair in pairs if pair is not None)
        return named if len(named) == len(pairs) else {}
    if isinstance(value, Mapping) and len(inner := [each for each in value.values() if isinstance(each, Mapping)]) == 1:
        return _named(inner[0])  # next to other values, such as the predicted class of Snowflake
    whole = isinstance(value, Mapping) and all(type(each) in (int, float) for each in value.values())
    return {str(name): float(each) for name, each in value.items()} if whole else {}


def _pair(value: Mapping[Any, Any]) -> tuple[str, float] | None:
    texts = [each for each in value.values() if isinstance(each, str)]
    numbers = [each for each in value.values() if type(each) in (int, float)]
    return (texts[0], float(numbers[0])) if len(value) == 2 and len(texts) == len(numbers) == 1 else None
