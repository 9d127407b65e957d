"""Scores of whole predictions as perfectly calibrated models of the same predictions would have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Float64s
from calib_core.claims.probability_vectors import LabelMoments
from calib_core.estimators.base import ESTIMATORS, Question, traits
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.cell_draws import MANY_ROWS
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import counts
from calib_core.summaries.counted_claims import NORMAL

_KEPT_ROWS = 1_000_000
"""Rows up to which results are cached: interval, floor and test of a score need the same ones."""


def label_losses(score: Any, predictions: Predictions) -> LabelMoments:
    """The losses of the predictions' rows by a score judged by its losses."""
    known = _KEPT.setdefault(predictions, {})
    if score in known:
        return known[score]
    sums = np.empty((len(LabelMoments._fields), predictions.n_rows))
    for where, block in predictions.rows.blocks(LARGE_BLOCK_BYTES):
        p = block.astype(np.float64)
        sums[:, where] = LabelMoments.of(p, score.label_losses(p))
    found = LabelMoments(*sums)
    if predictions.n_rows <= _KEPT_ROWS:
        known[score] = found
    return found


def berry_esseen(weight: Float64s, variance: Float64s, third: Float64s) -> float:
    """The ratio rho of a weighted mean of independent terms: its law is off the normal one by at most .56 rho.

    rho = sum_i w_i^3 E|X_i - E X_i|^3 / (sum_i w_i^2 Var X_i)^(3/2); 0 for terms that do not vary, whose mean is known.
    """
    share = weight / weight.sum()
    cubed = float(np.square(share) @ variance) ** 1.5
    return float((share * np.square(share)) @ third) / cubed if cubed > 0 else 0.0


_KEPT: WeakKeyDictionary[Predictions, dict[Any, LabelMoments]] = WeakKeyDictionary()


MANY_CLAIMS = 5_000_000
"""Probabilities beyond which, as beyond ``MANY_ROWS`` rows, a mean over rows is drawn from its normal limit."""
Drawn: TypeAlias = Callable[[np.random.Generator, int], Float64s]
"""From a stream and a number of replicates to their values (scores, replicates)."""


def calibrated_scores(questions: Sequence[Question]) -> Drawn:
    """Draw scores (log loss, Brier score, accuracy) of labels that are drawn from the same predictions.

    Labels are drawn row by row, one for all scores. With many rows (``MANY_ROWS``, or ``MANY_CLAIMS`` probabilities), a
    mean over rows is drawn from a normal law. Its mean and variance are exact sums over rows. This needs a Berry-Esseen
    ratio rho of at most ``NORMAL``. The first correction of that law, at most rho / 6 max |z^2 - 1| phi(z) = rho / 15,
    is then below .0067. That is the standard error of the 95 % point's level in 1,000 draws.

    References: Edgeworth's expansion, Feller 1971, XVI.4.
    """
    predictions = questions[0].predictions
    if (counted := counts(predictions)) is not None:
        (key,) = (ESTIMATORS.recipe(q.estimator).key for q in questions)
        return lambda rng, count: np.asarray([counted.calibrated_scores(key, rng, count)], dtype=np.float64)
    outcome_draws.distributions(predictions.kind)
    laws = [mean_law(question) for question in questions]
    by_rows = [question for question, law in zip(questions, laws, strict=True) if law is None]

    def drawn(rng: np.random.Generator, count: int) -> Float64s:
        # Every score starts the stream anew: what others are asked with it moves nothing.
        normals = [None if law is None else law.drawn(deepcopy(rng), count) for law in laws]
        rest = iter(_of_labels(predictions, by_rows, rng, count) if by_rows else ())
        return np.array([next(rest) if values is None else values for values in normals])

    return drawn


@dataclass(frozen=True)
class MeanLaw:
    """Law of a mean over rows if labels follow the probabilities: mean, standard deviation, Berry-Esseen ratio."""

    mean: float
    spread: float
    rho: float

    def drawn(self, rng: np.random.Generator, count: int) -> Float64s:
        """Normal draws (count,)."""
        return np.asarray(self.mean + self.spread * rng.standard_normal(count))


def mean_law(question: Question) -> MeanLaw | None:
    """The normal law of the score, None where rows are few, or the law of their mean may be another."""
    predictions = question.predictions
    if predictions.n_rows <= MANY_ROWS and predictions.rows.base.shape[1] * predictions.n_rows <= MANY_CLAIMS:
        return None
    judged = traits(question.estimator).judged
    if judged not in ("losses", "share"):
        return None
    rows = predictions if judged == "losses" else predictions.answered
    mean, variance, third = _lost(question, rows) if judged == "losses" else _right(rows)
    weight = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    rho = berry_esseen(weight, variance, third)
    if rho > NORMAL:
        return None
    total = float(weight.sum())
    return MeanLaw(float(weight @ mean) / total, float(np.sqrt(np.square(weight) @ variance)) / total, rho)


def _lost(question: Question, rows: Predictions) -> tuple[Float64s, Float64s, Float64s]:
    """Mean, variance and third absolute moment of each row's loss."""
    each = label_losses(question.estimator, rows)
    return each.expected, each.variance, each.third


def _right(rows: Predictions) -> tuple[Float64s, Float64s, Float64s]:
    """The same of being right."""
    h = rows.confidence.astype(np.float64)
    return h, h * (1 - h), h * (1 - h) * (np.square(h) + np.square(1 - h))


def _of_labels(
    predictions: Predictions, questions: Sequence[Question], rng: np.random.Generator, count: int
) -> Float64s:
    """Scores (questions, count) under labels drawn row by row."""
    weight = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights
    found = np.zeros((len(questions), count))
    losses = [(q, total) for q, total in zip(questions, found, strict=True) if traits(q.estimator).judged == "losses"]
    labels = outcome_draws.no_labels(predictions.rows, count) if len(losses) < len(questions) else None
    # What a label does not decide is worked out once, in one look at the matrix for all draws of all scores.
    for where, block, drawn in outcome_draws.classes(predictions.rows, rng, count):
        rows = block.astype(np.float64) if losses else block
        for question, total in losses:
            total += weight[where] @ np.take_along_axis(question.estimator.label_losses(rows), drawn, axis=1)
        if labels is not None:
            labels[where] = drawn
    for _, total in losses:
        total /= weight.sum()
    if labels is not None:
        rest = [
            (q, values) for q, values in zip(questions, found, strict=True) if traits(q.estimator).judged != "losses"
        ]
        for r in range(count):
            relabelled = predictions.relabelled(labels[:, r].astype(np.intp))
            for question, values in rest:
                values[r] = question.answer(relabelled).value
    return found
