"""Intervals and tests for observed frequencies that are valid for any chances, with or without row weights."""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import binom
from calib_core.defaults import LEVEL
from calib_core.inference.intervals.elementary import clopper_pearson

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


def share_floor(says: Float64s, rows: Float64s, counted: bool) -> Float64s:
    """Largest distance between the accuracy of ``rows`` rows and a mean chance of ``says``, in 95 % of cases.

    Counted rows use the 2.5 % points of the binomial law on both sides; others sqrt(log(40) / (2 rows)). Like
    ``share_test`` it is valid whatever the single rows' chances are. A result with p below 5 % is beyond one of the
    two ends. NaN if there are no rows.

    References: Hoeffding 1956, Theorem 5 (chances that differ), and 1963 (weights).

    >>> share_floor(np.array([0.5]), np.array([100.0]), counted=True)  # 40 to 60 of 100
    array([0.1])
    """
    known = rows > 0
    n, mean = np.where(known, rows, 1.0), np.clip(np.where(known, says, 0.0), 0, 1)
    if counted:
        reach = np.maximum(mean - binom.ppf(0.025, n, mean) / n, binom.ppf(0.975, n, mean) / n - mean)
    else:
        reach = np.sqrt(np.log(2 / 0.05) / (2 * n))
    return np.where(known, reach, np.nan)
