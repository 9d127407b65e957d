"""The mean gap of all claims of a notion: outcomes less scores, with ends that no line above it contradicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from calib_core._base.distributions import norm
from calib_core._base.notebook_display import OneLine
from calib_core.claims.binary_claims import Claims
from calib_core.claims.exact_sums import Moments, copies
from calib_core.inference.intervals.elementary import beyond
from calib_core.predictions.predictions import NotAnswerable
from calib_core.text import at_level

FOLDED = "score ends of the mean gap, whichever its sign"
"""How the interval of a mean gap is made."""
_PRECISE = 1e-9


class Gap(Protocol):
    """What the line of a mean gap needs to know: of one of many classes (``GapSums``), or by count (``EventGap``)."""

    @property
    def total(self) -> float: ...

    @property
    def claimed(self) -> float: ...

    @property
    def came_true(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def middle(self) -> float: ...

    @property
    def chance(self) -> float: ...

    def least(self, tail: float) -> float: ...

    def most(self, tail: float) -> float: ...

    def ends(self, level: float, tail: float) -> tuple[float, float]: ...


@dataclass(frozen=True)
class GapSums:
    """What is known of claims as a whole: total weight, mean outcome and score, noise of the mean, and one row's share.

    ``deviation`` is the standard deviation of the mean gap, the larger of what residuals show and what scores say;
    ``unit`` the most that one row can move it; ``residual`` the root of the summed squares of what rows did move it.
    """

    total: float
    claimed: float
    came_true: float
    deviation: float
    unit: float
    residual: float

    @classmethod
    def of(cls, claims: Claims) -> GapSums:
        """From the sums over all claims of one stratum or many, each claim by its weight."""
        moments: Moments = claims.moments([np.empty(0, dtype=claims.dtype)])
        total = float(moments.count.sum())
        if total <= 0.0:
            raise NotAnswerable("no row makes a claim here: there is nothing to judge")
        claimed, came_true = (float(part.sum()) / total for part in (moments.score, moments.outcome))
        squares = total if moments.squares is None else float(moments.squares.sum())
        # Around their mean residuals vary by less: the mean itself is no noise.
        seen = float(moments.second.sum()) - squares * (came_true - claimed) ** 2
        deviation = np.sqrt(max(seen, float(moments.claim.sum()), 0.0)) / total
        most = 1.0 if copies(claims.weights) else float(np.max(claims.weights))  # type: ignore[arg-type]
        residual = float(np.sqrt(moments.second.sum())) / total
        return cls(total, claimed, came_true, float(deviation), most / total, residual)

    @property
    def gap(self) -> float:
        """Mean outcome less mean score."""
        return self.came_true - self.claimed

    def least(self, tail: float) -> float:
        """Lower end for the size of the mean gap, which misses with this chance: 0 where noise may have made it all.

        The theta at which Phi(-(|m| - theta)/sd) + Phi(-(|m| + theta)/sd) = tail: the size of m is that of a normal
        number whose sign is not looked at, so that at theta = 0 both of its tails count. At most |m| less z times the
        root of the summed squared residuals: where all outcomes are alike, deviations from their mean are none.
        """
        most = abs(self.gap) - float(norm.isf(tail)) * self.residual
        return max(0.0, min(self._reached(tail), most))

    @cached_property
    def middle(self) -> float:
        """The size of which the observed one is the middle: the same with a chance of one half."""
        return self._reached(0.5)

    @property
    def chance(self) -> float:
        """The chance that noise alone makes as large a gap: ``least`` is above 0 at every larger one."""
        size = abs(self.gap)
        if size <= 0.0:
            return 1.0
        folded = 2.0 * float(ndtr(-size / self.deviation)) if self.deviation > 0.0 else 0.0
        return max(folded, float(ndtr(-size / self.residual)) if self.residual > 0.0 else 0.0)

    def most(self, tail: float) -> float:
        """Upper end for the size of the mean gap: |m| + u X(V), V the noise's variance in rows, X a Poisson limit."""
        return min(1.0, abs(self.gap) + self._reach(tail))

    def ends(self, level: float, tail: float) -> tuple[float, float]:
        """Both ends of the gap, its sign kept: the one towards 0 misses with ``tail``, the other with (1 - level)/2."""
        least, most = self.least(tail), self.most((1.0 - level) / 2)
        near = least if least > 0 else min(0.0, abs(self.gap) - (most - abs(self.gap)))
        # Neither more nor less than nothing and all can come true.
        low, high = (near, most) if self.gap >= 0 else (-most, -near)
        return max(low, -self.claimed), min(high, 1.0 - self.claimed)

    def _reach(self, tail: float) -> float:
        return self.unit * beyond((self.deviation / self.unit) ** 2, tail)

    def _reached(self, tail: float) -> float:
        size, sd = abs(self.gap), self.deviation
        if sd <= 0.0:
            return size
        if 2.0 * float(ndtr(-size / sd)) >= tail:
            return 0.0
        low, high = 0.0, size
        while high - low > _PRECISE:
            theta = (low + high) / 2
            chance = float(ndtr(-(size - theta) / sd) + ndtr(-(size + theta) / sd))
            low, high = (theta, high) if chance < tail else (low, theta)
        return low


