"""Contest of candidates on held-out rows, and the gain of the best one-parameter map by the likelihood ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import LOG_FLOOR, Bools, Codes, Float64s
from calib_core._base.distributions import t as student
from calib_core.defaults import SIGNIFICANCE
from calib_core.inference.intervals.mean_gap import GapSums

_STEPS, _HALVINGS, _MOST = 50, 60, 60.0


@dataclass(frozen=True)
class TiltGain:
    """Gain in mean log loss of the best tilt: both ends of its interval, and the p-value of no gain."""

    low: float
    high: float
    p_value: float


def best_gain(probs: Float64s, labels: Codes, t: Float64s, units: Codes, level: float) -> TiltGain | None:
    """Return the interval of the gain in mean log loss of the best map q(b) over a model; None without a maximum.

    q_ik(b) is proportional to p_ik exp(b t_ik) for ``probs`` p (n, K), 0 in p staying 0; b = 0 is the model. With t =
    log p it is temperature scaling (1/T = 1 + b). With t = 1 for the event only it is an intercept update. With l(b)
    the log likelihood of the ``labels`` (n,) and b^ its maximum, the interval of b has 2 (l(b^) - l(b)) <= phi q^2.
    Here q is Student's quantile at ``level``. The overdispersion of the summed scores of ``units`` (n,) under the model
    with b^ is phi, at least 1. The gain at b is the mean of sum_k q_ik(b) log(q_ik(b) / p_ik), and its ends are those
    over the interval of b. The lower end is above 0 exactly if the likelihood ratio test rejects b = 0.

    What can mislead: the gain is that of the best b; a b fitted to n rows has about 1 / (2 n) less. And if
    no one-parameter map is correct, it is a gain by the rows' likelihood only.

    References: Wilks 1938; Royall 1986, on likelihood ratios of misspecified models; Cox 1958.

    >>> p, y = np.array([[0.99, 0.01]] * 20), np.array([0] * 15 + [1] * 5)
    >>> found = best_gain(p, y, np.log(p), np.arange(20), 0.9)
    >>> found.p_value < 0.001, 0 < found.low < 0.5 < found.high
    (True, True)
    """
    tilted = _Tilted.of(probs, labels, t)
    best = tilted.maximum()
    if best is None:
        return None
    _, scores, information = tilted.likelihood(best)
    _, unit = np.unique(units, return_inverse=True)
    sums = np.bincount(unit, weights=scores)
    if len(sums) < 2:
        return None
    phi = max(1.0, float(np.square(sums).sum()) / information * len(sums) / (len(sums) - 1))
    drop = 2 * (tilted.likelihood(best)[0] - tilted.likelihood(0.0)[0]) / phi
    p_value = 2 * float(student.sf(np.sqrt(max(drop, 0.0)), len(sums) - 1))
    half = float(student.ppf((1 + level) / 2, len(sums) - 1))
    ends = [tilted.crossing(best, side, phi * half**2) for side in (-1.0, 1.0)]
    gains = sorted(tilted.gain(b) for b in ends)
    return TiltGain(0.0 if ends[0] <= 0 <= ends[1] else gains[0], gains[1], min(1.0, p_value))


@dataclass(frozen=True, eq=False)
class _Tilted:
    """Family of maps: logarithms of the model's probabilities, tilting statistics, and labels."""

    logs: Float64s
    t: Float64s
    labels: Codes
    possible: Bools

    @classmethod
    def of(cls, probs: Float64s, labels: Codes, t: Float64s) -> _Tilted:
        possible = probs > 0
        possible[np.arange(len(labels)), labels] = True
        return cls(np.log(np.maximum(probs, LOG_FLOOR)), np.asarray(t, dtype=np.float64), labels, possible)

    def _probs(self, b: float) -> tuple[Float64s, Float64s]:
        """Probabilities at b, and the logarithms of their normalizing sums."""
        z = np.where(self.possible, self.logs + b * self.t, -np.inf)
        top = z.max(axis=1, keepdims=True)
        q = np.exp(z - top)
        total = q.sum(axis=1, keepdims=True)
        return q / total, (top + np.log(total))[:, 0]

    def likelihood(self, b: float) -> tuple[float, Float64s, float]:
        """Return the log likelihood at b, the rows' scores (n,), and the information."""
        q, total = self._probs(b)
        rows = np.arange(len(self.labels))
        mean = (q * self.t).sum(axis=1)
        variance = (q * np.square(self.t - mean[:, None])).sum()
        happened = self.t[rows, self.labels]
        likelihood = float((self.logs[rows, self.labels] + b * happened - total).sum())
        return likelihood, happened - mean, float(variance)

    def maximum(self) -> float | None:
        """Return the b with the largest likelihood (it is concave); None if it is not finite."""
        b, (value, scores, information) = 0.0, self.likelihood(0.0)
        for _ in range(_STEPS):
            if information <= 1e-12:
                return None
            step = float(scores.sum()) / information
            if abs(step) < 1e-9 * (1 + abs(b)):
                return b
            while abs(step) > 1e-12:
                new = self.likelihood(b + step)
                if new[0] >= value - 1e-12:
                    break
                step /= 2
            else:
                return b
            b, (value, scores, information) = b + step, new
            if abs(b) > _MOST:
                return None
        return b

    def gain(self, b: float) -> float:
        """Return the mean gain at b if q(b) is the truth."""
        q, total = self._probs(b)
        return float((q * (b * self.t - (total - self._probs(0.0)[1])[:, None])).sum(axis=1).mean())

    def crossing(self, best: float, side: float, drop: float) -> float:
        """Return the b on one side of the best at which twice the log likelihood is lower by ``drop``."""
        top = self.likelihood(best)[0]
        step = 0.1
        while 2 * (top - self.likelihood(best + side * step)[0]) < drop and step < _MOST:
            step *= 2
        near, far = 0.0, step
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            if 2 * (top - self.likelihood(best + side * middle)[0]) < drop:
                near = middle
            else:
                far = middle
        return best + side * (near + far) / 2


