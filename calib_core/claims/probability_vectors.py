"""Whole probability vectors and what came true: what canonical calibration is about, a family beside binary claims."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Rows
from calib_core._base.notebook_display import OneLine


@dataclass(frozen=True, eq=False, repr=False)
class Vectors(OneLine):
    """Whole probability vectors (n, K), the class of each row that came true (n,) and weights (None: all 1).

    They have no score that bins of an interval could hold; all rows are one stratum. ``sum_to_one`` is False where the
    rows hold one probability a class and are no points of the simplex.
    """

    rows: Rows
    labels: Codes
    class_names: tuple[str, ...]
    weights: Float64s | None = None
    sum_to_one: bool = True

    def counted(self) -> Vectors:
        """The rows that count: a row of weight 0 is no row."""
        if self.weights is None or (self.weights > 0).all():
            return self
        kept = np.flatnonzero(self.weights > 0)
        return replace(self, rows=self.rows.take(kept), labels=self.labels[kept], weights=self.weights[kept])

    @property
    def strata(self) -> tuple[str, ...]:
        return ("all rows",)

    @property
    def shares(self) -> Float64s:
        return np.ones(1)
