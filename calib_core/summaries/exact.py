"""Sums that do not depend on the order of what is added: every number is rounded once, to a multiple of 2^-40."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib_core._arrays import Codes, Float64s

Ints: TypeAlias = NDArray[np.int64]

UNIT = 40
"""Numbers are counted in units of 2^-40: each is off by at most 2^-41, and their sum by nothing more."""
_HALF = UNIT // 2


def exact_sums(cell: Codes, values: Float64s, size: int) -> tuple[Ints, Ints]:
    """Sums of the values in each cell, in ones and, from 0 to 2^40 - 1, in units of 2^-40.

    Values lie within +-2^12 and are fewer than 2^31: their upper and lower halves then sum exactly in float64.

    >>> [part.tolist() for part in exact_sums(np.array([0, 0, 1]), np.array([0.75, 0.5, -0.25]), 2)]
    [[1, -1], [274877906944, 824633720832]]
    """
    fixed = np.rint(values * 2.0**UNIT)
    upper = np.floor(fixed * 2.0**-_HALF)
    lower = fixed - upper * 2.0**_HALF
    high, low = (np.bincount(cell, half, size).astype(np.int64) for half in (upper, lower))
    return carried(high >> _HALF, ((high & ((1 << _HALF) - 1)) << _HALF) + low)


def carried(whole: Ints, part: Ints) -> tuple[Ints, Ints]:
    """The same sums with parts below one.

    >>> carried(np.array([1]), np.array([5 << 40]))[0].tolist()
    [6]
    """
    return whole + (part >> UNIT), part & ((1 << UNIT) - 1)


def rounded(whole: Ints, part: Ints) -> Float64s:
    """The sums as float64, rounded once."""
    return np.asarray(whole.astype(np.float64) + part * 2.0**-UNIT)
