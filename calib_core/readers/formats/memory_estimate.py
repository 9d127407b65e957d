"""What a table would cost to look at, told from its rows and columns before it is unpacked."""

from __future__ import annotations

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.messages import size


def needed(rows: int, columns: int) -> int:
    """Bytes that reading and checking takes: the values twice, as they come and as they are held, and each row's own.

    >>> needed(1_000_000, 3)
    148000000
    """
    return rows * (limits.ROW_BYTES + 2 * 8 * columns)


def check_rows(name: str, rows: int, columns: int) -> None:
    """InputError for a table that is too large to be read as a whole, which says how it can be read all the same."""
    if rows <= limits.ROWS and needed(rows, columns) <= limits.WORKING_BYTES:
        return
    cost = f"{size(needed(rows, columns))} of memory and about {rows * limits.ROW_SECONDS:,.0f} s"
    raise InputError(
        f"{name} has {rows:,} rows of {columns:,} columns, which take {cost} to read at once; at most "
        f"{limits.ROWS:,} rows and {size(limits.WORKING_BYTES)} are: count them with calib summarise, which reads "
        "files of any size in parts, or save fewer rows"
    )
