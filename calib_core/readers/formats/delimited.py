"""CSV, also separated by semicolons, tabs, bars or spaces; text stays verbatim, and lines have the header's fields.

pandas reads the values and the csv module the header. The options of pandas exclude guesses of missing values, of an
index, or of numbers from text that only resembles them.

The csv module counts the fields of files with quotes; otherwise numpy does, four times as fast. With only the csv
module, a file of 100 MB would take half as long again.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import frozen
from calib_core._base.pandas_input import Column
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import file_format
from calib_core.readers.formats.drawn_tables import as_delimited, without_remarks
from calib_core.readers.formats.extra_rows import ends_with_total, rows_below_header, total_rows
from calib_core.readers.limits import check_rows
from calib_core.readers.messages import listed, places, quoted, size
from calib_core.readers.table import Array, Table, unique_names
from calib_core.readers.text_encoding import MISSING_TEXT, any_text, written_as
from calib_core.text import several

ARRAY = "array"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf)", re.IGNORECASE)
_TABLES = (",", ";")
"""Delimiters of tables, which have a header."""


def bare_numbers(data: bytes, name: str, exact: dict[str, object]) -> Table | None:
    """Return the table of lines of numbers separated by tabs or spaces; None if the first line may be a header.

    Numbers with a decimal point are data. Whole numbers are data only if there is one per line, as for labels: several
    could be class names.

    >>> bare_numbers(b"0.7\\t0.3\\n0.2\\t0.8\\n", "p.txt", {}).matrices["array"].tolist()
    [[0.7, 0.3], [0.2, 0.8]]
    >>> bare_numbers(b"0\\t1\\n0.7\\t0.3\\n", "p.csv", {})
    """
    first, second = _first_lines(data)
    if any(delimiter in first for delimiter in _TABLES):
        return None
    fields, below = first.split(), second.split()
    if not fields or not all(_NUMBER.fullmatch(field.strip()) for field in fields) or len(fields) > limits.COLUMNS:
        return None
    if _whole(fields) and not (len(fields) == 1 and _whole(below)):
        return None
    if b" " in data:
        # numpy.savetxt separates numbers by any number of spaces.
        data = b"\n".join(b"\t".join(line.split()) for line in data.split(b"\n"))
    try:
        lines = data_lines(data, 0, 1, "\t", len(fields), name)
    except InputError as why:
        raise InputError(str(why).replace("the header has", "the first line has")) from why
    if (n_bytes := len(lines.numbers) * len(fields) * 8) > limits.DECODED_BYTES:
        raise InputError(f"{name} has {size(n_bytes)} of numbers; the maximum is {size(limits.DECODED_BYTES)}")
    options: dict[str, Any] = {"sep": "\t", "header": None, "usecols": range(len(fields)), "index_col": False}
    try:
        numbers: pd.DataFrame = pd.read_csv(io.BytesIO(data), dtype=np.float64, **(options | exact))
    except ValueError:
        texts: pd.DataFrame = pd.read_csv(io.BytesIO(data), dtype=str, **options)
        raise InputError(_no_number(texts, lines.numbers, name)) from None
    values = numbers.to_numpy()
    if len(fields) > 1:
        return Table(name, "csv", matrices={ARRAY: frozen(values)}, lines=lines.numbers)
    column = values[:, 0]
    whole = not np.isnan(column).any() and bool((np.abs(column) < 2**53).all() and (column == np.floor(column)).all())
    return Table(name, "csv", {ARRAY: frozen(column.astype(np.int64) if whole else column.copy())}, lines=lines.numbers)


def _first_lines(data: bytes) -> tuple[str, str]:
    """Return the first two nonempty lines, stripped."""
    filled = (line.strip(" \r\n") for line in data[: 2 * limits.HEADER_BYTES].decode("utf-8", "replace").splitlines())
    lines = [line for line in filled if line]
    return (*lines[:2], "", "")[0], (*lines[:2], "", "")[1]


def _whole(fields: Sequence[str]) -> bool:
    return all(re.fullmatch(r"[+-]?\d+", field.strip()) for field in fields)


def _no_number(frame: pd.DataFrame, places: NDArray[np.int64], name: str) -> str:
    """Return the message about the first field that is not a number."""
    texts = frame.to_numpy(dtype=object)
    wrong = np.array([[isinstance(v, str) and not _NUMBER.fullmatch(v.strip()) for v in row] for row in texts])
    row, column = (int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{name}, line {places[row]}: {quoted(texts[row, column])} is not a number. The first line contains numbers, "
        "so every line must: write only numbers, or add a header line with a name for every column"
    )


_LF = ord("\n")


@dataclass(frozen=True)
class Lines:
    """Line number of every row, and whether every row has one additional empty field at the end."""

    numbers: NDArray[np.int64]
    extra_field: bool


@dataclass(frozen=True)
class _Counted:
    """Counts for consecutive lines: line number, fields (0 for a blank line), and whether the last field is empty."""

    numbers: NDArray[np.int64]
    fields: NDArray[np.int64]
    last_empty: NDArray[np.bool_]


def data_lines(data: bytes, start: int, first_line: int, delimiter: str, n_fields: int, name: str) -> Lines:
    """Check every line from byte ``start``, which is line ``first_line``, against the number of header fields."""
    plain = data.find(b'"', start) < 0
    pieces = (_count_plain if plain else _count_quoted)(data, start, first_line, delimiter, name)
    numbers: list[NDArray[np.int64]] = []
    # A delimiter at the end of a row is valid if all rows have one: remember what the first row had.
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
        hint = ". Decimal commas? Save with decimal points, or with ; between columns"
    elif first_row and fields == expected + 1:
        hint = ". Row names, as R's write.table adds them? Save with row.names = FALSE"
    else:
        hint = "; complete or remove the line"
    return f"{name}, line {line} has {several(fields, 'fields')}, but the header has {expected}{hint}"


def _count_plain(data: bytes, start: int, first_line: int, delimiter: str, name: str) -> Iterator[_Counted]:
    """Count fields with numpy: without quotes, every delimiter or line end ends a field."""
    line = first_line
    while start < len(data):
        stop = min(start + limits.SCAN_BYTES, len(data))
        if stop < len(data):
            stop = data.rfind(b"\n", start, stop) + 1 or data.find(b"\n", stop, start + limits.LINE_BYTES) + 1
            if not stop:
                if len(data) - start > limits.LINE_BYTES:
                    raise InputError(
                        f"{name}, line {line} is longer than {limits.LINE_BYTES >> 20} MB; check that it is a table"
                    )
                stop = len(data)
        piece = _count_piece(data[start:stop], line, ord(delimiter), name)
        yield piece
        start, line = stop, line + len(piece.numbers)


def _count_piece(text: bytes, first_line: int, delimiter: int, name: str) -> _Counted:
    raw = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", dtype=np.uint8)
    # Mark before and after each field: its length is the distance between two marks.
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
    # pandas treats a line of spaces as blank; such lines are rare, so they are checked one by one.
    for i in np.flatnonzero((fields == 1) & ~blank) if delimiter in (ord(","), ord(";"), ord("\t")) else ():
        blank[i] = not text[line_ends[i] - gaps[ends][i] : line_ends[i]].strip()
    return _Counted(first_line + np.arange(len(ends), dtype=np.int64), np.where(blank, 0, fields), (last == 0) & ~blank)


def _count_quoted(data: bytes, start: int, first_line: int, delimiter: str, name: str) -> Iterator[_Counted]:
    """Count fields with the csv module, at about 100 MB/s: quoted fields may contain delimiters and line ends."""
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
            f"{name}, line {line}: a quote ({quoted('').strip()[0]}) is not closed or is inside a field (reading "
            f"stopped at line {last}); double the quotes inside fields"
        ) from e
    yield _Counted(
        np.array(numbers, dtype=np.int64), np.array(fields, dtype=np.int64), np.array(last_empty, dtype=bool)
    )


def _oversized(name: str, line: int) -> str:
    return f"{name}, line {line} has a field longer than {limits.FIELD_CHARS:,} characters; close all quotes"


INDEX = "index"
"""Name for a first column without a name, such as the index that ``DataFrame.to_csv`` writes."""

_DELIMITERS = ("\t", ";", ",")
_RARE = ("|", "^", "~", "\x01", "\x1f")
"""Delimiters of a header in which no other one occurs; the last two are those of Hive and of ASCII."""
_DECLARED = re.compile(rb'\s*"?sep=(.)"?[\t ]*\r?\n', re.IGNORECASE)
"""First line by which Excel is told the delimiter."""
_MINITAB = re.compile(rb"C\d+(?:-[TD])?(?:(?P<delimiter>[\t,;])C\d+(?:-[TD])?)+\s*")
"""Minitab's own names of columns, above the names that its user gave them."""
_BROKEN_HEADER = re.compile(rb'(?:[^"\n]|"[^"]*")+(?=\n)')
"""A line and those that quotes continue it with."""
_WHOLE = re.compile(r"[+-]?\d+")
_ORANGE = re.compile(r"[mciw]?[CDST]?#.+")
"""Name behind its use and type, as Orange writes them: mS#name, cD#species, C#age."""
_LOOKED_AT = 200
"""Number of rows used to detect how a column's numbers are written."""
_GUARDED = re.compile(rb"'[=+\-@\t]")
_GUARDS = tuple(f"'{start}" for start in "=+-@\t")
"""Prefixes that this package and spreadsheets write before a text that would be computed as a formula."""
_LEADING_ZERO_OR_SIGN = re.compile(rb"[,;\t\n\r \"](?:-?0[0-9]|\+|-0)")

