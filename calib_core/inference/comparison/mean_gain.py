"""By how much less one model loses than another on average, each end of the interval sure of its own side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import norm
from calib_core._base.distributions import t as student
from calib_core.inference.comparison.joint_cells import FEWEST_SURPRISES, Difference
from calib_core.inference.comparison.score_differences import grouped_difference
from calib_core.inference.intervals.clustered_rows import drawn_apart, together
from calib_core.predictions.predictions import Predictions

NOTHING = 1e-12
_NUMBERS = 1 << 16
"""Numbers that are worked on at a time."""
_STEPS = 100
_NEAR = 0.1
"""So close to what was seen (in standard errors) the saddle point's correction is lost in rounding, and left out."""


def mean_gain(
    base: Predictions, after: Predictions, gains: Float64s, terms: Callable[[Float64s], Float64s], level: float
) -> Difference:
    """The interval of the mean of ``gains`` (n,), which ``after`` brings over ``base``: exact in all but a few rows.

    Row i has probabilities p_i (K,) in ``base`` and q_i in ``after``; label k, had it happened, would have gained g_ik,
    what ``terms`` says of the one less of the other. The mean G is taken for one of outcomes that are drawn by

        r_ik(t) proportional to (p_ik + q_ik) / 2 * exp(t g_ik),

    one t for all rows: where t is large ``after`` is nearer to the truth, where small ``base``. The lower end is the
    mean under the t at which as much as was seen, or more, happens with probability (1 - level) / 2, the upper end that
    of as much or less; p is twice the probability at the t of no gain. These are a saddle point's (Lugannani & Rice),
    moved outwards where a strict bound (Chernoff's) is wider, with Student's quantile for the normal one, so that
    skewed gains and losses that are rare, or have not happened yet, count as they should. Where rows were seen to vary
    more than under the t of the mean seen, ends lie further out, by the root of how much more, phi: the sum of squares
    of what was seen less what was expected, by the variances.

    Where rows belong to groups, phi also has what the squares of groups' sums are of those of rows (at least 1; at
    least what groups that come out alike would have where the models expect fewer than five groups with a surprise).
    NotAnswerable with fewer than ten groups of one size.

    What can mislead: a truth that lies far from both models, not between them, in rows that have no surprise yet.

    References: Lugannani & Rice 1980, Advances in Applied Probability 12; Barndorff-Nielsen 1986, Biometrika 73;
    McCullagh & Nelder 1989, on phi.
    """
    weights = np.ones(len(gains)) if base.weights is None else base.weights
    groups, number, mass = base.row_groups, float(len(gains)), float(weights.sum())
    point = float(weights @ gains) / mass
    if groups is not None and gains.any():
        number = grouped_difference(gains, weights, groups, level)[1]
    outcomes = Outcomes.of(base, after, terms, weights)
    if np.ptp(outcomes.gains, axis=1).max() <= NOTHING:
        return Difference(point, point, point, float(abs(point) <= NOTHING))
    seen = outcomes.tilted_to(point * mass)
    away = weights * gains - seen.means
    phi = max(1.0, float(np.square(away).sum()) / max(seen.variance, 1e-300) * number / max(number - 1, 1))
    if seen.variance <= NOTHING * outcomes.tilted(0.0).variance:
        phi = 1.0  # as much as can happen on this side has: nothing can vary more
    sides = np.array([phi, phi])
    if groups is not None:
        rows = float(np.square(away).sum()) * number / max(number - 1, 1)
        more = float(np.square(drawn_apart(together(away, groups), groups, weights)).sum()) / max(rows, 1e-300)
        few = outcomes.surprises() * len(groups.values) / len(gains) < FEWEST_SURPRISES / 2
        alike = float(np.square(together(weights, groups)).sum() / np.square(weights).sum())
        sides *= np.maximum(max(1.0, more), np.where(few, alike, 1.0))
    z = float(student.ppf((1 + level) / 2, max(number - 1, 1)))
    low, high = (outcomes.mean_at(seen, sign * z, phi) / mass for sign, phi in zip((1, -1), sides, strict=True))
    none = outcomes.far(outcomes.tilted_to(0.0), seen, sides[0 if point > 0 else 1])
    return Difference(point, low, high, min(1.0, 2 * float(student.sf(abs(none), max(number - 1, 1)))))


