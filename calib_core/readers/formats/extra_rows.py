"""Rows of a table that are no predictions: units, types or descriptions below the header, totals and subtotals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.readers.table import Array
from calib_core.readers.text_encoding import MISSING_TEXT, numbers, numbers_as_written

_LOOKED_AT = 200
_UNIT_WORDS = """
% %% ‰ years year yrs yr y a months month mo weeks week days day d hours hour hrs h minutes min seconds sec s ms score
kg g mg ug µg ng mmol mmol/l mg/dl g/l mmhg cm mm m km m² °c °f bpm iu ml l ratio fraction probability prob percent pct
unitless dimensionless none count number int integer float float64 int64 double real numeric number text string str
bool boolean char varchar f64 f32 i64 i32 u8 int8 uint8 int32 float32 dbl
jahre jahr stunden année années jours años días anni giorni
"""
_UNITS = frozenset(_UNIT_WORDS.split())
_IN_BRACKETS = re.compile(r"\[.{0,20}\]|\(.{0,20}\)|<.{0,20}>")
_UNIT_CHARS = 20
_IMPORTED = '{"ImportId"'
"""Start of every cell of Qualtrics's third header row."""

_NUMERIC = frozenset(["continuous", "c", "numeric", "n"])
_TYPES = frozenset(["discrete", "d", "string", "s", "text", "time", "t"])
_FLAGS = frozenset(["", "class", "c", "meta", "m", "ignore", "i", "weight", "w"])
"""Orange's second and third header row: the type of each column and its use."""

_TOTAL_WORDS = """
total totals subtotal sum mean average avg median overall all count summe gesamt mittelwert durchschnitt mittel
moyenne ensemble suma media promedio totale somma totaal gemiddelde
"""
_TOTALS = frozenset(_TOTAL_WORDS.split()) | {"grand total", "total general", "total général", "column total"}
_MOST_TOTALS = 5
_WORDS_OF_TOTALS = 4


def rows_below_header(columns: Sequence[Array]) -> tuple[int, str]:
    """Return the number of first rows that describe the columns, and what they are; 0 if rows are only data.

    Two rows are the types and uses of Orange. One row is of units if it has texts only, most of them in columns of
    numbers. At least one must be a usual unit or in brackets, and none may be a value of its column. One row is of
    descriptions if every column has one, most in several words; Qualtrics adds a row of identifiers.

    >>> columns = [np.array(each, dtype=object) for each in (["[%]", "7", "9"], ["", "a", "b"])]
    >>> rows_below_header(columns), rows_below_header([each[1:] for each in columns])
    ((1, 'units'), (0, ''))
    """
    if len(columns[0]) < 3 or any(each.dtype != object for each in columns):
        return 0, ""
    first, second = ([str(each[i]).strip() for each in columns] for i in (0, 1))
    if all(map(_is_flag, second)) and all(map(_is_type, first, (each[2:_LOOKED_AT] for each in columns))):
        return 2, "Orange's types"
    if all(cell.startswith(_IMPORTED) for cell in second if cell) and any(second):
        return 2, "Qualtrics's questions and identifiers"
    if _are_units(first, columns):
        return 1, "units"
    return (1, "descriptions") if _are_descriptions(first, columns) else (0, "")


def _is_type(text: str, below: Array) -> bool:
    """True for the type of a column, or for the list of its values, that is not one of them."""
    if text.casefold() in _NUMERIC:
        return is_numeric(below)
    return (text.casefold() in _TYPES or len(text.split()) > 1) and text not in below


def _is_flag(text: str) -> bool:
    return text.casefold() in _FLAGS or bool(re.fullmatch(r"[\w.-]+=[\w.-]+", text))


def _are_descriptions(cells: Sequence[str], columns: Sequence[Array]) -> bool:
    """True for a text above every column, no value of it; two are above numbers, and most have several words."""
    below = [column[1 : _LOOKED_AT + 1] for column in columns]
    texts = all(any(map(str.isalpha, cell)) and cell.casefold() not in MISSING_TEXT for cell in cells)
    worded = 2 * sum(len(cell.split()) > 1 for cell in cells) > len(cells)
    if not texts or not worded or any(cell in column for cell, column in zip(cells, below, strict=True)):
        return False
    return sum(map(is_numeric, below)) >= 2


def _are_units(cells: Sequence[str], columns: Sequence[Array]) -> bool:
    filled = [(cell, column[1 : _LOOKED_AT + 1]) for cell, column in zip(cells, columns, strict=True) if cell]
    if any(len(cell) > _UNIT_CHARS or not np.isnan(numbers(np.array([cell], dtype=object))[0]) for cell, _ in filled):
        return False
    numeric = [cell for cell, below in filled if is_numeric(below)]
    known = [cell for cell in numeric if is_unit(cell)]
    values = any(cell in below for cell, below in filled)
    return bool(known) and not values and 2 * len(numeric) > len(filled)


