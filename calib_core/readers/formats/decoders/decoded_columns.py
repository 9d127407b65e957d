"""Columns of a decoded file within fixed limits, and the form in which they leave the process."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

ALIGNED = 64
"""The numbers start at a multiple of it, so that aligning them needs no copy."""


class DecodingRefusedError(Exception):
    """The file cannot be decoded; the message continues the file's name."""


class TooLargeError(Exception):
    """There are too many rows and columns to read at once; the caller writes the message."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__(rows, columns)
        self.shape = [rows, columns]


@dataclass(frozen=True)
class Decoded:
    """Columns of a file as (name, numbers, strings of a text column), with notes and the line of each row.

    Numbers of one column have shape (n,) and those of a matrix (n, K); text is written as indices of its strings.
    """

    columns: list[tuple[str, Any, list[str] | None]]
    notes: list[str] = field(default_factory=list)
    lines: Any = None


def laid_out(found: Decoded) -> tuple[dict[str, Any], list[Any]]:
    """Return the description of columns, and the numbers to which its offsets refer."""
    import numpy

    described: dict[str, Any] = {"columns": [], "notes": found.notes}
    buffers: list[Any] = []
    offset = 0
    every = [*found.columns, *([] if found.lines is None else [("", found.lines, None)])]
    for (dtype, rows, matrix), run in groupby(every, key=_block):
        group = list(run)
        block = numpy.ascontiguousarray(group[0][1]) if matrix else numpy.zeros((rows, len(group)), dtype)
        for j, (name, values, words) in enumerate(group):
            entry = {"name": name, "dtype": dtype.str, "rows": rows, "width": block.shape[1], "offset": offset}
            entry |= {"column": None if matrix else j, "words": words}
            if not matrix:
                block[:, j] = values
            if values is found.lines:
                described["lines"] = entry
            else:
                described["columns"].append(entry)
        buffers += [block, b" " * (-block.nbytes % ALIGNED)]
        offset += block.nbytes + len(buffers[-1])
    return described, buffers


def _block(column: tuple[str, Any, list[str] | None]) -> tuple[Any, int, str]:
    """Return what the columns of one block have in common; a matrix is a block by itself."""
    name, values, _ = column
    return values.dtype, len(values), name if values.ndim == 2 else ""


def check_size(rows: int, columns: int, bounds: dict[str, int]) -> None:
    """Refuse a table that is empty, or that has more columns or values than the bounds."""
    if rows <= 0 or columns <= 0:
        raise DecodingRefusedError(" has no rows or no columns; save at least one prediction")
    if columns > bounds["columns"]:
        raise DecodingRefusedError(
            f" has {columns:,} columns; the maximum is {bounds['columns']:,}. Rows are predictions and columns are "
            "classes; the table may be transposed"
        )
    if rows * columns * 8 > bounds["decoded_bytes"]:
        raise DecodingRefusedError(
            f" has {rows:,} rows of {columns:,} columns; the maximum is {bounds['decoded_bytes'] // 8:,} values. Save "
            "fewer rows"
        )
    check_working_memory(rows, columns, bounds)


def check_unpacked(n_bytes: int, bounds: dict[str, int]) -> None:
    """Refuse content that is larger than the bounds when it is unpacked."""
    if n_bytes > bounds["decoded_bytes"]:
        raise DecodingRefusedError(f" unpacks to {n_bytes >> 20:,} MB; save fewer rows")


def check_working_memory(rows: int, columns: int, bounds: dict[str, int]) -> None:
    if rows > bounds["rows"] or rows * (bounds["row_bytes"] + 16 * columns) > bounds["working_bytes"]:
        raise TooLargeError(rows, columns)


def text_of(value: object) -> str:
    """Return a value as text: whole numbers without a point, and dates without a time of midnight."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return str(value)


def codes_of(name: str, texts: Sequence[str], bounds: dict[str, int]) -> tuple[Any, list[str]]:
    """Return texts as indices of their distinct strings."""
    import numpy

    words: dict[str, int] = {}
    codes = numpy.fromiter((words.setdefault(text, len(words)) for text in texts), numpy.int64, len(texts))
    longest = max(map(len, words), default=0)
    if longest > bounds["field_chars"]:
        raise DecodingRefusedError(f': column "{name[:80]}" has text of {longest:,} characters; remove this column')
    if sum(map(len, words)) > bounds["dictionary_bytes"]:
        most = f"{bounds['dictionary_bytes'] >> 20} MB"
        raise DecodingRefusedError(f': column "{name[:80]}" has more than {most} of distinct texts; remove this column')
    return codes, list(words)


def labelled(found: Decoded, labels: Mapping[str, Mapping[float | str, str]]) -> Decoded:
    """Replace codes by their labels if other columns are named after these, as p_cat is; else note the labels.

    Two codes other than 0 and 1 are replaced, too: 1 for yes and 2 for no would be read in the wrong order.
    """
    import numpy

    names = [name.casefold() for name, _, _ in found.columns]
    columns: list[tuple[str, Any, list[str] | None]] = []
    for name, values, words in found.columns:
        texts = {text_of(code): str(text) for code, text in labels.get(name, {}).items()}
        codes = [] if words or not texts or values.ndim > 1 else numpy.unique(values[~numpy.isnan(values)]).tolist()
        shown = [texts.get(text_of(code)) for code in codes]
        if not codes or None in shown or len(set(shown)) < len(shown):
            columns.append((name, values, words))
        elif _ends(names, shown) or _any_two(codes, names):
            place = numpy.searchsorted(codes, values)
            columns.append((name, numpy.where(numpy.isnan(values), len(codes), place), [*map(str, shown), ""]))
            found.notes.append(f"Codes of {name[:80]} were replaced by their labels ({_coded(codes, shown)}).")
        else:
            columns.append((name, values, words))
            found.notes.append(f"{name[:80]} was read by its codes ({_coded(codes, shown)}).")
    return Decoded(columns, found.notes, found.lines)


def _ends(names: Sequence[str], texts: Sequence[str | None]) -> bool:
    """True if for each text there is a name that ends with it."""
    return all(any(each.endswith(str(text).casefold()) for each in names) for text in texts)


def _any_two(codes: Sequence[float], names: Sequence[str]) -> bool:
    """True for two codes other than 0 and 1, unless columns are named after them, as p_1 and p_2 are."""
    return len(codes) == 2 and codes != [0, 1] and not _ends(names, [text_of(code) for code in codes])


def _coded(codes: Sequence[Any], texts: Sequence[str | None]) -> str:
    """The first codes with their labels, for a note."""
    some = ", ".join(f"{text_of(code)} = {str(text)[:40]}" for code, text in zip(codes[:5], texts, strict=False))
    return f"{some}{', ...' if len(codes) > 5 else ''}"
