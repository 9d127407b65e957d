"""Which places are significantly off: one rule for bins, classes and slices, in every view and table.

A place is a bin of the diagram, a predicted class, a predicted class in a bin, a class's probability, or a value of a
metadata column. It is tested once, exactly (``count_test``; ``share_test`` for weights and groups of rows), where it is
worth ``FEWEST`` rows. The p-value is corrected in two steps that no view changes:

1. Holm's rule among the places of its family: the bins of this model, its predicted classes, ..., the values of one
   column.
2. A fixed split: of F kinds of places (``kinds_of_places``) each gets an F-th of the 5 %, and of the share of the
   slices each of C columns gets a C-th. So p_corrected = F * Holm for bins and classes, and F * C * Holm for slices.

Why so: p_corrected depends on the rows alone, not on what is displayed next to a place, so that a place is called off
everywhere or nowhere. Holm holds for tests of the same rows, and a sum of shares holds for families that share rows:
the chance that any place of a calibrated model is called off is at most 5 %. Rates of false discoveries (Benjamini and
Hochberg) find more in long lists, but a p-value corrected so depends on which other lists are shown with it. All rows
together are no place: that is the one question fixed in advance, tested at the level that it shares with the errors
it bounds.

References: Holm 1979; Bonferroni's inequality for the split.
"""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.inference.intervals.share_intervals import share_test
from calib_core.inference.significance.count_tests import count_test, counts_in_cells, score_nodes
from calib_core.inference.significance.multiple_testing import holm
from calib_core.predictions.predictions import Predictions, whole
from calib_core.reductions.base import counts

FEWEST = 10
"""Rows below which a place is listed, not tested."""


def kinds_of_places(rows: Predictions) -> int:
    """Number of kinds of places whose tests share the 5 %: bins, three of classes where they are known, slices.

    ``rows`` are those of ``claimed_rows``: of the risk of an event there are bins and slices. Only what the rows hold
    decides, never a view.

    >>> kinds_of_places(Predictions.from_confidence([0.9], [True])), kinds_of_places(Predictions([[0.7, 0.3]], [0]))
    (1, 4)
    """
    summary = counts(rows)
    columns = bool(summary.slices) if summary is not None else rows.metadata is not None and rows.metadata.shape[1] > 0
    classes = {"confidence": 0, "top-label": 2}.get(rows.kind, 3)
    return 1 + classes + int(columns)


def corrected_p(p: Float64s, tested: Bools, families: int) -> tuple[Float64s, Float64s]:
    """p-values (m,) of one family, NaN where not ``tested``, and the same corrected: ``families`` times Holm's.

    >>> [part.tolist() for part in corrected_p(np.array([0.001, 0.5, 0.01]), np.array([True, False, True]), 2)]
    [[0.001, nan, 0.01], [0.004, nan, 0.02]]
    """
    p = np.where(tested, p, np.nan)
    return p, np.minimum(families * holm(p), 1.0)


def worst_first(off: Bools, gap: Float64s, p: Float64s) -> Codes:
    """Positions in the one order of places: the significant ones by the size of their gap, then the rest by p.

    >>> worst_first(np.array([False, True, True]), np.array([0.5, -0.1, 0.2]), np.array([0.4, 1e-9, 0.001])).tolist()
    [2, 1, 0]
    """
    size = np.where(off, -np.abs(gap).round(12), 0.0)  # gaps that differ by rounding alone are equal
    return np.asarray(np.lexsort((np.where(np.isnan(p), 2.0, p), size, ~off)), dtype=np.intp)


def count_words(looked: str, found: int, more: str, place: str) -> str:
    """How many of the places ``looked`` at are off, and what follows where none of them is.

    >>> count_words("Of 7 places", 1, "", "place")
    'Of 7 places, 1 is significantly off (corrected for multiple testing).'
    """
    if not found:
        return f"{looked}, none is significantly off.{more} With few rows a {place} can hardly be shown to be off."
    be = "is" if found == 1 else "are"
    return f"{looked}, {found:,} {be} significantly off (corrected for multiple testing).{more}"


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
