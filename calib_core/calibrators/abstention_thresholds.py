"""Thresholds of Meta-Cal: from held-out ranking scores to the score above which the model abstains (P4 §4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib_core import guarantees
from calib_core._base.arrays import Bools, Float64s, Rows
from calib_core._base.distributions import beta, binom
from calib_core.calibrators.row_weights import as_rows
from calib_core.predictions.predictions import NotAnswerable

ANSWER_ALL = float("inf")
"""The threshold that no score is above."""

_STEPS = 50
"""Thresholds that fixed-sequence testing can go through, from strict to loose."""
_ALIKE = 0.01
"""Chances of passing that differ by less are alike: a looser start then spares tests that could end the sequence."""


def entropies(rows: Rows) -> Float64s:
    """P4's ranking score, -sum_l p_l log p_l in nats, of each row; high where the model is unsure.

    float32 rows are multiplied in float32 and summed in float64.

    >>> entropies(Rows(np.array([[0.5, 0.5], [1.0, 0.0]]))).round(4).tolist()
    [0.6931, 0.0]
    """
    entropy = np.empty(rows.shape[0])
    for where, block in rows.blocks():
        logs = np.log(np.maximum(block, np.finfo(block.dtype).tiny))
        logs *= block
        entropy[where] = -logs.sum(axis=1, dtype=np.float64)
    return np.maximum(entropy, 0.0)


def paper_miscoverage(scores: Float64s, alpha: float) -> tuple[float, float]:
    """P4's threshold from scores of correct rows, and eq. (5): how often its miscoverage exceeds alpha.

    The ceil((n + 1)(1 - alpha))-th smallest score; with fewer than (1 - alpha) / alpha scores none is enough and all
    rows are answered.

    References: P4 §4.1, Algorithm 1.

    >>> paper_miscoverage(np.arange(1.0, 21.0), 0.1)[0]  # ceil(21 * .9) = 19
    19.0
    """
    rank = guarantees.paper_rank(len(scores), alpha)
    if rank > len(scores):
        return ANSWER_ALL, 0.0
    return float(np.sort(scores)[rank - 1]), guarantees.exceed_probability(len(scores), rank, alpha)


def guaranteed_miscoverage(scores: Float64s, alpha: float, risk: float) -> tuple[float, float]:
    """The smallest order statistic whose miscoverage exceeds alpha with probability at most ``risk``; and eq. (5).

    NotAnswerable when even the largest score is not enough, which says how many rows would be.

    References: P4 eq. (5); Tong, Feng & Li 2018.

    >>> guaranteed_miscoverage(np.arange(1.0, 60.0), 0.05, 0.05)[0]  # the largest of 59: .95 ** 59 = .0485
    59.0
    """
    rank = guarantees.guaranteed_rank(len(scores), alpha, risk)
    if rank is None:
        needed = guarantees.rows_for_miscoverage(alpha, risk)
        raise NotAnswerable(
            f"a miscoverage of at most {alpha:g} at risk {risk:g} needs {needed} held-out rows that were right, one in "
            f"ten of those there are; {len(scores)} are held out: give more rows, allow more risk, or choose rule "
            "'paper'"
        )
    return float(np.sort(scores)[rank - 1]), guarantees.exceed_probability(len(scores), rank, alpha)


@dataclass(frozen=True, eq=False)
class CoverageCurve:
    """l: the accuracy among rows with scores up to s, fitted to decrease in s; arrays are one entry a bin.

    ``scores`` mean score of each bin's rows, ``accuracies`` as fitted, ``observed`` the running accuracy of all rows
    up to the bin's end, ``shares`` of rows up to it.
    """

    scores: Float64s
    accuracies: Float64s
    observed: Float64s
    shares: Float64s

    def threshold(self, accuracy: float) -> float:
        """The largest score at which the curve is still at least this accuracy; ANSWER_ALL when all rows reach it.

        NotAnswerable when the curve begins below it; the message names the reachable range.
        """
        slack = 1e-12
        if accuracy <= self.accuracies[-1] + slack:
            return ANSWER_ALL
        if accuracy > self.accuracies[0] + slack:
            raise NotAnswerable(
                f"coverage accuracy {accuracy:g} cannot be reached: on the rows held out it goes from "
                f"{self.accuracies[-1]:.4g} with every row answered up to {self.accuracies[0]:.4g} with only the "
                f"surest {self.shares[0] * 100:.3g} % answered"
            )
        i = int(np.flatnonzero(self.accuracies >= accuracy - slack)[-1])
        high, low = self.accuracies[i], self.accuracies[i + 1]
        part = min(1.0, max(0.0, float((high - accuracy) / (high - low))))
        return float(self.scores[i] + part * (self.scores[i + 1] - self.scores[i]))


def coverage_curve(scores: Float64s, correct: Bools, bins: int) -> CoverageCurve:
    """P4's estimate of the coverage accuracy: uniform-mass bins, running accuracy over rows, a decreasing isotonic fit.

    Equal scores never part, and a bin without rows of its own does not enter; each bin counts by its rows. It has no
    allowance for error: a threshold read off it is promised nothing.

    References: P4 §4.2, after Proposition 12.

    >>> curve = coverage_curve(np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, True, True, False]), 2)
    >>> curve.scores.round(2).tolist(), curve.accuracies.tolist()
    ([0.15, 0.35], [1.0, 0.75])
    """
    order = np.argsort(scores, kind="stable")
    s, hits = scores[order], np.cumsum(correct[order])
    n = len(s)
    wanted = s[np.ceil(np.arange(1, bins + 1) * n / bins).astype(np.intp) - 1]
    ends = np.unique(np.searchsorted(s, wanted, side="right"))
    sizes = np.diff(np.append(0, ends))
    means = np.add.reduceat(s, np.append(0, ends[:-1])) / sizes
    observed = hits[ends - 1] / ends
    from sklearn.isotonic import IsotonicRegression  # heavy: loaded where a threshold is looked for

    fit = IsotonicRegression(increasing=False).fit(means, observed, sample_weight=sizes)
    return CoverageCurve(means, np.asarray(fit.predict(means), dtype=np.float64), observed, ends / n)


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Ranking scores of rows, whether the model is right on them, and their weights (None: all 1)."""

    scores: Float64s
    correct: Bools
    weights: Float64s | None = None

    def running(self) -> tuple[Float64s, Float64s, Float64s]:
        """Scores in ascending order, with the rows and the right ones up to each."""
        order = np.argsort(self.scores, kind="stable")
        counts = np.ones(len(order)) if self.weights is None else as_rows(self.weights)[order]
        return self.scores[order], np.cumsum(counts), np.cumsum(counts * self.correct[order])


