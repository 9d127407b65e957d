"""How far frequencies of several classes can be from the truth: multinomial concentration."""

from __future__ import annotations

import math

from calib_core._base.arguments import as_share
from calib_core._base.errors import InputError
from calib_core.guarantees.sample_size import fewest


def bretagnolle_huber_carol_eps(rows: int, classes: int, alpha: float) -> float:
    """How far class frequencies can be from the truth in sum, with probability at least 1 - alpha.

    P(||f - pi||_1 >= eps) <= 2^K exp(-n eps^2 / 2) for the frequencies f of K classes among n independent labels of
    mean distribution pi, so eps = sqrt((2 / n) (K ln 2 + ln(1 / alpha))). Above 2 it says nothing.

    References: Bretagnolle, Huber & Carol (van der Vaart & Wellner 1996, Prop. A.6.6); Podkopaev & Ramdas 2021, Thm 3.

    >>> round(bretagnolle_huber_carol_eps(200, 3, 0.1), 4)  # sqrt(.01 (3 ln 2 + ln 10))
    0.2093
    """
    return _l1_eps(rows, classes * math.log(2.0), alpha)


def weissman_eps(rows: int, classes: int, alpha: float) -> float:
    """The same from the subsets of classes that matter: sqrt((2 / n) ln((2^K - 2) / alpha)), always the smaller one.

    ||f - pi||_1 = 2 max_A (f(A) - pi(A)) over the 2^K - 2 sets A of classes but none and all; each exceeds eps / 2 with
    probability at most exp(-n eps^2 / 2) by Hoeffding, whether or not the labels have one distribution.

    References: Weissman, Ordentlich, Seroussi, Verdu & Weinberger 2003, Theorem 2.1 with phi = 2.

    >>> round(weissman_eps(200, 3, 0.1), 4), round(weissman_eps(200, 2, 0.1), 4)  # sqrt(.01 ln 60), sqrt(.01 ln 20)
    (0.2023, 0.1731)
    """
    return _l1_eps(rows, classes * math.log(2.0) + math.log1p(-(2.0 ** (1 - classes))), alpha)


def cell_eps(rows: int, classes: int, alpha: float, cells: int = 1) -> float:
    """The better of the two bounds on ||f - pi||_1 for a cell of so many rows, for ``cells`` of them at once.

    Each cell is given alpha / cells (union bound); at most 2, which holds always.

    >>> cell_eps(200, 3, 0.1) == weissman_eps(200, 3, 0.1), cell_eps(1, 3, 0.1)
    (True, 2.0)
    """
    each = alpha / cells
    return min(2.0, weissman_eps(rows, classes, each), bretagnolle_huber_carol_eps(rows, classes, each))


def rows_for_cell(eps: float, classes: int, alpha: float, cells: int = 1) -> int:
    """Fewest rows of a cell with ``cell_eps`` at most eps.

    >>> rows_for_cell(0.1, 3, 0.1)  # 200 ln 60 = 818.9
    819
    """
    return fewest(lambda n: cell_eps(n, classes, alpha, cells) <= eps, eps, least=1)


def _l1_eps(rows: float, log_sets: float, alpha: float) -> float:
    as_share(alpha, "alpha")
    if rows <= 0:
        raise InputError(f"rows is {rows}; it must be above 0")
    return math.sqrt(2.0 / rows * (log_sets - math.log(alpha)))
