"""Gate decision from the primary line, a limit and a baseline, in one object for every output format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, RATIO, TOLERANCE
from calib_core.inference.comparison.model_differences import MARGIN
from calib_core.inference.gates.baselines import Baseline, Increase, baseline, increase
from calib_core.inference.verdicts.estimate_line import EstimateLine, marked
from calib_core.inference.verdicts.other_notions import other_errors_said
from calib_core.inference.verdicts.primary_measure import ESTIMATOR, PrimaryLine, deciding
from calib_core.predictions.predictions import Predictions
from calib_core.results.verdict_table import WITHIN


@dataclass(frozen=True, eq=False, repr=False)
class GateCheck(OneLine):
    """Result of a gate: whether predictions pass, and the reasons.

    ``first`` is the deciding line, compared with ``limit`` where there is one. ``growth`` is the increase over a
    baseline, None without one. They pass where each of the two that is there is "within".
    """

    first: PrimaryLine
    limit: float | None
    growth: Increase | None = None

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
        """True if the predictions pass every requirement."""
        return bool(self.words) and self.word == WITHIN

    @property
    def line(self) -> EstimateLine:
        """The line of the estimate, without a verdict if there is no limit."""
        whole = self.first.line
        return (
            whole if self.limit is not None else replace(whole, verdict=None, sentence="", limit=None, ratio_limit=None)
        )

    @property
    def headline(self) -> str:
        """The word that decides, and what it rests on."""
        growth, line = self.growth, self.first.line
        by_growth = growth is not None and (self.limit is None or line.verdict == WITHIN != growth.word)
        return growth.headline if growth is not None and by_growth else self.first.headline

    @property
    def sentence(self) -> str:
        """Reasons: the limit, the baseline, the choice of the measure, and other measures that show an error."""
        growth = "" if self.growth is None else self.growth.sentence
        if self.limit is None:
            return f"{growth} {self.first.reason}"
        return " ".join(filter(None, (self.first.sentence, other_errors_said(self.first), growth)))

    @property
    def about(self) -> str:
        """The raw value with its bins, and what the interval is about."""
        line = self.first.line
        return " ".join([line.as_measured, *marked([(line.about, line.tested)])[1]])

    @cached_property
    def kept(self) -> Baseline:
        """The baseline for later gates."""
        return baseline(self.first.estimate, self.first.level)

    def record(self, name: str = "") -> dict[str, object]:
        """The check as plain values, for JSON; ``name`` is what a later gate calls it."""
        return {
            "verdict": self.word,
            "passed": self.passed,
            "headline": self.headline,
            "sentence": self.sentence,
            "about": self.about,
            "reason": self.first.reason,
            "limit": self.limit,
            "max_ratio": self.line.ratio_limit,
            "line": self.line.record(),
            "increase": None if self.growth is None else self.growth.record(),
            "kept": replace(self.kept, name=name).record(),
            "error": None,
        }

    def _line(self) -> str:
        return self.headline


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
) -> GateCheck:
    """Decide whether the error is shown to be below ``limit``, or not to grow by ``allowed``.

    The line is that of ``deciding``, fixed before looking at the outcomes; with a baseline it is the baseline's. Only
    the interval decides, never the value. NotAnswerable where there is no verdict, InputError where there is nothing to
    compare the error with. For the event of two classes the ratio of observed to expected events has to be between 1 /
    ``ratio`` and ``ratio`` too (``verdict``). What can mislead: of several models that each have a limit of 5 %, each
    passes wrongly in up to one of twenty cases. If all have to pass, they jointly pass wrongly no more often than one.

    >>> right, wrong = ([[0.9, 0.1]] * 4000, [0] * 3600 + [1] * 400), ([[0.9, 0.1]] * 4000, [0] * 4000)
    >>> [gate_check(Predictions(*rows), 0.05).passed for rows in (right, wrong)]
    [True, False]
    >>> gate_check(Predictions(*wrong), before=gate_check(Predictions(*right), 0.05).kept).word
    'worse'
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
        first = replace(first, reason=f"Judged by {notion}, like the baseline.")
    if first.line.verdict is None:
        raise NotAnswerable(f"no verdict: {first.line.note}")
    return GateCheck(first, limit, None if before is None else increase(first.estimate, before, allowed, level))
