"""Numbers written as text: percent signs and decimal commas, read as what they say where a whole column has them."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Writing: TypeAlias = Literal["plain", "percent", "comma", "unclear"]
"""How the numbers of a column are written: as numbers, "91 %", "0,91", or "1,234", which may be 1.234 or 1234."""

MISSING_TEXT = frozenset({"", "nan", "na", "n/a", "null", "none", "missing", "#n/a", "-", "?"})
"""What people write where a number is missing; in a column of numbers these, in any capitals, count as NaN."""

_PERCENT = re.compile(r"[+-]?\d+(?:[.,]\d+)?\s*%")
_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")


def missing_text(column: Array) -> NDArray[np.bool_]:
    """Which values of a text column stand for a missing number."""
    return np.fromiter((v.strip().casefold() in MISSING_TEXT for v in column), dtype=bool, count=len(column))


def numbers(column: Array) -> NDArray[np.float64]:
    """A column as float64; what is not a number becomes NaN.

    >>> numbers(np.array(["0.5", "none"], dtype=object)).tolist()
    [0.5, nan]
    """
    if column.dtype != object:
        return column.astype(np.float64)
    return np.asarray(pd.to_numeric(pd.Series(column, dtype=object), errors="coerce"), dtype=np.float64)


def written_as(column: Array) -> Writing:
    """How a column's numbers are written; "plain" also where they are written in several ways, or are none.

    >>> [written_as(np.array(c, dtype=object)) for c in (["91%", "8,5 %", ""], ["0,91", "1"], ["91%", "0.4"])]
    ['percent', 'comma', 'plain']
    >>> written_as(np.array(["1,234", "999"], dtype=object)), written_as(np.array(["1,234", "0,5"], dtype=object))
    ('unclear', 'comma')
    """
    if column.dtype != object:
        return "plain"
    texts = [text for text in (str(value).strip() for value in column) if text.casefold() not in MISSING_TEXT]
    if texts and all(map(_PERCENT.fullmatch, texts)):
        return "percent"
    commas = [text for text in texts if not _WHOLE.fullmatch(text)]
    if commas and all(map(_THOUSANDS.fullmatch, commas)):
        return "unclear"
    return "comma" if commas and all(map(_COMMA.fullmatch, commas)) else "plain"


def numbers_as_written(column: Array) -> NDArray[np.float64]:
    """A column as float64, percent signs and decimal commas read; what is not a number becomes NaN.

    >>> numbers_as_written(np.array(["91 %", "8,5%"], dtype=object)).tolist()
    [0.91, 0.085]
    """
    writing = written_as(column)
    if writing in ("plain", "unclear"):
        return numbers(column)
    texts = [str(value).strip().removesuffix("%").strip().replace(",", ".") for value in column]
    values = numbers(np.array(texts, dtype=object))
    return values / 100 if writing == "percent" else values


def has_percent_sign(text: str) -> bool:
    """Is this a number in percent?"""
    return bool(_PERCENT.fullmatch(text.strip()))


def looks_numeric(column: Array) -> bool:
    """Whether most of a column's first values are numbers, however they are written."""
    if column.dtype != object:
        return column.dtype.kind in "iuf"
    first = column[:200]
    texts = (str(value).strip() for value in first)
    known = (bool(_PERCENT.fullmatch(text) or _COMMA.fullmatch(text)) for text in texts)
    return bool(np.mean(~np.isnan(numbers(first)) | np.fromiter(known, dtype=bool, count=len(first))) >= 0.5)
