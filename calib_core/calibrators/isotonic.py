"""Isotonic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from calib_core._base.arrays import Bools, Float64s, Floats
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator, MapShape
from calib_core.calibrators.insides import Insides, Number, counted
from calib_core.calibrators.score_maps import Interpolated
from calib_core.claims.binary_claims import Stratum
from calib_core.claims.cell_search import places

_MANY = 8192
"""Scores from which on the steps below them are found faster by their bits."""
_LONG_RUNS = 4
"""Claims for each different score that came true, on average, from which on scores need not be sorted."""


@BINARY_CALIBRATORS.register(
    "isotonic", "Isotonic regression", reference="Zadrozny & Elkan 2002", flags=MapShape(counts="cells")
)
@dataclass(eq=False, repr=False)
class Isotonic(BinaryCalibrator):
    """The non-decreasing map of scores that lies closest to the outcomes.

    argmin over non-decreasing g of sum_i w_i (z_i - g(s_i))^2, interpolated linearly between calibration scores and
    constant beyond them. What can mislead: it returns exact 0 and 1 where calibration rows allow, which makes the
    log loss of a single later miss enormous.

    References: Zadrozny & Elkan 2002; fitted by SciPy's pool-adjacent-violators.

    >>> Isotonic().fit([0.1, 0.2, 0.8], [1, 0, 1]).transform([0.1, 0.5, 0.9]).tolist()
    [0.5, 0.75, 1.0]
    """

    def insides(self) -> Insides:
        steps = len(np.unique(self.values_))
        return Insides(
            counted(steps, "step"),
            "A score becomes the height of a staircase that never falls.",
            lambda: [
                Number("score out", float(value), place=f"score {score:.6g}")
                for score, value in zip(self.scores_, self.values_, strict=True)
            ],
            unit="staircase",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        claims = Stratum(scores, outcomes, weights).counted()
        # Scores without a claim that came true are pooled with the one before whatever follows: one run of them all.
        true, codes = np.unique(claims.scores[claims.outcomes], return_inverse=True)
        true_weights = None if claims.weights is None else claims.weights[claims.outcomes]
        hits = np.bincount(codes, true_weights, minlength=len(true)).astype(np.float64)
        lowest = claims.scores.min()
        if not len(true) or true[0] > lowest:
            true, hits = np.append(lowest, true), np.append(0.0, hits)
        total, last = _in_runs(claims, true)
        fitted = scipy.optimize.isotonic_regression(hits / total, weights=total)
        # Sums of weights leave a rounding error between shares that are equal.
        rises = np.flatnonzero(np.append(True, np.diff(fitted.x) > 1e-12))
        ends = np.stack([true[rises], last[np.append(rises[1:], len(true)) - 1]], axis=1).ravel()
        different = np.append(True, ends[1:] > ends[:-1])
        self.scores_ = ends[different].astype(np.float64)
        self.values_ = np.clip(np.repeat(fitted.x[rises], 2)[different], 0.0, 1.0)

    def score_map(self) -> Interpolated:
        return Interpolated(np.asarray(self.scores_, dtype=np.float64), np.asarray(self.values_, dtype=np.float64))

    def _map(self, scores: Floats) -> Float64s:
        # A rise between neighbouring denormal numbers has no finite slope.
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
    """Weight of the claims from each of these ascending scores to the next, and the highest score before it."""
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
    # Run by run: differences of sums from the first claim on lose small weights behind large ones.
    return np.add.reduceat(ordered.weights, first), last
