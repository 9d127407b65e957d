"""Distribution-free bounds for histogram binning, equal-mass bins and frequencies, and the rows that they need.

It also has bounds for a model that abstains: thresholds from held-out scores, and rates on new rows (P4 eq. 2-7).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calib_core._base.distributions import beta, binom, norm
from calib_core._base.errors import InputError, as_share
from calib_core._base.notebook_display import OneLine


def balance(masses: ArrayLike) -> float:
    """Smallest a for which bins with these probabilities are a-well-balanced: 1 / (a B) <= P(bin) <= a / B.

    It is infinite if a bin has no mass. Give the bins' shares of *new* rows: the shares of the rows that set the bins
    are equal by construction.

    References: P2 Definition 4.2.

    >>> balance([0.5, 0.25, 0.25])
    1.5
    """
    m = np.asarray(masses, dtype=np.float64)
    m = m / m.sum() * len(m)
    return float("inf") if m.min() == 0 else float(max(m.max(), 1.0 / m.min()))


def well_balanced(masses: ArrayLike, factor: float = 2.0) -> bool:
    """Return True if a binning with these probabilities is 2-well-balanced (or ``factor``-well-balanced).

    References: P2 Definition 4.2; its Theorem 5.3 and 5.4 need factor 2.

    >>> well_balanced([0.5, 0.25, 0.25]), well_balanced([0.8, 0.1, 0.1])
    (True, False)
    """
    return balance(masses) <= factor * (1 + 1e-12)


def unbalanced_probability(rows: int, bins: int) -> float:
    """Upper bound on the probability that equal-mass bins set on this number of rows are not 2-well-balanced.

    P2 proves that it is at most delta if n >= c B log(B / delta), with an unspecified c. This bound has explicit
    constants and is exact for each bin. The mass of continuous scores between two thresholds is Beta(m, n + 1 - m), m
    the difference of their ranks. So P(fail) <= sum over bins of P(mass outside [1/(2B), 2/B]), limited to 1.

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
    """Rows for an ``unbalanced_probability`` of at most delta with this number of bins (to within 1 %).

    >>> rows = rows_for_balance(10, 0.05)
    >>> unbalanced_probability(rows, 10) <= 0.05, 150 < rows < 400
    (True, True)
    """
    n = max(bins, 2)
    while unbalanced_probability(n, bins) > delta:
        n = int(np.ceil(n * 1.01)) + 1
    return n


