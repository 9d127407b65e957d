"""Thresholds of Meta-Cal: from held-out ranking scores to the score above which the model abstains (P4 §4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression

from calib_core import guarantees
from calib_core._arrays import Bools, Float64s, Rows
from calib_core.predictions import NotAnswerable

ANSWER_ALL = float("inf")
"""The threshold that no score is above."""

_STEPS = 50
"""Thresholds that fixed-sequence testing goes through, from strict to loose."""
_FEWEST_TESTED = 40
"""Rows the first test expects at least: on fewer, one error ends the sequence though later tests would pass."""


def entropies(rows: Rows) -> Float64s:
    """P4's ranking score, -sum_l p_l log p_l in nats, of each row; high where the model is unsure.

    float32 rows are multiplied in float32 and summed in float64.

    >>> entropies(Rows(np.array([[0.5, 0.5], [1.0, 0.0]]))).round(4).tolist()
    [0.6931, 0.0]
    """
    made = np.empty(rows.shape[0])
    for where, block in rows.blocks():
        logs = np.log(np.maximum(block, np.finfo(block.dtype).tiny))
        logs *= block
        made[where] = -logs.sum(axis=1, dtype=np.float64)
    return np.maximum(made, 0.0)


def paper_miscoverage(scores: Float64s, alpha: float) -> tuple[float, float]:
    """P4's threshold from scores of correct rows, and eq. (5): how often its miscoverage exceeds alpha (about half).

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
                f"surest {self.shares[0] * 100:.2g} % answered"
            )
        i = int(np.flatnonzero(self.accuracies >= accuracy - slack)[-1])
        high, low = self.accuracies[i], self.accuracies[i + 1]
        part = min(1.0, max(0.0, float((high - accuracy) / (high - low))))
        return float(self.scores[i] + part * (self.scores[i + 1] - self.scores[i]))


def coverage_curve(scores: Float64s, correct: Bools, bins: int) -> CoverageCurve:
    """P4's estimate of the coverage accuracy: uniform-mass bins, running accuracy over rows, a decreasing isotonic fit.

    Equal scores never part, and a bin without rows of its own does not enter; each bin counts by its rows.

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
    fit = IsotonicRegression(increasing=False).fit(means, observed, sample_weight=sizes)
    return CoverageCurve(means, np.asarray(fit.predict(means), dtype=np.float64), observed, ends / n)


def guaranteed_accuracy(scores: Float64s, correct: Bools, others: Float64s, accuracy: float, risk: float) -> float:
    """The loosest threshold that passes fixed-sequence tests of the accuracy among answered rows, at this risk.

    The thresholds are fixed beforehand, at equal steps of the scores of *other* rows: conditional on how many held-out
    rows a threshold answers, the right ones among them are binomial, and Clopper-Pearson bounds are exact. They are
    tested from strict to loose, each at the full risk, until the first fails. The first expects twice the rows that
    could pass without a single error, and at least 40. NotAnswerable when it fails already.

    References: Geifman & El-Yaniv 2017 (selective risk control); fixed-sequence testing: Wiens 2003.
    """
    needed = guarantees.rows_for_accuracy(accuracy, risk)
    first = min(1.0, max(2.0 * needed, _FEWEST_TESTED) / len(scores))
    shares = np.linspace(first, 1.0, _STEPS)
    places = np.ceil(shares * len(others)).astype(np.intp) - 1
    passed: float | None = None
    for threshold in np.unique(np.sort(others)[places]):
        answered = scores <= threshold
        bound = guarantees.accuracy_lower_bound(int(correct[answered].sum()), int(answered.sum()), risk)
        if bound < accuracy:
            break
        passed = float(threshold)
    if passed is None:
        raise NotAnswerable(
            f"coverage accuracy {accuracy:g} cannot be promised at risk {risk:g}: no threshold passes its test on the "
            f"{len(scores)} rows held out, of which {needed} answered without error would be the least; give more "
            "rows, ask for less, or choose rule 'paper'"
        )
    return passed