def guaranteed_accuracy(scores: Float64s, correct: Bools, others: ScoredRows, accuracy: float, risk: float) -> float:
    """The loosest threshold that passes fixed-sequence tests of the accuracy among answered rows, at this risk.

    Thresholds, their order and the first one tested are fixed from *other* rows: conditional on those and on how many
    held-out rows a threshold answers, the right ones among them are binomial, and Clopper-Pearson bounds are exact.
    Thresholds lie at equal steps of the others' scores, from the one that is expected to answer as many rows as could
    pass without an error. They are tested from strict to loose, each at the full risk, until one fails; the one
    tested first is the loosest whose chance of passing, by the others' accuracy up to it, is within .01 of the best.
    The probability that a threshold is returned whose true accuracy is below the wanted is then at most ``risk``:
    the first such one in the sequence must pass its test. NotAnswerable when the first fails: refusals count as kept.

    References: Geifman & El-Yaniv 2017 (selective risk control); fixed-sequence testing: Wiens 2003.
    """
    needed = guarantees.rows_for_accuracy(accuracy, risk)
    passed: float | None = None
    if needed <= len(scores):
        for threshold in _sequence(others, len(scores), needed, accuracy, risk):
            if _lower_bound(scores <= threshold, correct, risk) < accuracy:
                break
            passed = float(threshold)
    if passed is None:
        raise NotAnswerable(_out_of_reach(scores, correct, accuracy, risk, needed))
    return passed


def _sequence(others: ScoredRows, n: int, needed: int, accuracy: float, risk: float) -> Float64s:
    """Thresholds in the order of their tests on n rows."""
    s, rows, hits = others.running()
    shares = np.linspace(needed / n, 1.0, _STEPS)
    thresholds = np.unique(s[np.searchsorted(rows, shares * rows[-1] * (1.0 - 1e-12), side="left")])
    last = np.searchsorted(s, thresholds, side="right") - 1
    answered = np.round(rows[last] / rows[-1] * n)
    enough = binom.isf(risk, answered, accuracy)  # a test passes with more right answers than these
    chance = np.asarray(binom.sf(enough, answered, (hits[last] + 1.0) / (rows[last] + 2.0)))
    return thresholds[np.flatnonzero(chance >= chance.max() - _ALIKE)[-1] :]


def _lower_bound(answered: Bools, correct: Bools, risk: float) -> float:
    return guarantees.accuracy_lower_bound(int(correct[answered].sum()), int(answered.sum()), risk)


def _out_of_reach(scores: Float64s, correct: Bools, accuracy: float, risk: float, needed: int) -> str:
    n = len(scores)
    s, rows, hits = ScoredRows(scores, correct).running()
    last = np.append(np.flatnonzero(np.diff(s)), n - 1)
    bounds = np.nan_to_num(np.asarray(beta.ppf(risk, hits[last], rows[last] - hits[last] + 1.0)))
    best = int(bounds.argmax())
    return (
        f"coverage accuracy {accuracy:g} cannot be promised at risk {risk:g}: on the {n} rows held out its lower bound "
        f"goes from {bounds[-1]:.4g} with every row answered up to {bounds[best]:.4g} with the surest "
        f"{rows[last[best]] / n * 100:.3g} % answered, and {needed} rows answered without error "
        "are the fewest that could do; give more rows, ask for less, or choose rule 'paper'"
    )
