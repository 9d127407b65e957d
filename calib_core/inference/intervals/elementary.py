"""Elementary intervals: bootstrap forms, intervals and tests of shares, limits of few outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import beta, binom, gamma, norm
from calib_core.defaults import LEVEL
from calib_core.results.uncertainty import Interval

IN_BINS = "the error in these bins, given these predictions"
"""The quantity that intervals of binned errors estimate."""
NOISELESS = "this estimator's noiseless value, given these predictions"
"""The quantity that intervals of kernel, smooth, convex, swept and cumulative errors estimate."""
OF_ABOVE = 0.1
"""Part of the chance to miss that own lower ends have for errors that are never smaller than another.

The lines up to that one share the rest.
"""


def around(
    value: float, ends: tuple[float, float], level: float, method: str, tested: bool, about: str = IN_BINS
) -> Interval:
    """The interval with these ends whose point is the value, or the end nearest to it."""
    low, high = ends
    return Interval(low, high, level, method, tested, about, min(max(value, low), high))


def alone(level: float, share: float = OF_ABOVE) -> float:
    """The level at which an error's own lower end is read that is never smaller than another one (``raised``)."""
    return 1.0 - share * (1.0 - level)


def raised(
    own: Interval, low: float, below: tuple[float, float, float], p: float, p_of: str, share: float = OF_ABOVE
) -> Interval:
    """The interval of an error that is never smaller than another one.

    ``below`` are the low end, point and high end of that other error. ``low`` is the error's own lower end at the level
    ``alone`` of this ``share``. The p-value is at most that of the other error, which ``p_of`` names.
    """
    least, middle, most = below
    least, most = max(low, least), max(own.high, most)
    ends = replace(own, low=least, point=min(max(own.point, middle, least), most), high=most)
    return replace(ends, p_bound=p, p_of=p_of, p_times=1.0 / share)


