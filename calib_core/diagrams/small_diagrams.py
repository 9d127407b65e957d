"""Small diagrams of some classes: reliability, kernel curves, validity (P1 Fig. 4 and 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.diagrams.class_list import total_rows
from calib_core.diagrams.curve import KERNEL_CURVE, KernelCurve, kernel_curve
from calib_core.diagrams.validity import ValidityPlot, validity, validity_tables
from calib_core.estimators.binned import Binned
from calib_core.estimators.kernel_ece import KernelECE
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import Reduction, claims_of


@dataclass(frozen=True, eq=False, repr=False)
class SmallDiagrams(Diagram):
    """Common data of small diagrams of classes: codes, names, error and share of rows, (m,)."""

    classes: tuple[int, ...]
    names: tuple[str, ...]
    error: Float64s
    share: Float64s

    def record(self, j: int) -> dict[str, object]:
        """Selection after a click on the small diagram at this position."""
        return {"code": self.classes[j]}

    def _stacked(self, parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """A frame of every class, its name in a first column."""
        named = [part.assign(**{"class": name}) for name, part in zip(self.names, parts, strict=True)]
        whole = pd.concat(named, ignore_index=True)
        whole.insert(0, "class", whole.pop("class").astype(object))
        return whole


@dataclass(frozen=True, eq=False, repr=False)
class ClassPanels(SmallDiagrams):
    """Small reliability diagrams: the bins of each chosen class."""

    bins: BinTable

    def frame(self) -> pd.DataFrame:
        """One line per (class, non-empty bin), exactly the numbers drawn."""
        frame = self.bins.frame().rename(columns={"stratum": "class"})
        return frame[frame["class"].isin(self.names)].reset_index(drop=True)


@dataclass(frozen=True, eq=False, repr=False)
class SlicePanels(ClassPanels):
    """Small reliability diagrams of slices (``slices.panels``): ``where`` are their texts."""

    where: tuple[str, ...]

    def record(self, j: int) -> dict[str, object]:
        """Selection after a click on the small diagram at this position."""
        return {"slice": self.where[j]}

    def frame(self) -> pd.DataFrame:
        """One line per (slice, non-empty bin), exactly the numbers drawn."""
        return self.bins.frame().rename(columns={"stratum": "slice"})


@dataclass(frozen=True, eq=False, repr=False)
class ClassCurves(SmallDiagrams):
    """Small diagrams without bins: the kernel curve of each chosen class, without a band."""

    curves: tuple[KernelCurve, ...]

    def frame(self) -> pd.DataFrame:
        """One line per (class, point), exactly the numbers drawn; NaN is a gap."""
        return self._stacked([curve.frame()[["score", "curve", "density"]] for curve in self.curves])


@dataclass(frozen=True, eq=False, repr=False)
class ClassValidity(SmallDiagrams):
    """Small validity plots: V of each chosen class, and ``before`` recalibration on the same bins (or empty)."""

    plots: tuple[ValidityPlot, ...]
    before: tuple[ValidityPlot, ...] = ()

    def frame(self) -> pd.DataFrame:
        """One line per (class, plot, step), exactly the numbers drawn."""
        parts = [plot.frame().assign(plot="model") for plot in self.plots]
        if self.before:
            first = [plot.frame().assign(plot="before") for plot in self.before]
            parts = [pd.concat(pair, ignore_index=True) for pair in zip(first, parts, strict=True)]
        return self._stacked(parts)


def class_panels(
    predictions: Predictions,
    classes: Sequence[int] | Codes,
    reduction: str | Reduction = "top-label",
    bins: int | str | BinningScheme | None = None,
    grouped_by: Predictions | None = None,
) -> ClassPanels:
    """Reliability diagram, error and share of each chosen class.

    All of them in the bins drawn, 15 of equal width where none are given. ``classes`` are codes, 0..K-1. With
    ``grouped_by``, a recalibrated model's predictions of the same rows, bins are its own (``reliability``).

    References: P1 Fig. 4 and 9.

    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> class_panels(p, [1]).frame()[["mean_score", "mean_outcome"]].values.round(3).tolist()
    [[0.6, 1.0]]
    """
    grouped = None if grouped_by is None else validity_tables(predictions, grouped_by, reduction, bins)[0]
    table, every = _small(predictions, classes, reduction, bins, grouped)
    return ClassPanels(*every, table)


def class_curves(
    predictions: Predictions,
    classes: Sequence[int] | Codes,
    reduction: str | Reduction = "top-label",
    bins: int | str | BinningScheme | None = None,
    method: KernelECE = KERNEL_CURVE,
) -> ClassCurves:
    """Kernel reliability curve of each chosen class, as ``kernel_curve`` smooths it, without a band.

    The error next to a curve is the class's in ``bins``, as in ``class_panels``; curves have no bins. What can mislead:
    without a band a curve of few rows looks as sure as one of many.

    References: P5 §4.4.

    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> class_curves(p, [1, 0]).frame()["class"].unique().tolist()
    ['1', '0']
    """
    _, every = _small(predictions, classes, reduction, bins)
    return ClassCurves(*every, tuple(kernel_curve(predictions, reduction, c, method, "none") for c in every[0]))


def class_validity(
    predictions: Predictions,
    classes: Sequence[int] | Codes,
    reduction: str | Reduction = "top-label",
    bins: int | str | BinningScheme | None = None,
    before: Predictions | None = None,
) -> ClassValidity:
    """Validity plot of each chosen class: the share of its rows whose claim is off by at most epsilon.

    With the predictions ``before`` recalibration both are judged on the same bins, as in ``validity_pair``.
    NotAnswerable gives the reason where they cannot be. What can mislead: wide bins hide what happens inside them, and
    of a class of few rows V rises late whatever the model does.

    References: P1 Fig. 9 and Appendix F.

    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> class_validity(p, [1]).frame().round(3).values.tolist()
    [['1', 0.4, 1.0, 'model']]
    """
    table, every = _small(predictions, classes, reduction, bins)
    if before is None:
        return ClassValidity(*every, tuple(validity(table, c) for c in every[0]))
    was, now = validity_tables(before, predictions, reduction, bins)
    plots, first = (tuple(validity(part, c) for c in every[0]) for part in (now, was))
    return ClassValidity(*every, plots, first)


def _small(
    predictions: Predictions,
    classes: Sequence[int] | Codes,
    reduction: str | Reduction,
    bins: int | str | BinningScheme | None,
    grouped: BinTable | None = None,
) -> tuple[BinTable, tuple[tuple[int, ...], tuple[str, ...], Float64s, Float64s]]:
    """The bins of all classes, those ``grouped`` or their own; codes, names, errors and shares of those chosen."""
    table = grouped or tabulate(claims_of(predictions, reduction), [as_binning(bins)], pooled=False)[0]
    chosen = tuple(int(c) for c in classes)
    names, codes = tuple(table.strata[c] for c in chosen), list(chosen)
    share = table.count.sum(axis=1)[codes] / total_rows(predictions)
    return table, (chosen, names, Binned().of_table(table).per_stratum[codes], share)
