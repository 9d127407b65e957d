"""Bounds of histogram binning, and the points per bin they ask for (P1 Theorems 1 and 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib_core._base.arguments import as_share
from calib_core._base.notebook_display import OneLine
from calib_core.guarantees.sample_size import fewest


def marginal_eps(points: int, alpha: float, delta: float = 0.0) -> float:
    """How far one new row's claim can be off, with probability at least 1 - alpha.

    eps_1 = sqrt(log(2 / alpha) / (2 (k - 1))) + delta for k = ``points`` calibration rows per bin. The probability is
    over the calibration rows *and* the new row: among many new rows some may be further off.

    References: P1 eq. (10) and, class by class with alpha_l, eq. (15).

    >>> round(marginal_eps(50, 0.1), 4)  # sqrt(log(20) / 98)
    0.1748
    """
    _check(points, alpha)
    return float(np.sqrt(np.log(2.0 / alpha) / (2.0 * (points - 1)))) + delta


def conditional_eps(points: int, rows: int, alpha: float, delta: float = 0.0) -> float:
    """How far the claim of *any* bin can be off, with probability at least 1 - alpha over the calibration rows.

    eps_2 = sqrt(log(2 n / (k alpha)) / (2 (k - 1))) + delta for n = ``rows`` and k = ``points`` per bin, from at most
    n / k bins. With the same probability the top-label ECE and MCE are at most eps_2.

    References: P1 eq. (10), Theorem 1 and Remark 3.

    >>> round(conditional_eps(50, 5000, 0.1), 4)  # sqrt(log(2000) / 98)
    0.2785
    """
    return simultaneous_eps(points, rows / points, alpha, delta)


def simultaneous_eps(points: int, bins: float, alpha: float, delta: float = 0.0) -> float:
    """As ``conditional_eps``, for a known number of bins: sqrt(log(2 B / alpha) / (2 (k - 1))) + delta.

    References: P1 Appendix H.2 (before n / k replaces B), after Gupta & Ramdas 2021, Theorem 4.

    >>> simultaneous_eps(50, 100, 0.1) == conditional_eps(50, 5000, 0.1)
    True
    """
    _check(points, alpha)
    return float(np.sqrt(np.log(2.0 * bins / alpha) / (2.0 * (points - 1)))) + delta


def expected_ece(points: int, delta: float = 0.0) -> float:
    """Most that the ECE is on average over calibration rows: sqrt(1 / (2 k)) + delta.

    References: P1 Theorem 1 (top-label) and Theorem 2 (b) (class-wise).

    >>> expected_ece(50)
    0.1
    """
    _check(points, 0.5)
    return float(np.sqrt(1.0 / (2.0 * points))) + delta


@dataclass(frozen=True, eq=False, repr=False)
class ClassWiseBounds(OneLine):
    """P1 Theorem 2: per class ``marginal`` and ``conditional`` eps; ``ece`` bounds CW-ECE at ``level``.

    ``expected`` bounds the mean of CW-ECE over calibration rows.
    """

    marginal: tuple[float, ...]
    conditional: tuple[float, ...]
    level: float
    ece: float
    expected: float


def class_wise_bounds(points: Sequence[int], rows: int, alphas: Sequence[float], delta: float = 0.0) -> ClassWiseBounds:
    """The bounds of class-wise histogram binning, with k_l points per bin and failure alpha_l for each class l.

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
    """Fewest points per bin with ``marginal_eps`` at most eps.

    >>> points_for_marginal(0.1, 0.1)  # 1 + log(20) / .02 = 150.8
    151
    """
    return fewest(lambda k: marginal_eps(k, alpha, delta) <= eps, eps - delta)


def points_for_conditional(eps: float, rows: int, alpha: float, delta: float = 0.0) -> int:
    """Fewest points per bin, of ``rows`` in all, with ``conditional_eps`` at most eps.

    >>> points_for_conditional(0.1, 5000, 0.1)
    293
    """
    return fewest(lambda k: conditional_eps(k, rows, alpha, delta) <= eps, eps - delta)


def points_for_expected(eps: float, delta: float = 0.0) -> int:
    """Fewest points per bin with ``expected_ece`` at most eps.

    >>> points_for_expected(0.1)
    50
    """
    return fewest(lambda k: expected_ece(k, delta) <= eps, eps - delta)


def rows_per_class(points: int, bins: int = 1) -> int:
    """Calibration rows a class needs for so many bins of so many points: bins * points.

    Of rows *predicted* as the class for top-label binning, of all rows for class-wise binning.

    >>> rows_per_class(151, bins=2)
    302
    """
    return points * bins


def _check(points: int, alpha: float) -> None:
    if points < 2:
        raise ValueError(f"points is {points}; a bin needs at least 2 points for a bound")
    as_share(alpha, "alpha")
