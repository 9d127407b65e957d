"""What a model that abstains can promise: thresholds from held-out scores, and rates of new rows (P4 eq. 2-7)."""

from __future__ import annotations

import numpy as np

from calib_core._base.distributions import beta, binom, norm
from calib_core.guarantees.bounds import fewest


def paper_rank(held_out: int, alpha: float) -> int:
    """P4's order statistic: v = ceil((n1 + 1)(1 - alpha)); n1 + 1 says that none is needed, all rows are answered.

    >>> paper_rank(200, 0.05)
    191
    """
    return int(np.ceil((held_out + 1) * (1.0 - alpha) * (1 - 1e-14)))


def exceed_probability(held_out: int, rank: int, alpha: float) -> float:
    """P(F0 > alpha): how often the miscoverage is above alpha when the threshold is the rank-th of n1 held-out scores.

    sum_{j >= v} C(n1, j) (1 - alpha)^j alpha^(n1 - j), exact for scores without ties (with ties it is a bound). For the
    paper's v it is below one half: .14 to .49 with 20 to 500 rows and alpha from .01 to .2, by how the ceiling falls.

    References: P4 eq. (5), after Tong et al. 2018.

    >>> round(exceed_probability(200, 191, 0.05), 3), round(exceed_probability(200, 196, 0.05), 3)
    (0.455, 0.026)
    """
    return float(binom.sf(rank - 1, held_out, 1.0 - alpha))


def guaranteed_rank(held_out: int, alpha: float, risk: float) -> int | None:
    """Smallest v with ``exceed_probability`` at most ``risk``; None when even the largest score is not enough.

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
    """Clopper-Pearson: the accuracy is above this with probability at least 1 - risk; 0 when none was right.

    >>> round(accuracy_lower_bound(99, 99, 0.05), 4)  # .05 ** (1 / 99)
    0.9702
    """
    return 0.0 if correct == 0 else float(beta.ppf(risk, correct, answered - correct + 1))


def rows_for_accuracy(accuracy: float, risk: float) -> int:
    """Fewest answered rows, all right, whose Clopper-Pearson bound reaches this accuracy: accuracy^n <= risk.

    >>> rows_for_accuracy(0.97, 0.05)
    99
    """
    return fewest(lambda n: accuracy**n <= risk, 1.0 - accuracy, least=1)


def deviation_probability(delta: float, rate: float, rows: int) -> float:
    """P4's bound on P(|empirical - true rate| >= delta) among so many rows.

    2 exp(-m delta^2 / (2 r (1 - r))), at most 1. The rate r is the miscoverage F0 with m the correct rows (eq. 4), or
    the wanted coverage accuracy beta with m the answered rows (eq. 7). What can mislead: it is a normal approximation,
    not a distribution-free bound, and eq. 7 takes for granted that the true coverage accuracy *is* beta, of which a
    finite calibration set gives no assurance.

    References: P4 eq. (4) and (7).

    >>> round(deviation_probability(0.02, 0.05, 1000), 4)  # 2 exp(-.4 / .095)
    0.0297
    """
    if rate in (0.0, 1.0):
        return 0.0
    return float(min(1.0, 2.0 * np.exp(-rows * delta**2 / (2.0 * rate * (1.0 - rate)))))


def likely_deviation(level: float, rate: float, rows: int) -> float:
    """The delta for which ``deviation_probability`` is 1 - level: half the width of the band to expect on test rows.

    >>> round(deviation_probability(likely_deviation(0.9, 0.05, 1000), 0.05, 1000), 12)
    0.1
    """
    return float(np.sqrt(2.0 * rate * (1.0 - rate) * np.log(2.0 / (1.0 - level)) / rows))


def normal_deviation(level: float, rate: float, rows: int) -> float:
    """The middle of eq. (4) and (7): what the normal law itself gives, smaller than ``likely_deviation``.

    >>> normal_deviation(0.9, 0.05, 1000) < likely_deviation(0.9, 0.05, 1000)
    True
    """
    return float(norm.ppf(0.5 + level / 2.0) * np.sqrt(rate * (1.0 - rate) / rows))


def worst_ece_at_least(accuracy: float, n_classes: int, false_alarms: float = 0.0, missed: float = 1.0) -> float:
    """The binned confidence ECE is above this for *some* binning, whatever accuracy-preserving map is used.

    (1 - a) / K without abstentions (the default: eq. 2); w (1 - a) / K with w = (1 - R0) a + R1 (1 - a) for Meta-Cal,
    R0 = ``false_alarms`` the share of correct rows it withholds, R1 = ``missed`` the share of wrong ones it answers.

    References: P4 eq. (2) and (6), Propositions 2 and 8.

    >>> round(worst_ece_at_least(0.9, 10), 4), round(worst_ece_at_least(0.9, 10, 0.1, 0.4), 4)
    (0.01, 0.0085)
    """
    share = (1.0 - false_alarms) * accuracy + missed * (1.0 - accuracy)
    return share * (1.0 - accuracy) / n_classes