# Before pandas 3.1, the default parser could be wrong by one unit in the last place.
_EXACT: dict[str, Any] = (
    {} if tuple(int(v) for v in pd.__version__.split(".")[:2]) >= (3, 1) else {"float_precision": "round_trip"}
)


@dataclass(frozen=True)
class _Header:
    names: tuple[str, ...]
    delimiter: str
    line: int
    stop: int
    """Byte after the header line."""
    given: bool = True
    """False if the first line is data, and the names are places."""
    ends: bool = False
    """True if a delimiter ends the line."""


def _unpacked(data: bytes) -> int:
    """Estimate 8 bytes per field, assuming that all lines have as many fields as the first."""
    first = data[: max(data.find(b"\n", 0, limits.HEADER_BYTES), 0)]
    return data.count(b"\n") * 8 * (1 + max(first.count(each.encode()) for each in (*_DELIMITERS, *_RARE)))


@file_format("csv", "CSV", ("csv", "tsv", "txt", "psv", "tab", "dat", "rpt", "prn"), unpacked=_unpacked)
def parse_csv(data: bytes, name: str) -> Table:
    """Parse a delimited text table with a header line, or one with only numbers.

    >>> parse_csv(b"p,label\\n0.7,001\\n0.2,1\\n", "a.csv").columns["label"].tolist()
    ['001', '1']
    """
    text, notes = any_text(data, name)
    text = _in_one_line(text)
    text, above = _from_header(text)
    text, below, stated = without_remarks(text, name)
    quoted_names = all(line.startswith('"') for line in _first_lines(text))
    text, drawn = as_delimited(text, name)
    notes += [*above, *([_left_out(below, "below the table")] if below else []), *drawn]
    if (bare := bare_numbers(text, name, _EXACT)) is not None:
        return replace(bare, notes=tuple(notes))
    found = _table(text, name, quoted_names)
    doubts = found.doubts
    if stated is not None and stated != found.n_rows:
        message = (
            f"Line {below[-1]} states {stated:,} rows, but there are {found.n_rows:,}. Check that all were exported."
        )
        doubts = (*doubts, ("stated-rows", message))
    return replace(found, notes=(*notes, *found.notes), doubts=doubts)


