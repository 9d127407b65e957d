"""The calibration error that remains after recalibration, and the predicted classes that are then off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calib_core._base.notebook_display import OneLine
from calib_core.defaults import RATIO, SIGNIFICANCE, TOLERANCE
from calib_core.estimators.base import Estimate
from calib_core.evaluation.error_tests import ErrorTests
from calib_core.inference.significance.count_tests import predicted_classes
from calib_core.inference.verdicts.estimate_line import EstimateLine
from calib_core.inference.verdicts.primary_measure import PrimaryLine, primary
from calib_core.inference.verdicts.verdict import ratio_range, tolerated_ratios
from calib_core.predictions.predictions import Predictions
from calib_core.results.verdict_table import MISCALIBRATED, WITHIN
from calib_core.text import at_level, called, count, inside, short_percent, told_apart
from calib_core.text import score as written


class ClassOff(NamedTuple):
    """A predicted class whose rows are off: its name, mean confidence, accuracy and number of rows."""

    name: str
    says: float
    right: float
    rows: int

    @property
    def gap(self) -> float:
        """Size of the gap between mean confidence and accuracy."""
        return abs(self.right - self.says)

    @property
    def numbers(self) -> str:
        """Mean confidence and accuracy in words."""
        return "mean confidence {}, accuracy {}".format(*told_apart(self.says, self.right))

    def sentence(self, off: str = "significantly off", more: str = "") -> str:
        """Sentence that the class's predictions are ``off``, with its numbers and what is to follow them."""
        return f"Predictions of {called(self.name)} are {off}: {self.numbers}{more}."


def classes_off(rows: Predictions, eps: float = TOLERANCE) -> tuple[ClassOff, ...]:
    """Return the predicted classes that are significantly off and have a gap above ``eps``, the largest gap first.

    Tests and correction are those of the findings (``significance.predicted_classes``); two classes have none, because
    their risk is judged, and neither have bare confidences. What can mislead: the test is for an error of any size over
    the bins of a class. So the gap need not be significantly above ``eps``. A class with few rows is rarely
    significant.

    >>> p = Predictions([[0.9, 0.1, 0]] * 100 + [[0.1, 0.9, 0]] * 100, [0] * 90 + [1] * 80 + [0] * 30)
    >>> [(off.name, off.rows, off.numbers) for off in classes_off(p)]
    [('1', 100, 'mean confidence 90 %, accuracy 70 %')]
    """
    if rows.event is not None or rows.kind == "confidence":
        return ()
    answered = rows.answered
    names = answered.class_names or ()
    weights = np.ones(answered.n_rows) if answered.weights is None else answered.weights
    code = answered.predicted.astype(np.intp)
    total, stated, right = (
        np.bincount(code, weights * part, len(names)) for part in (1.0, answered.confidence, answered.correct)
    )
    tests = predicted_classes(rows)
    found = [
        ClassOff(names[c], stated[c] / total[c], right[c] / total[c], int(tests["rows"].iloc[c]))
        for c in np.flatnonzero(tests["p_holm"].to_numpy() <= SIGNIFICANCE)
    ]
    return tuple(sorted((off for off in found if off.gap > eps), key=lambda off: -off.gap))


FEW_BINS = 3
"""Number of filled bins up to which the error is also given in bins of equally many rows."""
_FILLED = 0.01
"""Smallest share of the rows in a bin that counts as filled."""


def bins_filled(estimate: Estimate) -> int | None:
    """Return the number of bins with at least 1 % of the rows, over all classes; None for an estimate without bins.

    >>> from calib_core import estimate
    >>> bins_filled(estimate(Predictions.from_confidence([0.6, 0.9] * 9, [True] * 18), "confidence", "ece"))
    2
    """
    if estimate.bins is None:
        return None
    rows = estimate.table.groupby("bin")["weight"].sum()
    return int((rows >= _FILLED).sum())


def in_few_bins(before: PrimaryLine, after: PrimaryLine) -> str:
    """Sentence on recalibrated scores that fill only a few bins, with the error in other bins; else empty.

    The lines are those of the same rows ``before`` and ``after`` recalibration.
    """
    even, filled = _in_even_bins(before, after), _filled_said(after)
    if even is None or not isinstance(even.after.line.point, float):
        return ""
    line = even.after.line
    return (
        f"{filled}, and gaps within a bin cancel. In bins of equally many rows, the error is estimated at "
        f"{line.written(line.point)} ({at_level(line.level)} interval {line.interval})."
    )


