"""Whether acting on a class's probability pays, for every threshold at which one might act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._arrays import Codes, Float64s
from calib_core.defaults import LEVEL
from calib_core.diagrams.base import Diagram
from calib_core.inference.right_shares import COUNTED, WEIGHED, share_ends
from calib_core.predictions import InputError, NotAnswerable, Predictions, whole

THRESHOLDS = tuple(np.arange(1, 100) / 100)


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(Diagram):
    """Arrays are (m,), an entry for each ``threshold`` t: rows of probability t or more are acted on.

    ``acted`` is their share of all rows; ``benefit`` the net benefit with its interval ``low`` to ``high``;
    ``treat_all`` that of acting on every row (of acting on none it is 0), and ``over_all`` how much more the model's
    is, with its interval ``over_all_low`` to ``over_all_high``; each at ``level`` by ``method``, by itself.
    ``positive`` names the class.
    """

    formula: ClassVar[str] = r"t \mapsto \frac{TP_t}{n} - \frac{FP_t}{n}\,\frac{t}{1 - t}"

    threshold: Float64s
    acted: Float64s
    benefit: Float64s
    low: Float64s
    high: Float64s
    treat_all: Float64s
    over_all: Float64s
    over_all_low: Float64s
    over_all_high: Float64s
    positive: str
    level: float
    method: str

    def frame(self) -> pd.DataFrame:
        """One line per threshold, exactly the numbers drawn."""
        names = ("threshold", "acted", "benefit", "low", "high", "treat_all", "over_all", "over_all_low")
        return pd.DataFrame({name: getattr(self, name) for name in (*names, "over_all_high")})


def decision_curve(
    predictions: Predictions,
    positive: int | None = None,
    thresholds: tuple[float, ...] = THRESHOLDS,
    level: float = LEVEL,
) -> DecisionCurve:
    """Net benefit of acting where a class's probability is t or more, for thresholds t: is the model worth using?

    benefit(t) = TP / n - FP / n * t / (1 - t): the share of rows acted on that have the class, less those that do not,
    weighed as somebody weighs them who acts from t on. ``positive`` is the code of the class, by itself 1 of two. The
    interval is exact at each threshold: which rows are acted on is known from their scores, and the share s of them
    that have the class has its interval (``share_ends``); benefit = acted * (s - (1 - s) t / (1 - t)). The difference
    to acting on all is about the other rows in the same way.

    NotAnswerable where rows hold no probability of the class, and for more than two classes without ``positive``.
    InputError for thresholds not between 0 and 1. What can mislead: thresholds matter that somebody would use, and
    intervals stand alone; a benefit above both acting on all and on none says that the model helps there, not that it
    is calibrated. Rows that a model abstains on are left out.

    References: Vickers & Elkin 2006; Clopper & Pearson 1934.

    >>> p = Predictions([[0.1, 0.9]] * 4 + [[0.8, 0.2]] * 6, [1, 1, 1, 0] + [0] * 5 + [1])
    >>> found = decision_curve(p, thresholds=(0.1, 0.5))
    >>> found.frame()[["threshold", "acted", "benefit", "treat_all"]].round(3).values.tolist()  # 0.3 - 0.1 * 1
    [[0.1, 1.0, 0.333, 0.333], [0.5, 0.4, 0.2, -0.2]]
    """
    t = np.asarray(thresholds, dtype=np.float64)
    if not len(t) or not ((t > 0) & (t < 1)).all():
        raise InputError("thresholds must be numbers between 0 and 1, both excluded")
    rows = predictions.written_out().answered
    names, code = rows.class_names or (), _class(rows, positive)
    counted = rows.weights is None or whole(rows.weights)
    order = np.argsort(rows.rows.column(code), kind="stable")
    score = rows.rows.column(code)[order]
    weight = np.ones(len(order)) if rows.weights is None else rows.weights[order].astype(np.float64)
    true = weight * (rows.true_labels[order] == code)
    # Rows below a threshold come first: those acted on are what is left of all.
    mass, hits, squares = (np.append(0.0, np.cumsum(part)) for part in (weight, true, np.square(weight)))
    first, all_rows = np.searchsorted(score, t.astype(score.dtype)), np.full(len(t), len(order))

    def between(start: Codes, stop: Codes) -> _Shares:
        return _Shares(mass[stop] - mass[start], hits[stop] - hits[start], squares[stop] - squares[start], counted)

    none = np.zeros_like(first)
    below, above, every = between(none, first), between(first, all_rows), between(none, all_rows)
    odds, n = t / (1 - t), mass[-1]
    benefit, low, high = above.benefit(odds, n, level)
    left, left_low, left_high = below.benefit(odds, n, level)
    return DecisionCurve(
        t,
        above.mass / n,
        benefit,
        low,
        high,
        every.benefit(odds, n, level)[0],
        -left,
        -left_high,
        -left_low,
        names[code],
        level,
        COUNTED if counted else WEIGHED,
    )


@dataclass(frozen=True, eq=False)
class _Shares:
    """Rows on one side of each threshold: their weight, that of rows with the class, and its squares, each (m,)."""

    mass: Float64s
    true: Float64s
    squares: Float64s
    counted: bool

    def benefit(self, odds: Float64s, n: float, level: float) -> tuple[Float64s, Float64s, Float64s]:
        """What acting on them is worth, and the ends of its interval; nothing where there are none."""
        some = self.mass > 0
        share = np.divide(self.true, self.mass, out=np.zeros(len(odds)), where=some)
        worth = (
            self.mass
            if self.counted
            else np.divide(np.square(self.mass), self.squares, out=np.zeros(len(odds)), where=some)
        )
        low, high = (np.where(some, end, 0.0) for end in share_ends(share, worth, self.counted, level))
        value, least, most = (self.mass / n * (s - (1 - s) * odds) for s in (share, low, high))
        return value, least, most


def _class(predictions: Predictions, positive: int | None) -> int:
    k = predictions.rows.shape[1]
    if positive is None:
        if k != 2:
            raise NotAnswerable(f"a decision curve is about one class, and there are {k}: choose the one to act on")
        return 1
    if not 0 <= positive < k:
        raise InputError(f"positive is {positive}; the classes are 0 to {k - 1}")
    return positive
