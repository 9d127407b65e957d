"""Whole probability vectors and what came true, for canonical calibration; and what rows lose by their labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

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


class LabelMoments(NamedTuple):
    """Of every row, (n,), what its loss can be when a label l of probability p_l loses S_l.

    ``expected`` is sum_l p_l S_l; ``variance`` and ``third`` are sum_l p_l |S_l - expected|^m, m = 2 and 3; ``least``
    and ``most`` the ends of S_l.
    """

    expected: Float64s
    variance: Float64s
    third: Float64s
    least: Float64s
    most: Float64s

    @classmethod
    def of(cls, probs: Float64s, lost: Float64s) -> LabelMoments:
        """From probabilities and losses of all labels, (n, K)."""
        expected = (probs * lost).sum(axis=1)
        away = np.abs(lost - expected[:, None])
        # Products, since a power of floats takes thirty times as long, and is rounded differently by every machine.
        weighed = probs * away
        weighed *= away
        variance = weighed.sum(axis=1)
        weighed *= away
        return cls(expected, variance, weighed.sum(axis=1), lost.min(axis=1), lost.max(axis=1))
