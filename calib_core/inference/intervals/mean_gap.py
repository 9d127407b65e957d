"""The mean gap of all claims of a notion: outcomes less scores, with ends that no line above it contradicts.

The mean gap of an event's risk, or of confidences, from the exact chances of how many come true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import betainc, betaincc, ndtr

from calib_core._base.distributions import norm
from calib_core._base.notebook_display import OneLine
from calib_core.claims.binary_claims import Claims
from calib_core.claims.exact_sums import Moments, copies
from calib_core.inference.intervals.elementary import beyond
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.observed_expected import EventEnds, binomial_ends, effective_events, ends_of_groups
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.text import at_level

FOLDED = "score ends of the mean gap"
"""Method of the interval of a mean gap."""
_PRECISE = 1e-9


class Gap(Protocol):
    """Data for the line of a mean gap: of one of many classes (``GapSums``), or by count (``EventGap``)."""

    @property
    def total(self) -> float: ...

    @property
    def claimed(self) -> float: ...

    @property
    def came_true(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def middle(self) -> float: ...

    @property
    def chance(self) -> float: ...

    def least(self, tail: float) -> float: ...

    def most(self, tail: float) -> float: ...

    def ends(self, level: float, tail: float) -> tuple[float, float]: ...


@dataclass(frozen=True)
class GapSums:
    """Sums over all claims: total weight, mean outcome and score, noise of the mean, and one row's share.

    ``deviation`` is the standard deviation of the mean gap, the larger of the estimates from residuals and from
    scores. ``unit`` is the most that one row can move it; ``residual`` the root of the summed squares of the rows'
    movements.
    """

    total: float
    claimed: float
    came_true: float
    deviation: float
    unit: float
    residual: float

    @classmethod
    def of(cls, claims: Claims) -> GapSums:
        """From the sums over all claims of one stratum or many, each claim by its weight."""
        moments: Moments = claims.moments([np.empty(0, dtype=claims.dtype)])
        total = float(moments.count.sum())
        if total <= 0.0:
            raise NotAnswerable("there are no claims to evaluate here")
        claimed, came_true = (float(part.sum()) / total for part in (moments.score, moments.outcome))
        squares = total if moments.squares is None else float(moments.squares.sum())
        # Around their mean residuals vary by less: the mean itself is no noise.
        seen = float(moments.second.sum()) - squares * (came_true - claimed) ** 2
        deviation = np.sqrt(max(seen, float(moments.claim.sum()), 0.0)) / total
        most = 1.0 if copies(claims.weights) else float(np.max(claims.weights))  # type: ignore[arg-type]
        residual = float(np.sqrt(moments.second.sum())) / total
        return cls(total, claimed, came_true, float(deviation), most / total, residual)

    @property
    def gap(self) -> float:
        """Mean outcome less mean score."""
        return self.came_true - self.claimed

    def least(self, tail: float) -> float:
        """Lower end for the size of the mean gap, which misses with this chance: 0 if noise may explain all of it.

        It is the theta at which Phi(-(|m| - theta)/sd) + Phi(-(|m| + theta)/sd) = tail. The size of m is that of a
        normal number regardless of sign, so at theta = 0 both of its tails count. The end is at most |m| less z times
        the root of the summed squared residuals. If all outcomes are equal, they have no deviations from their mean.
        """
        most = abs(self.gap) - float(norm.isf(tail)) * self.residual
        return max(0.0, min(self._reached(tail), most))

    @cached_property
    def middle(self) -> float:
        """The size of which the observed one is the middle: the same with a chance of one half."""
        return self._reached(0.5)

    @property
    def chance(self) -> float:
        """The chance that noise produces as large a gap: ``least`` is above 0 at every larger one."""
        size = abs(self.gap)
        if size <= 0.0:
            return 1.0
        folded = 2.0 * float(ndtr(-size / self.deviation)) if self.deviation > 0.0 else 0.0
        return max(folded, float(ndtr(-size / self.residual)) if self.residual > 0.0 else 0.0)

    def most(self, tail: float) -> float:
        """Upper end for the size of the mean gap: |m| + u X(V), V the noise's variance in rows, X a Poisson limit."""
        return min(1.0, abs(self.gap) + self._reach(tail))

    def ends(self, level: float, tail: float) -> tuple[float, float]:
        """Both ends of the signed gap: the one towards 0 misses with ``tail``, the other with (1 - level)/2."""
        least, most = self.least(tail), self.most((1.0 - level) / 2)
        near = least if least > 0 else min(0.0, abs(self.gap) - (most - abs(self.gap)))
        # Neither more nor less than nothing and all can come true.
        low, high = (near, most) if self.gap >= 0 else (-most, -near)
        return max(low, -self.claimed), min(high, 1.0 - self.claimed)

    def _reach(self, tail: float) -> float:
        return self.unit * beyond((self.deviation / self.unit) ** 2, tail)

    def _reached(self, tail: float) -> float:
        size, sd = abs(self.gap), self.deviation
        if sd <= 0.0:
            return size
        if 2.0 * float(ndtr(-size / sd)) >= tail:
            return 0.0
        low, high = 0.0, size
        while high - low > _PRECISE:
            theta = (low + high) / 2
            chance = float(ndtr(-(size - theta) / sd) + ndtr(-(size + theta) / sd))
            low, high = (theta, high) if chance < tail else (low, theta)
        return low


