"""Calibration over time: predictions and outcomes by period, and since when an error is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes
from calib_core._base.diagram import Diagram
from calib_core.columns.periods import AUTO, Periods, periods
from calib_core.defaults import LEVEL, SIGNIFICANCE, TOLERANCE
from calib_core.estimators.base import claimed_rows, notion_looked_at
from calib_core.monitoring.e_processes import alpha_of_start, gaps_so_far
from calib_core.monitoring.watched_model import Watch, WatchAnswer, between_points, direction
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.slices.gaps import judged
from calib_core.text import at_level, count, several, short_percent

QUANTILES = (0.1, 0.5, 0.9)
"""Shares of a period's rows with a smaller score: the middle 80 % and the median."""


@dataclass(frozen=True, eq=False, repr=False)
class OverTime(Diagram):
    """Calibration of each period, and the answer of a watch over all of them.

    ``lines`` is the result of ``frame``. ``answer`` is that of ``monitoring.Watch`` with these periods as its year.
    ``unit`` is "day", "week", "month", "quarter" or "year", or "value" for numbered periods. ``without_date`` rows are
    left out. ``linked`` groups of rows have rows in several periods. ``level`` is that of the intervals of single
    periods.
    """

    column: str
    unit: str
    notion: str
    lines: pd.DataFrame
    answer: WatchAnswer
    since: str
    alarm_in: str
    level: float
    without_date: int
    linked: int

    def frame(self) -> pd.DataFrame:
        """One line per period, in order: see ``over_time``."""
        return self.lines

    @property
    def periods(self) -> str:
        """Number of periods in words."""
        return several(len(self.lines), "periods" if self.unit == "value" else f"{self.unit}s")

    @property
    def sentence(self) -> str:
        """Since when an error is shown and how large it is, or that there is no alarm."""
        found = self.answer
        gap, size = between_points(found.gap_low, found.gap_high), direction(found.gap_low, found.gap_high)
        if not found.alarm:
            return f"No alarm in {self.periods}. The mean gap (observed minus predicted) is {gap}."
        what = "predicted risks are" if self.notion == "event" else "the confidence is"
        if not size:
            return f"Since about {self.since}, {found.tolerated}. The mean gap is {gap}."
        return f"Since about {self.since}, {what} {size}."

    @property
    def promise(self) -> str:
        """When the alarm was given, and how often it would be false."""
        alarm = f"Alarm {self.alarm_in}. " if self.answer.alarm else ""
        return (
            f"{alarm}{several(self.answer.rows, 'outcomes')}. The chance of a false alarm over these {self.periods} is "
            f"at most {short_percent(self.answer.alpha)}, however often you look."
        )

    @property
    def by_chance(self) -> str:
        """Number of periods whose own interval misses the prediction, beside the number expected by chance."""
        missed, expected = int(self.lines["misses"].sum()), (1 - self.level) * len(self.lines)
        return (
            f"The {at_level(self.level)} interval excludes the prediction in {count(missed)} of {self.periods}; up to "
            f"{max(round(expected), 1)} would be expected of a calibrated model. A single period is no alarm."
        )

    def _line(self) -> str:
        return f"{self.sentence} {self.promise}"


