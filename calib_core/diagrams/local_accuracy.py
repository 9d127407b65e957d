"""Accuracy of the rows with a confidence near a requested one, such as 90 %."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.notebook_display import OneLine
from calib_core.defaults import LEVEL, SEED, SIGNIFICANCE
from calib_core.diagrams.levels import MOST_LEVELS
from calib_core.estimators.base import claimed_rows, notion_looked_at
from calib_core.inference.intervals.clustered_rows import GROUPED, GroupsInCells, share_ends_of
from calib_core.inference.intervals.elementary import COUNTED, WEIGHED, share_ends, share_test
from calib_core.predictions.event_names import HasClasses, event_phrase
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions, whole
from calib_core.predictions.row_groups import RowGroups
from calib_core.reductions.base import claims_of
from calib_core.results.verdict_table import TOO_FEW
from calib_core.text import at_level, between, in_percent, inside, rounded, share_range, short_percent

NARROWEST, WIDEST = 3, 12
"""Half-widths of the window around the requested confidence, in points: smallest and largest."""
ENOUGH = 100
"""Rows at which the window is wide enough."""
FEWEST = 10
"""Number of rows below which no share is shown in a headline."""
ROUNDED = 0.005
"""Largest distance of a confidence from a requested whole percent."""
DRAWS = 1999
"""Draws of calibrated outcomes that show how far off the furthest of many places is by chance: 5 % to within 0.5."""
TOP = 0.1
"""The share of rows with the highest risk at which the headline of an event opens."""
NEAR = 0.05
"""The share of rows near 90 % at which the headline of a confidence opens there."""
_NOT_EVERYWHERE = "not significant here"
"""Brief text if one interval excludes the prediction but such a gap occurs somewhere by chance."""
_MOST_DIGITS = 6
"""Digits of a percent in a printed end of a range, at most."""
_TINY = 1e-9
_NOISE = 1e-5
"""Percentages by which float32 numbers differ from their decimals."""
_SLACK = 1e-6
"""Largest difference between float32 scores of a file and their decimals."""
Places: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, repr=False)
class LocalAnswer(OneLine):
    """Accuracy near ``confidence``, in numbers and in words.

    ``below`` and ``above`` are the nearest confidences of other rows, infinite where there are none.

    ``rows`` (their number, or effective sample size) have confidences from ``lower`` to ``upper``, ``claimed`` on
    average, and are ``share`` of all rows. Their accuracy is ``right``, with the interval ``low`` to ``high`` at
    ``level``. Not ``near``: no row states this confidence, and the numbers are about the nearest one that rows do
    state. ``groups`` names what rows belong to, if they are in groups. ``updated``: the rows are those with this risk
    in another model, and ``claimed`` is their mean risk in this one.
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
    shown: bool = True
    event: EventWords | None = None
    updated: bool = False
    below: float = -math.inf
    above: float = math.inf

    @property
    def enough(self) -> bool:
        """True if there are enough rows for a share in a headline."""
        return self.rows >= FEWEST

    @property
    def gap(self) -> float | None:
        """Mean prediction minus accuracy of these rows, if a gap is ``shown``; else None.

        None where the interval includes the claim, and where so large a gap is no surprise among all places examined.
        """
        if not self.enough or not self.shown or self.low <= self.claimed <= self.high:
            return None
        return self.claimed - self.right

    @property
    def headline(self) -> str:
        """The answer in one sentence, only about rows with this prediction."""
        wanted = in_percent(self.confidence)
        if self.event is not None:
            noun = self.event.noun
            if not self.enough:
                place = f"about {wanted}" if self.near else f"near {self.stated}"
                return f"Only {_rows(self.rows)} {_has(self.rows)} a risk {place}: too few to tell."
            if self.updated:
                given = f"the {noun} given about {wanted}" if self.near else f"these {noun}"
                return f"The mean risk of {given} is {self.stated}."
            none = "" if self.near else f"No risk is near {wanted}. "
            return f"{none}Of {noun} given a risk of about {self.stated}, {in_percent(self.right)} {self.event.phrase}."
        if not self.near:
            claimed = in_percent(self.claimed)
            if not self.enough:
                number = _number(self.rows)
                return f"No prediction is near {wanted}. {number} {_is(self.rows)} near {claimed}: too few to tell."
            return f"It never says {wanted}. When it says {claimed}, it is right {in_percent(self.right)} of the time."
        if not self.enough:
            noun = "prediction" if self.rows == 1 else "predictions"
            return f"Only {_number(self.rows)} {noun} {_is(self.rows)} near {wanted}: too few to tell."
        return f"When it says {self.stated}, it is right {in_percent(self.right)} of the time."

    @property
    def doubt(self) -> str:
        """Note that the gap in the headline is not significant; empty if it is, or if there is no gap."""
        if not self.enough or self.updated or self.gap is not None:
            return ""
        claim = self.stated if self.near else in_percent(self.claimed)
        if in_percent(self.right) == claim:
            return ""
        # An interval that excludes the claim looks significant: it is for one place, the word for all.
        corrected = "" if self.low <= self.claimed <= self.high else " after correction for looking at many positions"
        return f"This difference is not significant{corrected}."

    @property
    def stated(self) -> str:
        """The requested confidence or the mean prediction of these rows, as in the headline."""
        return in_percent(self.claimed if self.by_mean else self.confidence)

    @property
    def by_mean(self) -> bool:
        """True if the headline names these rows by their mean prediction, not by the requested confidence.

        It does so for risks, and for rows near a confidence that none of them has, not even rounded. So a model whose
        rows have at most 94 % is not said to claim 96 %.
        """
        if self.event is not None:
            return True
        stated = self.lower - ROUNDED <= self.confidence <= self.upper + ROUNDED and self.confidence < 1
        return self.enough and self.near and not stated

    @property
    def brief(self) -> str:
        """The answer next to a model's name."""
        if not self.enough:
            return TOO_FEW
        if self.updated:
            return self.stated
        if self.near or self.event is not None:
            return in_percent(self.right)
        return inside(self.headline).removesuffix(".")

    @property
    def basis(self) -> str:
        """Basis of the answer: its interval, the rows, and their predictions."""
        if self.updated:
            ends = f"{share_range(self.low, self.high)} ({at_level(self.level)} interval)"
            return f"observed frequency of the same {_rows(self.rows)}: {in_percent(self.right)}, {ends}"
        share = in_percent(self.share)
        says = "with a confidence of" if self.event is None else "with a predicted risk of"
        window = self.event is None and self.near and self.upper - self.lower >= _SLACK
        around = f" (a window around {in_percent(self.confidence)})" if window else ""
        of_all = f"{_rows(self.rows)}{self.groups} ({share} of all) {says} {self.range}{around}"
        return f"{share_range(self.low, self.high)} ({at_level(self.level)} interval), from {of_all}"

    @property
    def range(self) -> str:
        """Range of predictions in percent, rounded outwards with the fewest digits that exclude other rows."""
        if self.upper - self.lower < _SLACK:
            return self._single
        for least in range(_MOST_DIGITS + 1):
            low = -_outwards(-self.lower, -self.below, least)
            high = _outwards(self.upper, self.above, least)
            if high - low > 1.5 * 10.0**-least:
                return f"{_plain(low)} to {_plain(high)} %"
        return between(float(np.round(self.lower, 6)), float(np.round(self.upper, 6)))

    @property
    def _single(self) -> str:
        """The one confidence these rows have, with digits that no other row's has."""
        value = float(np.round((self.lower + self.upper) / 2, 6))
        texts = (short_percent(value, digits) for digits in (None, *range(1, _MOST_DIGITS + 1)))
        others = [other for other in (self.below, self.above) if math.isfinite(other)]
        known = (text for text in texts if all(abs(shown(text) - value) < abs(shown(text) - o) for o in others))
        return next(known, short_percent(value))

    @property
    def difference(self) -> str:
        """Difference between mean prediction and accuracy of these rows, as text."""
        if not self.enough:
            return "too few rows"
        if self.gap is None:
            return "no clear gap" if self.low <= self.claimed <= self.high else _NOT_EVERYWHERE
        says = in_percent(self.claimed)
        of = "" if says == self.stated else f" than {says}"
        # Of the shares as they are written, so that whoever subtracts them finds the same.
        written = abs(shown(says) - shown(in_percent(self.right))) or abs(self.gap)
        if self.event is not None:
            return f"{points(written)} too {'high' if self.gap > 0 else 'low'}"
        return f"{points(written)} {'lower' if self.gap > 0 else 'higher'}{of}"


