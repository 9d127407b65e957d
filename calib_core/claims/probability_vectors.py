"""Whole probability vectors and what came true: what canonical calibration is about, a family beside binary claims."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

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
    outcome_is_class: ClassVar[bool] = True

    def counted(self) -> Vectors:
        """The rows that count: a row of weight 0 is no row."""
        if self.weights is None or (self.weights > 0).all():
            return self
        kept = np.flatnonzero(self.weights > 0)
        return replace(self, rows=self.rows.take(kept), labels=self.labels[kept], weights=self.weights[kept])

    def with_outcomes(self, drawn: Codes) -> Vectors:
        """The same rows of other classes."""
        return replace(self, labels=drawn.astype(np.intp))

    def alike(self, other: Vectors) -> bool:
        """Do two models make the same claims, with the same outcomes?"""
        same = all(np.array_equal(block, other.rows.part(where).array()) for where, block in self.rows.blocks())
        return same and np.array_equal(self.labels, other.labels)

    @property
    def strata(self) -> tuple[str, ...]:
        return ("all rows",)

    @property
    def shares(self) -> Float64s:
        return np.ones(1)
