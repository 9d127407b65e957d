"""Validity plots: the share of rows whose claim is off by at most epsilon (METHODS §6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.diagram import Diagram
from calib_core.binning.base import BinningScheme
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.binning.groups import tabulate_alike
from calib_core.binning.interval_schemes import bins_of
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.reductions.base import Reduction, as_reduction, claims_of

CUT, ROOM = 0.99, 1.04
"""Share of rows whose errors are on the axis of a validity plot, and room beyond them for the last step."""
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class ValidityPlot(Diagram):
    """A step function V: ``share`` (m,) of the rows is off by at most ``eps`` (m,), both ascending, ending at 1.

    ``distance``: eps is no gap of shares but an L1 distance of vectors of shares, which is in [0, 2].
    """

    formula: ClassVar[str] = (
        r"V(\varepsilon) = \sum_{l,\,b} w_{lb}\,\mathbb{1}\bigl\{|\bar z_{lb} - \bar s_{lb}| \le \varepsilon\bigr\}"
    )

    eps: Float64s
    share: Float64s
    distance: bool = False

    def share_within(self, eps: float) -> float:
        """V(eps)."""
        i = int(np.searchsorted(self.eps, eps, side="right"))
        return float(self.share[i - 1]) if i else 0.0

    def quantile(self, share: float) -> float:
        """The smallest error that this share of the rows does not exceed.

        >>> ValidityPlot(np.array([0.1, 0.2, 0.7]), np.array([0.5, 0.99, 1.0])).quantile(0.99)
        0.2
        """
        return float(self.eps[np.searchsorted(self.share, share - _ROUNDING)]) if len(self.eps) else 0.0

    def frame(self) -> pd.DataFrame:
        """One line per step, exactly the numbers drawn."""
        return pd.DataFrame({"eps": self.eps, "share": self.share})


def drawn_end(plots: Iterable[ValidityPlot]) -> tuple[float, float]:
    """End of the axis of validity plots, and their largest error.

    The axis ends at the largest 99 % quantile of the plots: the errors of few rows would take most of it.

    >>> drawn_end([ValidityPlot(np.array([0.1, 0.2, 0.7]), np.array([0.5, 0.99, 1.0]))])
    (0.2, 0.7)
    """
    every = list(plots)
    most = max((float(plot.eps[-1]) for plot in every if len(plot.eps)), default=0.0)
    return max((plot.quantile(CUT) for plot in every), default=0.0), most


def validity(table: BinTable, stratum: int | None = None) -> ValidityPlot:
    """V(eps), the weight of the bins whose |mean outcome - mean score| is at most eps, overall or in one stratum.

    A curve that rises early is good: nearly all rows get nearly the right probability. What can mislead: the curve is
    about bins, so wide bins hide errors inside them.

    References: P1 Appendix F.

    >>> from calib_core.binning import EqualWidth, tabulate
    >>> from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
    >>> from calib_core.reductions import Confidence
    >>> p = Predictions.from_confidence([0.25, 0.75, 0.75], [False, True, True])
    >>> validity(tabulate(Confidence().split(p), [EqualWidth(2)])[0]).frame().values.tolist()
    [[0.25, 1.0]]
    """
    weight = table.weight if stratum is None else table.within[stratum]
    gap = np.abs(table.gap if stratum is None else table.gap[stratum])
    return steps(gap[weight > 0], weight[weight > 0])


def validity_of(
    predictions: Predictions, reduction: str | Reduction = "top-label", bins: int | str | BinningScheme | None = None
) -> ValidityPlot:
    """V(eps) of predictions on their own bins: of their values where they are declared discrete, else 15 equal-width.

    What can mislead: another model's curve is on other bins (``validity_against`` puts two on the same).

    >>> p = Predictions.from_confidence([0.25, 0.75, 0.75], [False, True, True])
    >>> validity_of(p, "confidence", 2).frame().values.tolist()
    [[0.25, 1.0]]
    """
    return validity(tabulate(claims_of(predictions, reduction), [bins_of(predictions, bins)])[0])


def steps(gap: Float64s, weight: Float64s, distance: bool = False) -> ValidityPlot:
    """V of groups with error ``gap`` and a share ``weight`` of the rows."""
    eps, step = np.unique(gap, return_inverse=True)
    share: Float64s = np.cumsum(np.bincount(step.ravel(), weight, minlength=len(eps)).astype(np.float64))
    return ValidityPlot(eps, share / share[-1:], distance)


@dataclass(frozen=True, eq=False, repr=False)
class ValidityPair(Diagram):
    """Two validity plots: of the model before recalibration and after it; ``shared``: on the same groups of rows."""

    before: ValidityPlot
    after: ValidityPlot
    shared: bool = True

    def frame(self) -> pd.DataFrame:
        """Both plots' steps, exactly the numbers drawn."""
        parts = {"before": self.before, "after": self.after}
        return pd.concat([plot.frame().assign(model=name) for name, plot in parts.items()], ignore_index=True)


def validity_pair(
    before: Predictions,
    after: Predictions,
    reduction: str | Reduction = "top-label",
    bins: int | str | BinningScheme | None = None,
    stratum: int | None = None,
) -> ValidityPair:
    """Base and recalibrated model on the same bins: those of the recalibrated model's scores.

    In a group of rows whose recalibrated scores lie in one bin, the base model is judged by its mean score. Without
    ``bins`` a bin is a value where the recalibrated outputs are declared discrete, else one of 15 of equal width.
    NotAnswerable when recalibration changed predicted classes, since the two models then make different claims.

    References: P1 Appendix F.

    >>> from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
    >>> base = Predictions.from_confidence([0.9, 0.8], [True, False])
    >>> better = Predictions.from_confidence([0.5, 0.5], [True, False])
    >>> pair = validity_pair(base, better, "confidence")
    >>> pair.before.eps.round(2).tolist(), pair.after.eps.tolist()
    ([0.35], [0.0])
    """
    was, now = validity_tables(before, after, reduction, bins)
    return ValidityPair(validity(was, stratum), validity(now, stratum))


def validity_tables(
    before: Predictions,
    after: Predictions,
    reduction: str | Reduction,
    bins: int | str | BinningScheme | None,
) -> tuple[BinTable, BinTable]:
    """Both models' claims in the bins of the recalibrated one's scores, of the rows that it answers."""
    if before.n_rows != after.n_rows:
        raise NotAnswerable(
            f"the models are of {before.n_rows:,} and of {after.n_rows:,} rows, but only models on the same rows "
            "can share bins"
        )
    if after.abstained is not None:
        before = before.take(np.flatnonzero(~after.abstained))
    notion = as_reduction(reduction)
    return tabulate_alike(claims_of(before, notion), claims_of(after, notion), bins_of(after, bins))


def validity_against(
    before: Predictions,
    after: Predictions,
    reduction: str | Reduction = "top-label",
    bins: int | str | BinningScheme | None = None,
) -> ValidityPair:
    """Base and recalibrated model on the same bins where they make the same claims (``validity_pair``), else own bins.

    ``shared`` says which. What can mislead: on own bins a difference of the curves can be one of the bins.

    >>> base = Predictions([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    >>> other = Predictions([[0.4, 0.6], [0.6, 0.4]], [0, 1])  # another class predicted
    >>> validity_against(base, base).shared, validity_against(base, other).shared
    (True, False)
    """
    try:
        return validity_pair(before, after, reduction, bins)
    except NotAnswerable:
        return ValidityPair(validity_of(before, reduction, bins), validity_of(after, reduction, bins), shared=False)
