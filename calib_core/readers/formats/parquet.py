"""Parquet files, decoded in a separate process: small files can demand any amount of memory, and decoders can crash.

The footer is a Thrift structure in the compact protocol. Only its first three fields are read, in a bounded number
of steps whatever the bytes contain. (Types and fields: parquet.thrift, FileMetaData and SchemaElement.)
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import file_format
from calib_core.readers.formats.child_process import decoded_table
from calib_core.readers.messages import size
from calib_core.readers.table import Table, file_label

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_SCHEMA, _ROWS = 2, 3
_TYPE, _REPETITION, _CHILDREN = 1, 3, 5
_REPEATED = 2
_BYTES = {0: 1, 1: 4, 2: 8, 3: 8, 4: 4, 5: 8}
"""Bytes of a value by physical type; other types are text, with a reference per row and often a string of its own."""
_TEXT_BYTES = 24
_NESTED_TIMES = 4
"""Factor from file bytes to estimated memory for files with lists, whose lengths are not in the footer."""
_DEEPEST = 16


class _DamagedError(Exception):
    """The footer is invalid."""


def promised_bytes(data: bytes) -> int:
    """Estimate the bytes of numbers from rows and column types in the footer; the file's length if it has none.

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
        """Number of rows, bytes per row, and whether rows contain lists."""
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
        """Bytes per row of a column, 0 for a group of columns; and whether it is repeated."""
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
        """Type and number of the next field after the field ``last``."""
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
            length = self._count()  # this advances the position
            self.next += length
        elif kind in (_BYTE, _DOUBLE):
            self.next += 1 if kind == _BYTE else 8
        elif kind in (_I16, _I32, _I64):
            self._count()
        elif kind in (_LIST, _SET):
            size, inner = self._list()
            for _ in range(size):
                # In a list, each truth value takes one byte.
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


MAGIC = b"PAR1"

_HAS_LIMITS = importlib.util.find_spec("resource") is not None


@file_format(
    "parquet",
    "Parquet",
    ("parquet", "pq"),
    recognise=lambda data: data.startswith(MAGIC),
    unpacked=promised_bytes,
)
def parse_parquet(data: bytes, name: str) -> Table:
    """Parse the columns of a Parquet file: numbers, booleans, text and lists of one number per class."""
    _check_frame(data, name)
    return decoded_table("parquet", data, name, "parquet", apart=_HAS_LIMITS)


def _check_frame(data: bytes, name: str) -> None:
    """Check the first and last bytes."""
    if len(data) < 12 or data[:4] != MAGIC or data[-4:] != MAGIC:
        raise InputError(f"{name} is not a complete Parquet file (it is encrypted, damaged or cut off); save it again")
    footer = int.from_bytes(data[-8:-4], "little")
    if footer > len(data) - 12:
        raise InputError(f"{name} is damaged or cut off: its footer declares {size(footer)}; save it again")
    if footer > limits.FOOTER_BYTES:
        raise InputError(
            f"{name} has a footer of {size(footer)}; the maximum is {size(limits.FOOTER_BYTES)}. Save it with fewer "
            "columns or larger row groups"
        )


def columns_of(path: str | os.PathLike[str], columns: Sequence[str]) -> tuple[int, dict[str, str]]:
    """Return the number of rows and pyarrow's types of these columns; InputError if a column is missing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
        return metadata.num_rows, {name: str(schema.field(name).type) for name in columns}
    except (pa.ArrowException, OSError, KeyError) as e:
        name = file_label(os.fspath(path))
        raise InputError(f"{name} is not a Parquet file with the columns {', '.join(columns)}; check it") from e
