"""Every limit of the readers, with its reason; a file beyond one is refused before it costs memory or time."""

from __future__ import annotations

from calib_core.predictions.predictions import InputError
from calib_core.readers.messages import size

FILE_BYTES = 1 << 30
"""1 GiB: 50,000 rows of 1,000 classes are 200 MB as float32 NPZ and 445 MB as CSV."""

DECODED_BYTES = 1 << 30
"""1 GiB for what a file unpacks to, counted as 8 bytes a value: 134 million values."""

COLUMNS = 4096
"""Columns of a table, four times the largest number of classes the project promises: parsers slow down with the
square of the number of columns, and a million of them in 16 MB of CSV keep pandas busy for minutes."""

HEADER_BYTES = 8 << 20
"""The header line of a text table: 4,096 names of 2,000 characters."""

LINE_BYTES = 8 << 20
"""One line of a text file: 4,096 values written with 2,000 characters each."""

FIELD_CHARS = 131_072
"""One field of text (also the standard csv module's limit): longer ones mean a quote that was not closed."""

NAME_CHARS = 256
"""A class or column name: longer ones cannot be shown, and are usually a document put where a label belongs."""

CLASSES = 4096
"""Classes, as COLUMNS."""

MEMBERS = 256
"""Arrays of an NPZ; reading the directory of 60,000 members takes half a second before anything is known."""

LOG_MEMBERS = 100_000
"""Samples of an archive of logs, a member each; reading such a directory takes a second."""

NPY_HEADER_BYTES = 4096
"""The header of an array with one or two dimensions needs 118 bytes; numpy itself stops at 10,000."""

DICTIONARY_BYTES = 64 << 20
"""Distinct text values of a Parquet column: row after row may repeat one 10 MB string that is stored once."""

FOOTER_BYTES = 32 << 20
"""The footer of a Parquet file: 4,096 columns in 50 row groups need about 20 MB."""

CHILD_BYTES = 4 << 30
"""Address space of the process that decodes Parquet: file, decoded values and the libraries."""

CHILD_SECONDS = 60
"""Processor seconds of that process; 300 MB need about 3."""

SCAN_BYTES = 1 << 22
"""Text is counted in pieces of this size, so that the counting costs a few MB."""

ROWS = 10_000_000
"""Rows of a table that is read as a whole: half a megabyte of Parquet can hold 60 million constant ones."""

ROW_BYTES = 100
"""Memory that a row takes beside its values while it is looked at: its sum, its key, its largest entry, its label."""

ROW_SECONDS = 2e-6
"""Seconds a row takes to be read and checked, as measured on a million rows of few columns."""

WORKING_BYTES = 1 << 30
"""1 GiB for reading and checking: 8 million rows of two columns, or 66,000 of a thousand."""

DOCUMENT_BYTES = 256 << 20
"""One JSON document, which is decoded as a whole: Python's objects take five to ten times the bytes of the text."""

BOX_PAIRS = 200_000_000
"""Pairs of a detected and a true box in the same image and category: a crowded benchmark has 50 million, and its
matching takes seconds; a million true boxes in one image would take minutes."""

BOX_OVERLAPS = 10_000_000
"""Those of them that overlap, which are held in memory until detections have chosen: 5 for each of 2 million."""


def needed(rows: int, columns: int) -> int:
    """Bytes that reading and checking takes: the values twice, as they come and as they are held, and each row's own.

    >>> needed(1_000_000, 3)
    148000000
    """
    return rows * (ROW_BYTES + 2 * 8 * columns)


def check_rows(name: str, rows: int, columns: int) -> None:
    """InputError for a table that is too large to be read as a whole, which says how it can be read all the same."""
    if rows <= ROWS and needed(rows, columns) <= WORKING_BYTES:
        return
    cost = f"{size(needed(rows, columns))} of memory and about {rows * ROW_SECONDS:,.0f} s"
    raise InputError(
        f"{name} has {rows:,} rows of {columns:,} columns, which take {cost} to read at once; at most "
        f"{ROWS:,} rows and {size(WORKING_BYTES)} are: count them with calib summarise, which reads "
        "files of any size in parts, or save fewer rows"
    )