def _in_one_line(data: bytes) -> bytes:
    """Replace line breaks in quoted names of the first line by spaces; empty lines below keep the numbers of lines.

    A quote that is not closed remains: what it contains up to the next quote are rows.

    >>> _in_one_line(b'"chance of\\nrain",y\\n.5,1\\n'), _in_one_line(b'p,"y\\n.5,1\\n.5,"1\\n')
    (b'"chance of rain",y\\n\\n.5,1\\n', b'p,"y\\n.5,1\\n.5,"1\\n')
    """
    start = len(data) - len(data.lstrip(b" \r\n"))
    end = data.find(b"\n", start)
    if end < 0 or not data.count(b'"', start, end) % 2:
        return data
    found = _BROKEN_HEADER.match(data, start, start + limits.HEADER_BYTES)
    if found is None or any(map(_is_number, re.split(r"[\"\n,;\t|]", found[0].decode("utf-8").partition("\n")[2]))):
        return data
    names = re.sub(rb"[ \r]*\n[ ]*", b" ", found[0])
    return data[:start] + names + b"\n" * found[0].count(b"\n") + data[found.end() :]


def _left_out(lines: Sequence[int], where: str) -> str:
    if len(lines) == 1:
        return f"Line {lines[0]}, {where}, was left out."
    return f"Lines {places(lines)}, {where}, were left out."


def table_of_lines(data: bytes, name: str) -> Table:
    """Return the table of delimited text in UTF-8 with a header line, and nothing else."""
    return _table(data, name, quoted_names=False)


