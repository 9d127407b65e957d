"""Isotonic regression, its centered form, and Venn-ABERS.

Venn-ABERS fits every score twice: with its row counted as false and as true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator, Interpolated, Map, MapShape, PiecewiseMap
from calib_core.calibrators.calibration_rows import as_rows
from calib_core.calibrators.insides import PLACES, Insides, Number, score_numbers
from calib_core.claims.binary_claims import Stratum
from calib_core.claims.exact_sums import places
from calib_core.text import several

_MANY = 8192
"""Number of scores from which on the steps below them are found faster by their bits."""
_LONG_RUNS = 4
"""Mean number of claims per distinct true score from which on scores need not be sorted."""
_EQUAL = 1e-12
"""Difference between the heights of two steps up to which they are one."""


@BINARY_CALIBRATORS.register(
    "isotonic", "Isotonic regression", reference="Zadrozny & Elkan 2002", flags=MapShape(counts="cells")
)
@dataclass(eq=False, repr=False)
class Isotonic(BinaryCalibrator):
    """Non-decreasing map of scores with the least squared error to the outcomes.

    argmin over non-decreasing g of sum_i w_i (z_i - g(s_i))^2, interpolated linearly between calibration scores and
    constant beyond them. What can mislead: it returns exact 0 and 1 where calibration rows allow, so the log loss of a
    single later miss is enormous.

    References: Zadrozny & Elkan 2002; fitted by SciPy's pool-adjacent-violators.

    >>> Isotonic().fit([0.1, 0.2, 0.8], [1, 0, 1]).transform([0.1, 0.5, 0.9]).tolist()
    [0.5, 0.75, 1.0]
    """

    def insides(self) -> Insides:
        steps = len(np.unique(self.values_))
        return Insides(
            several(steps, "steps"),
            "Replaces a score by the height of a non-decreasing staircase.",
            lambda: score_numbers(self.scores_, self.values_),
            unit="staircase",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        claims = Stratum(scores, outcomes, weights).counted()
        # A score without a true claim is always pooled with the score before it: all of these form one run.
        true, codes = np.unique(claims.scores[claims.outcomes], return_inverse=True)
        true_weights = None if claims.weights is None else claims.weights[claims.outcomes]
        hits = np.bincount(codes, true_weights, minlength=len(true)).astype(np.float64)
        lowest = claims.scores.min()
        if not len(true) or true[0] > lowest:
            true, hits = np.append(lowest, true), np.append(0.0, hits)
        total, last = _in_runs(claims, true)
        fitted = scipy.optimize.isotonic_regression(hits / total, weights=total)
        # Sums of weights leave a rounding error between equal shares.
        rises = np.flatnonzero(np.append(True, np.diff(fitted.x) > _EQUAL))
        ends = np.stack([true[rises], last[np.append(rises[1:], len(true)) - 1]], axis=1).ravel()
        different = np.append(True, ends[1:] > ends[:-1])
        self.scores_ = ends[different].astype(np.float64)
        self.values_ = np.clip(np.repeat(fitted.x[rises], 2)[different], 0.0, 1.0)

    def score_map(self) -> Interpolated:
        return Interpolated(np.asarray(self.scores_, dtype=np.float64), np.asarray(self.values_, dtype=np.float64))

    def _map(self, scores: Floats) -> Float64s:
        # A rise between neighboring denormal numbers has no finite slope.
        slopes = np.diff(self.values_) / np.maximum(np.diff(self.scores_), np.finfo(np.float64).tiny)
        knots = self.scores_.astype(scores.dtype)
        if len(scores) < _MANY or (knots != self.scores_).any():
            return self.score_map()(scores)
        after = places(knots, scores)
        beyond = scores.astype(np.float64)
        beyond -= np.append(self.scores_[0], self.scores_).take(after)
        beyond *= np.concatenate([[0.0], slopes, [0.0]]).take(after)
        beyond += np.append(self.values_[0], self.values_).take(after)
        return beyond


def _in_runs(claims: Stratum, starts: Floats) -> tuple[Float64s, Floats]:
    """Weight of the claims from each of these ascending scores to the next, and the highest score before the next."""
    if claims.weights is None and len(starts) * _LONG_RUNS < len(claims.scores):
        run = places(starts, claims.scores) - 1
        last = starts.copy()
        np.maximum.at(last, run, claims.scores)
        return np.bincount(run, minlength=len(starts)).astype(np.float64), last
    ordered = claims.in_order()
    first = np.searchsorted(ordered.scores, starts)
    last = ordered.scores[np.append(first[1:], len(ordered.scores)) - 1]
    if ordered.weights is None:
        return np.diff(np.append(first, len(ordered.scores))).astype(np.float64), last
    # Run by run: differences of cumulative sums lose small weights behind large ones.
    return np.add.reduceat(ordered.weights, first), last


@BINARY_CALIBRATORS.register(
    "centered-isotonic",
    "Centered isotonic regression",
    reference="Oron & Flournoy 2017",
    flags=MapShape(counts="cells"),
)
@dataclass(eq=False, repr=False)
class CenteredIsotonic(BinaryCalibrator):
    """Isotonic regression with lines between the centers of its steps, so that most different scores stay different.

    Each step of isotonic regression becomes one point: its height at the weighted mean score of its calibration rows.
    Between these points the map is linear, beyond the outer ones constant. Steps of height 0 and 1 stay as they are,
    since nothing is below 0 or above 1. The map therefore rises strictly between the first center and the last.

    ``scores_`` and ``values_`` (m,) are the points. What can mislead: it also returns exact 0 and 1, and the log loss
    of a single later miss is enormous.

    References: Oron & Flournoy 2017 (centered isotonic regression for binary responses).

    >>> CenteredIsotonic().fit([0.1, 0.2, 0.8], [1, 0, 1]).transform([0.1, 0.475, 0.9]).tolist()
    [0.5, 0.75, 1.0]
    """

    def insides(self) -> Insides:
        return Insides(
            several(len(self.scores_), "points"),
            "Interpolates between the centers of the steps of a non-decreasing staircase.",
            lambda: score_numbers(self.scores_, self.values_),
            unit="curve",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        found, total, hits = Stratum(scores, outcomes, weights).counted().by_score()
        fitted = scipy.optimize.isotonic_regression(hits / total, weights=total).x
        # Sums of weights leave a rounding error between equal shares.
        starts = np.flatnonzero(np.append(True, np.diff(fitted) > _EQUAL))
        first, last = found[starts].astype(np.float64), found[np.append(starts[1:], len(found)) - 1].astype(np.float64)
        rows, came_true, sums = (np.add.reduceat(part, starts) for part in (total, hits, total * found))
        certain = (came_true == 0) | (came_true == rows)
        center = np.clip(sums / rows, first, last)
        ends = np.stack([np.where(certain, first, center), np.where(certain, last, center)], axis=1).ravel()
        different = np.append(True, ends[1:] > ends[:-1])
        self.scores_ = ends[different]
        self.values_ = np.repeat(came_true / rows, 2)[different]

    def score_map(self) -> Interpolated:
        return Interpolated(np.asarray(self.scores_, dtype=np.float64), np.asarray(self.values_, dtype=np.float64))


@BINARY_CALIBRATORS.register("venn-abers", "Venn-ABERS", reference="Vovk et al. 2015")
@dataclass(eq=False, repr=False)
class VennAbers(BinaryCalibrator):
    """Returns a probability between two isotonic fits, with the row itself counted as false and as true.

    p0(s) and p1(s) are the values at s of isotonic regression on the calibration rows and one more row, (s, 0) or (s,
    1). The probability is p1 / (1 - p0 + p1), which is between them and minimizes the maximum regret in log loss.
    ``interval(scores)`` returns (p0, p1): wide if there are few calibration rows near a score. Neither decreases in s.

    If calibration rows and new rows are exchangeable, the member of the pair selected by the outcome is perfectly
    calibrated: E[Z | p_Z] = p_Z. This is a property of the pair, not of the probability between them or of rows divided
    by their sum. What can mislead: the interval is not a confidence interval of the event's probability, and its width
    goes to 0 with many rows.

    Weighted rows count as their effective sample size, whole weights as copies; the added row counts as one. There is
    no guarantee for unequal weights. It never returns exact 0 or 1.

    p0 steps at scores ``lower_thresholds_`` (m,), from one of ``lower_`` (m + 1,) to the next, p1 just above scores
    ``thresholds_`` (k,), along ``upper_`` (k + 1,). Nearly every score of a row with a false outcome is one of
    ``thresholds_``. With many classes the map is therefore larger than its calibration rows (three times as large for
    50,000 rows of 1,000 classes in single precision).

    References: Vovk, Petej & Fedorova 2015, §2 and Algorithms 1-4 (inductive Venn-ABERS predictors, log loss).

    >>> map_ = VennAbers().fit([0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1])
    >>> [bound.round(3).tolist() for bound in map_.interval([0.3, 0.5])]
    [[0.0, 0.0], [0.5, 1.0]]
    >>> map_.transform([0.3, 0.5]).round(3).tolist()
    [0.333, 0.5]
    """

    @property
    def steps(self) -> Float64s:
        # Both sides of a score above which p1 steps: the pair tells an export that the bin contains one score.
        behind = self.thresholds_.astype(np.float64)
        return np.unique(np.concatenate([self.lower_thresholds_, behind, np.nextafter(behind, 2.0)]))

    def insides(self) -> Insides:
        return Insides(
            several(len(self.thresholds_), "steps"),
            "Returns a probability between two staircases: one fitted with the row itself counted as false, one with "
            "it counted as true.",
            lambda: [
                Number(name, float(value), place=f"score {score:.6g}")
                for score, *pair in zip(PLACES, *self.interval(PLACES), strict=True)
                for name, value in zip(("with the row false", "with the row true"), pair, strict=True)
            ],
            unit="interval map",
        )

    def interval(self, scores: Floats) -> tuple[Float64s, Float64s]:
        """p0 and p1 of scores (n,), each (n,)."""
        s = np.asarray(scores, dtype=np.float64)
        return (
            self.lower_[np.searchsorted(self.lower_thresholds_, s, "right")],
            self.upper_[np.searchsorted(self.thresholds_, s, "left")],
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        rows = None if weights is None else as_rows(weights)
        found, weight, hits = Stratum(scores, outcomes, rows).counted().by_score()
        upper = np.append(with_one_more(weight, hits), 1.0)
        lower = np.append(0.0, 1.0 - with_one_more(weight[::-1], (weight - hits)[::-1])[::-1])
        self.thresholds_, self.upper_ = _stepping(found, upper)
        self.lower_thresholds_, self.lower_ = _stepping(found, lower)

    def score_map(self) -> Map:
        return PiecewiseMap.constant(self.steps, self._map(np.append(-np.inf, self.steps)))

    def _map(self, scores: Floats) -> Float64s:
        lower, upper = self.interval(scores)
        return np.asarray(upper / (1.0 - lower + upper))


def _stepping(scores: Floats, values: Float64s) -> tuple[Floats, Float64s]:
    """Scores at which values (m + 1,) before, between and after scores (m,) change, and the distinct values."""
    changes = np.flatnonzero(np.diff(values))
    return scores[changes], values[np.append(0, changes + 1)]


def with_one_more(weight: Float64s, hits: Float64s) -> Float64s:
    """Isotonic value at each of m ascending scores, (m,), after adding one true row at that score.

    weight (m,) > 0 are the rows at each score, hits (m,) those that came true. With X, Y their running sums, the value
    at score j is the slope of a line. It touches from below both the points (X, Y) up to j, shifted by (-1, -1), and
    those after j. As j grows, that line's start and end only move forward: all values take one pass, O(m).

    A run of scores with equal outcomes takes one step: the line starts within the run only if its outcomes are false.

    >>> with_one_more(np.ones(3), np.array([0.0, 0.0, 1.0])).tolist()
    [0.3333333333333333, 0.5, 1.0]
    """
    share = hits / weight
    alike = (np.diff(share, prepend=-1.0) == 0) & ((share == 0) | (share == 1))
    first = np.flatnonzero(~alike)
    x, y = (np.append(0.0, np.cumsum(sums)) for sums in (weight, hits))
    ends = np.append(first, len(weight))
    begun, corner, least = _lines(x[ends].tolist(), y[ends].tolist(), (share[first] == 0).tolist())
    segment = np.searchsorted(begun, x[:-1], "right") - 1
    run = np.cumsum(~alike) - 1
    # The line that starts at the score itself, if it is steeper.
    own = (y[ends][corner[segment]] - y[:-1] + 1.0) / (x[ends][corner[segment]] - x[:-1] + 1.0)
    values = np.where(share == 0, np.maximum(least[run], own), least[run])
    return np.minimum(np.maximum.accumulate(values), 1.0)


def _lines(x: list[float], y: list[float], false: list[bool]) -> tuple[Float64s, Codes, Float64s]:
    """Slope of the touching line of every run of scores, and the corners touched on the right with their first runs."""
    after, slope = _hull(x, y)
    begun: list[float] = []
    corner: list[int] = []
    least: list[float] = []
    value, v = 0.0, 0
    for s, run_is_false in enumerate(false):
        left, low = x[s] - 1.0, y[s] - 1.0
        if v <= s or y[v] - low > value * (x[v] - left):
            v = max(v, s + 1)
            while after[v] and slope[v] * (x[v] - left) <= y[v] - low:
                v = after[v]
            value = max(value, (y[v] - low) / (x[v] - left))
        least.append(value)
        begun.append(x[s])
        corner.append(v)
        while run_is_false and after[v] and x[v] - (y[v] - low) / slope[v] + 1.0 < x[s + 1]:
            begun.append(max(x[s], x[v] - (y[v] - low) / slope[v] + 1.0))
            v = after[v]
            corner.append(v)
    return np.array(begun), np.array(corner, dtype=np.intp), np.array(least)


def _hull(x: list[float], y: list[float]) -> tuple[list[int], list[float]]:
    """Next corner of the lower hull of the points from each point on (0 if none), and the slope to it."""
    last = len(x) - 1
    after, slope = [0] * len(x), [np.inf] * len(x)
    for i in range(last - 1, -1, -1):
        v = i + 1
        while after[v] and (y[v] - y[i]) >= slope[v] * (x[v] - x[i]):
            v = after[v]
        after[i], slope[i] = v, (y[v] - y[i]) / (x[v] - x[i])
    return after, slope
