"""Canonical errors on a partition of the simplex: the binned formulas with vectors in the place of numbers."""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.binning.simplex.cell_table import SimplexTable


def distances(table: SimplexTable, outcomes: Float64s, order: int | str) -> Float64s:
    """Binned canonical errors (replicates,), of outcome sums (replicates, B, K) in place of the table's own.

    With weight w_b, label frequencies f_b and mean prediction h_b of cell b: sum_b w_b ||f_b - h_b||_1 for order 1,
    max_b ||f_b - h_b||_1 for "max", (sum_b w_b ||f_b - h_b||_2^2)^(1/2) for order 2.
    """
    gap = np.abs(outcomes - table.score) / table.count[:, None]
    if order == 2:
        return np.asarray(np.sqrt(np.square(gap).sum(axis=2) @ table.weight))
    each = gap.sum(axis=2)
    return np.asarray(each.max(axis=1) if order == "max" else each @ table.weight)


def debiased(table: SimplexTable, outcomes: Float64s) -> Float64s:
    """Squared canonical errors less what noise alone adds, (replicates,), of outcome sums (replicates, B, K).

    sum_b w_b [||f_b - h_b||_2^2 - sum_l f_bl (1 - f_bl) / (n_b - 1)]: the binary correction summed over classes, since
    sum_l Var f_bl is the trace of a multinomial's covariance.
    """
    count = table.count[:, None]
    share = outcomes / count
    spread = (share * (1 - share)).sum(axis=2)
    # A cell worth one row has no variance; weights can make that 1 plus a rounding error.
    more = table.worth > 1 + 1e-9
    correction = np.divide(spread, table.worth - 1, out=np.zeros_like(spread), where=more)
    squares = np.square((outcomes - table.score) / count).sum(axis=2)
    return np.asarray((squares - correction) @ table.weight)
