"""Estimators that look at claims through a bin table only: a resample costs them counts instead of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib_core._arrays import Float64s, Floats
from calib_core.binning import BinTable, tabulate
from calib_core.claims import ColumnClaims, FlatClaims, Stratum, Tally
from calib_core.estimators.base import Estimator


@dataclass(frozen=True, eq=False)
class Counted:
    """The table of the claims, and what the estimator makes of any table in its place.

    ``many`` is the same for outcome sums (replicates, strata, bins) at once, where the estimator has a way.
    """

    table: BinTable
    value: Callable[[BinTable], float]
    many: Callable[[BinTable, Float64s], Float64s] | None = None

    def values(self, outcomes: Float64s) -> Float64s:
        """The estimate for each of the outcome sums (replicates, strata, bins) in place of the table's own."""
        if self.many is not None:
            return self.many(self.table, outcomes)
        old = self.table.tally
        return np.array([self.value(replace(self.table, tally=Tally(old.count, old.score, o))) for o in outcomes])


def of_counts(estimator: Estimator, claims: FlatClaims | ColumnClaims, table: BinTable | None = None) -> Counted | None:
    """How to estimate from counts, None for estimators that look at the rows.

    An estimator with ``of_table`` says so itself. One that has a ``binning`` is asked about claims that consist of
    their bin sums; if it looks for more, or says something else than of the rows, it is not one of these. ``table``
    is that of its binning where it is already there.
    """
    binning = getattr(estimator, "binning", None)
    if binning is None:
        return None
    method: Any = estimator
    table = tabulate(claims, [binning])[0] if table is None else table
    if hasattr(method, "of_table"):
        return Counted(table, lambda given: float(method.of_table(given).value), getattr(method, "of_outcomes", None))
    if claims.weights is not None or "binning" not in getattr(method, "__dataclass_fields__", {}):
        return None
    same: Any = replace(method, binning=_AsCounted(table.count.shape[1]))
    counted = Counted(table, lambda given: float(same(_BinSums(given)).value), getattr(method, "of_outcomes", None))
    try:
        agrees = abs(counted.value(table) - method(claims).value) <= 1e-9
    except _LooksAtRows:
        return None
    return counted if agrees else None


class _LooksAtRows(Exception):
    """Raised by claims that consist of bin sums only."""


@dataclass(frozen=True)
class _AsCounted:
    """As many bins as were counted; where they lie no longer matters."""

    bins: int

    def fixed_edges(self) -> Float64s:
        return np.arange(1, self.bins) / self.bins

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        raise _LooksAtRows


@dataclass(frozen=True, eq=False)
class _BinSums:
    """Claims of which only the sums in bins are known."""

    table: BinTable
    weights: None = None
    floor: float = 0.0

    @property
    def strata(self) -> tuple[str, ...]:
        return self.table.strata

    @property
    def shares(self) -> Float64s:
        return self.table.shares

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    def stratum(self, s: int) -> Stratum:
        raise _LooksAtRows

    def tally(self, edges: Floats) -> Tally:
        if len(edges) + 1 != self.table.count.shape[1]:
            raise _LooksAtRows
        return self.table.tally