def _table(data: bytes, name: str, quoted_names: bool) -> Table:
    """Return the table of text without anything above its header or below its rows."""
    header = _header(data, name)
    if header.given and (again := _headers_again(data, header)):
        found = _table(again[0], name, quoted_names)
        note = f"The header is repeated in line {places(again[1])}, as in joined files. It was left out there."
        return replace(found, notes=(note, *found.notes))
    header, unnamed = _with_row_names(header, data, quoted_names)
    lines = data_lines(data, header.stop, header.line + 1, header.delimiter, len(header.names), name)
    _check_size(lines, header, name)
    notes = ["Every line ends with a delimiter; the empty last field was removed."] * lines.extra_field
    source = _Source(data, header, lines, name)
    frame, decimal_comma = _frame(source)
    if header.given and (extra := _extra_lines(frame, lines)) is not None:
        numbers, note = extra
        if (rest := _without_lines(data, numbers)) is not None:
            found = _in_percent(_table(rest, name, quoted_names), header, [str(each) for each in frame.iloc[0]])
            return replace(found, notes=(note, *found.notes))
    if decimal_comma:
        notes.append("Decimal commas (0,5) were read as decimal points (0.5).")
    columns = _columns(frame, source)
    if _GUARDED.search(data) and (_guarded(columns) or any(map(_guarded, columns.values()))):
        unique_names([_bare(column) for column in columns], name)
        columns = {_bare(column): _unguarded(values) for column, values in columns.items()}
        notes.append("Apostrophes before text that looks like a formula ('=1+1) were removed.")
    if unnamed:
        notes.append(f"Rows have one field more than the header; the first, their name, is {quoted(header.names[0])}.")
    if header.given:
        doubts = [_shifted(header, columns[header.names[0]])] if unnamed and not quoted_names else []
        doubts = [each for each in doubts if each[1]]
        return Table(name, "csv", columns, lines=lines.numbers, notes=tuple(notes), doubts=tuple(doubts))
    return _without_header(name, columns, lines, notes)


def _headers_again(data: bytes, header: _Header) -> tuple[bytes, list[int]] | None:
    """Return the text with later copies of its header line empty, and their numbers; None if there are none."""
    line = data[data.rfind(b"\n", 0, header.stop - 1) + 1 : header.stop].strip(b"\r\n")
    if not line or data.find(line, header.stop) < 0:
        return None
    pattern = re.compile(rb"(?m)^" + re.escape(line) + rb"\r?$")
    numbers, before, place = [], header.line, header.stop
    for found in pattern.finditer(data, header.stop):
        before, place = before + data.count(b"\n", place, found.start()), found.start()
        numbers.append(before + 1)
    return (data[: header.stop] + pattern.sub(b"", data[header.stop :]), numbers) if numbers else None


def _without_header(name: str, columns: dict[str, Array], lines: Lines, notes: Sequence[str]) -> Table:
    """Return a table whose first line is data: adjacent columns of fractions are a matrix."""
    shares = [each for each, values in columns.items() if values.dtype.kind == "f"]
    places = [list(columns).index(each) for each in shares]
    matrices = {}
    if len(shares) > 1 and np.ptp(places) == len(shares) - 1:
        matrices = {ARRAY: frozen(np.column_stack([columns.pop(each) for each in shares]))}
    message = f"The header line is missing: line {lines.numbers[0]} has data."
    if matrices:
        message += f" Columns {places[0] + 1} to {places[-1] + 1} are read as scores of classes."
    if columns:
        message += f" {'Other columns' if matrices else 'Columns'} are named by their places: {listed(columns, 3)}."
    return Table(name, "csv", columns, matrices, lines.numbers, tuple(notes), doubts=(("no-header", message),))


def _with_row_names(header: _Header, data: bytes, quoted_names: bool) -> tuple[_Header, bool]:
    """Return the header with a name for the first column if lines have one field more, as R's write.table does.

    Such names are all different: text, or whole numbers beside numbers with a decimal point.
    """
    piece = data[header.stop : header.stop + limits.LINE_BYTES].split(b"\n", _LOOKED_AT)[:_LOOKED_AT]
    texts = [text for line in piece if (text := line.decode("utf-8", "replace").strip("\r")).strip()]
    if not header.given or header.ends or not texts:
        return header, False
    try:
        rows = list(csv.reader(texts, delimiter=header.delimiter, strict=True))
    except csv.Error:
        return header, False
    if {len(row) for row in rows} != {len(header.names) + 1} or not any(row[-1] for row in rows):
        return header, False
    first = [row[0] for row in rows]
    numbers = all(map(_WHOLE.fullmatch, first))
    decimals = any(_is_number(cell) and "." in cell for row in rows for cell in row[1:])
    named = (numbers and (decimals or quoted_names)) or not any(map(_is_number, first))
    if len(set(first)) < len(first) or not named:
        return header, False
    return replace(header, names=(INDEX if INDEX not in header.names else "row names", *header.names)), True


