"""Gates: whether predictions pass a limit or a baseline, and the warnings that keep them from passing."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import numpy as np

from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.defaults import BINS, LEVEL, RATIO, TOLERANCE
from calib_core.estimators.base import traits
from calib_core.inference.comparison.model_differences import MARGIN
from calib_core.inference.gate_baselines import Baseline, Increase, Overlap, baseline, increase, seals
from calib_core.inference.significance.calibration_tests import impossible_rows
from calib_core.inference.verdicts.estimate_line import ROUGH_GUIDE, EstimateLine, marked
from calib_core.inference.verdicts.other_measures import other_errors_said
from calib_core.inference.verdicts.primary_measure import ESTIMATOR, PrimaryLine, deciding, subject_of
from calib_core.inference.verdicts.verdict import ratio_range, tolerated_ratios
from calib_core.predictions.plausibility import doubts
from calib_core.predictions.predictions import Predictions
from calib_core.results.verdict_table import MISCALIBRATED, WITHIN, in_full
from calib_core.summaries.cells import NUMBERS
from calib_core.text import at_level, begun, count, exact_tolerance, score


@dataclass(frozen=True, repr=False)
class OpenWarning(OneLine):
    """A reason to distrust what is judged, and how to settle it.

    Parameters
    ----------
    code : the code of a doubt (``predictions.plausibility``) or of a finding about the file (``readers.RULES``).
    message : what was observed, one or two sentences.
    remedy : what settles it, such as an option of the command; may be empty.
    """

    code: str
    message: str
    remedy: str = ""

    def _line(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, eq=False, repr=False)
class GateCheck(OneLine):
    """Result of a gate: whether predictions pass, and the reasons.

    ``first`` is the deciding line, compared with ``limit`` where there is one. ``growth`` is the increase over a
    baseline, None without one. They pass where each of the two that is there is "within", and no warning is ``open``.
    ``accepted`` are the codes of warnings that were there and that the caller accepted.
    """

    first: PrimaryLine
    limit: float | None
    growth: Increase | None = None
    open: tuple[OpenWarning, ...] = ()
    accepted: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The verdicts there are, that for the limit first."""
        line = (self.first.line.verdict,) if self.limit is not None else ()
        return tuple(word for word in (*line, self.growth.word if self.growth else None) if word is not None)

    @property
    def word(self) -> str:
        """The verdict that decides: the first that is not "within"."""
        return next((word for word in self.words if word != WITHIN), WITHIN)

    @property
    def passed(self) -> bool:
        """True if the predictions pass every requirement, and no warning is open."""
        return self._within and not self.open

    @property
    def undecided(self) -> bool:
        """True if only open warnings keep the predictions from passing."""
        return self._within and bool(self.open)

    @property
    def _within(self) -> bool:
        return bool(self.words) and self.word == WITHIN

    @property
    def line(self) -> EstimateLine:
        """The line of the estimate, without a verdict if there is no limit."""
        whole = self.first.line
        if self.limit is None:
            return replace(whole, verdict=None, sentence="", limit=None, ratio_limit=None)
        return replace(whole, sentence=_of_maximum(whole.sentence, self.limit))

    @property
    def headline(self) -> str:
        """The word that decides, and what it rests on."""
        growth, line = self.growth, self.first.line
        by_growth = growth is not None and (self.limit is None or line.verdict == WITHIN != growth.word)
        return growth.headline if growth is not None and by_growth else self.first.headline

    @property
    def brief(self) -> str:
        """The word that decides, with the estimate and its limit: a heading for ``sentence``."""
        line = self.first.line
        if self.limit is None or self.headline != self.first.headline or line.verdict is None:
            return self.headline
        level = f"{at_level(line.level)} interval"
        error = f"{line.title} {line.written(line.point)} ({level} {line.interval})"
        allowed = f"{error}, maximum {exact_tolerance(self.limit)}"
        if line.ratio is not None and line.ratio_limit is not None:
            ends = ratio_range(line.ratio_low or 0.0, line.ratio_high or math.inf, line.ratio_limit)
            tolerated = tolerated_ratios(line.ratio_limit)
            allowed += f"; observed : expected events {score(line.ratio)} ({level} {ends}), allowed {tolerated}"
        return f"{in_full(line.verdict)}: {allowed}"

    @property
    def sentence(self) -> str:
        """Reasons: the limit, the baseline, the choice of the measure, and other measures that show an error."""
        growth = "" if self.growth is None else self.growth.sentence
        if self.limit is None:
            return f"{growth} {self.first.reason}"
        first = _of_maximum(self.first.sentence, self.limit)
        return " ".join(filter(None, (first, self._of_impossible, other_errors_said(self.first), growth)))

    @cached_property
    def impossible_rows(self) -> int:
        """Number of rows in which the observed outcome had a predicted probability of 0."""
        question = self.first.estimate.question
        return 0 if question is None else impossible_rows(question.predictions)

    @property
    def _of_impossible(self) -> str:
        """Sentences on why such rows do not fail the check; empty without a pass or such rows."""
        if not self.passed or not self.impossible_rows:
            return ""
        number = self.impossible_rows
        return (
            "The check passes nevertheless, because the maximum is for the calibration error over all rows. In "
            f"{count(number)} {'row' if number == 1 else 'rows'}, the observed outcome had a predicted probability of "
            "0, so the log loss is infinite. No option of calib gate limits the number of such rows."
        )

    @property
    def about(self) -> str:
        """The raw value with its bins, and what the interval is about."""
        line = self.first.line
        _, notes = marked([(line.about, line.tested)])
        # A star marks a cell of a table; here is one interval only.
        alone = f"The interval is {ROUGH_GUIDE.removeprefix('*: ')}"
        corrected = "The estimate above is corrected for chance where this is possible, the raw value is not."
        return " ".join([line.as_measured, corrected, *notes]).replace(ROUGH_GUIDE, alone)

    @cached_property
    def kept(self) -> Baseline:
        """The baseline for later gates."""
        return baseline(self.first.estimate, self.first.level)

    def record(self, name: str = "", key: bytes | None = None) -> dict[str, object]:
        """The check as plain values, for JSON; ``name`` is what a later gate calls it, and ``key`` signs it."""
        record: dict[str, object] = {
            "verdict": self.word,
            "passed": self.passed,
            "headline": self.headline,
            "sentence": self.sentence,
            "about": self.about,
            "reason": self.first.reason,
            "impossible_rows": self.impossible_rows,
            "limit": self.limit,
            "max_ratio": self.line.ratio_limit,
            "line": self.line.record(),
            "increase": None if self.growth is None else self.growth.record(),
            "kept": replace(self.kept, name=name).record(),
            "open_warnings": [asdict(each) for each in self.open],
            "accepted": list(self.accepted),
            "error": None,
        }
        return record | seals(record, key)

    def _line(self) -> str:
        return self.headline

    def _facts(self) -> dict[str, object]:
        return {
            "result": "passed" if self.passed else "undecided" if self.undecided else "not passed",
            "verdict": self.brief,
            "open warnings": " ".join(f"{each.code}: {each.message}" for each in self.open),
            "accepted": ", ".join(self.accepted),
            "ask": ".sentence, .record()",
        }


