"""Stated confidences, each a point of its own, and the rows whose confidence lies in a range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import InputError, NotAnswerable, as_share
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.diagrams.bins_that_stand_out import OVER, UNDER
from calib_core.estimators.base import claimed_rows
from calib_core.inference.intervals.clustered_rows import shares_in_cells
from calib_core.inference.intervals.elementary import clopper_pearson, share_test
from calib_core.inference.intervals.influence_functions import counting
from calib_core.inference.significance.count_tests import counts_rows, worth_of_cells
from calib_core.inference.significance.multiple_testing import holm
from calib_core.predictions.predictions import Predictions, whole
from calib_core.text import told_apart

MOST_LEVELS = 50
"""Distinct confidences that are drawn as points of their own at most."""


@dataclass(frozen=True, eq=False, repr=False)
class Levels(Diagram):
    """Arrays are (m,), one entry for each distinct ``confidence``, ascending.

    ``rows`` is the number of rows that state it (or their effective sample size) and ``share`` their share of all rows.
    ``right`` is their accuracy, with its interval ``low`` to ``high`` at ``level`` by ``method``. ``p`` is that of the
    test that accuracy equals confidence; ``p_holm`` is corrected for the number of levels.
    """

    formula: ClassVar[str] = r"h \mapsto \frac{1}{n_h} \sum_{i:\,h_i = h} 1\{y_i = c_i\}"

    confidence: Float64s
    rows: Float64s
    share: Float64s
    right: Float64s
    low: Float64s
    high: Float64s
    p: Float64s
    p_holm: Float64s
    level: float
    method: str

    @property
    def stands_out(self) -> tuple[str, ...]:
        """Overconfident or underconfident where ``p_holm`` is at most 0.05, else empty."""
        sides = np.where(self.right < self.confidence, OVER, UNDER)
        return tuple(np.where(self.p_holm <= SIGNIFICANCE, sides, "").tolist())

    @property
    def headline(self) -> str:
        """Number of significant levels, and the one that contributes most to the gap."""
        m, off = len(self.confidence), np.array(self.stands_out) != ""
        if not off.any():
            return (
                "Its only level is not significantly off" if m == 1 else f"None of the {m} levels is significantly off"
            )
        worst = int(np.argmax(np.where(off, self.share * np.abs(self.confidence - self.right), -1.0)))
        says, right = told_apart(float(self.confidence[worst]), float(self.right[worst]))
        found = int(off.sum())
        verb = "is" if found == 1 else "are"
        count = "Its only level is significantly off" if m == 1 else f"{found} of {m} levels {verb} significantly off"
        return f"{count}{'; the largest contribution' if found > 1 else ''}: confidence {says}, accuracy {right}"

    def frame(self) -> pd.DataFrame:
        """One line per level, exactly the numbers drawn."""
        names = ("confidence", "rows", "share", "right", "low", "high", "p", "p_holm")
        return pd.DataFrame({name: getattr(self, name) for name in names}).assign(stands_out=self.stands_out)


def levels(predictions: Predictions, level: float = LEVEL) -> Levels:
    """Accuracy at each confidence level, for models with few distinct confidences.

    At each distinct confidence h: right = k_h / n_h of the n_h rows that state it, with its exact interval (Clopper and
    Pearson). The p-value is p = min(1, 2 min(P(X <= k_h), P(X >= k_h))) with X binomial of n_h and h. It is exact for a
    calibrated model, since no confidences are pooled. Corrected p-values (p_holm) are for the number of levels: the
    chance that any level without a gap has one of at most 0.05 is at most 5 %. Rows of unequal weight have Hoeffding's
    interval and p = min(1, 2 exp(-2 n_h (right - h)^2)), with n_h the effective sample size. Rows in groups have the
    same p with each group as one row, and an interval at their effective sample size. Rows that a model abstains on
    state nothing.

    NotAnswerable beyond 50 distinct confidences. What can mislead: intervals are not corrected for multiple testing. A
    level of few rows can hardly be significant, and gaps of several classes can cancel at a level.

    References: P1 App. F (one bin a value); Clopper & Pearson 1934; Holm 1979; Hoeffding 1963 (weights).

    >>> found = levels(Predictions.from_confidence([0.5, 0.5, 0.9, 0.9], [True, False, False, False]))
    >>> found.frame()[["confidence", "rows", "right", "p"]].round(3).values.tolist()  # 2 * 0.1^2
    [[0.5, 2.0, 0.5, 1.0], [0.9, 2.0, 0.0, 0.02]]
    >>> found.headline
    '1 of 2 levels is significantly off: confidence 90 %, accuracy 0 %'
    """
    as_share(level, "level")
    rows = counting(predictions)
    values, codes = np.unique(rows.confidence, return_inverse=True)
    if len(values) > MOST_LEVELS:
        raise NotAnswerable(
            f"confidences take {len(values):,} values; with more than {MOST_LEVELS}, few have enough rows for a point "
            "each. Use bins, in the view Reliability"
        )
    weights = np.ones(len(codes)) if rows.weights is None else rows.weights.astype(np.float64)
    total, squares = (np.bincount(codes, part).astype(np.float64) for part in (weights, np.square(weights)))
    right, stated = np.bincount(codes, weights * rows.correct) / total, values.astype(np.float64)
    number = total if rows.weights is None or whole(rows.weights) else np.square(total) / squares
    low, high, method = shares_in_cells(rows, codes, rows.correct, np.arange(len(codes)), len(values), level)
    p = share_test(right, stated, worth_of_cells(rows, codes, len(values)), counts_rows(rows))
    return Levels(stated, number, total / total.sum(), right, low, high, p, holm(p), level, method)


def rows_in_range(predictions: Predictions, low: float = 0.0, high: float = 1.0, predicted: int | None = None) -> Codes:
    """Positions of the rows whose confidence lies in [low, high), or [low, 1]; of one ``predicted`` class, if given.

    Rows that a model abstains on lie nowhere. Ends are compared as confidences are stored, as bins' edges are.

    >>> p = Predictions.from_confidence([0.2, 0.5, 0.7, 1.0], [True] * 4)
    >>> rows_in_range(p, 0.5, 0.7).tolist(), rows_in_range(p, 0.7, 1).tolist()
    ([1], [2, 3])
    """
    if not 0 <= low < high <= 1:
        raise InputError(f"the range is {low} to {high}; it must be ascending and between 0 and 1")
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
    notion: str | None = None,
) -> pd.DataFrame:
    """Mean confidence and accuracy of each model in a range of the confidence.

    One line per model: model, rows, says, right, and the exact interval ``right_low`` to ``right_high`` of the
    accuracy, at ``level`` each. Values are NaN where the model has no rows there. Weighted rows count with their
    weights, in ``rows`` as their copies, or else as one each. In the interval these rows, and rows in groups, count as
    their effective sample size. What can mislead: models have different rows in one range, since their predictions for
    a row differ. With ``notion`` "event", says is the mean predicted risk of the event of two classes and right its
    frequency. None means "event" for two classes, unless rows are chosen by the class ``predicted``.

    References: Clopper & Pearson 1934.

    >>> p = Predictions.from_confidence([0.55] * 4 + [0.9], [True, False, False, True, True])
    >>> models_in_range({"net": p}, 0.5, 0.6).round(2).values.tolist()
    [['net', 4, 0.55, 0.5, 0.1, 0.9]]
    """
    if notion is None and predicted is not None:
        notion = "confidence"
    lines = []
    for title, given in models.items():
        predictions = claimed_rows(given, notion)
        rows = rows_in_range(predictions, low, high, predicted)
        weights = np.ones(len(rows)) if predictions.weights is None else predictions.weights[rows]
        number = weights if whole(predictions.weights) else weights > 0
        line: dict[str, object] = {"model": title, "rows": round(number.sum())}
        names = ("says", "right", "right_low", "right_high")
        if not weights.any():
            lines.append({**line, **dict.fromkeys(names, np.nan)})
            continue
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
    """Effective sample size of these rows; whole-number weights count as copies."""
    assert predictions.weights is not None
    weights = np.asarray(predictions.weights[rows], dtype=np.float64)
    if whole(predictions.weights):
        return float(weights.sum())
    return float(weights.sum() ** 2 / np.square(weights).sum())
