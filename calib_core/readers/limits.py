"""Limits of the readers, with reasons; larger files are refused before they cost memory or time."""

from __future__ import annotations

import math
import os

from calib_core._base.machine_memory import memory
from calib_core.predictions.predictions import InputError
from calib_core.readers.messages import size

FILE_BYTES = 1 << 30
"""1 GiB: 50,000 rows of 1,000 classes are 200 MB as float32 NPZ and 445 MB as CSV."""

DECODED_BYTES = 1 << 30
"""1 GiB for the unpacked content, at 8 bytes per value: 134 million values."""

COLUMNS = 4096
"""Columns of a table: four times the largest supported number of classes.

Parsers slow down with the square of the number of columns; a million columns in 16 MB of CSV keep pandas busy for
minutes.
"""

HEADER_BYTES = 8 << 20
"""The header line of a text table: 4,096 names of 2,000 characters."""

LINE_BYTES = 8 << 20
"""One line of a text file: 4,096 values written with 2,000 characters each."""

FIELD_CHARS = 131_072
"""One field of text (also the limit of the csv module): longer ones mean an unclosed quote."""

NAME_CHARS = 256
"""A class or column name: longer ones cannot be displayed, and are usually documents in the place of a label."""

CLASSES = 4096
"""Classes, like COLUMNS."""

MEMBERS = 256
"""Arrays of an NPZ; reading a directory of 60,000 members takes half a second."""

LOG_MEMBERS = 100_000
"""Samples of an archive of logs, one member each; reading such a directory takes a second."""

NPY_HEADER_BYTES = 10_000
"""The header of a plain array needs 118 bytes, and a structured one about 25 for each field; numpy's own limit."""

DICTIONARY_BYTES = 64 << 20
"""Distinct text values of a Parquet column: every row may repeat one 10 MB string that is stored once."""

FOOTER_BYTES = 32 << 20
"""The footer of a Parquet file: 4,096 columns in 50 row groups need about 20 MB."""

CHILD_BYTES = 4 << 30
"""Address space of the process that decodes Parquet: the file, the decoded values and the libraries."""

CHILD_SECONDS = 60
"""Processor time of that process in seconds; 300 MB need about 3."""

SCAN_BYTES = 1 << 22
"""Text is counted in blocks of this size, so that counting needs only a few MB."""

ROWS = 10_000_000
"""Rows of a table that is read at once: half a megabyte of Parquet can contain 60 million constant rows."""

ROW_BYTES = 100
"""Memory per row in addition to its values while it is checked: its sum, key, largest entry and label."""

ROW_SECONDS = 2e-6
"""Seconds per row for reading and checking, measured on a million rows of few columns."""

VARIABLE = "CALIB_READ_GB"
"""Environment variable with the memory for reading and checking a file, in GiB."""
WORKING_BYTES, _SHARE = 1 << 30, 4
"""1 GiB for reading and checking, or one part in this many of the memory there is, if that is more.

1 GiB is 8 million rows of two columns, or 66,000 of a thousand.
"""

DOCUMENT_BYTES = 256 << 20
"""One JSON document, which is decoded at once: Python objects need five to ten times the bytes of the text."""

BOX_PAIRS = 200_000_000
"""Pairs of a detected and a true box in the same image and category.

A crowded benchmark has 50 million, matched in seconds; a million true boxes in one image would take minutes.
"""

BOX_OVERLAPS = 10_000_000
"""Overlapping pairs among them, which are in memory until the matching ends: 5 for each of 2 million detections."""


IN_PARTS = "Summarize the file with calib summarise, which reads files of any size in parts"
"""Remedy for too many rows, for formats that are read in parts."""


def needed(rows: int, columns: int) -> int:
    """Estimate the bytes for reading and checking: the values twice, as read and as stored, plus memory per row.

    >>> needed(1_000_000, 3)
    148000000
    """
    return rows * (ROW_BYTES + 2 * 8 * columns)


def working_bytes() -> int:
    """Return the memory for reading and checking a file: that of ``VARIABLE``, else a quarter of what there is.

    InputError if the variable is not a positive number.

    >>> working_bytes() > 0
    True
    """
    given = os.environ.get(VARIABLE, "")
    if not given:
        return max(WORKING_BYTES, memory() // _SHARE)
    try:
        gigabytes = float(given)
    except ValueError:
        gigabytes = 0.0
    if not 0 < gigabytes < math.inf:
        raise InputError(f"{VARIABLE} is {given[:80]!r}; it must be a number of GiB above 0, such as 2 or 0.5")
    return int(gigabytes * (1 << 30))


def check_rows(name: str, rows: int, columns: int) -> None:
    """InputError if a table is too large to be read at once; the message gives the alternative."""
    most = working_bytes()
    if rows <= ROWS and needed(rows, columns) <= most:
        return
    cost = f"{size(needed(rows, columns))} of memory and about {rows * ROW_SECONDS:,.0f} s"
    raise InputError(
        f"{name} has {rows:,} rows of {columns:,} columns. Reading them at once takes {cost}. The maximum is {ROWS:,} "
        f"rows and {size(most)} ({VARIABLE} changes the memory). {IN_PARTS}, or save fewer rows"
    )
