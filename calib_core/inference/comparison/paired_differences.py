"""Paired differences of two models' errors, from residuals in the cells of both or from separate intervals."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from calib_core._base.arrays import Bools, Codes, Float64s, content_bits
from calib_core._base.distributions import norm
from calib_core._base.errors import NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import cuts
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.claims.exact_sums import Tally
from calib_core.estimators.base import Question, error_scale
from calib_core.inference.intervals.binned_errors import CANCELLING, SIMILAR
from calib_core.inference.intervals.bins_of_interval import target
from calib_core.inference.intervals.clustered_rows import groups_of
from calib_core.inference.intervals.elementary import beyond
from calib_core.inference.intervals.error_hierarchy import Chain
from calib_core.inference.intervals.interval_methods import interval
from calib_core.reductions.base import REDUCTIONS
from calib_core.results.uncertainty import Interval
from calib_core.text import at_level, chance

FOLDS = 5
"""Parts of the rows; a part's signs come from the others."""
FEWEST_SURPRISES = 10.0
"""Sum of squared residuals below which the normal law is not trusted and bounds from counts are given."""
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Residuals:
    """One model on its cells: outcome minus score of each row, in [-1, 1], and the cell it counts in, both (n,)."""

    values: Float64s
    cell: Codes

    @cached_property
    def rows(self) -> Codes:
        """Rows of each cell."""
        return np.bincount(self.cell)

    @cached_property
    def judged(self) -> Bools:
        """Mask (n,) of rows that share their cell with another; the noise of a single row cannot be estimated."""
        return np.asarray(self.rows[self.cell] >= 2)

    @property
    def cells(self) -> int:
        """Number of cells with two rows or more."""
        return int((self.rows >= 2).sum())

    @property
    def surprises(self) -> float:
        """Sum of the squared residuals: the number of outcomes against the predictions, weighted by size."""
        return float(np.square(self.values).sum())

    def sums(self, values: Float64s) -> Float64s:
        return np.bincount(self.cell, values, len(self.rows)).astype(np.float64, copy=False)

    def reordered(self, order: Codes) -> Residuals:
        return Residuals(self.values[order], self.cell[order])


@dataclass(frozen=True)
class Difference:
    """``point``, between ``low`` and ``high``, and the p-value of no difference."""

    point: float
    low: float
    high: float
    p_value: float


def squared_difference(a: Residuals, b: Residuals, level: float) -> Difference:
    """Interval for the squared error of a less that of b, each over its own cells of two rows or more.

    For each model, r are the residuals. Cell c of n_c rows has S_c, their sum, and q_c, the sum of their squares. The
    total number of rows is M:

        Q = sum_c (S_c^2 - q_c) / (n_c - 1) / M             unbiased: products of different rows only
        psi_i = 2 r_i (S_c - r_i) / ((n_c - 1) M)            contribution of row i
        H = sum_c (q_c^2 - sum r^4) / (n_c - 1)^2 / M^2      variance from pairs of rows

    The difference on N rows is D = Q_a - Q_b, with psi = psi_a - psi_b and H = H_a + H_b - 2 C. Over pairs that share
    both models' cells, C is the same sum of r_a,i r_b,i r_a,j r_b,j. Then

        V = max(0, sum psi^2 - 4 H - 4 D^2 / N) + 2 H
        ends D -+ z sqrt(V), p = 2 Phi(-|D| / sqrt(V))

    Given the rows, Q estimates sum_c sum_{i != j} d_i d_j / (n_c - 1) / M with true errors d. That is the squared
    error of cells for rows like these, minus the part that the errors of these few rows happen not to cancel. Cells
    must not depend on outcomes. What can mislead: the normal approximation needs outcomes against the predictions;
    with fewer than ``FEWEST_SURPRISES`` see ``outer_difference``.
    """
    first, second = _Pairs(a), _Pairs(b)
    point = first.square - second.square
    joint = np.unique(a.cell * len(b.rows) + b.cell, return_inverse=True)[1]
    shared = first.root * second.root
    common = float(np.square(np.bincount(joint, shared)).sum() - np.square(shared).sum())
    pairs = max(first.pairs + second.pairs - 2.0 * common, 0.0)
    rows = float(np.square(first.share - second.share).sum())
    spread = float(np.sqrt(max(rows - 4.0 * pairs - 4.0 * point**2 / len(a.values), 0.0) + 2.0 * pairs))
    half = float(norm.isf((1.0 - level) / 2)) * spread
    p = 2.0 * float(ndtr(-abs(point) / spread)) if spread > 0 else float(abs(point) <= _NOTHING)
    return Difference(point, point - half, point + half, p)


