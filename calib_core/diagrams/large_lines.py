"""Calibration in the large as a picture: mean risk, O:E, intercept and slope, each beside its value when calibrated."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL
from calib_core.diagrams.base import Diagram
from calib_core.predictions.predictions import Predictions
from calib_core.risk.event_scores import scores, summary
from calib_core.risk.in_the_large import COLUMNS, InTheLarge, in_the_large

DRAWN = ("observed", "ratio", "intercept", "slope")
"""The measures that are drawn, a line each; the observed frequency beside the mean predicted risk."""


@dataclass(frozen=True, eq=False, repr=False)
class LargeLines(Diagram):
    """Predicted and observed events of all rows (``found``), and every measure of ``risk.summary`` (``measures``)."""

    found: InTheLarge
    measures: pd.DataFrame

    @property
    def lines(self) -> pd.DataFrame:
        """Those drawn: measure, value, low, high and reference, the value of a calibrated model."""
        drawn = self.measures.set_index("measure").loc[list(DRAWN), ["value", "low", "high", "reference"]].reset_index()
        drawn.loc[drawn["measure"] == "observed", "reference"] = self.found.mean_predicted
        return drawn

    def frame(self) -> pd.DataFrame:
        """One line per measure, as ``risk.summary`` gives them."""
        return self.measures


def large_lines(
    predictions: Predictions,
    level: float = LEVEL,
    bins: int | str | BinningScheme | None = None,
    *,
    curve: bool = False,
) -> LargeLines:
    """Calibration in the large of the event's predicted risk, to be drawn: what is predicted beside what happened.

    Mean predicted risk and observed frequency, the ratio of observed to expected events, calibration intercept and
    slope, each with its interval and its value for a calibrated model (``risk.in_the_large``). The frame has the
    measures of ``risk.summary``; those of the smooth curve (ICI, E50, E90, Emax), which take longest, only with
    ``curve``. What can mislead: right on average is not calibrated, since gaps of opposite sign cancel.

    References: Van Calster et al. 2019, BMC Medicine 17.

    >>> found = large_lines(Predictions([[0.8, 0.2]] * 50 + [[0.4, 0.6]] * 50, [0, 0, 0, 0, 1] * 10 + [1, 0] * 25))
    >>> found.lines[["measure", "value", "reference"]].round(2).values.tolist()[:2]
    [['observed', 0.35, 0.4], ['ratio', 0.88, 1.0]]
    """
    found = in_the_large(predictions, level, bins)
    if curve:
        return LargeLines(found, summary(predictions, level, bins))
    parts = (found.frame(), scores(predictions, level))
    lines = [line for part in parts for line in part[list(COLUMNS)].itertuples(index=False, name=None)]
    return LargeLines(found, pd.DataFrame(lines, columns=list(COLUMNS)))
