"""Watch of a released model, batch by batch, with a limit of false alarms that includes every look."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from types import NoneType
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.errors import InputError, as_share, as_whole
from calib_core._base.notebook_display import OneLine
from calib_core._base.pandas_input import coded_texts
from calib_core.claims.exact_sums import ExactSums, places, rounded, stacked, sums_of
from calib_core.columns.conditions import Value, metadata_column
from calib_core.defaults import SIGNIFICANCE, TOLERANCE
from calib_core.inference.comparison.model_differences import MARGIN
from calib_core.inference.gate_baselines import Baseline
from calib_core.inference.intervals.influence_functions import ConfidenceRows, counting
from calib_core.monitoring.e_processes import (
    LARGEST_LOG_FACTOR,
    SHIFTS,
    EvidenceByPeriod,
    PeriodSums,
    alpha_of_start,
    evidence,
    gap_ends,
    log_factors,
    rejected,
)
from calib_core.monitoring.summed_batches import cells_by_value, cells_of_batch, inner_edges, sums_in_bins
from calib_core.predictions.event_names import title_of_event
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.reductions.base import counts
from calib_core.summaries.cells import Cells
from calib_core.summaries.mergeable import Summary
from calib_core.text import in_points, listed, percent, points_of, several, short_percent

BINS = 10
"""Equal-width bins of [0, 1] for errors in several directions: declared before the first batch, the same for all."""
HORIZON = 52
"""Periods of a year, in which a false alarm has the chance that was asked for: weeks."""
MOST_PERIODS = 1_000
MOST_SLICES = 200
MOST_BINS = 100
LONGEST = 200
"""Characters of a period's label, a batch's name and a slice."""
_AT_ONCE = 1 << 16
"""Rows whose terms are in memory at the same time."""
_EVENTS = {"event": True, "confidence": False}
"""Notions of a baseline that a watch can compare with, and whether they are about an event."""


@dataclass(frozen=True, eq=False, repr=False)
class PeriodCounts(OneLine):
    """Exact sums of one period: of its ``rows``, over ``units`` that are independent (rows, or groups of them).

    ``sums`` (3 + bins + shifts,) are those of expected, observed, squared, differences by bin and log factors / 2.5.
    ``unlabeled`` rows were closed without an outcome.
    """

    rows: int
    units: int
    sums: ExactSums
    unlabeled: int = 0

    def __add__(self, other: PeriodCounts) -> PeriodCounts:
        return PeriodCounts(
            self.rows + other.rows,
            self.units + other.units,
            self.sums + other.sums,
            self.unlabeled + other.unlabeled,
        )

    def _line(self) -> str:
        return several(self.rows)


@dataclass(frozen=True, repr=False)
class IncompleteBatch(OneLine):
    """A batch that is not added yet: its ``period``, its ``rows``, and how many of them have an outcome."""

    period: str
    rows: int
    labeled: int

    @property
    def sentence(self) -> str:
        """Number of outcomes so far, in words."""
        if not self.labeled:
            return f"Period {self.period} waits: none of its {several(self.rows)} has a label so far."
        if self.labeled == self.rows:
            return f"Period {self.period} has all labels and waits for earlier batches: give it again after them."
        return (
            f"Period {self.period} waits: labels of {percent(self.labeled / self.rows, 0)} so far ({self.labeled:,} of "
            f"{self.rows:,} rows)."
        )

    def _line(self) -> str:
        return self.sentence


@dataclass(frozen=True, repr=False)
class YearRecord(OneLine):
    """Record of a year: the largest logarithm of the evidence, and the periods of the first alarms.

    ``alarm`` is about all rows, ``slices`` about some slice; None without an alarm.
    """

    log_e: float
    alarm: str | None = None
    slices: str | None = None

    @property
    def first(self) -> str | None:
        """The period of the first alarm of any kind."""
        return min(filter(None, (self.alarm, self.slices)), key=place_of, default=None)

    def _line(self) -> str:
        return "no alarm" if self.first is None else f"alarm at {self.first}"


@dataclass(frozen=True, repr=False)
class SliceError(OneLine):
    """A slice whose error is significant after correction for the number of slices (e-BH).

    The error began about at ``since``. The ends of its mean ``gap`` since then, observed less predicted, are valid for
    all slices jointly and at all times.
    """

    name: str
    since: str
    rows: int
    e_value: float
    gap: float
    gap_low: float
    gap_high: float

    @property
    def sentence(self) -> str:
        """The error in words."""
        of_slice, size = f"predictions for {self.name} are", direction(self.gap_low, self.gap_high)
        return f"Since about {self.since}, {f'{of_slice} {size}' if size else f'some {of_slice} off'}."

    def _line(self) -> str:
        return self.sentence


def direction(low: float, high: float) -> str:
    """Direction and size of an error from the ends of its mean gap, to follow "are"; "" if 0 is between them."""
    if low <= 0 <= high:
        return ""
    ends = in_points(sorted((abs(low), abs(high))))
    return f"too {'high' if high < 0 else 'low'} by {ends[0]} to {ends[1]} points on average"


def between_points(low: float, high: float) -> str:
    """The ends of a mean gap, to follow "is"."""
    return "between {} and {} points".format(*in_points((low, high)))


@dataclass(frozen=True, eq=False, repr=False)
class WatchAnswer(OneLine):
    """Answer of a watch after its last period.

    ``alarm`` is True from the period ``alarm_period`` on, the first whose evidence reached ``needed`` (None without an
    alarm). Later batches do not end an alarm before the year ends. ``since`` is the period from which on an error
    explains the evidence best. ``gap`` is the mean gap since then, observed less predicted; without an alarm it is that
    of the whole year. Its ends are valid at all times. ``ratio`` are observed to expected events over the same periods.
    ``e_value`` is the largest evidence. 1 / ``e_value`` is a p-value that stays valid however often one looks.

    ``of_all_rows`` and ``of_slices``: which of the two raised the alarm. ``slices`` are those that are significantly
    off now. ``waiting`` batches are not added yet. ``unlabeled`` is the number of rows that were added without an
    outcome. ``year_before``: the period of the alarm of the year before, None without one.
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
    needed: float
    of_all_rows: bool
    of_slices: bool
    slices: tuple[SliceError, ...] = ()
    waiting: tuple[IncompleteBatch, ...] = ()
    unlabeled: int = 0
    year_before: str | None = None

    @property
    def sentence(self) -> str:
        """The answer in words."""
        return " ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        gap = f"The mean gap (observed minus predicted) is {between_points(self.gap_low, self.gap_high)}."
        size = direction(self.gap_low, self.gap_high)
        yield f"Alarm in period {self.alarm_period}." if self.alarm else "No alarm."
        if self.of_all_rows and size:
            yield f"Since about period {self.since}, predictions are {size}."
        elif self.of_all_rows:
            yield f"Since about period {self.since}, {self.tolerated}. {gap}"
        else:
            yield gap
        if self.of_slices:
            yield from (each.sentence for each in self.slices[:3])
            if len(self.slices) > 3:
                yield f"{len(self.slices) - 3} more slices are significantly off."
            if not self.slices:
                yield "An alarm was about slices, of which none is significantly off now."
        yield f"{several(self.rows, 'outcomes')} in {several(self.periods, 'periods')}."
        if self.unlabeled:
            yield f"{several(self.unlabeled)} {'has' if self.unlabeled == 1 else 'have'} no outcome and are left out."
        yield from (each.sentence for each in self.waiting)
        if self.year_before is not None:
            yield f"The year before had an alarm in period {self.year_before}."
        yield f"The chance of a false alarm in a year is at most {short_percent(self.alpha)}, however often you look."

    def _line(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False, repr=False)
