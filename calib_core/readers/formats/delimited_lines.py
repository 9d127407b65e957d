"""Fields of every line of a delimited text, counted by us: pandas fills short lines and shifts long ones.

The csv module counts where there are quotes; elsewhere numpy does, four times as fast: a file of 100 MB would take
half as long again with the csv module alone.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.messages import quoted

_LF = ord("\n")


@dataclass(frozen=True)
class Lines:
    """Line number of every row, and whether every row ends in one empty field more than the header has."""

    numbers: NDArray[np.int64]
    extra_field: bool


@dataclass(frozen=True)
class _Counted:
    """Of consecutive lines: number in the file, fields (0 for a blank line), whether the last field is empty."""

    numbers: NDArray[np.int64]
    fields: NDArray[np.int64]
    last_empty: NDArray[np.bool_]


def data_lines(data: bytes, start: int, first_line: int, delimiter: str, n_fields: int, name: str) -> Lines:
    """Check every line from byte ``start`` on, the line ``first_line`` of the file, against the header's count."""
    plain = data.find(b'"', start) < 0
    pieces = (_count_plain if plain else _count_quoted)(data, start, first_line, delimiter, name)
    numbers: list[NDArray[np.int64]] = []
    # Rows ending in a delimiter are fine when all do: remember which of the two the first row was.
    extra: bool | None = None
    for piece in pieces:
        filled = piece.fields > 0
        if not filled.any():
            continue
        if extra is None:
            first = int(filled.argmax())
            extra = bool(piece.fields[first] == n_fields + 1 and piece.last_empty[first])
        wrong = filled & (piece.fields != n_fields + extra)
        if extra:
            wrong |= filled & ~piece.last_empty
        if wrong.any():
            i = int(wrong.argmax())
            first_row = not numbers and not filled[:i].any()
            raise InputError(_ragged(name, int(piece.numbers[i]), int(piece.fields[i]), n_fields, delimiter, first_row))
        numbers.append(piece.numbers[filled])
    every = np.concatenate(numbers) if numbers else np.empty(0, dtype=np.int64)
    return Lines(every, bool(extra))


def _ragged(name: str, line: int, fields: int, expected: int, delimiter: str, first_row: bool) -> str:
    if delimiter == "," and fields > expected:
        hint = "; decimal commas? save with decimal points, or with ; between columns"
    elif first_row and fields == expected + 1:
        hint = "; names of rows, as R's write.table adds them? save with row.names = FALSE"
    else:
        hint = "; complete or remove the line"
    return f"{name}, line {line} has {fields} field{'s' * (fields != 1)}, the header has {expected}{hint}"


def _count_plain(data: bytes, start: int, first_line: int, delimiter: str, name: str) -> Iterator[_Counted]:
    """Without quotes a field ends at a delimiter or line end, wherever it stands: numpy counts them."""
    line = first_line
    while start < len(data):
        stop = min(start + limits.SCAN_BYTES, len(data))
        if stop < len(data):
            stop = data.rfind(b"\n", start, stop) + 1 or data.find(b"\n", stop, start + limits.LINE_BYTES) + 1
            if not stop:
                if len(data) - start > limits.LINE_BYTES:
                    raise InputError(f"{name}, line {line} is longer than {limits.LINE_BYTES >> 20} MB; is it a table?")
                stop = len(data)
        piece = _count_piece(data[start:stop], line, ord(delimiter), name)
        yield piece
        start, line = stop, line + len(piece.numbers)


def _count_piece(text: bytes, first_line: int, delimiter: int, name: str) -> _Counted:
    raw = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", dtype=np.uint8)
    # Mark before and after each field: its length is what lies between two marks.
    marks = np.flatnonzero((raw == delimiter) | (raw == _LF))
    ends = np.flatnonzero(raw[marks] == _LF)
    gaps = np.diff(marks, prepend=-1) - 1
    if gaps.max(initial=0) > limits.FIELD_CHARS:
        line = first_line + int(np.searchsorted(ends, int(gaps.argmax())))
        raise InputError(_oversized(name, line))
    fields = np.diff(ends, prepend=-1).astype(np.int64)
    line_ends = marks[ends]
    last = gaps[ends] - ((raw[line_ends - 1] == ord("\r")) & (line_ends > 0) & (gaps[ends] > 0))
    blank = (fields == 1) & (last == 0)
    # A line of spaces counts as blank, as pandas has it; such lines are rare enough to look at one by one.
    for i in np.flatnonzero((fields == 1) & ~blank) if delimiter in (ord(","), ord(";"), ord("\t")) else ():
        blank[i] = not text[line_ends[i] - gaps[ends][i] : line_ends[i]].strip()
    return _Counted(first_line + np.arange(len(ends), dtype=np.int64), np.where(blank, 0, fields), (last == 0) & ~blank)


def _count_quoted(data: bytes, start: int, first_line: int, delimiter: str, name: str) -> Iterator[_Counted]:
    """With quotes a field may hold delimiters and line ends: the csv module counts, at about 100 MB/s."""
    handle = io.BytesIO(data)
    handle.seek(start)
    reader = csv.reader(io.TextIOWrapper(handle, "utf-8", newline=""), delimiter=delimiter, strict=True)
    numbers: list[int] = []
    fields: list[int] = []
    last_empty: list[bool] = []
    line = first_line
    try:
        for row in reader:
            blank = not row or (len(row) == 1 and not row[0].strip())
            numbers.append(line)
            fields.append(0 if blank else len(row))
            last_empty.append(bool(row) and not row[-1])
            line = first_line + reader.line_num
    except csv.Error as e:
        if "field limit" in str(e):
            raise InputError(_oversized(name, line)) from e
        last = first_line + reader.line_num - 1
        raise InputError(
            f"{name}, line {line}: a quote ({quoted('').strip()[0]}) is not closed or stands inside a field "
            f"(reading stopped at line {last}); write a quote inside a field twice"
        ) from e
    yield _Counted(
        np.array(numbers, dtype=np.int64), np.array(fields, dtype=np.int64), np.array(last_empty, dtype=bool)
    )


def _oversized(name: str, line: int) -> str:
    return f"{name}, line {line}: a field is longer than {limits.FIELD_CHARS:,} characters; is a quote not closed?"
