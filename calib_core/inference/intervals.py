"""Intervals for an estimate: the tested default, the bootstrap forms, and exact ones per bin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import beta, norm

from calib_core._arrays import Bools, Float64s
from calib_core.binning import BinTable
from calib_core.claims import ColumnClaims, FlatClaims
from calib_core.estimators import Accuracy, Binned, Brier, DebiasedECE, DebiasedL2, LogLoss
from calib_core.estimators.base import Question
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

Method = Literal["default", "percentile", "pivotal"]


@dataclass(frozen=True)
class Interval:
    """A range for the true value: ``low`` and ``high``, at ``level``, by ``method``.

    ``tested`` tells whether this library's coverage table (or a proof) covers the case; ``sentence`` is for the screen.
    """

    low: float
    high: float
    level: float
    method: str
    tested: bool

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
    error by Clopper-Pearson bounds that hold for all cells at once, means of rows (log loss, Brier score, accuracy) by
    the percentile bootstrap, anything else by the pivotal bootstrap; neither is in the coverage table.
    ``percentile`` and ``pivotal`` ask for the bootstrap forms of any estimate: of plug-in and debiased binned errors
    they do not cover.

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
    made = _of_bins(question, level, random_state) if question.reduction is not None else None
    if made is not None:
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
    if method == "percentile":
        return Interval(*percentile(draws, level), level, "percentile bootstrap", False)
    value = question.answer(question.predictions).value
    return Interval(*pivotal(value, draws, level), level, "pivotal bootstrap", False)


def _target(estimator: object) -> tuple[int | str, Callable[[float], float]] | None:
    """Which binned error the estimator is about, and the scale it reports it on."""
    if isinstance(estimator, Binned):
        return estimator.order, float
    if isinstance(estimator, DebiasedECE):
        return 1, float
    if isinstance(estimator, DebiasedL2):
        return 2, float if estimator.root else lambda theta: theta * theta
    return None


def _of_bins(question: Question, level: float, random_state: int) -> Interval | None:
    target = _target(question.estimator)
    claims = question.claims
    if target is None or not isinstance(claims, (FlatClaims, ColumnClaims)):
        return None
    order, scale = target
    counted = of_counts(Binned(question.estimator.binning), claims)
    assert counted is not None
    table = counted.table
    held = (table.count > 0) & (table.weight > 0)
    gaps = _gaps(table, held, claims.weights)
    if order == "max":
        low, high = _largest(gaps, level)
        return Interval(low, high, level, "simultaneous Clopper-Pearson, conservative", True)
    rng = np.random.default_rng(np.random.SeedSequence(random_state))
    power = int(order)
    if isinstance(claims, FlatClaims) and question.ranks == 1:
        noise = rng.standard_normal((draws_for(len(gaps.rows)), len(gaps.rows)))
        null = binomial_null(gaps, power, rng, 1000)
    else:
        sums = _row_sums(claims, table, question.ranks)
        normal = rng.standard_normal((sums.rows, 1000))
        noise, null = sums.noise(normal)[:, held], None
    ends = inverted(gaps, power, level, noise, null)
    if power == 1 and float(gaps.rows.mean()) < LEAST_ROWS:
        method = "test inversion, upper end only: bins hold too few rows for a lower one"
        return Interval(0.0, scale(ends[1]), level, method, claims.weights is None)
    method = "test inversion, bins and predictions given"
    # The coverage table has no case of weights.
    return Interval(scale(ends[0]), scale(ends[1]), level, method, claims.weights is None)


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
