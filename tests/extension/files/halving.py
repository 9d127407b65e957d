"""Bins that get narrower towards 1."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from calib_core import BINNINGS
from calib_core.registry import Range


@BINNINGS.register("halving", "Halving towards 1")
@dataclass(frozen=True)
class Halving:
    """Each bin is half as wide as the one before, so that high scores are separated."""

    bins: Annotated[int, Range(1, 20), "number of bins"] = 5

    def fixed_edges(self):
        return 1 - 0.5 ** np.arange(1, self.bins)

    def edges(self, ordered, weights):
        return self.fixed_edges().astype(ordered.dtype)
