"""Which binned error a question is about, and the bins its interval is about: its own, or groups of enough rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from calib_core._arrays import Float64s
from calib_core._checks import whole
from calib_core.binning import BinTable, Groups, cuts, group_codes, of_interval, tabulate
from calib_core.estimators import Binned, traits
from calib_core.estimators.base import Question, error_scale
from calib_core.estimators.debiased import worth
from calib_core.inference.counted import of_counts
from calib_core.inference.domain import Facts
from calib_core.inference.inversion import CellGaps
from calib_core.reductions import REDUCTIONS
from calib_core.tallies import Tally

OF_BINS = "bins"
"""The order of the largest error of a bin over its classes."""

FEW_ROWS = 20
"""Rows a cell should hold."""
FEW_VARIANCE = 5.0
"""What takes the place of rows where every row speaks of every class: the sum of s (1 - s)."""
SPARSE_SHARE = 0.1
"""Share of the rows in cells of too few from which on cells count as sparse."""
_FEWEST_GROUPS = 2


def target(estimator: object) -> tuple[int | str, Callable[[float], float]] | None:
    """Which binned error the estimator is about, and the scale it reports it on."""
    if traits(estimator).judged != "bins":
        return None
    scale = error_scale(estimator)
    return scale.order, (lambda theta: theta * theta) if scale.squared else float


def facts_of(question: Question) -> Facts:
    """What decides whether a case is one that was simulated, but for its cells."""
    rows = question.predictions.answered
    entry = None if question.reduction is None else REDUCTIONS.find(question.reduction)
    worth = rows.effective_rows
    n = int(worth) if whole(rows.weights) else rows.n_rows
    return Facts(None if entry is None else entry.key, rows.kind, rows.n_classes or 2, n, worth)


def is_sparse(table: BinTable, rows: Float64s, *, same_rows: bool) -> bool:
    """Do more than one in ten rows lie in cells that hold too few to say something? Known from scores alone."""
    if same_rows:
        mass = rows * np.nan_to_num(table.mean_score * (1.0 - table.mean_score))
        few = mass < FEW_VARIANCE
    else:
        mass, few = rows, rows < FEW_ROWS
    return bool(mass[few].sum() > SPARSE_SHARE * mass.sum())


def judged_bins(question: Question) -> Question:
    """The question in the bins its interval is about: its own, or groups of enough rows where its own are sparse.

    Bins that were asked for always stay; groups are chosen from the scores, never from outcomes. Where every row speaks
    of every class only squared errors are grouped: absolute ones hold in sparse cells too, and over pooled classes they
    cancel, since what one class gets too much another gets too little; a single group would show no error at all.
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
    counted = of_counts(Binned(question.estimator.binning), claims)
    assert counted is not None
    if not is_sparse(counted.table, worth(claims, counted.table), same_rows=claims.same_rows):
        return question
    if claims.same_rows and np.count_nonzero(tabulate(claims, [Groups()])[0].count) < _FEWEST_GROUPS:
        return question
    return replace(question, estimator=replace(question.estimator, binning=Groups()))


def cells_with(gaps: CellGaps, fine: BinTable | None, factor: float) -> CellGaps:
    """The cells that so many times the rows would be judged in; ``fine``, the bins that groups are made of, if any."""
    if fine is None:
        return replace(gaps, rows=gaps.rows * factor)
    tally = fine.tally
    more = replace(fine, tally=Tally(tally.count * factor, tally.score * factor, tally.outcome * factor))
    sparse = is_sparse(more, more.count, same_rows=False)
    codes = group_codes(more) if sparse else np.arange(more.count.size).reshape(more.count.shape)
    weight, count, score, outcome = (
        np.bincount(codes.ravel(), part.ravel()).astype(np.float64)
        for part in (more.weight, more.count, more.tally.score, more.tally.outcome)
    )
    full = count > 0
    return CellGaps(weight[full], count[full], outcome[full] / count[full], score[full] / count[full])
