"""Over- or under-confident over all rows: what is said on average beside how often it is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core.defaults import LEVEL
from calib_core.diagrams.base import Diagram
from calib_core.diagrams.local_accuracy import points
from calib_core.inference.clusters import shares_in_cells
from calib_core.inference.number_words import at_level, in_percent, share_range
from calib_core.inference.right_shares import COUNTED, WEIGHED, share_ends
from calib_core.predictions import NotAnswerable, Predictions, whole
from calib_core.reductions import claims_of


@dataclass(frozen=True, eq=False, repr=False)
class OverallGap(Diagram):
    """All rows as one: mean confidence ``claimed``, share ``right`` with its interval ``low`` to ``high``, ``rows``.

    ``direction`` is "over-confident" or "under-confident" where the interval excludes what is claimed, else empty.
    """

    drawn: ClassVar[bool] = False

    rows: float
    claimed: float
    right: float
    low: float
    high: float
    level: float
    method: str
    groups: str = ""

    @property
    def direction(self) -> str:
        """Which way the gap goes, where one is shown."""
        if self.low <= self.claimed <= self.high:
            return ""
        return "over-confident" if self.claimed > self.high else "under-confident"

    @property
    def least(self) -> float:
        """The smallest gap that the interval leaves; 0 where none is shown."""
        return max(self.claimed - self.high, self.low - self.claimed, 0.0)

    @property
    def headline(self) -> str:
        """What is shown about all rows taken together."""
        if not self.direction:
            return "No gap shown on average"
        return f"{self.direction.capitalize()} by {points(self.claimed - self.right)}"

    @property
    def basis(self) -> str:
        """What it rests on."""
        words = f"Says {in_percent(self.claimed)} on average, right {in_percent(self.right)} of the time"
        ends = f"{share_range(self.low, self.high)}, {at_level(self.level)} interval"
        note = "" if self.direction else " Gaps that cancel do not show here."
        return f"{words} ({ends}; {self.rows:,.0f} rows{self.groups}).{note}"

    def frame(self) -> pd.DataFrame:
        """One line with the numbers and what they say."""
        numbers = {"rows": self.rows, "claimed": self.claimed, "right": self.right, "low": self.low, "high": self.high}
        words = {"direction": self.direction, "headline": self.headline, "basis": self.basis, "method": self.method}
        return pd.DataFrame([numbers | {"gap": self.claimed - self.right} | words])


def overall_gap(predictions: Predictions, level: float = LEVEL) -> OverallGap:
    """Is the model over- or under-confident on average, beyond what chance explains?

    claimed = mean confidence, right = share right; a gap is shown where the interval of the mean chance of being right
    (``share_ends``) excludes what is claimed. What can mislead: gaps of opposite sign cancel; no gap on average is not
    calibration. Rows that a model abstains on are left out.

    References: P1 eq. (1) with one bin; Clopper & Pearson 1934.

    >>> overall_gap(Predictions.from_confidence([0.9] * 100, [True] * 70 + [False] * 30)).headline
    'Over-confident by 20 points'
    >>> overall_gap(Predictions.from_confidence([0.9] * 100, [True] * 88 + [False] * 12)).headline
    'No gap shown on average'
    """
    if predictions.grain == "counts":
        claimed, right, n = predictions.mean_confidence, predictions.accuracy, float(predictions.n_rows)
        low, high = share_ends(np.array([right]), np.array([n]), True, level)
        return OverallGap(n, claimed, right, float(low[0]), float(high[0]), level, COUNTED)
    rows = claims_of(predictions, "confidence").stratum(0).counted()
    if not len(rows.scores):
        raise NotAnswerable("no row says anything: all are abstained on, or carry no weight")
    scores = rows.scores.astype(np.float64)
    claimed, right = (float(np.average(part, weights=rows.weights)) for part in (scores, rows.outcomes))
    counted = predictions.weights is None or whole(predictions.weights)
    worth, answered = predictions.answered.effective_rows, predictions.answered
    if answered.row_groups is None:
        low, high = share_ends(np.array([right]), np.array([worth]), counted, level)
        method = COUNTED if counted else WEIGHED
    else:
        every = np.arange(answered.n_rows)
        low, high, method = shares_in_cells(answered, np.zeros_like(every), answered.correct, every, 1, level)
    among = "" if answered.row_groups is None else f" in {answered.row_groups.words}"
    return OverallGap(worth, claimed, right, float(low[0]), float(high[0]), level, method, among)
