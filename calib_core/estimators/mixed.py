"""The largest error of a bin, classes averaged: what P1's tables print as TL-MCE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.binning.base import IntervalScheme, of_interval
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.claims.binary_claims import Claims
from calib_core.estimators.base import ESTIMATORS, ErrorScale, Estimated, Traits
from calib_core.predictions.predictions import NotAnswerable
from calib_core.registry.registry import Part


@ESTIMATORS.register(
    "mce-of-bins",
    "MCE of bins (mean over classes)",
    reference="P1 §2, Fig. 2",
    flags=Traits(
        judged="bins",
        scale=lambda _: ErrorScale("bins"),
        counts="always",
        shared_bins=True,
        in_one_stratum="mce",
    ),
    elsewhere="In the top-label notion, the quantity that Gupta and Ramdas print as TL-MCE; their eq. 17 is different.",
    formula=r"\max_b\,\frac{\sum_l w_{lb}\,\bigl|\bar z_{lb} - \bar s_{lb}\bigr|}{\sum_l w_{lb}}",
)
@dataclass(frozen=True)
class MaxOfBins:
    """Largest error of any bin. A bin's error is the mean over its classes, weighted by their rows in the bin.

    max_b Delta_b with Delta_b = sum_l w_lb |z_lb - c_lb| / sum_l w_lb, from the mean outcome z_lb and mean score c_lb
    of the claims of stratum l in bin b. Their weight in the aggregate is w_lb (``BinTable.weight``: in the top-label
    notion the share of rows predicted as l in b). In [0, 1]. In one stratum it is the MCE. In several it is at least
    the largest |sum_l w_lb (z_lb - c_lb)| / sum_l w_lb, the confidence MCE where strata are predicted classes. It is at
    most the largest |z_lb - c_lb| of any class in any bin, P1's eq. (17), which is the key ``mce``.

    P1 defines TL-MCE by eq. (17), and its tables print this number, the largest distance of a plus from the diagonal in
    a top-label reliability diagram. What can mislead: a bin of few rows is easily the worst, and a single class with a
    large error hardly shows among many. Bins have to be the same for all strata: NotAnswerable for bins placed by
    scores, stratum by stratum.

    References: P1 §2 (TL-MCE) and the top-label reliability diagrams (the pluses).

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import TopLabel
    >>> p = Predictions([[0.7, 0.3]] * 3 + [[0.3, 0.7]], [0, 0, 0, 0])
    >>> round(MaxOfBins()(TopLabel().split(p)).value, 3)  # three rows off by .3, one by .7
    0.4
    """

    binning: Annotated[IntervalScheme, Part("BINNINGS", of_interval), "Bins", "where the bins lie"] = field(
        default_factory=EqualWidth
    )

    def __call__(self, claims: Claims) -> Estimated:
        return self.of_table(tabulate(claims, [self.binning])[0])

    def of_table(self, table: BinTable) -> Estimated:
        """The estimate of claims already counted into bins that all strata share."""
        if not np.array_equal(table.lower, np.broadcast_to(table.lower[0], table.lower.shape), equal_nan=True):
            raise NotAnswerable(
                "an error of bins over classes needs bins that all classes share, and these depend on the scores "
                "of each class. Choose bins of equal width, for example"
            )
        gaps = np.abs(np.nan_to_num(table.gap))
        own = np.where(table.count.sum(axis=1) > 0, gaps.max(axis=1), np.nan)
        return Estimated(float(self.of_outcomes(table, table.tally.outcome[None])[0]), own, table)

    def of_outcomes(self, table: BinTable, outcomes: Float64s) -> Float64s:
        """The values (replicates,) for outcome sums (replicates, strata, bins) in place of the table's own."""
        rows = np.where(table.count > 0, table.count, np.inf)
        weight = table.weight
        total = weight.sum(axis=0)
        shared = np.divide(weight, total, out=np.zeros(weight.shape), where=total > 0)
        return np.asarray((np.abs(outcomes - table.tally.score) / rows * shared).sum(axis=1).max(axis=1))