def mean_of_gaps(claims: Claims, tail: float) -> tuple[float, float]:
    """Mean over strata of the sizes of their mean gaps: the mean of their points, and the largest upper end.

    A stratum's point is that of its own ``MeanGap``. It is its size if that is more than noise explains at the chance
    ``tail``, else the size whose median is the observed one. Its upper end counts by its share.
    """
    moments: Moments = claims.moments([np.empty(0, dtype=claims.dtype)])
    total = moments.count.sum(axis=-1)
    here = (total > 0) & (claims.shares > 0)
    squares = moments.count if moments.squares is None else moments.squares
    parts = (moments.score, moments.outcome, squares, moments.second, moments.claim)
    score, outcome, squares, second, claim = (part.sum(axis=-1)[here] for part in parts)
    total, shares = total[here], claims.shares[here]
    gap = (outcome - score) / total
    deviation = np.sqrt(np.maximum(np.maximum(second - squares * gap**2, claim), 0.0)) / total
    residual = np.sqrt(second) / total
    most = 1.0 if copies(claims.weights) else float(np.max(claims.weights))  # type: ignore[arg-type]
    z, point, high = float(norm.isf(tail)), 0.0, 0.0
    for k in range(len(total)):
        sums = GapSums(
            float(total[k]),
            float(score[k] / total[k]),
            float(outcome[k] / total[k]),
            float(deviation[k]),
            float(most / total[k]),
            float(residual[k]),
        )
        size = abs(sums.gap)
        shown = size > z * sums.residual and (sums.deviation <= 0 or 2.0 * float(ndtr(-size / sums.deviation)) < tail)
        point += float(shares[k]) * (size if shown else min(sums.middle, size))
        high = max(high, float(shares[k]) * sums.most(tail))
    return point, high