def _shifted(header: _Header, first: Array) -> tuple[str, str]:
    """Return the doubt that a name is missing elsewhere; without text if the first column counts the rows."""
    if first.dtype.kind in "iu" and first[0] in (0, 1) and (np.diff(first) == 1).all():
        return "row-names", ""
    return "row-names", (
        f"The header has {several(len(header.names) - 1, 'names')} for {len(header.names)} columns. The first column "
        "is read as names of rows, as R writes them. If another column lacks its name, every name before it belongs to "
        "the column on its left."
    )


def _extra_lines(frame: pd.DataFrame, lines: Lines) -> tuple[NDArray[np.int64], str] | None:
    """Return the lines of units below the header or of totals at the end, and a note on them; None if there are none.

    Columns with such a line are text, so most tables need no closer look.
    """
    texts = [frame[j].dtype.kind == "O" for j in frame]
    if all(texts):
        some = [frame[j].iloc[: _LOOKED_AT + 2].to_numpy(dtype=object) for j in frame]
        count, what = rows_below_header(some)
        if count:
            return lines.numbers[:count], _left_out(lines.numbers[:count].tolist(), f"{what} below the header")
    columns = [frame[j].to_numpy(dtype=object if text else None) for j, text in zip(frame, texts, strict=True)]
    if ends_with_total(columns) and len(rows := total_rows(columns)):
        found = lines.numbers[rows]
        return found, _left_out(found.tolist(), "totals or means of the rows above")
    return None


def _in_percent(table: Table, header: _Header, units: Sequence[str]) -> Table:
    """Return the table with the unit % behind the names of columns that have it as their unit."""
    named = {each: f"{each} (%)" for each, unit in zip(header.names, units, strict=True) if unit.strip(" []()") == "%"}
    named = {each: new for each, new in named.items() if "%" not in each and new not in table.columns}
    if not named:
        return table
    notes = (*table.notes, f"Their unit was added to the names of columns in percent: {listed(named.values(), 3)}.")
    return replace(table, columns={named.get(each, each): c for each, c in table.columns.items()}, notes=notes)


def _without_lines(data: bytes, numbers: NDArray[np.int64]) -> bytes | None:
    """Return the text with these lines empty; None if quotes contain their ends."""
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _LF)
    parts, start = [], 0
    for number in numbers:
        first = 0 if number == 1 else int(ends[number - 2]) + 1
        stop = int(ends[number - 1]) if number <= len(ends) else len(data)
        if data.count(b'"', first, stop) % 2:
            return None
        parts.append(data[start:first])
        start = stop
    return b"".join((*parts, data[start:]))


def _guarded(texts: Iterable[str] | Array) -> bool:
    if isinstance(texts, np.ndarray) and texts.dtype != object:
        return False
    return any(str(text).startswith(_GUARDS) for text in texts)


def _bare(text: str) -> str:
    return text[1:] if text.startswith(_GUARDS) else text


def _unguarded(values: Array) -> Array:
    return np.array([_bare(text) for text in values], dtype=object) if values.dtype == object else values


_LINES_ABOVE = 50
"""Most lines that are examined for the header."""
_EMPTY_END = re.compile(rb"(?:\n[,;\t]+\r?)+\s*\Z")
"""Rows without values at the end, as spreadsheets write them."""


def _from_header(data: bytes) -> tuple[bytes, list[str]]:
    """Return the text with empty lines in place of those above the header, and notes of what was left out.

    >>> _from_header(b"# by me\\np,y\\n.5,1\\n"), _from_header(b"# p y\\n.5 1\\n")[0]
    ((b'\\np,y\\n.5,1\\n', ['Line 1, above the header, was left out.']), b'p y\\n.5 1\\n')
    """
    lines, above = _lines_above(data)
    data = b"\n" * len(lines) + data[sum(len(line) + 1 for line in lines) :] if above else data
    # NumPy writes names behind the mark of a comment.
    start = len(lines) if above else 0
    if data[start : start + 2] == b"# ":
        data = data[:start] + data[start + 2 :]
    notes = [f"Line {i}, above the header, was left out." for i in above if not _DECLARED.match(lines[i - 1] + b"\n")]
    data, empty = _without_empty_columns(_EMPTY_END.sub(b"\n", data))
    return data, [*notes, *empty]


