"""What an interval binning scheme is, and the registry of schemes."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from calib_core._arrays import Float64s, Floats
from calib_core.registry import Registry


class BinningScheme(Protocol):
    """Places the inner edges of bins in [0, 1] from scores only, never from outcomes.

    Bins are closed on the left, the last one on both sides.
    """

    def fixed_edges(self) -> Float64s | None:
        """Inner edges that do not depend on the scores, ascending; None when they do."""

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        """Inner edges for these ascending scores (and their weights), ascending, in the scores' dtype."""


BINNINGS: Registry[BinningScheme] = Registry("BINNINGS")


def as_binning(bins: int | str | BinningScheme) -> BinningScheme:
    """A scheme given by key, as it is, or as a number of equal-width bins."""
    if isinstance(bins, str):
        return BINNINGS.make(bins)
    return BINNINGS.make("equal-width", bins=int(bins)) if isinstance(bins, (int, np.integer)) else bins
