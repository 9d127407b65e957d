"""Are the bins in use well balanced? Their shares of the test rows, with exact intervals for all of them at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.errors import NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme, as_binning, as_intervals, cuts
from calib_core.binning.declared import bins_said
from calib_core.defaults import LEVEL
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.planning.question import independent
from calib_core.predictions.predictions import Predictions
from calib_core.text import at_level, between, in_percent

FACTOR = 2.0
"""How far from its equal share a bin may be where bins are called well balanced."""


@dataclass(frozen=True, eq=False, repr=False)
class BinBalance(OneLine):
    """Each bin's share of the rows with an interval that holds for all bins at once, and what follows for balance.

    Arrays are (bins,); ``low`` and ``high`` are the ends. ``balanced``: None where the rows cannot tell. ``kind`` says
    how the bins are cut.
    """

    lower: Float64s
    upper: Float64s
    rows: Float64s
    share: Float64s
    low: Float64s
    high: Float64s
    balanced: bool | None
    level: float
    placed: str
    kind: str

    def frame(self) -> pd.DataFrame:
        """One line per bin: edges, rows, share, its interval and how many times its equal share that is."""
        columns = {"bin": np.arange(len(self.rows)), "lower": self.lower, "upper": self.upper, "rows": self.rows}
        columns |= {"share": self.share, "low": self.low, "high": self.high, "times": self.share * len(self.rows)}
        return pd.DataFrame(columns)

    @property
    def sentence(self) -> str:
        """Whether the bins are well balanced, and the bin that decides."""
        bins, equal = len(self.rows), 1.0 / len(self.rows)
        found = {True: "are well balanced", False: "are not well balanced", None: "may or may not be well balanced"}
        apart = np.maximum(self.share / equal, equal / np.maximum(self.share, 1e-300))
        worst = int(np.argmax(apart))
        span = between(self.lower[worst], self.upper[worst])
        return (
            f"The {bins} bins in use ({self.kind}) {found[self.balanced]} ({at_level(self.level)} sure, all bins "
            f"together). Half to twice an equal share is {between(equal / FACTOR, FACTOR * equal)} of the rows; "
            f"the bin of confidences from {span} has {in_percent(self.share[worst])}."
        )

    def _line(self) -> str:
        return self.sentence


def balance_in_use(
    test: Predictions,
    fit: Predictions | None = None,
    bins: int | str | BinningScheme | None = None,
    level: float = LEVEL,
) -> BinBalance:
    """Whether each bin of confidence holds between half and twice its equal share of the rows there are to come.

    Bins that follow the data are placed on the calibration rows ``fit`` and counted on ``test``: on the rows they were
    placed on, shares are equal by construction. Intervals are Clopper-Pearson's at 1 - (1 - level) / B each; balanced
    where all lie within [1 / (2 B), 2 / B], not where one lies outside, and else open. What can mislead: bins that are
    not balanced are fine to look at; it is the bounds on estimating errors that ask for balance.

    NotAnswerable for grouped or weighted rows, for one bin, and for bins that follow the data without ``fit``.

    References: P2 Definition 4.2, Lemma 4.3; Clopper & Pearson 1934.

    >>> rows = Predictions([[0.9, 0.1], [0.6, 0.4]] * 200, [0, 0] * 200)
    >>> balance_in_use(rows, bins=2).balanced
    False
    """
    scheme = as_intervals(as_binning(bins))
    if cuts(scheme).pools:
        raise NotAnswerable(
            "bins that are joined by their rows have no equal share: choose bins of equal mass or width"
        )
    rows = independent(test)
    if rows.weights is not None:
        raise NotAnswerable("the rows carry weights: exact intervals of shares count each row once")
    scores = rows.confidence
    fixed = scheme.fixed_edges()
    if fixed is None and fit is None:
        raise NotAnswerable(
            "bins that follow the data are placed on calibration rows, which are not counted: give them, or choose "
            "bins of equal width"
        )
    edges = fixed if fit is None or fixed is not None else scheme.edges(np.sort(independent(fit).confidence), None)
    assert edges is not None
    edges = np.asarray(edges).astype(scores.dtype)
    count = np.bincount(np.searchsorted(edges, scores, side="right"), minlength=len(edges) + 1).astype(np.float64)
    n, total = len(count), float(count.sum())
    if n < 2 or not total:
        raise NotAnswerable("one bin is balanced whatever it holds" if total else "no row makes a claim")
    low, high = clopper_pearson(count, np.full(n, total), 1.0 - (1.0 - level) / n)
    outside = (high < 1 / (FACTOR * n)) | (low > FACTOR / n)
    inside = (low >= 1 / (FACTOR * n)) & (high <= FACTOR / n)
    balanced = False if outside.any() else True if inside.all() else None
    ends = np.concatenate([[0.0], edges.astype(np.float64), [1.0]])
    placed = "" if fixed is not None else "calibration rows"
    kind = bins_said(scheme).removeprefix(f"{n} ")
    return BinBalance(ends[:-1], ends[1:], count, count / total, low, high, balanced, level, placed, kind)
