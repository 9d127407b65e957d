"""Gates: stored errors of released models, and whether predictions pass a limit or a baseline."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, RATIO, TOLERANCE
from calib_core.estimators.base import Estimate
from calib_core.inference.comparison.model_differences import MARGIN
from calib_core.inference.intervals.interval_methods import rows_for_groups, rows_to_tell, typical_high
from calib_core.inference.significance.calibration_tests import impossible_rows
from calib_core.inference.verdicts.estimate_line import ROUGH_GUIDE, EstimateLine, marked
from calib_core.inference.verdicts.other_measures import other_errors_said
from calib_core.inference.verdicts.primary_measure import ESTIMATOR, PrimaryLine, deciding
from calib_core.inference.verdicts.verdict import (
    of_one_mean,
    on_scale_of,
    on_tolerance_scale,
    ratio_range,
    tolerated_ratios,
)
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import REDUCTIONS
from calib_core.registry.registry import RegistryError
from calib_core.results.verdict_table import TOO_CLOSE, TOO_FEW, WITHIN, WORSE, IncreaseWord, in_full
from calib_core.text import at_level, count, exact_tolerance, in_points, points, rows, score, short_percent

SCHEMA = "calib-gate/1"
"""Schema name in a gate's JSON; incremented by incompatible changes."""


_SAME = {"notion": "notions", "estimator": "estimators", "bins": "bins", "classes": "numbers of classes",
         "about": "intervals"}  # fmt: skip
_NUMBERS = re.compile(
    r"one group of all rows|[\d,]+ groups [^,]+|, classes of few rows pooled|[\d.,]+ %"
    r"|,? or of the confidence(, which is | \()larger here\)?|; errors .+ not measured"
)
_LONGEST = 500
_MANY = 2**53


@dataclass(frozen=True, repr=False)
class Baseline(OneLine):
    """A model's error for comparison with a later one: its interval and what it is an error of.

    ``low``, ``point`` and ``high`` are the interval at ``level`` on the scale of a tolerance (roots of squared errors).
    Notion, estimator, bins, number of classes and what the interval is ``about`` have to be the other model's too.
    """

    name: str
    notion: str
    estimator: str
    bins: str
    classes: int | None
    rows: int
    about: str
    level: float
    low: float
    point: float
    high: float

    def record(self) -> dict[str, object]:
        """The baseline as plain values, for JSON."""
        return asdict(self)

    def _line(self) -> str:
        ends = f"{self.low:.4f} to {self.high:.4f} at {at_level(self.level)}"
        return f"{self.name}: {self.notion} {self.estimator}, {ends}, {self.rows:,} rows"


def level_of_each(level: float) -> float:
    """Level of two intervals whose extremes cover the difference at ``level``: 1 - (1 - level) / 2.

    >>> level_of_each(0.9)
    0.95
    """
    return 1 - (1 - level) / 2


def baseline(measured: Estimate, level: float = LEVEL, name: str = "") -> Baseline:
    """Return the baseline of an estimate for differences at ``level``: its interval at 1 - (1 - level) / 2.

    >>> from calib_core import Predictions, estimate
    >>> kept = baseline(estimate(Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)), name="v1")
    >>> kept.level, kept.low < 0.3 < kept.high
    (0.95, True)
    """
    assert measured.question is not None
    judged = measured.question.predictions
    reduction, estimator = measured.recipe
    if reduction is None:
        raise RegistryError(f"{estimator.title} is a score; a baseline stores a calibration error")
    each = level_of_each(level)
    span = measured.interval(each)
    low, point, high = (on_tolerance_scale(measured, end) for end in (span.low, span.point, span.high))
    count = judged.answered.n_rows
    of = (name, reduction.key, estimator.key, measured.in_bins, judged.n_classes, count, span.about)
    return Baseline(*of, each, low, point, high)


@dataclass(frozen=True, repr=False)
class Increase(OneLine):
    """Verdict on the increase of a model's error over a baseline, and the sentence that explains it.

    - within: the interval of the increase is below ``allowed``.
    - worse: it is above.
    - too close to call: it includes ``allowed``.
    - too few rows to tell: it includes ``allowed``, and would for a perfectly calibrated model with these predictions
      too.

    ``low``, ``point`` and ``high`` are on the scale of a tolerance.
    """

    word: IncreaseWord
    allowed: float
    level: float
    low: float
    point: float
    high: float
    sentence: str
    baseline: Baseline
    rows_needed: float | None = None

    @property
    def headline(self) -> str:
        """The word, and what it rests on."""
        low, point, high = _written(self.low, self.point, self.high, self.allowed)
        return f"{_IN_FULL[self.word]}: {point} points, {at_level(self.level)} interval {low} to {high} points"

    @property
    def between(self) -> str:
        """Both ends as people read them."""
        low, _, high = _written(self.low, self.point, self.high, self.allowed)
        return f"{low} to {high} points"

    def record(self) -> dict[str, object]:
        """The increase as plain values, for JSON."""
        return asdict(self) | {"baseline": self.baseline.record()}

    def _line(self) -> str:
        return self.headline


