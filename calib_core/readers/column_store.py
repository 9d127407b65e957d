"""Columns that grow record by record, and the conversion of JSON values to them."""

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
from calib_core.text import several


class Columns:
    """Columns that grow row by row from values of any type; the column type is chosen at the end.

    >>> grown = Columns("a.json")
    >>> grown.add({"p": [0.7, 0.3], "id": "a"}); grown.add({"p": [0.4, 0.6], "right": True})
    >>> table = grown.table()
    >>> table.matrices["p"].tolist(), table.columns["id"].tolist(), table.columns["right"].tolist()
    ([[0.7, 0.3], [0.4, 0.6]], ['a', ''], ['', 'true'])
    """

    def __init__(self, name: str, *reasons: str) -> None:
        self.name = name
        self.rows = 0
        self._values: dict[str, list[Any]] = {}
        self._places: list[int] = []
        self._numbers = 0
        self._left_out: dict[str, list[object]] = {why: [] for why in reasons}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns so far."""
        return tuple(self._values)

    def add(self, row: Mapping[str, object], number: int | None = None) -> None:
        """Add a row, from line or record ``number`` of the file; keys that it lacks are missing."""
        for key in row:
            if key not in self._values:
                self._new(key)
        for key, values in self._values.items():
            values.append(row.get(key))
        self._row_done(row.values(), number)

    def _row_done(self, values: Iterable[Any], number: int | None) -> None:
        """Count a row whose values were added to their columns; InputError if the table becomes too large."""
        self._numbers += len(self._values) + sum(len(value) - 1 for value in values if isinstance(value, list))
        self._places.append(self.rows if number is None else number)
        self.rows += 1
        if self._numbers * 8 > limits.DECODED_BYTES:
            raise InputError(f"{self.name} has more than {size(limits.DECODED_BYTES)} of values; save fewer rows")
        if self.rows > limits.ROWS:
            check_rows(self.name, self.rows, len(self._values))

    def leave_out(self, place: object, why: str) -> None:
        """Count a record that gives no row: ``place`` is its name, ``why`` the reason.

        The table has a note for each reason, in the order in which the reasons were declared or first occurred.
        """
        self._left_out.setdefault(why, []).append(place)

    def left_out(self, *reasons: str) -> list[str]:
        """Notes on records that gave no row, one for each of these reasons, or for all reasons."""
        every = reasons or self._left_out
        return [lacking(places, why) for why in every if (places := self._left_out.get(why))]

    def _new(self, key: str) -> None:
        if len(self._values) >= limits.COLUMNS:
            raise InputError(f"{self.name} has more than {limits.COLUMNS:,} keys; save one key per column")
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
        """Return everything added so far as a Table; ``by_line``: row numbers are line numbers of the file.

        InputError if there are no rows because every record was left out; the ``notes`` give the reasons.
        """
        notes = (*self.left_out(), *notes)
        if not self.rows:
            why = notes[-1] if notes else "it needs one record per prediction"
            raise InputError(f"{self.name} has no readable rows; {why}")
        places = np.array(self._places, dtype=np.int64)
        arrays = {key: self._array(key, values) for key, values in self._values.items()}
        return Table(
            self.name,
            format,
            {key: a for key, a in arrays.items() if a.ndim == 1},
            {key: a for key, a in arrays.items() if a.ndim == 2} | dict(matrices or {}),
            lines=places if by_line else None,
            notes=tuple(notes),
            rows=None if by_line else places.astype(np.intp),
        )

    def _array(self, key: str, values: list[Any]) -> Array:
        kinds, most = {*map(type, values)} - {type(None)}, limits.FIELD_CHARS
        if kinds == {list} and (matrix := _matrix(values)) is not None:
            return matrix
        if kinds <= {int, float} and kinds:
            return _numbers(values)
        if kinds == {str} and all(value is None or (value.isascii() and len(value) <= most) for value in values):
            return _texts(value or "" for value in values)
        return _texts(_written(self.name, key, value) for value in values)


class UniformColumns(Columns):
    """Columns of rows that all have the keys of the first row, and values of one type under each key.

    >>> grown = UniformColumns("a.jsonl")
    >>> grown.add({"p": [0.7, 0.3], "label": "cat"}, 1)
    >>> grown.add({"p": [0.4, 0.6], "label": 2}, 2)
    Traceback (most recent call last):
    calib_core._base.errors.InputError: a.jsonl, line 2, key "label" has a number, but earlier lines have text; use one
    type for each key
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._kinds: dict[str, str] = {}

    def add(self, row: Mapping[str, object], number: int | None = None) -> None:
        """Add the row of line ``number``; InputError if its keys or types differ from those of earlier rows."""
        where = f"{self.name}, line {number}"
        if not self.rows:
            _check_keys(row, where)
            self._values = {key: [] for key in row}
        elif row.keys() != self._values.keys():
            raise InputError(_other_keys(row, self.names, where))
        for key, value in row.items():
            self._values[key].append(value if value is None else self._checked(key, value, where))
        self._row_done(row.values(), number)

    def _checked(self, key: str, value: Any, where: str) -> Any:
        """Return the value as stored; lists become arrays, which take a quarter of the memory."""
        kind = _KINDS.get(type(value), "")
        known = self._kinds.setdefault(key, kind)
        if kind == "":
            raise InputError(
                f"{where}, key {quoted(key)} contains an object; use one list of numbers, or one key per class"
            )
        if kind == "text" and len(value) > limits.FIELD_CHARS:
            raise InputError(
                f"{where}, key {quoted(key)} has text of more than {limits.FIELD_CHARS:,} characters; shorten it"
            )
        if kind != known:
            raise InputError(
                f"{where}, key {quoted(key)} has {kind}, but earlier lines have {known}; use one type for each key"
            )
        if kind == "text":
            return _text(value, where)
        if kind != "a list":
            return value
        before = self._values.get(key)
        return _row(value, len(before[0]) if before and before[0] is not None else None, f"{where}, key {quoted(key)}")

    def _array(self, key: str, values: list[Any]) -> Array:
        if self._kinds.get(key) == "a list":
            if any(row is None for row in values):
                raise InputError(
                    f"{self.name}: key {quoted(key)} is null on some lines; every line needs a list of numbers"
                )
            return frozen(np.array(values))
        found = super()._array(key, values)
        if found.dtype == object and self._kinds.get(key) == "a number" and any(type(v) is not int for v in values):
            raise InputError(
                f"{self.name}: key {quoted(key)} has an integer that is too large; write it as text in quotes"
            )
        return found


