"""Batches that come as summaries: their sums are those of the rows, to the bit, for errors in bins."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calib_core._base.arrays import Float64s, FloatType
from calib_core.claims.exact_sums import ExactSums
from calib_core.predictions.predictions import NotAnswerable
from calib_core.summaries.cells import Cells, starts_of
from calib_core.summaries.mergeable import Summary


def inner_edges(bins: int, dtype: FloatType) -> Float64s:
    """Return the inner edges of bins of equal width, each as a number of the scores' own type.

    >>> inner_edges(4, np.dtype(float)).tolist()
    [0.25, 0.5, 0.75]
    """
    return (np.arange(1, bins) / bins).astype(dtype).astype(np.float64)


def cells_of_batch(summary: Summary) -> Cells:
    """Return the cells of the event's risk, or of the confidence if there is no event, in one stratum."""
    if summary.event is None:
        return summary.top_cells.over_strata()
    if summary.class_cells is None:
        raise NotAnswerable("this summary has no counts of the event's risk: add the rows")
    return summary.class_cells.stratum(summary.event)


def cells_by_value(summary: Summary, column: str) -> Mapping[str, Cells]:
    """Return the cells of each value of a column; NotAnswerable if the summary does not have them."""
    if summary.event is not None:
        raise NotAnswerable(
            "the slices of a summary are about the confidence, not about the risk of an event. Add the rows, or watch "
            "a summary of each slice with a state of its own"
        )
    if column not in summary.slices:
        raise NotAnswerable(f"this summary has no slices by {column!r:.80}: create it with calib summarise --column")
    return summary.slices[column]


def sums_in_bins(cells: Cells, bins: int, dtype: FloatType) -> tuple[int, ExactSums]:
    """Return the number of rows, and their sums as in ``PeriodCounts`` but for log factors, (3 + bins,)."""
    start = starts_of((np.arange(1, bins) / bins).astype(dtype))
    found = cells.moments([start], 1)
    assert found.exact is not None
    scores, squares = (found.exact[place, 0] for place in (0, 1))
    outcomes = ExactSums.of(found.outcome[0])
    totals = [part.total(0) for part in (scores, outcomes, squares)]
    differences = outcomes - scores
    whole, part = (
        np.concatenate([[getattr(each, name) for each in totals], getattr(differences, name)])
        for name in ("whole", "part")
    )
    return cells.n_claims, ExactSums(whole, part)
