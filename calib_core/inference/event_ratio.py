"""Observed to expected events: how many happened for every one that the predicted risks add up to, with exact ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib_core._repr import OneLine
from calib_core.defaults import LEVEL, RATIO
from calib_core.errors import NotAnswerable
from calib_core.estimators.base import Question
from calib_core.inference.chain import event_tail
from calib_core.inference.events.event_gap import joint_ends
from calib_core.inference.events.event_rows import EventRows, Trials
from calib_core.inference.events.events_needed import events_needed
from calib_core.inference.events.observed_expected import events_p_value
from calib_core.registry import RegistryError

NONE_EXPECTED = "no event is expected: every predicted risk is 0, and nothing can be divided by 0"

RatioWord = Literal["within", "outside", "undecided"]


@dataclass(frozen=True, repr=False)
class EventRatio(OneLine):
    """Observed to expected events, O / E, with an interval and what it shows about a tolerance.

    ``observed`` events happened, ``expected`` is the sum of the predicted risks, of ``rows`` rows (sums of weights
    where rows carry them). ``low`` to ``high`` is the interval of the expected O / E, each end at ``tail``. The
    tolerance is from 1 / ``tolerance`` to ``tolerance``. ``needed``: the expected events with which a calibrated model
    would be shown to lie within it in 8 of 10 samples. ``p_value`` is of the test that O / E is 1
    (``risk.in_the_large``), NaN where rows are weighted or belong to groups.
    """

    observed: float
    expected: float
    rows: float
    low: float
    high: float
    tail: float
    tolerance: float
    needed: float
    p_value: float = math.nan

    @property
    def value(self) -> float:
        """O / E."""
        return self.observed / self.expected

    @property
    def rate(self) -> float:
        """The share of rows in which the event happened."""
        return self.observed / self.rows

    @property
    def word(self) -> RatioWord:
        """Whether the whole interval lies within the tolerance, or outside of it."""
        if self.low > self.tolerance or self.high < 1 / self.tolerance:
            return "outside"
        return "within" if 1 / self.tolerance < self.low and self.high < self.tolerance else "undecided"

    @property
    def enough(self) -> bool:
        """Whether there are as many expected events as are ``needed``."""
        return self.expected >= self.needed

    def _line(self) -> str:
        tolerated = f"{1 / self.tolerance:.3g} to {self.tolerance:.3g}"
        return f"{self.value:.3g}, {self.low:.3g} to {self.high:.3g}; tolerance {tolerated}"


def event_ratio(question: Question, level: float = LEVEL, tolerance: float = RATIO) -> EventRatio:
    """The ratio of observed to expected events of a question about an event, at ``level``, held against a tolerance.

    The ends are those of ``ratio_ends``, the one towards 1 read at the level that the mean gap and the errors of the
    event share (``chain.event_tail``); rows that belong together count as the fewer independent ones that tell as much.
    NotAnswerable where no event is expected at all, so that nothing can be divided by.
    """
    if not 1 < tolerance < math.inf:
        raise RegistryError(f"the tolerance of the O:E ratio is {tolerance:g}; it must lie above 1")
    listed = question.written_out
    rows = EventRows.of_claims(listed.claims, listed.predictions)
    trials = rows.trials if rows.cells is None else Trials.of_cells(rows.cells)
    expected = trials.expected
    if not expected > 0:
        raise NotAnswerable(NONE_EXPECTED)
    bins = getattr(question.estimator, "binning", None) if question.free is False else None
    ends = joint_ends(rows, listed.predictions, level, event_tail(question.predictions, level, bins))
    # Risks of 0 and 1 alone leave nothing to chance: one event would do.
    spread = min(float(trials.rows @ np.square(trials.score)) / expected, 1.0 - 1e-9)
    needed = events_needed("within", 1.0, tolerance, level=level, concentration=spread).events
    numbers = trials.observed, expected, trials.total
    p = events_p_value(trials) if rows.copies and rows.groups is None else math.nan
    low, high = ends.low / expected, ends.high / expected
    return EventRatio(*numbers, low, high, (1 - level) / 2, tolerance, float(needed), p)