@dataclass(frozen=True, repr=False)
class EventWords(OneLine):
    """Names of rows and their event in a sentence: "Of ``noun`` given a risk of about 30 %, 14 % ``phrase``."

    >>> EventWords.of(Predictions([[0.7, 0.3]], [0], class_names=["died", "survived"]))
    EventWords(of rows some died)
    """

    noun: str
    phrase: str

    @classmethod
    def of(cls, predictions: HasClasses) -> EventWords:
        """Default wording, from the name of the event's class, or of the outcome if the class is a code."""
        assert predictions.event is not None
        return cls("rows", event_phrase((predictions.class_names or ())[predictions.event], predictions.outcome))

    def _line(self) -> str:
        return f"of {self.noun} some {self.phrase}"


@dataclass(frozen=True, eq=False, repr=False)
class LocalAccuracy(Diagram):
    """Accuracy near requested confidences; arrays are (m,), one entry for each of them.

    ``near`` is True where a row has this ``confidence`` to within 3 points; otherwise the window is around the nearest
    one that a row has. ``reach`` is half the width of the window, ``rows`` its number of rows (or effective sample
    size), and ``share`` their share of all rows. ``claimed`` is their mean confidence, ``lower`` and ``upper`` the
    lowest and highest one. ``right`` is their accuracy, with its interval ``low`` to ``high`` at ``level`` by
    ``method``. ``shown``: the interval excludes ``claimed``, and 95 % of calibrated models have so large a gap,
    relative to its noise, at none of these places. It does not depend on ``level`` and corrects for the search over
    places. ``below`` and ``above`` are the nearest confidences outside the window. For an event (``event``), confidence
    is its risk.
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
    shown: Bools = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    event: EventWords | None = None
    updated: bool = False
    below: Float64s = field(default_factory=lambda: np.zeros(0))
    above: Float64s = field(default_factory=lambda: np.zeros(0))

    def frame(self) -> pd.DataFrame:
        """One line per requested confidence, with its sentence."""
        names = ("confidence", "near", "reach", "rows", "share", "claimed", "right", "low", "high", "lower", "upper")
        answers = self.answers
        return pd.DataFrame({name: getattr(self, name) for name in names}).assign(
            headline=[answer.headline for answer in answers],
            basis=[answer.basis for answer in answers],
            difference=[answer.difference for answer in answers],
            range=[answer.range for answer in answers],
            shown=self.shown,
        )

    @property
    def nearby(self) -> pd.DataFrame:
        """The lines of the frame about rows near the requested prediction.

        >>> p = Predictions.from_confidence([0.9] * 400, [True] * 300 + [False] * 100)
        >>> local_accuracy(p, [0.2, 0.9]).nearby["confidence"].tolist()
        [0.9]
        """
        return self.frame()[self.near].reset_index(drop=True)

    @property
    def answers(self) -> tuple[LocalAnswer, ...]:
        """The answer for every requested confidence."""
        return tuple(map(self._answer, range(len(self.confidence))))

    def answer(self, confidence: float) -> LocalAnswer:
        """The answer for the confidence nearest to a requested one."""
        return self._answer(int(np.abs(self.confidence - confidence).argmin()))

    def elsewhere(self, confidence: float) -> LocalAnswer | None:
        """Significant gap of most weight among rows outside the window around ``confidence``; None without one.

        What can mislead: it is selected among many. It shows where to look, not how likely such a gap is.
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
            shown=bool(self.shown[i]),
            event=self.event,
            updated=self.updated,
            below=float(self.below[i]) if len(self.below) else -math.inf,
            above=float(self.above[i]) if len(self.above) else math.inf,
            **numbers,
        )


