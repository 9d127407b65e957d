"""Bins of a binned error's interval: the estimator's own, or groups of rows, and their size."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from calib_core._base.arrays import Codes, Float64s
from calib_core.binning.base import cuts, of_interval
from calib_core.binning.bin_table import BinTable, tabulate, tabulate_at
from calib_core.binning.groups import Groups, variance_codes
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import Question, error_scale, traits
from calib_core.estimators.binned import Binned
from calib_core.estimators.debiased import worth
from calib_core.inference.intervals.inversion import (
    NO_ERRORS,
    RICH,
    CellGaps,
    Noise,
    absolute_high,
    highs_reaching,
)
from calib_core.inference.intervals.simulated_domain import Facts
from calib_core.inference.noise.redrawn_errors import of_counts
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.validation import whole
from calib_core.reductions.base import REDUCTIONS

BUDGET = 1.5
"""Most that the typical upper end over groups may be, as a multiple of that over the bins of all classes together."""
_DRAWS, _ERRORS = 5, 500
_STEP = 2.0**0.5


def group_variance(fine: BinTable, worth: Float64s, *, own: bool) -> float | None:
    """Smallest sum of s (1 - s) that groups of these bins should have; None if the bins themselves are sufficient.

    ``fine`` are bins of equal edges in every class, ``worth`` (classes, bins) their effective sample sizes.
    Candidates are 10, 14, 20, 28, ... (steps of sqrt 2). The result is the first that keeps the upper end over groups
    typically at most ``BUDGET`` times that over the bins of all classes combined. Both ends are those of a calibrated
    model. Here "typically" means the median over five drawn outcomes, the same for all. So the interval's width falls
    with the rows like that of the confidence error, and groups become as fine as the rows allow. ``own``: try the bins
    themselves first. From ten on, groups contain enough outcomes for a normal law (``CellGaps.rich``).

    What can mislead: the median of five draws is off by a few percent, so an adjacent size may be chosen. The size
    depends on scores and a seed, never on outcomes.
    """
    filled = worth > 0
    rows, score = worth[filled], fine.mean_score[filled]
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(5,)))
    drawn = rng.binomial(
        np.maximum(np.round(rows), 1.0).astype(np.int64), np.clip(score, 0.0, 1.0), (_DRAWS, len(rows))
    )
    outcome = drawn / np.maximum(np.round(rows), 1.0)

    def pooled(codes: Codes) -> _Pooled:
        return _pooled(rows, score, outcome, codes[filled])

    limit = BUDGET * pooled(np.broadcast_to(np.arange(worth.shape[1]), worth.shape)).middle()
    if own and pooled(np.arange(worth.size).reshape(worth.shape)).within(limit):
        return None
    for variance, codes in _sizes(fine):
        if pooled(codes).within(limit):
            return variance
    return variance


def _sizes(fine: BinTable) -> Iterator[tuple[float, Codes]]:
    """Sizes from the least on, up to that which leaves one group."""
    variance = RICH
    while True:
        codes = variance_codes(fine, variance)
        yield variance, codes
        if codes.max() == 0:
            return
        variance *= _STEP


@dataclass(frozen=True, eq=False)
class _Pooled:
    """Pooled cells with each of the drawn outcomes, and the normal errors of their upper ends."""

    drawn: list[tuple[CellGaps, Noise]]
    errors: Float64s

    def middle(self) -> float:
        """The median upper end."""
        return float(np.median([absolute_high(cells, noise, LEVEL, self.errors) for cells, noise in self.drawn]))

    def within(self, limit: float) -> bool:
        """True if the median upper end is at most the limit: faster, as no end is computed that is not close to it."""
        above = float(np.nextafter(limit, np.inf))
        return 2 * highs_reaching(self.drawn, LEVEL, self.errors, above) < len(self.drawn)


def _pooled(rows: Float64s, score: Float64s, outcome: Float64s, codes: Codes) -> _Pooled:
    """Cells pooled by ``codes`` (cells,), with mean outcomes (draws, cells)."""
    _, place = np.unique(codes, return_inverse=True)
    count = np.bincount(place, rows).astype(np.float64)
    weight, claimed = count / count.sum(), np.bincount(place, rows * score) / count
    came = [np.bincount(place, rows * each) / count for each in outcome]
    rich = CellGaps(weight, count, claimed, claimed).rich
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(6,)))
    errors = rng.standard_normal((_ERRORS, len(count))) if rich else NO_ERRORS
    return _Pooled([(CellGaps(weight, count, z, claimed), _noise(count, z, claimed)) for z in came], errors)


def _noise(rows: Float64s, outcome: Float64s, score: Float64s) -> Noise:
    """Noise of cells whose rows have the same score."""
    residual = float((rows * (outcome * np.square(1.0 - score) + (1.0 - outcome) * np.square(score))).sum())
    return Noise(1.0 / float(rows.sum()), residual, float((rows * outcome * (1.0 - outcome)).sum()))


OF_BINS = "bins"
"""The order of the largest error of a bin over its classes."""

TOP_LABEL = "top-label"
"""The notion whose classes are judged one by one by one claim a row."""

FEW_ROWS = 20
"""Smallest number of rows that a cell should have."""
FEW_VARIANCE = 5.0
"""Effective number of rows where every row has a claim about every class: the sum of s (1 - s)."""
SPARSE_SHARE = 0.1
"""Share of the rows in cells of too few from which on cells count as sparse."""
_FEWEST_GROUPS = 2


def target(estimator: object) -> tuple[int | str, Callable[[float], float]] | None:
    """Order of the binned error that the estimator is about, and the scale on which it is reported."""
    if traits(estimator).judged != "bins":
        return None
    scale = error_scale(estimator)
    return scale.order, (lambda theta: theta * theta) if scale.squared else float


def facts_of(question: Question) -> Facts:
    """Properties, other than its cells, that decide whether a case was simulated."""
    rows = question.predictions.answered
    entry = None if question.reduction is None else REDUCTIONS.find(question.reduction)
    worth = rows.effective_rows
    n = int(worth) if whole(rows.weights) else rows.n_rows
    return Facts(None if entry is None else entry.key, rows.kind, rows.n_classes or 2, n, worth)


def is_sparse(table: BinTable, rows: Float64s, *, same_rows: bool) -> bool:
    """True if more than one in ten rows are in cells with too few rows; known from scores only."""
    if same_rows:
        mass = rows * np.nan_to_num(table.mean_score * (1.0 - table.mean_score))
        few = mass < FEW_VARIANCE
    else:
        mass, few = rows, rows < FEW_ROWS
    return bool(mass[few].sum() > SPARSE_SHARE * mass.sum())


def has_sparse_bins(question: Question) -> bool:
    """True if the estimator's own bins are sparse (``is_sparse``)."""
    claims = question.claims
    counted = of_counts(Binned(question.estimator.binning), claims)
    assert counted is not None
    return is_sparse(counted.table, worth(claims, counted.table), same_rows=claims.same_rows)


