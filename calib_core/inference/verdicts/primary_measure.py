"""The primary measure, fixed before looking at outcomes, and the test for an error of any size."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, RATIO, SIGNIFICANCE, TOLERANCE
from calib_core.estimators.base import Estimate, takes_bins
from calib_core.inference.intervals.binned_errors import InBins
from calib_core.inference.intervals.bins_of_interval import BUDGET, has_sparse_bins
from calib_core.inference.significance.calibration_tests import shown_at_all
from calib_core.inference.verdicts.estimate_line import EstimateLine, estimate_line, recalled
from calib_core.inference.verdicts.verdict import any_size, error_is_above, ratio_range, why_no_verdict
from calib_core.predictions.event_names import title_of_event
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.predictions.validation import rows_and_copies
from calib_core.reductions.base import REDUCTIONS
from calib_core.results.uncertainty import TestOfCalibration, Verdict
from calib_core.results.verdict_table import MISCALIBRATED, TOO_CLOSE, TOO_FEW, in_full
from calib_core.text import at_level, begun, called, inside, score, short_percent

ESTIMATOR = "ece"
"""Estimator of the primary measure."""
MOST_NOISE = TOLERANCE
"""Top-label is the primary measure if the mean error of calibrated models is below this."""

MOST_POOLED = 0.5
"""... and at most this share of the rows is in classes that are pooled."""

_FIXED = "The verdict is on the {}, because {}. This choice was fixed before the outcomes were used."
"""Reason for a notion chosen by power; other notions can still show an error (``other_notions``)."""
_BY_CLASS = (
    "Two measures were fixed before the outcomes were used. The first is the confidence error, because {}. The second "
    "is the top-label error. It decides if only this error is clearly above the tolerance, as here."
)
"""Reason for top-label where the rows are often too few for it, and yet show its error."""


@dataclass(frozen=True, eq=False, repr=False)
class PrimaryLine(OneLine):
    """Primary measure behind a verdict: its notion, the reason for it (from scores only), and its result.

    ``notion`` is "event" for two classes, else "top-label" if its cells contain enough rows to have power, else
    "confidence". ``reason`` explains the choice. ``estimate`` is the expected calibration error in that notion,
    ``line`` its line. ``shown`` tests the whole prediction for an error of any size; the calibration error measures
    how large it is.
    """

    notion: str
    reason: str
    estimate: Estimate
    eps: float
    level: float
    ratio: float = RATIO
    by_rule: bool = False
    """True if the tolerance had a part in the choice of the notion: another one chooses anew."""

    @cached_property
    def line(self) -> EstimateLine:
        """The estimate's line, computed on first use."""
        line = estimate_line(self.estimate, self.eps, self.level, self.ratio)
        return line if line.verdict is not None or line.note else replace(line, note=why_no_verdict(self.estimate))

    @cached_property
    def shown(self) -> TestOfCalibration:
        """Spiegelhalter's test with the Brier score of the whole prediction."""
        assert self.estimate.question is not None
        return shown_at_all(self.estimate.question.predictions)

    def _line(self) -> str:
        return f"{self.estimate.title} {self.estimate.value:.4f}, tolerance {short_percent(self.eps)}"

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {
            "measure": self.estimate.title,
            "value": f"{self.estimate.value:.4f}",
            "why": self.reason,
        }
        known = self.estimate.knows("verdict", self.eps, self.level)
        return facts | ({"verdict": self.line.sentence} if known else {"ask": ".headline, .sentence, .line"})

    @property
    def sentence(self) -> str:
        """The answer, what to do, the test for an error of any size, and the reasons.

        If there are too few rows for a verdict, evidence of some error is next to this word.
        """
        return " ".join(self.parts.values())

    @property
    def parts(self) -> dict[str, str]:
        """The sentences by what they are about, in order: answer, advice, evidence, interval and choice.

        ``evidence`` is for an error of any size, ``interval`` names the errors that the interval is for, and ``choice``
        is the reason for the notion. A part without sentences is left out.
        """
        if self.line.verdict is None:
            return {"answer": f"{begun(self.line.note)}.", "evidence": self._shown(self.line.p), "choice": self.reason}
        found = self.estimate.verdict(self.eps, self.level, self.ratio)
        answer, evidence = self._answer(found)
        parts = {
            "answer": answer,
            "advice": found.advice,
            "evidence": evidence,
            "interval": found.reason,
            "choice": self.reason,
        }
        return {name: text for name, text in parts.items() if text}

    def _answer(self, found: Verdict) -> tuple[str, str]:
        """Return the answer, and the evidence for an error of any size where the answer does not contain it."""
        if found.word == TOO_CLOSE:
            return found.answer, ""
        own = None if found.word == MISCALIBRATED else self.line.p  # MISCALIBRATED already means an error
        shown = self._shown(own)
        word, _, numbers = found.answer.partition(": ")
        if found.word == TOO_FEW and min(self.shown.p_value, 1.0 if own is None else own) <= SIGNIFICANCE:
            return f"{word}, but {inside(shown)} {begun(numbers)}", ""
        return found.answer, shown

    def _shown(self, own: float | None) -> str:
        """Return the evidence for an error of any size; ``own`` is the p-value of the error itself."""
        return any_size(self.line.low, self.shown, own, self.line.p_of or self.line.title)

    @property
    def headline(self) -> str:
        """Verdict with the estimate and its interval, or the reason why there is no verdict."""
        line = self.line
        if line.verdict is None:
            return f"not available ({line.note})"
        ends = f"{at_level(line.level)} interval {line.interval}"
        events = ""
        if line.ratio is not None and line.ratio_low is not None and line.ratio_high is not None:
            span = ratio_range(line.ratio_low, line.ratio_high, line.ratio_limit or RATIO)
            events = f"; observed to expected events {score(line.ratio)}, {span}"
        value = f"{line.title} estimated at {line.written(line.point)}, {ends}; raw value {line.written(line.value)}"
        return f"{in_full(line.verdict)}: {value}{events}"