def local_accuracy(
    predictions: Predictions, confidences: Sequence[float] | None = None, level: float = LEVEL
) -> LocalAccuracy:
    """Accuracy of the model near each of ``confidences``, by default 0, 1 to 100 %.

    Rows with a confidence within 3 points count. Where they are fewer than 100, rows within 4, 5, ... 12 points count,
    as long as their mean stays within 3 points of the requested confidence. Where no row lies within 3 points, the same
    applies around the nearest confidence of a row. Rows can state few different confidences: at most 50, with ten rows
    each on average. Then only the rows of the nearest one count, if it rounds to the requested one. The interval is
    about the mean chance of being right of these very rows. Which rows these are is known from their scores only. The
    interval is therefore valid at its level for each confidence, and exact for counted rows (``share_ends``). Rows in
    groups count as their effective sample size. It is to be compared with ``claimed``, their mean confidence. A gap is
    ``shown`` where it is more than chance makes anywhere among these places. What can mislead: windows overlap, and the
    interval of a confidence chosen for its answer is one among many. Gaps of several classes can cancel in a window.
    Rows with an abstention are left out. For a summary, all rows in a cell of its grid, at most a tenth of a point
    wide, count with their mean confidence.

    References: P1 eq. (1) for what is asked; Clopper & Pearson 1934.

    >>> p = Predictions.from_confidence([0.9] * 400 + [0.5] * 20, [True] * 300 + [False] * 100 + [True] * 20)
    >>> found = local_accuracy(p)
    >>> found.answer(0.9).headline, found.answer(0.9).basis
    ('When it says 90 %, it is right 75 % of the time.',
     '71 to 79 % (90 % interval), from 400 rows (95 % of all) with a confidence of 90 %')
    >>> found.answer(0.2).headline
    'It never says 20 %. When it says 50 %, it is right 100 % of the time.'
    """
    places = np.arange(101) / 100 if confidences is None else np.asarray(confidences, dtype=np.float64)
    if places.ndim != 1 or not len(places) or not ((places >= 0) & (places <= 1)).all():
        raise InputError("the requested confidences must be a list of numbers from 0 to 1")
    return _looked_up(_Rows.of(predictions), places, level, on_odds=False)