def _lines_above(data: bytes) -> tuple[list[bytes], list[int]]:
    """Return the lines above the header, and the numbers of those that are not empty.

    They are a line that declares a delimiter, comments that start with #, Minitab's C1 to C9 above names, and titles:
    one text before delimiters.
    """
    lines = data[: limits.SCAN_BYTES].split(b"\n", _LINES_ABOVE)[:-1]
    filled = [i for i, line in enumerate(lines) if line.strip(b" \r")]
    for k, (i, below) in enumerate(itertools.pairwise(filled)):
        if not _is_above(lines[i], lines[below]):
            return lines[:i], [each + 1 for each in filled[:k]]
    return [], []


def _is_above(line: bytes, below: bytes) -> bool:
    """True if a line is no header: the line below is, or is another such line."""
    if _DECLARED.match(line + b"\n"):
        return True
    if places := _MINITAB.fullmatch(line):
        names = below.decode("utf-8", "replace").split((places["delimiter"] or b"\t").decode())
        return len(names) == line.count(b"C") and not any(map(_is_number, names))
    if line.startswith(b"#"):
        return below.startswith(b"#") or not _alike(line.removeprefix(b"#"), below)
    text = line.rstrip(b",;\t \r")
    ends = line[len(text) :].strip(b" \r")
    others = below.strip(b",;\t \r")
    return bool(ends) and not any(each in text for each in b",;\t") and (not others or ends[:1] in others)


def _alike(line: bytes, below: bytes) -> bool:
    """True if two lines have equally many fields by the delimiter that divides the second most."""
    most = max((each.encode() for each in (*_DELIMITERS, *_RARE)), key=below.count)
    return line.count(most) == below.count(most) if most in below else len(line.split()) == len(below.split())


def _without_empty_columns(data: bytes) -> tuple[bytes, list[str]]:
    """Remove columns at the end that have neither names nor values, and return a note; one alone is handled later."""
    first = data.lstrip(b"\n\r ").partition(b"\n")[0].rstrip(b" \r")
    count = len(first) - len(first.rstrip(b",;\t"))
    if count < 2:
        return data, []
    ends = re.compile(re.escape(first[-count:]) + rb"(?=[ \r]*(?:\n|\Z))")
    rows = sum(1 for line in data.split(b"\n") if line.strip(b" \r"))
    if len(ends.findall(data)) != rows:
        return data, []
    return ends.sub(b"", data), [f"The last {count} columns have neither names nor values and were left out."]


def head_of(block: bytes, table: Table) -> tuple[bytes, int]:
    """Return what later blocks of a longer text begin with: all above the first row of the first block's table.

    Without a header, it is the first row, which is then repeated: the second value is the number of repeated rows.

    >>> text = b"# by me\\np,y\\n.5,1\\n.7,0\\n"
    >>> head_of(text, parse_csv(text, "a.csv")), head_of(b".5\\t.5\\n", parse_csv(b".5\\t.5\\n", "a.csv"))
    ((b'# by me\\np,y\\n', 0), (b'.5\\t.5\\n', 1))
    """
    first = 1 if table.lines is None else int(table.lines[0])
    lines = block.split(b"\n", first)
    above = b"".join(line + b"\n" for line in lines[: first - 1])
    return (above, 0) if above.strip(b" \r\n") else (above + lines[first - 1] + b"\n", 1)


# -- the header ------------------------------------------------------------------------------------------------


def _header(data: bytes, name: str) -> _Header:
    start = len(data) - len(data.lstrip(b" \r\n"))
    if start == len(data):
        raise InputError(f"{name} is empty. It needs a header line and one line per prediction")
    line = data.count(b"\n", 0, start) + 1
    start = data.rfind(b"\n", 0, start) + 1
    end = data.find(b"\n", start, start + limits.HEADER_BYTES)
    if end < 0 and len(data) - start > limits.HEADER_BYTES:
        raise InputError(
            f"{name}: the header line is longer than {size(limits.HEADER_BYTES)}; check that it is a table"
        )
    end = len(data) if end < 0 else end
    text = data[start:end]
    for delimiter in (*_DELIMITERS, *_RARE):
        # Count before parsing: a million columns keep parsers busy for minutes.
        if text.count(delimiter.encode()) > limits.COLUMNS:
            raise InputError(
                f"{name} has {text.count(delimiter.encode()) + 1:,} columns; the maximum is {limits.COLUMNS:,}. Rows "
                "are predictions and columns are classes; the table may be transposed"
            )
    names, delimiter = _split_header(text.decode("utf-8"), name, line)
    if _is_data_line(names, delimiter, data[end + 1 :]):
        return _Header(tuple(f"column {j + 1}" for j in range(len(names))), delimiter, line - 1, start, given=False)
    checked = _checked_names(names, name, line, delimiter)
    return _Header(checked, delimiter, line, min(end + 1, len(data)), ends=names[-1] == "")


