"""Mean ranks of methods over data sets with the critical difference of Nemenyi's test."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.diagram import Diagram
from calib_core._base.errors import as_share
from calib_core.arena.contenders import title_of
from calib_core.arena.leaderboard import Field
from calib_core.arena.tournament import ArenaResults
from calib_core.defaults import LEVEL
from calib_core.predictions.predictions import NotAnswerable


@dataclass(frozen=True, eq=False, repr=False)
class MeanRanks(Diagram):
    """Mean rank of every method (``lines``, the best first) over ``n_datasets`` data sets.

    Two methods differ significantly at ``level``, corrected for all pairs, if their mean ranks differ by more than
    ``critical_difference``. Then their intervals (``low``, ``high``: half of it to each side) do not overlap.
    """

    lines: pd.DataFrame
    critical_difference: float
    n_datasets: int
    level: float

    def frame(self) -> pd.DataFrame:
        """One line per method."""
        return self.lines


def mean_ranks(results: pd.DataFrame | ArenaResults, *, level: float = LEVEL) -> MeanRanks:
    """Rank methods by log loss, and show which mean ranks differ by more than chance.

    In each experiment the smallest log loss has rank 1, and ties share their mean rank. Ranks are averaged within each
    data set, then over the D data sets. Of M methods, two differ significantly if their ranks differ by more than
    q sqrt(M (M + 1) / (6 D)). Here sqrt(2) q is the quantile ``level`` of the studentized range of M normal variables.

    A method that fails in an experiment counts as no calibration there. Raises NotAnswerable with fewer than two
    methods or two data sets.

    What can mislead: a rank ignores by how much a method is better. The test is made for one rank per data set. The
    mean over several experiments varies less, so the test is conservative here. The difference of two methods depends
    on which others are ranked.

    References: Demšar 2006, JMLR 7, section 3.2.2 (Nemenyi's test after Friedman's); Nemenyi 1963.

    >>> lines = [(d, loss, m) for d in "abcd" for loss, m in ((0.5, "identity"), (0.4, "x"))]
    >>> frame = pd.DataFrame(lines, columns=["dataset", "log_loss", "method"]).assign(
    ...     model="net", brier=0.2, accuracy=0.9, log_loss_error=0.01, fit_seconds=0.0, apply_seconds=0.0, reason="",
    ...     cal_size=100, test_size=1000, n_classes=2)
    >>> found = mean_ranks(frame, level=0.95)
    >>> found.frame()["rank"].tolist(), round(found.critical_difference, 3)  # 1.960 sqrt(2 * 3 / 24)
    ([1.0, 2.0], 0.98)
    """
    as_share(level, "level")
    field = Field.of(results)
    d, m = int(field.datasets.max()) + 1, len(field.methods)
    if m < 2 or d < 2:
        raise NotAnswerable(f"ranks need two methods and two data sets; there are {m} and {d}")
    from scipy.stats import studentized_range  # slow import

    by_dataset = pd.DataFrame(field.ranks).groupby(field.datasets).mean().to_numpy()
    ranks = by_dataset.mean(axis=0)
    difference = float(studentized_range.ppf(level, m, np.inf)) / math.sqrt(2) * math.sqrt(m * (m + 1) / (6 * d))
    lines = pd.DataFrame(
        {
            "method": field.methods,
            "title": [title_of(name) for name in field.methods],
            "rank": ranks,
            "low": ranks - difference / 2,
            "high": ranks + difference / 2,
        }
    ).sort_values("rank", kind="stable", ignore_index=True)
    return MeanRanks(lines, difference, d, level)
