"""Isotonic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from calib_core._arrays import Bools, Float64s, Floats
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator, Shape
from calib_core.calibrators.insides import Insides, Number, counted
from calib_core.claims import Stratum


@BINARY_CALIBRATORS.register(
    "isotonic", "Isotonic regression", reference="Zadrozny & Elkan 2002", flags=Shape(counts="cells")
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
        claims = Stratum(scores, outcomes, weights).counted().in_order()
        levels = np.flatnonzero(np.append(True, claims.scores[1:] != claims.scores[:-1]))
        true = np.searchsorted(claims.scores[levels], claims.hits)
        hits = np.bincount(true, claims.hit_weights, minlength=len(levels)).astype(np.float64)
        # Levels without a claim that came true are pooled with the one before whatever follows: one run of them all.
        runs = np.flatnonzero(np.append(True, hits[1:] > 0))
        first_claims = levels[runs]
        if claims.weights is None:
            total = np.diff(np.append(first_claims, len(claims.scores))).astype(np.float64)
        else:  # run by run: differences of sums from the first claim on lose small weights behind large ones
            total = np.add.reduceat(claims.weights, first_claims)
        shares = np.add.reduceat(hits, runs) / total
        fitted = scipy.optimize.isotonic_regression(shares, weights=total)
        # Sums of weights leave a rounding error between shares that are equal.
        rises = np.flatnonzero(np.append(True, np.diff(fitted.x) > 1e-12))
        first = runs[rises]
        ends = np.unique([first, np.append(first[1:], len(levels)) - 1])
        self.scores_ = claims.scores[levels[ends]].astype(np.float64)
        self.values_ = np.clip(fitted.x[rises[np.searchsorted(first, ends, side="right") - 1]], 0.0, 1.0)

    def _map(self, scores: Floats) -> Float64s:
        return np.asarray(np.interp(scores.astype(np.float64), self.scores_, self.values_))
