"""The CORP reliability curve: isotonic, no bins to choose, with the score taken apart (Dimitriadis et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.isotonic import isotonic_regression

from calib_core._arrays import Float64s
from calib_core.predictions import Predictions
from calib_core.reductions import Reduction, as_reduction


@dataclass(frozen=True, eq=False)
class CorpCurve:
    """Steps of the isotonic fit, and Brier score = ``miscalibration`` - ``discrimination`` + ``uncertainty``.

    Arrays are (steps,): the fit is ``outcome`` for scores from ``lower`` to ``upper``, which ``count`` rows have.
    ``miscalibration`` (MCB) is what recalibrating would gain at most, ``discrimination`` (DSC) what the recalibrated
    scores gain over the constant mean, ``uncertainty`` (UNC) the score of that constant; none is negative.
    """

    stratum: str
    lower: Float64s
    upper: Float64s
    outcome: Float64s
    count: Float64s
    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float

    def frame(self) -> pd.DataFrame:
        """One line per step, exactly the numbers drawn."""
        columns = {"lower": self.lower, "upper": self.upper, "outcome": self.outcome, "count": self.count}
        return pd.DataFrame(columns)


def corp(predictions: Predictions, reduction: str | Reduction = "confidence", stratum: int = 0) -> CorpCurve:
    """The best rising curve from scores to outcomes (pool adjacent violators), and what it says of the Brier score.

    MCB = S - S_fit, DSC = S_mean - S_fit, UNC = S_mean, with S the mean (s - z)^2 of the claims, S_fit that of the
    fitted and S_mean that of the constant mean outcome. What can mislead: a falling curve cannot be fitted, so
    miscalibration that oscillates is missed (look at the Kuiper test beside it), and with few rows the fit follows
    noise: MCB of a calibrated model is above 0.

    References: Dimitriadis, Gneiting & Jordan 2021, Stable reliability diagrams for probabilistic classifiers.

    >>> curve = corp(Predictions.from_confidence([0.6, 0.7, 0.9], [True, False, True]))
    >>> curve.frame()[["lower", "upper", "outcome"]].values.tolist()
    [[0.6, 0.7, 0.5], [0.9, 0.9, 1.0]]
    """
    claims = as_reduction(reduction).split(predictions)
    one = claims.stratum(stratum)
    weights = np.ones(len(one.scores)) if one.weights is None else one.weights
    # float64: scikit-learn merges float32 scores closer than 1e-6. Equal scores are one point.
    scores, at = np.unique(one.scores.astype(np.float64), return_inverse=True)
    count = np.bincount(at, weights)
    held = count > 0
    hits = np.bincount(at, weights * one.outcomes)[held]
    scores, count = scores[held], count[held]
    fit = np.asarray(isotonic_regression(hits / count, sample_weight=count), dtype=np.float64)
    starts = np.append(0, np.flatnonzero(np.diff(fit)) + 1)
    stops = np.append(starts[1:], len(fit)) - 1
    total, mean = float(count.sum()), float(hits.sum() / count.sum())

    def brier(said: Float64s | float) -> float:
        # sum over the rows of one score of (s - z)^2 = c s^2 - 2 s h + h
        return float((count * np.square(said) - 2 * said * hits + hits).sum() / total)

    score, best, constant = brier(scores), brier(fit), brier(mean)
    return CorpCurve(
        claims.strata[stratum],
        scores[starts],
        scores[stops],
        fit[starts],
        np.add.reduceat(count, starts),
        score,
        max(score - best, 0.0),
        max(constant - best, 0.0),
        constant,
    )