def judged_bins(question: Question) -> Question:
    """Return the question in the bins its interval is about: its own, or groups of enough rows if those are sparse.

    Bins that were requested are never changed; groups are chosen from the scores, never from outcomes. If every row
    makes claims about every class, only squared errors are grouped. Intervals of absolute ones are valid in sparse
    cells too, and over pooled classes these errors cancel. An excess in one class is a deficit in another, so a single
    group would show no error at all.

    Absolute errors of predicted classes (top-label) are judged in groups by variance (``group_variance``). The bins
    themselves are used if they have enough rows and are as informative. The width of the interval then falls with the
    number of rows.
    """
    of = target(question.estimator)
    # Bins that classes share cannot be joined class by class.
    if not question.free or of is None or of[0] == OF_BINS:
        return question
    claims, scheme = question.claims, cuts(question.estimator.binning)
    if question.whole or not of_interval(scheme) or scheme.pools:
        return question
    if claims.same_rows and of[0] != 2:
        return question
    sparse = has_sparse_bins(question)
    if of[0] == 1 and facts_of(question).notion == TOP_LABEL:
        chosen = _by_variance(question, own=not sparse)
        return question if chosen is None else replace(question, estimator=replace(question.estimator, binning=chosen))
    if not sparse:
        return question
    if claims.same_rows and np.count_nonzero(tabulate(claims, [Groups()])[0].count) < _FEWEST_GROUPS:
        return question
    return replace(question, estimator=replace(question.estimator, binning=Groups()))


_CHOSEN: WeakKeyDictionary[Predictions, dict[Hashable, Groups | None]] = WeakKeyDictionary()
"""Cache of groups, which are needed often: they depend only on predictions and bins."""


def _by_variance(question: Question, *, own: bool) -> Groups | None:
    """The groups that classes are judged in, None for the bins themselves."""
    kept = _CHOSEN.setdefault(question.predictions, {})
    key = (question.reduction, question.estimator.binning)
    if key not in kept:
        claims, plain = question.claims, Groups()
        fine = tabulate_at(claims, EqualWidth(plain.bins).fixed_edges())
        variance = group_variance(fine, worth(claims, fine), own=own)
        kept[key] = None if variance is None else replace(plain, variance=variance)
    return kept[key]
