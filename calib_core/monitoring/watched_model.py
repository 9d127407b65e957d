"""Watch of a released model, batch by batch, with a limit of false alarms that includes every look."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.errors import InputError
from calib_core._base.notebook_display import OneLine
from calib_core.claims.exact_sums import ExactSums, sums_of
from calib_core.defaults import SIGNIFICANCE, TOLERANCE
from calib_core.inference.intervals.influence_functions import ConfidenceRows
from calib_core.monitoring.e_processes import (
    LARGEST_LOG_FACTOR,
    SHIFTS,
    EvidenceByPeriod,
    PeriodSums,
    evidence,
    gap_ends,
    log_factors,
    start_weights,
)
from calib_core.predictions.event_names import title_of_event
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.text import in_points, points_of, several, short_percent

BINS = 10
"""Equal-width bins of [0, 1] for errors in several directions: declared before the first batch, the same for all."""
HORIZON = 52
"""Periods of a year, in which a false alarm has the chance that was asked for: weeks."""
MOST_PERIODS = 1_000
SUMS = 3 + BINS + len(SHIFTS)
"""Sums of a period."""


@dataclass(frozen=True, eq=False, repr=False)
class WatchAnswer(OneLine):
    """Answer of a watch after its last period.

    ``alarm`` is True from the period ``alarm_period`` on, the first whose evidence reached 1 / alpha (None without an
    alarm). ``since`` is the period from which on an error explains the evidence best. ``gap`` is the mean gap since
    then, observed less predicted; without an alarm it is that of the whole year. Its ends are valid at all times.
    ``ratio`` are observed to expected events over the same periods. ``e_value`` is the largest evidence.
    1 / ``e_value`` is a p-value that stays valid however often one looks.
    """

    alarm: bool
    alarm_period: str | None
    since: str
    e_value: float
    alpha: float
    gap: float
    gap_low: float
    gap_high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    rows: int
    periods: int
    event: str
    tolerated: str

    @property
    def sentence(self) -> str:
        """The answer in words."""
        promise = f"False alarms: at most {short_percent(self.alpha)} a year, however often you look."
        gap = "The mean gap, observed less predicted, is between {} and {} points.".format(
            *in_points((self.gap_low, self.gap_high))
        )
        about = f"{several(self.rows, 'outcomes')} in {several(self.periods, 'periods')}."
        if not self.alarm:
            return f"No alarm. {gap} {about} {promise}"
        lead = f"Alarm at {self.alarm_period}."
        if self.gap_high < 0 or self.gap_low > 0:
            word = "high" if self.gap_high < 0 else "low"
            low, high = in_points(sorted((abs(self.gap_low), abs(self.gap_high))))
            size = f"too {word} by {low} to {high} points"
            return f"{lead} Since about {self.since}, predictions are {size} on average. {about} {promise}"
        off = f"some predictions are off by more than {self.tolerated}"
        return f"{lead} Since about {self.since}, {off}. {gap} {about} {promise}"


@dataclass(frozen=True, eq=False, repr=False)
class Watch(OneLine):
    r"""A small state of all batches so far, to which batches are added and which says whether to be alarmed.

    A year has ``horizon`` periods. If every prediction is within the tolerance of its true probability, the chance of
    an alarm in a year is at most ``alpha``. Every look is included.

    After T periods the evidence is the mean of two e-processes. Each is a mixture over the period k at which an error
    may have begun. The first has the weight g = 1/2 + 1/(2H), the others 1/(2H):

    .. math:: E_T = \sum_k g_k \prod_{P=k}^T e_P + 1 - \sum_{k \le T} g_k

    One is the likelihood ratio of shifted scores, averaged over 24 shifts of up to 2.5 on the logit scale. The other is
    of errors in ten bins of any direction. Sums are exact: batches in any order, in parts, or merged states give the
    same bits.

    Parameters
    ----------
    tolerance : error of a prediction that would not matter, in [0, 1), as a difference of probabilities.
    ratio : None, or the ratio of observed to expected events that would not matter, at least 1, in place of the
        tolerance. Errors in bins are not tested then.
    alpha : probability of a false alarm in a year, in (0, 1).
    horizon : number of periods in a year, 1 to 1,000. The year after begins anew.

    What can mislead: rows have to be independent, or in groups that the predictions name. Periods have to be complete.
    If the delay of outcomes depends on the outcome, a period that is added too early looks miscalibrated. For more than
    two classes the confidence is watched.

    References: Ramdas et al. 2023; Howard et al. 2021; Arnold, Henzi & Ziegel 2023.

    >>> rng = np.random.default_rng(0)
    >>> watch = Watch()
    >>> for week in range(8):
    ...     risk = rng.uniform(0.1, 0.5, 400)
    ...     died = rng.random(400) < (risk if week < 4 else risk / 2)
    ...     batch = Predictions(np.column_stack([1 - risk, risk]), died.astype(int))
    ...     watch = watch.add(batch, period=week + 1)
    >>> found = watch.answer()
    >>> found.alarm, found.alarm_period, found.since
    (True, '5', '5')
    """

    tolerance: float = TOLERANCE
    ratio: float | None = None
    alpha: float = SIGNIFICANCE
    horizon: int = HORIZON
    event: str | None = None
    """Name of the event, "" for the confidence; None before the first batch."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Number of rows of each period."""
    sums: Mapping[str, ExactSums] = field(default_factory=dict)
    """Exact sums of each period, (SUMS,): expected, observed, squared, differences by bin, log factors / 2.5."""
    units: Mapping[str, int] = field(default_factory=dict)
    """Number of independent units of each period."""
    batches: Mapping[str, str] = field(default_factory=dict)
    """Period of each batch, by the batch's name or digest."""

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < 1:
            raise InputError(f"the tolerance is a share in [0, 1), not {self.tolerance:g}")
        if self.ratio is not None and not 1 <= self.ratio < math.inf:
            raise InputError(f"the tolerated ratio is at least 1, not {self.ratio:g}")
        if not 0 < self.alpha < 1:
            raise InputError(f"the chance of a false alarm is in (0, 1), not {self.alpha:g}")
        if not 1 <= self.horizon <= MOST_PERIODS:
            raise InputError(f"a year has 1 to {MOST_PERIODS:,} periods, not {self.horizon}")
        for name in ("rows", "sums", "units", "batches"):
            object.__setattr__(self, name, dict(getattr(self, name)))

    def _line(self) -> str:
        event = f", event {self.event}" if self.event else ""
        return f"{several(sum(self.rows.values()))} in {several(len(self.sums), 'periods')}{event}"

    def add(self, predictions: Predictions, period: object = None, batch: str | None = None) -> Watch:
        """Return the watch with one more batch; the same watch if it has this batch already.

        Parameters
        ----------
        predictions : rows whose outcomes are known; no weights.
        period : label of the batch's period, such as a date or a number; None: the number after the last one. Whole
            numbers are in their order. Other labels are in the order of their letters, as dates like 2026-10-12 are.
        batch : name that identifies the batch; None: a digest of its rows.

        Raises
        ------
        InputError : the batch is about another event than those before, has no rows, or was added to another period.
        NotAnswerable : the predictions have weights, or are a summary of counts.
        """
        rows, event = self._watched(predictions)
        batch = _digest(rows) if batch is None else batch
        if (before := self.batches.get(batch)) is not None:
            if period is not None and before != str(period):
                raise InputError(f"this batch was added to period {before} before, so it cannot be added to {period}")
            return self
        label = self._next() if period is None else str(period)
        if label not in self.sums and len(self.sums) == MOST_PERIODS:
            raise InputError(f"a watch has at most {MOST_PERIODS:,} periods; start a new one")
        sums, units = self._sums(rows)
        if label in self.sums:
            sums, units = self.sums[label] + sums, self.units[label] + units
        return replace(
            self,
            event=event,
            rows={**self.rows, label: self.rows.get(label, 0) + len(rows.h)},
            sums={**self.sums, label: sums},
            units={**self.units, label: units},
            batches={**self.batches, batch: label},
        )

    def __add__(self, other: Watch) -> Watch:
        """Merge two watches of the same question whose batches differ."""
        settings = ("tolerance", "ratio", "alpha", "horizon")
        if any(getattr(self, name) != getattr(other, name) for name in settings):
            raise InputError("the two watches have different settings, so they cannot be merged")
        if None not in (self.event, other.event) and self.event != other.event:
            raise InputError("the two watches are of different events, so they cannot be merged")
        if both := self.batches.keys() & other.batches.keys():
            raise InputError(f"both watches contain the batch {min(both)}: it would be counted twice")
        labels = {*self.sums, *other.sums}
        zeros = ExactSums.zeros(SUMS)
        return replace(
            self,
            event=other.event if self.event is None else self.event,
            rows={label: self.rows.get(label, 0) + other.rows.get(label, 0) for label in labels},
            sums={label: self.sums.get(label, zeros) + other.sums.get(label, zeros) for label in labels},
            units={label: self.units.get(label, 0) + other.units.get(label, 0) for label in labels},
            batches={**self.batches, **other.batches},
        )

    @property
    def periods(self) -> list[str]:
        """Labels of all periods, in order."""
        return sorted(self.sums, key=_place)

    @property
    def year(self) -> list[str]:
        """Labels of the periods of the current year, whose promise is separate from that of the years before."""
        labels = self.periods
        return labels[(len(labels) - 1) // self.horizon * self.horizon :] if labels else []

    @cached_property
    def evidence(self) -> EvidenceByPeriod:
        """Evidence after each period of the year."""
        return evidence(self.sums_by_period(self.year), self.tolerance if self.ratio is None else None, self.horizon)

    def answer(self) -> WatchAnswer:
        """Return the answer after the last period; NotAnswerable before the first batch."""
        labels = self.year
        if not labels:
            raise NotAnswerable("the watch has no batch yet")
        found = self.evidence
        reached = np.flatnonzero(found.log_e >= -math.log(self.alpha))
        alarm = bool(len(reached))
        # What came after the first look with an alarm says more about when the error began.
        start = int(found.starts[reached[-1]]) if alarm else 0
        share = start_weights(len(labels), self.horizon)[start] if alarm else 1.0
        sums = self.sums_by_period(labels[start:])
        low, high = gap_ends(sums, self.alpha * float(share))
        units, expected, observed = (float(each.sum()) for each in (sums.units, sums.expected, sums.observed))
        ratio = [(expected + units * gap) / expected if expected else math.nan for gap in (low, high)]
        return WatchAnswer(
            alarm=alarm,
            alarm_period=labels[int(reached[0])] if alarm else None,
            since=labels[start],
            e_value=float(np.exp(min(found.log_e.max(), 700.0))),
            alpha=self.alpha,
            gap=(observed - expected) / units,
            gap_low=low,
            gap_high=high,
            ratio=observed / expected if expected else math.nan,
            ratio_low=max(ratio[0], 0.0),
            ratio_high=ratio[1],
            rows=sum(self.rows[label] for label in labels),
            periods=len(labels),
            event=self.event or "",
            tolerated=points_of(short_percent(self.tolerance)) if self.ratio is None else f"a factor of {self.ratio:g}",
        )

    def frame(self) -> pd.DataFrame:
        """Return a line per period of the year: rows, predicted and observed means, and the evidence after it."""
        labels = self.year
        sums = self.sums_by_period(labels)
        return pd.DataFrame({
            "period": labels,
            "rows": [self.rows[label] for label in labels],
            "predicted": sums.expected / sums.units,
            "observed": sums.observed / sums.units,
            "e_value": np.exp(np.minimum(self.evidence.log_e, 700.0)) if labels else [],
        })  # fmt: skip

    def sums_by_period(self, labels: list[str]) -> PeriodSums:
        """Return the sums of these periods, in this order."""
        values = np.array([self.sums[label].value for label in labels]).reshape(len(labels), SUMS)
        units = np.array([self.units[label] for label in labels], dtype=np.float64)
        bins = values[:, 3 : 3 + BINS]
        expected, observed, squared = values[:, :3].T
        return PeriodSums(units, expected, observed, squared, bins, values[:, 3 + BINS :] * LARGEST_LOG_FACTOR)

    def _watched(self, predictions: Predictions) -> tuple[ConfidenceRows, str]:
        """Return the rows as predicted and observed, and the name of the event."""
        if predictions.grain == "counts":
            raise NotAnswerable("a watch needs rows, not a summary of counts")
        if predictions.weights is not None:
            raise NotAnswerable("a watch takes rows without weights: its promise is for rows as they arrive")
        rows = ConfidenceRows.ranked(predictions)
        event = "" if predictions.event is None else title_of_event(predictions)
        if self.event is not None and event != self.event:
            before, now = (f"the event {name}" if name else "the confidence" for name in (self.event, event))
            raise InputError(f"the batches before are about {before}, this one is about {now}")
        if not len(rows.h):
            raise InputError("the batch has no rows")
        return rows, event

    def _sums(self, rows: ConfidenceRows) -> tuple[ExactSums, int]:
        """Return the exact sums over independent units, and the number of these."""
        scores, outcomes, groups = rows.h, rows.right.astype(np.float64), rows.groups
        if self.ratio is None:
            low, high = np.maximum(scores - self.tolerance, 0), np.minimum(scores + self.tolerance, 1)
        else:
            low, high = scores / self.ratio, np.minimum(scores * self.ratio, 1)
        differences = outcomes - scores
        bins = np.minimum((scores * BINS).astype(np.intp), BINS - 1)
        placed = np.zeros((len(scores), BINS))
        placed[np.arange(len(scores)), bins] = differences
        factors = log_factors(scores, rows.right, low, high)
        columns = np.column_stack([scores, outcomes, np.abs(differences), placed])
        if groups is not None and not groups.alone:
            # The mean of a group's rows is one bounded unit, and the mean of their factors one e-value.
            columns = _means(columns, groups.codes)
            factors = np.log(_means(np.exp(factors), groups.codes))
        columns[:, 2] **= 2
        values = np.column_stack([columns, factors / LARGEST_LOG_FACTOR])
        together = np.zeros(len(values), dtype=np.intp)
        sums = [sums_of(np.clip(column, -1, 1), together, 1) for column in values.T]
        whole, part = (np.concatenate([getattr(each, name) for each in sums]) for name in ("whole", "part"))
        return ExactSums(whole, part), len(values)

    def _next(self) -> str:
        labels = self.periods
        if not labels:
            return "1"
        if not labels[-1].isdecimal():
            raise InputError(f"the last period is {labels[-1]}, which no number follows: give the period of this batch")
        return str(int(labels[-1]) + 1)


def _means(values: Float64s, codes: Codes) -> Float64s:
    """Return the means of the rows of each group, (groups, columns)."""
    frame = pd.DataFrame(values).groupby(codes).mean()
    return np.array(frame, dtype=np.float64)


def _place(label: str) -> tuple[int, int, str]:
    """Key of the order of periods: numbers by size, then other labels by their letters."""
    return (0, int(label), "") if label.isdecimal() else (1, 0, label)


def _digest(rows: ConfidenceRows) -> str:
    return hashlib.sha256(rows.h.tobytes() + rows.right.tobytes()).hexdigest()
