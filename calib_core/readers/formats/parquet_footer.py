"""What the footer of a Parquet file says of its size: rows and the types of columns, read without unpacking anything.

The footer is a Thrift structure in the compact protocol; its first three fields are read, nothing behind them, in a
bounded number of steps whatever the bytes say. (Types and fields: parquet.thrift, FileMetaData and SchemaElement.)
"""

from __future__ import annotations

from calib_core.readers import limits

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_SCHEMA, _ROWS = 2, 3
_TYPE, _REPETITION, _CHILDREN = 1, 3, 5
_REPEATED = 2
_BYTES = {0: 1, 1: 4, 2: 8, 3: 8, 4: 4, 5: 8}
"""Of a number by its physical type; all others are text, of which a row takes a place and mostly a word of its own."""
_TEXT_BYTES = 24
_NESTED_TIMES = 4
"""Bytes that a file with lists in its rows is counted as, for each of its own: how long lists are is told nowhere."""
_DEEPEST = 16


class _DamagedError(Exception):
    """No footer."""


def promised_bytes(data: bytes) -> int:
    """Bytes of the numbers of a file, by rows and types of its columns; its length where its footer says nothing.

    >>> promised_bytes(b"PAR1")
    4
    """
    length = int.from_bytes(data[-8:-4], "little")
    if not 0 < length <= min(len(data) - 12, limits.FOOTER_BYTES):
        return len(data)
    try:
        rows, row, lists = _Footer(data[-8 - length : -8]).shape()
    except (_DamagedError, IndexError):
        return len(data)
    return max(rows * row, _NESTED_TIMES * len(data) if lists else 0)


class _Footer:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.next = 0

    def shape(self) -> tuple[int, int, bool]:
        """Rows, bytes of a row, and whether rows hold lists."""
        last, row, lists = 0, 0, False
        while True:
            kind, last = self._field(last)
            if last == _SCHEMA and kind == _LIST:
                size, _ = self._list()
                elements = [self._element() for _ in range(min(size, 4 * limits.COLUMNS))]
                row = sum(each for each, _ in elements)
                lists = any(repeated for _, repeated in elements)
            elif last == _ROWS and kind == _I64:
                rows = self._whole()
                if rows < 0 or not row:
                    raise _DamagedError
                return rows, row, lists
            elif kind == _STOP:
                raise _DamagedError
            else:
                self._skip(kind)

    def _element(self) -> tuple[int, bool]:
        """Bytes that a row takes in a column, none where it is a group of columns; and whether it is repeated."""
        found, last = {}, 0
        while True:
            kind, last = self._field(last)
            if kind == _STOP:
                break
            if kind in (_I16, _I32, _I64):
                found[last] = self._whole()
            else:
                self._skip(kind)
        size = 0 if found.get(_CHILDREN) else _BYTES.get(found.get(_TYPE, -1), _TEXT_BYTES)
        return size, found.get(_REPETITION) == _REPEATED

    def _field(self, last: int) -> tuple[int, int]:
        """The type and the number of the next field after the field ``last``."""
        head = self._byte()
        kind, step = head & 15, head >> 4
        return kind, last if kind == _STOP else last + step if step else self._whole()

    def _list(self) -> tuple[int, int]:
        head = self._byte()
        return (head >> 4 if head >> 4 < 15 else self._count()), head & 15

    def _skip(self, kind: int, depth: int = 0) -> None:
        if depth > _DEEPEST or kind == _MAP or kind > _STRUCT:
            raise _DamagedError
        if kind == _BINARY:
            length = self._count()  # moves on itself
            self.next += length
        elif kind in (_BYTE, _DOUBLE):
            self.next += 1 if kind == _BYTE else 8
        elif kind in (_I16, _I32, _I64):
            self._count()
        elif kind in (_LIST, _SET):
            size, inner = self._list()
            for _ in range(size):
                # In a list a truth value has a byte of its own.
                self._skip(_BYTE if inner in (_TRUE, _FALSE) else inner, depth + 1)
        elif kind == _STRUCT:
            last = 0
            while (field := self._field(last))[0] != _STOP:
                last = field[1]
                self._skip(field[0], depth + 1)

    def _byte(self) -> int:
        self.next += 1
        return self.data[self.next - 1]

    def _count(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise _DamagedError

    def _whole(self) -> int:
        count = self._count()
        return (count >> 1) ^ -(count & 1)