_IN_FULL: dict[IncreaseWord, str] = {
    WITHIN: "not worse than the baseline by more than the allowed increase",
    WORSE: "worse than the baseline",
    TOO_CLOSE: "too close to the baseline to call",
    TOO_FEW: "too few rows to compare with the baseline",
}


def increase(measured: Estimate, before: Baseline, allowed: float = 0.01, level: float = LEVEL) -> Increase:
    """Test whether the error exceeds the baseline's by at most ``allowed``; the rows may differ.

    The two models have intervals [a, b] and [c, d] at level 1 - (1 - level) / 2. The difference of the errors is then
    in [a - d, b - c], whatever rows they share. Both intervals are valid jointly with probability ``level`` or more.
    Each verdict is wrong in at most (1 - level) / 2 of cases if the intervals' ends are valid. This is conservative and
    wide: ``paired_difference`` on the same rows detects far smaller differences. InputError where the baseline is of
    another notion, estimator, binning, number of classes or level. What can mislead: each error is that on its own rows
    and in bins of its own scores. Two baselines that were both "within" may differ by ``2 allowed``.

    >>> from calib_core import Predictions, estimate
    >>> right = estimate(Predictions([[0.9, 0.1]] * 2000, [0] * 1800 + [1] * 200))
    >>> wrong = estimate(Predictions([[0.9, 0.1]] * 2000, [0] * 1600 + [1] * 400))
    >>> increase(wrong, baseline(right)).word, increase(right, baseline(wrong)).word
    ('worse', 'within')
    """
    if not 0 <= allowed < 1:
        raise InputError(f"the increase allowed is {allowed:g}; it must be at least 0 and below 1")
    after = baseline(measured, level)
    _check_same(after, before)
    low, high = after.low - before.high, after.high - before.low
    point = min(max(after.point - before.point, low), high)
    ends, where = (allowed, level, low, point, high), f" ({before.name})" if before.name else ""
    least, middle, most = _written(low, point, high, allowed)
    found = (
        f"the error is estimated at {short_percent(after.point)}, that of the baseline{where} at "
        f"{short_percent(before.point)}, each on its own rows: a change of {middle} points ({at_level(level)} "
        f"interval {least} to {most} points)"
    )
    limit_words = f"the {points(allowed).removeprefix('+')} allowed"
    question = measured.question
    assert question is not None
    if high < allowed:
        if (more := rows_for_groups(question, allowed)) is not None:
            text = f"Too few rows to tell: {found}, below {limit_words}, {of_one_mean(more)}"
            return Increase(TOO_FEW, *ends, text, before, more)
        return Increase(WITHIN, *ends, f"Not worse: {found}, below {limit_words}.", before)
    if low > allowed:
        return Increase(WORSE, *ends, f"Worse: {found}, above {limit_words}.", before)
    typical = typical_high(question, after.level) if question.predictions.row_groups is None else 0.0
    if on_tolerance_scale(measured, typical) - before.low >= allowed:
        limit = on_scale_of(measured, before.low + allowed)
        needed = rows_to_tell(question, limit, after.level) if limit > 0 else None
        many = ""
        if needed is not None and math.isfinite(needed):
            many = f" With about {rows(needed)} judged rows, a model without error would be, in 8 of 10 samples."
        text = (
            f"Too few rows to tell: {found}. With so few rows, even a perfectly calibrated model is usually not shown "
            f"to be below {limit_words}.{many}"
        )
        return Increase(TOO_FEW, *ends, text, before, needed)
    return Increase(TOO_CLOSE, *ends, f"Too close to call: {found}, on both sides of {limit_words}.", before)


def _written(low: float, point: float, high: float, allowed: float) -> list[str]:
    """Format points with enough digits to agree with the verdict on the allowed increase."""
    return in_points((low, point, high), allowed)


def _check_same(after: Baseline, before: Baseline) -> None:
    """Refuse to compare errors of different things."""
    mine, theirs = after.record(), before.record()
    for name, title in _SAME.items():
        # Bare confidences do not know how many classes there were.
        if _kind(mine[name]) != _kind(theirs[name]) and None not in (mine[name], theirs[name]):
            same = "the same bins" if name == "about" else "the same"
            raise InputError(
                f"the two {title} are not comparable. In the baseline: {theirs[name]}; here: {mine[name]}. Choose "
                f"{same} for both, or create the baseline again"
            )
    if not math.isclose(after.level, before.level):
        raise InputError(
            f"the baseline was created for intervals of differences at {at_level(2 * before.level - 1)}, not "
            f"{at_level(2 * after.level - 1)}: give that level, or create the baseline again"
        )


