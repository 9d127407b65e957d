"""One estimate as a line: the value, its meaning, the noise floor and the verdict; computed once per predictions."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from string import ascii_lowercase
from typing import Any
from weakref import WeakKeyDictionary

from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, RATIO, SIGNIFICANCE, TOLERANCE
from calib_core.estimators.base import (
    ESTIMATORS,
    AnswerCache,
    Estimate,
    Estimator,
    error_scale,
    estimate,
    is_score,
    titled,
)
from calib_core.inference.intervals.binned_errors import CANCELLING, KINDS
from calib_core.inference.intervals.error_hierarchy import GIVEN, in_sentences
from calib_core.inference.verdicts.verdict import on_scale_of
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.predictions.validation import rows_and_copies
from calib_core.reductions.base import REDUCTIONS, Reduction
from calib_core.results.uncertainty import RatioWord, Verdict
from calib_core.results.verdict_table import Word
from calib_core.text import Unit, at_level, chance, measured, measured_between

ONE_SIDED = "as bad or worse"
"""Marks the one-sided p-values of accuracy and scores; Spiegelhalter's test on the Brier score is two-sided."""


@dataclass(frozen=True, repr=False)
class EstimateLine(OneLine):
    """Summary of one estimate, for screen, report, command line and gate.

    ``value`` is the result of the estimator's formula. ``point``, in [``low``, ``high``], estimates what the interval
    is ``about``. ``floor`` is the noise floor, always its 95 % point: 19 in 20 perfectly calibrated models have at
    most this value. ``p`` is the probability of at least this error, the one that the interval is for. ``p_of`` names
    the smaller error that p belongs to (empty if it is its own), or is ``ONE_SIDED`` for accuracy and scores.

    ``verdict`` is one of four words, with ``sentence``. ``tested`` is true if coverage was simulated or proven in
    such cases; ``bins`` describes the binning. ``unit`` is the unit of the estimator's numbers: a share of rows or of
    probability, a square of one, or a score. ``limit`` is the tolerance on the scale of the value.

    For an event, ``ratio`` is that of observed to expected events, in [``ratio_low``, ``ratio_high``].
    ``ratio_limit`` is its tolerance, and ``ratio_word`` the conclusion about it. A number that does not exist is
    None; ``note`` gives the reason.
    """

    notion: str | None
    estimator: str
    title: str
    rows: int
    bins: str
    value: float
    point: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    about: str = ""
    method: str = ""
    tested: bool | None = None
    floor: float | None = None
    p: float | None = None
    p_of: str = ""
    verdict: Word | None = None
    sentence: str = ""
    note: str = ""
    unit: Unit = "share"
    limit: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    ratio_limit: float | None = None
    ratio_word: RatioWord | None = None

    def written(self, number: float | None) -> str:
        """Format a number of this line: shares in percent, others with three digits; a dash for None.

        >>> EstimateLine("confidence", "ece", "Confidence ECE", 10, "", 0.1234).written(0.1234)
        '12 %'
        >>> EstimateLine(None, "brier", "Brier score", 10, "", 0.1234, unit="score").written(0.1234)
        '0.123'
        """
        if number is None:
            return "–"
        return measured(number, self.unit)

    @property
    def interval(self) -> str:
        """Format the interval, with the unit once; a dash if there is none."""
        if self.low is None or self.high is None:
            return "–"
        # With enough digits to be on the side of the tolerance that agrees with the verdict.
        return measured_between(self.low, self.high, self.unit, self.limit)

    @property
    def as_measured(self) -> str:
        """The value of the estimator's formula and its bins, in a sentence.

        >>> EstimateLine("event", "ece", "ECE of the risk", 400, "15 equal width", 0.1683).as_measured
        'ECE of the risk, raw value: 17 % (bins: 15 equal width).'
        """
        return measured_in(self.title, self.written(self.value), self.bins)

    @property
    def cells(self) -> str:
        """The groups that the interval is about, or the bins.

        >>> EstimateLine("event", "ece", "ECE of the risk", 400, "15 equal width", 0.1683).cells
        'bins: 15 equal width'
        """
        _, over, cells = self.about.partition(" over ")
        return cells.partition(", given")[0] if over else f"bins: {self.bins}"

    def record(self) -> dict[str, object]:
        """Return the line as plain values, for JSON."""
        return asdict(self)

    def _line(self) -> str:
        ends = "" if self.low is None or self.high is None else f", {self.low:.4f} to {self.high:.4f}"
        word = "" if self.verdict is None else f": {self.verdict}"
        return f"{self.title} {self.value:.4f}{ends} at {at_level(self.level)}{word}"

    def _facts(self) -> dict[str, object]:
        beside = "" if self.tested or self.tested is None else ", a rough guide"
        return {
            "estimate": f"{self.title} of {self.rows:,} rows",
            "bins": self.bins,
            "value": self.written(self.value),
            "estimated": None if self.point is None else self.written(self.point),
            f"{at_level(self.level)} interval": None if self.low is None else f"{self.interval} ({self.about}{beside})",
            "noise floor": None if self.floor is None else self.written(self.floor),
            "p": None if self.p is None else chance(self.p).removeprefix("p = "),
            "verdict": self.sentence,
            "note": self.note,
        }


