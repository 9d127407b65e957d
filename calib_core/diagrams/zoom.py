"""One bin of the reliability diagram, by class (P1 Fig. 1b) and by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core.binning.bin_table import tabulate_at
from calib_core.defaults import LEVEL
from calib_core.diagrams.reliability import ReliabilityDiagram
from calib_core.estimators.base import claimed_rows
from calib_core.estimators.debiased import worth
from calib_core.inference.intervals.clustered_rows import GroupsInCells
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions, row_table
from calib_core.reductions.top import TopLabel


@dataclass(frozen=True, eq=False, repr=False)
class BinZoom(Diagram):
    """One bin by predicted class; arrays are (classes,), only for classes predicted in the bin.

    Classes furthest beyond what chance explains come first. ``low`` to ``high`` is an exact interval of each accuracy;
    those of all classes are jointly valid at ``level``. ``star`` is the bin's (mean confidence, accuracy), ``rows`` the
    positions of its rows in the predictions.
    """

    label: str
    classes: Codes
    names: tuple[str, ...]
    count: Float64s
    confidence: Float64s
    accuracy: Float64s
    low: Float64s
    high: Float64s
    level: float
    star: tuple[float, float]
    rows: Codes

    @property
    def gap(self) -> Float64s:
        """Accuracy minus confidence: below 0 the class is overconfident."""
        return self.accuracy - self.confidence

    @property
    def stands_out(self) -> NDArray[np.bool_]:
        """Classes whose interval excludes their confidence."""
        return (self.confidence < self.low) | (self.confidence > self.high)

    def frame(self) -> pd.DataFrame:
        """One line per class predicted in the bin, exactly the numbers drawn."""
        columns = {
            "class": np.asarray(self.names, dtype=object),
            "count": self.count,
            "confidence": self.confidence,
            "accuracy": self.accuracy,
            "gap": self.gap,
            "right_low": self.low,
            "right_high": self.high,
            "stands_out": self.stands_out,
        }
        return pd.DataFrame(columns)


def zoom(predictions: Predictions, diagram: ReliabilityDiagram, b: int | None = None, level: float = LEVEL) -> BinZoom:
    """Predicted classes in bin ``b`` of the diagram of these predictions, the largest error beyond noise first.

    Without ``b``: the bin that adds most to the top-label error. Intervals of the classes' accuracies are exact, at
    level 1 - (1 - level) / m with m classes in the bin. All of them are therefore jointly valid at ``level``. Rows of
    unequal weight count as the effective sample size of their class in the bin, (sum w)^2 / sum w^2. The rows of a
    group count as one there.

    What can mislead: a class with three rows in the bin lies anywhere by chance; look at its interval first.

    References: P1 §2.1 (c) and Fig. 1b; Clopper & Pearson 1934; Bonferroni's inequality.

    >>> from calib_core.diagrams import reliability
    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> zoom(p, reliability(p, bins=5), 3).frame()["gap"].round(3).tolist()
    [-0.6, 0.4]
    """
    b = _bin(diagram, b)
    edges = diagram.lower[1:]
    claims = TopLabel().split(predictions)
    table = tabulate_at(claims, edges)
    here = np.flatnonzero(table.count[:, b] > 0)
    if not len(here):
        raise NotAnswerable(f"no rows in {diagram.label(b)}")
    groups = predictions.answered.row_groups
    every = worth(claims, table) if groups is None else GroupsInCells.of(claims, table, groups).fewest
    rows = every.reshape(table.count.shape)[here, b]
    says, right = table.mean_score[here, b], table.mean_outcome[here, b]
    low, high = clopper_pearson(right * rows, rows, 1 - (1 - level) / max(1, len(here)))
    order = np.argsort(-np.maximum(low - says, says - high), kind="stable")
    here, low, high = here[order], low[order], high[order]
    return BinZoom(
        diagram.label(b),
        here,
        tuple(table.strata[s] for s in here),
        table.count[here, b],
        table.mean_score[here, b],
        table.mean_outcome[here, b],
        low,
        high,
        level,
        (float(diagram.confidence[b]), float(diagram.accuracy[b])),
        diagram.rows(predictions, b),
    )


def bin_rows(
    predictions: Predictions,
    diagram: ReliabilityDiagram,
    b: int | None = None,
    numbers: ArrayLike | None = None,
    predicted: int | None = None,
    notion: str | None = None,
) -> pd.DataFrame:
    """Rows in bin ``b`` of the diagram of these predictions, in order: prediction and outcome.

    Without ``b``: the bin that contributes most to the top-label error. ``numbers`` are the row numbers in their file,
    and the columns are those of ``row_table``. ``predicted`` selects the rows of that predicted class. Rows that a
    model abstains on are in no bin. With ``notion`` "event" the diagram is of the predicted risk, and each row has its
    ``risk`` and whether the ``event`` happened. None means "event" for two classes.

    >>> from calib_core.diagrams import reliability
    >>> p = Predictions.from_confidence([0.6, 0.9], [True, False])
    >>> bin_rows(p, reliability(p, bins=5)).values.tolist()
    [[1, 0.9, False]]
    """
    claimed = claimed_rows(predictions, notion)
    rows = diagram.rows(claimed, _bin(diagram, b))
    if predicted is not None:
        rows = rows[predictions.predicted[rows] == predicted]
    return row_table(claimed, rows, numbers, risks=claimed is not predictions)


def _bin(diagram: ReliabilityDiagram, b: int | None) -> int:
    if b is None:
        return diagram.worst
    if not 0 <= b < diagram.n_bins:
        raise InputError(f"bin {b} does not exist; the diagram's bins are 0..{diagram.n_bins - 1}")
    return b
