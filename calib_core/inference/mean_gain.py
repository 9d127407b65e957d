"""By how much less one model loses than another on average, each end of the interval sure of its own side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calib_core._arrays import Float64s
from calib_core._distributions import t as student
from calib_core.inference.clusters import together
from calib_core.inference.joint_cells import FEWEST_SURPRISES, Difference
from calib_core.inference.score_differences import bounded_difference, grouped_difference, mean_difference
from calib_core.predictions import Predictions

NOTHING = 1e-12


@dataclass(frozen=True)
class Surprises:
    """How far outcomes can take gains to one side: the largest step of a row, or group, times its weight, what was seen
    of it, and what is expected.

    ``seen`` is the sum of squared steps, by the largest; ``expected`` counts steps as (sum v)^2 / sum k, v their second
    and k their fourth moment, which for steps of one size is how often they happen. ``skew``: by how much the mean is
    skewed to this side, sum of the third moments / (sum v)^(3/2), at least 0.
    """

    largest: float
    seen: float
    expected: float
    skew: float


def mean_gain(
    base: Predictions, after: Predictions, gains: Float64s, terms: Callable[[Float64s], Float64s], level: float
) -> Difference:
    """The interval of the mean of ``gains`` (n,), which ``after`` brings over ``base``; Student's, end by end.

    A lower end is wrong where outcomes that would cost much have not been seen yet, an upper end where such as would
    gain much have not. Either end is Student's where five surprises to its side are expected before outcomes are seen,
    by the mean of both models' probabilities (n, K), of which ``terms`` says what each label would cost; its quantile z
    is moved outwards by skew (2 z^2 + 1) / 6 where the mean is skewed to that side (the larger of what was seen and
    what is expected). Else it is the bound from the largest step to that side (``bounded_difference``). What was much
    too sure, and is so no more, gains much in few rows and loses little in many: there Student's lower end errs on the
    safe side. p is the one that goes with the end nearer to 0.

    Where rows belong to groups, sums of groups take the place of rows, a surprise counts as if all rows of its group
    came out alike, and the largest step is that of a whole group; NotAnswerable with fewer than ten groups of one size.

    What can mislead: few rows that gain most of the mean make the upper end wide.

    References: Johnson 1978, JASA 73; Hall 1992, on Student's statistic of skewed samples.
    """
    weights = np.ones(len(gains)) if base.weights is None else base.weights
    groups, number = base.row_groups, float(len(gains))
    if groups is None or not gains.any():
        middle = mean_difference(gains, weights, level)
    else:
        middle, number = grouped_difference(gains, weights, groups, level)
    sides = surprises(base, after, terms)
    if max(side.largest for side in sides) <= NOTHING:
        return Difference(middle.point, middle.point, middle.point, middle.p_value)
    unit = number / float(weights.sum())
    away = together(weights * (gains - middle.point), groups)
    seen = float((away**3).sum() / max(float((away**2).sum()) ** 1.5, 1e-300))
    low, high = (
        _skewed(middle, max(side.skew, -sign * seen, 0.0), number, level)
        if side.expected >= FEWEST_SURPRISES / 2 or side.largest <= NOTHING
        else bounded_difference(middle.point, side.largest * unit, side.seen, number, level)
        for side, sign in zip(sides, (1, -1), strict=True)
    )
    p = low.p_value if middle.point > 0 else high.p_value
    return Difference(middle.point, low.low, high.high, p)


def _skewed(middle: Difference, skew: float, n: float, level: float) -> Difference:
    """Student's interval with the quantile z moved outwards for a skewed mean, to z + skew (2 z^2 + 1) / 6."""
    z, freedom = float(student.ppf((1 + level) / 2, max(n - 1, 1))), max(n - 1, 1)
    error = (middle.high - middle.point) / z
    if error <= 0:
        return middle
    half, distance = error * (z + skew * (2 * z * z + 1) / 6), abs(middle.point) / error
    if skew > 0:  # the z at which the moved quantile is what was seen
        distance = (np.sqrt(max(1 + skew / 3 * (4 * distance - 2 * skew / 3), 0.0)) - 1) / (2 * skew / 3)
    p = min(1.0, 2 * float(student.sf(distance, freedom)))
    return Difference(middle.point, middle.point - half, middle.point + half, p)


def surprises(
    base: Predictions, after: Predictions, terms: Callable[[Float64s], Float64s]
) -> tuple[Surprises, Surprises]:
    """Of a row's gain below what is expected of it, and above; rows of a group taken together."""
    n, groups = base.n_rows, base.row_groups
    weights = np.ones(n) if base.weights is None else base.weights
    most, seen, sums, third, second_moment = np.zeros((2, n)), np.zeros(n), np.zeros((2, 2)), 0.0, 0.0
    for where, block in base.rows.blocks():
        first, second = block.astype(np.float64), after.rows.part(where).array().astype(np.float64)
        gain, chance = terms(first) - terms(second), (first + second) / 2
        away = gain - np.einsum("ij,ij->i", chance, gain)[:, None]
        seen[where] = np.take_along_axis(away, base.true_labels[where][:, None], axis=1)[:, 0]
        third += float((chance * away**3).sum())
        second_moment += float((chance * away**2).sum())
        for side, steps in enumerate((np.maximum(-away, 0.0), np.maximum(away, 0.0))):
            squares = np.square(steps)
            most[side, where] = steps.max(axis=1)
            sums[side] += float((chance * squares).sum()), float((chance * np.square(squares)).sum())
    # A whole group may come out alike: there are then as many surprises as groups, each of as many rows.
    alike = 1.0 if groups is None else len(groups.values) / n
    skew = third / max(second_moment**1.5, 1e-300) / alike**0.5
    sides = []
    for sign, steps, (variance, fourth) in zip((-1, 1), most, sums.tolist(), strict=True):
        largest = float(together(weights * steps, groups).max())
        squares = np.square(together(weights * np.maximum(sign * seen, 0.0), groups))
        sides.append(
            Surprises(
                largest,
                float(squares.sum()) / largest**2 if largest > 0 else 0.0,
                alike * variance**2 / fourth if fourth > 0 else 0.0,
                max(sign * skew, 0.0),
            )
        )
    return sides[0], sides[1]
