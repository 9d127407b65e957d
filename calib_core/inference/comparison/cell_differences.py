"""How far two models' errors in bins differ where every row makes one claim: in whose bins, and where tested."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from calib_core.binning.base import cuts
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.claims.tallies import Tally
from calib_core.estimators.base import Question, error_scale
from calib_core.inference.comparison.interval_differences import of_intervals
from calib_core.inference.comparison.joint_cells import (
    FEWEST_SURPRISES,
    Residuals,
    absolute_difference,
    outer_difference,
    squared_difference,
)
from calib_core.inference.comparison.paired_difference import PairedDifference
from calib_core.inference.intervals.bins_of_interval import target
from calib_core.predictions.predictions import NotAnswerable
from calib_core.reductions.base import REDUCTIONS

BinsOf = Literal["each", "first", "second"]
"""Whose cells the rows are put in: each model's own, or one model's for both."""


@dataclass(frozen=True)
class PairedDomain:
    """Where simulations found intervals to hold the truth: all of these at once, outside they are a rough guide.

    ``classes`` and ``rows`` least and most, ``cell_rows`` the fewest rows a judged cell holds on average, ``share`` the
    least share of rows that is judged, ``level`` least and most.
    """

    notions: tuple[str, ...]
    classes: tuple[int, int]
    rows: tuple[int, int]
    cell_rows: float
    share: float
    level: tuple[float, float]

    def covers(self, notion: str, classes: int, rows: int, cell_rows: float, share: float, level: float) -> bool:
        """Does a case lie within?"""
        ranges = ((self.classes, classes), (self.rows, rows), (self.level, level))
        inside = all(least <= value <= most for (least, most), value in ranges)
        return inside and notion in self.notions and cell_rows >= self.cell_rows and share >= self.share


SIMULATED = PairedDomain(("confidence", "top-label"), (1, 100), (300, 100_000), 20.0, 0.9, (0.9, 0.95))
"""What tests/simulations/paired_coverage.py covers: its rows are in ``paired.csv`` (``paired_table``)."""


def in_cells(question: Question) -> bool:
    """Does every row make one claim and count as one, and is its error one that residuals in cells tell?"""
    claims, about = question.claims, target(question.estimator)
    single = not question.whole and claims.one_a_row(question.ranks) and claims.weights is None
    return single and about is not None and (about[0] == 1 or error_scale(question.estimator).squared)


def of_cells(
    questions: tuple[Question, Question], bins_of: BinsOf, level: float, random_state: int
) -> PairedDifference:
    """Two errors compared by the residuals of every row under both models, in the cells the two put it in."""
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
            "every row is alone in its bin, where an error cannot be told from noise: choose fewer bins, or groups"
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
        raise NotAnswerable(
            "the two models predict different classes: they make claims about different outcomes, which no bins of one "
            "of them can compare"
        )
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
        what = (
            f"over {number} groups of at least {binning.rows} rows, chosen from the scores; finer errors are not seen"
        )
    else:
        what = f"in {number} bins" + (", one a value" if cuts(binning).one_a_value else "")
    whose = "" if bins_of == "each" else f", those of the {bins_of} model"
    single = "1 row alone in a bin is" if alone == 1 else f"{alone} rows alone in a bin are"
    left_out = f"; {single} left out" if alone else ""
    return what + whose + left_out
