"""Sums that are the same bits in any order and any parts: every number is rounded to a multiple of 2^-40 first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import Float64s, Floats
from calib_core._base.notebook_display import OneLine

Whole = NDArray[np.int64]

AT_ONCE = 8192
"""Multiples of 2^-40 in [-1, 1] that float64 adds without rounding: sums stay below 2^13."""
MOST = 2.0**33
"""Numbers (of whole weight: their weight) that one call may add."""
ROUNDING = 2.0**-41
"""How far a number can lie from the multiple of 2^-40 that stands for it."""
_BITS = 40
_UNIT = 2.0**-_BITS
_PART = (1 << _BITS) - 1
_IN_ONE = 1 << 21
"""Sums below this, and as many cells, add up in a single int64 of units."""
# Near these float64 numbers neighbours are 2^-40 and 2^-20 apart: adding and taking off one rounds to multiples.
_TO_UNITS, _TO_HALVES = 1.5 * 2.0**12, 1.5 * 2.0**32


@dataclass(frozen=True, eq=False, repr=False)
class ExactSums(OneLine):
    """Sums of numbers in [-1, 1], or of copies: ``whole`` + ``part`` 2^-40, int64 of one shape, part in [0, 2^40).

    Sums of any parts of the numbers, added, are the sums of all to the bit; ``value`` is rounded once. What can
    mislead: each number is off by up to 2^-41, so that a mean is, too.

    >>> ExactSums.of(np.array([0.5, 0.25]))[0].value + ExactSums.of(np.array([0.5, 0.25])).total(0).value
    np.float64(1.25)
    """

    whole: Whole
    part: Whole

    @classmethod
    def zeros(cls, shape: int | tuple[int, ...]) -> ExactSums:
        return cls(np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64))

    @classmethod
    def of(cls, sums: Float64s) -> ExactSums:
        """Sums that are multiples of 2^-40 in float64 already."""
        whole = np.floor(sums)
        return cls(whole.astype(np.int64), ((sums - whole) / _UNIT).astype(np.int64))

    @classmethod
    def of_units(cls, units: Whole) -> ExactSums:
        """From numbers of 2^-40."""
        return cls(units >> _BITS, units & _PART)

    @property
    def value(self) -> Float64s:
        """The sums in float64, rounded once."""
        return np.asarray(self.whole + self.part * _UNIT)

    def reshaped(self, shape: tuple[int, ...]) -> ExactSums:
        """The same sums, the last axis in this shape."""
        return ExactSums(*(part.reshape(*part.shape[:-1], *shape) for part in (self.whole, self.part)))

    def __getitem__(self, where: Any) -> ExactSums:
        return ExactSums(self.whole[where], self.part[where])

    def __add__(self, other: ExactSums) -> ExactSums:
        return _carried(self.whole + other.whole, self.part + other.part)

    def __sub__(self, other: ExactSums) -> ExactSums:
        return _carried(self.whole - other.whole, self.part - other.part)

    def total(self, axis: int) -> ExactSums:
        """Sums over an axis, of up to 2^23 sums."""
        return _carried(self.whole.sum(axis=axis), self.part.sum(axis=axis))

    def runs(self, positions: NDArray[np.intp]) -> ExactSums:
        """Sums over the runs of the last axis between ascending positions."""

        def between(part: Whole) -> Whole:
            sums = np.zeros((*part.shape[:-1], part.shape[-1] + 1), dtype=np.int64)
            np.cumsum(part, axis=-1, out=sums[..., 1:])
            return np.asarray(np.diff(sums.take(positions, axis=-1), axis=-1))

        if np.abs(self.whole).sum(axis=-1).max(initial=0) < _IN_ONE:
            return ExactSums.of_units(between((self.whole << _BITS) + self.part))
        return _carried(between(self.whole), between(self.part))

    def grouped(self, codes: NDArray[np.intp], size: int) -> ExactSums:
        """Sums of those of one code, (..., size), codes over the last axes."""
        found = ExactSums.zeros((*self.whole.shape[: self.whole.ndim - codes.ndim], size))
        for to, of in ((found.whole, self.whole), (found.part, self.part)):
            np.add.at(to, (..., codes), of)  # type: ignore[arg-type]  # an index of any kind will do
        return _carried(found.whole, found.part)


def rounded(values: Floats, out: Float64s | None = None) -> Float64s:
    """Numbers in [-1, 1], each rounded to the nearest multiple of 2^-40, half to even."""
    found = np.empty(values.shape) if out is None else out
    found[...] = values
    found += _TO_UNITS
    found -= _TO_UNITS
    return found


def in_units(sums: Float64s) -> Whole:
    """Sums of size up to 2^22 that are multiples of 2^-40, as numbers of those."""
    return np.asarray((sums / _UNIT).astype(np.int64))


def sums_of(
    values: Floats, cell: NDArray[np.intp], size: int, weights: Float64s | None = None, most: float = MOST
) -> ExactSums:
    """Sums of numbers in [-1, 1] with these cells 0..size-1, each taken as often as its whole weight says.

    Up to ``MOST`` of them; ``most`` is how many one cell holds at most. Weights that are no whole numbers have no
    exact sums.
    """

    def over(terms: Float64s) -> ExactSums:
        return ExactSums.of(np.bincount(cell, terms, size).astype(np.float64, copy=False))

    if most <= AT_ONCE:
        return over(rounded(values) if weights is None else rounded(values) * weights)
    high, low = halves(values, weights)
    return over(high) + over(low)


def halves(values: Floats, weights: Float64s | None = None) -> tuple[Float64s, Float64s]:
    """Two lists whose sums together are those of the rounded numbers, and exact in float64 for up to ``MOST`` of them.

    The multiples of 2^-20 and what is left, each times its whole weight.
    """
    high = np.add(values, _TO_HALVES, dtype=np.float64)
    high -= _TO_HALVES
    low = rounded(values - high)
    return (high, low) if weights is None else (high * weights, low * weights)


def added(parts: Sequence[ExactSums]) -> ExactSums:
    """The sum of them all."""
    return sum(parts[1:], parts[0])


def stacked(parts: Sequence[ExactSums]) -> ExactSums:
    """One after the other, along a new first axis."""
    return ExactSums(np.array([p.whole for p in parts]), np.array([p.part for p in parts]))


def _carried(whole: Whole, part: Whole) -> ExactSums:
    return ExactSums(whole + (part >> _BITS), part & _PART)