@dataclass(frozen=True)
class Tilted:
    """Outcomes drawn by r(t): log of the sum of what r is proportional to, means of rows (n,), variance of the sum."""

    t: float
    log_total: float
    means: Float64s
    variance: float

    @property
    def mean(self) -> float:
        return float(self.means.sum())


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What each label of a row would gain, times the row's weight, and the log of its chance at t = 0; (n, K)."""

    gains: Float64s
    logs: Float64s

    @classmethod
    def of(
        cls, base: Predictions, after: Predictions, terms: Callable[[Float64s], Float64s], weights: Float64s
    ) -> Outcomes:
        gains, logs = (np.empty((base.n_rows, base.probs.shape[1])) for _ in range(2))
        for where, block in base.rows.blocks():
            first, second = block.astype(np.float64), after.rows.part(where).array().astype(np.float64)
            gains[where] = weights[where, None] * (terms(first) - terms(second))
            logs[where] = np.log(np.maximum((first + second) / 2, 1e-300))
        return cls(gains, logs)

    def tilted(self, t: float) -> Tilted:
        n, k = self.gains.shape
        means, log_total, variance, step = np.empty(n), 0.0, 0.0, max(_NUMBERS // k, 1)
        for start in range(0, n, step):
            where = slice(start, start + step)
            gains, chance = self.gains[where], self.logs[where] + t * self.gains[where]
            top = chance.max(axis=1)
            chance -= top[:, None]
            np.exp(chance, out=chance)
            total = chance.sum(axis=1)
            means[where] = np.einsum("ij,ij->i", chance, gains) / total
            away = gains - means[where, None]
            variance += float((np.einsum("ij,ij,ij->i", chance, away, away) / total).sum())
            log_total += float((top + np.log(total)).sum())
        return Tilted(t, log_total, means, variance)

    def tilted_to(self, mean: float) -> Tilted:
        """Where the sum has this mean: by Newton's steps; where no t has it, where it is as near as can be."""
        found = first = self.tilted(0.0)
        below, above, unit = -np.inf, np.inf, first.variance**-0.5
        for _ in range(_STEPS):
            miss = found.mean - mean
            if abs(miss) <= NOTHING ** (3 / 4) / unit or found.variance <= NOTHING * first.variance:
                break
            below, above = (below, found.t) if miss > 0 else (found.t, above)
            reach = 4 * max(abs(found.t), unit)
            t = found.t - float(np.clip(miss / found.variance, -reach, reach))
            found = self.tilted(t if below < t < above else (below + above) / 2)
        return found

    def far(self, drawn: Tilted, seen: Tilted, phi: float) -> float:
        """How far what was seen lies above what is ``drawn``, as a standard normal number."""
        apart = seen.t - drawn.t
        half = max(apart * seen.mean - seen.log_total + drawn.log_total, 0.0) / phi
        root, wald = float(np.sqrt(2 * half)), abs(apart) * float(np.sqrt(seen.variance / phi))
        if root < _NEAR:
            return float(np.sign(apart)) * root
        nearer = root + float(np.log(max(wald, 1e-300) / root)) / root
        return float(np.sign(apart)) * max(nearer, float(norm.isf(np.exp(-half))))

    def mean_at(self, seen: Tilted, far: float, phi: float) -> float:
        """The sum's mean under the t which what was seen lies so far above."""
        side, step = (1.0 if far > 0 else -1.0), abs(far) * float(np.sqrt(phi / max(seen.variance, 1e-300)))
        step = min(step, abs(far) * float(np.sqrt(phi / self.tilted(0.0).variance)))
        for _ in range(_STEPS):
            if side * self.far(self.tilted(seen.t - side * step), seen, phi) >= abs(far):
                t = scipy.optimize.brentq(
                    lambda t: self.far(self.tilted(t), seen, phi) - far, seen.t - side * step, seen.t, rtol=1e-10
                )
                return self.tilted(float(t)).mean
            step *= 2
        return self.tilted(seen.t - side * step).mean

    def surprises(self) -> Float64s:
        """How many steps below a row's mean are expected, and above: (sum v)^2 / sum k, v their second and k their
        fourth moment, which for steps of one size is how often they happen."""
        chance = np.exp(self.logs)
        away = self.gains - np.einsum("ij,ij->i", chance, self.gains)[:, None]
        steps = np.stack([np.maximum(-away, 0.0), np.maximum(away, 0.0)])
        second, fourth = ((chance * steps**power).sum(axis=(1, 2)) for power in (2, 4))
        return np.asarray(np.divide(second**2, fourth, out=np.full(2, np.inf), where=fourth > 0))
