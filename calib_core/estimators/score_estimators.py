"""Proper scores as estimators: of whole predictions, or in their binary form of claims."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from calib_core._base.arrays import Float64s, Floats, safe_log
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.estimators.base import ESTIMATORS, Estimated, Traits, by_stratum
from calib_core.estimators.residuals import Image
from calib_core.predictions import proper_scores
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import counts

_TAKES: tuple[Literal["claims", "predictions"], ...] = ("claims", "predictions")
_SCORE = Traits(takes=_TAKES, judged="losses", unit="score", redrawn=True)
_LOG_LOSS = replace(_SCORE, floored=True)


@ESTIMATORS.register(
    "log-loss",
    "Log loss",
    flags=_LOG_LOSS,
    elsewhere="scikit-learn's log_loss raises smaller probabilities to the eps of their dtype, here that of float64.",
    formula=r"-\frac{1}{n} \sum_i \log p_{i,\,y_i}",
)
@dataclass(frozen=True)
class LogLoss:
    """Mean of minus the log probability of what happened, in nats.

    -log p_y of whole predictions, -log s or -log(1 - s) of claims. Probabilities are first raised to the documented
    floor, so a single confident miss costs at most 36. What can mislead: those few rows can decide the mean.

    >>> round(LogLoss().of(Predictions([[0.5, 0.5]], [0])), 4)
    0.6931
    """

    def __call__(self, claims: Claims) -> Estimated:
        return _over_strata(claims, lambda s: -safe_log(np.where(s.outcomes, s.scores, 1.0 - s.scores)))

    def redrawn(self, claims: Claims, s: int, stratum: Stratum) -> Image:
        """Reduction of the mean loss by outcomes, relative to claims that do not come true."""
        return _image(stratum, self.claim_losses(stratum.scores))

    def of(self, predictions: Predictions) -> float:
        return _mean("log-loss", self, predictions)

    def losses(self, predictions: Predictions) -> Float64s:
        """Each row's term of the mean, (n,)."""
        return proper_scores.log_losses(predictions)

    def label_losses(self, probs: Float64s) -> Float64s:
        """Loss of each row for each label, (n, K), for rows of probabilities (n, K)."""
        return -safe_log(probs)

    def claim_losses(self, probs: Floats) -> Float64s:
        """Losses of a claim, (2, n): if it does not come true, and if it does."""
        return -safe_log(np.array([1 - probs, probs]))


@ESTIMATORS.register(
    "brier",
    "Brier score",
    reference="P3 §2.4",
    flags=_SCORE,
    elsewhere=(
        "Summed over classes, as most papers do; for the event of two classes half of that, as scikit-learn does. "
        "Others divide the sum by the number of classes."
    ),
    formula=r"\frac{1}{n} \sum_i \sum_k \bigl(p_{ik} - \mathbb{1}\{y_i = k\}\bigr)^2",
)
@dataclass(frozen=True)
class Brier:
    """Mean squared distance between the probabilities and what happened.

    Summed over classes for whole predictions (0 to 2, as P3; some packages halve it or divide it by K), (s - z)^2
    for claims (0 to 1). For two classes "Brier score" is the name of the event's, (risk - outcome)^2. The sum is twice
    as much, and its title ends in "summed over classes".

    >>> round(Brier().of(Predictions([[0.5, 0.5]], [0])), 4)
    0.5
    """

    def __call__(self, claims: Claims) -> Estimated:
        return _over_strata(claims, lambda s: np.square(s.scores.astype(np.float64) - s.outcomes))

    def redrawn(self, claims: Claims, s: int, stratum: Stratum) -> Image:
        """Reduction of the mean loss by outcomes, relative to claims that do not come true."""
        return _image(stratum, self.claim_losses(stratum.scores.astype(np.float64)))

    def of(self, predictions: Predictions) -> float:
        return _mean("brier", self, predictions)

    def losses(self, predictions: Predictions) -> Float64s:
        """Each row's term of the mean, (n,)."""
        return proper_scores.brier_scores(predictions)

    def label_losses(self, probs: Float64s) -> Float64s:
        """Loss of each row for each label, (n, K)."""
        return np.asarray(np.square(probs).sum(axis=1, keepdims=True) - 2 * probs + 1)

    def claim_losses(self, probs: Float64s) -> Float64s:
        """Losses of a claim, (2, n): if it does not come true, and if it does."""
        return np.asarray(np.array([probs, 1 - probs]) ** 2)


@ESTIMATORS.register(
    "accuracy",
    "Accuracy",
    flags=Traits(takes=_TAKES, judged="share", higher_is_worse=False, redrawn=True),
    formula=r"\frac{1}{n} \sum_i \mathbb{1}\bigl\{\arg\max_k p_{ik} = y_i\bigr\}",
)
@dataclass(frozen=True)
class Accuracy:
    """Share of rows whose predicted class is correct; for claims, the share that came true.

    >>> Accuracy().of(Predictions([[0.5, 0.5]], [0]))
    1.0
    """

    def __call__(self, claims: Claims) -> Estimated:
        return _over_strata(claims, lambda s: s.outcomes.astype(np.float64))

    def redrawn(self, claims: Claims, s: int, stratum: Stratum) -> Image:
        """The share of outcomes."""
        none = np.zeros(len(stratum.scores))
        return _image(stratum, np.array([none, none + 1.0]))

    def of(self, predictions: Predictions) -> float:
        return predictions.accuracy

    def losses(self, predictions: Predictions) -> Float64s:
        """Each row's term of the mean, (n,): 1 where it is right; NaN, no term, where the model abstains."""
        right = predictions.correct.astype(np.float64)
        return right if predictions.abstained is None else np.where(predictions.abstained, np.nan, right)


def _mean(score: str, estimator: LogLoss | Brier, predictions: Predictions) -> float:
    """The mean over rows, which a summary knows without them."""
    if (counted := counts(predictions)) is not None:
        return float(counted.mean_loss(score))
    return proper_scores.mean(estimator.losses(predictions), predictions)


def _over_strata(claims: Claims, losses: object) -> Estimated:
    assert callable(losses)
    return by_stratum(claims, [_average(s, losses(s)) for s in map(claims.stratum, range(len(claims.strata)))])


def _image(stratum: Stratum, lost: Float64s) -> Image:
    """Mean loss of claims with losses ``lost`` (2, n): if they do not come true, and if they do."""
    weights, none = stratum.weights, np.zeros(len(stratum.scores), dtype=np.intp)
    least = float(lost[0].sum() if weights is None else weights @ lost[0])
    return Image(none, None, 1, lambda sums: (least + sums[:, 0]) / stratum.total, lost[1] - lost[0])


def _average(stratum: Stratum, values: Float64s) -> float:
    return float(np.average(values, weights=stratum.weights)) if stratum.total > 0 else float("nan")
