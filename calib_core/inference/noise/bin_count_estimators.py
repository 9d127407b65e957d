"""Estimators that look at claims through a bin table only: a resample costs them counts instead of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calib_core._base.arrays import Float64s
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.claims.binary_claims import ColumnClaims, FlatClaims
from calib_core.estimators.base import Estimator, traits
from calib_core.predictions.validation import whole


@dataclass(frozen=True, eq=False)
class Counted:
    """The table of the claims, and what the estimator makes of any table in its place.

    ``many`` is the same for outcome sums (replicates, strata, bins) at once.
    """

    table: BinTable
    value: Callable[[BinTable], float]
    many: Callable[[BinTable, Float64s], Float64s]

    def values(self, outcomes: Float64s) -> Float64s:
        """The estimate for each of the outcome sums (replicates, strata, bins) in place of the table's own."""
        return self.many(self.table, outcomes)


def of_counts(estimator: Estimator, claims: FlatClaims | ColumnClaims, table: BinTable | None = None) -> Counted | None:
    """How to estimate from counts, None for estimators that look at the rows.

    An estimator declares that counts in the bins of its ``binning`` are all it looks at, and may take that back where
    weights are no copies. ``table`` is that of its binning where it is already there.
    """
    method: Any = estimator
    counts = traits(method).counts
    if counts == "never" or (counts == "unweighted" and not whole(claims.weights)):
        return None
    table = tabulate(claims, [method.binning])[0] if table is None else table
    return Counted(table, lambda given: float(method.of_table(given).value), method.of_outcomes)