def _pointed(text: str, delimiter: str) -> str:
    """Return a number with a decimal comma with a point, if commas do not divide columns."""
    return text.replace(",", ".", 1) if delimiter != "," else text


def _is_data_line(names: Sequence[str], delimiter: str, below: bytes) -> bool:
    """True if the first line is data, like the lines below: it has a number with a decimal point, among others.

    Whole numbers may be names of classes. Text above numbers may be a name next to numbers that are names.
    """
    names = [_pointed(each, delimiter) for each in names]
    if not any(_is_number(each) and not _WHOLE.fullmatch(each.strip()) for each in names) or len(names) < 2:
        return False
    lines = below[: limits.SCAN_BYTES].split(b"\n", _LOOKED_AT)[:_LOOKED_AT]
    texts = [text for line in lines if (text := line.decode("utf-8", "replace").strip("\r")).strip()]
    try:
        rows = [
            [_pointed(each, delimiter) for each in row] for row in csv.reader(texts, delimiter=delimiter, strict=True)
        ]
    except csv.Error:
        return False
    if not rows or any(len(row) != len(names) for row in rows):
        return False
    return all(
        all(_is_number(each) or each.strip().casefold() in MISSING_TEXT for each in rest)
        if _is_number(first)
        else not any(map(_is_number, rest))
        for first, *rest in zip(names, *rows, strict=True)
    )


def _split_header(text: str, name: str, line: int) -> tuple[list[str], str]:
    splits: dict[str, list[str]] = {}
    for delimiter in _DELIMITERS:
        # The wrong delimiter can follow a closing quote, which is an error; the right one cannot.
        with contextlib.suppress(csv.Error):
            splits[delimiter] = next(csv.reader([text.rstrip("\r")], delimiter=delimiter, strict=True))
    if not splits or text.count('"') % 2:
        raise InputError(f"{name}, line {line}: a quote in the header is not closed; close it")
    best = max(splits, key=lambda d: len(splits[d]))
    if len(splits[best]) == 1:
        best = max(_RARE, key=lambda d: text.count(d))
        return next(csv.reader([text.rstrip("\r")], delimiter=best)), best
    return splits[best], best


def _checked_names(names: list[str], name: str, line: int, delimiter: str) -> tuple[str, ...]:
    names = _weka_names(names)
    if all(map(_ORANGE.fullmatch, names)):
        names = [each.partition("#")[2] for each in names]
    if len(names) > 1 and names[-1] == "":
        names = names[:-1]
    values = [_pointed(each, delimiter) for each in names]
    if any(_is_number(n) and not _WHOLE.fullmatch(n.strip()) for n in values) or all(map(_is_number, values)):
        raise InputError(
            f"{name}, line {line} contains data ({quoted(delimiter.join(names))}), so the header line is missing. Add "
            "one with a name for every column, such as p_cat,p_dog,label"
        )
    if names[0] == "":
        names = [INDEX, *names[1:]]
    for j, n in enumerate(names):
        if not n.strip():
            raise InputError(f"{name}, line {line}: column {j + 1} of {len(names)} has no name; name every column")
        if len(n) > limits.NAME_CHARS:
            raise InputError(f"{name}, line {line}: column {j + 1} has a name of {len(n):,} characters; shorten it")
    unique_names(names, name)
    return tuple(names)


def _weka_names(names: list[str]) -> list[str]:
    """Name the columns after "distribution", which Weka leaves unnamed: one column per class.

    >>> _weka_names(["inst#", "actual", "distribution", "", "age"])
    ['inst#', 'actual', 'distribution[1]', 'distribution[2]', 'age']
    """
    if names[0] != "inst#" or "distribution" not in names:
        return names
    first = last = names.index("distribution")
    while last + 1 < len(names) and not names[last + 1]:
        last += 1
    return [*names[:first], *(f"distribution[{j}]" for j in range(1, last - first + 2)), *names[last + 1 :]]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lower().lstrip("+-") not in ("nan", "inf", "infinity")


