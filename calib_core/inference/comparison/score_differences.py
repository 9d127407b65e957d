"""Differences of mean scores of two models on the same rows: accuracy, Brier score, log loss, and gains one-sided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from scipy.special import ndtr

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.distributions import norm
from calib_core._base.distributions import t as student
from calib_core._base.errors import NotAnswerable
from calib_core.estimators.base import traits
from calib_core.inference.comparison.paired_differences import FEWEST_SURPRISES, Difference
from calib_core.inference.intervals.clustered_rows import FEWEST, drawn_apart, few_groups, of_like_size, together
from calib_core.inference.intervals.elementary import beyond
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.row_groups import RowGroups

_HALVINGS = 60


def of_scores(a: Predictions, b: Predictions, score: Any, level: float) -> tuple[Difference, str, bool]:
    """The interval of the mean difference, its method, and whether that is tested; rows that abstain are left out."""
    apart = score.losses(a) - score.losses(b)
    known = ~np.isnan(apart)
    if traits(score).judged == "losses":
        if not known.all():
            a, b = (p.take(np.flatnonzero(known)) for p in (a, b))
        return of_gains(a, b, apart[known], score.label_losses, level)
    if a.row_groups is not None:
        return _by_group(a, b, apart, None, level), BY_GROUP, False
    apart, weight = apart[known], None if a.weights is None else a.weights[known]
    if weight is None and traits(score).judged == "share":
        if np.array_equal(a.predicted[known], b.predicted[known]):
            return Difference(0.0, 0.0, 0.0, 1.0), "the same predicted classes", True
        difference = accuracy_difference(int((apart > 0).sum()), int((apart < 0).sum()), len(apart), level)
        return difference, "paired score interval", len(apart) >= FEWEST_ROWS
    return mean_difference(apart, np.ones(len(apart)) if weight is None else weight, level), "paired t", False


MOST_TILTED = 1 << 22
"""Most rows times classes for which the outcomes behind a gain are tilted, some seconds of work."""


def of_gains(
    base: Predictions, after: Predictions, gains: Float64s, terms: Callable[[Float64s], Float64s], level: float
) -> tuple[Difference, str, bool]:
    """The interval of the mean gain in a loss, its method, and whether it is tested.

    A gain has this interval wherever it is shown: between two models, and of a calibrator over the model. ``gains``
    (n,) are the losses in ``base`` less those in ``after``; ``terms`` returns the loss of each label, (n, K). The
    method is that of ``mean_gain``; for more than ``MOST_TILTED`` numbers that of ``of_losses``.
    """
    if base.n_rows * base.rows.shape[1] > MOST_TILTED:
        return of_losses(base, after, gains, terms, level)
    return mean_gain(base, after, gains, terms, level), TILTED, base.weights is None and base.row_groups is None


def of_confidences(
    a: Predictions, b: Predictions, score: Any, level: float
) -> tuple[tuple[float, float], Difference, str, bool] | None:
    """Scores of the confidences as claims to be right: values, mean difference a - b, its method, whether tested.

    A row's loss is that of its confidence as a prediction of being right; accuracy is the share of right rows. Both
    models use the same rows but have their own outcomes. If these are equal, it is the difference of two risks of one
    event (``of_gains``), else Student's interval for the mean of the rows' differences. None if either model has
    fewer than ten right rows or ten wrong ones, too few to represent possible outcomes.
    """
    a, b = a.answered, b.answered
    share = traits(score).judged == "share"
    first, second = (p.correct.astype(np.float64) if share else _lost(p, score) for p in (a, b))
    weight = np.ones(len(first)) if a.weights is None else a.weights.astype(np.float64)
    values = float(first @ weight / weight.sum()), float(second @ weight / weight.sum())
    apart = first - second
    if not share and np.array_equal(a.correct, b.correct):
        found = of_gains(_event(a), _event(b), apart, lambda probs: score.claim_losses(probs[:, 1]).T, level)
        return values, *found
    if a.row_groups is not None:
        return values, of_own_outcomes(a, apart, level), BY_GROUP, False
    if share and a.weights is None:
        more, less = int((apart > 0).sum()), int((apart < 0).sum())
        enough = len(apart) >= FEWEST_ROWS
        return values, accuracy_difference(more, less, len(apart), level), "paired score interval", enough
    few = min(min(p.correct.sum(), (~p.correct).sum()) for p in (a, b))
    return None if few < FEWEST_SURPRISES else (values, of_own_outcomes(a, apart, level), "paired t", False)


def of_own_outcomes(rows: Predictions, apart: Float64s, level: float) -> Difference:
    """Student's interval for the mean of differences (n,) between two models that each have their own outcomes."""
    weight = np.ones(len(apart)) if rows.weights is None else rows.weights.astype(np.float64)
    if rows.row_groups is not None:
        return grouped_difference(apart, weight, rows.row_groups, level)[0]
    return mean_difference(apart, weight, level)


