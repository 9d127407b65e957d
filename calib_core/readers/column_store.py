"""Columns that grow record by record, and what values of JSON become in them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.limits import check_rows
from calib_core.readers.messages import listed, quoted, size
from calib_core.readers.table import Array, Table
from calib_core.text import count


class Columns:
    """Columns that grow row by row, of whatever values come; a kind is chosen when all are there.

    >>> grown = Columns("a.json")
    >>> grown.add({"p": [0.7, 0.3], "id": "a"}); grown.add({"p": [0.4, 0.6], "right": True})
    >>> table = grown.table()
    >>> table.matrices["p"].tolist(), table.columns["id"].tolist(), table.columns["right"].tolist()
    ([[0.7, 0.3], [0.4, 0.6]], ['a', ''], ['', 'true'])
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = 0
        self._values: dict[str, list[Any]] = {}
        self._places: list[int] = []
        self._numbers = 0

    def add(self, row: Mapping[str, Any], number: int | None = None) -> None:
        """One more row, the line or record ``number`` of the file; keys it lacks are missing in it."""
        for key in row:
            if key not in self._values:
                self._new(key)
        self._numbers += len(self._values)
        for key, values in self._values.items():
            value = row.get(key)
            values.append(value)
            if isinstance(value, list):
                self._numbers += len(value) - 1
        self._places.append(self.rows if number is None else number)
        self.rows += 1
        if self._numbers * 8 > limits.DECODED_BYTES:
            raise InputError(f"{self.name}: more than {size(limits.DECODED_BYTES)} of values; save fewer rows")
        if self.rows > limits.ROWS:
            check_rows(self.name, self.rows, len(self._values))

    def _new(self, key: str) -> None:
        if len(self._values) >= limits.COLUMNS:
            raise InputError(f"{self.name} has more than {limits.COLUMNS:,} keys; save one key for each column")
        if not key.strip() or len(key) > limits.NAME_CHARS:
            raise InputError(f"{self.name}: a key is empty or has more than {limits.NAME_CHARS} characters; rename it")
        _text(key, self.name)
        self._values[key] = [None] * self.rows

    def table(
        self,
        *,
        format: str = "jsonl",
        by_line: bool = False,
        notes: Sequence[str] = (),
        matrices: Mapping[str, Array] | None = None,
    ) -> Table:
        """Everything that was added, as a Table; ``by_line``: numbers of rows are lines of the file.

        InputError where nothing was added: every record was left out, as the ``notes`` say.
        """
        if not self.rows:
            why = notes[-1] if notes else "it needs one record for each prediction"
            raise InputError(f"{self.name} has 0 rows that can be read; {why}")
        places = np.array(self._places, dtype=np.int64)
        arrays = {key: _array(self.name, key, values) for key, values in self._values.items()}
        return Table(
            self.name,
            format,
            {key: a for key, a in arrays.items() if a.ndim == 1},
            {key: a for key, a in arrays.items() if a.ndim == 2} | dict(matrices or {}),
            lines=places if by_line else None,
            notes=tuple(notes),
            rows=None if by_line else places.astype(np.intp),
        )


def number(value: Any) -> float:
    """A number that may be written as text; NaN of anything else.

    >>> number("-1.42"), number(3), number(None), number("n/a")
    (-1.42, 3.0, nan, nan)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def identifier(value: Any) -> int | str:
    """What a record is called: a whole number or a text; other values as they would be written.

    >>> identifier(7), identifier("q7"), identifier(None), identifier([7])
    (7, 'q7', '', '[7]')
    """
    if type(value) is int or isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


def _array(name: str, key: str, values: list[Any]) -> Array:
    kinds, most = {*map(type, values)} - {type(None)}, limits.FIELD_CHARS
    if kinds == {list} and (matrix := _matrix(values)) is not None:
        return matrix
    if kinds <= {int, float} and kinds:
        return _numbers(values)
    if kinds == {str} and all(value is None or (value.isascii() and len(value) <= most) for value in values):
        return _texts(value or "" for value in values)
    return _texts(_written(name, key, value) for value in values)


def _texts(values: Iterable[str]) -> Array:
    every = list(values)
    texts = np.empty(len(every), dtype=object)
    texts[:] = every
    return texts


def _numbers(values: list[Any]) -> Array:
    try:
        if all(type(value) is int for value in values):
            return np.array(values, dtype=np.int64)
        return np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    except OverflowError:  # identifiers beyond 64 bits: the digits they are
        return _texts("" if value is None else str(value) for value in values)


def _matrix(values: list[Any]) -> Array | None:
    """Lists of as many numbers in every row, all missing where a row has no list; None of others."""
    width = next(len(row) for row in values if row is not None)
    good = 0 < width <= limits.COLUMNS and all(
        row is None
        or (
            len(row) == width
            and all(v is None or (isinstance(v, int | float) and v is not True and v is not False) for v in row)
        )
        for row in values
    )
    if not good:
        return None
    try:
        return frozen(np.array([[None] * width if row is None else row for row in values], dtype=np.float64))
    except OverflowError:
        return None


def _written(name: str, key: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > limits.FIELD_CHARS:
        text = text[: limits.FIELD_CHARS]  # a document beside the numbers: a prompt, a transcript
    return _text(text, name, key)


def _text(text: str, name: str, key: str | None = None) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as e:
        where = name if key is None else f"{name}, key {quoted(key)}"
        raise InputError(f"{where} holds half of a surrogate pair, which is not text; save it again") from e
    return text


def lacking(places: Sequence[object], what: str) -> str:
    """A note on the records at some ``places`` that were left out.

    >>> lacking(["q1", "q2"], "no answer of the judge")
    '2 records have no answer of the judge and are left out, not counted as wrong: "q1", "q2".'
    """
    n = len(places)
    has, are = ("have", "are") if n != 1 else ("has", "is")
    return (
        f"{count(n)} record{'s' * (n != 1)} {has} {what} and {are} left out, not counted as wrong: {listed(places, 3)}."
    )
