"""Predictions that Weka writes as CSV: inst#, actual, predicted, error, then its distribution or one prediction."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from calib_core._base.arrays import frozen
from calib_core.readers.foreign.level_columns import texts_of
from calib_core.readers.reading import Fields
from calib_core.readers.table import Array, Table
from calib_core.readers.text_encoding import numbers
from calib_core.readers.tool_shapes import ShapeOfColumns, shape_of_columns

_FIRST = ("inst#", "actual", "predicted", "error")
_NAMED = re.compile(r"(\d+):(.*)", re.DOTALL)
"""Class in Weka's output: a number, counted from 1, and a name."""
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
"""Quoted name with spaces or signs; Weka quotes the actual class but not the predicted one."""
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_UNKNOWN = "?"
"""Unknown class, which Weka writes as "?" or, with any number, as "1:?"."""
_OWN = re.compile(r"distribution(?:\[(\d+)\])?")


@shape_of_columns
class Weka(ShapeOfColumns):
    """Output with classes as "2:versicolor" and the probability of the predicted class as "*0.967"."""

    key, title = "weka", "predictions that Weka wrote"

    def recognises(self, table: Table) -> bool:
        return table.names[: len(_FIRST)] == _FIRST and bool(_scores(table) or "prediction" in table.columns)

    def table(self, table: Table) -> Table:
        """Return the table with plain names and numbers, and score columns named after their classes."""
        scores = _scores(table)
        names = _names(table, len(scores))
        columns: dict[str, Array] = {}
        for name, column in table.columns.items():
            if name in ("actual", "predicted"):
                columns[name] = _without_numbers(column)
            elif name in scores:
                columns[f"p({names[scores.index(name)]})"] = _without_marks(column)
            elif name == "prediction":
                columns[name] = _without_marks(column)
            elif name != "error":  # it follows from actual and predicted; slices by it would be slices by the outcome
                columns[name] = column
        return replace(table, columns=columns)

    def fields(self, table: Table, chosen: Fields) -> Fields:
        del chosen
        scores = tuple(name for name in table.columns if name.startswith("p(") and name.endswith(")"))
        if scores:
            classes = tuple(name[2:-1] for name in scores)
            return {
                "layout": "wide",
                "scores": scores,
                "label": ("actual",),
                "label_coding": "names",
                "classes": classes,
            }
        return {"layout": "top-label", "confidence": "prediction", "predicted": "predicted", "label": ("actual",)}


def _scores(table: Table) -> tuple[str, ...]:
    return tuple(name for name in table.columns if _OWN.fullmatch(name))


def _names(table: Table, k: int) -> list[str]:
    """Names of classes by number; a class that never occurs gets its number as its name."""
    found = {}
    for name in ("actual", "predicted"):
        for text in texts_of(table, name):
            if (named := _NAMED.fullmatch(text)) and named[2] != _UNKNOWN:
                found[int(named[1])] = _unquoted(named[2])
    return [found.get(j, str(j)) for j in range(1, k + 1)]


def _without_numbers(column: Array) -> Array:
    names = [named[2] if (named := _NAMED.fullmatch(str(text))) else _UNKNOWN for text in column]
    return frozen(np.array(["" if name == _UNKNOWN else _unquoted(name) for name in names], dtype=object))


def _unquoted(name: str) -> str:
    """Remove Weka's quotes and backslashes from a name.

    >>> _unquoted("'it\\\\'s high'"), _unquoted("it's high")
    ("it's high", "it's high")
    """
    quoted = _QUOTED.fullmatch(name)
    return name if quoted is None else re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), quoted[1])


def _without_marks(column: Array) -> Array:
    if column.dtype != object:
        return column
    return frozen(numbers(np.array([str(text).removeprefix("*") for text in column], dtype=object)))