def _lost(rows: Predictions, score: Any) -> Float64s:
    """Loss of every row by its confidence, (n,)."""
    wrong, right = score.claim_losses(rows.confidence.astype(np.float64))
    return np.asarray(np.where(rows.correct, right, wrong), dtype=np.float64)


def _event(rows: Predictions) -> Predictions:
    """The confidence as the risk of one event: that the row is right."""
    confidence = rows.confidence.astype(np.float64)
    both, labels = np.column_stack([1 - confidence, confidence]), rows.correct.astype(int)
    return Predictions(both, labels, weights=rows.weights, groups=rows.grouping)


def of_losses(
    a: Predictions, b: Predictions, apart: Float64s, terms: Callable[[Float64s], Float64s], level: float
) -> tuple[Difference, str, bool]:
    """Return the interval of a mean loss difference, its method, and whether it is tested.

    ``apart`` (n,) are the differences per row, NaN on rows left out. ``terms`` returns the loss that each label would
    give rows of probabilities (n, K).
    """
    if a.row_groups is not None:
        return _by_group(a, b, apart, terms, level), BY_GROUP, False
    known = ~np.isnan(apart)
    apart, weight = apart[known], None if a.weights is None else a.weights[known]
    difference = mean_difference(apart, np.ones(len(apart)) if weight is None else weight, level)
    largest, surprises, expected = _surprises(a, b, terms, known)
    if largest <= 1e-12:
        return (
            Difference(difference.point, difference.point, difference.point, difference.p_value),
            "no outcome can change it",
            True,
        )
    if expected >= FEWEST_SURPRISES:
        return difference, "paired t", weight is None
    share = 1.0 if weight is None else float(weight.max() * len(weight) / weight.sum())
    return bounded_difference(difference.point, largest * share, surprises, len(apart), level), BOUND, weight is None


FEWEST_ROWS = 10
"""Fewest rows for which coverage of the accuracy's interval was summed up exactly."""
TILTED = "outcomes tilted between the models"
BY_GROUP = "paired t of group sums"
BOUND = "bounds from the largest change one outcome can make"


def mean_difference(apart: Float64s, weight: Float64s, level: float) -> Difference:
    """Student's interval for the (weighted) mean of the rows' differences (n,): mean -+ t sd / sqrt(n)."""
    n, middle = len(apart), float(apart @ weight / weight.sum())
    error = float(np.sqrt(np.square(weight * (apart - middle)).sum() * n / max(n - 1, 1)) / weight.sum())
    half = error * float(student.ppf((1 + level) / 2, max(n - 1, 1)))
    p = float(2 * student.sf(abs(middle) / error, max(n - 1, 1))) if error > 0 else float(middle == 0.0)
    return Difference(middle, middle - half, middle + half, p)


def _by_group(
    a: Predictions, b: Predictions, apart: Float64s, terms: Callable[[Float64s], Float64s] | None, level: float
) -> Difference:
    """Student's interval for the mean of the rows' differences (n,), those of a group added up.

    NotAnswerable where fewer than ten groups differ, or are expected to be surprised: what could come is unseen then.
    """
    known = ~np.isnan(apart)
    groups = a.row_groups.take(np.flatnonzero(known)) if a.row_groups is not None else None
    assert groups is not None
    weight = np.ones(len(apart))[known] if a.weights is None else a.weights[known]
    if not apart[known].any():
        return Difference(0.0, 0.0, 0.0, 1.0)
    difference, _ = grouped_difference(apart[known], weight, groups, level)
    if terms is not None and _surprises(a, b, terms, known)[2] * len(groups.values) / len(groups.codes) < FEWEST:
        raise NotAnswerable(
            f"rows belong to {groups.words}: fewer than {FEWEST} of them are expected to have an outcome that "
            "distinguishes the models, so rare outcomes could change the difference; give rows of more groups, or "
            "evaluate one row per group"
        )
    return difference