def over_time(
    predictions: Predictions,
    by: str,
    every: str = AUTO,
    tolerance: float = TOLERANCE,
    ratio: float | None = None,
    alpha: float = SIGNIFICANCE,
    level: float = LEVEL,
    notion: str | None = None,
) -> OverTime:
    """Compare predictions and outcomes by period, and say since when an error is shown.

    ``by`` is a metadata column of dates or whole numbers, and ``every`` the length of a period
    (``columns.periods.periods``). ``tolerance``, ``ratio`` and ``alpha`` are as for ``Watch``. The periods are its
    year: over all of them the chance of a false alarm is at most ``alpha``. ``notion`` is "event" (the risk),
    "confidence" or None ("event" for two classes, else "confidence"). Columns of ``frame()``:

    - period (in words), where (its slice), start (first day or number), rows, groups (if there are any);
    - predicted and observed means, gap = observed - predicted;
    - low and high (interval of the observed mean at ``level``, exact for independent rows), misses (it excludes the
      prediction);
    - score_low, score_median, score_high (10 %, 50 % and 90 % quantiles of the predictions);
    - e_value (evidence after the period; an alarm at 1 / ``alpha``);
    - mean_gap, mean_low, mean_high (gap of all rows so far, with ends valid at all times);
    - since_gap, since_low, since_high (the same from the period on that explains an alarm best; NaN without one).

    What can mislead: the intervals of single periods miss by chance, so that they are no alarm. Periods whose outcomes
    are not complete look miscalibrated. Groups with rows in several periods are not independent of each other.
    NotAnswerable for weights, summaries and fewer than two periods.

    >>> rng = np.random.default_rng(0)
    >>> risk, day = rng.uniform(0.1, 0.5, 3200), np.datetime64("2026-01-01") + np.arange(3200) // 13
    >>> died = rng.random(3200) < np.where(day < np.datetime64("2026-06-01"), risk, risk / 2)
    >>> seen = pd.DataFrame({"seen": day.astype(str)})
    >>> rows = Predictions(np.column_stack([1 - risk, risk]), died.astype(int), metadata=seen)
    >>> found = over_time(rows, "seen")
    >>> found.unit, found.since, found.answer.alarm
    ('week', 'June 1, 2026', True)
    """
    notion = notion or notion_looked_at(predictions)
    rows, cut = rows_by_period(predictions, by, every, notion)
    watch = watched(rows, cut, Watch(tolerance, ratio, alpha=alpha, horizon=len(cut.labels)))
    answer = watch.answer()
    scores = np.array([np.quantile(rows.confidence[here].astype(np.float64), QUANTILES) for here in cut.places])
    own = means(rows, cut.places, level)
    lines = pd.DataFrame(
        {
            "period": list(cut.titles),
            "where": [str(condition) for condition in cut.conditions],
            "start": list(cut.labels),
            **own,
            "misses": ~inside(own),
            **dict(zip(("score_low", "score_median", "score_high"), scores.T, strict=True)),
            "e_value": watch.frame()["e_value"],
        }
    )
    sums = watch.sums_by_period(list(cut.labels))
    lines[["mean_gap", "mean_low", "mean_high"]] = gaps_so_far(sums, alpha)
    start = cut.labels.index(answer.since)
    lines[["since_gap", "since_low", "since_high"]] = np.nan
    if answer.alarm:
        joint = alpha_of_start(start, len(cut.labels), alpha)
        since = gaps_so_far(watch.sums_by_period(list(cut.labels[start:])), joint)
        lines.loc[start:, ["since_gap", "since_low", "since_high"]] = since
    alarm_in = "" if answer.alarm_period is None else cut.names[cut.labels.index(answer.alarm_period)]
    together = 0
    if rows.groups is not None:
        known = cut.codes >= 0
        pairs = np.unique(np.column_stack([rows.groups[known], cut.codes[known]]), axis=0)
        together = int((np.bincount(pairs[:, 0]) > 1).sum())
    return OverTime(by, cut.unit, notion, lines, answer, cut.begins[start], alarm_in, level, cut.without_date, together)


def rows_by_period(predictions: Predictions, by: str, every: str, notion: str) -> tuple[Predictions, Periods]:
    """Return the claims of the answered rows and their periods; NotAnswerable if a watch cannot take them."""
    rows = claimed_rows(predictions, notion).answered
    if rows.grain == "counts":
        raise NotAnswerable("a summary has counts without their order in time: open the original file")
    if rows.weights is not None:
        raise NotAnswerable("periods are compared for rows without weights, as they arrive")
    cut = periods(rows, by, every)
    if len(cut.labels) < 2:
        raise NotAnswerable(f"the column {by[:80]!r} has only one period; choose shorter periods or another column")
    return rows, cut


def watched(rows: Predictions, cut: Periods, watch: Watch, *, to_alarm: bool = False) -> Watch:
    """Return the watch after all periods in their order, or after the one with the first alarm."""
    for label, here in zip(cut.labels, cut.places, strict=True):
        watch = watch.add(rows.take(here), label, batch=label)
        if to_alarm and watch.years[-1].first is not None:
            break
    return watch


def means(rows: Predictions, places: Sequence[Codes], level: float) -> pd.DataFrame:
    """Predicted and observed means of rows at these positions, with the interval of the latter (``slices.table``)."""
    own = judged(rows, places, level=level).rename(columns={"claimed": "predicted", "right": "observed"})
    return own[[name for name in ("rows", "groups", "predicted", "observed", "gap", "low", "high") if name in own]]


def inside(lines: pd.DataFrame) -> pd.Series[bool]:
    """Whether the interval of each line contains the prediction."""
    return (lines["low"] <= lines["predicted"]) & (lines["predicted"] <= lines["high"])