def local_frequency(
    predictions: Predictions,
    risks: Sequence[float] | None = None,
    level: float = LEVEL,
    words: EventWords | tuple[str, str] | None = None,
) -> LocalAccuracy:
    """Observed frequency of the event of two classes near each of the predicted ``risks``.

    By default ``risks`` are about 100 round places from 0 to the highest risk but one in a thousand. The width of the
    window around a risk r follows the scale: log-odds 0.12 to either side (3 points at 50 %, 1.1 at 10 %, 0.12 at 1 %).
    With fewer than 100 rows it is wider, up to four times, as long as their mean risk stays within the narrowest
    window. All else is as in ``local_accuracy``, with the risk for the confidence. Which rows are in a window is known
    from their scores only, so that each interval is valid at its level. ``words`` are the names of the rows and the
    event. NotAnswerable where there are not two classes with a probability each.

    References: Clopper & Pearson 1934; Van Calster et al. 2016 (moderate calibration).

    >>> risk = np.repeat([0.3, 0.1], [200, 400])
    >>> died = np.r_[np.arange(200) < 28, np.arange(400) < 40].astype(int)
    >>> p = Predictions(np.column_stack([1 - risk, risk]), died, class_names=["survived", "died"])
    >>> local_frequency(p).answer(0.3).headline
    'Of rows given a risk of about 30 %, 14 % died.'
    >>> local_frequency(p, words=("patients", "died")).answer(0.3).headline
    'Of patients given a risk of about 30 %, 14 % died.'
    """
    rows = _Rows.of(claimed_rows(predictions, "event"))
    places = rows.places() if risks is None else np.asarray(risks, dtype=np.float64)
    if places.ndim != 1 or not len(places) or not ((places >= 0) & (places <= 1)).all():
        raise InputError("the requested risks must be a list of numbers from 0 to 1")
    return replace(_looked_up(rows, places, level, on_odds=True), event=_named(words, predictions))