def grouped_difference(apart: Float64s, weight: Float64s, groups: RowGroups, level: float) -> tuple[Difference, float]:
    """Student's interval for the mean of ``apart`` (n,), summed over groups, and the effective number of groups.

    NotAnswerable if that number, or the number of groups with a sum other than 0, is below ten.
    """
    middle, like = float(apart @ weight / weight.sum()), of_like_size(groups, weight)
    if min(like, float(np.count_nonzero(together(np.abs(apart), groups)))) < FEWEST:
        raise NotAnswerable(few_groups(groups))
    sums = drawn_apart(together(weight * (apart - middle), groups), groups, weight)
    error = float(np.sqrt(np.square(sums).sum()) / weight.sum())
    half = error * float(student.ppf((1 + level) / 2, like - 1))
    p = float(2 * student.sf(abs(middle) / error, like - 1)) if error > 0 else float(middle == 0.0)
    return Difference(middle, middle - half, middle + half, p), like


def bounded_difference(middle: float, largest: float, surprises: float, n: float, level: float) -> Difference:
    """Interval for a mean of n differences, few of which can vary much: middle -+ D X(B) / n.

    D (``largest``) is the largest change of a row's difference by one outcome. The number B (``surprises``) is the sum
    of squares of (difference less its expectation) / D.

    What can mislead: the interval is wide, since one unseen outcome could change much.
    """
    half = largest * beyond(surprises, (1 - level) / 2) / n
    # The level at which the half width is what was seen, by bisection: the p-value that goes with the interval.
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        p = (low + high) / 2
        wide = largest * max(beyond(surprises, p / 2), 0.0) / n > abs(middle)
        low, high = (p, high) if wide else (low, p)
    return Difference(middle, middle - half, middle + half, high)


def accuracy_difference(first: int, second: int, n: int, level: float) -> Difference:
    """Score interval for the difference of two accuracies on the same n rows.

    Only the first model is right on ``first`` rows, only the second on ``second``. The ends are the delta at which
    (first - second - n delta) / sqrt(n (2 q + delta (1 - delta))) = -+ z. Here q is the maximum likelihood estimate, at
    this delta, of the share of rows where only the second is right. The p-value is McNemar's, 2 Phi(-|first - second| /
    sqrt(first + second)). Summed over all outcomes for n = 10..100 at level 90 %, each end misses in at most 7.5 %.

    References: Tango 1998, Statistics in Medicine 17; McNemar 1947.

    >>> difference = accuracy_difference(0, 0, 10, 0.9)  # no row tells them apart, yet ten rows prove little
    >>> round(difference.low, 3), round(difference.high, 3), difference.p_value
    (-0.213, 0.213, 1.0)
    """
    z, middle = float(norm.isf((1 - level) / 2)), (first - second) / n

    def statistic(delta: float) -> float:
        linear = (2 * n - first + second) * delta - first - second
        root = np.sqrt(max(linear**2 + 8 * n * second * delta * (1 - delta), 0.0))
        share = (root - linear) / (4 * n)
        variance = n * (2 * share + delta * (1 - delta))
        return float((first - second - n * delta) / np.sqrt(max(variance, 1e-300)))

    def where(target: float, low: float, high: float) -> float:
        for _ in range(_HALVINGS):
            delta = (low + high) / 2
            low, high = (delta, high) if statistic(delta) > target else (low, delta)
        return (low + high) / 2

    p = 2 * float(ndtr(-abs(first - second) / np.sqrt(first + second))) if first + second else 1.0
    return Difference(middle, where(z, -1.0, middle), where(-z, middle, 1.0), p)


def _surprises(a: Predictions, b: Predictions, possible: Any, known: Bools) -> tuple[float, float, float]:
    """Return the largest change by one outcome, squared deviations in this unit, and their expected number.

    Expectations use the mean of both models' probabilities, so no outcome is used. The expected number is (sum v)^2 /
    sum k, with v the variance of a row's difference and k its fourth moment. For a change of a single size this is
    the expected number of changes.
    """
    largest, squares, variance, fourth = 0.0, 0.0, 0.0, 0.0
    labels = a.true_labels
    for where, block in a.rows.blocks():
        rows, first = known[where], block.astype(np.float64)
        second = b.rows.part(where).array().astype(np.float64)
        terms, chance = possible(first) - possible(second), (first + second) / 2
        away = (terms - np.einsum("ij,ij->i", chance, terms)[:, None])[rows]
        largest = max(largest, float(np.ptp(away, axis=1).max(initial=0.0)))
        squares += float(np.square(np.take_along_axis(away, labels[where][rows][:, None], axis=1)).sum())
        variance += float((chance[rows] * np.square(away)).sum())
        fourth += float((chance[rows] * np.square(np.square(away))).sum())
    if largest == 0:
        return 0.0, 0.0, 0.0
    return largest, squares / largest**2, variance**2 / fourth if fourth > 0 else 0.0


