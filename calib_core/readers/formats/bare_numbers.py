"""Text that is nothing but numbers, without a header: a matrix or column called "array", as in an NPY file."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.formats.delimited_lines import data_lines
from calib_core.readers.messages import quoted, size
from calib_core.readers.table import Table

ARRAY = "array"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf)", re.IGNORECASE)
_TABLES = (",", ";")
"""What separates columns of tables, which have a header."""


def bare_numbers(data: bytes, name: str, exact: dict[str, Any]) -> Table | None:
    """The table of text whose lines are numbers with tabs or spaces between; None where the first may be a header.

    Numbers with a decimal point are data. Whole numbers alone are data where they stand one a line, as labels do:
    several may be the numbers of classes.

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
        # As numpy.savetxt writes: any number of spaces apart.
        data = b"\n".join(b"\t".join(line.split()) for line in data.split(b"\n"))
    try:
        lines = data_lines(data, 0, 1, "\t", len(fields), name)
    except InputError as why:
        raise InputError(str(why).replace("the header has", "the first has")) from why
    if (n_bytes := len(lines.numbers) * len(fields) * 8) > limits.DECODED_BYTES:
        raise InputError(f"{name} has {size(n_bytes)} of numbers; at most {size(limits.DECODED_BYTES)} are read")
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
    """The first two lines that are not empty, without what surrounds them."""
    filled = (line.strip(" \r\n") for line in data[: 2 * limits.HEADER_BYTES].decode("utf-8", "replace").splitlines())
    lines = [line for line in filled if line]
    return (*lines[:2], "", "")[0], (*lines[:2], "", "")[1]


def _whole(fields: Sequence[str]) -> bool:
    return all(re.fullmatch(r"[+-]?\d+", field.strip()) for field in fields)


def _no_number(frame: pd.DataFrame, places: NDArray[np.int64], name: str) -> str:
    """The sentence about the first field that is no number."""
    texts = frame.to_numpy(dtype=object)
    wrong = np.array([[isinstance(v, str) and not _NUMBER.fullmatch(v.strip()) for v in row] for row in texts])
    row, column = (int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{name}, line {places[row]}: {quoted(texts[row, column])} is not a number; the first line is numbers, so that "
        "every line has to be: write numbers alone, or a header line with a name for every column"
    )