def mean_of_gaps(claims: Claims, tail: float) -> tuple[float, float]:
    """Of the mean over strata of the sizes of their mean gaps: the mean of their points, and the most of one upper end.

    A stratum's point is what ``MeanGap`` says of it alone: its size where that is more than noise explains at the
    chance ``tail``, else the size of which the observed one is the middle; its upper end counts by its share.
    """
    moments: Moments = claims.moments([np.empty(0, dtype=claims.dtype)])
    total = moments.count.sum(axis=-1)
    here = (total > 0) & (claims.shares > 0)
    squares = moments.count if moments.squares is None else moments.squares
    parts = (moments.score, moments.outcome, squares, moments.second, moments.claim)
    score, outcome, squares, second, claim = (part.sum(axis=-1)[here] for part in parts)
    total, shares = total[here], claims.shares[here]
    gap = (outcome - score) / total
    deviation = np.sqrt(np.maximum(np.maximum(second - squares * gap**2, claim), 0.0)) / total
    residual = np.sqrt(second) / total
    most = 1.0 if copies(claims.weights) else float(np.max(claims.weights))  # type: ignore[arg-type]
    z, point, high = float(norm.isf(tail)), 0.0, 0.0
    for k in range(len(total)):
        sums = GapSums(
            float(total[k]),
            float(score[k] / total[k]),
            float(outcome[k] / total[k]),
            float(deviation[k]),
            float(most / total[k]),
            float(residual[k]),
        )
        size = abs(sums.gap)
        shown = size > z * sums.residual and (sums.deviation <= 0 or 2.0 * float(ndtr(-size / sums.deviation)) < tail)
        point += float(shares[k]) * (size if shown else min(sums.middle, size))
        high = max(high, float(shares[k]) * sums.most(tail))
    return point, high


@dataclass(frozen=True, repr=False)
class MeanGap(OneLine):
    """Mean outcome less mean score over all claims, ``gap`` from ``low`` to ``high``; and the same of its size.

    ``least``, ``point`` and ``most`` are of |gap|: its lower end is above 0 exactly where ``low`` to ``high`` leaves 0
    out. ``rows`` is the weight of all claims, ``claimed`` their mean score, ``came_true`` the share that came true.
    The upper end misses with a chance of (1 - ``level``)/2, the lower one with ``tail``, which is at most that: lines
    above share it. ``p_value`` is of no gap: the least (1 - level)/2 at which 0 is left out.
    """

    rows: float
    claimed: float
    came_true: float
    low: float
    high: float
    least: float
    point: float
    most: float
    level: float
    tail: float
    p_value: float

    @property
    def gap(self) -> float:
        """Below 0 where more is said than comes true: over-confident."""
        return self.came_true - self.claimed

    def _line(self) -> str:
        return f"{self.gap:+.4f}, {self.low:+.4f} to {self.high:+.4f} at {at_level(self.level)}"

    def _facts(self) -> dict[str, object]:
        return {
            "mean score": f"{self.claimed:.4f}",
            "came true": f"{self.came_true:.4f}",
            "mean gap": self._line(),
            "its size": f"{self.point:.4f}, {self.least:.4f} to {self.most:.4f}",
            "rows": f"{self.rows:,.6g}",
            "p": f"{self.p_value:.2g}",
        }

    @classmethod
    def of(cls, sums: Gap, level: float, tail: float, p_value: float) -> MeanGap:
        """With ends at this level, the one towards 0 with this chance to miss."""
        least, most = sums.least(tail), sums.most((1.0 - level) / 2)
        size = abs(sums.gap)
        point = size if least > 0 else min(sums.middle, size)
        ends = sums.ends(level, tail)
        return cls(sums.total, sums.claimed, sums.came_true, *ends, least, point, most, level, tail, p_value)