_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list"}
"""Names of value types in messages."""


def _check_keys(row: Mapping[str, Any], where: str) -> None:
    if len(row) > limits.COLUMNS:
        raise InputError(f"{where} has {len(row):,} keys; the maximum is {limits.COLUMNS:,}")
    for key in row:
        if not key.strip() or len(key) > limits.NAME_CHARS:
            raise InputError(f"{where}: a key is empty or has more than {limits.NAME_CHARS} characters; rename it")
        _text(key, where)


def _other_keys(row: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    missing = [key for key in names if key not in row]
    if missing:
        return f"{where} has no {listed(missing)}; every line needs the keys of the first line (null if unknown)"
    extra = [key for key in row if key not in names]
    return f"{where} has {listed(extra)}, which the first line does not have; every line needs the same keys"


def _row(values: list[Any], width: int | None, what: str) -> Array:
    """Convert a list of numbers of the expected length to an array."""
    if not all(v is None or (isinstance(v, int | float) and not isinstance(v, bool)) for v in values):
        raise InputError(f"{what} has a value that is not a number; lists may contain only numbers")
    n = len(values)
    if not n:
        raise InputError(f"{what} is an empty list; every row needs one value per class")
    if n > limits.COLUMNS:
        raise InputError(f"{what} has {n:,} values; the maximum is {limits.COLUMNS:,}, one per class")
    if width is not None and n != width:
        raise InputError(f"{what} has {n:,} values instead of {width:,}; every row needs one value per class")
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError as e:
        raise InputError(f"{what} has an integer that is too large; write it as a decimal number") from e


def number(value: object) -> float:
    """Convert a number, possibly written as text; NaN for anything else.

    >>> number("-1.42"), number(3), number(None), number("n/a")
    (-1.42, 3.0, nan, nan)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def identifier(value: object) -> int | str:
    """Identifier of a record: an integer or text; other values are converted to text.

    >>> identifier(7), identifier("q7"), identifier(None), identifier([7])
    (7, 'q7', '', '[7]')
    """
    if type(value) is int or isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


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
    except OverflowError:  # identifiers beyond 64 bits become text
        return _texts("" if value is None else str(value) for value in values)


def _matrix(values: list[Any]) -> Array | None:
    """Stack lists of equal length as a matrix, NaN where a row has no list; None for other values."""
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
        text = text[: limits.FIELD_CHARS]  # a document next to the numbers: a prompt or a transcript
    return _text(text, name, key)


def _text(text: str, name: str, key: str | None = None) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as e:
        where = name if key is None else f"{name}, key {quoted(key)}"
        raise InputError(f"{where} contains half of a surrogate pair, which is not valid text; save it again") from e
    return text


def lacking(places: Sequence[object], what: str) -> str:
    """Return a note on the records at these ``places``, which were left out.

    >>> lacking(["q1", "q2"], "no answer of the judge")
    '2 records have no answer of the judge and are left out, not counted as wrong: "q1", "q2".'
    """
    n = len(places)
    has, are = ("have", "are") if n != 1 else ("has", "is")
    return f"{several(n, 'records')} {has} {what} and {are} left out, not counted as wrong: {listed(places, 3)}."
