"""Observed to expected events: how many happened for every one that the predicted risks add up to, with exact ends."""

from __future__ import annotations

import math

import numpy as np

from calib_core._base.errors import InputError, NotAnswerable
from calib_core.defaults import LEVEL, RATIO
from calib_core.estimators.base import Question
from calib_core.inference.intervals.error_hierarchy import joint_event_ends
from calib_core.inference.intervals.event_rows import EventRows, Trials
from calib_core.inference.verdicts.events_needed import events_needed
from calib_core.results.uncertainty import EventRatio

NONE_EXPECTED = "no event is expected: every predicted risk is 0, and nothing can be divided by 0"


def event_ratio(question: Question, level: float = LEVEL, tolerance: float = RATIO) -> EventRatio:
    """The ratio of observed to expected events of a question about an event, at ``level``, held against a tolerance.

    The ends are those of ``ratio_ends``, the one towards 1 read at the level that the mean gap and the errors of the
    event share (``joint_event_ends``); rows that belong together count as the fewer independent ones that tell as much.
    NotAnswerable where no event is expected at all, so that nothing can be divided by.
    """
    if not 1 < tolerance < math.inf:
        raise InputError(f"the tolerance of the O:E ratio is {tolerance:g}; it must lie above 1")
    listed = question.written_out
    rows = EventRows.of_claims(listed.claims, listed.predictions)
    trials = rows.trials if rows.cells is None else Trials.of_cells(rows.cells)
    # As the ends are: of the risks themselves, so that an end at the expected number is a ratio of exactly 1.
    expected = rows.trials.expected
    if not expected > 0:
        raise NotAnswerable(NONE_EXPECTED)
    bins = getattr(question.estimator, "binning", None) if question.free is False else None
    ends, _, p = joint_event_ends(rows, listed.predictions, level, bins)
    # Risks of 0 and 1 alone leave nothing to chance: one event would do.
    spread = min(float(trials.rows @ np.square(trials.score)) / expected, 1.0 - 1e-9)
    needed = events_needed("within", 1.0, tolerance, level=level, concentration=spread).events
    numbers = trials.observed, expected, trials.total
    low, high = ends.low / expected, ends.high / expected
    return EventRatio(*numbers, low, high, (1 - level) / 2, tolerance, float(needed), p)
