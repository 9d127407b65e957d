"""Slices that a summary keeps: the values of a column, counted apart when it was made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.column_texts import from_texts
from calib_core.inference.significance.count_tests import counts_in_cells, score_nodes
from calib_core.summaries.cells import Cells
from calib_core.summaries.mergeable import Summary


def kept_column(summary: Summary, name: str) -> pd.Series[Any]:
    """The values that a summary keeps of a column, one each, as numbers where all of them are."""
    return from_texts(list(summary.slices[name]))


def kept_sums(summary: Summary, name: str) -> Float64s:
    """Of each of these values the number of rows, and the sums of confidence and of what came true, (values, 3)."""
    tallies = [cells.over(1) for cells in summary.slices[name].values()]
    return np.array([[t.count[0, 0], t.score[0, 0], t.outcome[0, 0]] for t in tallies], dtype=np.float64)


def kept_counts(summary: Summary, name: str) -> tuple[Float64s, Float64s]:
    """Nodes (G,) and, for each of these values, its rows' confidences as claims at the nodes, (values, G)."""
    every = list(summary.slices[name].values())
    number = [cells.count.astype(np.float64) for cells in every]
    means = [cells.sums.value[0] / count for cells, count in zip(every, number, strict=True)]
    nodes = score_nodes(np.round(np.concatenate(means), 12))
    nothing = [np.zeros(len(mean), dtype=np.intp) for mean in means]
    lines = [counts_in_cells(nodes, *line[:2], 1, line[2])[0] for line in zip(means, nothing, number, strict=True)]
    return nodes, np.array(lines)


def part_of_counts(summary: Summary, name: str, values: Sequence[int]) -> Summary:
    """The summary of the rows that have some of the values: (confidence, correct) alone, and no row of its own."""
    every = list(summary.slices[name].values())
    return summary.of_single_claims(Cells.together([every[i] for i in values]))


def summed(sums: Float64s, groups: Sequence[Codes]) -> Float64s:
    """The same of groups of the values, (groups, columns)."""
    return np.array([sums[places].sum(axis=0) for places in groups]).reshape(-1, sums.shape[1])
