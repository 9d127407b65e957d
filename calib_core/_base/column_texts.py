"""The values of a column as texts: what a link, a command and a summary say of them alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def is_number(values: pd.Series[Any]) -> bool:
    """Does the column hold numbers (yes and no are none)?"""
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def coded_texts(values: pd.Series[Any]) -> tuple[NDArray[np.intp], list[str]]:
    """Codes (n,) of a column's values, -1 where nothing is given, and the different values as texts, in order.

    An empty text is nothing given: a file of text cannot say more. Numbers are in their order, texts in theirs.
    """
    codes, uniques = pd.factorize(values)
    return named_codes(codes, stored(uniques))


def stored(uniques: Any) -> list[Any]:
    """Different values as they are stored: numbers of 32 bits stay such, whose digits are fewer."""
    return [*np.asarray(uniques)] if uniques.dtype in (np.float16, np.float32) else list(uniques)


def named_codes(codes: NDArray[np.intp], plain: list[Any]) -> tuple[NDArray[np.intp], list[str]]:
    """The same of values that are factorized already."""
    texts = [text_of(value) for value in plain]
    # Different values can be one text, as 1 and "1" of a mixed column: they are one value to whoever reads them.
    known = [text for text in dict.fromkeys(texts) if text.strip()]
    if all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in plain):
        known.sort(key=float)
    else:
        known.sort()
    place = {text: i for i, text in enumerate(known)}
    renamed = np.array([*(place.get(text, -1) for text in texts), -1], dtype=np.intp)
    return renamed[codes], known


def text_of(value: object) -> str:
    """A value as text: numbers as short as they are told apart, whole ones without a point.

    >>> [text_of(value) for value in (3.0, 0.1, 1e6, np.float32(0.5), True, "law")]
    ['3', '0.1', '1000000', '0.5', 'True', 'law']
    """
    if isinstance(value, (float, np.floating)):
        number = float(str(value))  # the shortest digits of the type it is stored in
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    return str(value)


def value_text(value: object) -> str:
    """The same of one value; empty where it says nothing.

    >>> value_text(3.0), value_text(None), value_text(float("nan")), value_text(" ")
    ('3', '', '', '')
    """
    if value is None or value != value:
        return ""
    return text_of(value) if text_of(value).strip() else ""


def from_texts(texts: list[str]) -> pd.Series[Any]:
    """A column whose values were written as these texts: numbers where each is one that is written so.

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
