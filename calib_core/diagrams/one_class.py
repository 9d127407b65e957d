"""One predicted class: accuracy by bin, confusions, and rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.bin_table import tabulate
from calib_core.claims.exact_sums import copies
from calib_core.defaults import LEVEL
from calib_core.inference.intervals.clustered_rows import GroupsInCells, share_ends_of, shares_in_cells
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.predictions.predictions import NotAnswerable, Predictions, row_table
from calib_core.reductions.top import TopLabel


@dataclass(frozen=True, eq=False, repr=False)
class ClassBins(Diagram):
    """The bins of one predicted class that contain rows; arrays are (bins,).

    ``says`` is the mean confidence of the rows and ``right`` the share of them with this label. ``low`` to ``high`` is
    its exact interval at ``level``; NaN where rows have weights.
    """

    name: str
    bins: Codes
    lower: Float64s
    upper: Float64s
    count: Float64s
    says: Float64s
    right: Float64s
    low: Float64s
    high: Float64s
    level: float

    def frame(self) -> pd.DataFrame:
        """One line per bin, exactly the numbers drawn."""
        columns = ("lower", "upper", "count", "says", "right", "low", "high")
        return pd.DataFrame({"bin": self.bins, **{name: getattr(self, name) for name in columns}})


def class_claims(models: Mapping[str, Predictions], code: int, level: float = LEVEL) -> pd.DataFrame:
    """Mean confidence and accuracy of each model where it predicts one class, one line per model.

    Columns: model, rows (those it predicts as the class), says (their mean confidence), right (the share of them with
    this label). The exact interval of that share at ``level`` (Clopper and Pearson) is low to high. The share of the
    class's own rows among them is found. NaN where there are no rows, and for the interval where rows carry weights.
    Rows in groups count as their effective sample size. What can mislead: right is about rows that are predicted as the
    class, found about rows that are of it.

    >>> p = Predictions.from_confidence([0.9, 0.7, 0.8], predicted=[0, 0, 1], labels=[0, 1, 1])
    >>> class_claims({"net": p}, 0)[["rows", "says", "right", "found"]].values.round(2).tolist()
    [[2.0, 0.8, 0.5, 1.0]]
    """
    lines = []
    for name, predictions in models.items():
        rows, own = _rows(predictions, code), predictions.true_labels == code
        weights = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights
        count, right = float(weights[rows].sum()), float(weights[rows][own[rows]].sum())
        says = float(weights[rows] @ predictions.confidence[rows])
        if predictions.row_groups is None:
            low, high = _interval(predictions, np.array([right]), np.array([count]), level)
        else:
            together = np.zeros(len(rows), dtype=np.intp)
            low, high, _ = shares_in_cells(predictions, together, predictions.correct[rows], rows, 1, level)
        share = right / count if count else np.nan
        found = right / float(weights[own].sum()) if own.any() else np.nan
        lines.append((name, count, says / count if count else np.nan, share, low[0], high[0], found))
    return pd.DataFrame(lines, columns=["model", "rows", "says", "right", "low", "high", "found"])


def class_bins(
    predictions: Predictions, code: int, bins: int | str | BinningScheme | None = None, level: float = LEVEL
) -> ClassBins:
    """The bins of the confidence of one predicted class, as ``class_panels`` draws them, with exact intervals.

    What can mislead: an interval is for one bin. Among many bins, some exclude the confidence by chance.

    References: P1 Fig. 4; Clopper & Pearson 1934.

    >>> p = Predictions.from_confidence([0.9, 0.7, 0.8], predicted=[0, 0, 1], labels=[0, 1, 1])
    >>> class_bins(p, 0, 5).frame()[["bin", "count", "says", "right"]].values.round(2).tolist()
    [[3.0, 1.0, 0.7, 0.0], [4.0, 1.0, 0.9, 1.0]]
    """
    rows = _rows(predictions, code)
    if not len(rows):
        raise NotAnswerable(f"no row is predicted as {_name(predictions, code)}")
    table = tabulate(TopLabel().split(predictions), [as_binning(bins)], pooled=False)[0]
    filled = np.flatnonzero(table.count[code] > 0)
    count, right = table.count[code][filled], table.tally.outcome[code][filled]
    low, high = _interval(predictions, right, count, level)
    groups = predictions.answered.row_groups
    if groups is not None:
        sums = GroupsInCells.of(TopLabel().split(predictions), table, groups)
        low, high = (
            end.reshape(table.count.shape)[code][filled]
            for end in share_ends_of(sums, copies(predictions.weights), level)
        )
    return ClassBins(
        _name(predictions, code),
        filled,
        table.lower[code][filled],
        table.upper[code][filled],
        count,
        table.mean_score[code][filled],
        right / count,
        low,
        high,
        level,
    )


def class_confusions(predictions: Predictions, code: int) -> pd.DataFrame:
    """True classes of rows wrongly predicted as one class: class, rows and share, most rows first.

    ``share`` is of all rows predicted as the class. No line where all of them are right.

    >>> p = Predictions.from_confidence([0.9, 0.7, 0.8], predicted=[0, 0, 0], labels=[0, 1, 1])
    >>> class_confusions(p, 0).round(2).values.tolist()
    [['1', 2.0, 0.67]]
    """
    rows = _rows(predictions, code)
    names = predictions.class_names or ()
    weights = None if predictions.weights is None else predictions.weights[rows]
    count = np.bincount(predictions.true_labels[rows], weights, minlength=len(names)).astype(np.float64)
    total = count.sum()
    count[code] = 0
    order = np.argsort(-count, kind="stable")[: int((count > 0).sum())]
    columns = {"true class": [names[c] for c in order], "rows": count[order], "share": count[order] / (total or np.nan)}
    return pd.DataFrame(columns).astype({"true class": object})


def class_rows(
    predictions: Predictions,
    code: int,
    numbers: ArrayLike | None = None,
    bins: int | str | BinningScheme | None = None,
    b: int | None = None,
    label: int | None = None,
) -> pd.DataFrame:
    """The rows predicted as one class, worst first: the surest of those that are wrong, last the surest that are right.

    The order is that of |right - confidence|, ties as in the predictions. ``numbers`` and columns as in ``row_table``.
    With ``b`` only rows in that one of the ``bins`` of the class are returned; with ``label`` only those with this
    label.

    >>> p = Predictions.from_confidence([0.9, 0.7, 0.8], predicted=[0, 0, 0], labels=[0, 1, 1])
    >>> class_rows(p, 0)["row"].tolist()
    [2, 1, 0]
    >>> class_rows(p, 0, label=0)["row"].tolist()
    [0]
    """
    rows = _rows(predictions, code)
    if b is not None:
        table = tabulate(TopLabel().split(predictions), [as_binning(bins)], pooled=False)[0]
        edges = table.lower[code][1:].astype(predictions.confidence.dtype)
        rows = rows[np.searchsorted(edges, predictions.confidence[rows], side="right") == b]
    if label is not None:
        if not 0 <= label < (predictions.n_classes or 0):
            raise NotAnswerable(f"there is no class {label} here")
        rows = rows[predictions.true_labels[rows] == label]
    if not len(rows):
        place = "" if b is None else " in this bin"
        really = "" if label is None else f" and is of {_name(predictions, label)}"
        raise NotAnswerable(f"no row{place} is predicted as {_name(predictions, code)}{really}")
    off = np.abs(predictions.correct[rows] - predictions.confidence[rows].astype(np.float64))
    return row_table(predictions, rows[np.argsort(-off, kind="stable")], numbers)


def _rows(predictions: Predictions, code: int) -> Codes:
    """Positions of the rows that are answered with the class."""
    if predictions.kind == "confidence":
        raise NotAnswerable("these confidences have no predicted classes")
    if not 0 <= code < (predictions.n_classes or 0):
        raise NotAnswerable(f"there is no class {code} here")
    chosen = predictions.predicted == code
    if predictions.abstained is not None:
        chosen &= ~predictions.abstained
    if predictions.weights is not None:
        chosen &= predictions.weights > 0
    return np.asarray(np.flatnonzero(chosen))


def _name(predictions: Predictions, code: int) -> str:
    return (predictions.class_names or ())[code]


def _interval(predictions: Predictions, right: Float64s, count: Float64s, level: float) -> tuple[Float64s, Float64s]:
    if predictions.weights is not None or not (count > 0).all():
        return np.full(len(count), np.nan), np.full(len(count), np.nan)
    return clopper_pearson(right, count, level)
