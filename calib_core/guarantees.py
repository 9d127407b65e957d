"""What can be promised without assumptions on the data: distribution-free bounds, and the rows they ask for.

Formulas first (P1 Theorems 1 and 2, P2 Lemma 4.3, P4 eq. 4-7), each with its inverse; then `Promise`, what holds for
one fitted calibrator, in sentences for the screen. Calibrators say what they promise with ``guarantee(alpha)``.

References: P1 Gupta & Ramdas 2022; P2 Kumar, Liang & Ma 2019; P4 Ma & Blaschko 2021; Gupta & Ramdas 2021.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta, binom, norm

from calib_core._repr import OneLine

# -- histogram binning: P1 Theorems 1 and 2 -------------------------------------------------------------------


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
    return _least(lambda k: marginal_eps(k, alpha, delta) <= eps, eps - delta)


def points_for_conditional(eps: float, rows: int, alpha: float, delta: float = 0.0) -> int:
    """Fewest points per bin, of ``rows`` in all, with ``conditional_eps`` at most eps.

    >>> points_for_conditional(0.1, 5000, 0.1)
    293
    """
    return _least(lambda k: conditional_eps(k, rows, alpha, delta) <= eps, eps - delta)


def points_for_expected(eps: float, delta: float = 0.0) -> int:
    """Fewest points per bin with ``expected_ece`` at most eps.

    >>> points_for_expected(0.1)
    50
    """
    return _least(lambda k: expected_ece(k, delta) <= eps, eps - delta)


def rows_per_class(points: int, bins: int = 1) -> int:
    """Calibration rows a class needs for so many bins of so many points: bins * points.

    Of rows *predicted* as the class for top-label binning, of all rows for class-wise binning.

    >>> rows_per_class(151, bins=2)
    302
    """
    return points * bins


# -- frequencies of several classes: multinomial concentration ------------------------------------------------


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
    return _least(lambda n: cell_eps(n, classes, alpha, cells) <= eps, eps, least=1)


def _l1_eps(rows: float, log_sets: float, alpha: float) -> float:
    if rows <= 0 or not 0 < alpha < 1:
        raise ValueError(f"rows is {rows} and alpha {alpha}; rows must be above 0 and alpha between 0 and 1")
    return math.sqrt(2.0 / rows * (log_sets - math.log(alpha)))


# -- bins of nearly equal mass: P2 Definition 4.2 and Lemma 4.3 ----------------------------------------------


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


# -- Meta-Cal: P4 eq. 4-7 ---------------------------------------------------------------------------------------


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
    return _least(lambda n: (1.0 - alpha) ** n <= risk, alpha, least=1)


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
    return _least(lambda n: accuracy**n <= risk, 1.0 - accuracy, least=1)


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


# -- what holds for one fitted calibrator -----------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Bound(OneLine):
    """One promise: its kind, the number promised (eps, or a rate), its level (None: on average), the sentence."""

    kind: str
    eps: float
    level: float | None
    said: str


@dataclass(frozen=True, repr=False)
class Promise(OneLine):
    """What holds for a fitted calibrator: its bounds, what they leave out, and the sentence that says it all.

    No bounds means no guarantee, and ``said`` says why.
    """

    bounds: tuple[Bound, ...]
    said: str
    left_out: tuple[str, ...] = ()

    def _line(self) -> str:
        return self.said

    @property
    def holds(self) -> bool:
        return bool(self.bounds)

    def __getitem__(self, kind: str) -> Bound:
        """The bound of this kind."""
        return next(bound for bound in self.bounds if bound.kind == kind)


@dataclass(frozen=True)
class Cells:
    """What uniform-mass binning of one stratum leaves for its bound: rows n, bins B, fewest rows averaged in a bin.

    The theorem's k is ``points`` = fewest + 1: its proof averages k - 1 rows, those strictly between two thresholds.
    ``broken`` says in words why the theorem does not apply as it stands (weights; scores tied with a threshold).
    ``placing`` are rows beyond n that only placed the edges, as where scores tie.
    """

    rows: int
    bins: int
    fewest: int
    delta: float
    broken: str = ""
    placing: int = 0

    @property
    def points(self) -> int:
        return self.fewest + 1


NONE = Promise(
    (),
    "This method comes with no guarantee that holds whatever the data: judge it by its error on rows it has not seen.",
)


def no_promise(why: str) -> Promise:
    """A promise that makes none, and says why."""
    return Promise((), f"No distribution-free guarantee holds here: {why}.")


def binning_promise(
    cells: Sequence[Cells], alpha: float, notion: str, left_out: Sequence[str] = (), class_wise: bool = False
) -> Promise:
    """What histogram binning of these strata promises: Theorem 1 (``class_wise``: Theorem 2, alpha shared equally).

    Top-label and confidence strata are disjoint, so that a marginal bound needs no sharing of alpha among them; the
    classes of class-wise binning share all rows, so that each gets alpha / L. ``left_out`` names strata that were
    pooled or left alone: nothing is promised for them, nor for an average that includes them.

    References: P1 Theorem 1 and 2 with the constants of their proofs (Appendix H.2, H.4): the actual number of bins
    and the actual smallest number of points per bin in place of n / k and k.

    >>> print(binning_promise([Cells(500, 10, 49, 0.0)], 0.1, "confidence")["marginal"].said)
    With probability at least 90 %, a new row's confidence is within 0.175 of the truth it stands for.
    """
    broken = next((c.broken for c in cells if c.broken), "")
    if broken:
        return no_promise(broken)
    if not cells or min(c.points for c in cells) < 2:
        return no_promise("no stratum has two rows to a bin" if cells else "no class has enough rows for its own bins")
    delta = max(c.delta for c in cells)
    parts = len(cells) if class_wise else 1
    total = sum(c.bins for c in cells)
    each = max(simultaneous_eps(c.points, c.bins if class_wise else total, alpha / parts, delta) for c in cells)
    marginal = max(marginal_eps(c.points, alpha / parts, delta) for c in cells)
    # P1's proof bounds each stratum by sqrt(B / (2 n)), which is at most sqrt(1 / (2 k)), from bins equally filled.
    # Whatever their filling, a bin's mean of m outcomes is off by at most 1 / (2 sqrt(m)) on average.
    mean = max(max(np.sqrt(c.bins / (2.0 * c.rows)), 0.5 / np.sqrt(c.fewest)) for c in cells) + delta
    tied = any(c.placing for c in cells)
    bounds = _sentences(marginal, each, float(mean), 1.0 - alpha, notion, class_wise, bool(left_out), tied)
    return Promise(bounds, _summary(each, 1.0 - alpha, notion, left_out) + _rows_used(cells), tuple(left_out))


def _sentences(
    marginal: float, each: float, mean: float, level: float, notion: str, class_wise: bool, partial: bool, tied: bool
) -> tuple[Bound, ...]:
    whose = "the classes covered" if partial else "all classes" if notion != "confidence" else "all rows"
    sets = "that fill the bins as here" if tied else "of this size"
    sure = f"With probability at least {level * 100:.4g} %"
    new_row = "the probability of any class covered for a new row" if class_wise else "a new row's confidence"
    new_row += ", of a class covered," if partial and not class_wise else ""
    return (
        Bound("marginal", marginal, level, f"{sure}, {new_row} is within {marginal:.3f} of the truth it stands for."),
        Bound(
            "conditional",
            each,
            level,
            f"{sure} over the calibration rows, every value the method can return is within {each:.3f} of the truth, "
            f"and so is the {notion} calibration error (ECE and MCE) of {whose}.",
        ),
        Bound(
            "expected",
            mean,
            None,
            f"On average over calibration sets {sets}, the {notion} ECE of {whose} is at most {mean:.3f}.",
        ),
    )


def _summary(each: float, level: float, notion: str, left_out: Sequence[str]) -> str:
    sure = f"With probability at least {level * 100:.4g} % over the calibration rows, the {notion} ECE"
    if not left_out:
        return f"{sure} on new rows of the same kind is at most {each:.3f}."
    some = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
    many = f"{len(left_out)} class{'es' if len(left_out) > 1 else ''}"
    return (
        f"{sure} of the classes with enough rows of their own is at most {each:.3f} on new rows of the same kind; "
        f"nothing is promised for {many} with too few ({some})."
    )


def _rows_used(cells: Sequence[Cells]) -> str:
    """Where some rows only placed edges: how many are left to promise with."""
    if not any(c.placing for c in cells):
        return ""
    return (
        " Scores tie at the bins' edges, so that some of the calibration rows only place the edges: the promise rests "
        f"on the outcomes of the others, at least {min(c.fewest for c in cells)} in every bin."
    )


def simplex_promise(rows: ArrayLike, classes: int, alpha: float, names: Sequence[str]) -> Promise:
    """What class frequencies within cells promise of whole vectors: cells of ``rows`` (B,) labels, named.

    "marginal": the L1 distance of one new row's vector, in any cell, with alpha for each cell; "conditional": of all
    cells at once, alpha / B each. Cells in which the bound for all at once is 2 or more are left out by name.

    References: P1 Appendix G; `weissman_eps`.

    >>> simplex_promise([500, 400, 2], 3, 0.1, ["a", "b", "c"]).left_out
    ('c',)
    """
    n = np.asarray(rows)
    each = np.array([cell_eps(int(r), classes, alpha, len(n)) if r > 0 else 2.0 for r in n])
    covered = each < 2.0
    left_out = tuple(name for name, kept in zip(names, covered, strict=True) if not kept)
    if not covered.any():
        return no_promise(f"no cell holds enough calibration rows to bound the frequencies of {classes} classes")
    fewest = int(n[covered].min())
    every, single = float(each[covered].max()), cell_eps(fewest, classes, alpha)
    sure = f"With probability at least {(1.0 - alpha) * 100:.4g} %"
    whose = "cells with enough calibration rows" if left_out else "all cells that hold calibration rows"
    said = (
        f"{sure} over the calibration rows, the vectors returned in {whose} are all within {every:.3f} (sum of "
        "absolute differences) of the truth they stand for"
    )
    some = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
    rest = f"; nothing is promised for {len(left_out)} with too few ({some})" if left_out else ""
    new_row = f"{sure}, a new row's vector, in one of these cells, is within {single:.3f} of the truth it stands for."
    together = f"{said}, and so is the canonical error (ECE and MCE) there."
    bounds = (Bound("marginal", single, 1.0 - alpha, new_row), Bound("conditional", every, 1.0 - alpha, together))
    return Promise(bounds, f"{said}{rest}.", left_out)


def miscoverage_promise(held_out: int, exceed: float, alpha: float) -> Promise:
    """What Meta-Cal's threshold promises about the share of correct rows it withholds.

    >>> miscoverage_promise(200, 0.026, 0.05)["miscoverage"].level
    0.974
    """
    said = (
        f"With probability {(1 - exceed) * 100:.3g} % over the {held_out} rows held out, at most {alpha * 100:.4g} % "
        "of the predictions that were right are withheld."
    )
    return Promise((Bound("miscoverage", alpha, 1.0 - exceed, said),), said)


def coverage_accuracy_promise(accuracy: float, risk: float) -> Promise:
    """What fixed-sequence testing promises about the accuracy among the rows answered.

    Calibration rows on which no threshold passes are refused: nothing false is then said, and that counts as kept.
    Where the wanted accuracy is out of reach, all that is *not* refused, at most a share ``risk`` of draws, is false.

    >>> coverage_accuracy_promise(0.97, 0.05).holds
    True
    """
    said = (
        f"With probability at least {(1 - risk) * 100:.4g} % over the rows held out, refusals to fit counted as kept, "
        f"at least {accuracy * 100:.4g} % of the predictions answered are right."
    )
    return Promise((Bound("coverage-accuracy", accuracy, 1.0 - risk, said),), said)


def _check(points: int, alpha: float) -> None:
    if points < 2:
        raise ValueError(f"points is {points}; a bin needs at least 2 points for a bound")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}; it must lie between 0 and 1, both excluded")


def _least(enough: Callable[[int], bool], room: float, least: int = 2) -> int:
    """The smallest whole number that is enough, by doubling and halving; ``room`` <= 0 means none ever is."""
    if room <= 0:
        raise ValueError("no number of rows is enough: the wanted bound must be larger than the randomisation delta")
    low, high = least - 1, least
    while not enough(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
