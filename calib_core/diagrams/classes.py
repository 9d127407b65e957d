"""Every class at a glance: a table of all, and small reliability diagrams of some (P1 Fig. 4 and 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._arrays import Codes, Float64s
from calib_core.binning import BinningScheme, BinTable, as_binning, bins_of, tabulate
from calib_core.diagrams.base import Diagram
from calib_core.diagrams.validity import ValidityPlot, validity
from calib_core.estimators import Binned
from calib_core.predictions import Predictions
from calib_core.reductions import Reduction, claims_of


@dataclass(frozen=True, eq=False, repr=False)
class ClassTable(Diagram):
    """One line per class: arrays are (K,), NaN for classes without claims.

    ``share`` of rows making a claim about the class, ``true_share`` of rows that are of it, ``score`` mean of what
    was said and ``outcome`` of what happened, ``error`` the class's own ECE.
    """

    names: tuple[str, ...]
    count: Float64s
    share: Float64s
    true_share: Float64s
    score: Float64s
    outcome: Float64s
    error: Float64s

    def frame(self) -> pd.DataFrame:
        """One line per class, exactly the numbers shown."""
        columns = {
            "class": np.asarray(self.names, dtype=object),
            "rows": self.count,
            "share": self.share,
            "true_share": self.true_share,
            "mean_score": self.score,
            "mean_outcome": self.outcome,
            "gap": self.outcome - self.score,
            "error": self.error,
        }
        return pd.DataFrame(columns)


@dataclass(frozen=True, eq=False, repr=False)
class ClassPanels(Diagram):
    """Small reliability diagrams: for each chosen class its bins, error, share and validity curve."""

    classes: tuple[int, ...]
    names: tuple[str, ...]
    bins: BinTable
    error: Float64s
    share: Float64s
    validity: tuple[ValidityPlot, ...]

    def frame(self) -> pd.DataFrame:
        """One line per (class, non-empty bin), exactly the numbers drawn."""
        frame = self.bins.frame().rename(columns={"stratum": "class"})
        return frame[frame["class"].isin(self.names)].reset_index(drop=True)


def class_table(
    predictions: Predictions,
    reduction: str | Reduction = "top-label",
    bins: int | str | BinningScheme | None = None,
) -> ClassTable:
    """All classes with their rows, share and error, to be sorted and searched.

    ``reduction`` is top-label (claims about the predicted class) or class-wise (every row makes one about every
    class); ``bins`` as for ``estimate``: without them outputs declared discrete are judged one bin a value.

    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> class_table(p).frame()["error"].round(3).tolist()
    [0.6, 0.4]
    """
    table = tabulate(claims_of(predictions, reduction), [bins_of(predictions, bins)], pooled=False)[0]
    count = table.count.sum(axis=1)
    with np.errstate(invalid="ignore"):
        score, outcome = table.tally.score.sum(axis=1) / count, table.tally.outcome.sum(axis=1) / count
    labels = predictions.true_labels
    true = np.bincount(labels, predictions.weights, minlength=len(table.strata))
    rows = _total(predictions)
    error = Binned().of_table(table).per_stratum
    return ClassTable(table.strata, count, count / rows, true / rows, score, outcome, error)


def class_panels(
    predictions: Predictions,
    classes: Sequence[int] | Codes,
    reduction: str | Reduction = "top-label",
    bins: int | str | BinningScheme | None = None,
) -> ClassPanels:
    """Reliability diagram, validity curve, error and share of each chosen class.

    All of them in the bins drawn, 15 of equal width where none are given.

    References: P1 Fig. 4 and 9.

    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> class_panels(p, [1]).frame()[["mean_score", "mean_outcome"]].values.round(3).tolist()
    [[0.6, 1.0]]
    """
    table = tabulate(claims_of(predictions, reduction), [as_binning(bins)], pooled=False)[0]
    chosen = [int(c) for c in classes]
    return ClassPanels(
        tuple(chosen),
        tuple(table.strata[c] for c in chosen),
        table,
        Binned().of_table(table).per_stratum[chosen],
        table.count.sum(axis=1)[chosen] / _total(predictions),
        tuple(validity(table, c) for c in chosen),
    )


def _total(predictions: Predictions) -> float:
    return float(predictions.n_rows if predictions.weights is None else predictions.weights.sum())