class Watch(OneLine):
    r"""A small state of all batches so far, to which batches are added and which says whether to be alarmed.

    A year has ``horizon`` periods. If every prediction is within the tolerance of its true probability, the chance of
    an alarm in a year is at most ``alpha``. Every look is included.

    After T periods the evidence is the mean of two e-processes. Each is a mixture over the period k at which an error
    may have begun. The first has the weight g = 1/2 + 1/(2H), the others 1/(2H):

    .. math:: E_T = \sum_k g_k \prod_{P=k}^T e_P + 1 - \sum_{k \le T} g_k

    One is the likelihood ratio of shifted scores, averaged over 24 shifts of up to 2.5 on the logit scale. The other is
    of errors in bins of any direction. Sums are exact: batches in any order, in parts, or merged states have the same
    sums, to the bit. A new period between older ones has no start of its own, because its start would be chosen after
    the later outcomes were seen. An alarm stays until the year ends, also if older periods get more rows.

    Parameters
    ----------
    tolerance : error of a prediction that would not matter, in [0, 1), as a difference of probabilities.
    ratio : None, or the ratio of observed to expected events that would not matter, at least 1, in place of the
        tolerance. Errors in bins are not tested then.
    limit : None, or the largest error in bins that would not matter, in [0, 1), in place of the tolerance. No error of
        single predictions is tolerated or tested then (``against`` sets it by a baseline).
    bins : number of equal-width bins of [0, 1], 1 to 100.
    by : metadata columns. Each of their values is a slice with evidence of its own. All rows and the slices then have
        half of ``alpha`` each. Slices are reported after e-BH at the present look.
    alpha : probability of a false alarm in a year, in (0, 1).
    horizon : number of periods in a year, 1 to 1,000. The year after begins anew.

    What can mislead: rows have to be independent, or in groups that the predictions name. Periods have to be complete.
    If the delay of outcomes depends on the outcome, a period that is added too early looks miscalibrated. For more than
    two classes the confidence is watched.

    References: Ramdas et al. 2023; Howard et al. 2021; Arnold, Henzi & Ziegel 2023; Wang & Ramdas 2022.

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
    limit: float | None = None
    bins: int = BINS
    by: tuple[str, ...] = ()
    alpha: float = SIGNIFICANCE
    horizon: int = HORIZON
    notion: str | None = None
    """Notion of the baseline, "event" or "confidence"; None without one."""
    miss: float = 0.0
    """Part of alpha that is used up by a baseline: the chance that its error is above its upper end."""
    event: str | None = None
    """Name of the event, "" for the confidence; None before the first batch."""
    counts: Mapping[str, PeriodCounts] = field(default_factory=dict)
    """Sums of all rows by period."""
    slices: Mapping[str, Mapping[str, PeriodCounts]] = field(default_factory=dict)
    """The same for each slice."""
    late: frozenset[str] = frozenset()
    """Periods that first came after a later one."""
    years: tuple[YearRecord, ...] = ()
    """Record of each year, the first one first."""
    batches: Mapping[str, str] = field(default_factory=dict)
    """Period of each batch, by the batch's name or digest."""
    waiting: Mapping[str, IncompleteBatch] = field(default_factory=dict)
    """Batches that are not added yet, by name, in the order in which they were given first."""

    def __post_init__(self) -> None:
        for name in ("tolerance", "ratio", "limit", "miss"):
            _check_number(getattr(self, name), name)
        if isinstance(self.by, str):
            raise InputError(f"by is {self.by!r:.80}; it must be a tuple of columns, such as ({self.by!r:.80},)")
        if not 0 <= self.tolerance < 1:
            raise InputError(f"the tolerance is a share in [0, 1), not {self.tolerance:g}")
        if self.ratio is not None and not 1 <= self.ratio < math.inf:
            raise InputError(f"the tolerated ratio is at least 1, not {self.ratio:g}")
        if self.limit is not None and not 0 <= self.limit < 1:
            raise InputError(f"the largest error is a share in [0, 1), not {self.limit:g}")
        if self.limit is not None and self.ratio is not None:
            raise InputError("a largest error in bins and a tolerated ratio exclude each other: give one of them")
        if len(set(self.by)) < len(self.by):
            raise InputError(f"slices need different columns, not {listed(self.by)}")
        as_share(self.alpha, "alpha")
        as_whole(self.horizon, "horizon", 1, MOST_PERIODS)
        as_whole(self.bins, "bins", 1, MOST_BINS)
        if not 0 <= self.miss < self.alpha:
            raise InputError(
                f"the chance of a false alarm is {self.alpha:g}. It must be above {self.miss:g}, the chance that the "
                "baseline's error is above its upper end. Allow more false alarms, or create the baseline with a "
                "higher level"
            )
        for name in ("counts", "batches", "waiting", "slices"):
            object.__setattr__(self, name, dict(getattr(self, name)))

    @classmethod
    def against(
        cls,
        baseline: Baseline,
        allowed: float = MARGIN,
        *,
        alpha: float = SIGNIFICANCE,
        horizon: int = HORIZON,
        by: Sequence[str] = (),
    ) -> Watch:
        """Return a watch for an error that is larger than that of a released model by more than ``allowed``.

        The null hypothesis is that the error in the baseline's bins is at most U + ``allowed``, over any run of periods
        until now. U is the upper end of the baseline's interval. It is too low with a chance of (1 - level) / 2, which
        is taken off ``alpha``. InputError for a baseline of another notion, estimator or kind of bins.

        >>> from calib_core.inference.gate_checks import gate_check
        >>> rows = Predictions([[0.9, 0.1]] * 900 + [[0.2, 0.8]] * 100, [0] * 810 + [1] * 90 + [0] * 20 + [1] * 80)
        >>> released = gate_check(rows, 0.05, bins=10).kept
        >>> watch = Watch.against(released, 0.01)
        >>> watch.bins, watch.limit == released.high + 0.01
        (10, True)
        """
        bins = re.fullmatch(r"(\d+) equal width", baseline.bins)
        if baseline.notion not in _EVENTS or baseline.estimator != "ece" or bins is None:
            raise InputError(
                f"the baseline is the {baseline.estimator} of the notion {baseline.notion} in {baseline.bins} bins. "
                "A watch needs the ece of the event or of the confidence in equal-width bins. Create the baseline with "
                "--bins 15, and without an event with --notion confidence"
            )
        if not 0 <= allowed < 1:
            raise InputError(f"the increase allowed is {allowed:g}; it must be at least 0 and below 1")
        return cls(
            limit=baseline.high + allowed,
            bins=int(bins[1]),
            by=tuple(by),
            alpha=alpha,
            horizon=horizon,
            notion=baseline.notion,
            miss=(1 - baseline.level) / 2,
        )

    def _line(self) -> str:
        event = f", event {self.event}" if self.event else ""
        rows = sum(each.rows for each in self.counts.values())
        return f"{several(rows)} in {several(len(self.counts), 'periods')}{event}"

    # ---- batches ------------------------------------------------------------------------------------------------

    def add(
        self,
        predictions: Predictions | Summary,
        period: object = None,
        batch: str | None = None,
        *,
        unlabeled: int = 0,
        close: bool = False,
    ) -> Watch:
        """Return the watch with one more batch; the same watch if it has this batch already.

        Parameters
        ----------
        predictions : rows whose outcomes are known; no weights. Or a summary of one period's rows, which has the sums
            for an error in bins (``limit`` or a baseline). The state is that of the rows, to the bit.
        period : label of the batch's period, such as a date or a number; None: the number after the last one. Numbers
            are in their order, also within other labels: 2026-9-30 comes before 2026-10-12, and week 9 before week 10.
        batch : name that identifies the batch; None: a digest of its rows. Give a name if batches can be equal, such as
            those of one row.
        unlabeled : number of further rows of the batch whose outcome is not known yet. The batch then waits: only
            its numbers of rows are recorded, and it is given again, with its name, when there are more outcomes.
        close : add the batch although outcomes are missing: there will be no more.

        Batches enter in the order in which they were given first. One with all outcomes waits for those before it. So
        which batches enter never depends on how soon their outcomes were known.

        Raises
        ------
        InputError : the batch is about another event than those before, has no rows, or was added to another period. A
            label is not valid, or a batch that lacks outcomes has no name.
        NotAnswerable : the predictions have weights, or are a summary without the sums that this watch needs.
        """
        event, n = self._event_of(predictions), predictions.answered.n_rows
        as_whole(unlabeled, "unlabeled", 0)
        if batch is None and unlabeled:
            raise InputError("a batch that lacks outcomes needs a name, by which it is known when it comes again")
        batch = _digest(predictions) if batch is None else batch
        label = self._label(batch, period)
        if batch in self.batches:
            return self
        before = next(iter(self.waiting), batch)
        if (unlabeled and not close) or before != batch:
            waits = IncompleteBatch(label, n + unlabeled, n)
            return replace(self, event=event, waiting={**self.waiting, batch: waits})
        return self._with(predictions, event, label, batch, unlabeled)

    def expect(self, rows: int, period: object = None, batch: str = "") -> Watch:
        """Return the watch with a batch of ``rows`` that waits, as no outcome of it is known yet.

        It is added by ``add`` with the same name ``batch`` when there are outcomes. The same watch if it has this batch
        already. InputError for a name or a label that is not valid, or if the batch was given for another period.

        >>> watch = Watch().expect(300, "2026-10", "october")
        >>> watch.waiting["october"].sentence
        'Period 2026-10 waits: none of its 300 rows has a label so far.'
        """
        as_whole(rows, "rows", 1)
        label = self._label(batch, period)
        if batch in self.batches or batch in self.waiting:
            return self
        return replace(self, waiting={**self.waiting, batch: IncompleteBatch(label, rows, 0)})

    def _label(self, batch: str, period: object) -> str:
        """Return the label of a batch's period; InputError for another one than before, or for too many periods."""
        _check_text(batch, "name of the batch")
        known = self.waiting[batch].period if batch in self.waiting else self.batches.get(batch)
        label = (known or self._next()) if period is None else label_of(period)
        if known is not None and known != label:
            raise InputError(
                f"this batch was added to period {known} before, so it cannot be added to {label}; another batch with "
                "the same rows needs a name of its own"
            )
        if label not in self.counts and len(self.counts) == MOST_PERIODS:
            raise InputError(f"a watch has at most {MOST_PERIODS:,} periods; start a new one")
        return label

    def _with(self, predictions: Predictions | Summary, event: str, label: str, batch: str, unlabeled: int) -> Watch:
        """Return the watch with a batch that is complete."""
        summary = counts(predictions)
        found = self._of_rows(cast(Predictions, predictions)) if summary is None else self._of_summary(summary)
        whole, of_slices = found
        whole = replace(whole, unlabeled=unlabeled)
        slices = {name: dict(each) for name, each in self.slices.items()}
        for name, part in of_slices.items():
            before = slices.setdefault(name, {})
            before[label] = before[label] + part if label in before else part
        if len(slices) > MOST_SLICES:
            raise InputError(
                f"{listed(self.by)} has more than {MOST_SLICES} values, too many for slices: use a column with values "
                "shared by many rows"
            )
        new = label not in self.counts
        late = new and any(place_of(each) > place_of(label) for each in self.counts)
        added = replace(
            self,
            event=event,
            counts={**self.counts, label: whole if new else self.counts[label] + whole},
            slices=slices,
            late=self.late | {label} if late else self.late,
            batches={**self.batches, batch: label},
            waiting={name: each for name, each in self.waiting.items() if name != batch},
        )
        return added._recorded(added._year_of(label), label)

    def give_up(self, period: object) -> Watch:
        """Return the watch without the waiting batches of a period, whose outcomes will never be known.

        InputError if no batch of this period waits.
        """
        label = label_of(period)
        waiting = {name: each for name, each in self.waiting.items() if each.period != label}
        if len(waiting) == len(self.waiting):
            raise InputError(f"no batch of period {label} waits for labels")
        return replace(self, waiting=waiting)

    def __add__(self, other: Watch) -> Watch:
        """Merge two watches of the same question whose batches differ; its looks are those after each period."""
        settings = ("tolerance", "ratio", "limit", "bins", "by", "alpha", "horizon", "notion", "miss")
        if any(getattr(self, name) != getattr(other, name) for name in settings):
            raise InputError("the two watches have different settings, so they cannot be merged")
        if None not in (self.event, other.event) and self.event != other.event:
            raise InputError("the two watches are of different events, so they cannot be merged")
        if both := {*self.batches, *self.waiting} & {*other.batches, *other.waiting}:
            raise InputError(f"both watches contain the batch {min(both)}: it would be counted twice")
        late = (self.late | other.late) - (self.counts.keys() - self.late) - (other.counts.keys() - other.late)
        merged = replace(
            self,
            event=other.event if self.event is None else self.event,
            counts=_merged(self.counts, other.counts),
            slices={
                name: _merged(self.slices.get(name, {}), other.slices.get(name, {}))
                for name in sorted({*self.slices, *other.slices})
            },
            late=late,
            batches={**self.batches, **other.batches},
            waiting={**self.waiting, **other.waiting},
        )
        return merged.retraced()

    # ---- evidence -----------------------------------------------------------------------------------------------

    @property
    def periods(self) -> list[str]:
        """Labels of all periods, in order."""
        return sorted(self.counts, key=place_of)

    @property
    def year(self) -> list[str]:
        """Labels of the periods of the current year, whose promise is separate from that of the years before."""
        return self._in_year(len(self.years) - 1) if self.years else []

    @property
    def levels(self) -> tuple[float, float]:
        """Chance of a false alarm about all rows, and about slices (0 without these)."""
        left = self.alpha - self.miss
        return (left / 2, left / 2) if self.by else (left, 0.0)

    @cached_property
    def _blocks(self) -> dict[str, int]:
        """Number of the start that each period belongs to: its own, or the next one if it came after a later period."""
        found, number = {}, 0
        for label in self.periods:
            found[label] = number
            number += label not in self.late
        return found

    def _year_of(self, label: str) -> int:
        return self._blocks[label] // self.horizon

    def _in_year(self, year: int) -> list[str]:
        return [label for label, block in self._blocks.items() if block // self.horizon == year]

    def _evidence(self, year: int, of: Mapping[str, PeriodCounts], *, last: bool = False) -> EvidenceByPeriod:
        """Evidence of all rows or of a slice after each start of a year, or at present."""
        labels = self._in_year(year)
        places = np.flatnonzero(np.diff([-1, *(self._blocks[label] for label in labels)]))
        bound = None if self.ratio is not None else self.tolerance if self.limit is None else self.limit
        return evidence(self._sums(labels, of).added(places), bound, self.horizon, last=last)

    @cached_property
    def evidence(self) -> EvidenceByPeriod:
        """Evidence of all rows after each start of the year."""
        return self._evidence(len(self.years) - 1, self.counts)

    def _recorded(self, year: int, label: str) -> Watch:
        """Return the watch with what is seen in a year now, after rows of a period were added."""
        years = [*self.years, *[YearRecord(-math.inf)] * (year + 1 - len(self.years))]
        now = self._evidence(year, self.counts, last=True).log_e[-1]
        of_slices = np.array([self._evidence(year, each, last=True).log_e[-1] for each in self.slices.values()])
        years[year] = self._seen(years[year], float(now), of_slices, label)
        return replace(self, years=tuple(years))

    def _seen(self, record: YearRecord, log_e: float, of_slices: Float64s, label: str) -> YearRecord:
        """Return the record of a year after one more look."""
        of_all, of_some = self.levels
        alarm, slices = record.alarm, record.slices
        if alarm is None and log_e >= -math.log(of_all):
            alarm = label
        if slices is None and len(of_slices) and rejected(of_slices, of_some).any():
            slices = label
        return YearRecord(max(record.log_e, log_e), alarm, slices)

    def retraced(self) -> Watch:
        """Return the watch as if it had been looked at once after each start, which forgets all other looks."""
        years = []
        for year in range(max(self._blocks.values(), default=-1) // self.horizon + 1):
            record, labels = YearRecord(-math.inf), self._starts(year)
            path = self._evidence(year, self.counts).log_e
            of_slices = [self._evidence(year, each).log_e for each in self.slices.values()]
            for look, label in enumerate(labels):
                record = self._seen(record, float(path[look]), np.array([each[look] for each in of_slices]), label)
            years.append(record)
        return replace(self, years=tuple(years))

    def _starts(self, year: int) -> list[str]:
        return [label for label in self._in_year(year) if label not in self.late]

    # ---- answers ------------------------------------------------------------------------------------------------

    def answer(self) -> WatchAnswer:
        """Return the answer after the last period; NotAnswerable before the first complete batch."""
        labels = self.year
        if not labels:
            waits = " ".join(each.sentence for each in self.waiting.values())
            raise NotAnswerable(f"the watch has no batch yet. {waits}".strip())
        record = self.years[-1]
        of_all, _ = self.levels
        start = self._since(self.counts, -math.log(of_all)) if record.alarm is not None else None
        since, sums, (low, high) = self._error(self.counts, start, self.alpha)
        units, expected, observed = (float(each.sum()) for each in (sums.units, sums.expected, sums.observed))
        ratio = [(expected + units * gap) / expected if expected else math.nan for gap in (low, high)]
        return WatchAnswer(
            alarm=record.first is not None,
            alarm_period=record.first,
            since=since,
            e_value=float(np.exp(min(record.log_e, 700.0))),
            alpha=self.alpha,
            gap=(observed - expected) / units,
            gap_low=low,
            gap_high=high,
            ratio=observed / expected if expected else math.nan,
            ratio_low=max(ratio[0], 0.0),
            ratio_high=ratio[1],
            rows=sum(self.counts[label].rows for label in labels),
            periods=len(labels),
            event=self.event or "",
            tolerated=self._off,
            needed=1 / of_all,
            of_all_rows=record.alarm is not None,
            of_slices=record.slices is not None,
            slices=self._slice_errors(),
            waiting=tuple(self.waiting.values()),
            unlabeled=sum(self.counts[label].unlabeled for label in labels),
            year_before=self.years[-2].first if len(self.years) > 1 else None,
        )

    @property
    def _off(self) -> str:
        """Statement of an alarm if the error has no direction."""
        if self.limit is not None:
            whose = " (that of the baseline and the increase allowed)" if self.notion is not None else ""
            return f"the error in {self.bins} bins is above {short_percent(self.limit)}{whose}"
        tolerated = (
            f"a factor of {self.ratio:g}" if self.ratio is not None else points_of(short_percent(self.tolerance))
        )
        return f"some predictions are off by more than {tolerated}"

    def _since(self, of: Mapping[str, PeriodCounts], needed: float) -> int:
        """Return the start that explains the evidence best at the last look at which there was enough of it."""
        year = len(self.years) - 1
        now = self._evidence(year, of, last=True)
        if now.log_e[-1] >= needed:
            return int(now.starts[-1])
        path = self._evidence(year, of)
        reached = np.flatnonzero(path.log_e >= needed)
        return int(path.starts[reached[-1] if len(reached) else path.log_e.argmax()])

    def _error(
        self, of: Mapping[str, PeriodCounts], chosen: int | None, alpha: float
    ) -> tuple[str, PeriodSums, tuple[float, float]]:
        """Return the label of a start, by default the first, the sums since then, and the ends of their mean gap.

        A start that was chosen by the evidence has ends that are valid for all starts jointly, each by its weight.
        """
        year = len(self.years) - 1
        starts, first = self._starts(year), year * self.horizon
        start = chosen or 0
        joint = alpha if chosen is None else alpha_of_start(start, self.horizon, alpha)
        sums = self._sums([label for label in self.year if self._blocks[label] >= first + start], of)
        return starts[start], sums, gap_ends(sums, joint)

    def _slice_errors(self) -> tuple[SliceError, ...]:
        """The slices that e-BH rejects now, the most evidence first."""
        lines = [line for line in self.of_slices().to_dict("records") if line["stands_out"]]
        return tuple(
            SliceError(
                name=line["slice"],
                since=line["since"],
                rows=line["rows"],
                e_value=line["e_value"],
                gap=line["observed"] - line["predicted"],
                gap_low=line["gap_low"],
                gap_high=line["gap_high"],
            )
            for line in sorted(lines, key=lambda line: -line["e_value"])
        )

    def of_slices(self) -> pd.DataFrame:
        """Return a line per slice: its evidence now, whether it stands out, and its error since it began.

        For a slice that stands out, ``since`` is the period from which on an error explains the evidence best. For the
        others it is the first one of the year. Rows and means are since then. The ends of the gaps are jointly valid.
        """
        year, (_, alpha) = len(self.years) - 1, self.levels
        now = [self._evidence(year, each, last=True) for each in self.slices.values()] if self.years else []
        log_e = np.array([each.log_e[-1] for each in now])
        off = rejected(log_e, alpha) if len(now) else np.zeros(0, dtype=bool)
        lines = []
        for (name, of), found, out in zip(self.slices.items(), now, off.tolist(), strict=True):
            start = int(found.starts[-1]) if out else None
            since, sums, (low, high) = self._error(of, start, self.alpha / len(now))
            units = float(sums.units.sum())
            rows = sum(of[label].rows for label in self.year if label in of and place_of(label) >= place_of(since))
            lines.append({
                "slice": name, "since": since, "rows": rows,
                "predicted": float(sums.expected.sum()) / units if units else math.nan,
                "observed": float(sums.observed.sum()) / units if units else math.nan,
                "gap_low": low, "gap_high": high,
                "e_value": float(np.exp(min(found.log_e[-1], 700.0))), "stands_out": out,
            })  # fmt: skip
        columns = ["slice", "since", "rows", "predicted", "observed", "gap_low", "gap_high", "e_value", "stands_out"]
        return pd.DataFrame(lines, columns=columns).astype({"stands_out": bool})

    def frame(self) -> pd.DataFrame:
        """Return a line per period of the year: rows, predicted and observed means, and the evidence after it."""
        labels = self.year
        sums = self.sums_by_period(labels)
        first = (len(self.years) - 1) * self.horizon
        looks = [self._blocks[label] - first for label in labels]
        return pd.DataFrame({
            "period": labels,
            "rows": [self.counts[label].rows for label in labels],
            "predicted": sums.expected / sums.units,
            "observed": sums.observed / sums.units,
            "e_value": np.exp(np.minimum(self.evidence.log_e, 700.0))[looks] if labels else [],
        })  # fmt: skip

    def sums_by_period(self, labels: Sequence[str]) -> PeriodSums:
        """Return the sums of all rows in these periods, in this order."""
        return self._sums(labels, self.counts)

    def _sums(self, labels: Sequence[str], of: Mapping[str, PeriodCounts]) -> PeriodSums:
        """Return the sums of all rows, or of a slice, which may have none in some periods."""
        nothing = PeriodCounts(0, 0, ExactSums.zeros(self.width))
        parts = [of.get(label, nothing) for label in labels]
        values = np.array([part.sums.value for part in parts]).reshape(len(labels), self.width)
        units = np.array([part.units for part in parts], dtype=np.float64)
        expected, observed, squared = values[:, :3].T
        factors = values[:, 3 + self.bins :] * LARGEST_LOG_FACTOR
        return PeriodSums(units, expected, observed, squared, values[:, 3 : 3 + self.bins], factors)

    # ---- rows ---------------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """Number of sums of a period."""
        return 3 + self.bins + (len(SHIFTS) if self.limit is None else 0)

    def _event_of(self, predictions: Predictions | Summary) -> str:
        """Return the name of the event, "" without one; an error if the batch cannot be watched."""
        if not predictions.answered.n_rows:
            raise InputError("the batch has no rows")
        if predictions.weights is not None:
            raise NotAnswerable("a watch takes rows without weights: its promise is for rows as they arrive")
        if counts(predictions) is not None and self.limit is None:
            raise NotAnswerable(
                "a summary has no likelihood ratios of single rows, which a tolerance or a ratio needs. Watch "
                "the error in bins (limit=, --max-ece) or a baseline, or add the rows"
            )
        event = title_of_event(predictions)
        if self.event is not None and event != self.event:
            before, now = (f"the event {name}" if name else "the confidence" for name in (self.event, event))
            raise InputError(f"the batches before are about {before}, this one is about {now}")
        if self.notion is not None and _EVENTS[self.notion] != bool(event):
            now = "an event" if event else "the confidence"
            raise InputError(f"the baseline is of the notion {self.notion}, and these rows are about {now}")
        return event

    def _of_rows(self, predictions: Predictions) -> tuple[PeriodCounts, dict[str, PeriodCounts]]:
        """Return the sums of rows, and those of their slices by name."""
        rows, edges = ConfidenceRows.ranked(predictions), inner_edges(self.bins, predictions.confidence.dtype)
        whole = self._counted(rows, edges, np.zeros(len(rows.h), dtype=np.intp), 1)[0]
        slices: dict[str, PeriodCounts] = {}
        for column in self.by:
            codes, names = _slices_of(predictions, column)
            slices |= zip(names, self._counted(rows, edges, codes, len(names)), strict=True)
        return whole, slices

    def _of_summary(self, summary: Summary) -> tuple[PeriodCounts, dict[str, PeriodCounts]]:
        """Return the same from a summary, to the bit."""

        def counted(cells: Cells) -> PeriodCounts:
            rows, sums = sums_in_bins(cells, self.bins, summary.dtype)
            return PeriodCounts(rows, rows, sums)

        slices = {
            str(Value(column, text or None)): counted(cells)
            for column in self.by
            for text, cells in cells_by_value(summary, column).items()
        }
        return counted(cells_of_batch(summary)), slices

    def _counted(self, rows: ConfidenceRows, edges: Float64s, cells: NDArray[np.intp], size: int) -> list[PeriodCounts]:
        """Return the exact sums of the rows in each of some cells, over independent units."""
        counts = np.bincount(cells, minlength=size)
        groups = rows.groups
        if groups is None or groups.alone:
            sums, units = ExactSums.zeros((self.width, size)), counts
            for first in range(0, len(cells), _AT_ONCE):
                part = slice(first, first + _AT_ONCE)
                sums += self._summed(*self._terms(rows.h[part], rows.right[part], edges), cells[part], size)
        else:
            # The mean of a group's rows is one bounded unit, and the mean of their factors one e-value.
            pairs, codes = np.unique(groups.codes.astype(np.intp) * size + cells, return_inverse=True)
            columns, factors = self._terms(rows.h, rows.right, edges)
            columns, factors = _means(columns, codes), np.log(_means(np.exp(factors), codes))
            cell_of = (pairs % size).astype(np.intp)
            sums, units = self._summed(columns, factors, cell_of, size), np.bincount(cell_of, minlength=size)
        return [PeriodCounts(int(counts[cell]), int(units[cell]), sums[:, cell]) for cell in range(size)]

    def _terms(self, scores: Float64s, right: Bools, edges: Float64s) -> tuple[Float64s, Float64s]:
        """Return each row's score, outcome, size of the difference and differences by bin; and its log factors."""
        outcomes = right.astype(np.float64)
        differences = outcomes - scores
        placed = np.zeros((len(scores), self.bins))
        # Outcomes less rounded scores have the sums that a summary has.
        placed[np.arange(len(scores)), places(edges, scores)] = outcomes - rounded(scores)
        columns = np.column_stack([scores, outcomes, np.abs(differences), placed])
        if self.limit is not None:
            return columns, np.empty((len(scores), 0))
        if self.ratio is None:
            low, high = np.maximum(scores - self.tolerance, 0), np.minimum(scores + self.tolerance, 1)
        else:
            low, high = scores / self.ratio, np.minimum(scores * self.ratio, 1)
        return columns, log_factors(scores, right, low, high)

    def _summed(self, columns: Float64s, factors: Float64s, cells: NDArray[np.intp], size: int) -> ExactSums:
        """Return exact sums of the terms of units by cell, (width, size)."""
        columns[:, 2] **= 2
        values = np.column_stack([columns, factors / LARGEST_LOG_FACTOR])
        return stacked([sums_of(np.clip(column, -1, 1), cells, size) for column in values.T])

    def _next(self) -> str:
        labels = sorted({*self.counts, *(each.period for each in self.waiting.values())}, key=place_of)
        if not labels:
            return "1"
        if not labels[-1].isdecimal():
            raise InputError(f"the last period is {labels[-1]}, which no number follows: give the period of this batch")
        return str(int(labels[-1]) + 1)


def _check_number(value: object, name: str) -> None:
    """InputError unless the value is a number, or None where there is none."""
    if isinstance(value, bool) or not isinstance(value, Real | NoneType) or (value is None and name == "tolerance"):
        raise InputError(f"{name} is {value!r:.80}; it must be a number")


def _merged(first: Mapping[str, PeriodCounts], other: Mapping[str, PeriodCounts]) -> dict[str, PeriodCounts]:
    both = first.keys() & other.keys()
    return {**first, **other, **{label: first[label] + other[label] for label in both}}


def _slices_of(predictions: Predictions, column: str) -> tuple[NDArray[np.intp], list[str]]:
    """Return the slice of each row that is counted, (n,), and the names of the slices."""
    codes, texts = coded_texts(metadata_column(counting(predictions), column))
    names = [str(Value(column, text)) for text in texts]
    if (codes < 0).any():
        names.append(str(Value(column, None)))
        codes = np.where(codes < 0, len(names) - 1, codes)
    if len(names) > MOST_SLICES or max(map(len, names)) > LONGEST:
        raise InputError(
            f"the column {column[:80]!r} has more than {MOST_SLICES} values, or very long ones, too many for slices: "
            "use a column with values shared by many rows"
        )
    return codes, names


def _means(values: Float64s, codes: Codes) -> Float64s:
    """Return the means of the rows of each group, (groups, columns)."""
    frame = pd.DataFrame(values).groupby(codes).mean()
    return np.array(frame, dtype=np.float64)


_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_DAY_FIRST = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}\b.*")
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_MONTH = re.compile(rf"(?i)\b({_MONTHS}|{'|'.join(each[:3] for each in _MONTHS.split('|'))}|sept)\b")
_ZONE = re.compile(r"\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)")


def label_of(period: object) -> str:
    """Return the label of a period; InputError if it is empty, or a date whose order is not that of time.

    >>> label_of(12), label_of(" 2026-10-12 00:00:00")
    ('12', '2026-10-12')
    """
    label = str(period).strip().removesuffix(" 00:00:00").removesuffix("T00:00:00")
    _check_text(label, "label of the period")
    if _DAY_FIRST.fullmatch(label):
        raise InputError(f"the period {label} may be day or month first: write dates as 2026-10-12")
    if _MONTH.search(label):
        raise InputError(f"the period {label} names a month, and periods are not in the order of names: write 2026-10")
    if _ZONE.search(label):
        raise InputError(f"the period {label} has a time zone: give the day or the hour in one time zone, without it")
    if label.lower() in ("nan", "nat", "none", "true", "false", "<na>"):
        raise InputError(f"the period {label} is no date and no number: give the label of the batch's period")
    return label


def _check_text(text: str, what: str) -> None:
    if not text.strip() or len(text) > LONGEST or not text.isprintable():
        raise InputError(f"the {what} is {text[:80]!r}; it must be 1 to {LONGEST} characters that can be printed")


def place_of(label: str) -> tuple[int, float, tuple[str | int, ...], str]:
    """Key of the order of periods: numbers by size, then labels by their letters and the numbers in them.

    >>> sorted(["week 10", "2026-10-1", "week 9", "2026-9-30", "10", "9"], key=place_of)
    ['9', '10', '2026-9-30', '2026-10-1', 'week 9', 'week 10']
    """
    if _NUMBER.fullmatch(label):
        return 0, float(label), (), label
    parts = re.split(r"(\d+)", label)
    return 1, 0.0, tuple(int(part) if place % 2 else part for place, part in enumerate(parts)), label


def _digest(predictions: Predictions | Summary) -> str:
    """Return the digest of what is watched of a batch."""
    summary = counts(predictions)
    parts: tuple[NDArray[Any], ...]
    if summary is not None:
        cells = cells_of_batch(summary)
        parts = cells.place, cells.count, cells.outcome, cells.whole, cells.part
    else:
        rows = ConfidenceRows.ranked(cast(Predictions, predictions))
        parts = rows.h, rows.right
    return hashlib.sha256(b"".join(each.tobytes() for each in parts)).hexdigest()
