"""Net benefit of acting on a class's probability, at every threshold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Codes, Float64s, rounding
from calib_core._base.diagram import Diagram
from calib_core._base.distributions import t as student
from calib_core._base.errors import as_share, as_whole
from calib_core.defaults import LEVEL
from calib_core.inference.intervals.clustered_rows import (
    GROUPED,
    drawn_apart,
    of_like_size,
    shares_in_cells,
    together,
)
from calib_core.inference.intervals.elementary import COUNTED, clopper_pearson, share_ends
from calib_core.predictions.event_names import titles_of_classes
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions, whole

THRESHOLDS = tuple(np.arange(1, 100) / 100)


LINEARIZED = "linearization, weights as known inverse sampling fractions (Binder 1983)"
LINEARIZED_GROUPS = f"{GROUPED}, and {LINEARIZED}"
"""Methods for weights that are not numbers of copies."""
_WITH_ENDS = ("treat_all", "over_all", "hits", "standardized", "avoided")


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(Diagram):
    """Arrays are (m,), an entry for each ``threshold`` t: rows of a probability above t are acted on.

    ``acted`` is their share of all rows; ``benefit`` is the net benefit with its interval ``low`` to ``high``.
    ``treat_all`` is the net benefit of acting on every row, with its interval ``treat_all_low`` to ``treat_all_high``;
    acting on none has 0. ``over_all`` is the advantage of the model over acting on all, with its interval
    ``over_all_low`` to ``over_all_high``. ``hits`` is the share of all rows that are acted on and have the class.
    ``standardized`` is the benefit divided by the share of rows with the class, so that 1 is the most possible.
    ``avoided`` is the net share of rows on which acting is avoided, compared with acting on all. Net: no fewer rows
    with the class are acted on. Each has its interval, as ``hits_low`` to ``hits_high``. Each interval is at
    ``level`` by ``method``, not corrected for the number of thresholds. ``positive`` is the name of the class.
    """

    formula: ClassVar[str] = r"t \mapsto \frac{TP_t}{n} - \frac{FP_t}{n}\,\frac{t}{1 - t}"

    threshold: Float64s
    acted: Float64s
    benefit: Float64s
    low: Float64s
    high: Float64s
    treat_all: Float64s
    treat_all_low: Float64s
    treat_all_high: Float64s
    over_all: Float64s
    over_all_low: Float64s
    over_all_high: Float64s
    hits: Float64s
    hits_low: Float64s
    hits_high: Float64s
    standardized: Float64s
    standardized_low: Float64s
    standardized_high: Float64s
    positive: str
    level: float
    method: str

    @property
    def odds(self) -> Float64s:
        """Odds of the threshold, (m,): the rows wrongly acted on that are worth one with the class."""
        return self.threshold / (1 - self.threshold)

    @property
    def avoided(self) -> Float64s:
        """Net share of rows on which acting is avoided, compared with acting on all, (m,)."""
        return self.over_all / self.odds

    @property
    def avoided_low(self) -> Float64s:
        """Lower end of its interval."""
        return self.over_all_low / self.odds

    @property
    def avoided_high(self) -> Float64s:
        """Upper end of its interval."""
        return self.over_all_high / self.odds

    def frame(self) -> pd.DataFrame:
        """One line per threshold, exactly the numbers drawn."""
        names = ("threshold", "acted", "benefit", "low", "high")
        compared = (f"{name}{end}" for name in _WITH_ENDS for end in ("", "_low", "_high"))
        return pd.DataFrame({name: getattr(self, name) for name in (*names, *compared)})


def decision_curve(
    predictions: Predictions,
    positive: int | None = None,
    thresholds: tuple[float, ...] = THRESHOLDS,
    level: float = LEVEL,
) -> DecisionCurve:
    """Net benefit of acting where a class's probability is above t, for thresholds t.

    benefit(t) = TP / n - FP / n * t / (1 - t): the share of rows acted on with the class, less a weighted share of
    those without it. The weight is that of a person who is indifferent at a probability of t. A row whose probability
    equals t, up to rounding, is not acted on; ``decisions.decisions`` also decides for class 0 there. ``positive`` is
    the code of the class, by default the event of two classes. The interval is exact at each threshold. Which rows are
    acted on is known from their scores. The share s of them that have the class has its interval (``share_ends``), and
    benefit = acted * (s - (1 - s) t / (1 - t)). The difference to acting on all is about the other rows in the same
    way. Interventions avoided are this difference divided by t / (1 - t). Standardized benefit divides by the
    observed share of the class, which is uncertain too. It is acted * (s - (1 - s) t / (1 - t)) / (acted * s + (1 -
    acted) * r), with r the share of the class among rows not acted on. It rises with s. The ends of s and r are
    combined by Newcombe's and Zou's rule, the root of the sum of squares of their distances.

    NotAnswerable where rows contain no probability of the class, and for more than two classes without ``positive``.
    InputError for thresholds not between 0 and 1. What can mislead: only thresholds that somebody would use matter, and
    intervals are not corrected for multiple testing. A benefit above both acting on all and acting on none means that
    the model helps there, not that it is calibrated. Rows with an abstention are left out. Rows in groups count as
    their effective sample size. Weights that are not whole numbers are treated as known inverse sampling fractions that
    can depend on the outcome. Intervals are then the wider of two: Clopper and Pearson's at the effective size of the
    share, and Student's by linearization.

    References: Vickers & Elkin 2006; Clopper & Pearson 1934; Kerr et al. 2016 (standardized net benefit); Zou & Donner
    2008; Binder 1983 (linearization).

    >>> p = Predictions([[0.1, 0.9]] * 4 + [[0.8, 0.2]] * 6, [1, 1, 1, 0] + [0] * 5 + [1])
    >>> found = decision_curve(p, thresholds=(0.1, 0.5))
    >>> found.frame()[["threshold", "acted", "benefit", "treat_all"]].round(3).values.tolist()  # 0.3 - 0.1 * 1
    [[0.1, 1.0, 0.333, 0.333], [0.5, 0.4, 0.2, -0.2]]
    """
    as_share(level, "level")
    if not len(thresholds):
        raise InputError("thresholds is empty; it must contain numbers between 0 and 1, both excluded")
    for threshold in thresholds:
        as_share(threshold, "threshold")
    t = np.asarray(thresholds, dtype=np.float64)
    rows = predictions.written_out().answered
    code = class_acted_on(rows, positive)
    score, true = rows.rows.column(code), rows.true_labels == code
    order = np.argsort(score, kind="stable")
    # Rows not above a threshold come first: those acted on are what is left of all.
    first = np.searchsorted(score[order].astype(np.float64), _least(t, rounding(score.dtype)), side="right")
    none, every = np.zeros_like(first), np.full(len(t), len(order))
    shares = _Shares(rows, true, order, level)
    odds = t / (1 - t)
    benefit, low, high = shares.benefit(first, every, odds)
    left, left_low, left_high = shares.benefit(none, first, odds)
    hits = shares.benefit(first, every, np.zeros(len(t)))
    return DecisionCurve(
        t,
        shares.mass(first, every),
        benefit,
        low,
        high,
        *shares.benefit(none, every, odds),
        -left,
        -left_high,
        -left_low,
        *hits,
        *_standardized(shares.mass(first, every), odds, hits, shares.benefit(none, first, np.zeros(len(t)))),
        titles_of_classes(rows)[code],
        level,
        shares.method,
    )


_Ends = tuple[Float64s, Float64s, Float64s]
"""Values and the ends of their intervals, each (m,)."""


def _standardized(acted: Float64s, odds: Float64s, hits: _Ends, missed: _Ends) -> _Ends:
    """Net benefit divided by the share of rows with the class: those acted on, ``hits``, and the others, ``missed``.

    NaN if no row has the class.
    """

    def of(found: Float64s, left: Float64s) -> Float64s:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(found + left > 0, (found - (acted - found) * odds) / (found + left), np.nan)

    value = of(hits[0], missed[0])
    ends = []
    for side, sign in ((1, -1.0), (2, 1.0)):
        here = of(hits[side], missed[0])
        # A positive benefit is a larger share of fewer rows with the class; a negative one is less negative among more.
        others = np.array([of(hits[0], missed[1]), of(hits[0], missed[2]), value])
        there = others.min(axis=0) if sign < 0 else others.max(axis=0)
        ends.append(value + sign * np.hypot(here - value, there - value))
    return value, ends[0], np.minimum(ends[1], 1.0)


@dataclass(frozen=True, eq=False)
class _Shares:
    """Runs of rows in the ``order`` of their scores, and which of the rows have the class, ``true`` (n,)."""

    rows: Predictions
    true: Bools
    order: Codes
    level: float

    @property
    def counted(self) -> bool:
        return self.rows.weights is None or whole(self.rows.weights)

    @property
    def method(self) -> str:
        if self.rows.row_groups is not None:
            return GROUPED if self.counted else LINEARIZED_GROUPS
        return COUNTED if self.counted else LINEARIZED

    @cached_property
    def sums(self) -> tuple[Float64s, Float64s, Float64s, Float64s]:
        """Running sums of weights, and of those with the class; and of the squares of both. Each begins with 0."""
        n = len(self.order)
        weight = np.ones(n) if self.rows.weights is None else self.rows.weights[self.order].astype(np.float64)
        true = self.true[self.order]
        parts = (weight, weight * true, np.square(weight), np.square(weight) * true)
        mass, hits, squares, of_hits = (np.append(0.0, np.cumsum(part)) for part in parts)
        return mass, hits, squares, of_hits

    @cached_property
    def heaviest(self) -> tuple[float, float]:
        """The largest weight of a row with the class, and of one without it; 0 where there is none."""
        weight = np.ones(len(self.order)) if self.rows.weights is None else self.rows.weights
        with_class, without = (float(weight[part].max(initial=0.0)) for part in (self.true, ~self.true))
        return with_class, without

    def mass(self, start: Codes, stop: Codes) -> Float64s:
        """The share of all rows in each run."""
        mass = self.sums[0]
        return np.asarray((mass[stop] - mass[start]) / mass[-1])

    def benefit(self, start: Codes, stop: Codes, odds: Float64s) -> tuple[Float64s, Float64s, Float64s]:
        """Net benefit of acting on each run, with its interval; empty without rows."""
        mass, hits, squares, of_hits = (part[stop] - part[start] for part in self.sums)
        some = mass > 0
        share = np.divide(hits, mass, out=np.zeros(len(odds)), where=some)
        if self.rows.row_groups is not None:
            ends = self._of_groups(start, stop)
        elif self.counted:
            ends = share_ends(share, mass, True, self.level)
        else:
            worth = np.where(some, self._worth(mass, share, squares, of_hits), 1.0)
            ends = clopper_pearson(share * worth, worth, self.level)
        low, high = (np.where(some, end, 0.0) for end in ends)
        value, least, most = (self.mass(start, stop) * (s - (1 - s) * odds) for s in (share, low, high))
        if self.counted:
            return value, least, most
        # Where weights depend on the outcome, the share of rows acted on is not known from the scores.
        half = self._half(value, start, stop, odds)
        return value, np.minimum(least, value - half), np.maximum(most, value + half)

    def _worth(self, mass: Float64s, share: Float64s, squares: Float64s, of_hits: Float64s) -> Float64s:
        """Effective sample size of the share with the class in each run: mass s (1 - s) / sum w^2 (y - s)^2 a unit."""
        variance = np.square(1 - share) * of_hits + np.square(share) * (squares - of_hits)
        alone = mass * share * (1 - share)
        factor = np.divide(variance, alone, out=np.zeros(len(mass)), where=alone > 0)
        plain = np.divide(squares, mass, out=np.ones(len(mass)), where=mass > 0)
        # If all rows of a run have one outcome, one with the other would have at most the weight of such rows.
        unseen = np.where(share > 0, self.heaviest[1], self.heaviest[0])
        return np.asarray(mass / np.where(alone > 0, factor, np.maximum(plain, unseen)))

    def _half(self, value: Float64s, start: Codes, stop: Codes, odds: Float64s) -> Float64s:
        """Student's half width by linearization: rows add w (a - benefit), a = 1, -odds or, outside the run, 0."""
        total, *_ = (part[-1] for part in self.sums)
        groups = self.rows.row_groups
        if groups is None:
            _, _, squares, of_hits = (part[stop] - part[start] for part in self.sums)
            others, every = squares - of_hits, self.sums[2][-1]
            sums = of_hits + np.square(odds) * others - 2 * value * (of_hits - odds * others) + np.square(value) * every
            count = float(total**2 / every)
            sums = sums * count / max(count - 1, 1)
        else:
            assert self.rows.weights is not None
            weight, sums = self.rows.weights.astype(np.float64), np.zeros(len(odds))
            for i in range(len(odds)):
                added = np.full(len(weight), -value[i])
                run = self.order[start[i] : stop[i]]
                added[run] += np.where(self.true[run], 1.0, -odds[i])
                sums[i] = np.square(drawn_apart(together(weight * added, groups), groups, weight)).sum()
            count = of_like_size(groups, weight)
        point = float(student.isf((1 - self.level) / 2, max(count - 1, 1)))
        return np.asarray(point * np.sqrt(np.maximum(sums, 0.0)) / total)

    def _of_groups(self, start: Codes, stop: Codes) -> tuple[Float64s, Float64s]:
        """Ends of the share with the class in each run, for grouped rows."""
        ends = np.full((len(start), 2), np.nan)
        for i in np.flatnonzero(stop > start):
            run = self.order[start[i] : stop[i]]
            low, high, _ = shares_in_cells(self.rows, np.zeros_like(run), self.true[run], run, 1, self.level)
            ends[i] = low[0], high[0]
        return ends[:, 0], ends[:, 1]


def above(score: Float64s, threshold: float, near: float) -> Bools:
    """Mask of the rows acted on: score above the threshold by more than rounding, ``near``."""
    return np.asarray(score > _least(threshold, near))


def _least(threshold: Any, near: float) -> Any:
    """Score to exceed: above the threshold by the amount at which expected costs t and 1 - t differ."""
    return threshold + near * np.maximum(threshold, 1 - threshold)


def class_acted_on(predictions: Predictions, positive: int | None) -> int:
    """The code of the class, by default the event; NotAnswerable where of more than two classes none is chosen."""
    k = predictions.rows.shape[1]
    if positive is None:
        if k != 2:
            raise NotAnswerable(f"a decision curve needs one class, but there are {k}: choose the one to act on")
        return 1 if predictions.event is None else predictions.event
    as_whole(positive, "positive", 0, k - 1)
    return positive
