"""Influence of each row on a measure of confidences, for its interval, that of a difference, and that of an AUROC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from scipy.special import digamma, expit, gammaincinv, logit

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.distributions import t as student
from calib_core.inference.intervals.clustered_rows import drawn_apart, of_like_size, together
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.row_groups import RowGroups


@dataclass(frozen=True, eq=False)
class Influence:
    """A measure's ``value``, and the influence of each row on it, ``terms`` (n,), with ``weights`` (n,), of mean 0.

    To first order the value changes by terms_i / n if row i counts once more. So the variance of the value is that of
    the terms over n. The difference of two measures of the same rows has the difference of their terms. Terms are
    summed within each of the ``groups`` before they are squared.
    """

    value: float
    terms: Float64s
    weights: Float64s
    groups: RowGroups | None = None

    def __sub__(self, other: Influence) -> Influence:
        return Influence(self.value - other.value, self.terms - other.terms, self.weights, self.groups)

    @property
    def error(self) -> float:
        """The standard error of the value."""
        sums = together(self.weights * self.terms, self.groups)
        if self.groups is None:
            return float(np.sqrt(np.square(sums).sum() * len(sums) / self.freedom) / self.weights.sum())
        return float(np.sqrt(np.square(drawn_apart(sums, self.groups, self.weights)).sum()) / self.weights.sum())

    @property
    def freedom(self) -> float:
        """Degrees of freedom: independent rows, or groups of like size, less one."""
        count = len(self.terms) if self.groups is None else of_like_size(self.groups, self.weights)
        return max(count - 1, 1)

    def ends(self, level: float) -> tuple[float, float]:
        """value -+ t error, Student's interval."""
        low, high = self.spread(level)
        return self.value + low, self.value + high

    def spread(self, level: float, slope: float = 1.0) -> tuple[float, float]:
        """-+ t error / slope: distance of the ends from the value on a scale that is 1 / ``slope`` times as wide."""
        half = self.error / slope * float(student.ppf((1 + level) / 2, self.freedom))
        return -half, half

    @property
    def p_value(self) -> float:
        """p-value of the test that the true value is 0, by Student's t."""
        if self.error == 0:
            return float(self.value == 0)
        return float(2 * student.sf(abs(self.value) / self.error, self.freedom))


def counting(predictions: Predictions) -> Predictions:
    """The rows that a model answers and that carry weight."""
    rows = predictions.answered
    weights = rows.weights
    return rows if weights is None or (weights > 0).all() else rows.take(np.flatnonzero(weights > 0))


@dataclass(frozen=True, eq=False)
class ConfidenceRows:
    """Rows with their confidence ``h``, whether they are ``right``, and their weights, each (n,); and their groups."""

    h: Float64s
    right: Bools
    weights: Float64s
    groups: RowGroups | None = None

    @classmethod
    def of(cls, predictions: Predictions) -> ConfidenceRows:
        """The rows that a model answers; whole-number weights as copies, rows of no weight left out."""
        rows = counting(predictions.written_out())
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights.astype(np.float64)
        return cls(rows.confidence.astype(np.float64), rows.correct, weights, rows.row_groups)

    @classmethod
    def of_event(cls, predictions: Predictions) -> ConfidenceRows:
        """The event's predicted risk in place of the confidence, and whether it happened in place of being right."""
        rows = counting(predictions.written_out())
        assert rows.event is not None
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights.astype(np.float64)
        risk = rows.rows.column(rows.event).astype(np.float64)
        return cls(risk, rows.true_labels == rows.event, weights, rows.row_groups)

    @classmethod
    def ranked(cls, predictions: Predictions) -> ConfidenceRows:
        """Rows to be ranked: by the risk of an event if there is one, else by confidence."""
        return cls.of(predictions) if predictions.event is None else cls.of_event(predictions)

    @cached_property
    def levels(self) -> tuple[Float64s, Codes]:
        """The distinct confidences, the surest first, and each row's place among them."""
        values, codes = np.unique(-self.h, return_inverse=True)
        return -values, codes

    @cached_property
    def masses(self) -> tuple[Float64s, Float64s]:
        """Weight of the rows at each of those, and of the wrong ones among them."""
        _, codes = self.levels
        mass, wrong = np.bincount(codes, self.weights), np.bincount(codes, self.weights * ~self.right)
        return mass.astype(np.float64), wrong.astype(np.float64)

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    def mean(self, values: Float64s) -> Influence:
        """A mean of the rows."""
        middle = float(self.weights @ values / self.total)
        return Influence(middle, values - middle, self.weights, self.groups)


def accuracy(rows: ConfidenceRows) -> Influence:
    """Share of rows that are right."""
    return rows.mean(rows.right.astype(np.float64))


def overconfidence(rows: ConfidenceRows) -> Influence:
    """Mean confidence less accuracy; above 0 the model is overconfident on average."""
    return rows.mean(rows.h - rows.right)


def brier(rows: ConfidenceRows) -> Influence:
    """Mean of (h - right)^2."""
    return rows.mean(np.square(rows.h - rows.right))