NOTHING = 1e-12
_NUMBERS = 1 << 16
"""Numbers that are worked on at a time."""
_STEPS = 100
_RECENT = 8
"""Number of tilts that are kept, besides the one at 0."""
_NEAR = 0.1
"""Distance to the observed value, in standard errors, below which the saddle point's correction is left out."""


def mean_gain(
    base: Predictions, after: Predictions, gains: Float64s, terms: Callable[[Float64s], Float64s], level: float
) -> Difference:
    """Interval for the mean of ``gains`` (n,), which ``after`` brings over ``base``, also with few informative rows.

    Row i has probabilities p_i (K,) in ``base`` and q_i in ``after``. Label k, had it happened, would have gained
    g_ik, the difference of ``terms`` of the two. The mean G is modeled with outcomes drawn from

        r_ik(t) proportional to (p_ik + q_ik) / 2 * exp(t g_ik),

    with one t for all rows: for large t ``after`` is nearer to the truth, for small t ``base``. The lower end is the
    mean at the t at which the observed gain, or more, has probability (1 - level) / 2. The upper end uses the
    observed gain or less. p is twice the probability at the t of no gain. Probabilities are saddle point
    approximations (Lugannani & Rice), moved outwards if a strict bound (Chernoff's) is wider, with Student's quantile
    for the normal one. So skewed gains, and losses that are rare or have not happened yet, are taken into account.

    If rows vary more than expected at the t of the observed mean, ends are moved out by the square root of the ratio
    phi. This is the sum of squares of observed less expected gains, divided by the sum of variances. For grouped rows,
    phi is multiplied by the ratio of the squares of groups' sums to those of rows. This ratio is at least 1. If the
    models expect fewer than five groups with a surprise, it is at least the value for groups with equal outcomes.
    NotAnswerable with fewer than ten groups of one size.

    What can mislead: the truth can be far from both models rather than between them, in rows without a surprise so
    far.

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
    """Possible gain of each label of a row times the row's weight, and the log of its chance at t = 0; (n, K)."""

    gains: Float64s
    logs: Float64s
    _recent: dict[float, Tilted] = field(default_factory=dict)

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
        """Outcomes at t; those at 0 and at the last few t are kept, as searches come back to them."""
        if t not in self._recent:
            if len(self._recent) > _RECENT:
                del self._recent[next(filter(None, self._recent))]
            self._recent[t] = self._tilted(t)
        return self._recent[t]

    def _tilted(self, t: float) -> Tilted:
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
        """Tilt to this mean of the sum, by Newton's steps; to the nearest possible mean if no t attains it."""
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
        """Distance of the observed gain above ``drawn``, as a standard normal number."""
        apart = seen.t - drawn.t
        half = max(apart * seen.mean - seen.log_total + drawn.log_total, 0.0) / phi
        root, wald = float(np.sqrt(2 * half)), abs(apart) * float(np.sqrt(seen.variance / phi))
        if root < _NEAR:
            return float(np.sign(apart)) * root
        nearer = root + float(np.log(max(wald, 1e-300) / root)) / root
        return float(np.sign(apart)) * max(nearer, float(norm.isf(np.exp(-half))))

    def mean_at(self, seen: Tilted, far: float, phi: float) -> float:
        """The sum's mean under the t for which the observed gain is ``far`` standard deviations above it."""
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
        """Expected numbers of steps below a row's mean and above: (sum v)^2 / sum k.

        v is their second and k their fourth moment. For steps of a single size this is the expected number of steps.
        """
        chance = np.exp(self.logs)
        away = self.gains - np.einsum("ij,ij->i", chance, self.gains)[:, None]
        steps = np.stack([np.maximum(-away, 0.0), np.maximum(away, 0.0)])
        second, fourth = ((chance * steps**power).sum(axis=(1, 2)) for power in (2, 4))
        return np.asarray(np.divide(second**2, fourth, out=np.full(2, np.inf), where=fourth > 0))
