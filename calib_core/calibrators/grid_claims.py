"""Claims that a summary counts, listed for a binary map: a line for each cell of the grid and what came true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.claims.binary_claims import Stratum
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.summaries.cells import SUMS, Cells
from calib_core.summaries.counted_claims import NEEDS_ROWS, CountedStratum
from calib_core.summaries.fine_grid import CELLS, EDGES, lowest
from calib_core.summaries.mergeable import Summary, merged
from calib_core.text import percent

Counts: TypeAlias = Literal["never", "edges", "cells", "outcomes"]
"""Which score stands for a claim that is counted; "never": none will do."""

MOST_AT_ENDS = 0.01
"""Share of the claims that may lie in the grid's first and last cell where log-odds matter: there these have no end."""

_TOGETHER = 16


def summary_of_parts(parts: Iterable[Predictions]) -> Summary:
    """The summary of rows that come in parts.

    >>> p = Predictions.from_confidence([0.7, 0.9], [True, True])
    >>> summary_of_parts([p, p]).n_rows
    4
    """
    found: list[Summary] = []
    first = 0
    for part in parts:
        found.append(Summary.of(part, first_row=first))
        first += part.n_rows
        if len(found) >= _TOGETHER:
            found = [merged(found)]
    if not found:
        raise InputError("there are no rows to fit on; give at least one part")
    return merged(found)


def claims_of(stratum: CountedStratum, counts: Counts) -> Stratum:
    """The claims with whole weights, each with the score that stands for it.

    Scores move by less than a cell is wide, .001 at most. With "outcomes" the mean score of the claims that came true
    in a cell, and of those that did not, stay what they are: both follow from the exact sums of s, v = s (1 - s) and
    r^2 = (z - s)^2, since z^2 = z gives sum z s = (sum z + sum s - sum v - sum r^2) / 2. It is refused where more
    than ``MOST_AT_ENDS`` of the claims lie in the first and last cell, whose log-odds have no bound.
    """
    if counts == "never":
        raise NotAnswerable(NEEDS_ROWS.format("this map of scores"))
    cells = stratum.cells
    true = cells.outcome.astype(np.float64)
    false = cells.count - true
    if counts == "edges":
        hits = misses = lowest(cells.place, stratum.dtype)
    elif counts == "cells":
        hits = misses = stratum.means[0]
    else:
        _check_ends(cells)
        hits, misses = _means(cells, true, false)
    kept = [weights > 0 for weights in (true, false)]
    scores = np.concatenate([hits[kept[0]], misses[kept[1]]])
    outcomes = np.repeat([True, False], [int(k.sum()) for k in kept])
    return Stratum(np.clip(scores, 0, 1), outcomes, np.concatenate([true[kept[0]], false[kept[1]]]))


def _means(cells: Cells, true: Float64s, false: Float64s) -> tuple[Float64s, Float64s]:
    """The mean score of the claims that came true in each cell, and of those that did not, within the cell."""
    sums = dict(zip(SUMS, cells.sums.value, strict=True))
    s = sums["score"]
    of_true = (true + s - sums["claim"] - sums["second"]) / 2
    low, high = np.append(0.0, EDGES)[cells.place], np.append(EDGES, 1.0)[cells.place]
    means = (of_true / np.maximum(true, 1), (s - of_true) / np.maximum(false, 1))
    return np.clip(means[0], low, high), np.clip(means[1], low, high)


def _check_ends(cells: Cells) -> None:
    share = float(cells.count[(cells.place == 0) | (cells.place == CELLS - 1)].sum() / max(cells.n_claims, 1))
    if share > MOST_AT_ENDS:
        raise NotAnswerable(
            f"{percent(share)} of the claims lie below {EDGES[0]:g} or above {EDGES[-1]:g}, where a summary does not "
            "tell log-odds apart: fit on rows, or choose a map that reads counts alone, such as isotonic regression"
        )
