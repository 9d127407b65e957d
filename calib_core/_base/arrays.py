"""Array types, the common floor of logarithms, and rows that are read without a copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_core._base.notebook_display import OneLine

Floats: TypeAlias = NDArray[np.floating[Any]]
FloatType: TypeAlias = np.dtype[np.floating[Any]]
Float64s: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.intp]
Bools: TypeAlias = NDArray[np.bool_]
A = TypeVar("A", bound=NDArray[Any])

LOG_FLOOR = float(np.finfo(np.float64).eps)
"""Probabilities are raised to this value (float64's eps) before a logarithm.

A row whose true class has probability 0 would otherwise make the log loss infinite; with the floor, it contributes
36 nats. Everything that takes logarithms reports the number of affected rows.
"""

BLOCK_BYTES = 1 << 18
"""Approximate size of blocks of rows, so that a block fits in the processor's second-level cache."""

LARGE_BLOCK_BYTES = 1 << 20
"""Block size for passes of one or two operations, for which the cost of starting an operation matters more."""

_ROWS_TURNED = 512
"""Number of rows of a matrix that are transposed at once."""


def rounding(dtype: object) -> float:
    """Maximum difference of two probabilities in this type that are the same number up to rounding.

    >>> rounding(np.float64), rounding(np.float32)
    (1e-12, 6e-08)
    """
    return 6e-8 if dtype == np.float32 else 1e-12


def safe_log(p: ArrayLike) -> Float64s:
    """Natural logarithm in float64, with probabilities below LOG_FLOOR raised to it.

    >>> safe_log([1.0, 0.0]).round(2).tolist()
    [0.0, -36.04]
    """
    return np.asarray(np.log(np.maximum(np.asarray(p, dtype=np.float64), LOG_FLOOR)))


_SUMMED_IN_TURN = 7
"""Number of columns up to which numpy adds the entries of a row one after the other, however they are laid out."""


def content_bits(values: ArrayLike) -> NDArray[np.uint64]:
    """Whole numbers (as ``values``) that identify numbers up to rounding: those of a grid with steps of 2^-32.

    Seeds and orders made of them do not depend on the last bits of numbers, which differ between processors.

    >>> (content_bits([0.1 + 0.2, -0.0]) == content_bits([0.3, 0.0])).all(), content_bits(0.3) == content_bits(0.3001)
    (np.True_, np.False_)
    """
    steps = np.rint(np.clip(np.asarray(values, dtype=np.float64), -(2.0**30), 2.0**30) * 2.0**32)
    return steps.astype(np.int64).view(np.uint64)


def widened(block: Floats) -> Float64s:
    """Return rows in float64, with few columns laid out column by column.

    Sums and extremes of each row then take a fifth of the time, and are the same bits. Otherwise numpy would begin a
    row anew for every two or three numbers.
    """
    return np.array(block, dtype=np.float64, order="F" if block.shape[1] <= _SUMMED_IN_TURN else "C")


def frozen(array: A) -> A:
    """Mark an array as read-only and return it."""
    array.setflags(write=False)
    return array


def owned(array: A) -> A:
    """Return a read-only array that nothing else can write to; read-only input is used, writeable input copied."""
    if not array.flags.writeable:
        return array
    return frozen(array.copy())


class ReadOnly:
    """Mixin that preserves the read-only mark of arrays in copies and after unpickling, where numpy drops it."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, np.ndarray):
                    frozen(part)
        self.__dict__.update(state)


@dataclass(frozen=True, eq=False, repr=False)
class Rows(ReadOnly, OneLine):
    """Chosen rows of a matrix, read block by block and copied as a whole only on request.

    ``index`` is None for all rows. Fit and test rows of a 200 MB array are two of these objects for one array.
    """

    base: Floats
    index: Codes | None = None

    @property
    def shape(self) -> tuple[int, int]:
        n = len(self.base) if self.index is None else len(self.index)
        return n, self.base.shape[1]

    def _line(self) -> str:
        return " x ".join(f"{size:,}" for size in self.shape)

    @property
    def dtype(self) -> FloatType:
        return self.base.dtype

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[slice, Floats]]:
        """Yield pairs of (rows, their values), in order."""
        n, k = self.shape
        step = max(1, block_bytes // max(1, k * self.dtype.itemsize))
        for start in range(0, n, step):
            where = slice(start, min(start + step, n))
            yield where, self.base[where] if self.index is None else self.base[self.index[where]]

    def column(self, j: int) -> Floats:
        column = self.base[:, j]
        return np.ascontiguousarray(column if self.index is None else column[self.index])

    def columns(self, which: slice) -> Floats:
        """Return adjacent columns as rows."""
        block = self.base[:, which]
        out = np.empty((block.shape[1], self.shape[0]), dtype=self.dtype)
        # A block of rows at a time: every row is on its own memory page, and only few pages are cached.
        for first in range(0, out.shape[1], _ROWS_TURNED):
            rows = slice(first, first + _ROWS_TURNED)
            out[:, rows] = (block[rows] if self.index is None else block[self.index[rows]]).T
        return out

    def array(self) -> Floats:
        """Return all rows as one read-only array; the base itself if no rows were chosen."""
        return self.base if self.index is None else frozen(self.base[self.index])

    def take(self, index: Codes) -> Rows:
        return Rows(self.base, index if self.index is None else self.index[index])

    def __getstate__(self) -> dict[str, Any]:
        """Pickle only the chosen rows: a tenth of the rows is a tenth of the size."""
        return {"base": self.array(), "index": None}

    def part(self, where: slice) -> Rows:
        """Return a run of consecutive rows, without a copy."""
        return Rows(self.base[where]) if self.index is None else Rows(self.base, self.index[where])