class _Pair(NamedTuple):
    """The same measure of the same rows before and after recalibration."""

    before: PrimaryLine | None
    after: PrimaryLine


def _in_even_bins(before: PrimaryLine, after: PrimaryLine) -> _Pair | None:
    """The errors in bins of equally many rows; None if the recalibrated scores fill enough of the usual bins."""
    old, new = bins_filled(before.estimate), bins_filled(after.estimate)
    if after.notion == "event" or old is None or new is None or new > min(FEW_BINS, old - 1):
        return None
    lines = []
    for line in (before, after):
        assert line.estimate.question is not None
        lines.append(primary(line.estimate.question.predictions, line.eps, line.level, "equal-mass", beside=before))
    return _Pair(*lines)


def _filled_said(line: PrimaryLine) -> str:
    """In words, without its period: how many bins the recalibrated scores fill."""
    filled = bins_filled(line.estimate) or 0
    return f"The recalibrated confidences fill only {count(filled)} {'bin' if filled == 1 else 'bins'}"


@dataclass(frozen=True, eq=False, repr=False)
class Remaining(OneLine):
    """The calibration error that remains after the recommended calibrator, judged on rows it was not fitted on.

    ``before`` is the same measure of the same rows before recalibration, if known. ``slope`` is the calibration slope
    afterwards with its interval and the p-value of a slope of 1, for the risk of an event. The p-value is corrected for
    the tests for an error (``ErrorTests``), as in ``calib audit``. ``off`` are the predicted classes that are then off
    (``classes_off``), which a mean over all classes can hide. ``even`` are both errors in bins of equally many rows.
    They are there if the scores fill only ``FEW_BINS`` bins (``bins_filled``), in which gaps cancel, and then all
    sentences are about them. ``smaller`` is a sentence on another calibrator that leaves a smaller error
    (``advice.smaller_error``). ``simpler`` is the same for the simpler calibrator that is recommended, too, if there is
    one (``CalibratorChoice.simple``).
    """

    line: PrimaryLine
    before: PrimaryLine | None = None
    slope: tuple[float, float, float, float] | None = None
    off: tuple[ClassOff, ...] = ()
    even: _Pair | None = None
    smaller: str = ""
    simpler: Remaining | None = None

    @classmethod
    def of(cls, before: Predictions, after: Predictions, eps: float, level: float, ratio: float = RATIO) -> Remaining:
        """Judge the same rows before and after recalibration."""
        first = primary(before, eps, level, ratio=ratio)
        slope = None
        if after.event is not None and after.grain == "rows":
            tests = ErrorTests(after, eps=eps, ratio=ratio, level=level)
            if (found := tests.large) is not None:
                slope = found.slope, found.slope_low, found.slope_high, tests.corrected.get("slope", float("nan"))
        line = primary(after, eps, level, beside=first, ratio=ratio)
        return cls(line, first, slope, classes_off(after, eps), _in_even_bins(first, line))

    @property
    def _judged(self) -> _Pair:
        """The errors that the sentences are about."""
        return self.even or _Pair(self.before, self.line)

    @property
    def _error(self) -> str:
        """The error in words: with several classes which one."""
        bins = " in bins of equally many rows" if self.even else ""
        which = "" if self.line.notion == "event" else f" ({inside(self.line.line.title)}{bins})"
        return f"calibration error{which}"

    @property
    def fall(self) -> str:
        """Sentence on the error before and after, the latter with its interval; empty if it does not fall.

        An estimate of 0 without its interval would look like no remaining error. Also empty if one is unknown.
        """
        old, new = self._lines
        if old is None or not (isinstance(old.point, float) and isinstance(new.point, float)):
            return ""
        # NaN does not count as smaller.
        if not (0 <= new.point < old.point < np.inf) or new.written(new.point) == old.written(old.point):
            return ""
        ends = "" if new.interval == "–" else f" ({at_level(new.level)} interval {new.interval})"
        return (
            f"The {self._error} is estimated to fall from {old.written(old.point)} to {new.written(new.point)}{ends}."
        )

    @property
    def change(self) -> str:
        """Sentence on the error before and after, also if it does not fall; empty if one of them is unknown."""
        old, new = self._lines
        if self.fall or old is None or not (isinstance(old.point, float) and isinstance(new.point, float)):
            return self.fall
        ends = "" if new.interval == "–" else f" ({at_level(new.level)} interval {new.interval})"
        before = f"before recalibration at {old.written(old.point)}"
        return f"The {self._error} is estimated at {new.written(new.point)}{ends}, {before}."

    @property
    def _lines(self) -> tuple[EstimateLine | None, EstimateLine]:
        before, after = self._judged
        return None if before is None else before.line, after.line

    @property
    def word(self) -> str | None:
        """The verdict, None if there is none."""
        return self._judged.after.line.verdict

    @property
    def sentence(self) -> str:
        """Sentences on the remaining error (for an event also the ratio of events), slope, and classes that are off."""
        of_all = f"{self._of_tolerance}{self._of_slope}"
        return " ".join(filter(None, (of_all, self._of_few_bins, self._of_classes, self.smaller)))

    @property
    def _of_few_bins(self) -> str:
        """Sentence on scores that fill only a few bins; empty if they fill more."""
        if self.even is None:
            return ""
        return f"{_filled_said(self.line)} of equal width, where gaps would cancel."

    @property
    def _of_classes(self) -> str:
        """Sentence on the predicted classes that are then off; empty if there are none."""
        if not self.off:
            return ""
        most = self.off[0]
        others = len(self.off) - 1
        more = (
            f". The same is true of {'one other class' if others == 1 else f'{count(others)} other classes'}"
            if others
            else ""
        )
        how = f"still significantly off (tested bin by bin), by more than {short_percent(self.line.eps)} on average"
        return most.sentence(how, f" ({count(most.rows)} rows){more}")

    @property
    def _of_slope(self) -> str:
        """Sentence on a calibration slope that differs significantly from 1; else empty."""
        if self.slope is None:
            return ""
        point, low, high, p = self.slope
        if not p <= SIGNIFICANCE:
            return ""
        what = (
            "high risks are then too high and low risks too low"
            if point < 1
            else "high risks are then too low and low risks too high"
        )
        ends = f"{at_level(self.line.line.level)} interval {written(low)} to {written(high)}"
        return f" The calibration slope afterwards is {written(point)} ({ends}): {what}."

    @property
    def _of_tolerance(self) -> str:
        """Sentence on whether the remaining error (for an event also the ratio of events) is within the tolerance."""
        line, limit = self._judged.after.line, short_percent(self.line.eps)
        error = "calibration error" if self.fall else self._error
        if self.word is None:
            return f"The remaining {error} cannot be judged: {line.note}."
        of_events = line.ratio_limit is not None
        ratio = tolerated_ratios(line.ratio_limit) if line.ratio_limit else ""
        also = f", and the ratio of observed to expected events within {ratio}" if of_events else ""
        if self.word == WITHIN:
            return f"The remaining {error} is within the tolerance of {limit}{also}."
        if self.word != MISCALIBRATED:
            if not of_events or line.ratio_word == "within":
                but = (
                    f". Afterwards, the ratio of observed to expected events is within its tolerance, {ratio}"
                    if of_events
                    else ""
                )
                within = f"the remaining {error} is within the tolerance of {limit}"
                return f"The rows do not show whether {within}{but}."
            events = f"the remaining ratio of observed to expected events is within {ratio}"
            if line.high is not None and line.high < (line.limit or self.line.eps):
                return f"The rows do not show whether {events}; the remaining {error} is within {limit}."
            return (
                f"The rows do not show whether the remaining {error} is within {limit}. Nor do they show "
                f"whether {events}."
            )
        by_ratio = line.low is not None and line.low <= self.line.eps
        if by_ratio and line.ratio is not None and line.ratio_low is not None and line.ratio_high is not None:
            assert line.ratio_limit is not None
            return (
                f"The remaining ratio of observed to expected events is still outside the tolerance of {ratio} "
                f"({written(line.ratio)}, {at_level(line.level)} interval "
                f"{ratio_range(line.ratio_low, line.ratio_high, line.ratio_limit)})."
            )
        return (
            f"The remaining {error} is still above the tolerance of {limit} "
            f"({line.written(line.point)}, {at_level(line.level)} interval {line.interval}).{self._not_smaller}"
        )

    @property
    def _not_smaller(self) -> str:
        """Sentence on an error that was not larger before; empty if it was, or is unknown."""
        old, new = self._lines
        if old is None or not (isinstance(old.point, float) and isinstance(new.point, float)):
            return ""
        return f" It was {old.written(old.point)} before recalibration." if old.point <= new.point else ""

    def _line(self) -> str:
        return self.sentence