class _Pairs:
    """Square, shares of rows and pair part of the variance of one model, and r / sqrt((n_c - 1) M) of each row."""

    def __init__(self, model: Residuals) -> None:
        r, cell = model.values, model.cell
        judged = float(model.judged.sum())
        others = np.maximum(model.rows - 1.0, 1.0) * judged
        total, squares, fourth = model.sums(r), model.sums(r**2), model.sums(r**4)
        # In a cell of one row all of these are 0: the row has no partner.
        self.square = float(((total**2 - squares) / others).sum())
        self.share = 2.0 * r * (total[cell] - r) / others[cell]
        self.pairs = float((np.maximum(squares**2 - fourth, 0.0) / others**2).sum())
        self.root = np.where(model.judged, r / np.sqrt(others[cell]), 0.0)


def absolute_difference(a: Residuals, b: Residuals, level: float, random_state: int) -> Difference:
    """Interval for the ECE of a less that of b, each over its own cells.

    Rows are divided into five folds. The sign sigma_i is that of the sum of r_a in i's cell over the other folds. The
    sign tau_i is that of the sum of r_b in i's cell over all rows, and e_i = sigma_i r_a,i - tau_i r_b,i. The lower end
    is mean(e) - z sd(e) / sqrt(N). Signs estimated without row i give at most the error of a on average; signs
    estimated with all rows give at least that of b. The upper end is that of b less a, negated. p is twice the smaller
    of the two ends' one-sided p-values. ``point`` is the middle of the two means.

    Folds depend on the contents of rows, ``random_state`` and the outcomes, but not on the order of rows or of
    models. What can mislead: the interval is wide if there are many cells, because signs of noise cancel.
    """
    first, second = content_bits(a.values), content_bits(b.values)
    if np.sort(first).tobytes() > np.sort(second).tobytes():
        swapped = absolute_difference(b, a, level, random_state)
        return Difference(-swapped.point, -swapped.high, -swapped.low, swapped.p_value)
    order = np.lexsort((b.values, a.values, second, first, b.cell, a.cell))
    a, b = a.reordered(order), b.reordered(order)
    # Rows that are alike are put by their outcomes: only a deal that no outcome can foresee keeps folds independent.
    seed = zlib.crc32(np.stack([first, second])[:, order].tobytes())
    fold = np.random.default_rng([random_state, seed]).permutation(len(order)) % FOLDS
    low_mean, low_error = _aligned(a, b, fold)
    high_mean, high_error = _aligned(b, a, fold)
    z = float(norm.isf((1.0 - level) / 2))
    tails = [_tail(low_mean, low_error), _tail(high_mean, high_error)]
    low, high = low_mean - z * low_error, -high_mean + z * high_error
    return Difference((low_mean - high_mean) / 2, low, high, min(1.0, 2.0 * min(tails)))


def _aligned(a: Residuals, b: Residuals, fold: Codes) -> tuple[float, float]:
    """Mean and its standard error of a's residuals by signs of other folds less b's by signs of all."""
    cells = len(a.rows)
    part = np.bincount(fold * cells + a.cell, a.values, FOLDS * cells).reshape(FOLDS, cells)
    rest = part.sum(axis=0) - part
    e = _sign(rest)[fold, a.cell] * a.values - _sign(b.sums(b.values))[b.cell] * b.values
    return float(e.mean()), float(e.std(ddof=1) / np.sqrt(len(e)))


