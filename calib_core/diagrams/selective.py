"""Answering only where it is surest: how often it is wrong among the answered, for every share that is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import as_share
from calib_core.defaults import LEVEL
from calib_core.inference.intervals.clustered_rows import shares_in_cells
from calib_core.inference.intervals.elementary import COUNTED, WEIGHED, share_ends
from calib_core.inference.intervals.influence_functions import ConfidenceRows, counting
from calib_core.predictions.predictions import Predictions, whole
from calib_core.text import at_level, in_percent, share_range

MOST_POINTS = 400
"""Points of a curve at most, evenly spread over the coverage."""


@dataclass(frozen=True, eq=False, repr=False)
class RiskCoverage(Diagram):
    """Arrays are (m,), an entry for each confidence from which on rows are answered, the surest first.

    Rows with a confidence of at least ``threshold`` are answered: ``coverage`` of all rows, ``rows`` in number (or
    effective sample size). ``risk`` is their error rate, with its interval ``low`` to ``high`` at ``level`` by
    ``method``, for each threshold separately.
    """

    formula: ClassVar[str] = (
        r"t \mapsto \Bigl(\tfrac{1}{n}\,\#\{h_i \ge t\},\;"
        r" \frac{\#\{h_i \ge t,\ y_i \ne c_i\}}{\#\{h_i \ge t\}}\Bigr)"
    )

    threshold: Float64s
    coverage: Float64s
    rows: Float64s
    risk: Float64s
    low: Float64s
    high: Float64s
    level: float
    method: str

    def frame(self) -> pd.DataFrame:
        """One line per point, exactly the numbers drawn."""
        names = ("threshold", "coverage", "rows", "risk", "low", "high")
        return pd.DataFrame({name: getattr(self, name) for name in names})

    def headline(self, coverage: float) -> str:
        """Error rate when at least this share of the rows is answered, for the end of a sentence."""
        i = int(np.searchsorted(self.coverage, coverage - 1e-9))
        ends = f"{share_range(float(self.low[i]), float(self.high[i]))}, {at_level(self.level)} interval"
        if i == len(self.risk) - 1:
            return f"error rate {in_percent(float(self.risk[i]))} over all rows ({ends})"
        return (
            f"error rate {in_percent(float(self.risk[i]))} among the most confident "
            f"{in_percent(float(self.coverage[i]))} of rows ({ends}), {in_percent(float(self.risk[-1]))} over all "
            "rows"
        )


def selective(predictions: Predictions, level: float = LEVEL) -> RiskCoverage:
    """Risk-coverage curve: error rate among the rows with at least a given confidence.

    For each distinct confidence t: coverage = share of rows with h >= t, risk = share of those that is wrong. Rows of
    one confidence are answered together. The interval is exact at each point (``share_ends``): which rows are answered
    is known from their confidences only. Rows in groups count as their effective sample size. With more than 400
    confidences, those are drawn that spread evenly over the coverage. What can mislead: intervals of neighbors share
    most rows, and a point chosen for its risk is one among many. A falling curve means that rows of higher confidence
    have a higher accuracy, not that confidences are right.

    References: El-Yaniv & Wiener 2010; Geifman & El-Yaniv 2017.

    >>> found = selective(Predictions.from_confidence([0.9, 0.9, 0.6, 0.5], [True, True, True, False]))
    >>> found.frame()[["threshold", "coverage", "risk"]].values.tolist()
    [[0.9, 0.5, 0.0], [0.6, 0.75, 0.0], [0.5, 1.0, 0.25]]
    """
    as_share(level, "level")
    own = counting(predictions.written_out())
    rows = ConfidenceRows.of(own)
    counted = predictions.weights is None or whole(predictions.weights)
    (values, codes), (mass, wrong) = rows.levels, rows.masses
    total = np.cumsum(mass)
    coverage = total / total[-1]
    # The first point at or beyond each step of the coverage; the last is all rows.
    steps = np.searchsorted(coverage, np.arange(1, MOST_POINTS) / MOST_POINTS)
    kept = np.unique(np.append(steps, len(values) - 1)) if len(values) > MOST_POINTS else np.arange(len(values))
    risk = np.clip(np.cumsum(wrong) / total, 0.0, 1.0)[kept]
    worth = total[kept]
    if not counted:
        worth = np.square(worth) / np.cumsum(np.bincount(codes, np.square(rows.weights)))[kept]
    if own.row_groups is None:
        low, high = share_ends(risk, worth, counted, level)
        method = COUNTED if counted else WEIGHED
    else:
        ends = [_of_groups(own, np.flatnonzero(rows.h >= t), level) for t in values[kept]]
        low, high, method = np.array([e[0] for e in ends]), np.array([e[1] for e in ends]), ends[0][2]
    return RiskCoverage(values[kept], coverage[kept], worth, risk, low, high, level, method)


def _of_groups(rows: Predictions, answered: Codes, level: float) -> tuple[float, float, str]:
    """Interval of the error rate of grouped rows at these positions."""
    low, high, method = shares_in_cells(rows, np.zeros_like(answered), ~rows.correct[answered], answered, 1, level)
    return float(low[0]), float(high[0]), method
