"""Intervals of errors of grouped rows: a change in one row of a group may occur in all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib_core.estimators.base import Question, traits
from calib_core.inference.intervals.binned_errors import one_claim_a_row
from calib_core.inference.intervals.bins_of_interval import OF_BINS, target
from calib_core.inference.intervals.clustered_rows import FEWEST, GroupsInCells, few_groups, together, widened
from calib_core.inference.intervals.elementary import IN_BINS, NOISELESS, alone, around, beyond, raised
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.inversion import CellGaps
from calib_core.inference.intervals.observed_expected import ends_of_groups, grouped_p_value
from calib_core.inference.intervals.squared_errors import largest_ends
from calib_core.inference.noise.noise_floor import noise_floor
from calib_core.inference.noise.redrawn_errors import of_counts
from calib_core.predictions.predictions import NotAnswerable
from calib_core.predictions.row_groups import RowGroups, made_for_single_rows
from calib_core.reductions.base import claims_in
from calib_core.reductions.top import Confidence
from calib_core.results.uncertainty import Interval

_SLACK = 1e-3
"""A lower end below this share of the value is rounding."""


def interval(question: Question, groups: RowGroups, level: float, random_state: int) -> Interval:
    """The interval of an error of grouped rows, in its own bins.

    The error T is a norm of sums of residuals (ECE, kernel, smooth, convex, swept, cumulative errors). Each group
    contributes the sum of its rows; groups are independent. A_g is the distance that group g's residuals moved such a
    sum (in bins: the largest possible sum A_g^2 for any signs of the bins). M is the most that one group could move
    it, B = sum (A_g / M)^2, and X(B) as in ``elementary.beyond``. The ends are

        max(0, T - q),   q the (1 + level)/2 point for calibrated models (``group_noise.of_groups``),
        min(1, T + M X(B)),   widened to Student's point for this number of groups.

    In bins of one claim per row, no end is below that of the size of the mean gap. The error cannot be smaller than it.
    That end uses its p-value's level, (1 - level)/2 for both signs. The own lower end of T then uses a tenth of that,
    so that both miss jointly in at most 1.1 (1 - level)/2. The p-value is at most that of the mean gap. The target is T
    itself, which noise raises.

    The largest error of a bin has Clopper-Pearson bounds for all bins at once; rows of a group in a bin count as one.
    If outcomes of these scores cannot be drawn, the lower end is 0. What can mislead: few or very unequal groups make
    the interval wide, as they must.

    NotAnswerable for fewer than ``FEWEST`` groups, squared and debiased errors, errors of pairs and of whole vectors.
    """
    declared, of = traits(question.estimator), target(question.estimator)
    plain = declared.judged == "residuals" or (declared.counts == "always" and of is not None and of[0] != 2)
    if question.whole or not plain:
        raise NotAnswerable(made_for_single_rows(groups, "the interval of this error"))
    if len(groups.values) < FEWEST:
        raise NotAnswerable(few_groups(groups))
    value = question.answer(question.predictions).value
    if of is not None and of[0] in ("max", OF_BINS):
        largest, further = (_largest(question, groups, each, value) for each in (level, alone(level)))
        return _above_mean_gap(largest, further.low, question, level)
    tail = (1.0 - level) / 2
    most = float(together(question.claims.reaches(question.ranks), groups).max())
    high = value + widened(groups, tail) * most * beyond(_squares(question, groups) / most**2, tail)
    low, further_low = _lower_ends(question, value, (level, alone(level)), random_state)
    about = NOISELESS if declared.judged == "residuals" else f"{IN_BINS}, noise included"
    found = around(value, (low, min(high, 1.0)), level, "bounds for a norm of residuals, by group", False, about)
    return found if of is None else _above_mean_gap(found, further_low, question, level)


def _lower_ends(question: Question, value: float, levels: Sequence[float], random_state: int) -> list[float]:
    """Lower ends at several levels: the value less what calibrated models show; 0 where outcomes cannot be drawn."""
    try:
        drawn = noise_floor(question, random_state=random_state).draws
    except NotAnswerable:
        return [0.0 for _ in levels]
    lows = (value - float(np.quantile(drawn, (1.0 + level) / 2)) for level in levels)
    return [low if low > _SLACK * value else 0.0 for low in lows]


def _above_mean_gap(own: Interval, low: float, question: Question, level: float) -> Interval:
    """The interval of an error with its own lower end ``low``, not below the mean gap of the same claims.

    It is unchanged if rows make several claims, which have no such gap.
    """
    if not one_claim_a_row(question):
        return own
    answered = question.predictions.answered
    # Claims about the predicted class, class by class, have the mean gap of all of them.
    claims = question.claims if len(question.claims.strata) == 1 else claims_in(Confidence(), answered)
    rows = EventRows.of_claims(claims, answered)
    total, mean = rows.trials.total, rows.trials.expected / rows.trials.total
    # The size has two tails: the end towards 0 is that of the interval that excludes 0 if p is small enough.
    near, far = (ends_of_groups(rows, answered, each) for each in ((1.0 + level) / 2, level))
    least = max(near.low / total - mean, mean - near.high / total, 0.0)
    most = max(mean - far.low / total, far.high / total - mean)
    return raised(own, low, (least, least, most), grouped_p_value(rows), "mean gap")


def _squares(question: Question, groups: RowGroups) -> float:
    """Squares of what groups did move the aggregate by, added up."""
    counted = of_counts(question.estimator, question.claims) if target(question.estimator) else None
    if counted is None:
        return float(np.square(together(question.claims.influence(question.ranks), groups)).sum())
    table = counted.table
    unit = np.divide(table.weight, table.count, out=np.zeros(table.count.shape), where=table.count > 0)
    return GroupsInCells.of(question.claims, table, groups, question.ranks).squares(unit.ravel())


def _largest(question: Question, groups: RowGroups, level: float, value: float) -> Interval:
    counted, of = of_counts(question.estimator, question.claims), target(question.estimator)
    assert counted is not None
    assert of is not None
    table = counted.table
    worth = GroupsInCells.of(question.claims, table, groups, question.ranks).fewest.reshape(table.count.shape)
    cells = (table.count > 0) & (table.weight > 0)
    bins = np.nonzero(cells)[1] if of[0] == OF_BINS else None
    gaps = CellGaps(table.weight[cells], worth[cells], table.mean_outcome[cells], table.mean_score[cells])
    ends = largest_ends(gaps, level, bins)
    method = "simultaneous Clopper-Pearson, rows of a group in a bin counted as one"
    return around(value, (ends.low, ends.high), level, method, False)