def _sign(values: Float64s) -> Float64s:
    """-1, 0 or 1, with sums that are 0 but for rounding counted as 0."""
    return np.where(np.abs(values) <= _NOTHING, 0.0, np.sign(values))


def _tail(mean: float, error: float) -> float:
    return float(ndtr(-mean / error)) if error > 0 else float(mean <= _NOTHING)


def outer_difference(a: Residuals, b: Residuals, point: float, level: float) -> Difference:
    """Bounds for a difference of errors if too few outcomes went against the predictions for a normal law.

    Each error, absolute or squared, is between 0 and T + X(B) / M. Here T is the model's ECE over the M judged rows,
    and B is the sum of their squared residuals. So the difference is between minus one bound and the other. p is 1
    because these bounds always include 0: they never separate two models.
    """
    low, high = -_upper(b, level), _upper(a, level)
    return Difference(float(np.clip(point, low, high)), low, high, 1.0)


def _upper(model: Residuals, level: float) -> float:
    r, m = np.where(model.judged, model.values, 0.0), int(model.judged.sum())
    return min(1.0, (float(np.abs(model.sums(r)).sum()) + beyond(float(np.square(r).sum()), (1.0 - level) / 2)) / m)


@dataclass(frozen=True, repr=False)
class PairedDifference(OneLine):
    """Difference of two models' errors on the same rows, with its interval and the p-value of no difference.

    ``first`` and ``second`` are the two estimates, ``value`` their difference; it is below 0 if the first model's
    error is smaller. ``point`` is the estimate of the true difference and is inside the interval. Noise inflates
    plug-in errors, so they can differ by more. ``about`` describes the true difference; ``tested`` is true if
    simulations of this library, or a theorem, cover the case.
    """

    first: float
    second: float
    low: float
    high: float
    p_value: float
    level: float
    method: str
    tested: bool
    about: str
    point: float

    @classmethod
    def of(
        cls, values: tuple[float, float], difference: Difference, level: float, method: str, tested: bool, about: str
    ) -> PairedDifference:
        """Create the difference from two estimates and the estimate of their difference."""
        ends = (difference.low, difference.high, difference.p_value)
        return cls(*values, *ends, level, method, tested, about, difference.point)

    @classmethod
    def of_same_claims(cls, values: tuple[float, float], level: float) -> PairedDifference:
        """Models that make the same claims do not differ."""
        nothing, about = Difference(0.0, 0.0, 0.0, 1.0), "no difference: the same claims"
        return cls.of(values, nothing, level, "the same claims", True, about)

    @property
    def value(self) -> float:
        return self.first - self.second

    def _line(self) -> str:
        trust = "" if self.tested else ", a rough guide"
        ends = f"{self.low:.4f} to {self.high:.4f} at {at_level(self.level)}"
        return f"{self.point:.4f}, {ends}, {chance(self.p_value)}{trust}"

    def _facts(self) -> dict[str, object]:
        return {"first": f"{self.first:.4f}", "second": f"{self.second:.4f}", "less": self.sentence}

    @property
    def sentence(self) -> str:
        """The numbers and their uncertainty."""
        trust = "" if self.tested else ", coverage not tested: a rough guide"
        return (
            f"Difference {self.point:.4f}, {at_level(self.level)} interval {self.low:.4f} to {self.high:.4f}, "
            f"{chance(self.p_value)} ({self.method}{trust}): {self.about}"
        )