def updated_frequency(
    before: Predictions,
    after: Predictions,
    risks: Sequence[float] | None = None,
    level: float = LEVEL,
    words: EventWords | tuple[str, str] | None = None,
) -> LocalAccuracy:
    """Mean risk after an update of the rows that ``before`` gives each of ``risks``, and their observed frequency.

    Windows, rows, observed frequency and its interval are those of ``local_frequency(before, risks)``. ``claimed`` is
    the mean risk of the same rows by ``after``, predictions of the same rows in the same order. A gap is ``shown``
    where it is more than chance makes anywhere among these places. What can mislead: the rows are those of one risk
    before the update; after it they may have different risks. NotAnswerable where the rows are not the same.

    >>> risk = np.repeat([0.3, 0.1], [200, 400])
    >>> died = np.r_[np.arange(200) < 28, np.arange(400) < 40].astype(int)
    >>> p = Predictions(np.column_stack([1 - risk, risk]), died, class_names=["survived", "died"])
    >>> updated = p.with_probs(np.column_stack([1 - risk / 2, risk / 2]))
    >>> found = updated_frequency(p, updated, words=("patients", "died"))
    >>> found.answer(0.3).headline, found.answer(0.3).difference
    ('The mean risk of the patients given about 30 % is 15 %.', 'no clear gap')
    """
    if after.abstained is not None:
        answered = np.flatnonzero(~after.abstained)
        before, after = before.take(answered), after.take(answered)
    old, new = claimed_rows(before, "event"), claimed_rows(after, "event")
    if old.n_rows != new.n_rows or "counts" in (old.grain, new.grain):
        raise NotAnswerable("the two models have different rows")
    rows = _Rows.of(old)
    places = rows.places() if risks is None else np.asarray(risks, dtype=np.float64)
    found = _looked_up(rows, places, level, on_odds=True, given=rows.given(old, new))
    return replace(found, event=_named(words, before), updated=True)


def _named(words: EventWords | tuple[str, str] | None, predictions: Predictions) -> EventWords:
    named = EventWords(*words) if isinstance(words, tuple) else words
    return named or EventWords.of(predictions)


def opening(predictions: Predictions, notion: str | None = None) -> float:
    """Initial risk or confidence of the headline, in the model's usual range; from scores only.

    For the event of two classes it is the mean risk of the tenth of rows with the highest risk. Otherwise 90 % where at
    least 5 % of the rows have a confidence within 3 points of it, else the median confidence; in whole percent.
    ``notion`` is "event" or "confidence"; None: that of ``notion_looked_at``.

    >>> opening(Predictions.from_confidence([0.99, 0.98, 0.9], [True] * 3))
    0.9
    >>> round(opening(Predictions([[0.9, 0.1]] * 18 + [[0.6, 0.4]] * 2, [0] * 20)), 12)
    0.4
    """
    notion = notion or notion_looked_at(predictions)
    rows = _Rows.of(claimed_rows(predictions, notion))
    if notion == "event":
        return rows.mean_of_highest(TOP)
    first, last = (np.searchsorted(rows.score, [0.9 + s * (NARROWEST / 100 + _SLACK)]) for s in (-1, 1))
    return 0.9 if float(rows.share(first, last)[0]) >= NEAR else round(rows.median(), 2)


