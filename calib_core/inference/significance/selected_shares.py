"""Which of many shares stand out of what is said of them, and intervals that allow for having picked these."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.inference.intervals.share_intervals import share_ends, share_test
from calib_core.inference.significance.count_tests import count_test, counts_in_cells, score_nodes
from calib_core.inference.significance.multiple_testing import benjamini_hochberg, benjamini_yekutieli, harmonic
from calib_core.predictions.predictions import Predictions, whole

FALSE = 0.05
"""Share of false findings among all, on average, that is put up with."""
FEWEST = 10
"""Rows below which a place is counted, not tested."""


@dataclass(frozen=True, eq=False)
class PickedOut:
    """Of shares (m,): p-values (NaN: not tested), corrected ones, which stand out; ``level`` of each one's interval."""

    p: Float64s
    corrected: Float64s
    stands_out: Bools
    level: Float64s
    counted: bool

    def ends(self, right: Float64s, rows: Float64s, which: Codes | slice = slice(None)) -> tuple[Float64s, Float64s]:
        """The intervals of those at these positions, which are these shares of so many rows."""
        return share_ends(right, rows, self.counted, self.level[which])


def picked_out(
    p: Float64s,
    tested: Bools,
    *,
    counted: bool,
    disjoint: bool,
    families: int,
    level: float,
    false: float,
) -> PickedOut:
    """Tests (m,) of one of several families of shares, corrected for their number and for that of the families.

    The p-values of those ``tested`` are corrected within the family by Benjamini and Hochberg's rule where rows are
    ``disjoint``, else by Benjamini and Yekutieli's, times the number of ``families``. With a share q / F of false ones
    in each of F families at most q of all are, whatever they share: V / R <= sum_f V_f / R_f. With R of m that stand
    out their intervals are at level 1 - (1 - level) R / (m F), for shared rows divided by 1 + ... + 1/m as well, cut to
    one digit of the miss, so that at most 1 - level of them miss on average; the others stand alone at ``level``.

    References: Benjamini & Hochberg 1995; Benjamini & Yekutieli 2001, and 2005 for the intervals.

    >>> how = {"counted": True, "disjoint": True, "families": 1, "level": 0.9, "false": 0.05}
    >>> found = picked_out(np.array([1e-6, 1.0]), np.array([True, True]), **how)
    >>> found.stands_out.tolist(), found.level.round(3).tolist()
    ([True, False], [0.95, 0.9])
    """
    p = np.where(tested, p, np.nan)
    correct = benjamini_hochberg if disjoint else benjamini_yekutieli
    corrected = np.minimum(families * correct(p), 1.0)
    outstanding = corrected <= false
    tests, picked = int(tested.sum()), int(outstanding.sum())
    price = families * (1.0 if disjoint else harmonic(tests))
    wider = _rounded_up(level, picked / (tests * price)) if picked else level
    return PickedOut(p, corrected, outstanding, np.where(outstanding, wider, level), counted)


def count_words(looked: str, found: int, more: str, place: str) -> str:
    """How many of the places ``looked`` at are off, and what follows where none of them is.

    >>> count_words("Of 7 places looked at", 1, "", "place")
    'Of 7 places looked at, 1 is off beyond chance, corrected for their number.'
    """
    if not found:
        why = f"With few rows a {place} hardly can be: this is no proof that the rest is right."
        return f"{looked}, none is off beyond chance.{more} {why}"
    be = "is" if found == 1 else "are"
    return f"{looked}, {found:,} {be} off beyond chance, corrected for their number.{more}"


def _rounded_up(level: float, share: float) -> float:
    """The level that misses this share of what another misses, at most: one digit that counts, as it is written."""
    miss = (1 - level) * share
    unit = 10.0 ** math.floor(math.log10(miss) + 1e-9)
    return 1 - math.floor(miss / unit + 1e-9) * unit


def counts_rows(predictions: Predictions) -> bool:
    """Whether rows are independent outcomes that count alike, or copies of such."""
    return predictions.groups is None and whole(predictions.weights)


def rows_of_cells(predictions: Predictions, cell: Codes, cells: int) -> tuple[Codes, Codes | None]:
    """How many rows each cell has, copies among them, and of how many groups they are, if of any, both (cells,).

    >>> p = Predictions.from_confidence([0.9] * 4, [True] * 4, groups=[0, 0, 1, 2])
    >>> [part.tolist() for part in rows_of_cells(p, np.array([0, 0, 0, 1]), 2)]
    [[3, 1], [2, 1]]
    """
    weights = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights
    number = weights if whole(predictions.weights) else weights > 0
    rows = np.rint(np.bincount(cell, number, cells)).astype(np.intp)
    if predictions.groups is None:
        return rows, None
    n = int(predictions.groups.max(initial=0)) + 1
    pairs = np.unique((cell * n + predictions.groups)[weights > 0])
    return rows, np.bincount(pairs // n, minlength=cells)


def p_of_cells(predictions: Predictions, cell: Codes, cells: int) -> Float64s:
    """p-values (cells,) that in each cell as many rows are right as their confidences state; NaN in empty cells.

    Rows that count alike, or copies: ``count_test``, with each row's confidence as its chance. Weights that are no
    counts and rows in groups: Hoeffding's bound (``share_test``).

    >>> p = Predictions.from_confidence([0.5] * 10 + [0.9], [True] * 11)
    >>> p_of_cells(p, np.array([0] * 10 + [1]), 3).round(6).tolist()  # 2 * 0.5^10, 2 * 0.9 is above 1
    [0.001953, 1.0, nan]
    """
    weights, scores = predictions.weights, predictions.confidence
    hits = np.bincount(cell, predictions.correct if weights is None else weights * predictions.correct, cells)
    if counts_rows(predictions):
        nodes = score_nodes(scores)
        return count_test(nodes, counts_in_cells(nodes, scores, cell, cells, weights), hits.astype(np.float64))
    total = np.bincount(cell, weights, cells).astype(np.float64)
    stated = np.bincount(cell, scores if weights is None else weights * scores, cells)
    with np.errstate(invalid="ignore"):
        return share_test(hits / total, stated / total, worth_of_cells(predictions, cell, cells), False)


def worth_of_cells(predictions: Predictions, cell: Codes, cells: int) -> Float64s:
    """What the rows of each cell are worth (cells,), ``cell`` (n,) saying in which each lies.

    Their number or that of their copies; of other weights, and of rows in groups, (sum w)^2 over the sum over groups of
    (its weight in the cell)^2, as if a group were one outcome.

    >>> p = Predictions.from_confidence([0.9] * 4, [True] * 4, groups=[0, 0, 1, 2])
    >>> worth_of_cells(p, np.array([0, 0, 0, 1]), 2).round(2).tolist()  # 3^2 / (2^2 + 1)
    [1.8, 1.0]
    """
    weights = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights
    total = np.bincount(cell, weights, cells).astype(np.float64)
    if counts_rows(predictions):
        return total
    together = np.arange(predictions.n_rows) if predictions.groups is None else predictions.groups
    n = int(together.max()) + 1
    pairs, inverse = np.unique(cell * n + together, return_inverse=True)
    squares = np.bincount(pairs // n, np.square(np.bincount(inverse, weights)), cells)
    return np.divide(total**2, squares, out=np.zeros(cells), where=squares > 0)