ENOUGH = 2.0
"""Nats by which the mixture of the candidates must beat the model: outcomes e^2 = 7.4 times as likely."""
RATE = 0.35
"""Rate at which the mixture's weights follow the log likelihood: at 1 they trust single rows too much."""
HALF = 0.5
"""A candidate that does equally well has at least so much of the best gain, however uncertain the difference is."""
MOST = 0.9
"""Share of the best gain that counts as equally good, however certain the difference is."""
CLEARLY, NATS = 0.05, 5.0
"""Excess log loss, as a share of the best, and lost nats of likelihood that exclude an equally good candidate.

Both must be exceeded.
"""
BOLD = 0.5
"""The share of its gain that one outcome which a candidate all but rules out may cost."""


@dataclass(frozen=True, eq=False)
class Contest:
    """Gains of m candidates over the model in n rows, by maps that were not fitted on them; the model comes first.

    ``gains`` (m, n): by how much less a row loses, 0 for the model; minus infinity where a candidate gives a class a
    probability of 0. ``bold`` (m, n) is the expected number, by the model, of outcomes in a row that the candidate all
    but rules out. ``price`` (m, n) is the mean additional cost of such an outcome to the candidate (``bold_claims``).
    ``weights`` (n,) of the rows have a mean of 1, and ``units`` (n,) are their groups. ``simplicity`` of the candidates
    is least for the simplest; ``level`` is that of the paired tests. ``losses`` (n,) are the model's, where these are
    log losses. Where the rows are risks, ``risks`` (m, n) are those of the event after each candidate, NaN of one that
    could not be fitted. ``happened`` (n,) are then its outcomes.
    """

    gains: Float64s
    bold: Float64s
    price: Float64s
    weights: Float64s
    units: Codes
    simplicity: Sequence[tuple[float, ...]]
    level: float
    losses: Float64s | None = None
    risks: Float64s | None = None
    happened: Bools | None = None

    @property
    def every(self) -> Bools:
        """All rows."""
        return np.ones(self.gains.shape[1], dtype=bool)

    def totals(self, rows: Bools) -> Float64s:
        """Each candidate's whole gain in these rows, (m,)."""
        return np.asarray(self.gains[:, rows] @ self.weights[rows])

    def risk(self, rows: Bools) -> Float64s:
        """Cost of one outcome that a candidate all but rules out, (m,).

        It counts as often as the model expects, at most once in all these rows.
        """
        w = self.weights[rows]
        expected, cost = self.bold[:, rows] @ w, (self.bold[:, rows] * self.price[:, rows]) @ w
        return np.asarray(cost / np.maximum(expected, 1.0))

    def eligible(self, rows: Bools) -> Bools:
        """Mask of candidates that gain in these rows by more than twice the cost of one bold claim, (m,)."""
        totals = self.totals(rows)
        found = np.isfinite(totals) & (totals > 0) & (self.risk(rows) <= BOLD * totals)
        found[0] = False
        return np.asarray(found)

    def best(self, rows: Bools) -> int:
        """The eligible candidate of the largest gain; 0, the uncalibrated model, where there is none."""
        return int(np.where(self.eligible(rows), self.totals(rows), 0.0).argmax())

    def equals(self, rows: Bools) -> list[int]:
        """Eligible candidates that do as well as the best.

        They have at least ``HALF`` of its gain, and the paired interval of the difference (Student's, of the sums of
        units) includes 0. Or they have ``MOST`` of it, which is all that matters. A candidate does not count where it
        is clearly worse by the remaining log loss (``CLEARLY`` and ``NATS``). A few rows can make most of the gain. Any
        map then has most of it, and their losses make the interval too wide to show differences. A map of an event's
        risk does not count either if its mean is significantly off where that of the best is not (``off_on_average``).
        A temperature pulls every risk towards 50 %, and so moves the mean of risks that are mostly small.
        """
        best, totals = self.best(rows), self.totals(rows)
        if not best:
            return []
        bias_counts = not self.off_on_average(best, rows)
        return [
            int(i)
            for i in np.flatnonzero(self.eligible(rows))
            if not self._clearly_worse(best, int(i), rows)
            and (
                totals[i] >= MOST * totals[best]
                or (totals[i] >= HALF * totals[best] and self._behind(best, int(i), rows) <= 0)
            )
            and not (bias_counts and self.off_on_average(int(i), rows))
        ]

    def off_on_average(self, which: int, rows: Bools) -> bool:
        """True where the mean risk after this candidate is significantly off the observed frequency in these rows.

        By the test of the mean gap (``GapSums.chance``); rows of a unit vary together. False without an event.
        """
        if self.risks is None or self.happened is None:
            return False
        w, risk = self.weights[rows], self.risks[which, rows]
        apart, total = self.happened[rows] - risk, float(w.sum())
        _, unit = np.unique(self.units[rows], return_inverse=True)
        sums = np.bincount(unit, weights=w * apart)
        around = np.bincount(unit, weights=w * (apart - float(w @ apart) / total))
        claimed = float(np.square(w) @ (risk * (1.0 - risk)))
        deviation = max(float(np.square(around).sum()), claimed) ** 0.5 / total
        mean, observed = float(w @ risk) / total, float(w @ self.happened[rows]) / total
        residual = float(np.square(sums).sum()) ** 0.5 / total
        return GapSums(total, mean, observed, deviation, float(w.max()) / total, residual).chance <= SIGNIFICANCE

    def _clearly_worse(self, best: int, other: int, rows: Bools) -> bool:
        if self.losses is None:
            return False
        w = self.weights[rows]
        behind = float(w @ (self.gains[best, rows] - self.gains[other, rows]))
        return behind > max(NATS, CLEARLY * float(w @ (self.losses[rows] - self.gains[best, rows])))

    def simplest(self, rows: Bools) -> int:
        """The simplest of the candidates that do as well as the best; 0 where none gains."""
        return min(self.equals(rows), key=lambda i: self.simplicity[i], default=0)

    def _behind(self, best: int, other: int, rows: Bools) -> float:
        """The lower end of what a unit loses with the other, in place of the best."""
        apart = self.weights[rows] * (self.gains[best, rows] - self.gains[other, rows])
        _, unit = np.unique(self.units[rows], return_inverse=True)
        sums = np.bincount(unit, weights=apart)
        if len(sums) < 2:
            return 0.0
        half = float(student.ppf((1 + self.level) / 2, len(sums) - 1)) * float(sums.std(ddof=1)) / len(sums) ** 0.5
        return float(sums.mean() - half)

    def evidence(self, fold: Codes, worth: float) -> float:
        """Advantage in nats of a mixture of all candidates over the model, on folds that did not enter its weights.

        On fold f the mixture gives the outcome of row i the probability sum_m w_fm o_im, where o_im is that of
        candidate m. The weight w_fm is proportional to exp(``RATE`` times its log likelihood on the other folds);
        nothing is fitted again. ``worth`` is the effective number of rows. For a calibrated model the exponential of
        the result has a mean of about 1, so that it exceeds e^2 in at most 13.5 % of cases (Markov). In practice it
        does in far fewer, since mixing costs likelihood.

        What can mislead: that bound needs folds that were not dealt out by label. Such folds repeat the sampling error
        of the class frequencies that the maps were fitted to.
        """
        w = self.weights * worth / len(self.weights)
        gain = np.empty(len(w))
        for f in np.unique(fold):
            mine = fold == f
            log_weights = RATE * (self.gains[:, ~mine] @ w[~mine])
            mixed = log_weights[:, None] + self.gains[:, mine] - np.logaddexp.reduce(log_weights)
            gain[mine] = np.logaddexp.reduce(mixed, axis=0)
        sums = np.bincount(np.unique(self.units, return_inverse=True)[1], weights=w * (gain - gain.mean()))
        alone = float(np.square(w * (gain - gain.mean())).sum())
        # Rows of a unit that come out alike are evidence once, not as often as they are there.
        return float(w @ gain) / max(1.0, float(np.square(sums).sum()) / alone if alone > 0 else 1.0)


def bold_claims(before: Float64s, after: Float64s, least: float) -> tuple[Float64s, Float64s]:
    """Expected number of outcomes in a row that are all but ruled out, and their mean cost; (n,) each.

    ``before`` and ``after`` (n, K) are the model's probabilities p and a candidate's q. In each row the classes with q
    < p and q < ``least``, 1 over the number of rows, count. They are too rare for these rows to show. The first is the
    sum of p over them, the second the mean of log(p / q), weighted by p.

    >>> bold_claims(np.array([[0.95, 0.05]]), np.array([[0.9999, 0.0001]]), 1 / 100)[0].round(2).tolist()
    [0.05]
    """
    ruled_out = (after < least) & (after < before)
    chance = np.where(ruled_out, before, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = np.where(ruled_out, before * np.log(before / np.maximum(after, 1e-300)), 0.0)
    expected = chance.sum(axis=1)
    return expected, np.divide(cost.sum(axis=1), expected, out=np.zeros(len(expected)), where=expected > 0)
