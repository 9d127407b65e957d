"""Rows whose confidence lies in a range: what models say of them, and how often they are right."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes
from calib_core.defaults import LEVEL
from calib_core.estimators.default_notion import claimed_rows
from calib_core.inference.intervals.clustered_rows import shares_in_cells
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions


def rows_in_range(predictions: Predictions, low: float = 0.0, high: float = 1.0, predicted: int | None = None) -> Codes:
    """Positions of the rows whose confidence lies in [low, high), or [low, 1]; of one ``predicted`` class, if given.

    Rows that a model abstains on lie nowhere. Ends are compared as confidences are stored, as bins' edges are.

    >>> p = Predictions.from_confidence([0.2, 0.5, 0.7, 1.0], [True] * 4)
    >>> rows_in_range(p, 0.5, 0.7).tolist(), rows_in_range(p, 0.7, 1).tolist()
    ([1], [2, 3])
    """
    if not 0 <= low < high <= 1:
        raise InputError(f"the range is {low} to {high}; it must ascend and lie from 0 to 1")
    says = predictions.confidence
    first, last = says.dtype.type(low), says.dtype.type(high)
    inside = (says >= first) & ((says < last) | (high >= 1))
    if predictions.abstained is not None:
        inside &= ~predictions.abstained
    if predicted is not None:
        if predictions.kind == "confidence":
            raise NotAnswerable("these are confidences only: the predicted classes are not known")
        inside &= predictions.predicted == predicted
    return np.asarray(np.flatnonzero(inside), dtype=np.intp)


def models_in_range(
    models: Mapping[str, Predictions],
    low: float = 0.0,
    high: float = 1.0,
    predicted: int | None = None,
    level: float = LEVEL,
    notion: str | None = "confidence",
) -> pd.DataFrame:
    """What each model says on average of its rows in a range of the confidence, and how often it is right there.

    One line a model: model, rows, says, right, and the exact interval ``right_low`` to ``right_high`` of the share that
    is right, at ``level`` each; NaN where it has no rows there. Weighted rows count with their weights, and the
    interval takes them, and rows that belong together, as the fewer equal rows they are worth. What can mislead: models
    have different rows in one range, since what they say of a row differs. With ``notion`` "event" says is the mean
    predicted risk of the event of two classes and right how often it happened; None: that for two classes.

    References: Clopper & Pearson 1934.

    >>> p = Predictions.from_confidence([0.55] * 4 + [0.9], [True, False, False, True, True])
    >>> models_in_range({"net": p}, 0.5, 0.6).round(2).values.tolist()
    [['net', 4, 0.55, 0.5, 0.1, 0.9]]
    """
    lines = []
    for title, given in models.items():
        predictions = claimed_rows(given, notion)
        rows = rows_in_range(predictions, low, high, predicted)
        line: dict[str, object] = {"model": title, "rows": len(rows)}
        names = ("says", "right", "right_low", "right_high")
        if not len(rows):
            lines.append({**line, **dict.fromkeys(names, np.nan)})
            continue
        weights = np.ones(len(rows)) if predictions.weights is None else predictions.weights[rows]
        share = weights / weights.sum()
        says = float(share @ predictions.confidence[rows])
        right = float(share @ predictions.correct[rows])
        if predictions.row_groups is None:
            n = np.array([len(rows) if predictions.weights is None else _worth(predictions, rows)])
            ends = clopper_pearson(right * n, n, level)
        else:
            together = np.zeros(len(rows), dtype=np.intp)
            ends = shares_in_cells(predictions, together, predictions.correct[rows], rows, 1, level)[:2]
        lines.append({**line, **dict(zip(names, (says, right, float(ends[0][0]), float(ends[1][0])), strict=True))})
    return pd.DataFrame(lines, columns=["model", "rows", "says", "right", "right_low", "right_high"])


def _worth(predictions: Predictions, rows: Codes) -> float:
    """How many equal rows these are worth; rows weighted by whole numbers stand for that many."""
    assert predictions.weights is not None
    weights = np.asarray(predictions.weights[rows], dtype=np.float64)
    if predictions.written_out().weights is None:
        return float(weights.sum())
    return float(weights.sum() ** 2 / np.square(weights).sum())
