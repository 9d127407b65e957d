"""Intervals of errors whose rows belong together: what moves one row of a group may move them all."""

from __future__ import annotations

import numpy as np

from calib_core.estimators.base import Question, traits
from calib_core.inference.intervals.bins_of_interval import OF_BINS, target
from calib_core.inference.intervals.clustered_rows import FEWEST, GroupsInCells, few_groups, together, widened
from calib_core.inference.intervals.elementary import IN_BINS, NOISELESS, around, beyond
from calib_core.inference.intervals.inversion import CellGaps
from calib_core.inference.intervals.largest_errors import largest_ends
from calib_core.inference.noise.noise_floor import noise_floor
from calib_core.inference.noise.redrawn_errors import of_counts
from calib_core.predictions.predictions import NotAnswerable
from calib_core.predictions.row_groups import RowGroups, made_for_single_rows
from calib_core.results.uncertainty import Interval

_SLACK = 1e-3
"""A lower end below this share of the value is rounding."""


def interval(question: Question, groups: RowGroups, level: float, random_state: int) -> Interval:
    """The interval of an error of grouped rows, in its own bins.

    The error T is a norm of sums of residuals (ECE, kernel, smooth, convex, swept, cumulative errors), to which each
    group adds what its rows add together; groups are independent. With A_g how far group g's residuals did move such a
    sum (in bins: the most that sum A_g^2 can be for any signs of the bins), M the most that one group could, B = sum
    (A_g / M)^2 and X(B) as in ``poisson_limits.beyond``, the ends are

        max(0, T - q),   q the (1 + level)/2 point of what calibrated models show (``group_noise.of_groups``),
        min(1, T + M X(B)),   widened to Student's point for as many groups.

    The largest error of a bin: Clopper-Pearson bounds for all bins at once, rows of a group in a bin counted as one.
    Where outcomes of these scores cannot be drawn the lower end is 0. What can mislead: groups that are few or very
    unequal make the interval wide, as they must.

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
        return _largest(question, groups, level, value)
    tail = (1.0 - level) / 2
    most = float(together(question.claims.reaches(question.ranks), groups).max())
    high = value + widened(groups, tail) * most * beyond(_squares(question, groups) / most**2, tail)
    try:
        floor = noise_floor(question, random_state=random_state)
        low = value - float(np.quantile(floor.draws, 1.0 - tail))
    except NotAnswerable:
        low = 0.0
    low = low if low > _SLACK * value else 0.0
    about = NOISELESS if declared.judged == "residuals" else IN_BINS
    return around(value, (low, min(high, 1.0)), level, "bounds for a norm of residuals, by group", False, about)


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
