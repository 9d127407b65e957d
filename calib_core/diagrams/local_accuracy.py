"""When it says 90 %, how often is it right? The share right among the rows whose confidence lies near one asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._arrays import Bools, Float64s
from calib_core._repr import OneLine
from calib_core._row_groups import RowGroups
from calib_core.defaults import LEVEL
from calib_core.diagrams.base import Diagram
from calib_core.diagrams.levels import MOST_LEVELS
from calib_core.inference.clusters import GROUPED, GroupsInCells, share_ends_of
from calib_core.inference.number_words import at_level, between, in_percent, percent, share_range
from calib_core.inference.right_shares import COUNTED, WEIGHED, share_ends
from calib_core.predictions import InputError, NotAnswerable, Predictions, whole
from calib_core.reductions import claims_of

NARROWEST, WIDEST = 3, 12
"""Points on either side of the confidence asked for: rows are looked for this near first, and this far at most."""
ENOUGH = 100
"""Rows at which the window is wide enough."""
FEWEST = 10
"""Rows below which no share is put into a headline."""
ROUNDED = 0.005
"""So far a stated confidence may lie from a whole percent that is asked for."""
_SLACK = 1e-6
"""Scores of a file in float32 lie this far beside the decimals they were."""
Places: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, repr=False)
class LocalAnswer(OneLine):
    """How often the model is right where it says about ``confidence``, in numbers and in words.

    ``rows`` (their number, or what they are worth) say ``lower`` to ``upper``, ``claimed`` on average, and are
    ``share`` of all; ``right`` of them are right, ``low`` to ``high`` at ``level``. Not ``near``: no row says so, and
    these are about the nearest confidence that rows do say. ``groups`` says what rows belong to, if they do.
    """

    confidence: float
    near: bool
    rows: float
    share: float
    claimed: float
    right: float
    low: float
    high: float
    lower: float
    upper: float
    level: float
    groups: str = ""

    @property
    def enough(self) -> bool:
        """Whether there are rows enough to put a share into a headline."""
        return self.rows >= FEWEST

    @property
    def gap(self) -> float | None:
        """What these rows say on average less how often they are right, where the interval shows there is one."""
        if not self.enough or self.low <= self.claimed <= self.high:
            return None
        return self.claimed - self.right

    @property
    def headline(self) -> str:
        """The answer in one sentence, never about rows that say something else."""
        wanted = in_percent(self.confidence)
        if not self.near:
            claimed = in_percent(self.claimed)
            if not self.enough:
                return f"No row says {wanted}, and only {_rows(self.rows)} {_says(self.rows)} near {claimed}."
            return f"It never says {wanted}. When it says {claimed}, it is right {in_percent(self.right)} of the time."
        if not self.enough:
            return f"Only {_rows(self.rows)} {_says(self.rows)} about {wanted}: too few to tell."
        return f"When it says {wanted}, it is right {in_percent(self.right)} of the time."

    @property
    def brief(self) -> str:
        """The answer beside a name, where the question stands already."""
        if not self.enough:
            return "too few rows to tell"
        right = in_percent(self.right)
        return (
            right if self.near else f"never says {in_percent(self.confidence)}; at {in_percent(self.claimed)}, {right}"
        )

    @property
    def basis(self) -> str:
        """What the answer rests on: its interval, the rows, and what they say."""
        share = in_percent(self.share)
        of_all = f"{_rows(self.rows)}{self.groups} ({share} of all) that {_says(self.rows)} {self.range}"
        return f"{share_range(self.low, self.high)} ({at_level(self.level)} interval), from {of_all}"

    @property
    def range(self) -> str:
        """What these rows say, in percent: whole ones, outwards, unless they all say nearly the same."""
        if self.upper - self.lower < _SLACK:
            return percent(float(np.round((self.lower + self.upper) / 2, 6)))
        low, high = np.floor(100 * (self.lower + _SLACK)), np.ceil(100 * (self.upper - _SLACK))
        if high - low <= 1:
            return between(float(np.round(self.lower, 6)), float(np.round(self.upper, 6)))
        return f"{low:.0f} to {high:.0f} %"

    @property
    def difference(self) -> str:
        """How far what these rows say is from how often they are right; of what, where that is not what was asked."""
        if not self.enough:
            return "too few rows"
        if self.gap is None:
            return "no gap shown"
        says = in_percent(self.claimed)
        of = "" if says == in_percent(self.confidence) else f" of {says}" if self.gap > 0 else f" than {says}"
        # Of the shares as they are written, so that whoever subtracts them finds the same.
        written = abs(shown(says) - shown(in_percent(self.right))) or abs(self.gap)
        return f"{points(written)} {'short' if self.gap > 0 else 'more'}{of}"


@dataclass(frozen=True, eq=False, repr=False)
class LocalAccuracy(Diagram):
    """Arrays are (m,), one entry for each confidence asked for.

    ``confidence`` confidence; ``near``, whether a row says it within 3 points (else the window is around the nearest
    confidence that one does say); ``reach``, half the width of the window; ``rows`` in it (their number, or what they
    are worth), ``share`` of all rows, mean confidence ``claimed``, lowest and highest confidence ``lower`` and
    ``upper``, share ``right`` with its interval ``low`` to ``high`` at ``level`` by ``method``.
    """

    drawn: ClassVar[bool] = False

    confidence: Float64s
    near: Bools
    reach: Float64s
    rows: Float64s
    share: Float64s
    claimed: Float64s
    right: Float64s
    low: Float64s
    high: Float64s
    lower: Float64s
    upper: Float64s
    level: float
    method: str
    groups: str = ""

    def frame(self) -> pd.DataFrame:
        """One line per confidence asked for, with the sentence about it."""
        names = ("confidence", "near", "reach", "rows", "share", "claimed", "right", "low", "high", "lower", "upper")
        answers = self.answers
        return pd.DataFrame({name: getattr(self, name) for name in names}).assign(
            headline=[answer.headline for answer in answers],
            basis=[answer.basis for answer in answers],
            difference=[answer.difference for answer in answers],
        )

    @property
    def answers(self) -> tuple[LocalAnswer, ...]:
        """The answer for every confidence asked for."""
        return tuple(map(self._answer, range(len(self.confidence))))

    def answer(self, confidence: float) -> LocalAnswer:
        """The answer for the confidence nearest to one asked for."""
        return self._answer(int(np.abs(self.confidence - confidence).argmin()))

    def elsewhere(self, confidence: float) -> LocalAnswer | None:
        """Of the gaps shown in rows that the window around ``confidence`` does not share, that of most weight; or None.

        What can mislead: it is looked for among many; it says where to look, not how likely such a gap is.
        """
        here = self.answer(confidence)
        apart = [a for a in self.answers if a.gap is not None and (a.lower > here.upper or a.upper < here.lower)]
        return max(apart, key=lambda answer: abs(answer.gap or 0.0) * answer.share, default=None)

    def _answer(self, i: int) -> LocalAnswer:
        names = ("rows", "share", "claimed", "right", "low", "high", "lower", "upper")
        numbers = {name: float(getattr(self, name)[i]) for name in names}
        return LocalAnswer(
            confidence=float(self.confidence[i]),
            near=bool(self.near[i]),
            level=self.level,
            groups=self.groups,
            **numbers,
        )


def local_accuracy(
    predictions: Predictions, confidences: Sequence[float] | None = None, level: float = LEVEL
) -> LocalAccuracy:
    """How often the model is right where its confidence is near each of ``confidences``, by default 0, 1 to 100 %.

    Rows count whose confidence lies within 3 points; where they are fewer than 100, within 4, 5, ... 12, as long as
    they say what was asked to within 3 points on average. Where no row lies within 3 points, the same around the
    nearest confidence that a row says. Where rows state few different confidences, at most 50 and of ten rows on
    average, the rows of one alone count: the nearest, where it rounds to what was asked. The interval is about the mean
    chance of being right of these very rows; which they are is known from their scores alone, so that it holds at its
    level for each confidence, exact for rows that are counted (``share_ends``); rows that belong together count as the
    fewer independent ones that tell as much. It is to be compared with ``claimed``, their mean confidence. What can
    mislead: windows overlap, and a confidence chosen for its answer is one among many looked at; gaps of several
    classes can cancel in a window. Rows that a model abstains on say nothing. Of a summary all rows in a
    cell of its grid, at most a tenth of a point wide, count as if they said their mean.

    References: P1 eq. (1) for what is asked; Clopper & Pearson 1934.

    >>> p = Predictions.from_confidence([0.9] * 400 + [0.5] * 20, [True] * 300 + [False] * 100 + [True] * 20)
    >>> found = local_accuracy(p)
    >>> found.answer(0.9).headline, found.answer(0.9).basis
    ('When it says 90 %, it is right 75 % of the time.',
     '71 to 79 % (90 % interval), from 400 rows (95 % of all) that say 90 %')
    >>> found.answer(0.2).headline
    'It never says 20 %. When it says 50 %, it is right 100 % of the time.'
    """
    places = np.arange(101) / 100 if confidences is None else np.asarray(confidences, dtype=np.float64)
    if places.ndim != 1 or not len(places) or not ((places >= 0) & (places <= 1)).all():
        raise InputError("confidences asked for must be a list of numbers from 0 to 1")
    rows = _Rows.of(predictions)
    nearest = rows.nearest(places)
    stated = rows.stated
    near = np.abs(nearest - places) <= (ROUNDED if stated else NARROWEST / 100) + _SLACK
    first, last, reach = rows.level(nearest) if stated else _windows(rows, np.where(near, places, nearest))
    method = COUNTED if rows.counted else WEIGHED
    if rows.groups is None:
        low, high = share_ends(rows.right(first, last), rows.worth(first, last), rows.counted, level)
    else:
        method = GROUPED if rows.counted else WEIGHED
        low, high = rows.ends_of_groups(first, last, level)
    return LocalAccuracy(
        places,
        near,
        reach,
        rows.worth(first, last),
        rows.share(first, last),
        np.clip(rows.claimed(first, last), rows.score[first], rows.score[last - 1]),
        rows.right(first, last),
        low,
        high,
        rows.score[first],
        rows.score[last - 1],
        level,
        method,
        "" if rows.groups is None else f" in groups{rows.groups.kind}",
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Confidences in order, (n,), and running sums over them, (n + 1,), each beginning with 0."""

    score: Float64s
    counted: bool
    _weight: Float64s
    _square: Float64s
    _score: Float64s
    _right: Float64s
    groups: RowGroups | None = None

    @classmethod
    def of(cls, predictions: Predictions) -> _Rows:
        rows = claims_of(predictions, "confidence").stratum(0).counted()
        if predictions.grain == "counts":
            score, number, right = rows.means
            weight, scores, hits = (np.append(0.0, np.cumsum(part)) for part in (number, number * score, right))
            return cls(score, True, weight, weight, scores, hits)
        order = np.argsort(rows.scores, kind="stable")
        if not len(order):
            raise NotAnswerable("no row says anything: all are abstained on, or carry no weight")
        score = rows.scores[order].astype(np.float64)
        weight = np.ones(len(order)) if rows.weights is None else rows.weights[order].astype(np.float64)
        parts = (weight, np.square(weight), weight * score, weight * rows.outcomes[order])
        counted = predictions.weights is None or whole(predictions.weights)
        grouped = predictions.answered.row_groups
        if grouped is not None:
            carry = predictions.answered.weights
            grouped = grouped.take(order if carry is None else np.flatnonzero(carry > 0)[order])
        running = [np.append(0.0, np.cumsum(part)) for part in parts]
        return cls(score, counted, running[0], running[1], running[2], running[3], grouped)

    @property
    def stated(self) -> bool:
        """Whether few different confidences are stated, each often: then no two have to be put together."""
        values = 1 + int(np.count_nonzero(np.diff(self.score) > _SLACK))
        return values <= MOST_LEVELS and len(self.score) >= FEWEST * values

    def level(self, values: Float64s) -> tuple[Places, Places, Float64s]:
        """First row, last row and one, of those that state each of these confidences, and a window of no width."""
        first, last = (np.searchsorted(self.score, values + sign * _SLACK) for sign in (-1, 1))
        return first, last, np.zeros(len(values))

    def ends_of_groups(self, first: Places, last: Places, level: float) -> tuple[Float64s, Float64s]:
        """Ends of the share right in each window, of rows that belong together; windows alike are made once."""
        assert self.groups is not None
        weight, right = np.diff(self._weight), np.diff(self._right) > 0
        windows, place = np.unique(np.column_stack([first, last]), axis=0, return_inverse=True)
        ends = []
        for start, stop in windows:
            rows = np.arange(start, stop)
            cell = np.zeros(len(rows), dtype=np.intp)
            mine = self.groups.take(rows)
            sums = GroupsInCells.of_rows(cell, mine, self.score[rows], right[rows], weight[rows], 1)
            ends.append([end[0] for end in share_ends_of(sums, self.counted, level)])
        low, high = np.array(ends)[place.ravel()].T
        return low, high

    def worth(self, first: Places, last: Places) -> Float64s:
        """How many rows: copies are counted, others by Kish's number."""
        total = self._weight[last] - self._weight[first]
        if self.counted:
            return total
        squares = self._square[last] - self._square[first]
        return np.asarray(np.divide(np.square(total), squares, out=np.zeros(len(total)), where=squares > 0))

    def share(self, first: Places, last: Places) -> Float64s:
        return np.asarray((self._weight[last] - self._weight[first]) / self._weight[-1])

    def claimed(self, first: Places, last: Places) -> Float64s:
        return self._mean(self._score, first, last)

    def right(self, first: Places, last: Places) -> Float64s:
        return self._mean(self._right, first, last)

    def _mean(self, sums: Float64s, first: Places, last: Places) -> Float64s:
        total = self._weight[last] - self._weight[first]
        mean = np.divide(sums[last] - sums[first], total, out=np.full(len(total), np.nan), where=total > 0)
        # Differences of running sums are off by rounding; a share is none below 0 or above 1.
        return np.asarray(np.clip(mean, 0.0, 1.0))

    def nearest(self, places: Float64s) -> Float64s:
        """The score nearest to each place."""
        after = np.searchsorted(self.score, places)
        below = self.score[np.maximum(after - 1, 0)]
        above = self.score[np.minimum(after, len(self.score) - 1)]
        return np.where(np.abs(places - below) <= np.abs(above - places), below, above)


