"""Convert pandas input: values to numpy arrays, class names from columns, and checks of matching indexes.

Also values of columns as text, the same in links, commands and summaries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib_core._base.errors import InputError

Column: TypeAlias = "pd.Series[Any]"
"""A column of a user's table, with values of any type."""

_SPAN = re.compile(r"(?P<low>[-+.\deE]*?)\.\.(?P<high>[-+.\deE]*)")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def plain(values: object) -> NDArray[Any]:
    """Convert values to a numpy array; nullable, Arrow and categorical ones by their content, missing numbers to NaN.

    Data that pandas owns is copied, because pandas may write to it later.

    >>> plain(pd.Series([1, None], dtype="Int64")), plain(pd.Categorical(["b", "a"])).tolist()
    (array([ 1., nan]), ['b', 'a'])
    """
    if isinstance(values, pd.DataFrame):
        columns = [_column(values.iloc[:, j]) for j in range(values.shape[1])]
        return np.column_stack(columns) if columns else np.empty((len(values), 0))
    if isinstance(values, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        return _column(pd.Series(values))
    return np.asarray(values)


def _column(column: Column) -> NDArray[Any]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        # The categories themselves, rather than their codes, whose order differs from that of the classes.
        values = column.astype(object) if column.isna().any() else column.astype(column.cat.categories.dtype)
        return np.array(values.to_numpy())
    return np.array(column.to_numpy())


def numbers(values: object, what: str) -> NDArray[Any]:
    """Convert a matrix of numbers; InputError names a column of a frame that is not numeric."""
    if isinstance(values, pd.DataFrame):
        for name, kind in zip(values.columns, values.dtypes, strict=True):
            if not pd.api.types.is_numeric_dtype(kind):
                raise InputError(
                    f"{what} column {str(name)[:80]!r} has dtype {kind}, not real numbers; give only the columns of "
                    "the classes"
                )
    return plain(values)


def column_names(frame: object) -> tuple[str, ...] | None:
    """Return class names from a frame's columns; None for other objects, and for columns that are only numbered.

    >>> column_names(pd.DataFrame([[0.7, 0.3]], columns=["cat", "dog"])), column_names(pd.DataFrame([[0.7, 0.3]]))
    (('cat', 'dog'), None)
    """
    if not isinstance(frame, pd.DataFrame) or frame.columns.equals(pd.RangeIndex(frame.shape[1])):
        return None
    return tuple(str(name) for name in frame.columns)


def check_columns(frame: object, names: Sequence[str] | None, what: str) -> None:
    """InputError if a column has the name of another class than its position means."""
    columns = column_names(frame) or ()
    for j, (column, name) in enumerate(zip(columns, map(str, names or ()), strict=False)):
        if column != name and name in columns:
            raise InputError(
                f"column {j} of {what} is {column[:80]!r}, but the class there is {name[:80]!r}, which is column "
                f"{columns.index(name)}. Put the columns in the order of the classes ({what}[class_names])"
            )


def labels_of_columns(labels: ArrayLike, columns: tuple[str, ...]) -> ArrayLike:
    """Return labels of a frame's classes: if columns are named by numbers (or booleans), numeric labels are names.

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
    """InputError if two pandas objects of the same length have different indexes, or the same in another order."""
    indexed = [(what, value.index) for what, value in given.items() if isinstance(value, (pd.Series, pd.DataFrame))]
    for what, index in indexed[1:]:
        first, other = indexed[0]
        if len(index) == len(other) and not index.equals(other):
            i = next(i for i, (a, b) in enumerate(zip(other, index, strict=True)) if a is not b and a != b)
            here, there = (names[i : i + 1].tolist()[0] for names in (other, index))
            raise InputError(
                f"{first} and {what} have different indexes: row {i} is {here!r} in {first} and {there!r} in {what}. "
                f"Align them by name ({what}.loc[{first}.index]) or by position (reset_index(drop=True) of both)"
            )


def is_number(values: Column) -> bool:
    """True for numeric columns (booleans are not)."""
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def coded_texts(values: Column) -> tuple[NDArray[np.intp], list[str]]:
    """Return codes (n,) of a column's values, -1 for missing ones, and the distinct values as sorted text.

    Empty text counts as missing, because a text file cannot distinguish them. Numbers are in numeric order.
    """
    codes, uniques = pd.factorize(values)
    return named_codes(codes, stored(uniques))


def stored(uniques: pd.Index | NDArray[np.generic]) -> list[object]:
    """Return distinct values as stored: 32-bit numbers stay so, because they have fewer digits."""
    return [*np.asarray(uniques)] if uniques.dtype in (np.float16, np.float32) else list(uniques)


def named_codes(codes: NDArray[np.intp], plain: Sequence[object]) -> tuple[NDArray[np.intp], list[str]]:
    """Return codes and texts of values that are already factorized."""
    texts = [text_of(value) for value in plain]
    # Different values can have the same text, such as 1 and "1" in a mixed column; readers see one value.
    known = [text for text in dict.fromkeys(texts) if text.strip()]
    if all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in plain):
        known.sort(key=float)
    else:
        known.sort()
    place = {text: i for i, text in enumerate(known)}
    renamed = np.array([*(place.get(text, -1) for text in texts), -1], dtype=np.intp)
    return renamed[codes], known


def text_of(value: object) -> str:
    """Convert a value to text: numbers as short as possible, integers without a point.

    >>> [text_of(value) for value in (3.0, 0.1, 1e6, np.float32(0.5), True, "law")]
    ['3', '0.1', '1000000', '0.5', 'True', 'law']
    """
    if isinstance(value, (float, np.floating)):
        number = float(str(value))  # the shortest digits in its own type
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    return str(value)


def span_ends(text: str) -> tuple[float, float] | None:
    """Return both ends of a range of numbers written as 40..60, ..40 or 60..; None for other text.

    InputError if an end is not a number.

    >>> span_ends("40..60"), span_ends("75.."), span_ends("law")
    ((40.0, 60.0), (75.0, inf), None)
    """
    span = _SPAN.fullmatch(text)
    if span is None:
        return None
    try:
        return float(span["low"] or -math.inf), float(span["high"] or math.inf)
    except ValueError:
        raise InputError(f"{text[:80]!r} is not a range of numbers; write 40..60, ..40 or 60..") from None


def span_text(low: float, high: float) -> str:
    """Write a range as text.

    >>> span_text(75.0, math.inf)
    '75..'
    """
    return "..".join(text_of(end) if math.isfinite(end) else "" for end in (low, high))


def span_words(low: float, high: float) -> str:
    """Describe a range in words, without the name of its column.

    >>> span_words(40.0, 60.0), span_words(75.0, math.inf)
    ('40 to 60', '75 or more')
    """
    if not math.isfinite(low):
        return f"below {text_of(high)}" if math.isfinite(high) else "given"
    return f"{text_of(low)} {f'to {text_of(high)}' if math.isfinite(high) else 'or more'}"


def in_span(values: Column, low: float, high: float) -> NDArray[np.bool_]:
    """Mark numbers that are at least ``low`` and below ``high``; infinite ends are open."""
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    # Without an upper end, the largest number counts, too, even if it is infinite.
    return np.asarray((numbers >= low) & ((numbers < high) | (high == math.inf)))


def rows_of(values: Column, text: str) -> NDArray[np.bool_]:
    """Mark the rows of a column with a given value, or in a given range if the column is numeric.

    >>> ages = pd.Series([39, 75, 80])
    >>> rows_of(ages, "75..").tolist(), rows_of(ages, "39").tolist()
    ([False, True, True], [True, False, False])
    """
    ends = span_ends(text) if is_number(values) else None
    if ends is not None:
        return in_span(values, *ends)
    codes, texts = coded_texts(values)
    return np.asarray(codes == (texts.index(text) if text in texts else -2))


def title_of(column: str, text: str) -> str:
    """Title of the rows that ``rows_of`` marks: "site = C", or for a range "age 75 or more"."""
    ends = span_ends(text)
    return f"{column} = {text}" if ends is None else f"{column} {span_words(*ends)}"


def value_text(value: object) -> str:
    """Convert one value to text; empty if it is missing.

    >>> value_text(3.0), value_text(None), value_text(float("nan")), value_text(" ")
    ('3', '', '', '')
    """
    if value is None or value != value:
        return ""
    return text_of(value) if text_of(value).strip() else ""


def from_texts(texts: list[str]) -> Column:
    """Convert texts to a column: numeric if every text is the canonical form of a number.

    >>> from_texts(["3", "0.5", ""]).tolist(), from_texts(["007", "8"]).tolist()
    ([3.0, 0.5, nan], ['007', '8'])
    """
    try:
        numbers = [float(text) if text else np.nan for text in texts]
    except ValueError:
        numbers = []
    if numbers and all(value_text(number) == text for number, text in zip(numbers, texts, strict=True)):
        return pd.Series(numbers, dtype=np.float64)
    return pd.Series([text or None for text in texts], dtype=object)
