"""Intervals and tests of accuracies, valid for any probabilities, with or without weights."""

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
    """Ends, at ``level``, for the mean chance of being right of so many ``rows``, of which a share was ``right``.

    Counted rows: Clopper and Pearson's ends. They hold also where the rows' chances differ, for a sum of such outcomes
    spreads less than a binomial one. Rows that carry weights: right -+ sqrt(log(2 / (1 - level)) / (2 rows)), with
    ``rows`` the number of equal weight they are worth, (sum w)^2 / sum w^2; wider, and it needs no law of the outcomes.
    NaN where there are no rows.

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
    """p-values (m,): how seldom so many ``rows`` come out so far from what they say, where their chances say it too.

    Tests, two-sided, that the mean chance of being right is ``says``; ``right`` is the share that was. The p-value is
    at most 1 - level exactly where ``share_ends`` at that level exclude ``says``: the binomial tail, doubled, for
    counted rows, 2 exp(-2 rows (right - says)^2) for others. It holds whatever the single rows' chances are, so that a
    small one says that the mean is off; rows whose chances differ much are tested on the careful side. NaN where there
    are no rows. What can mislead: rows are taken to be independent.

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
    """How far, at most, the share right of so many ``rows`` lies from a mean chance of ``says``, in 95 % of cases.

    Counted rows: as far as the binomial numbers that 2.5 % lie below, and above; others sqrt(log(40) / (2 rows)). Like
    ``share_test`` it holds whatever the single rows' chances are, and what ``share_test`` gives less than 5 % lies
    beyond one of the two ends. NaN where there are no rows.

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