def _kind(value: Any) -> Any:
    """Parts of the description that must agree: the number of groups, and which error is larger, may differ."""
    return _NUMBERS.sub("", value) if isinstance(value, str) else value


# -- from a gate's JSON ---------------------------------------------------------------------------------------


def read_baselines(data: bytes, name: str) -> dict[str, Baseline]:
    """Read the baselines in a gate's JSON, by file name.

    InputError describes the fault.

    >>> read_baselines(b"[]", "old.json")
    Traceback (most recent call last):
    ...
    calib_core._base.errors.InputError: old.json is not a baseline; create one with calib gate FILE --format json
    """
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        whole = None
    schema = whole.get("schema") if _is_table(whole) else None
    if isinstance(schema, str) and schema != SCHEMA and schema.startswith("calib-gate/"):
        raise InputError(
            f"{name} has the form {schema[:40]!r}, this version reads {SCHEMA!r}: create the baseline again"
        )
    checks = whole.get("checks") if _is_table(whole) and schema == SCHEMA else None
    if not isinstance(checks, list):
        raise InputError(f"{name} is not a baseline; create one with calib gate FILE --format json")
    kept = [each["kept"] for each in checks if _is_table(each) and _is_table(each.get("kept"))]
    if not kept:
        raise InputError(f"{name} contains no error because its gate could not run; create the baseline again")
    found = [_baseline(each, name) for each in kept]
    names = [each.name for each in found]
    if len(set(names)) < len(names):
        raise InputError(f"{name} contains two errors with the same name; create one baseline per file")
    return dict(zip(names, found, strict=True))


def baseline_for(file: str, kept: Mapping[str, Baseline]) -> Baseline:
    """Return the only baseline, or the one for a file of this name."""
    if len(kept) == 1:
        return next(iter(kept.values()))
    if file not in kept:
        raise InputError(f"the baseline contains {', '.join(sorted(kept))[:_LONGEST]}, but not {file}")
    return kept[file]


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _baseline(kept: dict[str, Any], name: str) -> Baseline:
    """One baseline, each value checked: what was edited by hand is refused, not believed."""
    texts = {key: kept.get(key) for key in ("name", "notion", "estimator", "bins", "about")}
    counts = {key: kept.get(key) for key in ("classes", "rows") if key == "rows" or kept.get(key, 0) is not None}
    numbers = {key: kept.get(key) for key in ("level", "low", "point", "high")}
    right = {
        **{key: isinstance(value, str) and len(value) <= _LONGEST for key, value in texts.items()},
        **{key: type(value) is int and 0 < value < _MANY for key, value in counts.items()},
        **{key: _number(value) for key, value in numbers.items()},
    }
    wrong = [key for key, fits in right.items() if not fits]
    if not wrong and not (0 <= kept["low"] <= kept["point"] <= kept["high"] and 0 < kept["level"] < 1):
        wrong = ["interval"]
    if wrong:
        raise InputError(f"{name} is damaged: its {wrong[0]} is not valid; create the baseline again")
    return Baseline(**texts, **{"classes": None, **counts}, **{key: float(value) for key, value in numbers.items()})  # type: ignore[arg-type]


def _number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and abs(float(value)) < math.inf


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
        allowed = f"{line.title} {line.written(line.point)} ({line.interval}), maximum {exact_tolerance(self.limit)}"
        if line.ratio is not None and line.ratio_limit is not None:
            ends = ratio_range(line.ratio_low or 0.0, line.ratio_high or math.inf, line.ratio_limit)
            tolerated = tolerated_ratios(line.ratio_limit)
            allowed += f"; observed : expected {score(line.ratio)} ({ends}), allowed {tolerated}"
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
        return " ".join([line.as_measured, *notes]).replace(ROUGH_GUIDE, alone)

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
            "impossible_rows": self.impossible_rows,
            "limit": self.limit,
            "max_ratio": self.line.ratio_limit,
            "line": self.line.record(),
            "increase": None if self.growth is None else self.growth.record(),
            "kept": replace(self.kept, name=name).record(),
            "error": None,
        }

    def _line(self) -> str:
        return self.headline


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
        first = replace(first, reason=f"Judged by {REDUCTIONS[notion].title.lower()} error, like the baseline.")
    if first.line.verdict is None:
        raise NotAnswerable(f"no verdict: {first.line.note}")
    return GateCheck(first, limit, None if before is None else increase(first.estimate, before, allowed, level))
