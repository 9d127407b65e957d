"""Detect a file's format by its first bytes and its name, which must agree.

Text is normalized to one Unicode form: an accented letter may be one character or two, but is the same letter.
"""

from __future__ import annotations

import os
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import FileFormat, by_bytes, by_ending, plain_text
from calib_core.readers.formats.folder import folder_table
from calib_core.readers.formats.jsonl import parse_lines
from calib_core.readers.formats.list_cells import with_matrices
from calib_core.readers.formats.named_cells import with_listed_names, with_named_shares
from calib_core.readers.formats.unread import unread, unread_by_ending
from calib_core.readers.messages import quoted, size
from calib_core.readers.table import Array, Table, file_label, unique_names
from calib_core.readers.text_encoding import UTF16, has_controls
from calib_core.readers.tool_shapes import of_columns


def composed(text: str) -> str:
    """Return the text in Unicode's form NFC, in which equal texts have equal characters.

    >>> composed("cha\u0301t") == "ch\u00e1t"
    True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def one_form(table: Table) -> Table:
    """Return the table with names and texts in form NFC, and a note if some were in another form.

    >>> rows = Table("a.csv", "csv", {"y": np.array(["cha\u0301t", "ch\u00e1t"], dtype=object)})
    >>> len(set(one_form(rows).columns["y"])), len(one_form(rows).notes)
    (1, 1)
    """
    names = [composed(name) for name in table.names]
    unique_names(names, table.name)
    found = {name: _composed(column) for name, column in table.columns.items()}
    changed = [name for name, column in found.items() if column is not table.columns[name]]
    if not changed and names == list(table.names):
        return table
    where = f"some texts of {quoted(changed[0])}" if changed else "some names of columns"
    note = f"Accented letters in {where} were written as two characters (form NFD) and are read as one (form NFC)."
    return replace(
        table,
        columns={composed(name): column for name, column in found.items()},
        matrices={composed(name): matrix for name, matrix in table.matrices.items()},
        notes=(*table.notes, note),
    )


def _composed(column: Array) -> Array:
    if column.dtype != object or all(map(str.isascii, column)):
        return column
    codes, values = pd.factorize(column)
    same = np.array([composed(str(value)) for value in values], dtype=object)
    return column if (same == values).all() else frozen(same[codes])


def read_table(source: str | os.PathLike[str] | bytes, name: str | None = None) -> Table:
    """Read a CSV, Parquet, NPZ, NPY or JSON Lines file as named columns and matrices, before their roles are known.

    ``read_predictions`` continues from here: it finds scores and labels among the columns. The bytes determine the
    format, and the ending of the name must agree. What can mislead: text stays verbatim (001 and 1 are two labels). In
    CSV, an empty field or a word among numbers makes the whole column text; ``Table.numeric`` converts it to numbers.

    Parameters
    ----------
    source : a path, or the bytes of a file together with its ``name``. For a folder, all files of one shape are read as
        one table, because evaluations often write one file per task.
    name : the file's name, for its ending and for messages; by default the last part of the path. It is never opened.

    Raises InputError for anything that is not a valid table; nothing in a file is ever executed.

    >>> table = read_table(b"p,label\\n0.7,1\\n0.2,0\\n", "preds.csv")
    >>> table.names, table.columns["p"].tolist(), table.place(1)
    (('p', 'label'), [0.7, 0.2], 'line 3 (row 1)')
    """
    if isinstance(source, bytes):
        if name is None:
            raise InputError('bytes need a file name, whose ending determines the format: name="preds.csv"')
        return _table(source, name)
    if Path(source).is_dir():
        return folder_table(source, read_table)
    return _table(file_bytes(source), name or os.fspath(source))


def _with_classes(table: Table) -> Table:
    """Return the table with lists of numbers as matrices, and with the classes that other lists name."""
    return with_listed_names(with_matrices(table))


def table_of_lines(data: bytes, name: str) -> Table:
    """Return the table of some lines of a longer JSON Lines file."""
    return of_columns(with_named_shares(_with_classes(one_form(parse_lines(data, name)))))


def file_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file within the size limit; InputError if it cannot be read."""
    name = file_label(os.fspath(path))
    try:
        n_bytes = Path(path).stat().st_size
        data = Path(path).read_bytes() if n_bytes <= limits.FILE_BYTES else b""
    except OSError as e:
        raise InputError(f"{name} cannot be opened ({e.strerror or 'unknown reason'}); check the path") from e
    except ValueError as e:
        raise InputError(f"{name} is not a path that can be opened; check it") from e
    if n_bytes > limits.FILE_BYTES:
        raise InputError(f"{name} has {size(n_bytes)}; the maximum is {size(limits.FILE_BYTES)}. Save fewer rows")
    return data


def _table(data: bytes, filename: str) -> Table:
    name = file_label(filename)
    if not data:
        raise InputError(f"{name} is empty (0 bytes); choose another file")
    if len(data) > limits.FILE_BYTES:
        raise InputError(
            f"{name} has {size(len(data))}; the maximum is {size(limits.FILE_BYTES)}. Save float32 in an NPZ, or fewer "
            "rows"
        )
    found = looks_like(data, name)
    check_ending(found, filename, name)
    return of_columns(with_named_shares(_with_classes(one_form(found.parse(data, name)))))


_TEXT_TOO = (".xls",)
"""Endings of workbooks under which programs also write text separated by tabs."""


def check_ending(found: FileFormat, filename: str, name: str) -> None:
    """InputError if the ending of a file name belongs to another format than the one found.

    A packed file may lack the ending of its packing, and an unpacked one may still have it, as browsers unpack files.
    """
    expected = by_ending(filename)
    if expected is not None and expected.packs and not found.packs:
        expected = by_ending(filename.rpartition(".")[0])
    if found.key == "csv" and filename.lower().endswith(_TEXT_TOO):
        return
    if expected in (None, found) or (found.packs and found.recognise is not None and found.key != "zip"):
        return
    raise InputError(
        f"{name} is not {expected.title} but looks like {found.title}; rename it to end in .{found.endings[0]}"
    )


def looks_like(data: bytes, name: str) -> FileFormat:
    """Return the format that the bytes indicate; InputError for known formats that are not supported."""
    if (refused := unread(data)) is not None:
        raise InputError(refused.message(name))
    if (found := by_bytes(data)) is not None:
        return found
    if _is_binary(data) and (refused := unread_by_ending(name)) is not None:
        raise InputError(refused.message(name))
    if data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
        raise InputError(f"{name} is a JSON list whose entries are not objects; write one JSON object per line")
    return plain_text()


def _is_binary(data: bytes) -> bool:
    """True if the first bytes are not text: a NUL byte without a mark of UTF-16, or many control characters."""
    return data[:2] not in UTF16 and has_controls(data[:4096])
