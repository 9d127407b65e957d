"""Over- or underconfidence over all rows: mean prediction and observed frequency."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._base.diagram import Diagram
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.diagrams.local_accuracy import points
from calib_core.estimators.base import claimed_rows
from calib_core.inference.intervals.clustered_rows import shares_in_cells
from calib_core.inference.intervals.error_hierarchy import mean_gap
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.mean_gap import FOLDED, MeanGap
from calib_core.inference.intervals.observed_expected import grouped_p_value
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.reductions.base import claims_of
from calib_core.text import at_level, chance, in_percent, share_range, with_ratio


@dataclass(frozen=True, eq=False, repr=False)
class OverallGap(Diagram):
    """All rows as one: mean confidence ``claimed``, share ``right`` with its interval ``low`` to ``high``, ``rows``.

    ``direction`` is "overconfident" or "underconfident", of the risk of an event (``of_event``) "too high" or "too
    low", where ``p_value`` is at most .05, else empty.
    """

    drawn: ClassVar[bool] = False

    rows: float
    claimed: float
    right: float
    low: float
    high: float
    level: float
    method: str
    p_value: float
    groups: str = ""
    of_event: bool = False

    @property
    def direction(self) -> str:
        """Direction of the gap, if significant."""
        if self.p_value > SIGNIFICANCE:
            return ""
        if self.of_event:
            return "too high" if self.claimed > self.right else "too low"
        return "overconfident" if self.claimed > self.right else "underconfident"

    @property
    def least(self) -> float:
        """The smallest gap that the interval leaves; 0 where none is shown."""
        return max(self.claimed - self.high, self.low - self.claimed, 0.0)

    @property
    def headline(self) -> str:
        """Result over all rows, in a few words."""
        if not self.direction:
            return "No significant gap on average"
        whose = f"Risks {self.direction}" if self.of_event else self.direction.capitalize()
        return f"{whose} by {points(self.claimed - self.right)}"

    @property
    def basis(self) -> str:
        """Numbers behind the result, in a sentence."""
        words = f"Mean confidence {in_percent(self.claimed)}, accuracy {in_percent(self.right)}"
        if self.of_event:
            says, right = with_ratio(self.claimed, self.right)
            words = f"Mean predicted risk {says}, observed frequency {right}"
        ends = f"{share_range(self.low, self.high)}, {at_level(self.level)} interval"
        note = "" if self.direction else " Gaps that cancel are not visible here."
        return f"{words} ({ends}; {self.rows:,.0f} rows{self.groups}; {chance(self.p_value)}).{note}"

    def frame(self) -> pd.DataFrame:
        """One line with the numbers and their sentence."""
        numbers = {"rows": self.rows, "claimed": self.claimed, "right": self.right, "low": self.low, "high": self.high}
        numbers["p"] = self.p_value
        words = {"direction": self.direction, "headline": self.headline, "basis": self.basis, "method": self.method}
        return pd.DataFrame([numbers | {"gap": self.right - self.claimed} | words])


def overall_gap(
    predictions: Predictions,
    level: float = LEVEL,
    bins: int | str | BinningScheme | None = None,
    notion: str | None = None,
) -> OverallGap:
    """Test whether the model is significantly over- or underconfident on average.

    claimed = mean confidence, right = share right; a gap is shown where p is at most .05, as in ``findings``. The
    interval of the mean chance of being right, and p, are those of ``inference.mean_gap``, at the level that all errors
    in ``bins`` share. No verdict in these bins is therefore that the error is smaller than the gap shown. Rows in
    groups have those of ``shares_in_cells`` and ``grouped_p_value``. What can mislead: gaps of opposite sign cancel; no
    gap on average is not calibration. Rows that a model abstains on are left out. With ``notion`` "event" claimed is
    the mean predicted risk and right the frequency of the event of two classes; None: that for two classes.

    References: P1 eq. (1) with one bin; the interval, see ``inference.mean_gap``.

    >>> overall_gap(Predictions.from_confidence([0.9] * 100, [True] * 70 + [False] * 30)).headline
    'Overconfident by 20 points'
    >>> overall_gap(Predictions.from_confidence([0.9] * 100, [True] * 88 + [False] * 12)).headline
    'No significant gap on average'
    """
    given, predictions = predictions, claimed_rows(predictions, notion)
    notion = "confidence" if given is predictions else "event"
    answered = predictions.answered
    if answered.row_groups is None:
        found = _mean_gap(given, notion, level, bins)
        n = answered.effective_rows
        low, high = (float(np.clip(found.claimed + end, 0.0, 1.0)) for end in (found.low, found.high))
        shown = n, found.claimed, found.came_true, low, high, level, FOLDED, found.p_value
        return OverallGap(*shown, of_event=notion == "event")
    rows = claims_of(predictions, "confidence").stratum(0).counted()
    if not len(rows.scores):
        raise NotAnswerable("there are no rows to evaluate: the model abstains on all, or their weights are 0")
    scores = rows.scores.astype(np.float64)
    claimed, right = (float(np.average(part, weights=rows.weights)) for part in (scores, rows.outcomes))
    every = np.arange(answered.n_rows)
    lows, highs, method = shares_in_cells(answered, np.zeros_like(every), answered.correct, every, 1, level)
    among = f" in {answered.row_groups.words}"
    ends = float(lows[0]), float(highs[0])
    of_event = notion == "event"
    p = grouped_p_value(EventRows.of_claims(claims_of(answered, "confidence"), answered))
    return OverallGap(answered.effective_rows, claimed, right, *ends, level, method, p, among, of_event)


def _mean_gap(predictions: Predictions, notion: str, level: float, bins: int | str | BinningScheme | None) -> MeanGap:
    """Read at the level that lines in these bins share; in the default ones where confidence has none like these."""
    if bins is not None:
        with suppress(NotAnswerable):
            return mean_gap(predictions, notion, level, bins)
    try:
        return mean_gap(predictions, notion, level)
    except NotAnswerable as why:
        raise NotAnswerable("there are no rows to evaluate: the model abstains on all, or their weights are 0") from why
