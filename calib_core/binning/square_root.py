"""As many bins as the square root of the number of rows: the heuristic that needs no number (P5 §4.5.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from calib_core._base.arrays import Float64s, Floats
from calib_core.binning.base import BINNINGS
from calib_core.binning.interval_schemes import EqualMass, EqualWidth
from calib_core.predictions.validation import effective_rows
from calib_core.registry.registry import Range


@dataclass(frozen=True)
class RootWidth:
    """Bins of equal width, floor(sqrt(n)) of them in a stratum of n rows unless a number is given.

    n is what a stratum's rows are worth (``effective_rows``). What can mislead: strata of different
    size have different bins, and a model with more test rows is judged on finer ones.

    References: P5 §4.5.1.

    >>> import numpy as np
    >>> RootWidth().edges(np.linspace(0, 1, 17), None).tolist()
    [0.25, 0.5, 0.75]
    """

    bins: Annotated[
        int | None, Range(1, 1000), "Number of bins", "number of bins; none: the square root of the rows"
    ] = None

    def __post_init__(self) -> None:
        EqualWidth(1 if self.bins is None else self.bins)

    def fixed_edges(self) -> Float64s | None:
        return None if self.bins is None else EqualWidth(self.bins).fixed_edges()

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        return EqualWidth(_number(self.bins, ordered, weights)).edges(ordered, weights)


@dataclass(frozen=True)
class RootMass:
    """Bins of equally many rows, floor(sqrt(n)) of them in a stratum of n rows unless a number is given.

    So that every bin holds about sqrt(n) rows, too; ties are kept together as with equal mass. P5 finds that the
    number grows slightly too fast with n.

    References: P5 §4.5.1.

    >>> import numpy as np
    >>> RootMass().edges(np.array([0.1, 0.4, 0.4, 0.9]), None).tolist()
    [0.9]
    """

    bins: Annotated[
        int | None, Range(1, 1000), "Number of bins", "number of bins; none: the square root of the rows"
    ] = None

    def __post_init__(self) -> None:
        EqualMass(1 if self.bins is None else self.bins)

    def fixed_edges(self) -> None:
        return None

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        return EqualMass(_number(self.bins, ordered, weights)).edges(ordered, weights)


def _number(bins: int | None, ordered: Floats, weights: Float64s | None) -> int:
    # Equal weights of 0.1 make 16 rows worth 15.999...: rounded before the root is cut off.
    return bins or max(1, math.isqrt(int(round(effective_rows(len(ordered), weights), 6))))


BINNINGS.preset(
    "sqrt-equal-width",
    "Equal width, square root of the rows",
    "Bins of equal width, as many as the square root of a stratum's rows.",
    RootWidth,
    bins=None,
    reference="P5 §4.5.1",
)
BINNINGS.preset(
    "sqrt-equal-mass",
    "Equal mass, square root of the rows",
    "Bins holding equally many rows, as many as the square root of a stratum's rows.",
    RootMass,
    bins=None,
    reference="P5 §4.5.1",
)