def measured_in(title: str, value: str, bins: str) -> str:
    """Sentence with the raw value of a formula and its bins.

    The estimate and its interval can be over groups of bins and are corrected for the noise that inflates this value.
    """
    return f"{title}, raw value: {value}{f' (bins: {bins})' if bins else ''}."


def estimate_line(
    estimate: Estimate, eps: float = TOLERANCE, level: float = LEVEL, ratio: float = RATIO
) -> EstimateLine:
    """Return the line of an estimate; compute interval, noise floor and verdict if they are missing.

    A number that an estimate cannot have (a score has no verdict, per-class rows have no noise floor) is None, and
    ``note`` gives the reason.

    >>> from calib_core import Predictions, estimate
    >>> line = estimate_line(estimate(Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)))
    >>> line.verdict, line.low < line.point < line.high, line.value > line.floor
    ('miscalibrated', True, True)
    """
    numbers: dict[str, Any] = {}
    notes: list[str] = []
    try:
        span = estimate.interval(level)
        numbers = {"point": span.point, "low": span.low, "high": span.high, "about": span.about}
        numbers |= {"method": span.method, "tested": span.tested}
        floor = estimate.noise_floor
        p, p_of = span.p_with(floor.p_value)
        p_of = ONE_SIDED if is_score(estimate.recipe[1].key) else p_of
        numbers |= {"floor": floor.high, "p": p, "p_of": p_of}
        if not _is_loss_of_one_claim(estimate):
            verdict: Verdict = estimate.verdict(eps, level, ratio)
            numbers |= {"verdict": verdict.word, "sentence": verdict.sentence, "limit": on_scale_of(estimate, eps)}
            if (events := verdict.ratio) is not None:
                numbers |= {"ratio": events.value, "ratio_low": events.low, "ratio_high": events.high}
                numbers |= {"ratio_limit": events.tolerance, "ratio_word": events.word}
    except NotAnswerable as why:
        notes.append(str(why))
    return replace(plain_line(estimate), level=level, note="; ".join(notes), **numbers)


def plain_line(estimate: Estimate) -> EstimateLine:
    """Return the line of an estimate with its value only; nothing is computed.

    >>> from calib_core import Predictions, estimate
    >>> plain_line(estimate(Predictions([[0.9, 0.1]], [0]))).low is None
    True
    """
    reduction, estimator = estimate.recipe
    # The bins have a separate column.
    named = replace(estimator, params=tuple(param for param in estimator.params if param[0] != "binning"))
    assert estimate.question is not None
    answered = estimate.question.predictions.answered
    return EstimateLine(
        notion=None if reduction is None else reduction.key,
        estimator=estimator.key,
        title=titled(reduction, named, of_event=answered.event is not None),
        rows=rows_and_copies(answered.n_rows, answered.weights),
        bins=estimate.in_bins,
        value=estimate.value,
        unit=unit_of(estimate.question.estimator),
    )


def _is_loss_of_one_claim(estimate: Estimate) -> bool:
    """True for a loss of whole predictions, the event's risk or the confidence: these have no verdict."""
    reduction, key = estimate.recipe[0], estimate.recipe[1].key
    if reduction is None:
        return True
    return REDUCTIONS[reduction.key].flags.of in ("event", "top") and is_score(key) and key != "accuracy"


def unit_of(estimator: Estimator | str) -> Unit:
    """Return the unit of an estimator's numbers, given the estimator or its key.

    >>> unit_of("ece"), unit_of("debiased-l2"), unit_of("log-loss")
    ('share', 'square', 'score')
    """
    member = ESTIMATORS.make(estimator) if isinstance(estimator, str) else estimator
    unit: Unit = ESTIMATORS.flags(member).unit
    return "square" if error_scale(member).squared else unit


def each_alone(p_values: Iterable[float | None]) -> str:
    """Return the caveat about multiple testing below a table of p-values; empty for fewer than two.

    >>> each_alone([0.2] * 20).partition(". ")[2]
    'Without any error, each is 0.05 or less in at most 5 % of samples.'
    """
    tests = sum(p is not None and p == p for p in p_values)
    if tests < 2:
        return ""
    return (
        f"These {tests} p-values are not corrected for multiple testing. Without any error, each is {SIGNIFICANCE:g} "
        f"or less in at most {at_level(SIGNIFICANCE)} of samples."
    )


ROUGH_GUIDE = "*: the interval is a rough guide, not tested by simulation."


