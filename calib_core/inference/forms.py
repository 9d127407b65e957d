"""Which interval an estimate has: the tested default of its kind, or a bootstrap form that is asked for."""

from __future__ import annotations

from typing import Literal

from calib_core.claims import ColumnClaims, FlatClaims, VectorClaims
from calib_core.estimators import Accuracy, Brier, KernelCalibrationError, LogLoss
from calib_core.estimators.base import Question
from calib_core.inference import kernel_intervals, simplex, wild
from calib_core.inference.in_bins import InBins, target
from calib_core.inference.intervals import NOISELESS, OF_ROWS, Interval, around, percentile, pivotal
from calib_core.inference.resampling import bootstrap
from calib_core.registry import RegistryError

LEAST_ROWS = 5
"""Rows per non-empty cell of the simplex, on average, below which nothing is claimed from below about an L1 error."""

SIMULATED_CLASSES = 3
"""Most classes of a canonical error whose interval is called tested: as many as the coverage table has.

With 10 classes (4 truths, 11 Sierpinski cells, 2,000 rows, 200 runs each) the interval of the L1 error covered, that of
the L2 error held the truth in .845 of the runs where the top probability was 0.05 too high: a rough guide.
"""

Method = Literal["default", "percentile", "pivotal"]


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
    for form in (_of_bins, _of_cells, _of_norms, _of_pairs) if question.reduction is not None else ():
        if (made := form(question, level, random_state)) is not None:
            return made
    rows = isinstance(question.estimator, (LogLoss, Brier, Accuracy))
    return _bootstrapped(question, level, random_state, "percentile" if rows else "pivotal")


# -- the default, in order of use -----------------------------------------------------------------------------


def _bootstrapped(question: Question, level: float, random_state: int, method: str) -> Interval:
    draws = bootstrap(question, random_state=random_state)
    about = OF_ROWS if question.reduction is None else NOISELESS
    value = question.answer(question.predictions).value
    if method == "percentile":
        return around(value, percentile(draws, level), level, "percentile bootstrap", False, about)
    return around(value, pivotal(value, draws, level), level, "pivotal bootstrap", False, about)


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
        return around(value, (low, high), level, method, True)
    if order == 1 and float(cells.worth.mean()) < LEAST_ROWS:
        method = "test inversion, upper end only: cells hold too few rows for a lower one"
        return around(value, (0.0, scale(high)), level, method, False)
    # The coverage table has no case of weights, nor of more classes.
    tested = question.claims.weights is None and len(question.claims.class_names) <= SIMULATED_CLASSES
    return around(value, (scale(low), scale(high)), level, "test inversion", tested)


def _of_norms(question: Question, level: float, random_state: int) -> Interval | None:
    claims = question.claims
    if not isinstance(claims, (FlatClaims, ColumnClaims)):
        return None
    made = question.answer(question.predictions)
    ends = wild.bounds(question.estimator, claims, made, question.ranks, level, random_state)
    if ends is None:
        return None
    return around(made.value, ends, level, "bounds for a norm of residuals", claims.weights is None, NOISELESS)


def _of_pairs(question: Question, level: float, random_state: int) -> Interval | None:
    if not isinstance(question.estimator, KernelCalibrationError):
        return None
    claims, value = question.claims, question.answer(question.predictions).value
    if isinstance(claims, VectorClaims):
        ends = kernel_intervals.of_blocks(question.estimator.blocks(claims), level)
        return ends and around(value, ends, level, "independent blocks of rows", claims.weights is None, NOISELESS)
    ends = kernel_intervals.inverted_pairs(question.estimator, claims, question.ranks, level, random_state)
    return around(value, ends, level, "test inversion", claims.weights is None, NOISELESS)