def is_numeric(column: Array) -> bool:
    """True if a column has numbers, and nothing else but missing values."""
    texts = [text for text in (str(value).strip() for value in column) if text.casefold() not in MISSING_TEXT]
    return bool(texts) and not np.isnan(numbers_as_written(np.array(texts, dtype=object))).any()


def is_unit(text: str) -> bool:
    """True for a usual unit, and for text in brackets.

    >>> is_unit("%"), is_unit("[-]"), is_unit("NA"), is_unit("high")
    (True, True, False, False)
    """
    return text.casefold() in _UNITS or bool(_IN_BRACKETS.fullmatch(text))


def total_rows(columns: Sequence[Array]) -> NDArray[np.intp]:
    """Return the rows that are totals or means: subtotals below their blocks, or totals in the last rows.

    Totals have one word such as "Total", usually in a column of numbers. In a column of texts, it must be no other
    value. Then another cell must be the sum or mean of its column, or all other cells empty. A subtotal, such as
    "North Total", must be the sum or mean of the rows since the last one.

    >>> names, counts = np.array(["a", "b", "Total"], dtype=object), np.array([1, 2, 3])
    >>> total_rows([names, counts]).tolist(), total_rows([names, counts[::-1]]).tolist()
    ([2], [])
    >>> names = np.array(["a", "a", "a Total", "b", "b", "b Total"], dtype=object)
    >>> total_rows([names, np.array([1, 2, 3, 4, 5, 9])]).tolist()
    [2, 5]
    """
    if len(found := _subtotals(columns)):
        return found
    n = len(columns[0])
    count = 0
    while count < min(_MOST_TOTALS, n - 2) and _row_is(_is_total_word, columns, n - count - 1):
        count += 1
    while count and not all(_is_total(columns, n - count, row) for row in range(n - count, n)):
        count -= 1
    return np.arange(n - count, n)


def _subtotals(columns: Sequence[Array]) -> NDArray[np.intp]:
    """Return the rows of subtotals, and of a grand total at the end; none unless all of them add up."""
    marks = np.zeros(len(columns[0]), dtype=int)
    for column in columns:
        if column.dtype == object:
            marks += [_names_total(str(cell)) for cell in column]
    found, data = np.flatnonzero(marks == 1), np.flatnonzero(marks == 0)
    if len(found) < 2 or found[-1] != len(marks) - 1 or len(found) + len(data) != len(marks):
        return np.empty(0, dtype=np.intp)
    for before, row in zip([-1, *found.tolist()], found.tolist(), strict=False):
        own = data[(data > before) & (data < row)]
        if not any(_is_sum(column, own if len(own) else data, row) for column in columns):
            return np.empty(0, dtype=np.intp)
    return found


def _row_is(what: Callable[[str], bool], columns: Sequence[Array], row: int) -> bool:
    """True if exactly one cell of a row is so."""
    return sum(what(str(column[row])) for column in columns) == 1


def ends_with_total(columns: Sequence[Array]) -> bool:
    """True if exactly one cell of the last row is named like a total, such as "Mean:" or "North Total"."""
    return _row_is(_names_total, columns, -1)


def _names_total(text: str) -> bool:
    words = text.casefold().replace(":", " ").split()
    return 0 < len(words) <= _WORDS_OF_TOTALS and bool(_TOTALS & {words[0], words[-1]})


def _is_total_word(text: str) -> bool:
    return text.strip().rstrip(":.").strip().casefold() in _TOTALS


def _is_total(columns: Sequence[Array], end: int, row: int) -> bool:
    """True if a row has a total of the rows before ``end``."""
    word = next(j for j, column in enumerate(columns) if _is_total_word(str(column[row])))
    others = [column for j, column in enumerate(columns) if j != word]
    above = columns[word][:end]
    if is_numeric(above):
        return True
    if columns[word][row] in set(above):
        return False
    blank = all(column.dtype == object and not str(column[row]).strip() for column in others)
    return blank or any(_is_sum(column, np.arange(end), row) for column in others)


def _is_sum(column: Array, rows: NDArray[np.intp], row: int) -> bool:
    """True if a number is the sum or mean of the numbers in these rows, up to its rounding."""
    text = str(column[row]).strip()
    given, above = numbers_as_written(np.array([text], dtype=object))[0], _numbers(column[rows])
    if np.isnan(given) or not len(above) or np.ptp(above) == 0:
        return False
    decimals = len(text.partition(".")[2].partition("e")[0])
    near = 0.5 * 10.0**-decimals + 1e-9 * max(1.0, abs(given))
    # A sum within the range of the values, or a mean without decimals, may be a value.
    summed = abs(given - above.sum()) <= near and not above.min() <= given <= above.max()
    return bool(summed or (abs(given - above.mean()) <= near < 0.02 * np.ptp(above)))


def _numbers(column: Array) -> NDArray[np.float64]:
    values = numbers_as_written(column) if column.dtype == object else column.astype(np.float64)
    return np.asarray(values[~pd.isna(values)], dtype=np.float64)