def fewest(enough: Callable[[int], bool], room: float, least: int = 2) -> int:
    """Smallest whole number that is sufficient, by doubling and bisection; ``room`` <= 0 means that none is.

    >>> fewest(lambda n: n * n >= 50, room=1.0)
    8
    """
    if room <= 0:
        raise ValueError("no number of rows is enough: the target bound must be larger than the randomization delta")
    low, high = least - 1, least
    while not enough(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def marginal_eps(points: int, alpha: float, delta: float = 0.0) -> float:
    """Maximum error of one new row's claim, with probability at least 1 - alpha.

    eps_1 = sqrt(log(2 / alpha) / (2 (k - 1))) + delta for k = ``points`` calibration rows per bin. The probability is
    over the calibration rows *and* the new row: among many new rows some may have a larger error.

    References: P1 eq. (10) and, class by class with alpha_l, eq. (15).

    >>> round(marginal_eps(50, 0.1), 4)  # sqrt(log(20) / 98)
    0.1748
    """
    _check(points, alpha)
    return float(np.sqrt(np.log(2.0 / alpha) / (2.0 * (points - 1)))) + delta


def conditional_eps(points: int, rows: int, alpha: float, delta: float = 0.0) -> float:
    """Maximum error of the claims of *all* bins, with probability at least 1 - alpha over the calibration rows.

    eps_2 = sqrt(log(2 n / (k alpha)) / (2 (k - 1))) + delta for n = ``rows`` and k = ``points`` per bin, from at most
    n / k bins. With the same probability the top-label ECE and MCE are at most eps_2.

    References: P1 eq. (10), Theorem 1 and Remark 3.

    >>> round(conditional_eps(50, 5000, 0.1), 4)  # sqrt(log(2000) / 98)
    0.2785
    """
    _check(points, alpha)
    return simultaneous_eps(points, rows / points, alpha, delta)


def simultaneous_eps(points: int, bins: float, alpha: float, delta: float = 0.0) -> float:
    """Like ``conditional_eps``, for a known number of bins: sqrt(log(2 B / alpha) / (2 (k - 1))) + delta.

    References: P1 Appendix H.2 (before n / k replaces B), after Gupta & Ramdas 2021, Theorem 4.

    >>> simultaneous_eps(50, 100, 0.1) == conditional_eps(50, 5000, 0.1)
    True
    """
    _check(points, alpha)
    return float(np.sqrt(np.log(2.0 * bins / alpha) / (2.0 * (points - 1)))) + delta


def expected_ece(points: int, delta: float = 0.0) -> float:
    """Upper bound on the mean ECE over calibration sets: sqrt(1 / (2 k)) + delta.

    References: P1 Theorem 1 (top-label) and Theorem 2 (b) (class-wise).

    >>> expected_ece(50)
    0.1
    """
    _check(points, 0.5)
    return float(np.sqrt(1.0 / (2.0 * points))) + delta


@dataclass(frozen=True, eq=False, repr=False)
class ClassWiseBounds(OneLine):
    """Bounds of P1 Theorem 2: per class ``marginal`` and ``conditional`` eps; ``ece`` bounds CW-ECE at ``level``.

    ``expected`` bounds the mean of CW-ECE over calibration rows.
    """

    marginal: tuple[float, ...]
    conditional: tuple[float, ...]
    level: float
    ece: float
    expected: float


def class_wise_bounds(points: Sequence[int], rows: int, alphas: Sequence[float], delta: float = 0.0) -> ClassWiseBounds:
    """Bounds for class-wise histogram binning, with k_l points per bin and failure probability alpha_l per class l.

    eps_l(1) = sqrt(log(2/alpha_l) / (2(k_l - 1))) + delta; eps_l(2) = sqrt(log(2n/(k_l alpha_l)) / (2(k_l - 1)))
    + delta; CW-ECE <= max_l eps_l(2) with probability 1 - sum_l alpha_l; E[CW-ECE] <= max_l sqrt(1/(2 k_l)) + delta.

    References: P1 Theorem 2, eq. (15).

    >>> bounds = class_wise_bounds([50, 50], 5000, [0.05, 0.05])
    >>> bounds.level, round(bounds.ece, 4), bounds.expected  # sqrt(log(4000) / 98)
    (0.9, 0.2909, 0.1)
    """
    conditional = tuple(conditional_eps(k, rows, a, delta) for k, a in zip(points, alphas, strict=True))
    return ClassWiseBounds(
        tuple(marginal_eps(k, a, delta) for k, a in zip(points, alphas, strict=True)),
        conditional,
        1.0 - float(np.sum(alphas)),
        max(conditional),
        max(expected_ece(k, delta) for k in points),
    )


def points_for_marginal(eps: float, alpha: float, delta: float = 0.0) -> int:
    """Fewest points per bin for a ``marginal_eps`` of at most eps.

    >>> points_for_marginal(0.1, 0.1)  # 1 + log(20) / .02 = 150.8
    151
    """
    return fewest(lambda k: marginal_eps(k, alpha, delta) <= eps, eps - delta)


def points_for_conditional(eps: float, rows: int, alpha: float, delta: float = 0.0) -> int:
    """Fewest points per bin, with ``rows`` in all, for a ``conditional_eps`` of at most eps.

    >>> points_for_conditional(0.1, 5000, 0.1)
    293
    """
    return fewest(lambda k: conditional_eps(k, rows, alpha, delta) <= eps, eps - delta)


def points_for_expected(eps: float, delta: float = 0.0) -> int:
    """Fewest points per bin for an ``expected_ece`` of at most eps.

    >>> points_for_expected(0.1)
    50
    """
    return fewest(lambda k: expected_ece(k, delta) <= eps, eps - delta)


def rows_per_class(points: int, bins: int = 1) -> int:
    """Calibration rows that a class needs: number of bins times points per bin.

    These are rows *predicted* as the class for top-label binning, and all rows for class-wise binning.

    >>> rows_per_class(151, bins=2)
    302
    """
    return points * bins


def _check(points: int, alpha: float) -> None:
    if points < 2:
        raise ValueError(f"points is {points}; a bound needs at least 2 points per bin")
    as_share(alpha, "alpha")


def bretagnolle_huber_carol_eps(rows: int, classes: int, alpha: float) -> float:
    """Maximum L1 distance of class frequencies from the truth, with probability at least 1 - alpha.

    For the frequencies f of K classes among n independent labels of mean distribution pi, P(||f - pi||_1 >= eps) <= 2^K
    exp(-n eps^2 / 2). So eps = sqrt((2 / n) (K ln 2 + ln(1 / alpha))). Above 2 it has no content.

    References: Bretagnolle, Huber & Carol (van der Vaart & Wellner 1996, Prop. A.6.6); Podkopaev & Ramdas 2021, Thm 3.

    >>> round(bretagnolle_huber_carol_eps(200, 3, 0.1), 4)  # sqrt(.01 (3 ln 2 + ln 10))
    0.2093
    """
    return _l1_eps(rows, classes * math.log(2.0), alpha)


def weissman_eps(rows: int, classes: int, alpha: float) -> float:
    """Tighter version of ``bretagnolle_huber_carol_eps``: sqrt((2 / n) ln((2^K - 2) / alpha)).

    ||f - pi||_1 = 2 max_A (f(A) - pi(A)) over the 2^K - 2 sets A of classes other than the empty and the full one. By
    Hoeffding, each exceeds eps / 2 with probability at most exp(-n eps^2 / 2), even if the labels differ in
    distribution.

    References: Weissman, Ordentlich, Seroussi, Verdu & Weinberger 2003, Theorem 2.1 with phi = 2.

    >>> round(weissman_eps(200, 3, 0.1), 4), round(weissman_eps(200, 2, 0.1), 4)  # sqrt(.01 ln 60), sqrt(.01 ln 20)
    (0.2023, 0.1731)
    """
    return _l1_eps(rows, classes * math.log(2.0) + math.log1p(-(2.0 ** (1 - classes))), alpha)


def cell_eps(rows: int, classes: int, alpha: float, cells: int = 1) -> float:
    """Smaller of both bounds on ||f - pi||_1 for a cell with this number of rows, for ``cells`` cells at once.

    Each cell gets alpha / cells (union bound); the result is at most 2, which is always valid.

    >>> cell_eps(200, 3, 0.1) == weissman_eps(200, 3, 0.1), cell_eps(1, 3, 0.1)
    (True, 2.0)
    """
    each = alpha / cells
    return min(2.0, weissman_eps(rows, classes, each), bretagnolle_huber_carol_eps(rows, classes, each))


def rows_for_cell(eps: float, classes: int, alpha: float, cells: int = 1) -> int:
    """Fewest rows of a cell for a ``cell_eps`` of at most eps.

    >>> rows_for_cell(0.1, 3, 0.1)  # 200 ln 60 = 818.9
    819
    """
    return fewest(lambda n: cell_eps(n, classes, alpha, cells) <= eps, eps, least=1)


def _l1_eps(rows: float, log_sets: float, alpha: float) -> float:
    as_share(alpha, "alpha")
    if rows <= 0:
        raise InputError(f"rows is {rows}; it must be greater than 0")
    return math.sqrt(2.0 / rows * (log_sets - math.log(alpha)))


def paper_rank(held_out: int, alpha: float) -> int:
    """Rank of P4's order statistic: v = ceil((n1 + 1)(1 - alpha)); n1 + 1 means that all rows are answered.

    >>> paper_rank(200, 0.05)
    191
    """
    return int(np.ceil((held_out + 1) * (1.0 - alpha) * (1 - 1e-14)))


def exceed_probability(held_out: int, rank: int, alpha: float) -> float:
    """Probability that the miscoverage F0 exceeds alpha with the rank-th of n1 held-out scores as threshold.

    P(F0 > alpha) = sum_{j >= v} C(n1, j) (1 - alpha)^j alpha^(n1 - j), exact for scores without ties (with ties it is a
    bound). For the paper's v it is below one half: .14 to .49 with 20 to 500 rows and alpha from .01 to .2, depending
    on the ceiling.

    References: P4 eq. (5), after Tong et al. 2018.

    >>> round(exceed_probability(200, 191, 0.05), 3), round(exceed_probability(200, 196, 0.05), 3)
    (0.455, 0.026)
    """
    return float(binom.sf(rank - 1, held_out, 1.0 - alpha))


def guaranteed_rank(held_out: int, alpha: float, risk: float) -> int | None:
    """Smallest v with ``exceed_probability`` at most ``risk``; None if even the largest score is not sufficient.

    >>> guaranteed_rank(200, 0.05, 0.05), guaranteed_rank(58, 0.05, 0.05), guaranteed_rank(59, 0.05, 0.05)
    (196, None, 59)
    """
    if exceed_probability(held_out, held_out, alpha) > risk:
        return None
    ranks = np.arange(1, held_out + 1)
    return int(ranks[binom.sf(ranks - 1, held_out, 1.0 - alpha) <= risk][0])


def rows_for_miscoverage(alpha: float, risk: float) -> int:
    """Fewest held-out correct rows with a ``guaranteed_rank``: (1 - alpha)^n1 <= risk.

    >>> rows_for_miscoverage(0.05, 0.05)
    59
    """
    return fewest(lambda n: (1.0 - alpha) ** n <= risk, alpha, least=1)


def accuracy_lower_bound(correct: int, answered: int, risk: float) -> float:
    """Clopper-Pearson lower bound of the accuracy, at level 1 - risk; 0 if no row is correct.

    >>> round(accuracy_lower_bound(99, 99, 0.05), 4)  # .05 ** (1 / 99)
    0.9702
    """
    return 0.0 if correct == 0 else float(beta.ppf(risk, correct, answered - correct + 1))


def rows_for_accuracy(accuracy: float, risk: float) -> int:
    """Fewest answered rows, all correct, whose Clopper-Pearson bound reaches this accuracy: accuracy^n <= risk.

    >>> rows_for_accuracy(0.97, 0.05)
    99
    """
    return fewest(lambda n: accuracy**n <= risk, 1.0 - accuracy, least=1)


def deviation_probability(delta: float, rate: float, rows: int) -> float:
    """Bound of P4 on P(|empirical - true rate| >= delta) for this number of rows.

    2 exp(-m delta^2 / (2 r (1 - r))), at most 1. The rate r is the miscoverage F0 with m the correct rows (eq. 4), or
    the target coverage accuracy beta with m the answered rows (eq. 7). What can mislead: it is a normal approximation,
    not a distribution-free bound. Further, eq. 7 assumes that the true coverage accuracy *is* beta, which a finite
    calibration set does not guarantee.

    References: P4 eq. (4) and (7).

    >>> round(deviation_probability(0.02, 0.05, 1000), 4)  # 2 exp(-.4 / .095)
    0.0297
    """
    if rate in (0.0, 1.0):
        return 0.0
    return float(min(1.0, 2.0 * np.exp(-rows * delta**2 / (2.0 * rate * (1.0 - rate)))))


def likely_deviation(level: float, rate: float, rows: int) -> float:
    """Delta with a ``deviation_probability`` of 1 - level: half the width of the expected band on test rows.

    >>> round(deviation_probability(likely_deviation(0.9, 0.05, 1000), 0.05, 1000), 12)
    0.1
    """
    return float(np.sqrt(2.0 * rate * (1.0 - rate) * np.log(2.0 / (1.0 - level)) / rows))


def normal_deviation(level: float, rate: float, rows: int) -> float:
    """Deviation by the normal distribution (middle of eq. 4 and 7), smaller than ``likely_deviation``.

    >>> normal_deviation(0.9, 0.05, 1000) < likely_deviation(0.9, 0.05, 1000)
    True
    """
    return float(norm.ppf(0.5 + level / 2.0) * np.sqrt(rate * (1.0 - rate) / rows))


def worst_ece_at_least(accuracy: float, n_classes: int, false_alarms: float = 0.0, missed: float = 1.0) -> float:
    """Lower limit of the binned confidence ECE for *some* binning, with any accuracy-preserving map.

    (1 - a) / K without abstentions (the default: eq. 2). For Meta-Cal it is w (1 - a) / K with w = (1 - R0) a + R1 (1 -
    a). R0 = ``false_alarms`` is the share of correct rows withheld, R1 = ``missed`` the share of incorrect rows
    answered.

    References: P4 eq. (2) and (6), Propositions 2 and 8.

    >>> round(worst_ece_at_least(0.9, 10), 4), round(worst_ece_at_least(0.9, 10, 0.1, 0.4), 4)
    (0.01, 0.0085)
    """
    share = (1.0 - false_alarms) * accuracy + missed * (1.0 - accuracy)
    return share * (1.0 - accuracy) / n_classes
