"""Proper scores as estimators: of whole predictions, or in their binary form of claims."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib_core import scores
from calib_core._arrays import Float64s, safe_log
from calib_core.claims import Claims, Stratum
from calib_core.estimators.base import ESTIMATORS, Estimated, Traits, by_stratum
from calib_core.predictions import Predictions


@ESTIMATORS.register("log-loss", "Log loss", flags=Traits(unit="score"))
@dataclass(frozen=True)
class LogLoss:
    """Mean of minus the log probability of what happened, in nats.

    -log p_y of whole predictions, -log s or -log(1 - s) of claims; probabilities are raised to the one documented
    floor first, so a single confident miss costs at most 36. What can mislead: those few rows can decide the mean.

    >>> round(LogLoss().of(Predictions([[0.5, 0.5]], [0])), 4)
    0.6931
    """

    def __call__(self, claims: Claims) -> Estimated:
        return _over_strata(claims, lambda s: -safe_log(np.where(s.outcomes, s.scores, 1.0 - s.scores)))

    def of(self, predictions: Predictions) -> float:
        return scores.mean(self.losses(predictions), predictions)

    def losses(self, predictions: Predictions) -> Float64s:
        """Each row's term of the mean, (n,)."""
        return scores.log_losses(predictions)

    def label_terms(self, probs: Float64s) -> Float64s:
        """What each label would add to a row's loss, (n, K), for rows of probabilities (n, K)."""
        return -safe_log(probs)


@ESTIMATORS.register("brier", "Brier score", reference="P3 §2.4", flags=Traits(unit="score"))
@dataclass(frozen=True)
class Brier:
    """Mean squared distance between the probabilities and what happened.

    Summed over classes for whole predictions (0 to 2, as P3; some packages halve it or divide it by K), (s - z)^2
    for claims (0 to 1).

    >>> round(Brier().of(Predictions([[0.5, 0.5]], [0])), 4)
    0.5
    """

    def __call__(self, claims: Claims) -> Estimated:
        return _over_strata(claims, lambda s: np.square(s.scores.astype(np.float64) - s.outcomes))

    def of(self, predictions: Predictions) -> float:
        return scores.mean(self.losses(predictions), predictions)

    def losses(self, predictions: Predictions) -> Float64s:
        """Each row's term of the mean, (n,)."""
        return scores.brier_scores(predictions)

    def label_terms(self, probs: Float64s) -> Float64s:
        """What each label would add to a row's loss, (n, K), for rows of probabilities (n, K)."""
        return -2.0 * probs


@ESTIMATORS.register("accuracy", "Accuracy")
@dataclass(frozen=True)
class Accuracy:
    """Share of rows whose predicted class is the true one; of claims, the share that came true.

    >>> Accuracy().of(Predictions([[0.5, 0.5]], [0]))
    1.0
    """

    def __call__(self, claims: Claims) -> Estimated:
        return _over_strata(claims, lambda s: s.outcomes.astype(np.float64))

    def of(self, predictions: Predictions) -> float:
        return predictions.accuracy

    def losses(self, predictions: Predictions) -> Float64s:
        """Each row's term of the mean, (n,): 1 where it is right; NaN, no term, where the model abstains."""
        right = predictions.correct.astype(np.float64)
        return right if predictions.abstained is None else np.where(predictions.abstained, np.nan, right)


def _over_strata(claims: Claims, losses: object) -> Estimated:
    assert callable(losses)
    return by_stratum(claims, [_average(s, losses(s)) for s in map(claims.stratum, range(len(claims.strata)))])


def _average(stratum: Stratum, values: Float64s) -> float:
    return float(np.average(values, weights=stratum.weights)) if stratum.total > 0 else float("nan")