def marked(intervals: Iterable[tuple[str, bool | None]]) -> tuple[list[str], tuple[str, ...]]:
    """Marks for the intervals of a table, and the notes below it that explain each mark once.

    ``intervals`` are pairs: what each is about (empty if there is none) and whether it is tested. A letter identifies
    what an interval is about if there are several meanings; a star marks a rough guide.

    >>> marked([("the error in these bins", True)])
    ([''], ('The interval is for the error in the bins of the raw value.',))

    >>> marks, below = marked([("one", True), ("", None), ("two", False)])
    >>> marks, *below[1:]
    (['a', '', 'b*'], 'Mark b: the interval is for two.', '*: the interval is a rough guide, not tested by simulation.')

    Errors of several kinds in the same cells share a letter, because the name of a line states its kind.

    >>> here = ", given these predictions"
    >>> lines = [(f"the error in 3 bins{here}", True), (f"the largest error in 3 bins{here}", True), ("x", True)]
    >>> marked(lines)[0], marked(lines)[1][0]
    (['a', 'a', 'b'], "Mark a: the interval is for the line's error in 3 bins, given these predictions.")

    Classes that share a group, and a second error that the interval can be for, have sentences of their own.

    >>> marked([("the error over 6 groups of rows, classes of few rows pooled", True), ("x", True)])[1][0]
    'Mark a: the interval is for the error over 6 groups of rows. Classes with few rows share a group.'
    """
    every = _folded([(about and str(about), tested) for about, tested in intervals])
    abouts = list(dict.fromkeys(about for about, _ in every if about))
    letters = {about: ascii_lowercase[i % 26] * (i // 26 + 1) for i, about in enumerate(abouts) if len(abouts) > 1}
    marks = [letters.get(about, "") + ("*" if about and not tested else "") for about, tested in every]
    short, common = _without_repeats(abouts)
    short = [text.replace("in these bins", "in the bins of the raw value") for text in short]
    article = "The" if sum(bool(about) for about, _ in every) == 1 else "Each"
    targets = (
        f"Mark {letters[about]}: the interval is for {text}." if letters else _of_all_lines(text, article)
        for about, text in zip(abouts, short, strict=True)
    )
    star = any("*" in mark for mark in marks)
    return marks, (*targets, *filter(None, [common]), *([ROUGH_GUIDE] if star else []))


def _of_all_lines(text: str, article: str) -> str:
    """Return the sentences on what the only interval, or each interval of a table, is for."""
    fixed = (
        " This interval allows for chance in the labels; the predictions are taken as fixed." if GIVEN in text else ""
    )
    return f"{article} interval is for {text.replace(GIVEN, '')}.{fixed}"


_ALTERNATIVES = (
    (", classes of few rows pooled", ". Classes with few rows share a group"),
    (
        ", or over all classes pooled if that is larger",
        ". If the error over all classes together (the confidence error) is larger, the interval is for that error",
    ),
    (
        ", or the (.+?) in its own bins if that is larger",
        r". If the \1 in the bins of its raw value is larger, the interval is for that error",
    ),
)
"""Parts of what an interval is about that are sentences in the notes below a table."""


def _without_repeats(abouts: list[str]) -> tuple[list[str], str]:
    """Return descriptions without the endings that several share, and the sentences that replace these endings."""
    abouts = list(map(in_sentences, abouts))
    several = any(re.search(pattern, about) for about in abouts for pattern, _ in _ALTERNATIVES)
    given = sum(GIVEN in about for about in abouts) > (0 if several else 1)
    grouped = sum(about.endswith(CANCELLING) for about in abouts) > (0 if several else 1)
    if grouped:
        abouts = [about.removesuffix(CANCELLING) for about in abouts]
    if given:
        abouts = [about.replace(GIVEN, "") for about in abouts]
    for pattern, sentence in _ALTERNATIVES:
        abouts = [re.sub(pattern, sentence, about) for about in abouts]
    fixed = "Intervals of errors allow for chance in the labels; the predictions are taken as fixed." if given else ""
    unmeasured = (
        "Errors that cancel within a group of rows with similar predictions are not measured." if grouped else ""
    )
    return abouts, f"{fixed} {unmeasured}".strip()


def _folded(intervals: list[tuple[str, bool | None]]) -> list[tuple[str, bool | None]]:
    """Describe errors of different kinds in the same cells, as "the line's error" in these cells."""
    places = [_after_kind(about or "") for about, _ in intervals]
    kinds: dict[str, set[str]] = {}
    for (about, _), place in zip(intervals, places, strict=True):
        kinds.setdefault(place, set()).add(about)
    return [
        (f"the line's error {place}" if place and len(kinds[place]) > 1 else about, tested)
        for (about, tested), place in zip(intervals, places, strict=True)
    ]


def _after_kind(about: str) -> str:
    """Return where an error is measured, without its kind; empty if the text is about something else."""
    kind = next((kind for kind in KINDS if about.startswith(f"{kind} ")), None)
    return "" if kind is None else about.removeprefix(f"{kind} ")


# No answer holds predictions, so that what is kept goes when they go.
_KEPT: WeakKeyDictionary[Predictions, dict[Hashable, AnswerCache]] = WeakKeyDictionary()


def recalled(
    predictions: Predictions,
    notion: str | Reduction | None,
    estimator: str | Estimator,
    bins: int | str | Sequence[float] | BinningScheme | None = None,
) -> Estimate:
    """Return ``estimate`` of these arguments, with the answers already computed for the same predictions."""
    fresh = estimate(predictions, notion, estimator, bins)
    free = fresh.question is not None and fresh.question.free
    return fresh.sharing(_KEPT.setdefault(predictions, {}).setdefault((fresh.recipe, free), fresh.answers))
