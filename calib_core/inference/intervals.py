"""Intervals for an estimate: the tested default, the bootstrap forms, and exact ones per bin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.stats import beta, norm

from calib_core._arrays import Bools, Float64s
from calib_core.binning import BinTable
from calib_core.claims import ColumnClaims, FlatClaims, VectorClaims
from calib_core.estimators import Accuracy, Binned, Brier, DebiasedECE, DebiasedL2, KernelCalibrationError, LogLoss
from calib_core.estimators.base import Question
from calib_core.inference import means, pairs, simplex, wild
from calib_core.inference.cells import CellSums, column_sums, listed_sums
from calib_core.inference.counted import of_counts
from calib_core.inference.inversion import CellGaps, binomial_null, draws_for, inverted
from calib_core.inference.resampling import bootstrap
from calib_core.registry import RegistryError

LEAST_ROWS = 5
"""Rows per non-empty cell, on average, below which nothing is claimed from below about a mean absolute error.

With cells of one or two rows (100 top labels and 1,000 rows) noise fills every cell, and a lower end would be too high
where the error sits in few of them: it held the truth in .60 of runs. The lower end is then 0.
"""

SIMULATED_CLASSES = 3
"""Most classes of a canonical error whose interval is called tested: as many as the coverage table has.

With 10 classes (4 truths, 11 Sierpinski cells, 2,000 rows, 200 runs each) the interval of the L1 error covered, that of
the L2 error held the truth in .845 of the runs where the top probability was 0.05 too high: a rough guide.
"""

IN_BINS = "the error in these bins, given these predictions"
"""What intervals of binned errors are about."""
NOISELESS = "this estimator's noiseless value, given these predictions"
"""What intervals of kernel, smooth, convex, swept and cumulative errors are about."""
OF_ROWS = "the expected score of rows like these"
"""What intervals of scores are about."""

Method = Literal["default", "percentile", "pivotal"]


@dataclass(frozen=True)
class Interval:
    """A range for the true value: ``low`` and ``high``, at ``level``, by ``method``.

    ``about`` says what the true value is, ``point`` is the estimate of it that lies in the interval: where its law puts
    half its mass, or the nearest such. ``tested`` tells whether this library's coverage table (or a proof) covers the
    case; ``sentence`` is for the screen.
    """

    low: float
    high: float
    level: float
    method: str
    tested: bool
    about: str
    point: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def sentence(self) -> str:
        """What the two numbers say, and how sure that is."""
        trust = "its coverage is tested" if self.tested else "its coverage is not tested here: read it as a rough guide"
        return f"{self.level:.0%} interval {self.low:.4f} to {self.high:.4f} ({self.method}; {trust})"


def interval(question: Question, level: float = 0.9, random_state: int = 0, method: Method = "default") -> Interval:
    """Where the true value lies with this confidence, given the predictions.

    Default by what is estimated: binned errors (ECE, RMSCE and their debiased forms) by test inversion, the largest
    error by Clopper-Pearson (canonical: multinomial) bounds that hold for all cells at once, errors that are a norm of
    the residuals (kernel, smooth, convex, swept, cumulative) by what a norm can gain from noise, the squared kernel
    error by test inversion or from its blocks, means of rows (log loss, Brier score, accuracy) by the percentile
    bootstrap. All but the last are in the coverage table (canonical: three classes) or have a proof; what is left over
    has the pivotal bootstrap and says that it is untested. ``percentile`` and ``pivotal`` ask for the bootstrap forms
    of any estimate: of plug-in and debiased binned errors they do not cover.

    >>> from calib_core import Predictions, estimate
    >>> p = Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)
    >>> got = interval(estimate(p).question)
    >>> 0.3 in got, 0.1 in got, got.tested
    (True, False, True)
    """
    if not 0 < level < 1:
        raise RegistryError(f"level is {level}; it must lie between 0 and 1, both excluded")
    question = question.written_out
    if method != "default":
        return _bootstrapped(question, level, random_state, method)
    if (mean := means.of_mean(question, level)) is not None:
        value = question.answer(question.predictions).value
        return _around(value, (mean.low, mean.high), level, mean.method, mean.tested, mean.about)
    for form in (_of_bins, _of_cells, _of_norms, _of_pairs) if question.reduction is not None else ():
        if (made := form(question, level, random_state)) is not None:
            return made
    rows = isinstance(question.estimator, (LogLoss, Brier, Accuracy))
    return _bootstrapped(question, level, random_state, "percentile" if rows else "pivotal")


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


def wilson(positives: Float64s, rows: Float64s, level: float = 0.9) -> tuple[Float64s, Float64s]:
    """Wilson score intervals for shares positives / rows, elementwise; NaN where there are no rows.

    (k + z^2/2 +- z sqrt(k (n - k)/n + z^2/4)) / (n + z^2), z the normal (1 + level)/2 point. In [0, 1], not centred.

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


