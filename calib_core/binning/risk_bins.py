"""Bins of the predicted risk of an event, which may lie in a small part of 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence

from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.bin_table import tabulate
from calib_core.binning.interval_schemes import EqualMass, EqualWidth
from calib_core.claims.binary_claims import Claims
from calib_core.defaults import BINS

FULLEST, FEWEST_BINS, GROUPS = 2 / 3, 5, 10
"""Equal-width bins serve where no bin has more than this share of the rows and at least so many have rows; else bins
are so many groups of equal size."""


def risk_bins(claims: Claims, bins: int | str | Sequence[float] | BinningScheme | None = None) -> BinningScheme:
    """Return the bins given; without any, those in which these risks can be seen.

    15 bins of equal width over 0 to 1, as for confidences; ten groups of equal size (tenths of risk) where one of those
    would have more than two thirds of the rows, or fewer than five would have any, as for a rare event. Only scores
    decide, so that tests in these bins keep their level. What can mislead: groups of equal size have other edges in
    another model.

    >>> import numpy as np
    >>> from calib_core import Predictions
    >>> from calib_core.reductions import claims_of
    >>> def risks(s): return claims_of(Predictions(np.column_stack([1 - s, s]), [0, 1] * 50), "event")
    >>> risk_bins(risks(np.linspace(0.01, 0.9, 100))), risk_bins(risks(np.linspace(0.001, 0.05, 100)))
    (EqualWidth(bins=15), EqualMass(bins=10))
    """
    if bins is not None:
        return as_binning(bins)
    plain = EqualWidth(BINS)
    if claims.grain == "counts":  # counted on a grid of equal widths: there are no other edges
        return plain
    share = tabulate(claims, [plain], pooled=False)[0].weight[0]
    rare = float(share.max()) > FULLEST or int((share > 0).sum()) < FEWEST_BINS
    return EqualMass(GROUPS) if rare else plain
