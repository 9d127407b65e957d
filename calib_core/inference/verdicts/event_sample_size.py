"""Number of rows at which an event is shown to be within both tolerances, of its error and of its ratio."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.notebook_display import OneLine
from calib_core.defaults import LEVEL, RATIO, SEED
from calib_core.estimators.base import Question
from calib_core.guarantees.bounds import fewest
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.interval_methods import power_by_rows
from calib_core.inference.intervals.larger_samples import Power
from calib_core.inference.verdicts.events_needed import POWER, EventsNeeded, events_needed, lasting_power
from calib_core.text import rows as about

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
