"""Bandwidth rules for kernels: the standard deviation, in units of the smoothed scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np

from calib_core._base.arrays import Float64s, Floats
from calib_core._base.distributions import norm
from calib_core.registry.registry import Range, Registry

_IQR_OF_NORMAL = float(2 * norm.ppf(0.75))
_MIDDLE_98_OF_NORMAL = float(2 * norm.ppf(0.99))
_LEVELS = (0.01, 0.25, 0.75, 0.99)
_CUT, _NARROWER = 5.0, 0.6
"""Log-odds beyond which scores count as at this limit, and what their deviation is multiplied by."""


class Bandwidth(Protocol):
    """Bandwidth rule with parameters only, called with all scores of a stratum and no outcomes."""

    def __call__(self, scores: Floats, weights: Float64s | None = None) -> float:
        """Return the kernel's standard deviation for these scores; 0 if all are equal."""


BANDWIDTHS: Registry[Bandwidth] = Registry("BANDWIDTHS", flags=False)
"""Bandwidth rules; the flag marks those that support many lines of scores at once (``of_lines``)."""


@BANDWIDTHS.register("silverman", "Silverman's rule", reference="Silverman 1986; P5 §4.5.1", flags=True)
@dataclass(frozen=True)
class Silverman:
    """Bandwidth (3n/4)^(-1/5) times the spread of the scores, the smaller of two estimates.

    min(standard deviation, interquartile range / 1.349) with n rows; if that is 0, the range of the middle 98 % /
    4.653, and if that is also 0 the standard deviation. What can mislead: for a confident network the interquartile
    range, and with it the bandwidth, is nearly 0; the curve is then noise. Use ``silverman-std`` in this case.

    References: Silverman 1986, §3.4.2; P5 §4.5.1.

    >>> round(Silverman()(np.array([0.2, 0.4, 0.6, 0.8])), 4)
    0.1785
    """

    def __call__(self, scores: Floats, weights: Float64s | None = None) -> float:
        total, deviation = _spread(scores, weights)
        low, q1, q3, high = _quantiles(scores, weights, _LEVELS)
        sigma = min(deviation, (q3 - q1) / _IQR_OF_NORMAL) or (high - low) / _MIDDLE_98_OF_NORMAL or deviation
        return _scaled(sigma, total)

    def of_lines(self, scores: Floats) -> Float64s:
        """Return the bandwidths (lines,) of scores (lines, n)."""
        deviation, s = _deviations(scores), np.sort(scores, axis=-1)
        low, q1, q3, high = (_quantile(s, level) for level in _LEVELS)
        sigma = np.minimum(deviation, (q3 - q1) / _IQR_OF_NORMAL)
        sigma = np.where(sigma > 0, sigma, (high - low) / _MIDDLE_98_OF_NORMAL)
        return np.asarray(np.where(sigma > 0, sigma, deviation) * (0.75 * scores.shape[-1]) ** -0.2)


@BANDWIDTHS.register("silverman-std", "Silverman's rule on the standard deviation", flags=True)
@dataclass(frozen=True)
class StandardDeviation:
    """Bandwidth (3n/4)^(-1/5) times the standard deviation of the scores.

    Silverman's rule without the interquartile range, so scores concentrated at one end do not shrink it to
    nothing. What can mislead: with two distant clusters of scores it oversmooths each of them.

    >>> round(StandardDeviation()(np.array([0.2, 0.4, 0.6, 0.8])), 4)
    0.2073
    """

    def __call__(self, scores: Floats, weights: Float64s | None = None) -> float:
        total, deviation = _spread(scores, weights)
        return _scaled(deviation, total)

    def of_lines(self, scores: Floats) -> Float64s:
        """Return the bandwidths (lines,) of scores (lines, n)."""
        return np.asarray(_deviations(scores) * (0.75 * scores.shape[-1]) ** -0.2)