def subject_of(notion: str) -> str:
    """Return the subject of a verdict in a notion.

    >>> subject_of("top-label"), subject_of("event")
    ('top-label error', 'predicted risk of the event')
    """
    return "predicted risk of the event" if notion == "event" else f"{REDUCTIONS[notion].title.lower()} error"


def primary(
    predictions: Predictions,
    eps: float = TOLERANCE,
    level: float = LEVEL,
    bins: int | str | BinningScheme | None = None,
    beside: PrimaryLine | None = None,
    ratio: float = RATIO,
) -> PrimaryLine:
    """Return the primary measure for these predictions, chosen from their scores before outcomes are used.

    For two classes it is the predicted risk of the event (``predictions.event``), whichever class is predicted;
    abstained rows are left out. For more classes it is top-label, the strictest claim about the predicted class,
    under two conditions. The mean error of calibrated models is below ``MOST_NOISE`` in its cells (``expected_noise``),
    and most rows are of classes judged one by one. Otherwise it is confidence: with many classes and few rows, the
    top-label error has almost no power. If only the top-label error is above the tolerance all the same, it decides. A
    model whose errors of classes cancel is not within the tolerance. Both lower ends are read at one joint level
    (``Chain``). So the second look adds no false alarms.

    A model shown ``beside`` another is judged in the other's notion if possible, because verdicts in two notions are
    not comparable.

    References: Van Calster et al. 2019, Calibration: the Achilles heel of predictive analytics (why the risk).

    >>> rows = Predictions([[0.9, 0.1, 0], [0.2, 0.8, 0]] * 4000, [0, 1] * 4000)
    >>> primary(rows).notion, primary(rows.take(range(20))).notion
    ('top-label', 'confidence')
    >>> primary(Predictions([[0.7, 0.3]], [0], class_names=["survived", "died"])).reason
    'With two classes, the verdict is on the predicted risk of “died”.'
    """
    if beside is not None:
        with suppress(NotAnswerable):
            reason = f"The verdict is on the {subject_of(beside.notion)}, as for the other model."
            same = recalled(predictions, beside.notion, ESTIMATOR, bins)
            return PrimaryLine(beside.notion, reason, same, eps, level, ratio)
    if predictions.event is not None:
        reason = f"With two classes, the verdict is on the predicted risk of {called(title_of_event(predictions))}."
        return PrimaryLine("event", reason, recalled(predictions, "event", ESTIMATOR, bins), eps, level, ratio)
    noise, pooled = None, 0.0
    try:
        strict = recalled(predictions, "top-label", ESTIMATOR, bins)
        noise, pooled = expected_noise(strict)
    except NotAnswerable:
        reason = "The verdict is on the confidence error, because the predicted classes are unknown."
    if noise is None:
        return PrimaryLine("confidence", reason, recalled(predictions, "confidence", ESTIMATOR, bins), eps, level)
    if noise < MOST_NOISE and pooled <= MOST_POOLED:
        small = (
            "there are enough rows to measure each predicted class separately (in a calibrated model, chance would "
            f"make the error smaller than {short_percent(MOST_NOISE)})"
        )
        return PrimaryLine("top-label", _FIXED.format("top-label error", small), strict, eps, level)
    first = "confidence error"
    if pooled > MOST_POOLED:
        assert strict.question is not None
        first = "confidence error (all classes together)"
        few = (
            "most rows are in classes with too few predictions below full confidence to measure an error for each class"
            if has_sparse_bins(strict.question)
            else "for separate classes, the interval of a calibrated model would typically end over "
            f"{BUDGET:g} times as high"
        )
    else:
        answered = predictions.answered
        rows = rows_and_copies(answered.n_rows, answered.weights)
        few = f"{rows:,} rows are often too few to detect an error in {predictions.n_classes:,} separate classes"
    pooling = recalled(predictions, "confidence", ESTIMATOR, bins)
    with suppress(NotAnswerable):
        if error_is_above(strict, eps, level) and not error_is_above(pooling, eps, level):
            return PrimaryLine("top-label", _BY_CLASS.format(few), strict, eps, level, by_rule=True)
    return PrimaryLine("confidence", _FIXED.format(first, few), pooling, eps, level, by_rule=True)


