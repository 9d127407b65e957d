"""Gain of the best one-parameter map over a model, with interval and p-value by the likelihood ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import LOG_FLOOR, Bools, Codes, Float64s
from calib_core._base.distributions import t as student

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
