"""The diagram of a predicted risk: its bins, where a calibrated model's would be, a smooth curve, and the events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import NotAnswerable
from calib_core.binning import risk_bins
from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.interval_schemes import bins_said
from calib_core.defaults import LEVEL, SEED
from calib_core.diagrams.bins_that_stand_out import reliability_bands
from calib_core.diagrams.curve import kernel_curve
from calib_core.diagrams.reliability import reliability
from calib_core.estimators.base import claimed_rows, event_name
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.top import Confidence
from calib_core.risk import smooth_curve
from calib_core.risk.in_the_large import COLUMNS, InTheLarge, in_the_large, scores, summary
from calib_core.risk.smooth_curve import SmoothCurve

_STEPS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01)
_FINEST_COUNTED = 0.001
"""The finest even steps of which a summary's grid has every edge."""
_MOST_SPIKES = 150


@dataclass(frozen=True, eq=False, repr=False)
class RiskDiagram(Diagram):
    """Bins of the predicted risk of an event as arrays (bins,), NaN where a bin is empty; the curve; and the spikes.

    ``risk`` is the mean in a bin, ``observed`` the frequency of the event with its exact interval ``low`` to ``high``.
    ``band_low`` to ``band_high`` contains the frequency for a calibrated model. All are at ``level`` per bin. ``curve``
    is None where there is none, and ``note`` is the reason. ``spikes`` counts rows with the event and without it in
    steps of the risk: ``score`` (the middle), ``events``, ``others``. ``bins`` names the bins. ``ranges`` are the ones
    of risks with enough rows to draw the curve: those of the ``kernel_curve``.
    """

    formula: ClassVar[str] = r"\bar p_b = \frac{1}{n_b} \sum_{i \in b} p_i \;\mapsto\; \frac{1}{n_b} \sum_{i \in b} y_i"

    event: str
    bins: str
    lower: Float64s
    upper: Float64s
    count: Float64s
    risk: Float64s
    observed: Float64s
    low: Float64s
    high: Float64s
    band_low: Float64s
    band_high: Float64s
    curve: SmoothCurve | None
    spikes: pd.DataFrame
    level: float
    note: str = ""
    ranges: Float64s | None = None

    @property
    def events(self) -> float:
        """Number of rows with the event."""
        return float(self.spikes["events"].sum())

    @property
    def rows(self) -> float:
        """Number of rows."""
        return self.events + float(self.spikes["others"].sum())

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest risk that are drawn."""
        return float(self.spikes["score"].min()), float(self.spikes["score"].max())

    def frame(self) -> pd.DataFrame:
        """One line per non-empty bin, exactly the numbers drawn."""
        names = ("lower", "upper", "count", "risk", "observed", "low", "high", "band_low", "band_high")
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame({"bin": np.arange(len(self.lower)), **columns})[self.count > 0].reset_index(drop=True)


def risk_diagram(
    predictions: Predictions,
    bins: int | str | Sequence[float] | BinningScheme | None = None,
    level: float = LEVEL,
    random_state: int = SEED,
) -> RiskDiagram:
    """Observed frequency of the event of two classes against its predicted risk, in bins and as a smooth curve.

    Each bin b has the mean risk sum_b p_i / n_b and the observed frequency sum_b y_i / n_b with its exact interval. The
    intervals, consistency band and ``bins`` are those of ``reliability_bands``. The curve is ``risk.smooth_curve``,
    over the risks that the data have. What can mislead: intervals and band are for one bin each; of ten bins of a
    calibrated model one lies outside its 90 % band on average. The curve smooths away what is finer than its knots.
    NotAnswerable without an event.

    References: Van Calster et al. 2019, BMC Medicine 17 (calibration curves of risks); Clopper & Pearson 1934; Broecker
    & Smith 2007 (bands); Harrell 2015, §2.4 (the curve).

    >>> s = np.linspace(0.01, 0.4, 400)
    >>> y = (np.arange(400) * 7 % 20) < 10 * s  # half as often as predicted
    >>> found = risk_diagram(Predictions(np.column_stack([1 - s, s]), y.astype(int)), 5)
    >>> found.frame()[["risk", "observed"]].round(2).values.tolist()
    [[0.1, 0.08], [0.3, 0.17], [0.4, 0.0]]
    """
    rows = claimed_rows(predictions, "event")
    claims = Confidence().split(rows)
    scheme = risk_bins(claims, None if bins is None else as_binning(bins))
    diagram = reliability(predictions, scheme, notion="event")
    bands = reliability_bands(predictions, scheme, "event", level=level, random_state=random_state)
    curve, note = None, ""
    try:
        curve = smooth_curve(predictions, level, intervals=False)  # distances are not drawn
    except NotAnswerable as why:
        note = f"no smooth curve: {why}"
    return RiskDiagram(
        event_name(predictions),
        bins_said(scheme),
        diagram.lower,
        diagram.upper,
        diagram.count,
        diagram.confidence,
        diagram.accuracy,
        bands.accuracy_low,
        bands.accuracy_high,
        bands.band_low,
        bands.band_high,
        curve,
        _spikes(claims),
        level,
        note,
        None if curve is None or claims.grain == "counts" else kernel_curve(predictions, "event", band="none").ranges,
    )


def _spikes(claims: Any) -> pd.DataFrame:
    """Rows with and without the event in even steps of the risk, as fine as can be seen."""
    coarse = np.arange(1, 100) / 100
    filled = np.flatnonzero(claims.tally(coarse.astype(claims.dtype)).count[0] > 0)
    low, high = filled[0] / 100, (filled[-1] + 1) / 100
    finest = _FINEST_COUNTED if claims.grain == "counts" else _STEPS[0]
    step = next((step for step in _STEPS if step >= finest and (high - low) / step <= _MOST_SPIKES), _STEPS[-1])
    # Whole numbers divided, not steps multiplied: 69 / 200 is the 0.345 that counts are kept at, 69 * 0.005 is not.
    edges = np.arange(round(low / step), round(high / step) + 1) / round(1 / step)
    tally = claims.tally(edges[1:-1].astype(claims.dtype))
    count, events = tally.count[0], tally.outcome[0]
    table = pd.DataFrame({"score": (edges[:-1] + edges[1:]) / 2, "events": events, "others": count - events})
    spikes: pd.DataFrame = table[count > 0].reset_index(drop=True)
    return spikes


DRAWN = ("observed", "ratio", "intercept", "slope")
"""The drawn measures, one line each; observed frequency next to mean predicted risk."""


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
    """Calibration in the large of the event's predicted risk, for drawing: predicted and observed.

    Mean predicted risk and observed frequency, the ratio of observed to expected events, and calibration intercept and
    slope. Each has its interval and its value for a calibrated model (``risk.in_the_large``). The frame has the
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
