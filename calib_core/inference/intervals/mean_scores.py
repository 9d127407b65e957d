"""Intervals for scores, which are means of rows: accuracy, Brier score, log loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib_core._base.arrays import LOG_FLOOR, Float64s
from calib_core._base.distributions import norm
from calib_core.claims.binary_claims import FlatClaims
from calib_core.estimators.base import ESTIMATORS, Question, Traits, traits
from calib_core.inference.intervals.clustered_rows import (
    FEWEST,
    GROUPED,
    GroupsInCells,
    few_groups,
    groups_of,
    share_ends_of,
    together,
    widened,
)
from calib_core.inference.intervals.elementary import WEIGHED, beyond, clopper_pearson
from calib_core.inference.noise.outcome_draws import distributions
from calib_core.inference.noise.score_draws import label_losses
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.predictions.row_groups import RowGroups
from calib_core.reductions.base import counts

GIVEN = "the score expected if the outcomes of these rows were drawn again"
"""The quantity that intervals of the Brier score and the log loss estimate."""
RIGHT = "the accuracy on new rows like these"
"""The quantity that intervals of the accuracy estimate."""


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses of rows, each (n,): observed, expected by the scores, least and largest; their weights.

    ``weight`` sums to 1. With ``groups``, losses of rows of one group are dependent.
    """

    seen: Float64s
    expected: Float64s
    least: Float64s
    most: Float64s
    weight: Float64s
    groups: RowGroups | None = None

    def bounds(self, level: float) -> tuple[float, float]:
        """Ends for the mean of the expected losses of these rows, given the predictions: each fails by (1 - level)/2.

        Row i weighs w_i (1/N unweighted), and its losses have a range D_i. With c = max w_i D_i and
        B = sum (w_i (loss_i - expected loss_i) / c)^2:

            lower = mean - z c sqrt(B),  upper = mean + c X(B),  X(B) as in ``elementary.beyond``,

        both within the possible range of losses. z is the normal (1 + level)/2 point. (loss - expected)^2 is, on
        average and whatever the truth, at least the loss's variance. If heavy losses are rare, the upper end is that
        of a Poisson count of them, which allows for those that did not happen. Two classes: loss - expected loss is
        D_i (y_i - s_i). Grouped rows: w_i D_i and w_i (loss_i - expected loss_i) are summed over each group. The range
        c is widened to Student's point for this number of groups. What can mislead: one row with a near-certain claim
        sets c for all. Validity for finite N is not proven (the variance is estimated); simulated for 2 to 100 classes.

        References: X(B) Fay & Feuer 1997.
        """
        reach = float(together(self.weight * (self.most - self.least), self.groups).max())
        surprise = float(np.square(together(self.weight * (self.seen - self.expected), self.groups)).sum())
        mean, least, most = (float(self.weight @ losses) for losses in (self.seen, self.least, self.most))
        return _ends(mean, reach, surprise, (least, most), level, self.groups)


def _ends(
    mean: float,
    reach: float,
    surprise: float,
    possible: tuple[float, float],
    level: float,
    groups: RowGroups | None = None,
) -> tuple[float, float]:
    """Ends for a mean loss: ``reach`` is c, ``surprise`` c^2 B, ``possible`` the least and the most it can be."""
    if reach <= 0.0:  # the rows lose the same whatever comes true: nothing is uncertain
        return mean, mean
    tail = (1.0 - level) / 2
    seen = surprise / reach**2
    reach *= widened(groups, tail)
    low = mean - float(norm.isf(tail)) * reach * float(np.sqrt(seen))
    return max(low, possible[0]), min(mean + reach * beyond(seen, tail), possible[1])


@dataclass(frozen=True)
class MeanBounds:
    """Ends, their method, what they are about, and whether that was simulated or proven."""

    low: float
    high: float
    method: str
    about: str
    tested: bool


