"""Formats that libraries decode in a child process: Arrow, ORC, workbooks, and files of statistics packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import file_format
from calib_core.readers.formats.archives import ZIP, is_workbook
from calib_core.readers.formats.child_process import decoded_table
from calib_core.readers.formats.extra_rows import ends_with_total, is_numeric, total_rows
from calib_core.readers.formats.npy import declared_bytes
from calib_core.readers.messages import places, size
from calib_core.readers.table import Array, Table
from calib_core.readers.text_encoding import numbers_as_written

_STREAM = b"\xff\xff\xff\xff"
"""Mark before every message of an Arrow stream."""
_SAS = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
_XPORT = (b"HEADER RECORD*******LIBRARY HEADER RECORD", b"HEADER RECORD*******LIBV8   HEADER RECORD")
_STATA = tuple(bytes([version, order, 1]) for version in range(105, 116) for order in (1, 2))
"""Version, byte order and type of file, before version 117."""


def _is_arrow(data: bytes) -> bool:
    length = int.from_bytes(data[4:8], "little")
    return data.startswith(b"ARROW1") or (data.startswith(_STREAM) and 0 < length < limits.FOOTER_BYTES)


def _starts(*starts: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(starts)


@dataclass(frozen=True)
class _Binary:
    """A format of one decoder: its key, title, endings, a test of the bytes, and an estimate of its size."""

    key: str
    title: str
    endings: tuple[str, ...]
    recognise: Callable[[bytes], bool]
    times: int = 1
    """Estimated memory in bytes for each byte of the file."""


FORMATS = (
    _Binary("arrow", "Arrow", ("arrow", "feather", "arrows", "ipc"), _is_arrow, 2),
    _Binary("orc", "ORC", ("orc",), _starts(b"ORC"), 8),
    _Binary("stata", "Stata", ("dta",), _starts(b"<stata_dta>", *_STATA), 4),
    _Binary("spss", "SPSS", ("sav", "zsav"), _starts(b"$FL2", b"$FL3"), 8),
    _Binary("sas", "SAS", ("sas7bdat",), _starts(_SAS), 8),
    _Binary("xport", "SAS transport", ("xpt",), _starts(*_XPORT), 4),
    _Binary("matlab", "Matlab", ("mat",), _starts(b"MATLAB 5.0 MAT-file"), 8),
)


def _register(binary: _Binary) -> None:
    def parse(data: bytes, name: str) -> Table:
        return decoded_table(binary.key, data, name, binary.key)

    file_format(
        binary.key,
        binary.title,
        binary.endings,
        recognise=binary.recognise,
        arrays=binary.key == "matlab",
        unpacked=lambda data: binary.times * len(data),
    )(parse)


for _each in FORMATS:
    _register(_each)


def _cells(data: bytes) -> int:
    """Estimate the bytes of cells: XML has about 40 characters for each, Python 80 bytes."""
    return 2 * (declared_bytes(data) if data.startswith(ZIP) else len(data))


@file_format(
    "sheets",
    "a workbook",
    ("xlsx", "xlsm", "xlsb", "xls", "ods"),
    recognise=is_workbook,
    unpacked=_cells,
)
def parse_workbook(data: bytes, name: str) -> Table:
    """Parse the first sheet that has a table; formulas count as their stored values."""
    if data.startswith(ZIP) and (n_bytes := declared_bytes(data)) > limits.DECODED_BYTES:
        raise InputError(
            f"{name} unpacks to {size(n_bytes)}; the maximum is {size(limits.DECODED_BYTES)}. Save fewer rows, or CSV"
        )
    return _without_totals(decoded_table("sheets", data, name, "sheets"))


def _without_totals(table: Table) -> Table:
    """Return the table without totals and subtotals; columns that are text only because of these become numbers."""
    columns = list(table.columns.values())
    if table.lines is None or not ends_with_total(columns) or not len(totals := total_rows(columns)):
        return table
    rows = np.delete(np.arange(table.n_rows), totals)
    left = table.lines[totals].tolist()
    where = f"Row {left[0]}, a total" if len(left) == 1 else f"Rows {places(left)}, totals"
    kept = {name: _as_numbers(column[rows]) for name, column in table.columns.items()}
    note = f"{where} or mean of the rows above, {'was' if len(left) == 1 else 'were'} left out."
    return replace(table, columns=kept, lines=table.lines[rows], notes=(*table.notes, note))


def _as_numbers(column: Array) -> Array:
    if column.dtype != object or not is_numeric(column):
        return frozen(column)
    values = numbers_as_written(column)
    whole = np.isfinite(values).all() and (values == np.floor(values)).all()
    return frozen(values.astype(np.int64) if whole else values)
