"""JSON Lines: one object a line, every line with the same keys; a list of numbers under a key becomes a matrix.

Documents, and lines with objects inside, are ``nested_json``'s.

The standard library's decoder reads each line. pandas.read_json is not used: it rounds numbers, lets NaN and doubled
keys pass and names no line; pyarrow, which does better, is an extra.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import file_format
from calib_core.readers.formats.json_text import AS_LINES, as_number, decoded, decoder, lines_of
from calib_core.readers.formats.memory_estimate import check_rows
from calib_core.readers.formats.nested_json import nested_table
from calib_core.readers.messages import listed, quoted, size
from calib_core.readers.table import Array, Table
from calib_core.readers.text_encoding import utf8

_Shape = Literal["number", "text", "bool", "list"]

_OBJECTS = re.compile(rb"\s*(\[\s*){0,2}\{")
"""The beginning of an object, of a list of objects, or of a list of such lists."""


def _starts_with_an_object(data: bytes) -> bool:
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    return _OBJECTS.match(start) is not None


def _unpacked(data: bytes) -> int:
    """Python's objects, as measured: those of a document, which is decoded at once, or of the columns of lines."""
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    document = start.startswith(b"[") or start.partition(b"\n")[0].strip() == b"{" or b"\n" not in data.rstrip()
    return 2 * len(data) if document else len(data) * 4 // 3


@file_format("jsonl", "JSON Lines", ("jsonl", "ndjson", "json"), recognise=_starts_with_an_object, unpacked=_unpacked)
def parse_jsonl(data: bytes, name: str) -> Table:
    """Columns and matrices of a JSON Lines file; numbers are read exactly, missing values are null.

    >>> t = parse_jsonl(b'{"probs": [0.7, 0.3], "label": "cat"}\\n', "a.jsonl")
    >>> t.matrices["probs"].tolist(), t.columns["label"].tolist()
    ([[0.7, 0.3]], ['cat'])
    """
    return _parsed(data, name)


def parse_lines(data: bytes, name: str) -> Table:
    """The same of some lines of a longer file, one of which alone is no document."""
    return _parsed(data, name, lines=True)


def _parsed(data: bytes, name: str, *, lines: bool = False) -> Table:
    content = utf8(data, name)
    if (nested := nested_table(content, name, lines)) is not None:
        return nested
    return _flat(content, name)


def _flat(content: bytes, name: str) -> Table:
    stores: dict[str, _Store] = {}
    lines: list[int] = []
    values = 0
    for line, text in lines_of(content, name):
        where = f"{name}, line {line}"
        record = _record(text, where)
        if not lines:
            stores = {key: _Store(key) for key in record}
            _check_keys(stores, where)
        elif record.keys() != stores.keys():
            raise InputError(_other_keys(record, stores, where))
        for key, value in record.items():
            values += stores[key].add(value, where)
        lines.append(line)
        if len(lines) > limits.ROWS:
            check_rows(name, len(lines), len(stores))
        if values * 8 > limits.DECODED_BYTES:
            raise InputError(f"{where}: more than {size(limits.DECODED_BYTES)} of values; save a float32 NPZ instead")
    if not lines:
        raise InputError(f"{name} has 0 rows; it needs one JSON object a line")
    if not stores:
        raise InputError(f"{name} has no keys; write one object a line with scores and a label")
    arrays = {key: store.array(name) for key, store in stores.items()}
    return Table(
        name,
        "jsonl",
        {key: a for key, a in arrays.items() if a.ndim == 1},
        {key: a for key, a in arrays.items() if a.ndim == 2},
        lines=np.array(lines, dtype=np.int64),
    )


def _record(text: bytes, where: str) -> dict[str, Any]:
    value = decoded(text, where, _DECODER)
    if not isinstance(value, dict):
        raise InputError(f"{where} is not an object; {AS_LINES}")
    return value


_DECODER = decoder(as_number)


def _check_keys(stores: dict[str, _Store], where: str) -> None:
    if len(stores) > limits.COLUMNS:
        raise InputError(f"{where} has {len(stores):,} keys; at most {limits.COLUMNS:,} are read")
    for key in stores:
        if not key.strip() or len(key) > limits.NAME_CHARS:
            raise InputError(f"{where}: a key is empty or has more than {limits.NAME_CHARS} characters; rename it")
        _check_unicode(key, where)


