"""Numbers of expected events and of rows needed to judge the ratio of observed to expected events."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from scipy.special import ndtr, pdtr

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import gamma, norm
from calib_core._base.errors import as_share
from calib_core._base.notebook_display import OneLine
from calib_core.defaults import LEVEL, RATIO, SEED
from calib_core.estimators.base import Question
from calib_core.guarantees.bounds import fewest
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.interval_methods import power_by_rows
from calib_core.inference.intervals.larger_samples import Power
from calib_core.predictions.predictions import InputError, NotAnswerable
from calib_core.text import in_percent
from calib_core.text import rows as about

POWER = 0.8
"""Probability of reaching the wanted verdict."""
_MOST = 1 << 17
"""Up to half of these events, chances are added up; beyond, the number of events has a normal law."""
_MOST_NAMED = 10**12


@dataclass(frozen=True, repr=False)
class EventsNeeded(OneLine):
    """Expected ``events`` from which on the wanted verdict is reached with probability ``power``; ``rows`` for them.

    ``rows`` is None where no event rate was given.
    """

    events: int
    rows: int | None
    wanted: str
    stated: float
    ratio: float
    power: float
    level: float

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        aim = "within" if self.wanted == "within" else "outside"
        amount = f"{self.events:,} expected events" + ("" if self.rows is None else f" (about {self.rows:,} rows)")
        return (
            f"With {amount}, a model whose true ratio of observed to expected events is {self.stated:g} is found "
            f"{aim} {1 / self.ratio:.3g} to {self.ratio:.3g} in {in_percent(self.power)} of samples."
        )


def events_needed(
    wanted: Literal["within", "outside"] = "within",
    stated: float = 1.0,
    ratio: float = RATIO,
    *,
    power: float = POWER,
    level: float = LEVEL,
    concentration: float = 0.0,
    event_rate: float | None = None,
) -> EventsNeeded:
    """Return the number of expected events needed to reach a verdict on the ratio with probability ``power``.

    O is a Poisson number with mean ``stated`` * E. Its exact ends (Garwood), each failing by (1 - level)/2, are divided
    by E. Both must be inside (1/ratio, ratio), or for "outside" entirely beyond one side. The answer is the smallest E
    such that every E from there on has the power. Power is not monotone, because O is a whole number.

    Parameters
    ----------
    wanted : "within" or "outside".
    stated : the true ratio of observed to expected events that the answer is for.
    concentration : sum p^2 / sum p of the true chances, 0 for rare events. The variance of O is smaller by this share,
        so that E times (1 - concentration) events are enough (to first order; the number is rounded up).
    event_rate : mean risk, to translate events into rows.

    Beyond 65,536 events, the log ratio has a normal law instead. NotAnswerable where the stated ratio has the other
    verdict, or is so near the tolerance that more than 10^12 events would be needed.

    References: Garwood 1936.

    >>> events_needed().events, events_needed("outside", 2.0).events
    (177, 19)
    """
    as_share(power, "power")
    as_share(level, "level")
    if wanted not in ("within", "outside"):
        raise InputError(f'wanted is {wanted!r:.80}; it must be "within" or "outside"')
    check_ratio(ratio)
    if not stated >= 0 or not np.isfinite(stated):
        raise InputError(f"stated is {stated!r:.80}; it must be a ratio of observed to expected events, 0 or more")
    if not 0 <= concentration < 1:
        raise InputError(f"concentration is {concentration!r:.80}; it must be at least 0 and below 1")
    if event_rate is not None:
        as_share(event_rate, "event_rate", last=True)
    inside = 1 / ratio < stated < ratio
    beyond = stated < 1 / ratio or stated > ratio
    if (wanted == "within" and not inside) or (wanted == "outside" and not beyond):
        raise NotAnswerable(
            f"a ratio of {stated:g} is not {wanted} {1 / ratio:.3g} to {ratio:.3g}: no number of events can show it"
        )
    events = int(np.ceil(_least_events(wanted, stated, ratio, power, level) * (1 - concentration) - 1e-9))
    rows = None if event_rate is None else int(np.ceil(events / event_rate * (1 - 1e-12)))
    return EventsNeeded(events, rows, wanted, stated, ratio, power, level)


def lasting_power(expected: Float64s, ratio: float, level: float, concentration: float) -> Float64s:
    """Least probability, at any number of ``expected`` events (m,) or more, that a calibrated ratio is within.

    The inverse of ``events_needed``, with its ``concentration``; it never falls.

    >>> lasting_power(np.array([100.0, 176.0, 177.0, 1e9]), 1.25, 0.9, 0.0).round(2).tolist()
    [0.41, 0.79, 0.8, 1.0]
    """
    if _least_events("within", 1.0, ratio, POWER, level) > _MOST // 2:
        return _power_of_many(expected / (1 - concentration), "within", 1.0, ratio, level)
    known = _lasting(ratio, level)
    place = np.minimum(np.floor(expected / (1 - concentration) + 1e-9), len(known) - 1.0)
    return np.asarray(known[place.astype(np.intp)])


@lru_cache(maxsize=64)
def _lasting(ratio: float, level: float) -> Float64s:
    """The same for 0, 1, ... rare events, up to four times those needed."""
    most = 4 * _least_events("within", 1.0, ratio, POWER, level)
    power = verdict_power(np.arange(1.0, most + 1), "within", 1.0, ratio, level)
    return np.append(0.0, np.minimum.accumulate(power[::-1])[::-1])


@lru_cache(maxsize=64)
def _least_events(wanted: str, stated: float, ratio: float, power: float, level: float) -> int:
    """The smallest number of expected rare events such that every larger one has the power."""
    most = 64
    while most <= _MOST:
        reached = verdict_power(np.arange(1.0, most + 1), wanted, stated, ratio, level) >= power
        if reached[most // 2 :].all():
            short = np.flatnonzero(~reached)
            return int(short[-1]) + 2 if len(short) else 1
        most *= 2
    return _least_of_many(wanted, stated, ratio, power, level)


def _least_of_many(wanted: str, stated: float, ratio: float, power: float, level: float) -> int:
    """The same by the normal law, from ``_MOST`` / 2 events on."""
    from scipy.optimize import brentq  # needed rarely, and slow to import

    def missing(log_events: float) -> float:
        return power - float(_power_of_many(np.exp([log_events]), wanted, stated, ratio, level)[0])

    low, high = float(np.log(_MOST / 4)), float(np.log(_MOST_NAMED))
    if missing(high) > 0:
        raise NotAnswerable(
            f"a ratio of {stated:g} is too close to the tolerance of {1 / ratio:.9g} to {ratio:.9g}: more than "
            f"{_MOST_NAMED:,} events would be needed"
        )
    return int(np.ceil(np.exp(brentq(missing, low, high))))


def _power_of_many(expected: Float64s, wanted: str, stated: float, ratio: float, level: float) -> Float64s:
    """``verdict_power`` for many events: the log ratio is normal, with a standard error of 1 / sqrt(events)."""
    z, root = float(norm.isf((1 - level) / 2)), np.sqrt(stated * expected)
    below, above = (np.log(ratio) + np.log(stated)) * root, (np.log(ratio) - np.log(stated)) * root
    if wanted == "within":
        return np.asarray(np.maximum(ndtr(above - z) - ndtr(z - below), 0.0))
    return np.asarray(ndtr(-above - z) + ndtr(-below - z))


def verdict_power(
    expected: Float64s, wanted: str, stated: float, ratio: float = RATIO, level: float = LEVEL
) -> Float64s:
    """Probability of the verdict at each number of ``expected`` events, (m,), for the stated true ratio.

    >>> verdict_power(np.array([10.0, 177.0]), "within", 1.0).round(2).tolist()
    [0.0, 0.81]
    """
    tail = (1 - level) / 2
    mean = stated * expected
    top = float(max(mean.max(), (expected * ratio).max()))
    count = np.arange(int(top + 12 * np.sqrt(top) + 40), dtype=np.float64)
    # Garwood's ends for the mean of a Poisson number; both rise with it.
    low = np.append(0.0, gamma.isf(1 - tail, count[1:]))
    high = gamma.isf(tail, count + 1)
    if wanted == "within":
        first = np.searchsorted(low, expected / ratio, side="right")
        last = np.searchsorted(high, expected * ratio, side="left") - 1
        return np.maximum(_up_to(last, mean) - _up_to(first - 1, mean), 0.0)
    too_many = 1 - _up_to(np.searchsorted(low, expected * ratio, side="right") - 1, mean)
    too_few = _up_to(np.searchsorted(high, expected / ratio, side="left") - 1, mean)
    return np.asarray(too_many + too_few)


def check_ratio(ratio: float) -> None:
    """InputError unless a tolerance for the ratio is a number above 1."""
    if isinstance(ratio, bool) or not ratio > 1 or not np.isfinite(ratio):
        raise InputError(f"ratio is {ratio!r:.80}; it must be above 1 (1.25 means 0.8 to 1.25)")


def _up_to(count: np.typing.NDArray[np.intp], mean: Float64s) -> Float64s:
    return np.where(count < 0, 0.0, pdtr(np.maximum(count, 0), mean))


_ALONE = 1.01
"""Factor up to which the number of rows for both tolerances is that for one of them."""


@dataclass(frozen=True, repr=False)
class EventSampleSize(OneLine):
    """Share of samples in which a calibrated model of an event is within both tolerances, by the number of rows.

    ``error`` is the share within the tolerance of the error. ``needed`` are the expected events, and their rows, for
    the ratio of observed to expected events. ``event_rate`` is the mean risk, ``concentration`` sum p^2 / sum p.

    The share within both is computed as the product of the two. The true one tends to be a little larger: a sample with
    too many or too few events has a larger error too.
    """

    error: Power
    needed: EventsNeeded
    event_rate: float
    concentration: float

    @property
    def events(self) -> int:
        """Expected events with which the ratio is within in 8 of 10 samples."""
        return self.needed.events

    @property
    def ratio(self) -> float:
        """Tolerance of the ratio."""
        return self.needed.ratio

    def of_ratio(self, rows: Float64s) -> Float64s:
        """Shares of samples whose ratio is within, at these numbers of rows."""
        return lasting_power(rows * self.event_rate, self.ratio, self.needed.level, self.concentration)

    def of_both(self, rows: Float64s) -> Float64s:
        """Shares of samples within both tolerances, at these numbers of rows."""
        return self.error.share(rows) * self.of_ratio(rows)

    @property
    def rows_of_error(self) -> int:
        """Rows with which the error is within in 8 of 10 samples."""
        return math.ceil(self.error.rows - 1e-6)

    @property
    def rows_of_ratio(self) -> int:
        """Rows with which the ratio is within in 8 of 10 samples."""
        assert self.needed.rows is not None
        return self.needed.rows

    @cached_property
    def rows(self) -> int:
        """Rows with which both are within in 8 of 10 samples: at least those of each."""
        least = max(self.rows_of_error, self.rows_of_ratio)
        return fewest(lambda n: float(self.of_both(np.array([float(n)]))[0]) >= POWER - 1e-4, 1.0, least)

    @property
    def decides(self) -> Literal["error", "ratio", "both"]:
        """Tolerance that determines the number of rows: one, or both if each needs about as many."""
        if self.rows <= _ALONE * self.rows_of_ratio:
            return "ratio"
        return "error" if self.rows <= _ALONE * self.rows_of_error else "both"

    def _line(self) -> str:
        return (
            f"about {about(self.rows)} rows: {about(self.rows_of_error)} for the error, "
            f"{about(self.rows_of_ratio)} for the ratio of observed to expected events"
        )


def event_sample_size(
    question: Question, limit: float, level: float = LEVEL, ratio: float = RATIO, random_state: int = SEED
) -> EventSampleSize | None:
    """Return the sample size for a question about an event, an error below ``limit`` and a ratio within 1/r to r.

    The samples are of a calibrated model with risks like those at hand. None if no event is expected: then the error
    is judged by itself.

    >>> from calib_core import Predictions, estimate
    >>> rare = Predictions([[0.99, 0.01], [0.97, 0.03]] * 500, [0, 0] * 495 + [0, 1] * 5)
    >>> size = event_sample_size(estimate(rare, "event").question, 0.02)
    >>> size.events, size.rows, size.decides  # 173 / 0.02
    (173, 8650, 'ratio')
    """
    listed = question.written_out
    trials = EventRows.of_claims(listed.claims, listed.predictions).on_grid
    if not trials.expected > 0:
        return None
    rate = trials.expected / trials.total
    needed = events_needed("within", 1.0, ratio, level=level, concentration=trials.concentration, event_rate=rate)
    power = power_by_rows(question, limit, level, random_state)
    return EventSampleSize(power, needed, rate, trials.concentration)
