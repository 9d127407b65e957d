"""Table: the named columns and matrices of a file, before they have roles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import frozen, owned
from calib_core.predictions.predictions import InputError
from calib_core.readers.file_format import FILE_FORMATS
from calib_core.readers.messages import affected, listed, meant, quoted, shown
from calib_core.readers.text_encoding import has_percent_sign, missing_text, numbers_as_written, written_as

Array = NDArray[Any]

SUMMARY = "calib summary"
"""First column of a summary's file; tables of rows never have it."""
ASSUMED = "Assumed of "
"""Beginning of the notes of a summary that state what was assumed of a file."""
_MATRIX_COLUMN = re.compile(r"(?P<name>.*)\[:, (?P<column>\d{1,6})\]", re.DOTALL)


@dataclass(frozen=True)
class LabelJoin:
    """Result of joining predictions with the labels of another file.

    Parameters
    ----------
    scores, labels : names of the two files.
    key : the key columns; empty for a join by row number, None if the files' known shape determines the join.
    rows : number of predictions before the join.
    left_out, unused : number of predictions without a label, which are left out, and of labels without a prediction.
    left_out_places, unused_places : the first of their places.
    """

    scores: str
    labels: str
    key: tuple[str, ...] | None
    rows: int
    left_out: int = 0
    unused: int = 0
    left_out_places: str = ""
    unused_places: str = ""

    @property
    def how(self) -> str:
        """The file of labels, and the key of the join."""
        return self.labels if self.key is None else f"{self.labels}, by {listed(self.key) or 'row number'}"


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns (n,) and matrices (n, K) of one file, read-only; text columns contain str, verbatim.

    Read-only arrays are used without a copy; writeable ones are copied.

    Missing text is the empty string, missing numbers are NaN. Arrays of an NPZ may differ in length.

    Parameters
    ----------
    name : the file's name, for messages.
    format : key of FILE_FORMATS.
    lines : line number in the file of each row, for text formats.
    notes : what the reader did beyond reading, one sentence each.
    rows : row number in the file of each row, if the table has only some of them.
    origin : key of the shape in which another tool wrote it (``readers.foreign``); empty if none is recognized.
    joined : how labels of another file were joined; None if there was no join.
    files : the name of the file of each row, for tables of a folder.
    doubts : assumptions of the reader without which numbers would be others, as the code of a rule and a sentence.

    >>> t = Table("a.csv", "csv", {"p": np.array([0.5, 0.7])}, lines=np.array([2, 3]))
    >>> t.n_rows, t.place(1)
    (2, 'line 3 (row 1)')
    """

    name: str
    format: str
    columns: Mapping[str, Array] = field(default_factory=dict)
    matrices: Mapping[str, Array] = field(default_factory=dict)
    lines: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    rows: NDArray[np.intp] | None = None
    origin: str = ""
    joined: LabelJoin | None = None
    files: NDArray[np.object_] | None = None
    doubts: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", {name: owned(a) for name, a in self.columns.items()})
        object.__setattr__(self, "matrices", {name: owned(a) for name, a in self.matrices.items()})

    @property
    def n_rows(self) -> int:
        """Number of rows of the longest matrix, or of the longest column if there is no matrix."""
        return max((len(a) for a in (self.matrices or self.columns).values()), default=0)

    @property
    def n_bytes(self) -> int:
        """Bytes of its arrays; for text, those of the references."""
        return sum(array.nbytes for array in (*self.columns.values(), *self.matrices.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns and matrices, in the order of the file."""
        return (*self.columns, *self.matrices)

    def place(self, row: int) -> str:
        """Return the place of a row: "line 9 (row 7)" in a text file, "row 7" in an array."""
        number = row if self.rows is None else self.rows[row]
        within = "" if self.files is None else f"{self.files[row]}, "
        return f"{within}row {number}" if self.lines is None else f"{within}line {self.lines[row]} (row {number})"

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return some of the rows, with their places in the file; arrays without one value per row are unchanged.

        >>> t = Table("a.csv", "csv", {"p": np.array([0.5, 0.7])})
        >>> t.take(np.array([1])).columns["p"].tolist(), t.take(np.array([1])).place(0)
        ([0.7], 'row 1')
        """
        n = self.n_rows
        columns, matrices = (
            {name: frozen(a[rows]) if len(a) == n else a for name, a in arrays.items()}
            for arrays in (self.columns, self.matrices)
        )
        lines, numbers = (None if a is None else a[rows] for a in (self.lines, self.rows))
        numbers, files = rows if numbers is None else numbers, None if self.files is None else self.files[rows]
        return replace(self, columns=columns, matrices=matrices, lines=lines, rows=numbers, files=files)

    def places(self, rows: Sequence[int] | NDArray[np.intp], most: int = 5) -> str:
        """Return the first few places, separated by commas."""
        return ", ".join(self.place(int(row)) for row in rows[:most]) + (", ..." if len(rows) > most else "")

    def column(self, name: str) -> Array:
        """Return a column by name; column j of a matrix is called "matrix[:, j]".

        >>> Table("a.npy", "npy", matrices={"array": np.eye(2)}).column("array[:, 1]").tolist()
        [0.0, 1.0]
        """
        if name in self.columns:
            return self.columns[name]
        found = _MATRIX_COLUMN.fullmatch(name)
        if found and found["name"] in self.matrices:
            matrix = self.matrices[found["name"]]
            if int(found["column"]) < matrix.shape[1]:
                return np.asarray(matrix[:, int(found["column"])])
        raise InputError(
            f"{self.name} has no column {quoted(name)}; {meant(name, self.columns)}its columns are {self.contents()}"
        )

    def numeric(self, name: str) -> Array:
        """Return a column of numbers, NaN if missing; InputError names the first value that is not a number.

        If all values are written that way, "91 %" and "0,91" are 0.91 (``number_texts.written_as``).
        """
        column = self.column(name)
        if column.dtype != object:
            return column
        values = numbers_as_written(column)
        wrong = np.flatnonzero(np.isnan(values))
        wrong = wrong[~missing_text(column[wrong])]
        if not len(wrong):
            return values
        text = str(column[wrong[0]])
        if has_percent_sign(text):
            raise InputError(
                f"{self.name}, column {quoted(name)}, {self.place(int(wrong[0]))}: {quoted(text)} has a percent sign, "
                f"but other values do not; {affected(len(wrong), len(column))}. Write either all values as fractions, "
                "such as 0.5, or all with a percent sign, or choose another column."
            )
        if written_as(column) == "unclear":
            raise InputError(
                f"{self.name}, column {quoted(name)}, {self.place(int(wrong[0]))}: {quoted(text)} may be "
                f"{text.replace(',', '.', 1)} or {text.replace(',', '')}; {affected(len(wrong), len(column))}. Write "
                "numbers without a comma, or choose another column."
            )
        raise InputError(
            f"{self.name}, column {quoted(name)}, {self.place(int(wrong[0]))}: {quoted(text)} is not a number; "
            f"{affected(len(wrong), len(column))}. Write numbers with a decimal point, or choose another column."
        )

    def matrix(self, names: Sequence[str]) -> Array:
        """Return a matrix by its name, or several columns as a matrix; columns adjacent in memory are not copied."""
        if len(names) == 1 and names[0] in self.matrices:
            return self.matrices[names[0]]
        columns = [self.numeric(name) for name in names]
        lengths = {len(column) for column in columns}
        if len(lengths) > 1:
            raise InputError(
                f"{self.name}: columns {listed(names)} have different lengths {sorted(lengths)}; choose columns of one "
                "length"
            )
        return _side_by_side(columns)

    def contents(self) -> str:
        """List names and shapes on one line, for messages.

        >>> Table("a.npz", "npz", {"y": np.zeros(2)}, {"p": np.eye(2)}).contents()
        '"p" (2, 2), "y" (2,)'
        """
        arrays = {**self.matrices, **self.columns}
        if not FILE_FORMATS[self.format].arrays:
            return listed(arrays, most=12)
        first = [f"{quoted(name)} ({', '.join(map(str, a.shape))}{',' * (a.ndim == 1)})" for name, a in arrays.items()]
        return ", ".join(first[:12]) + (f" and {len(first) - 12} more" if len(first) > 12 else "")

    def head(self, rows: int = 10) -> pd.DataFrame:
        """Return the first rows as a frame, matrices expanded to columns "name[:, j]" (at most 100)."""
        parts: dict[str, Array] = {name: a[:rows] for name, a in self.columns.items()}
        for name, a in self.matrices.items():
            parts |= {f"{name}[:, {j}]": a[:rows, j] for j in range(min(a.shape[1], 100))}
        return pd.DataFrame({name: pd.Series(values) for name, values in parts.items()})


def _side_by_side(columns: Sequence[Array]) -> Array:
    kind = np.result_type(*columns)
    kind = kind if kind in (np.float32, np.float64) else np.dtype(np.float32 if kind == np.float16 else np.float64)
    first = columns[0]
    start = first.__array_interface__["data"][0]
    step = first.itemsize
    neighbours = kind == first.dtype and all(
        c.dtype == first.dtype
        and c.base is first.base
        and c.base is not None
        and c.strides == first.strides
        and c.__array_interface__["data"][0] == start + j * step
        for j, c in enumerate(columns)
    )
    if neighbours:
        # The columns are adjacent in one block: return a view of the block instead of a copy.
        shape, strides = (len(first), len(columns)), (first.strides[0], step)
        return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False)
    out = np.empty((len(first), len(columns)), dtype=kind)
    for j, column in enumerate(columns):
        out[:, j] = column
    return frozen(out)


def unique_names(names: Sequence[str], name: str) -> None:
    """InputError if two columns have the same name."""
    if len(set(names)) == len(names):
        return
    twice, count = Counter(names).most_common(1)[0]
    raise InputError(f"{name} has {count} columns called {quoted(twice)}; give every column its own name")


def file_label(filename: str) -> str:
    """Return the last part of a file name for messages; it is never used as a path."""
    return shown(re.split(r"[/\\]", filename)[-1]) or "the file"
