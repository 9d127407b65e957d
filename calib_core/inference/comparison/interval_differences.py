"""How far two models' errors differ where only each model's own interval is known: by its extremes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calib_core.estimators.base import Question
from calib_core.inference.comparison.joint_cells import Difference
from calib_core.inference.comparison.paired_difference import PairedDifference
from calib_core.inference.intervals.bins_of_interval import target
from calib_core.inference.intervals.clustered_rows import groups_of
from calib_core.inference.intervals.error_hierarchy import Chain
from calib_core.inference.intervals.interval_methods import interval
from calib_core.results.uncertainty import Interval

LADDER = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""The p-values told where intervals are held against each other: the smallest of these at which they part."""


def of_intervals(
    questions: tuple[Question, Question], level: float, random_state: int, *, same_rows: bool = True
) -> PairedDifference:
    """Two errors compared by each model's own interval at level 1 - (1 - level) / 2.

    It holds whatever the two models' rows have in common; ``same_rows``: they are the same, one by one.
    """
    first, second = (q.answer(q.predictions).value for q in questions)
    if same_rows and questions[0].claims.alike(questions[1].claims):
        return PairedDifference.of_same_claims((first, second), level)
    intervals = [_intervals(q, random_state) for q in questions]

    def ends(alpha: float) -> tuple[float, float, bool]:
        """The extremes of the difference at level 1 - alpha, and whether both intervals are tested."""
        mine, theirs = (each(1 - alpha / 2) for each in intervals)
        return mine.low - theirs.high, mine.high - theirs.low, mine.tested and theirs.tested

    low, high, tested = ends(1 - level)
    point = float(np.clip(first - second, low, high))
    difference = Difference(point, low, high, _parts_at(ends))
    whatever = "" if same_rows else ", whatever rows they have in common"
    method = f"extremes of both models' own intervals{whatever}, conservative"
    about = "the difference of the two true errors, each as its own interval says"
    return PairedDifference.of((first, second), difference, level, method, tested, about)


def _intervals(question: Question, random_state: int) -> Callable[[float], Interval]:
    """Level -> the model's own interval, with what all levels share made once."""
    if target(question.estimator) is not None and not question.whole and groups_of(question) is None:
        lines = Chain.of(question, random_state)
        return lambda level: lines.interval(question.estimator, level)
    return lambda level: interval(question, level, random_state)


def _parts_at(ends: Callable[[float], tuple[float, float, bool]]) -> float:
    """The smallest alpha of the ladder whose interval leaves 0 out, 1 where none does; by bisection."""
    low, high = 0, len(LADDER)
    while low < high:
        middle = (low + high) // 2
        least, most, _ = ends(LADDER[middle])
        low, high = (low, middle) if least > 0 or most < 0 else (middle + 1, high)
    return LADDER[low] if low < len(LADDER) else 1.0