def skill(rows: ConfidenceRows) -> Influence:
    """1 - Brier / (a (1 - a)): the share of the squared error saved that saying the accuracy a for every row has.

    Terms by the delta method: -(b_i - B) / V + (B / V^2) (1 - 2 a) (z_i - a), V = a (1 - a). NaN where a is 0 or 1.
    """
    loss, right = brier(rows), accuracy(rows)
    constant = right.value * (1 - right.value)
    if constant == 0:
        return _unknown(rows)
    terms = loss.value / constant**2 * (1 - 2 * right.value) * right.terms - loss.terms / constant
    return Influence(1 - loss.value / constant, terms, rows.weights, rows.groups)


def auroc(rows: ConfidenceRows) -> Influence:
    """The chance that a right row has more confidence than a wrong one, a tie counted half.

    Terms are DeLong's: of a right row (V_i - value) / a, V_i the share of wrong rows below it; of a wrong one in turn.
    NaN where all are right, or all wrong.

    References: DeLong, DeLong & Clarke-Pearson 1988.
    """
    (mass, wrong), (_, codes) = rows.masses, rows.levels
    right = mass - wrong
    if not right.sum() or not wrong.sum():
        return _unknown(rows)
    # Levels descend: below a level are those after it.
    below = (wrong.sum() - np.cumsum(wrong) + wrong / 2) / wrong.sum()
    above = (np.cumsum(right) - right / 2) / right.sum()
    value, a = float(right @ below / right.sum()), right.sum() / mass.sum()
    terms = np.where(rows.right, (below[codes] - value) / a, (above[codes] - value) / (1 - a))
    return Influence(value, terms, rows.weights, rows.groups)


def risk_area(rows: ConfidenceRows) -> Influence:
    """Area under the risk-coverage curve: the mean, over k = 1..n, of the error rate among the k most confident rows.

    Rows of one confidence enter in random order, and the area is the mean over all orders. Suppose A rows and W wrong
    ones come before a level of m rows and w wrong ones. The level adds w + (W - w A / m) (H_(A+m) - H_A), with H the
    harmonic numbers. Terms are the derivatives by m and w with logarithms in place of H. For fractional weights, H is
    interpolated.

    References: Geifman, Uziel & El-Yaniv 2019.
    """
    (mass, wrong), (_, codes) = rows.masses, rows.levels
    n = mass.sum()
    value = _area(mass, wrong)
    before, mistakes = np.cumsum(mass) - mass, np.cumsum(wrong) - wrong
    share = wrong / mass
    excess = mistakes - share * before
    first = before <= 0
    wide = np.where(first, 0.0, np.log1p(mass / np.where(first, 1.0, before)))
    by_wrong = 1 - before / mass * wide + _after(wide)
    behind = np.where(first, 0.0, excess * (1 / (before + mass) - 1 / np.where(first, 1.0, before)))
    by_mass = share * before / mass * wide + excess / (before + mass) + _after(behind - share * wide)
    terms = np.where(rows.right, 0.0, by_wrong[codes]) + by_mass[codes]
    return Influence(value, terms - rows.weights @ terms / n, rows.weights, rows.groups)


def excess_area(rows: ConfidenceRows) -> Influence:
    """That area less the smallest one with this number of wrong rows, all of them last.

    References: Geifman, Uziel & El-Yaniv 2019 (E-AURC).
    """
    area, right = risk_area(rows), accuracy(rows)
    wrong = np.array([0.0, rows.total * (1 - right.value)])
    mass = np.array([rows.total - wrong[1], wrong[1]])
    least = _area(mass[mass > 0], wrong[mass > 0])
    slope = np.log(right.value) if right.value > 0 else 0.0
    return Influence(area.value - least, area.terms - slope * right.terms, rows.weights, rows.groups)


MEASURES: dict[str, Callable[[ConfidenceRows], Influence]] = {
    "accuracy": accuracy,
    "overconfidence": overconfidence,
    "brier": brier,
    "skill": skill,
    "auroc": auroc,
    "risk_area": risk_area,
    "excess_area": excess_area,
}
"""Measures of confidences, by the names of their columns."""


def _area(mass: Float64s, wrong: Float64s) -> float:
    before, mistakes = np.cumsum(mass) - mass, np.cumsum(wrong) - wrong
    steps = digamma(before + mass + 1) - digamma(before + 1)
    return float((wrong + (mistakes - wrong * before / mass) * steps).sum() / mass.sum())


def _after(values: Float64s) -> Float64s:
    """Sums of what comes after each place."""
    return np.asarray(values.sum() - np.cumsum(values))


def _unknown(rows: ConfidenceRows) -> Influence:
    return Influence(float("nan"), np.full(len(rows.h), np.nan), rows.weights)


FEWEST_ROWS = 5
"""Rows of each kind, or groups with such rows, from which on the interval was simulated (``aurocs.csv``)."""
_MISSES = 4.0
"""Number of misses from which on the observed rows show how placements spread."""
_EDGE = 1e-9