def clopper_pearson(positives: Float64s, rows: Float64s, level: float = 0.9) -> tuple[Float64s, Float64s]:
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


# -- the default, in order of use -----------------------------------------------------------------------------


def _bootstrapped(question: Question, level: float, random_state: int, method: str) -> Interval:
    draws = bootstrap(question, random_state=random_state)
    about = OF_ROWS if question.reduction is None else NOISELESS
    value = question.answer(question.predictions).value
    if method == "percentile":
        return _around(value, percentile(draws, level), level, "percentile bootstrap", False, about)
    return _around(value, pivotal(value, draws, level), level, "pivotal bootstrap", False, about)


def _around(
    value: float, ends: tuple[float, float], level: float, method: str, tested: bool, about: str = IN_BINS
) -> Interval:
    """The interval with these ends whose point is the value, or the end nearest to it."""
    low, high = ends
    return Interval(low, high, level, method, tested, about, min(max(value, low), high))


def target(estimator: object) -> tuple[int | str, Callable[[float], float]] | None:
    """Which binned error the estimator is about, and the scale it reports it on."""
    if isinstance(estimator, Binned):
        return estimator.order, float
    if isinstance(estimator, DebiasedECE):
        return 1, float
    if isinstance(estimator, DebiasedL2):
        return 2, float if estimator.root else lambda theta: theta * theta
    return None


def _of_bins(question: Question, level: float, random_state: int) -> Interval | None:
    if target(question.estimator) is None or not isinstance(question.claims, (FlatClaims, ColumnClaims)):
        return None
    return InBins(question, random_state).interval(question.estimator, level)


def _of_cells(question: Question, level: float, random_state: int) -> Interval | None:
    cells, about = simplex.in_cells([question.estimator], question.claims), target(question.estimator)
    if cells is None or about is None:
        return None
    order, scale = about
    low, high = simplex.bounds(cells, order, level, random_state)
    value = question.answer(question.predictions).value
    if order == "max":
        method = "multinomial bounds for all cells at once, conservative"
        return _around(value, (low, high), level, method, True)
    if order == 1 and float(cells.worth.mean()) < LEAST_ROWS:
        method = "test inversion, upper end only: cells hold too few rows for a lower one"
        return _around(value, (0.0, scale(high)), level, method, False)
    # The coverage table has no case of weights, nor of more classes.
    tested = question.claims.weights is None and len(question.claims.class_names) <= SIMULATED_CLASSES
    return _around(value, (scale(low), scale(high)), level, "test inversion", tested)