def _other_keys(record: dict[str, Any], stores: dict[str, _Store], where: str) -> str:
    lacking = [key for key in stores if key not in record]
    if lacking:
        return f"{where} has no {listed(lacking)}; every line needs the keys of the first (null where unknown)"
    extra = [key for key in record if key not in stores]
    return f"{where} has {listed(extra)}, which the first line has not; every line needs the same keys"


class _Store:
    """The values of one key, of one kind throughout."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.kind: _Shape | None = None
        self.values: list[Any] = []

    def add(self, value: Any, where: str) -> int:
        """Keep one more value; returns how many numbers it counts for."""
        kind = self._kind(value, where)
        if kind is not None and kind != self.kind:
            if self.kind is not None:
                raise InputError(
                    f"{where}, key {quoted(self.key)}: {_WORD[kind]} where lines before have {_WORD[self.kind]}; "
                    "write every value of a key alike"
                )
            self.kind = kind
        if kind == "list":
            row = self._row(value, where)
            self.values.append(row)
            return len(row)
        if kind == "text":
            _check_unicode(value, where)
        self.values.append(value)
        return 1

    def _kind(self, value: Any, where: str) -> _Shape | None:
        if value is None:
            return None
        if isinstance(value, bool):
            return "bool"
        if isinstance(value, int | float):
            return "number"
        if isinstance(value, str):
            if len(value) > limits.FIELD_CHARS:
                raise InputError(
                    f"{where}, key {quoted(self.key)}: text of more than {limits.FIELD_CHARS:,} characters"
                )
            return "text"
        if isinstance(value, list):
            return "list"
        raise InputError(
            f"{where}, key {quoted(self.key)} holds an object; use one list of numbers, or one key a class, instead"
        )

    def _row(self, value: list[Any], where: str) -> Array:
        what = f"{where}, key {quoted(self.key)}"
        if not all(v is None or (isinstance(v, int | float) and not isinstance(v, bool)) for v in value):
            raise InputError(f"{what}: a list may hold numbers only")
        width = len(self.values[0]) if self.values and self.values[0] is not None else len(value)
        if not value:
            raise InputError(f"{what} is an empty list; every row needs one value a class")
        if len(value) > limits.COLUMNS:
            raise InputError(f"{what} has {len(value):,} values; at most {limits.COLUMNS:,} are read, one a class")
        if len(value) != width:
            raise InputError(f"{what} has {len(value):,} values, {width:,} expected; every row needs one value a class")
        try:
            return np.array(value, dtype=np.float64)
        except OverflowError as e:
            raise InputError(f"{what}: an integer is too large") from e

    def array(self, name: str) -> Array:
        if self.kind == "list":
            if any(row is None for row in self.values):
                raise InputError(
                    f"{name}: key {quoted(self.key)} is null on some lines; a list of numbers is needed on every line"
                )
            return frozen(np.array(self.values))
        if self.kind == "number":
            return self._numbers(name)
        words = {None: "", True: "true", False: "false"}
        texts = [v if isinstance(v, str) else words[v] for v in self.values]
        out = np.empty(len(texts), dtype=object)
        out[:] = texts
        return out

    def _numbers(self, name: str) -> Array:
        if all(type(v) is int for v in self.values):
            try:
                return np.array(self.values, dtype=np.int64)
            except OverflowError:
                # Identifiers beyond 64 bits: kept as the digits they are.
                return np.array([str(v) for v in self.values], dtype=object)
        try:
            return np.array([np.nan if v is None else v for v in self.values], dtype=np.float64)
        except OverflowError as e:
            raise InputError(f"{name}: key {quoted(self.key)} holds an integer too large; write it with quotes") from e


_WORD: dict[_Shape, str] = {"number": "a number", "text": "text", "bool": "true or false", "list": "a list"}


def _check_unicode(text: str, where: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as e:
        raise InputError(f"{where} holds half of a surrogate pair, which is not text; save it again") from e