@BANDWIDTHS.register("silverman-cut", "Silverman's rule on log-odds truncated at 5", flags=True)
@dataclass(frozen=True)
class CutDeviation:
    """Bandwidth 0.6 (3n/4)^(-1/5) times the standard deviation of the log-odds, those beyond -5 and 5 moved there.

    Scores of exactly 0 and 1, or nearly so, do not widen it: log-odds of 5 are a probability of .9933. The factor makes
    it narrow enough for a band around the smoothed curve to contain the true one (``kernel_curve``). If all scores are
    beyond one limit, it is the standard deviation without the limit. What can mislead: it is for log-odds; on scores,
    which are never beyond the limit, it is 0.6 times ``silverman-std``.

    >>> x = np.array([-2.0, 0.0, 2.0, 16.0])
    >>> round(CutDeviation()(x), 2), CutDeviation()(x) == CutDeviation()(np.array([-2.0, 0.0, 2.0, 5.0]))
    (1.44, True)
    """

    def __call__(self, scores: Floats, weights: Float64s | None = None) -> float:
        total, deviation = _spread(np.clip(scores, -_CUT, _CUT), weights)
        return _scaled(_NARROWER * (deviation or _spread(scores, weights)[1]), total)

    def of_lines(self, scores: Floats) -> Float64s:
        """Return the bandwidths (lines,) of scores (lines, n)."""
        deviation = _deviations(np.clip(scores, -_CUT, _CUT))
        deviation = np.where(deviation > 0, deviation, _deviations(scores))
        return np.asarray(_NARROWER * deviation * (0.75 * scores.shape[-1]) ** -0.2)


@BANDWIDTHS.register("fixed", "Fixed bandwidth", flags=True)
@dataclass(frozen=True)
class Fixed:
    """The same bandwidth for all scores.

    What can mislead: mirroring makes the curve flat at the ends, with a bias of about the bandwidth there.

    >>> Fixed(0.1)(np.array([0.5]))
    0.1
    """

    value: Annotated[
        float, Range(0.0005, 5.0, log=True), "Width", "standard deviation of the kernel, in units of the scale"
    ] = 0.05

    def __call__(self, scores: Floats, weights: Float64s | None = None) -> float:
        return self.value

    def of_lines(self, scores: Floats) -> Float64s:
        """Return the same bandwidth for every line."""
        return np.full(len(scores), self.value)


def _scaled(sigma: float, total: float) -> float:
    return float(sigma * (0.75 * total) ** -0.2)


def _spread(scores: Floats, weights: Float64s | None) -> tuple[float, float]:
    """Number of rows (or their weight) and standard deviation of the scores, with n - 1 in the denominator."""
    s = scores.astype(np.float64)
    w = np.ones(len(s)) if weights is None else weights
    total = float(w.sum())
    if total <= 1.0:
        return total, 0.0
    mean = float((w * s).sum()) / total
    return total, float(np.sqrt((w * np.square(s - mean)).sum() / (total - 1.0)))


def _deviations(scores: Floats) -> Float64s:
    """Standard deviation of each line of scores (lines, n)."""
    s, n = scores.astype(np.float64), scores.shape[-1]
    squares = np.square(s - s.sum(axis=-1, keepdims=True) / n).sum(axis=-1)
    return np.sqrt(squares / (n - 1)) if n > 1 else np.zeros(len(s))


def _quantile(ordered: Floats, level: float) -> Float64s:
    """Linearly interpolated quantile of each ascending line."""
    position = level * (ordered.shape[-1] - 1)
    below = int(position)
    lower, upper = (ordered[:, min(rank, ordered.shape[-1] - 1)].astype(np.float64) for rank in (below, below + 1))
    return np.asarray(lower + (position - below) * (upper - lower))


def _quantiles(scores: Floats, weights: Float64s | None, levels: tuple[float, ...]) -> list[float]:
    """Linearly interpolated quantiles; a whole weight counts as that many copies."""
    upto: Float64s | None = None
    if weights is None:
        # Sorting the scores is several times faster than a partition at eight places.
        s, total = np.sort(scores), float(len(scores))
    else:
        order = np.argsort(scores, kind="stable")
        s, upto = scores[order], np.cumsum(weights[order])
        total = float(upto[-1])
    position = np.asarray(levels) * max(total - 1.0, 0.0)
    below = np.floor(position)
    lower, upper = (
        s[np.minimum(rank if upto is None else np.searchsorted(upto, rank, side="right"), len(s) - 1)].astype(
            np.float64
        )
        for rank in (below.astype(np.intp), below.astype(np.intp) + 1)
    )
    return [float(q) for q in lower + (position - below) * (upper - lower)]