def _windows(rows: _Rows, places: Float64s) -> tuple[Places, Places, Float64s]:
    """First row, last row and one, and half the width of the window around each place.

    The narrowest of enough rows that say about this much on average, else the widest that do.
    """
    first = np.zeros(len(places), dtype=np.intp)
    last, reach, enough = first.copy(), np.zeros(len(places)), np.zeros(len(places), dtype=bool)
    for width in range(NARROWEST, WIDEST + 1):
        near = np.searchsorted(rows.score, places - width / 100 - _SLACK)
        far = np.searchsorted(rows.score, places + width / 100 + _SLACK)
        fits = ~enough & (np.abs(rows.claimed(near, far) - places) <= NARROWEST / 100 + _SLACK)
        first, last = np.where(fits, near, first), np.where(fits, far, last)
        reach = np.where(fits, width / 100, reach)
        enough |= fits & (rows.worth(near, far) >= ENOUGH)
    return first, last, reach


def shown(percentage: str) -> float:
    """The share that a percentage says.

    >>> shown("63 %")
    0.63
    """
    return float(percentage.removesuffix(" %")) / 100


def points(difference: float) -> str:
    """A difference of shares in percentage points: whole ones from 1 on.

    >>> points(0.208), points(-0.004), points(0.01)
    ('21 points', '0.4 points', '1 point')
    """
    number = 100 * abs(difference)
    text = f"{math.floor(number + 0.5 + 1e-9)}" if number >= 0.95 else f"{number:.1g}"
    return f"{text} {'point' if text == '1' else 'points'}"


def _rows(number: float) -> str:
    """A number of rows, or what rows are worth, as a subject."""
    text = f"{number:,.0f}" if number >= 10 or number == round(number) else f"{number:.1f}"
    return f"{text} {'row' if text == '1' else 'rows'}"


def _says(number: float) -> str:
    return "says" if number == 1 else "say"