def _check_size(lines: Lines, header: _Header, name: str) -> None:
    n = len(lines.numbers)
    if n == 0:
        raise InputError(f"{name} has no data rows. Expected one line per prediction below the header")
    if n * len(header.names) * 8 > limits.DECODED_BYTES:
        raise InputError(
            f"{name} has {n:,} rows of {len(header.names):,} columns, {size(n * len(header.names) * 8)} of numbers; "
            f"the maximum is {size(limits.DECODED_BYTES)}. Save fewer rows, or float32 in an NPZ"
        )
    check_rows(name, n, len(header.names))


# -- the values ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    data: bytes
    header: _Header
    lines: Lines
    name: str

    def read(self, columns: Sequence[int] | None = None, **options: Any) -> pd.DataFrame:
        """Read the chosen columns with pandas, without guessing an index, missing values or a header."""
        width = len(self.header.names)
        try:
            frame: pd.DataFrame = pd.read_csv(
                io.BytesIO(self.data),
                **{
                    "sep": self.header.delimiter,
                    "header": None,
                    "names": range(width + self.lines.extra_field),
                    "usecols": range(width) if columns is None else columns,
                    "skiprows": self.header.line,
                    "index_col": False,
                    "keep_default_na": False,
                    "na_values": [],
                    "low_memory": False,
                    "encoding": "utf-8",
                    **_EXACT,
                    **options,
                },
            )
        except (ValueError, TypeError, OverflowError, MemoryError) as e:
            raise InputError(f"{self.name} could not be read as a table; check its quotes and line ends") from e
        if len(frame) != len(self.lines.numbers):
            raise InputError(
                f"{self.name} was read as {len(frame):,} rows but has {len(self.lines.numbers):,} lines of data; "
                "check its quotes and line ends"
            )
        return frame


def _frame(source: _Source) -> tuple[pd.DataFrame, bool]:
    """Return the table, and whether its decimals are written with a comma."""
    frame = source.read()
    commas = [j for j in range(frame.shape[1]) if _has_decimal_commas(frame[j])]
    if not commas:
        return frame, False
    points = [j for j in range(frame.shape[1]) if frame[j].dtype.kind == "f"]
    if points:
        a, b = (quoted(source.header.names[j]) for j in (commas[0], points[0]))
        raise InputError(
            f"{source.name}: column {a} has decimal commas but column {b} has decimal points; use points in every "
            "column"
        )
    return source.read(decimal=","), True


def _has_decimal_commas(column: Column) -> bool:
    """True if "0,5" occurs in the column; "1,234" may mean 1234 and stays text."""
    if column.dtype.kind in "iufb":
        return False
    some = [str(v).strip() for v in column.iloc[:_LOOKED_AT]]
    return written_as(np.array([v for v in some if v], dtype=object)) == "comma"


def _columns(frame: pd.DataFrame, source: _Source) -> dict[str, Array]:
    """Return numeric columns as arrays, floats adjacent in one block, and other columns as verbatim text."""
    kinds = {j: frame[j].dtype.kind for j in range(frame.shape[1])}
    floats = [j for j in range(frame.shape[1]) if kinds[j] == "f"]
    block = frozen(np.ascontiguousarray(frame[floats].to_numpy(dtype=np.float64))) if floats else np.empty((0, 0))
    arrays: dict[int, Array] = {j: block[:, i] for i, j in enumerate(floats)}
    whole = [j for j in range(frame.shape[1]) if kinds[j] in "iu"]
    arrays |= {j: frame[j].to_numpy() for j in whole}
    # "True" and "TRUE", "001" and "1", or integers beyond 64 bits would become equal: read those as text.
    again = [j for j in range(frame.shape[1]) if kinds[j] == "b" or (kinds[j] == "O" and frame[j].dtype == object)]
    if whole and _LEADING_ZERO_OR_SIGN.search(source.data, source.header.stop - 1):
        again += whole
    text = source.read(again, dtype=str) if again else frame[[]]
    arrays |= {j: _verbatim(frame[j]) for j in range(frame.shape[1]) if j not in arrays and j not in again}
    arrays |= {j: _verbatim(text[j]) for j in again if j not in whole or _not_canonical(text[j])}
    return {name: arrays[j] for j, name in enumerate(source.header.names)}


def _verbatim(column: Column) -> NDArray[np.object_]:
    return np.array(column, dtype=object)


def _not_canonical(column: Column) -> bool:
    """True if some integer is written in two ways, or differently from Python's notation."""
    return any(str(int(v)) != v.strip() for v in pd.unique(column))