@dataclass(frozen=True, repr=False)
class MeanGap(OneLine):
    """Mean outcome less mean score over all claims, ``gap`` from ``low`` to ``high``; and the same of its size.

    ``least``, ``point`` and ``most`` are about |gap|: its lower end is above 0 exactly if ``low`` to ``high``
    excludes 0. ``rows`` is the weight of all claims, ``claimed`` their mean score, ``came_true`` the observed
    frequency. The upper end misses with a chance of (1 - ``level``)/2, the lower one with ``tail``, which is at most
    that because lines above share it. ``p_value`` is for no gap: the least (1 - level)/2 at which 0 is excluded.
    """

    rows: float
    claimed: float
    came_true: float
    low: float
    high: float
    least: float
    point: float
    most: float
    level: float
    tail: float
    p_value: float

    @property
    def gap(self) -> float:
        """Signed gap, below 0 if the model is overconfident."""
        return self.came_true - self.claimed

    def _line(self) -> str:
        return f"{self.gap:+.4f}, {self.low:+.4f} to {self.high:+.4f} at {at_level(self.level)}"

    def _facts(self) -> dict[str, object]:
        return {
            "mean score": f"{self.claimed:.4f}",
            "came true": f"{self.came_true:.4f}",
            "mean gap": self._line(),
            "its size": f"{self.point:.4f}, {self.least:.4f} to {self.most:.4f}",
            "rows": f"{self.rows:,.6g}",
            "p": f"{self.p_value:.2g}",
        }

    @classmethod
    def of(cls, sums: Gap, level: float, tail: float, p_value: float) -> MeanGap:
        """With ends at this level, the one towards 0 with this chance to miss."""
        least, most = sums.least(tail), sums.most((1.0 - level) / 2)
        size = abs(sums.gap)
        point = size if least > 0 else min(sums.middle, size)
        ends = sums.ends(level, tail)
        return cls(sums.total, sums.claimed, sums.came_true, *ends, least, point, most, level, tail, p_value)


_PRECISE_SHIFT = 1e-9


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
            raise NotAnswerable("there are no claims to evaluate here")
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
        """Lower end for the size of the gap, missing with this chance: 0 if noise may explain all of it.

        It is the theta at which P(|X - E| >= |O - E|) = tail, with X binomial of N' rows and mean E + theta towards O.
        Both tails count, because the size has no sign.
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
        """Both ends of the signed gap."""
        low, high = self.events(level, tail)
        return low / self.total - self.claimed, high / self.total - self.claimed

    def events(self, level: float, tail: float) -> tuple[float, float]:
        """Ends for the mean number of events: the one towards E misses with ``tail``, the other with (1 - level)/2.

        E is excluded exactly if ``least`` is above 0. If E is inside, the nearer end is Clopper and Pearson's at (1 -
        level)/2, or E if that is further out.
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
        while high - low > _PRECISE_SHIFT * max(size, 1.0):
            middle = (low + high) / 2
            low, high = (middle, high) if chance(middle) < tail else (low, middle)
        return low

    def _as_far_or_tied(self, theta: float) -> float:
        return (self._as_far(theta) + self._as_far(theta, beyond=1.0)) / 2

    def _as_far(self, theta: float, beyond: float = 0.0) -> float:
        """The chance that the events are at least as far from E as observed, on either side, given mean E + theta.

        With ``beyond``: farther than that by this number of events.
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
        """The chance that noise produces as large a gap."""
        return self.event.chance

    def least(self, tail: float) -> float:
        """Lower end for the size of the gap."""
        return self.event.least(tail)

    def most(self, tail: float) -> float:
        """Upper end for the size of the gap."""
        return self.event.most(tail)

    def ends(self, level: float, tail: float) -> tuple[float, float]:
        """Both ends of the signed gap."""
        low, high = self.event.ends(level, tail)
        return -high, -low


def joint_ends(rows: EventRows, predictions: Predictions, level: float, tail: float) -> EventEnds:
    """Ends for the mean number of events at ``level``, the one towards the expected number missing with ``tail``.

    Rows in groups: Korn and Graubard's ends, both missing with (1 - level)/2.
    """
    if rows.groups is not None:
        return ends_of_groups(rows, predictions, level)
    method, weighed = "Clopper and Pearson's ends at the effective sample size", not rows.copies
    low, high = EventGap.of(rows).events(level, tail)
    return EventEnds(low, high, f"{method}, weights by Kish's number" if weighed else method, not weighed)


def _at_least(events: float, rows: float, share: float) -> float:
    """P(X >= events), X binomial; interpolated between whole numbers."""
    if events <= 0:
        return 1.0
    return float(betainc(events, rows - events + 1, share)) if events < rows + 1 else 0.0


def _at_most(events: float, rows: float, share: float) -> float:
    """P(X <= events)."""
    if events >= rows:
        return 1.0
    return float(betaincc(events + 1, rows - events, share)) if events > -1 else 0.0
