"""Validity plots: the share of rows whose claim is off by at most epsilon (METHODS §6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._arrays import Float64s
from calib_core.binning import BinTable


@dataclass(frozen=True, eq=False)
class ValidityPlot:
    """A step function V: ``share`` (m,) of the rows is off by at most ``eps`` (m,), both ascending, ending at 1."""

    eps: Float64s
    share: Float64s

    def at(self, eps: float) -> float:
        """V(eps)."""
        i = int(np.searchsorted(self.eps, eps, side="right"))
        return float(self.share[i - 1]) if i else 0.0

    def frame(self) -> pd.DataFrame:
        """One line per step, exactly the numbers drawn."""
        return pd.DataFrame({"eps": self.eps, "share": self.share})


def validity(table: BinTable, stratum: int | None = None) -> ValidityPlot:
    """V(eps), the weight of the bins whose |mean outcome - mean score| is at most eps, overall or in one stratum.

    A curve that rises early is good: nearly all rows get nearly the right probability. What can mislead: the curve
    speaks of bins, so wide bins hide what happens inside them.

    References: P1 Appendix F.

    >>> from calib_core.binning import EqualWidth, tabulate
    >>> from calib_core.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> p = Predictions.from_confidence([0.25, 0.75, 0.75], [False, True, True])
    >>> validity(tabulate(Confidence().split(p), [EqualWidth(2)])[0]).frame().values.tolist()
    [[0.25, 1.0]]
    """
    weight = table.weight if stratum is None else table.within[stratum]
    gap = np.abs(table.gap if stratum is None else table.gap[stratum])
    held = weight > 0
    eps, step = np.unique(gap[held], return_inverse=True)
    share: Float64s = np.cumsum(np.bincount(step.ravel(), weight[held], minlength=len(eps)).astype(np.float64))
    return ValidityPlot(eps, share / share[-1:])
