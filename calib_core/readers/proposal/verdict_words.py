"""Verdicts on answers as people and judges write them: right, wrong, or not looked at."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools
from calib_core.predictions.predictions import InputError
from calib_core.readers.messages import affected, quoted
from calib_core.readers.number_texts import MISSING_TEXT, numbers_as_written
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.table import Array, Table

TRUE = frozenset({"1", "true", "yes", "t", "y", "correct"})
FALSE = frozenset({"0", "false", "no", "f", "n", "wrong", "incorrect"})
_RIGHT, _WRONG = TRUE | {"c", "right"}, FALSE | {"i"}
_WORD = re.compile(r"\w+")


def judged(value: Any) -> int | None:
    """A judge's verdict: 1 right, 0 wrong, None where there is none.

    A truth value, the number 0 or 1, or a text: one word, or several of which the first says yes or no, as in "No, it
    is 5"; else the one of yes and no that is in it, else a first word such as "incorrect".

    >>> judged("**No.**"), judged("Yes, it matches"), judged(1), judged("The answer is yes"), judged("yes | no")
    (0, 1, 1, 1, None)
    """
    if isinstance(value, int | float):
        return int(value) if value in (0, 1) else None
    words = [word.casefold() for word in _WORD.findall(value)] if isinstance(value, str) else []
    inside = {"yes", "no"} & set(words)
    if len(inside) == 2 and len(words) > 3:
        inside &= {words[0]}
    if len(inside) != 1:
        known = words[:1] if len(words) == 1 or (not inside and words and len(words[0]) > 1) else []
        return next((int(word in _RIGHT) for word in known if word in _RIGHT | _WRONG), None)
    return int("yes" in inside)


FEWEST_MARKS = 10
"""Rows that people marked below which a column is not taken for their marks."""
_LEFT = 0.2
"""The least share of rows that such a column leaves empty."""
_FIRST = 1000
"""Rows that are looked at before all are."""


def marks_some(column: Array) -> bool:
    """Does a column say right of some rows, wrong of others, and nothing of a fifth of all or more?

    >>> marks_some(np.array(["yes", "no"] * 5 + [""] * 5, dtype=object)), marks_some(np.array(["yes", "no"] * 5))
    (True, False)
    """
    if len(column) == 0 or column.dtype.kind in "biu":
        return False
    if column.dtype.kind == "f":
        known = column[~np.isnan(column)]
        return len(known) <= (1 - _LEFT) * len(column) and _tells(known == 1, known == 0)
    if len(column) > _FIRST and not _words(column[:_FIRST]) <= _RIGHT | _WRONG | MISSING_TEXT:
        return False
    codes, values = pd.factorize(label_texts(column))
    words = np.array([str(value).strip().casefold() for value in values], dtype=object)
    missing = np.array([word in MISSING_TEXT for word in words], dtype=bool)[codes]
    if missing.mean() < _LEFT:
        return False
    right, wrong = (np.array([word in known for word in words], dtype=bool)[codes] for known in (_RIGHT, _WRONG))
    return _tells(right[~missing], wrong[~missing])


def as_read(column: pd.Series[Any]) -> Array:
    """The column's values as readers have them: numbers with NaN, or texts with nothing where there is none."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return np.asarray(column)
    return np.asarray(column.astype(object).where(column.notna(), "").map(str), dtype=object)


def _words(column: Array) -> set[str]:
    return {str(value).strip().casefold() for value in pd.unique(label_texts(column))}


def _tells(right: Bools, wrong: Bools) -> bool:
    return bool((right | wrong).all() and len(right) >= FEWEST_MARKS and right.any() and wrong.any())


def verdicts(table: Table, name: str) -> Array:
    """A column of verdicts as numbers, (n,): 1 right, 0 wrong, degrees between as they are, NaN where there is none.

    Verdicts are numbers, or words such as yes and no, true and false, correct and incorrect, C and I. InputError names
    the first value that is neither.

    >>> t = Table("a.csv", "csv", {"judge": np.array(["yes", "No", "", "0.5"], dtype=object)})
    >>> verdicts(t, "judge").tolist()
    [1.0, 0.0, nan, 0.5]
    """
    column = table.column(name)
    if column.dtype != object:
        return column.astype(np.float64)
    codes, values = pd.factorize(label_texts(column))
    words = [str(value).strip().casefold() for value in values]
    degrees = numbers_as_written(np.array(words, dtype=object)) if words else np.zeros(0)
    known = np.array([1.0 if word in _RIGHT else 0.0 if word in _WRONG else np.nan for word in words])
    found = np.where(np.isnan(known), degrees, known)
    unclear = [i for i, word in enumerate(words) if np.isnan(found[i]) and word not in MISSING_TEXT]
    if unclear:
        wrong = np.isin(codes, unclear)
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{table.name}, column {quoted(name)}, {table.place(row)}: {quoted(column[row])} is no verdict; "
            f"{affected(int(wrong.sum()), len(codes))}: write 1 where the answer is right, 0 where it is wrong, and "
            "nothing where nobody looked"
        )
    return np.asarray(found[codes])