LADDER = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Possible p-values from comparing two intervals: the smallest of these at which they separate."""


def of_intervals(
    questions: tuple[Question, Question], level: float, random_state: int, *, same_rows: bool = True
) -> PairedDifference:
    """Compare two errors by each model's own interval at level 1 - (1 - level) / 2.

    The result is valid whatever rows the two models share. ``same_rows``: the rows are known to be the same.
    """
    first, second = (q.answer(q.predictions).value for q in questions)
    if same_rows and questions[0].claims.alike(questions[1].claims):
        return PairedDifference.of_same_claims((first, second), level)
    intervals = [_intervals(q, random_state) for q in questions]

    def ends(alpha: float) -> tuple[float, float, bool]:
        """The extremes of the difference at level 1 - alpha, and whether both intervals are tested."""
        mine, theirs = (each(1 - alpha / 2) for each in intervals)
        return mine.low - theirs.high, mine.high - theirs.low, mine.tested and theirs.tested

    low, high, tested = ends(1 - level)
    point = float(np.clip(first - second, low, high))
    difference = Difference(point, low, high, _parts_at(ends))
    whatever = "" if same_rows else ", for any overlap of rows"
    method = f"extremes of both models' own intervals{whatever}, conservative"
    about = "the difference of the two true errors, each as in its own interval"
    return PairedDifference.of((first, second), difference, level, method, tested, about)


def _intervals(question: Question, random_state: int) -> Callable[[float], Interval]:
    """Return a function from level to the model's own interval; steps that do not depend on the level run once."""
    if target(question.estimator) is not None and not question.whole and groups_of(question) is None:
        lines = Chain.of(question, random_state)
        return lambda level: lines.interval(question.estimator, level)
    return lambda level: interval(question, level, random_state)


def _parts_at(ends: Callable[[float], tuple[float, float, bool]]) -> float:
    """The smallest alpha of the ladder whose interval leaves 0 out, 1 where none does; by bisection."""
    low, high = 0, len(LADDER)
    while low < high:
        middle = (low + high) // 2
        least, most, _ = ends(LADDER[middle])
        low, high = (low, middle) if least > 0 or most < 0 else (middle + 1, high)
    return LADDER[low] if low < len(LADDER) else 1.0


BinsOf = Literal["each", "first", "second"]
"""Cells of the rows: each model's own, or one model's for both."""


@dataclass(frozen=True)
class PairedDomain:
    """Cases in which simulations confirmed the coverage of intervals; outside, they are a rough guide.

    All conditions apply at once. ``classes`` and ``rows`` are the smallest and largest numbers, and ``cell_rows`` is
    the smallest mean number of rows per judged cell. ``share`` is the smallest share of rows judged, and ``level`` the
    smallest and largest level.
    """

    notions: tuple[str, ...]
    classes: tuple[int, int]
    rows: tuple[int, int]
    cell_rows: float
    share: float
    level: tuple[float, float]

    def covers(self, notion: str, classes: int, rows: int, cell_rows: float, share: float, level: float) -> bool:
        """Return whether a case is inside."""
        ranges = ((self.classes, classes), (self.rows, rows), (self.level, level))
        inside = all(least <= value <= most for (least, most), value in ranges)
        return inside and notion in self.notions and cell_rows >= self.cell_rows and share >= self.share


SIMULATED = PairedDomain(("confidence", "top-label"), (1, 100), (300, 100_000), 20.0, 0.9, (0.9, 0.95))
"""Cases simulated by tests/simulations/paired_coverage.py; its results are in ``paired.csv`` (``paired_table``)."""


def in_cells(question: Question) -> bool:
    """True if every row makes one claim and counts as one, and the error is computed from residuals in cells."""
    claims, about = question.claims, target(question.estimator)
    single = not question.whole and claims.one_a_row(question.ranks) and claims.weights is None
    return single and about is not None and (about[0] == 1 or error_scale(question.estimator).squared)