def percentile(draws: Float64s, level: float) -> tuple[float, float]:
    """Percentile interval: the middle share ``level`` of the bootstrap values.

    >>> percentile(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def pivotal(value: float, draws: Float64s, level: float) -> tuple[float, float]:
    """Basic (pivotal) interval: the value less the bootstrap's errors, 2 T - T*; P2's bias-corrected form.

    References: P2 §5.1; Davison & Hinkley 1997, eq. (5.6).

    >>> pivotal(60.0, np.arange(101.0), 0.5)
    (45.0, 95.0)
    """
    low, high = percentile(draws, level)
    return 2 * value - high, 2 * value - low


def wilson(positives: Float64s, rows: Float64s, level: float = LEVEL) -> tuple[Float64s, Float64s]:
    """Wilson score intervals for shares positives / rows, elementwise; NaN where there are no rows.

    (k + z^2/2 +- z sqrt(k (n - k)/n + z^2/4)) / (n + z^2), z the normal (1 + level)/2 point. In [0, 1], not centered.

    References: Wilson 1927; Brown, Cai & DasGupta 2001.

    >>> low, high = wilson(np.array([5.0]), np.array([10.0]), 0.95)
    >>> low.round(3), high.round(3)
    (array([0.237]), array([0.763]))
    """
    z = float(norm.isf((1 - level) / 2))
    n = np.where(rows > 0, rows, np.nan)
    half = z * np.sqrt(np.maximum(positives * (n - positives) / n, 0.0) + z * z / 4)
    middle = positives + z * z / 2
    return np.clip((middle - half) / (n + z * z), 0, 1), np.clip((middle + half) / (n + z * z), 0, 1)


def clopper_pearson(positives: Float64s, rows: Float64s, level: float | Float64s = LEVEL) -> tuple[Float64s, Float64s]:
    """Exact intervals for shares positives / rows, elementwise: they cover at least at ``level``.

    References: Clopper & Pearson 1934.

    >>> low, high = clopper_pearson(np.array([0.0]), np.array([10.0]), 0.9)
    >>> low, high.round(3)  # 1 - 0.05^(1/10)
    (array([0.]), array([0.259]))
    """
    tail = (1 - level) / 2
    low = beta.ppf(tail, positives, rows - positives + 1)
    high = beta.isf(tail, positives + 1, rows - positives)
    return np.where(positives > 0, low, 0.0), np.where(positives < rows, high, 1.0)


def beyond(count: float, tail: float) -> float:
    """Distance from a Poisson count to the exact upper limit for its mean.

    X(B) = G(B + 1; 1 - tail) - B with G the gamma quantile of shape B + 1. It is log(1/tail) at B = 0, and about z
    sqrt(B) + (z^2 + 2)/3 for many. ``count`` may be any number from 0 on: a sum of squared residuals in [0, 1]
    replaces the count, like the variance of a weighted Poisson sum.

    References: Garwood 1936; for weighted sums Fay & Feuer 1997.

    >>> round(beyond(0.0, 0.05), 3), round(float(np.log(20)), 3)
    (2.996, 2.996)
    """
    return float(gamma.isf(tail, count + 1.0) - count)


def surplus(count: float, tail: float) -> float:
    """Difference of the Poisson and normal limits, D(B) = X(B) - z sqrt(B): log(1/tail) at 0, 1 to 2 for many.

    >>> round(surplus(0.0, 0.05), 2), 1.2 < surplus(1e4, 0.05) < 1.7
    (3.0, True)
    """
    return beyond(count, tail) - float(norm.isf(tail)) * float(np.sqrt(count))


COUNTED = "exact, Clopper and Pearson 1934"
WEIGHED = "Hoeffding 1963, for weighted rows"


def share_ends(
    right: Float64s, rows: Float64s, counted: bool, level: float | Float64s = LEVEL
) -> tuple[Float64s, Float64s]:
    """Ends, at ``level``, for the mean chance of being right of ``rows`` rows, of which a share ``right`` was right.

    Counted rows: Clopper and Pearson's ends. They are also valid if the rows' chances differ, because a sum of such
    outcomes varies less than a binomial one. Weighted rows: right -+ sqrt(log(2 / (1 - level)) / (2 rows)), with
    ``rows`` their effective sample size, (sum w)^2 / sum w^2. This is wider and needs no law of the outcomes. NaN if
    there are no rows.

    References: Clopper & Pearson 1934; Hoeffding 1956 (chances that differ) and 1963, Theorem 2 (weights).

    >>> low, high = share_ends(np.array([0.5]), np.array([10.0]), counted=True)
    >>> low.round(3), high.round(3)
    (array([0.222]), array([0.778]))
    >>> share_ends(np.array([0.5]), np.array([10.0]), counted=False)[0].round(3)  # 0.5 - sqrt(log(20) / 20)
    array([0.113])
    """
    known = rows > 0
    n, share = np.where(known, rows, 1.0), np.where(known, right, 0.0)
    if counted:
        low, high = clopper_pearson(np.round(share * n), n, level)
    else:
        half = np.sqrt(np.log(2 / (1 - level)) / (2 * n))
        low, high = np.clip(share - half, 0.0, 1.0), np.clip(share + half, 0.0, 1.0)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def share_test(right: Float64s, says: Float64s, rows: Float64s, counted: bool) -> Float64s:
    """p-values (m,) of the mean chance being ``says``, given the accuracy ``right`` of ``rows`` rows; two-sided.

    The p-value is at most 1 - level exactly if ``share_ends`` at that level exclude ``says``. It is the doubled
    binomial tail for counted rows, and 2 exp(-2 rows (right - says)^2) for others. It is valid whatever the single
    rows' chances are, so a small one shows that the mean is off. The test is conservative for rows whose chances
    differ much. NaN if there are no rows. What can mislead: rows are assumed to be independent.

    References: Hoeffding 1956 (chances that differ) and 1963 (weights).

    >>> ten, says = np.array([10.0]), np.array([0.5])
    >>> share_test(np.array([1.0]), says, ten, counted=True).tolist() == [2 * 0.5**10]
    True
    >>> share_test(np.array([1.0]), says, ten, counted=False).round(4)  # 2 exp(-2 * 10 / 4)
    array([0.0135])
    """
    known = rows > 0
    n, share, mean = np.where(known, rows, 1.0), np.where(known, right, 0.0), np.clip(np.where(known, says, 0.0), 0, 1)
    if counted:
        k = np.round(share * n)
        p = 2 * np.minimum(binom.cdf(k, n, mean), binom.sf(k - 1, n, mean))
    else:
        p = 2 * np.exp(-2 * n * np.square(share - mean))
    return np.where(known, np.minimum(p, 1.0), np.nan)


def share_floor(rows: Float64s) -> Float64s:
    """Bound for the distance between the accuracy of weighted rows and their mean chance, in at least 95 % of cases.

    It is sqrt(log(40) / (2 rows)), with ``rows`` their effective sample size. Like ``share_test`` it is valid whatever
    the single rows' chances are, and a larger distance has a p below 5 %. NaN if there are no rows. ``count_noise``
    has the exact floor of counted rows.

    References: Hoeffding 1963.

    >>> share_floor(np.array([50.0, 0.0])).round(3)
    array([0.192,   nan])
    """
    known = rows > 0
    return np.where(known, np.sqrt(np.log(2 / 0.05) / (2 * np.where(known, rows, 1.0))), np.nan)
