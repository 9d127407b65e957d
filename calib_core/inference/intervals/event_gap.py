"""The mean gap of an event's risk, or of confidences, from the exact chances of how many come true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betainc, betaincc

from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.observed_expected import EventEnds, binomial_ends, effective_events, ends_of_groups
from calib_core.predictions.predictions import NotAnswerable, Predictions

_PRECISE = 1e-9


@dataclass(frozen=True)
class EventGap:
    """Observed events O against expected ones E, of ``rows`` rows of equal chances (N' in ``ratio_ends``).

    ``observed``, ``expected`` and ``rows`` are divided by ``factor`` where rows have weights that are not whole
    numbers; ``total`` is the weight of all rows. Gaps are observed less expected events over ``total``.
    """

    observed: float
    expected: float
    rows: float
    factor: float
    total: float

    @classmethod
    def of(cls, rows: EventRows) -> EventGap:
        """The number of events of independent rows; NotAnswerable without a row that has a weight."""
        if not rows.trials.total > 0:
            raise NotAnswerable("no row makes a claim here: there is nothing to judge")
        trials, number, factor = effective_events(rows)
        # The whole-number grid has means of cells; what is expected is the sum of the risks themselves.
        return cls(trials.observed, rows.trials.expected / factor, number, factor, rows.trials.total)

    @property
    def claimed(self) -> float:
        """The mean predicted risk."""
        return self.expected * self.factor / self.total

    @property
    def came_true(self) -> float:
        """The observed frequency."""
        return self.observed * self.factor / self.total

    @property
    def gap(self) -> float:
        """Observed frequency less mean predicted risk."""
        return self.came_true - self.claimed

    def least(self, tail: float) -> float:
        """Lower end for the size of the gap, missing with this chance: 0 where noise may explain all of it.

        The theta at which P(|X - E| >= |O - E|) = tail, X binomial of N' rows with mean E + theta towards O: both
        tails count, because the size has no sign.
        """
        return self._shift(tail) * self.factor / self.total

    @cached_property
    def middle(self) -> float:
        """The size of which the observed one is the median: half of the chance to be just as far counts as farther."""
        return self._shift(0.5, self._as_far_or_tied) * self.factor / self.total

    @property
    def chance(self) -> float:
        """The chance that as many or as few events happen if their mean number is E: ``least`` is above 0 beyond it."""
        return min(1.0, self._as_far(0.0))

    def most(self, tail: float) -> float:
        """Upper end for the size of the gap: Clopper and Pearson's, on the side that is farther from E."""
        low, high = binomial_ends(self.observed, self.rows, tail, self.total / self.factor)
        return max(high - self.expected, self.expected - low, 0.0) * self.factor / self.total

    def ends(self, level: float, tail: float) -> tuple[float, float]:
        """Both ends of the gap, its sign kept."""
        low, high = self.events(level, tail)
        return low / self.total - self.claimed, high / self.total - self.claimed

    def events(self, level: float, tail: float) -> tuple[float, float]:
        """Ends for the mean number of events: the one towards E misses with ``tail``, the other with (1 - level)/2.

        E is left out exactly where ``least`` is above 0; where it is inside, the nearer end is Clopper and Pearson's at
        (1 - level)/2, or E if that lies beyond.
        """
        low, high = binomial_ends(self.observed, self.rows, (1.0 - level) / 2, self.total / self.factor)
        shift = self._shift(tail)
        if self.observed >= self.expected:
            low = self.expected + shift if shift > 0 else min(low, self.expected)
        else:
            high = self.expected - shift if shift > 0 else max(high, self.expected)
        return low * self.factor, high * self.factor

    def _shift(self, tail: float, chance: Callable[[float], float] | None = None) -> float:
        """The same in events of the effective rows."""
        chance = chance or self._as_far
        size = abs(self.observed - self.expected)
        if chance(0.0) >= tail:
            return 0.0
        low, high = 0.0, size
        while high - low > _PRECISE * max(size, 1.0):
            middle = (low + high) / 2
            low, high = (middle, high) if chance(middle) < tail else (low, middle)
        return low

    def _as_far_or_tied(self, theta: float) -> float:
        return (self._as_far(theta) + self._as_far(theta, beyond=1.0)) / 2

    def _as_far(self, theta: float, beyond: float = 0.0) -> float:
        """The chance that the events are as far from E as they were, on either side, if their mean is E + theta.

        Or farther than that by so many events ``beyond``.
        """
        more = self.observed >= self.expected
        share = float(np.clip((self.expected + (theta if more else -theta)) / self.rows, 0.0, 1.0))
        other = 2 * self.expected - self.observed
        above, below = (self.observed, other) if more else (other, self.observed)
        return _at_least(above + beyond, self.rows, share) + _at_most(below - beyond, self.rows, share)


@dataclass(frozen=True)
class OtherClass:
    """The mean gap of the class that is not the event: the event's with the other sign, and of the same size."""

    event: EventGap

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return self.event.total

    @property
    def claimed(self) -> float:
        """The mean predicted probability."""
        return 1.0 - self.event.claimed

    @property
    def came_true(self) -> float:
        """The observed frequency."""
        return 1.0 - self.event.came_true

    @property
    def gap(self) -> float:
        """Observed frequency less mean predicted probability."""
        return -self.event.gap

    @property
    def middle(self) -> float:
        """The size of which the observed one is the median."""
        return self.event.middle

    @property
    def chance(self) -> float:
        """The chance that noise alone makes as large a gap."""
        return self.event.chance

    def least(self, tail: float) -> float:
        """Lower end for the size of the gap."""
        return self.event.least(tail)

    def most(self, tail: float) -> float:
        """Upper end for the size of the gap."""
        return self.event.most(tail)

    def ends(self, level: float, tail: float) -> tuple[float, float]:
        """Both ends of the gap, its sign kept."""
        low, high = self.event.ends(level, tail)
        return -high, -low


def joint_ends(rows: EventRows, predictions: Predictions, level: float, tail: float) -> EventEnds:
    """Ends for the mean number of events at ``level``, the one towards the expected number missing with ``tail``.

    Rows that belong together: Korn and Graubard's ends, both missing with (1 - level)/2.
    """
    if rows.groups is not None:
        return ends_of_groups(rows, predictions, level)
    method, weighed = "Clopper and Pearson's ends for the effective number of rows", not rows.copies
    low, high = EventGap.of(rows).events(level, tail)
    return EventEnds(low, high, f"{method}, weights by Kish's number" if weighed else method, not weighed)


def _at_least(events: float, rows: float, share: float) -> float:
    """P(X >= events), X binomial; a number between two whole ones lies between their chances."""
    if events <= 0:
        return 1.0
    return float(betainc(events, rows - events + 1, share)) if events < rows + 1 else 0.0


def _at_most(events: float, rows: float, share: float) -> float:
    """P(X <= events)."""
    if events >= rows:
        return 1.0
    return float(betaincc(events + 1, rows - events, share)) if events > -1 else 0.0