def _of_maximum(sentence: str, limit: float) -> str:
    """Return the sentence with the tolerance called the maximum, as in the gate's options."""
    given = exact_tolerance(limit)
    return sentence.replace(f"he tolerance of {given}", f"he maximum of {given}")


def gate_check(
    predictions: Predictions,
    limit: float | None = None,
    notion: str | None = None,
    estimator: str | None = None,
    level: float = LEVEL,
    bins: int | str | BinningScheme | None = None,
    *,
    before: Baseline | None = None,
    allowed: float = MARGIN,
    ratio: float = RATIO,
    overlap: Overlap = "auto",
    accept: Collection[str] = (),
    warnings: Iterable[OpenWarning] = (),
) -> GateCheck:
    """Decide whether the error is shown to be below ``limit``, or not to grow by ``allowed``.

    The line is that of ``deciding``, fixed before looking at the outcomes; with a baseline it is the baseline's. Only
    the interval decides, never the value. NotAnswerable where there is no verdict, InputError where there is nothing to
    compare the error with. For the event of two classes the ratio of observed to expected events has to be between 1 /
    ``ratio`` and ``ratio`` too (``verdict``). ``overlap`` states which rows the baseline shares (``increase``).

    Nothing passes while a warning is open: a doubt about these rows (``predictions.plausibility.doubts``) or one of
    ``warnings``, unless its code is in ``accept``. What can mislead: of several models that each have a limit of 5 %,
    each passes wrongly in up to one of twenty cases. If all have to pass, they jointly pass wrongly no more often than
    one.

    >>> scores = [[0.9, 0.1]] * 4000 + [[0.2, 0.8]] * 1000
    >>> right = Predictions(scores, [0, 1] * 400 + [0] * 3400 + [1] * 800)
    >>> wrong = Predictions(scores, [0] * 4000 + [1] * 1000)
    >>> [gate_check(rows, 0.05).word for rows in (right, wrong)]
    ['within', 'miscalibrated']
    >>> gate_check(wrong, before=gate_check(right, 0.05).kept).word
    'worse'
    >>> same = Predictions(scores[:4000], right.labels[:4000])
    >>> [(check.word, check.passed) for check in (gate_check(same, 0.05), gate_check(same, 0.05, accept=["constant"]))]
    [('within', False), ('within', True)]
    """
    if limit is None and before is None:
        raise InputError("the gate needs a limit; give the maximum allowed error, or a baseline")
    if limit is not None and not 0 < limit <= 1:
        raise InputError(f"the maximum allowed error is {limit:g}; it must be above 0 and at most 1")
    wanted = notion
    if before is not None:
        notion, estimator = notion or before.notion, estimator or before.estimator
    first = deciding(
        predictions, notion, estimator or ESTIMATOR, TOLERANCE if limit is None else limit, level, bins, ratio
    )
    if wanted is None and notion is not None:
        first = replace(first, reason=f"The verdict is on the {subject_of(notion)}, as for the baseline.")
    if first.line.verdict is None:
        raise NotAnswerable(f"no verdict: {first.line.note}")
    growth = None if before is None else increase(first.estimate, before, allowed, level, overlap)
    found = _with_doubts(predictions, (*warnings, *_of_bins(first, limit, bins)))
    accepted = tuple(dict.fromkeys(each.code for each in found if each.code in accept))
    return GateCheck(first, limit, growth, tuple(each for each in found if each.code not in accept), accepted)


