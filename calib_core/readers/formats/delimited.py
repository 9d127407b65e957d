"""CSV, also separated by semicolons or tabs: text is kept verbatim and no line may lose or gain a field.

pandas reads the values and the csv module the header; what is ours is that pandas guesses nothing: not a missing
value, not an index, and no text that only looks like a number.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import file_format
from calib_core.readers.formats.bare_numbers import bare_numbers
from calib_core.readers.formats.delimited_lines import Lines, data_lines
from calib_core.readers.formats.memory_estimate import check_rows
from calib_core.readers.messages import quoted, size
from calib_core.readers.number_texts import written_as
from calib_core.readers.table import Array, Table, unique_names
from calib_core.readers.text_encoding import utf8

INDEX = "index"
"""Name given to a first column without one, as ``DataFrame.to_csv`` writes its index."""

_DELIMITERS = ("\t", ";", ",")
_WHOLE = re.compile(r"[+-]?\d+")
_SPACED = re.compile(r'"[^"]*"( "[^"]*")+')
"""A header of quoted names with spaces between them."""
_LOOKED_AT = 200
"""Rows that tell how the numbers of a column are written."""
_GUARDED = re.compile(rb"'[=+\-@\t]")
_GUARDS = tuple(f"'{start}" for start in "=+-@\t")
"""What files of ours, and spreadsheets, write before a text that would be computed as a formula."""
_LEADING_ZERO_OR_SIGN = re.compile(rb"[,;\t\n\r \"](?:-?0[0-9]|\+|-0)")

# Before pandas 3.1 the default parser could be off by one unit in the last place.
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


def _unpacked(data: bytes) -> int:
    """A number for every field that the lines would have if all had as many as the first."""
    first = data[: max(data.find(b"\n", 0, limits.HEADER_BYTES), 0)]
    return data.count(b"\n") * 8 * (1 + max(first.count(delimiter.encode()) for delimiter in _DELIMITERS))


@file_format("csv", "CSV", ("csv", "tsv", "txt"), unpacked=_unpacked)
def parse_csv(data: bytes, name: str) -> Table:
    """A delimited text table with a header line, or of nothing but numbers.

    >>> parse_csv(b"p,label\\n0.7,001\\n0.2,1\\n", "a.csv").columns["label"].tolist()
    ['001', '1']
    """
    data = utf8(data, name)
    if (bare := bare_numbers(data, name, _EXACT)) is not None:
        return bare
    header = _header(data, name)
    lines = data_lines(data, header.stop, header.line + 1, header.delimiter, len(header.names), name)
    _check_size(lines, header, name)
    notes = ["Every line ends with a delimiter; the empty last field was left out."] * lines.extra_field
    source = _Source(data, header, lines, name)
    frame, decimal_comma = _frame(source)
    if decimal_comma:
        notes.append("Decimal commas (0,5) were read as decimal points (0.5).")
    columns = _columns(frame, source)
    if _GUARDED.search(data) and (_guarded(columns) or any(map(_guarded, columns.values()))):
        unique_names([_bare(column) for column in columns], name)
        columns = {_bare(column): _unguarded(values) for column, values in columns.items()}
        notes.append("Apostrophes before texts that begin like a formula ('=1+1) were left out.")
    return Table(name, "csv", columns, lines=lines.numbers, notes=tuple(notes))


def _guarded(texts: Iterable[str] | Array) -> bool:
    if isinstance(texts, np.ndarray) and texts.dtype != object:
        return False
    return any(str(text).startswith(_GUARDS) for text in texts)


def _bare(text: str) -> str:
    return text[1:] if text.startswith(_GUARDS) else text


def _unguarded(values: Array) -> Array:
    return np.array([_bare(text) for text in values], dtype=object) if values.dtype == object else values


# -- the header ------------------------------------------------------------------------------------------------


def _header(data: bytes, name: str) -> _Header:
    start = len(data) - len(data.lstrip(b" \r\n"))
    if start == len(data):
        raise InputError(f"{name} is empty; it needs a header line and one line a prediction")
    line = data.count(b"\n", 0, start) + 1
    start = data.rfind(b"\n", 0, start) + 1
    end = data.find(b"\n", start, start + limits.HEADER_BYTES)
    if end < 0 and len(data) - start > limits.HEADER_BYTES:
        raise InputError(f"{name}: the header line is longer than {size(limits.HEADER_BYTES)}; is it a table?")
    end = len(data) if end < 0 else end
    text = data[start:end]
    for delimiter in _DELIMITERS:
        # Counted before anything parses: a million columns keep parsers busy for minutes.
        if text.count(delimiter.encode()) > limits.COLUMNS:
            raise InputError(
                f"{name} has {text.count(delimiter.encode()) + 1:,} columns; at most {limits.COLUMNS:,} are read: "
                "rows are predictions and columns are classes (transposed?)"
            )
    names, delimiter = _split_header(text.decode("utf-8"), name, line)
    return _Header(_checked_names(names, name, line, delimiter), delimiter, line, min(end + 1, len(data)))


def _split_header(text: str, name: str, line: int) -> tuple[list[str], str]:
    splits: dict[str, list[str]] = {}
    for delimiter in _DELIMITERS:
        # The wrong delimiter can stand behind a closing quote, which is an error; the right one cannot.
        with contextlib.suppress(csv.Error):
            splits[delimiter] = next(csv.reader([text.rstrip("\r")], delimiter=delimiter, strict=True))
    if _SPACED.fullmatch(text.rstrip("\r")):
        raise InputError(
            f"{name}, line {line}: columns are separated by spaces, as R's write.table does; save them with commas, "
            "as write.csv(rows, file, row.names = FALSE) does"
        )
    if not splits or text.count('"') % 2:
        raise InputError(f"{name}, line {line}: the header has a quote that is not closed; close it")
    best = max(splits, key=lambda d: len(splits[d]))
    return splits[best], best


def _checked_names(names: list[str], name: str, line: int, delimiter: str) -> tuple[str, ...]:
    names = _weka_names(names)
    if len(names) > 1 and names[-1] == "":
        names = names[:-1]
    if any(_is_number(n) and not _WHOLE.fullmatch(n.strip()) for n in names) or all(map(_is_number, names)):
        raise InputError(
            f"{name}, line {line} is all data ({quoted(delimiter.join(names))}): the header line is missing; "
            "add one with a name for every column, such as p_cat,p_dog,label"
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
    """Names for the columns behind "distribution", which Weka leaves without: a column a class, one named for all.

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
        raise InputError(f"{name} has a header and 0 rows; add one line a prediction")
    if n * len(header.names) * 8 > limits.DECODED_BYTES:
        raise InputError(
            f"{name} has {n:,} rows of {len(header.names):,} columns, {size(n * len(header.names) * 8)} of numbers; "
            f"at most {size(limits.DECODED_BYTES)} are read: save fewer rows, or float32 in an NPZ"
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
        """The chosen columns through pandas, never guessing an index, a missing value or a header."""
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
    """The table, and whether its decimals are written with a comma."""
    frame = source.read()
    commas = [j for j in range(frame.shape[1]) if _has_decimal_commas(frame[j])]
    if not commas:
        return frame, False
    points = [j for j in range(frame.shape[1]) if frame[j].dtype.kind == "f"]
    if points:
        a, b = (quoted(source.header.names[j]) for j in (commas[0], points[0]))
        raise InputError(
            f"{source.name}: column {a} has decimal commas and column {b} decimal points; use points in every column"
        )
    return source.read(decimal=","), True


def _has_decimal_commas(column: pd.Series[Any]) -> bool:
    """Does "0,5" stand in it? "1,234" by itself may be 1234, and stays the text it is."""
    if column.dtype.kind in "iufb":
        return False
    some = [str(v).strip() for v in column.iloc[:_LOOKED_AT]]
    return written_as(np.array([v for v in some if v], dtype=object)) == "comma"


def _columns(frame: pd.DataFrame, source: _Source) -> dict[str, Array]:
    """Numeric columns as arrays, floats side by side in one block; everything else as the text it was."""
    kinds = {j: frame[j].dtype.kind for j in range(frame.shape[1])}
    floats = [j for j in range(frame.shape[1]) if kinds[j] == "f"]
    block = frozen(np.ascontiguousarray(frame[floats].to_numpy(dtype=np.float64))) if floats else np.empty((0, 0))
    arrays: dict[int, Array] = {j: block[:, i] for i, j in enumerate(floats)}
    whole = [j for j in range(frame.shape[1]) if kinds[j] in "iu"]
    arrays |= {j: frame[j].to_numpy() for j in whole}
    # "True" and "TRUE", "001" and "1", or integers too large for 64 bits would merge: read those again as text.
    again = [j for j in range(frame.shape[1]) if kinds[j] == "b" or (kinds[j] == "O" and frame[j].dtype == object)]
    if whole and _LEADING_ZERO_OR_SIGN.search(source.data, source.header.stop - 1):
        again += whole
    text = source.read(again, dtype=str) if again else frame[[]]
    arrays |= {j: _verbatim(frame[j]) for j in range(frame.shape[1]) if j not in arrays and j not in again}
    arrays |= {j: _verbatim(text[j]) for j in again if j not in whole or _not_canonical(text[j])}
    return {name: arrays[j] for j, name in enumerate(source.header.names)}


def _verbatim(column: pd.Series[Any]) -> NDArray[np.object_]:
    return np.array(column, dtype=object)


def _not_canonical(column: pd.Series[Any]) -> bool:
    """Whether some integer is written in two ways, or in another way than Python writes it."""
    return any(str(int(v)) != v.strip() for v in pd.unique(column))