class InBins:
    """Intervals of all errors in the same bins of the same claims: the rows' noise and the ends are made once.

    ``question`` is about an estimator that has a binning, with whole-number weights written out.
    """

    def __init__(self, question: Question, random_state: int) -> None:
        self._claims, self._ranks = question.claims, question.ranks
        counted = of_counts(Binned(question.estimator.binning), question.claims)
        assert counted is not None
        self._table = counted.table
        self._held = (self._table.count > 0) & (self._table.weight > 0)
        self._gaps = _gaps(self._table, self._held, self._claims.weights)
        self._rng = np.random.default_rng(np.random.SeedSequence(random_state))
        self._ends: dict[tuple[int, float], tuple[float, float]] = {}

    def interval(self, estimator: object, level: float) -> Interval:
        """The interval of one estimator that reads these bins."""
        about = target(estimator)
        assert about is not None
        order, scale = about
        value = self._value(estimator)
        if order == "max":
            return _around(
                value, _largest(self._gaps, level), level, "simultaneous Clopper-Pearson, conservative", True
            )
        low, high = self._inverted(int(order), level)
        # The coverage table has no case of weights.
        tested = self._claims.weights is None
        if order == 1 and float(self._gaps.rows.mean()) < LEAST_ROWS:
            method = "test inversion, upper end only: bins hold too few rows for a lower one"
            return _around(value, (0.0, scale(high)), level, method, tested)
        return _around(value, (scale(low), scale(high)), level, "test inversion", tested)

    def _value(self, estimator: Any) -> float:
        return float(estimator(self._claims).value)

    def _inverted(self, order: int, level: float) -> tuple[float, float]:
        if (order, level) not in self._ends:
            noise = self._noise
            null = self._null**order @ self._gaps.weight if self._disjoint else None
            self._ends[order, level] = inverted(self._gaps, order, level, noise, null)
        return self._ends[order, level]

    @property
    def _disjoint(self) -> bool:
        """Does every row make one claim?"""
        return isinstance(self._claims, FlatClaims) and self._ranks == 1

    @cached_property
    def _null(self) -> Float64s:
        return binomial_null(self._gaps, self._rng, 1000)

    @cached_property
    def _noise(self) -> Float64s:
        cells = len(self._gaps.rows)
        if self._disjoint:
            return self._rng.standard_normal((draws_for(cells), cells))
        sums = _row_sums(self._claims, self._table, self._ranks)
        return sums.noise(self._rng.standard_normal((sums.rows, 1000)))[:, self._held]


def _of_norms(question: Question, level: float, random_state: int) -> Interval | None:
    claims = question.claims
    if not isinstance(claims, (FlatClaims, ColumnClaims)):
        return None
    made = question.answer(question.predictions)
    ends = wild.bounds(question.estimator, claims, made, question.ranks, level, random_state)
    if ends is None:
        return None
    return _around(made.value, ends, level, "bounds for a norm of residuals", claims.weights is None, NOISELESS)


def _of_pairs(question: Question, level: float, random_state: int) -> Interval | None:
    if not isinstance(question.estimator, KernelCalibrationError):
        return None
    claims, value = question.claims, question.answer(question.predictions).value
    if isinstance(claims, VectorClaims):
        ends = pairs.of_blocks(question.estimator, claims, level)
        return _around(value, ends, level, "independent blocks of rows", claims.weights is None, NOISELESS)
    ends = pairs.inverted_pairs(question.estimator, claims, question.ranks, level, random_state)
    return _around(value, ends, level, "test inversion", claims.weights is None, NOISELESS)


def _row_sums(claims: FlatClaims | ColumnClaims, table: BinTable, ranks: int) -> CellSums:
    return column_sums(claims, table) if isinstance(claims, ColumnClaims) else listed_sums(claims, table, ranks)


def _gaps(table: BinTable, held: Bools, weights: Float64s | None) -> CellGaps:
    rows = table.count[held]
    if weights is not None:
        # Kish: rows of unequal weight are worth (sum w)^2 / sum w^2 equal ones, here over all cells alike.
        rows = rows * weights.sum() / np.square(weights).sum()
    return CellGaps(table.weight[held], rows, table.mean_outcome[held], table.mean_score[held])


def _largest(gaps: CellGaps, level: float) -> tuple[float, float]:
    """Bounds for the largest gap: all cells' bounds hold at once, whatever their dependence (Bonferroni)."""
    low, high = clopper_pearson(gaps.outcome * gaps.rows, gaps.rows, 1 - (1 - level) / len(gaps.rows))
    least = np.maximum(np.maximum(low - gaps.score, gaps.score - high), 0.0)
    most = np.maximum(high - gaps.score, gaps.score - low)
    return float(least.max()), float(min(most.max(), 1.0))
