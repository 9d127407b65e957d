"""ARFF, as Weka and OpenML write it: lines that declare the attributes, then rows separated by commas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import file_format
from calib_core.readers.formats.delimited import table_of_lines
from calib_core.readers.messages import quoted
from calib_core.readers.table import Table
from calib_core.readers.text_encoding import any_text

_START = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|%[^\n]*\n)*@relation\b", re.IGNORECASE)
_NAME = re.compile(r"@attribute\s+(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|([^\s{]+))\s*(.*)", re.IGNORECASE)
_UNUSUAL = re.compile(r"['\"\\\s]")
"""Quotes and spaces, which are not written as in CSV."""
_DATA = re.compile(rb"^[ \t]*@data\b[^\n]*$", re.IGNORECASE | re.MULTILINE)


def _is_arff(data: bytes) -> bool:
    return _START.match(data[:65536]) is not None


@file_format("arff", "ARFF", ("arff",), recognise=_is_arff)
def parse_arff(data: bytes, name: str) -> Table:
    """Parse the rows of an ARFF file; "?" is missing. InputError for sparse rows and nested relations.

    >>> text = b"@relation r\\n@attribute p real\\n@attribute y {no,'not sure'}\\n@data\\n0.7,no\\n0.2,'not sure'\\n"
    >>> parse_arff(text, "a.arff").columns["y"].tolist()
    ['no', 'not sure']
    """
    text, notes = any_text(data, name)
    mark = _DATA.search(text)
    if mark is None:
        raise InputError(f"{name} has no line @data above its rows; save it again, or as CSV")
    names = list(_names(text[: mark.start()].decode("utf-8"), name))
    if not names:
        raise InputError(f"{name} declares no attributes; save it again, or as CSV")
    above, below = text.count(b"\n", 0, mark.start()), text[mark.end() :].decode("utf-8")
    # The names take the line of @data, so that messages name the file's lines.
    rows = "\n".join(_rows(below, above + 1, name))
    table = table_of_lines(f"{chr(10) * above}{_written(names)}{rows}".encode(), name)
    return replace(table, format="arff", notes=(*notes, *table.notes))


def _names(text: str, name: str) -> Iterator[str]:
    count = 0
    for i, line in enumerate(text.split("\n")):
        if not (found := _NAME.match(line.strip())):
            continue
        if found[4].casefold().startswith("relational"):
            raise InputError(f"{name}, line {i + 1}: an attribute is a table of its own; save one table as CSV")
        count += 1
        if count > limits.COLUMNS:
            raise InputError(f"{name} has more than {limits.COLUMNS:,} attributes; rows are predictions")
        yield re.sub(r"\\(.)", r"\1", found[1] or found[2] or found[3] or "")


def _rows(text: str, line: int, name: str) -> Iterator[str]:
    """Yield the lines with quotes as in CSV, and empty ones for comments."""
    for i, row in enumerate(text.split("\n")):
        row = row.strip()
        if row.startswith("%"):
            yield ""
        elif row.startswith("{"):
            raise InputError(f"{name}, line {line + i} has a sparse row, {{...}}; save all values of a row, or CSV")
        elif not _UNUSUAL.search(row):
            yield row
        else:
            mark = '"' if re.search(r'(?:^|,)\s*"', row) else "'"
            read = csv.reader([row], quotechar=mark, escapechar="\\", skipinitialspace=True, strict=True)
            try:
                yield _written([cell.strip() for cell in next(read)])
            except csv.Error as e:
                raise InputError(f"{name}, line {line + i}: {quoted(mark)} is not closed; save the file again") from e


def _written(cells: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()