def of_cells(
    questions: tuple[Question, Question], bins_of: BinsOf, level: float, random_state: int
) -> PairedDifference:
    """Two errors compared by the residuals of every row under both models, in the cells of both."""
    order = 2 if error_scale(questions[0].estimator).squared else 1
    tables = _tables(questions, bins_of)
    values = (_value(questions[0], tables[0]), _value(questions[1], tables[1]))
    if questions[0].claims.alike(questions[1].claims):
        return PairedDifference.of_same_claims(values, level)
    placed = {"each": questions, "first": questions[:1] * 2, "second": questions[1:] * 2}[bins_of]
    cells = [t.cells(q.claims.scores, q.claims.codes) for q, t in zip(placed, tables, strict=True)]
    first, second = (
        Residuals(q.claims.outcomes - q.claims.scores.astype(np.float64), np.unique(cell, return_inverse=True)[1])
        for q, cell in zip(questions, cells, strict=True)
    )
    judged = [float(m.judged.mean()) for m in (first, second)]
    if min(judged) == 0:
        raise NotAnswerable(
            "every bin has only one row, so error and noise cannot be separated; use fewer bins, or groups"
        )
    few = min(first.surprises, second.surprises) < FEWEST_SURPRISES
    if few and bins_of == "each":
        return of_intervals(questions, level, random_state)  # each holds where few outcomes went against the claims
    if order == 2:
        difference, method = squared_difference(first, second, level), "pairs of rows in both models' bins"
    else:
        difference, method = absolute_difference(first, second, level, random_state), "signs from other rows"
    if few or difference.low == difference.high:
        difference = outer_difference(first, second, difference.point, level)
        method = "bounds from few outcomes, conservative"
    notion = REDUCTIONS.recipe(questions[0].reduction).key
    rows_a_cell = min(j * len(m.cell) / m.cells for j, m in zip(judged, (first, second), strict=True))
    classes = max(len(np.unique(q.claims.codes)) for q in questions)
    tested = SIMULATED.covers(notion, classes, len(first.cell), rows_a_cell, min(judged), level)
    alone = int((~(first.judged & second.judged)).sum()) if order == 2 else 0
    where = _where(questions[0].estimator.binning, bins_of, (first.cells, second.cells), alone)
    about = f"the difference of mean {'squared' if order == 2 else 'absolute'} errors {where}"
    return PairedDifference.of(values, difference, level, method, tested, about)


def _tables(questions: tuple[Question, Question], bins_of: BinsOf) -> tuple[BinTable, BinTable]:
    """The table of each model, or of both models' claims in one model's cells."""
    first, second = (tabulate(q.claims, [q.estimator.binning])[0] for q in questions)
    if bins_of == "each":
        return first, second
    if not np.array_equal(questions[0].claims.outcomes, questions[1].claims.outcomes):
        raise NotAnswerable("the two models predict different classes, so bins of one model cannot be used for both")
    table, source, moved = (first, *questions) if bins_of == "first" else (second, *questions[::-1])
    cell = table.cells(source.claims.scores, source.claims.codes)
    score = np.bincount(cell, moved.claims.scores, table.count.size).reshape(table.count.shape).astype(np.float64)
    shared = replace(table, tally=Tally(table.tally.count, score, table.tally.outcome))
    return (table, shared) if bins_of == "first" else (shared, table)


def _value(question: Question, table: BinTable) -> float:
    """The estimate of claims counted into this table."""
    return float(question.estimator.of_outcomes(table, table.tally.outcome[None])[0])


def _where(binning: Any, bins_of: BinsOf, cells: tuple[int, int], alone: int) -> str:
    """Over which bins errors are compared, in words."""
    number = f"{cells[0]}" if bins_of != "each" or cells[0] == cells[1] else f"{cells[0]} and {cells[1]}"
    if cuts(binning).pools:
        what = f"over {number} groups of at least {binning.rows} rows {SIMILAR}{CANCELLING}"
    else:
        what = f"in {number} bins" if number == f"{cells[0]}" else f"in each model's own bins ({number})"
        what += ", one per value" if cuts(binning).one_a_value else ""
    whose = "" if bins_of == "each" else f", those of the {bins_of} model"
    single = "1 row without another in its bin is" if alone == 1 else f"{alone} rows without another in their bin are"
    left_out = f"; {single} left out" if alone else ""
    return what + whose + left_out
