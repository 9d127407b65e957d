"""Whole probability vectors with classes, for canonical calibration; and moments of each row's loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Rows
from calib_core._base.notebook_display import OneLine


@dataclass(frozen=True, eq=False, repr=False)
class Vectors(OneLine):
    """Whole probability vectors (n, K), the true class of each row (n,) and weights (None: all 1).

    They have no single score for bins of an interval; all rows are one stratum. ``sum_to_one`` is False if the rows
    have one probability per class and are not points of the simplex.
    """

    rows: Rows
    labels: Codes
    class_names: tuple[str, ...]
    weights: Float64s | None = None
    sum_to_one: bool = True
    outcome_is_class: ClassVar[bool] = True

    def counted(self) -> Vectors:
        """Return the rows with positive weight."""
        if self.weights is None or (self.weights > 0).all():
            return self
        kept = np.flatnonzero(self.weights > 0)
        return replace(self, rows=self.rows.take(kept), labels=self.labels[kept], weights=self.weights[kept])

    def with_outcomes(self, drawn: Codes) -> Vectors:
        """Return the same rows with other classes."""
        return replace(self, labels=drawn.astype(np.intp))

    def alike(self, other: Vectors) -> bool:
        """True if two models make the same claims, with the same outcomes."""
        same = all(np.array_equal(block, other.rows.part(where).array()) for where, block in self.rows.blocks())
        return same and np.array_equal(self.labels, other.labels)

    @property
    def strata(self) -> tuple[str, ...]:
        return ("all rows",)

    @property
    def shares(self) -> Float64s:
        return np.ones(1)


class LabelMoments(NamedTuple):
    """Moments and range of each row's loss, (n,), if a label l of probability p_l has the loss S_l.

    ``expected`` is sum_l p_l S_l; ``variance`` and ``third`` are sum_l p_l |S_l - expected|^m, m = 2 and 3; ``least``
    and ``most`` are the smallest and largest S_l.
    """

    expected: Float64s
    variance: Float64s
    third: Float64s
    least: Float64s
    most: Float64s

    @classmethod
    def of(cls, probs: Float64s, lost: Float64s) -> LabelMoments:
        """Compute the moments from probabilities and losses of all labels, (n, K)."""
        expected = (probs * lost).sum(axis=1)
        away = np.abs(lost - expected[:, None])
        # Products: a float power takes thirty times as long, and is rounded differently on different machines.
        weighed = probs * away
        weighed *= away
        variance = weighed.sum(axis=1)
        weighed *= away
        return cls(expected, variance, weighed.sum(axis=1), lost.min(axis=1), lost.max(axis=1))