def held_against(lines: Mapping[str, PrimaryLine], eps: float, level: float, ratio: float) -> dict[str, PrimaryLine]:
    """Return the primary measures of the same models for another tolerance and level.

    >>> p = Predictions([[0.7, 0.3, 0], [0.3, 0.7, 0]] * 200, ([0, 1] * 5 + [1, 1] * 4 + [1, 0]) * 20)
    >>> strict = primaries({"one": p})  # two errors of 20 points cancel
    >>> strict["one"].notion, held_against(strict, 0.3, 0.9, 1.25)["one"].notion
    ('top-label', 'confidence')
    """
    same = {name: replace(line, eps=eps, level=level, ratio=ratio) for name, line in lines.items()}
    first = next(iter(lines.values()), None)
    if first is None or not first.by_rule or (first.eps, first.level) == (eps, level):
        return same
    found: dict[str, PrimaryLine] = {}
    for name, line in lines.items():
        question = line.estimate.question
        assert question is not None
        bins = None if question.free else question.estimator.binning
        found[name] = primary(question.predictions, eps, level, bins, next(iter(found.values()), None), ratio)
    return same if next(iter(found.values())).notion == first.notion else found


def primaries(
    models: Mapping[str, Predictions],
    eps: float = TOLERANCE,
    level: float = LEVEL,
    bins: int | str | BinningScheme | None = None,
    ratio: float = RATIO,
    notion: str | None = None,
) -> dict[str, PrimaryLine]:
    """Return the primary measures of several models, by name, all in the first model's notion.

    ``notion`` replaces the default, for example "confidence" for two classes (``deciding``).

    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8]] * 10, [0, 1] * 10)
    >>> {name: line.notion for name, line in primaries({"one": p, "other": p}).items()}
    {'one': 'event', 'other': 'event'}
    >>> primaries({"one": p}, notion="confidence")["one"].reason
    'The verdict is on the confidence error, as requested.'
    """
    found: dict[str, PrimaryLine] = {}
    if notion is not None:
        return {name: deciding(p, notion, ESTIMATOR, eps, level, bins, ratio) for name, p in models.items()}
    for name, predictions in models.items():
        found[name] = primary(predictions, eps, level, bins, next(iter(found.values()), None), ratio)
    return found


def deciding(
    predictions: Predictions,
    reduction: str | None = None,
    estimator: str = ESTIMATOR,
    eps: float = TOLERANCE,
    level: float = LEVEL,
    bins: int | str | BinningScheme | None = None,
    ratio: float = RATIO,
) -> PrimaryLine:
    """Return the primary measure, or the requested notion and estimator in its place.

    ``bins`` are those of estimators that take a binning. What can mislead: a notion or an estimator chosen after its
    number was seen gives no valid verdict.

    >>> rows = Predictions([[0.9, 0.1], [0.2, 0.8]] * 20, [0, 1] * 20)
    >>> deciding(rows).reason == primary(rows).reason, deciding(rows, "top-label", "rmsce").reason
    (True, 'The verdict is on the top-label error, as requested.')
    """
    if reduction is None:
        first = primary(predictions, eps, level, bins, ratio=ratio)
        if estimator == ESTIMATOR:
            return first
        reduction, reason = first.notion, first.reason
    else:
        reason = f"The verdict is on the {subject_of(reduction)}, as requested."
    given = bins if takes_bins(estimator, bins) else None
    return PrimaryLine(reduction, reason, recalled(predictions, reduction, estimator, given), eps, level, ratio)


def expected_noise(measured: Estimate) -> tuple[float, float]:
    """Expected error of a calibrated model in the cells of a binned error, and the share of rows in pooled cells.

    It uses scores only: the mean over cells of sqrt(2/pi) sqrt(s (1 - s) / n); classes of few rows are pooled in
    groups.
    """
    assert measured.question is not None
    bins = InBins(measured.question, 0)
    gaps = bins.gaps
    return float(np.sqrt(2 / np.pi) * (gaps.weight @ gaps.claimed_deviation)), bins.pooled