def auroc_ends(measure: Influence, rows: ConfidenceRows, level: float) -> tuple[float, float]:
    """Ends of the interval for an AUROC: the widest of DeLong's on log-odds, a score interval and a gamma limit.

    A placement is the share of rows of the other kind on the right side of a row. The area A is the mean of the
    placements of either kind. With few rows, or an A near 1, all observed placements are often high, and DeLong's
    variance misses the few that are not. The score interval inverts (A - theta)^2 = t^2 V(theta) with

        V(theta) = theta (1 - theta) (D / (A (1 - A)) + sum_g w_g max(0, h - r_g) / n_g).

    Here D is DeLong's variance and n_g is the number of rows of kind g. The variance of the placements of kind g, as a
    share of A (1 - A), is r_g. The value h = max(theta / (1 + theta), (1 - theta) / (2 - theta)) is that for
    exponential scores on their wide side (Hanley & McNeil). The weight w_g = min(1, 4 / (n_g min(theta, 1 - theta))) is
    near 1 if few misses are expected, near 0 if many are.

    The gamma limit is the upper end if few rows account for d, the distance of A from 1. It is 1 - d G(B) / B with B
    = d^2 / D, the number of such rows. G(B) is the point that a gamma variable of mean and variance B exceeds with
    probability (1 + level)/2 (a count's exact limit). The lower end near 0 is analogous. t is Student's point with
    Satterthwaite's degrees of freedom of the two kinds. Weighted rows count as Kish's number, grouped rows as groups
    of similar size.

    What can mislead: it is wide if events are few, since a few events of another sort would not have been seen. It
    needs ``FEWEST_ROWS`` of each kind.

    References: DeLong et al. 1988; Hanley & McNeil 1982, Radiology 143, p. 32; Newcombe 2006, Statistics in Medicine
    25, method 5 (score intervals of an AUROC); Fay & Feuer 1997 (gamma limits); Satterthwaite 1946.
    """
    value = measure.value
    worth = [_worth(rows, part) for part in (rows.right, ~rows.right)]
    scale = value * (1.0 - value)
    inside = scale > _EDGE
    error = measure.error if inside else 0.0
    spread = [_spread(measure, rows, part) / scale if inside else 0.0 for part in (rows.right, ~rows.right)]
    point = float(student.ppf((1 + level) / 2, _freedom(spread, worth)))
    seen = error**2 / scale if inside else 0.0

    def beyond(theta: float) -> float:
        widest = max(theta / (1 + theta), (1 - theta) / (2 - theta))
        misses = min(theta, 1 - theta)
        unseen = sum(
            min(1.0, _MISSES / (n * misses)) * max(0.0, widest - r) / n for r, n in zip(spread, worth, strict=True)
        )
        return float((value - theta) ** 2 - point**2 * theta * (1 - theta) * (seen + unseen))

    low = 0.0 if value <= _EDGE else _root(beyond, _EDGE, min(value, 1.0 - _EDGE))
    high = 1.0 if value >= 1.0 - _EDGE else _root(beyond, max(value, _EDGE), 1.0 - _EDGE)
    if error > 0:
        half = point * error / scale
        low = min(low, float(expit(logit(value) - half)), _of_few(value, error, level))
        high = max(high, float(expit(logit(value) + half)), 1.0 - _of_few(1.0 - value, error, level))
    return low, high


def _of_few(mean: float, error: float, level: float) -> float:
    """The lower limit of a mean that few rows make up, by the gamma law that has its mean and variance."""
    number = (mean / error) ** 2
    return float(mean * gammaincinv(number, (1 - level) / 2) / number)


def enough_rows(rows: ConfidenceRows) -> bool:
    """True if there are ``FEWEST_ROWS`` rows of each kind."""
    return min(_worth(rows, part) for part in (rows.right, ~rows.right)) >= FEWEST_ROWS - 1e-9


def _worth(rows: ConfidenceRows, part: Bools) -> float:
    """Effective sample size of these rows."""
    if rows.groups is not None:
        groups = len(np.unique(rows.groups.codes[part]))
        return float(min(groups, of_like_size(rows.groups, rows.weights)))
    weights = rows.weights[part]
    return float(weights.sum() ** 2 / np.square(weights).sum()) if len(weights) else 0.0


def _spread(measure: Influence, rows: ConfidenceRows, part: Bools) -> float:
    """The variance of the placements of these rows; terms are placements less their mean, over the rows' share."""
    share = float(rows.weights[part].sum() / rows.total)
    return float(rows.weights[part] @ np.square(measure.terms[part] * share) / rows.weights[part].sum())


def _freedom(spread: list[float], worth: list[float]) -> float:
    """Satterthwaite's degrees of freedom; where no placement varies, those of the fewer rows."""
    parts = [r / n for r, n in zip(spread, worth, strict=True)]
    if not sum(parts) > 0:
        return max(min(worth) - 1.0, 1.0)
    below = sum(part**2 / max(n - 1.0, 1.0) for part, n in zip(parts, worth, strict=True))
    return max(sum(parts) ** 2 / below, 1.0)


def _root(beyond: Callable[[float], float], low: float, high: float) -> float:
    """Root of the function."""
    return float(scipy.optimize.brentq(beyond, low, high, xtol=1e-12))