_FINER, _MOST = 4, 1000
"""Bins for each bin of the gate, in which larger errors are looked for, and at most so many."""
_CANCEL = "Errors of opposite signs within a bin cancel; calib audit --unbinned prints bounds without bins."
BIN_WARNINGS = ("few-bins", "within-bins")
"""Codes of warnings about the bins."""
GROUP_WARNING = "group-error"
"""Code of the warning about groups of rows whose errors cancel (``slices.findings.group_warnings``)."""


def _of_bins(first: PrimaryLine, limit: float | None, bins: int | str | BinningScheme | None) -> Iterator[OpenWarning]:
    """Yield a warning if an error that is within the limit in these bins is not so in other ones.

    In finer bins of equal width it is miscalibrated; or the bins were requested, and the result in the automatic ones
    would be another.
    """
    question, line = first.estimate.question, first.line
    assert question is not None
    table = first.estimate.bins
    if limit is None or line.verdict != WITHIN or traits(question.estimator).judged != "bins" or table is None:
        return
    number = int(np.max(table.n_bins))
    if question.estimator.binning != EqualWidth(number):
        return

    def other(bins: int | None) -> PrimaryLine:
        key = first.estimate.recipe[1].key
        return deciding(question.predictions, first.notion, key, limit, first.level, bins, first.ratio)

    if bins is not None and number < BINS:
        usual = other(None)
        if usual.line.verdict not in (WITHIN, None):
            message = f"In the automatic bins, the result would be another. {begun(usual.headline)}. {_CANCEL}"
            yield OpenWarning("few-bins", message, "To judge in these bins, leave out --bins")
    finer = min(_FINER * number, _MOST)
    if question.predictions.grain == "counts":  # a summary has the edges of certain numbers of bins only
        finer = max(each for each in NUMBERS if each <= finer)
    if finer > number and (found := other(finer)).line.verdict == MISCALIBRATED:
        message = f"In {finer} bins of equal width, the error is larger. {begun(found.headline)}. {_CANCEL}"
        yield OpenWarning("within-bins", message, f"To judge in these bins, add --bins {finer}")


def _with_doubts(predictions: Predictions, warnings: tuple[OpenWarning, ...]) -> tuple[OpenWarning, ...]:
    """Add doubts about the judged rows, unless a warning about the whole file has the same code."""
    known = {each.code for each in warnings}
    return (
        *(OpenWarning(each.key, each.sentence) for each in doubts(predictions) if each.key not in known),
        *warnings,
    )