def _looked_up(
    rows: _Rows, places: Float64s, level: float, *, on_odds: bool, given: _Rows | None = None
) -> LocalAccuracy:
    """The answers for all places; windows are of equal width in the score, or in its log-odds.

    ``given`` contains the same rows with the scores to compare with the outcomes, where these differ from the scores of
    the windows.
    """
    nearest = rows.nearest(places)
    stated = rows.stated
    unit = _unit_of_odds(places) if on_odds else np.full(len(places), 0.01)
    narrowest = np.minimum(ROUNDED, NARROWEST * unit) if stated else NARROWEST * unit
    near = np.abs(nearest - places) <= narrowest + _SLACK
    middle = np.where(near, places, nearest)
    unit = _unit_of_odds(middle) if on_odds else unit
    first, last, reach = rows.level(nearest) if stated else _windows(rows, middle, unit)
    method = COUNTED if rows.counted else WEIGHED
    if rows.groups is None:
        low, high = share_ends(rows.right(first, last), rows.worth(first, last), rows.counted, level)
    else:
        method = GROUPED if rows.counted else WEIGHED
        low, high = rows.ends_of_groups(first, last, level)
    compared = rows if given is None else given
    claimed = compared.claimed(first, last)
    if given is None:
        claimed = np.clip(claimed, rows.score[first], rows.score[last - 1])
    return LocalAccuracy(
        places,
        near,
        reach,
        rows.worth(first, last),
        rows.share(first, last),
        claimed,
        rows.right(first, last),
        low,
        high,
        rows.score[first],
        rows.score[last - 1],
        level,
        method,
        "" if rows.groups is None else f" in groups{rows.groups.kind}",
        ((low > claimed) | (high < claimed)) & compared.beyond_chance(first, last),
        below=np.where(first > 0, rows.score[first - 1], -math.inf),
        above=np.where(last < len(rows.score), rows.score[np.minimum(last, len(rows.score) - 1)], math.inf),
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
        rows: Any = claims_of(predictions, "confidence").stratum(0).counted()
        if predictions.grain == "counts":
            score, number, right = rows.means
            weight, scores, hits = (np.append(0.0, np.cumsum(part)) for part in (number, number * score, right))
            return cls(score, True, weight, weight, scores, hits)
        order = np.argsort(rows.scores, kind="stable")
        if not len(order):
            raise NotAnswerable("there are no rows to evaluate: the model abstains on all, or their weights are 0")
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

    def given(self, before: Predictions, after: Predictions) -> _Rows:
        """The same rows in the same order, with the scores of another model for what they are given."""
        old, new = before.answered, after.answered
        order = np.argsort(old.confidence, kind="stable")
        if old.weights is not None:
            order = order[old.weights[order] > 0]
        weight = np.diff(self._weight)
        scores = new.confidence[order].astype(np.float64)
        return replace(self, score=scores, _score=np.append(0.0, np.cumsum(weight * scores)))

    @property
    def stated(self) -> bool:
        """True if there are few distinct confidences, each frequent, so that no two need to be pooled."""
        values = 1 + int(np.count_nonzero(np.diff(self.score) > _SLACK))
        return values <= MOST_LEVELS and len(self.score) >= FEWEST * values

    def level(self, values: Float64s) -> tuple[Places, Places, Float64s]:
        """First row, last row and one, of those that state each of these confidences, and a window of no width."""
        first, last = (np.searchsorted(self.score, values + sign * _SLACK) for sign in (-1, 1))
        return first, last, np.zeros(len(values))

    def ends_of_groups(self, first: Places, last: Places, level: float) -> tuple[Float64s, Float64s]:
        """Ends of the accuracy in each window, for rows in groups; equal windows are computed once."""
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
        """Number of rows: copies are counted, other weights by Kish's effective sample size."""
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

    def places(self) -> Float64s:
        """About a hundred round places from 0 to the highest score but one in a thousand."""
        top = float(self.score[np.searchsorted(self._weight, 0.999 * self._weight[-1], side="left") - 1])
        steps = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01]
        step = next((each for each in steps if 100 * each >= top), 0.01)
        return np.round(np.arange(101) * step, 4)

    def mean_of_highest(self, share: float) -> float:
        """The mean score of this share of the rows, those with the highest."""
        from_ = min(np.searchsorted(self._weight, (1 - share) * self._weight[-1] - 1e-9), len(self.score) - 1)
        total = self._weight[-1] - self._weight[from_]
        return float((self._score[-1] - self._score[from_]) / total)

    def median(self) -> float:
        """The score that half of the weight lies at or below."""
        return float(self.score[min(np.searchsorted(self._weight[1:], self._weight[-1] / 2), len(self.score) - 1)])

    def beyond_chance(self, first: Places, last: Places) -> Bools:
        """Windows that are further off than the furthest one of 95 % of calibrated models.

        The p-value of each window (``share_test``) is compared with the smallest of all windows in draws of calibrated
        outcomes. A window is marked where (1 + draws whose smallest is no larger) / (1 + draws) is at most 0.05. Where
        rows are in groups, or have unequal weights, their joint law is unknown. Bonferroni's corrected interval then
        decides.
        """
        windows, place = np.unique(np.column_stack([first, last]), axis=0, return_inverse=True)
        start, stop = windows.T
        enough = self.worth(start, stop) >= FEWEST
        if not enough.any():
            return np.zeros(len(first), dtype=np.bool_)
        start, stop, number = start[enough], stop[enough], int(enough.sum())
        says, right, worth = self.claimed(start, stop), self.right(start, stop), self.worth(start, stop)
        found = np.zeros(len(windows), dtype=np.bool_)
        if self.groups is not None:
            low, high = self.ends_of_groups(start, stop, 1 - SIGNIFICANCE / number)
            found[enough] = (low > says) | (high < says)
        elif not self.counted:
            found[enough] = share_test(right, says, worth, False) <= SIGNIFICANCE / number
        else:
            rng = np.random.default_rng(SEED)
            edges = np.unique(np.append(start, stop))
            rows = np.round(np.diff(self._weight[edges])).astype(np.int64)
            sums = np.diff(self._score[edges])
            share = np.clip(np.divide(sums, rows, out=np.zeros(len(rows)), where=rows > 0), 0.0, 1.0)
            hits = np.cumsum(rng.binomial(rows, share, (DRAWS, len(rows))), axis=1)
            hits = np.column_stack([np.zeros(DRAWS), hits])
            drawn = hits[:, np.searchsorted(edges, stop)] - hits[:, np.searchsorted(edges, start)]
            # Few different numbers come out in a window: each is tested once.
            code, back = np.unique(drawn * number + np.arange(number), return_inverse=True)
            of = (code % number).astype(np.intp)
            p = share_test(code // number / worth[of], says[of], worth[of], True)[back]
            least = np.sort(p.reshape(drawn.shape).min(axis=1))
            seen = share_test(right, says, worth, True)
            rank = np.searchsorted(least, seen * (1 + 1e-9), side="right")
            found[enough] = (1 + rank) / (1 + DRAWS) <= SIGNIFICANCE
        return found[place.ravel()]

    def nearest(self, places: Float64s) -> Float64s:
        """The score nearest to each place."""
        after = np.searchsorted(self.score, places)
        below = self.score[np.maximum(after - 1, 0)]
        above = self.score[np.minimum(after, len(self.score) - 1)]
        return np.where(np.abs(places - below) <= np.abs(above - places), below, above)


def _unit_of_odds(places: Float64s) -> Float64s:
    """Width at each risk of a point at 50 %: the same in log-odds, at least that at one in ten thousand."""
    inside = np.clip(places, 1e-4, 1 - 1e-4)
    return 0.04 * inside * (1 - inside)


def _windows(rows: _Rows, places: Float64s, unit: Float64s) -> tuple[Places, Places, Float64s]:
    """First row, last row and one, and half the width of the window around each place.

    The narrowest with enough rows whose mean is about this score, else the widest with such a mean.
    """
    first = np.zeros(len(places), dtype=np.intp)
    last, reach, enough = first.copy(), np.zeros(len(places)), np.zeros(len(places), dtype=bool)
    for width in range(NARROWEST, WIDEST + 1):
        near = np.searchsorted(rows.score, places - width * unit - _SLACK)
        far = np.searchsorted(rows.score, places + width * unit + _SLACK)
        fits = ~enough & (np.abs(rows.claimed(near, far) - places) <= NARROWEST * unit + _SLACK)
        first, last = np.where(fits, near, first), np.where(fits, far, last)
        reach = np.where(fits, width * unit, reach)
        enough |= fits & (rows.worth(near, far) >= ENOUGH)
    return first, last, reach


def shown(percentage: str) -> float:
    """The share of a formatted percentage.

    >>> shown("63 %")
    0.63
    """
    return float(percentage.removesuffix(" %")) / 100


def _outwards(end: float, next_one: float, least: int) -> float:
    """An upper end in percent, rounded up to the fewest digits, ``least`` or more, that leave the next row out."""
    for digits in range(least, _MOST_DIGITS + 1):
        unit = 10.0**-digits
        rounded = np.ceil((100 * end - (_NOISE if digits < 3 else 0.0)) / unit) * unit
        if rounded + _TINY < 100 * next_one:
            return float(rounded)
    return 100 * end


def _plain(percent: float) -> str:
    text = f"{percent + 0.0:.{_MOST_DIGITS}f}"
    return text.rstrip("0").rstrip(".")


def points(difference: float) -> str:
    """A difference of shares in percentage points: whole ones from 1 on.

    >>> points(0.208), points(-0.004), points(0.01)
    ('21 points', '0.4 points', '1 point')
    """
    number = 100 * abs(difference)
    text = rounded(number) if number >= 0.95 else f"{number:.1g}"
    return f"{text} {'point' if text == '1' else 'points'}"


def _rows(number: float) -> str:
    """A number of rows, or an effective sample size, as a subject."""
    text = f"{number:,.0f}" if number >= 10 or number == round(number) else f"{number:.1f}"
    return f"{text} {'row' if text == '1' else 'rows'}"


def _number(number: float) -> str:
    return _rows(number).partition(" ")[0]


def _is(number: float) -> str:
    return "is" if number == 1 else "are"


def _has(number: float) -> str:
    return "has" if number == 1 else "have"
