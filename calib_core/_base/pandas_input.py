"""What pandas objects say: their numbers as numpy arrays, names of classes in columns, rows that must be the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib_core._base.errors import InputError

_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def plain(values: Any) -> NDArray[Any]:
    """Values as a numpy array; nullable, Arrow and categorical ones as what they hold, missing numbers as NaN.

    What pandas owns is copied: it may write to it later.

    >>> plain(pd.Series([1, None], dtype="Int64")), plain(pd.Categorical(["b", "a"])).tolist()
    (array([ 1., nan]), ['b', 'a'])
    """
    if isinstance(values, pd.DataFrame):
        columns = [_column(values.iloc[:, j]) for j in range(values.shape[1])]
        return np.column_stack(columns) if columns else np.empty((len(values), 0))
    if isinstance(values, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        return _column(pd.Series(values))
    return np.asarray(values)


def _column(column: pd.Series[Any]) -> NDArray[Any]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        # The categories' own numbers or names, not their codes, which follow another order than the classes'.
        values = column.astype(object) if column.isna().any() else column.astype(column.cat.categories.dtype)
        return np.array(values.to_numpy())
    return np.array(column.to_numpy())


def numbers(values: Any, what: str) -> NDArray[Any]:
    """The same for a matrix of numbers: a frame's column of anything else is named."""
    if isinstance(values, pd.DataFrame):
        for name, kind in zip(values.columns, values.dtypes, strict=True):
            if not pd.api.types.is_numeric_dtype(kind):
                raise InputError(
                    f"{what} column {str(name)[:80]!r} has dtype {kind}; real numbers are needed: give the columns of "
                    "the classes only"
                )
    return plain(values)


def column_names(frame: object) -> tuple[str, ...] | None:
    """Names of the classes that a frame's columns say; None for no frame, and for columns that are only numbered.

    >>> column_names(pd.DataFrame([[0.7, 0.3]], columns=["cat", "dog"])), column_names(pd.DataFrame([[0.7, 0.3]]))
    (('cat', 'dog'), None)
    """
    if not isinstance(frame, pd.DataFrame) or frame.columns.equals(pd.RangeIndex(frame.shape[1])):
        return None
    return tuple(str(name) for name in frame.columns)


def check_columns(frame: object, names: Sequence[str] | None, what: str) -> None:
    """InputError where a column is named as another class than the one it is taken for."""
    columns = column_names(frame) or ()
    for j, (column, name) in enumerate(zip(columns, map(str, names or ()), strict=False)):
        if column != name and name in columns:
            raise InputError(
                f"column {j} of {what} is {column[:80]!r} and the class there {name[:80]!r}, which is column "
                f"{columns.index(name)}: put the columns in the order of the classes ({what}[class_names])"
            )


def labels_of_columns(labels: ArrayLike, columns: tuple[str, ...]) -> ArrayLike | NDArray[Any]:
    """Labels of a frame's classes: where columns are named by numbers (or True and False), numbers are names.

    >>> list(labels_of_columns([1, 3], ("1", "2", "3"))), labels_of_columns([0, 1], ("cat", "dog"))
    ([np.str_('1'), np.str_('3')], [0, 1])
    """
    array = plain(labels)
    truths = {float(name == "True"): name for name in columns if name in ("True", "False")}
    named = truths or {float(name): name for name in columns if _NUMBER.fullmatch(name)}
    if array.dtype.kind not in "iubf" or len(named) < len(columns) or np.isnan(array).any():
        return labels
    values, places = np.unique(array.ravel(), return_inverse=True)
    names = np.array([named.get(float(value), f"{value:g}") for value in values])
    return names[places].reshape(array.shape)


def check_same_index(**given: object) -> None:
    """InputError where two pandas objects of as many rows have other names of rows, or the same in another order."""
    indexed = [(what, value.index) for what, value in given.items() if isinstance(value, (pd.Series, pd.DataFrame))]
    for what, index in indexed[1:]:
        first, other = indexed[0]
        if len(index) == len(other) and not index.equals(other):
            i = next(i for i, (a, b) in enumerate(zip(other, index, strict=True)) if a is not b and a != b)
            here, there = (names[i : i + 1].tolist()[0] for names in (other, index))
            raise InputError(
                f"{first} and {what} do not have the same index: row {i} is {here!r} in {first} and {there!r} "
                f"in {what}; line them up by name ({what}.loc[{first}.index]) or by place (reset_index(drop=True) of "
                "both)"
            )
