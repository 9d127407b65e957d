"""Array types, the one clip constant, and rows that are read without being copied."""

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
"""Probabilities are raised to this (float64's eps) before a logarithm.

A row whose true class has probability 0 would otherwise make the log loss infinite; raised to the floor it
costs 36 nats. Everything that takes logarithms says when rows were raised and how many.
"""

BLOCK_BYTES = 1 << 18
"""Rows are read in blocks of about this size, so that a block stays in the processor's second-level cache."""

LARGE_BLOCK_BYTES = 1 << 20
"""The same for passes of one or two operations, where the cost of starting an operation weighs more."""

_ROWS_TURNED = 512
"""Rows of a matrix turned into columns at a time."""


def rounding(dtype: object) -> float:
    """How far two probabilities stored in this type may lie apart and still be the same number, rounded.

    >>> rounding(np.float64), rounding(np.float32)
    (1e-12, 6e-08)
    """
    return 6e-8 if dtype == np.float32 else 1e-12


def safe_log(p: ArrayLike) -> Float64s:
    """Natural logarithm in float64 with probabilities below LOG_FLOOR raised to it.

    >>> safe_log([1.0, 0.0]).round(2).tolist()
    [0.0, -36.04]
    """
    return np.asarray(np.log(np.maximum(np.asarray(p, dtype=np.float64), LOG_FLOOR)))


def frozen(array: A) -> A:
    """The same array, marked read-only."""
    array.setflags(write=False)
    return array


def owned(array: A) -> A:
    """A read-only array nobody else can write to: read-only input as it is, writeable input copied."""
    if not array.flags.writeable:
        return array
    return frozen(array.copy())


class ReadOnly:
    """Arrays marked read-only stay so in copies and after unpickling, where numpy forgets the mark."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, np.ndarray):
                    frozen(part)
        self.__dict__.update(state)


@dataclass(frozen=True, eq=False, repr=False)
class Rows(ReadOnly, OneLine):
    """Chosen rows of a matrix, read block by block and never copied as a whole unless asked.

    ``index`` is None for all rows. Fit and test rows of a 200 MB array are two of these over one array.
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
        """Pairs of (rows covered, their values), in order."""
        n, k = self.shape
        step = max(1, block_bytes // max(1, k * self.dtype.itemsize))
        for start in range(0, n, step):
            where = slice(start, min(start + step, n))
            yield where, self.base[where] if self.index is None else self.base[self.index[where]]

    def column(self, j: int) -> Floats:
        column = self.base[:, j]
        return np.ascontiguousarray(column if self.index is None else column[self.index])

    def columns(self, which: slice) -> Floats:
        """Neighbouring columns, one a row."""
        block = self.base[:, which]
        out = np.empty((block.shape[1], self.shape[0]), dtype=self.dtype)
        # Some rows at a time: every row is a page of memory of its own, and few of them are at hand at once.
        for first in range(0, out.shape[1], _ROWS_TURNED):
            rows = slice(first, first + _ROWS_TURNED)
            out[:, rows] = (block[rows] if self.index is None else block[self.index[rows]]).T
        return out

    def array(self) -> Floats:
        """All rows as one read-only array: the base itself when no rows were chosen."""
        return self.base if self.index is None else frozen(self.base[self.index])

    def take(self, index: Codes) -> Rows:
        return Rows(self.base, index if self.index is None else self.index[index])

    def __getstate__(self) -> dict[str, Any]:
        """The chosen rows alone: a tenth of the rows is a tenth of the pickle."""
        return {"base": self.array(), "index": None}

    def part(self, where: slice) -> Rows:
        """A run of consecutive rows; still nothing is copied."""
        return Rows(self.base[where]) if self.index is None else Rows(self.base, self.index[where])
