"""Bins of nearly equal mass: how balanced they are, and the rows that make them so (P2 Def. 4.2, Lemma 4.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calib_core._base.distributions import beta


def balance(masses: ArrayLike) -> float:
    """Smallest a for which bins with these probabilities are a-well-balanced: 1 / (a B) <= P(bin) <= a / B.

    Infinite when a bin has no mass. Give the bins' shares of *new* rows: those of the rows the bins were placed on are
    equal by construction and say nothing.

    References: P2 Definition 4.2.

    >>> balance([0.5, 0.25, 0.25])
    1.5
    """
    m = np.asarray(masses, dtype=np.float64)
    m = m / m.sum() * len(m)
    return float("inf") if m.min() == 0 else float(max(m.max(), 1.0 / m.min()))


def well_balanced(masses: ArrayLike, factor: float = 2.0) -> bool:
    """Is a binning with these probabilities 2-well-balanced (or ``factor``-)?

    References: P2 Definition 4.2; its Theorem 5.3 and 5.4 need factor 2.

    >>> well_balanced([0.5, 0.25, 0.25]), well_balanced([0.8, 0.1, 0.1])
    (True, False)
    """
    return balance(masses) <= factor * (1 + 1e-12)


def unbalanced_probability(rows: int, bins: int) -> float:
    """Most that uniform-mass bins placed on so many rows can fail to be 2-well-balanced with (at most 1).

    P2 proves it to be at most delta once n >= c B log(B / delta), without naming c. This is a bound with its constants,
    exact for each bin: between two thresholds the mass of continuous scores is Beta(m, n + 1 - m) for m the difference
    of their ranks, so P(fail) <= sum over bins of P(mass outside [1/(2B), 2/B]).

    References: P2 Lemma 4.3; David & Nagaraja 2003, §2.3 (spacings of uniform order statistics).

    >>> unbalanced_probability(2000, 10) < 1e-9 < unbalanced_probability(20, 10)
    True
    """
    if rows < bins or bins == 1:
        return float(rows < bins)
    ranks = np.append(np.append(0, np.ceil(np.arange(1, bins) * (rows + 1) / bins)), rows + 1)
    m = np.diff(ranks)
    outside = beta.cdf(0.5 / bins, m, rows + 1 - m) + beta.sf(2.0 / bins, m, rows + 1 - m)
    return float(min(1.0, np.sum(outside)))


def rows_for_balance(bins: int, delta: float) -> int:
    """Rows that make ``unbalanced_probability`` of this many bins at most delta (to within 1 %).

    >>> rows = rows_for_balance(10, 0.05)
    >>> unbalanced_probability(rows, 10) <= 0.05, 150 < rows < 400
    (True, True)
    """
    n = max(bins, 2)
    while unbalanced_probability(n, bins) > delta:
        n = int(np.ceil(n * 1.01)) + 1
    return n