def of_mean(question: Question, level: float) -> MeanBounds | None:
    """Interval for the accuracy, Brier score or log loss of whole predictions, or of claims that share no row.

    Accuracy: Clopper-Pearson, exact for equal rows and conservative for others (Hoeffding 1956). Brier score and log
    loss: ``Losses.bounds``. For the log loss, the floor of probabilities is ``LOG_FLOOR``. If a score is exactly 0, the
    method mentions the floor, because no upper end exists without it. Rows of unequal weight: Kish's number of rows
    (accuracy), the weights themselves (others); not simulated, a rough guide. None for other questions.

    References: Clopper & Pearson 1934; Hoeffding 1956, On the distribution of the number of successes.
    """
    score = question.estimator
    declared = traits(score)
    if declared.judged not in ("share", "losses"):
        return None
    question = question.written_out
    rows, groups = question.predictions.answered, groups_of(question)
    if question.reduction is not None and not question.claims.one_a_row(question.ranks):
        return None
    if declared.judged == "share":
        value = question.answer(question.predictions).value
        exact = rows.weights is None
        if groups is not None:
            return _of_grouped_shares(question, groups, level)
        method = "Clopper-Pearson" if exact else "Clopper-Pearson at Kish's effective sample size of the weighted rows"
        n = np.array([rows.effective_rows])
        low, high = clopper_pearson(value * n, n, level)
        return MeanBounds(float(low[0]), float(high[0]), method, RIGHT, exact)
    if (counted := counts(question.predictions)) is not None:
        return _of_sums(question, counted, level)
    losses = losses_of(question)
    method = _method(declared, float(losses.most.max()))
    if groups is None:
        return MeanBounds(*losses.bounds(level), method, GIVEN, question.predictions.weights is None)
    if len(groups.values) < FEWEST:
        raise NotAnswerable(few_groups(groups))
    return MeanBounds(*losses.bounds(level), f"{method}, rows of a group summed", GIVEN, False)


def _of_sums(question: Question, counted: Any, level: float) -> MeanBounds:
    """The same of a summary, which knows the sums."""
    if question.reduction is not None:
        raise NotAnswerable("a summary stores the losses of whole predictions, not those of single claims")
    sums = counted.whole_losses(ESTIMATORS.recipe(question.estimator).key)
    ends = _ends(
        sums.mean("seen"),
        sums.reach / sums.rows,
        sums.mean("surprise") / sums.rows,
        (sums.mean("least"), sums.mean("most")),
        level,
    )
    return MeanBounds(*ends, _method(traits(question.estimator), sums.highest), GIVEN, True)


def _method(declared: Traits, most: float) -> str:
    """Return the method of the bounds; ``most`` is the largest possible loss of a row."""
    if not declared.floored or most < -np.log(LOG_FLOOR) * (1 - 1e-12):
        return "bounds for a mean of losses"
    return (
        "bounds for a mean of losses, of the log loss with scores raised to "
        f"{LOG_FLOOR:.0e}; otherwise there is no upper end"
    )


def losses_of(question: Question) -> Losses:
    """Observed and possible losses of the rows or claims by the question's score."""
    score, groups = question.estimator, groups_of(question)
    if question.reduction is None:
        return replace(_of_rows(score, question.predictions), groups=groups)
    return replace(_of_claims(score, question.claims), groups=groups)


def _of_grouped_shares(question: Question, groups: RowGroups, level: float) -> MeanBounds:
    rows = question.predictions.answered
    claims = None if question.reduction is None else question.claims
    right = rows.correct if claims is None else claims.outcomes
    weight = rows.weights if claims is None else claims.weights
    none = np.zeros(len(right), dtype=np.intp)
    sums = GroupsInCells.of_rows(none, groups, np.zeros(len(right)), right, weight, 1)
    low, high = share_ends_of(sums, weight is None, level)
    return MeanBounds(float(low[0]), float(high[0]), GROUPED if weight is None else WEIGHED, RIGHT, False)


def _of_rows(score: Any, predictions: Predictions) -> Losses:
    distributions(predictions.kind)
    if traits(score).judged == "share":
        rows = predictions.answered
        none = np.zeros(rows.n_rows)
        weight = none + 1.0 if rows.weights is None else rows.weights
        right, h = rows.correct.astype(np.float64), rows.confidence.astype(np.float64)
        return Losses(right, h, none, none + 1.0, weight / weight.sum())
    each = label_losses(score, predictions)
    weight = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights
    return Losses(score.losses(predictions), each.expected, each.least, each.most, weight / weight.sum())


def _of_claims(score: Any, claims: FlatClaims) -> Losses:
    s = claims.scores.astype(np.float64)
    if traits(score).judged == "share":
        none = np.zeros(len(s))
        return Losses(claims.outcomes.astype(np.float64), s, none, none + 1.0, claims.each_weight())
    lost = score.claim_losses(s)
    expected = (1 - s) * lost[0] + s * lost[1]
    return Losses(
        np.where(claims.outcomes, lost[1], lost[0]), expected, lost.min(axis=0), lost.max(axis=0), claims.each_weight()
    )
