"""Baselines of a gate: the stored error of a released model, and whether another model's error is larger."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from calib_core._base.errors import InputError
from calib_core._base.notebook_display import OneLine
from calib_core.binning.interval_schemes import bins_noun
from calib_core.defaults import BINS, LEVEL
from calib_core.estimators.base import Estimate
from calib_core.inference.intervals.interval_methods import rows_for_groups, rows_to_tell, typical_high
from calib_core.inference.verdicts.verdict import of_one_mean, on_scale_of, on_tolerance_scale
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import RegistryError
from calib_core.results.verdict_table import TOO_CLOSE, TOO_FEW, WITHIN, WORSE, IncreaseWord
from calib_core.text import at_level, begun, in_points, points, rows, short_percent

SCHEMA = "calib-gate/1"
"""Schema name in a gate's JSON; incremented by incompatible changes."""


_SAME = ("notion", "estimator", "bins", "classes", "about")
"""Fields that have to be equal for a comparison."""
_NUMBERS = re.compile(
    r"one group of all rows|[\d,]+ groups [^,]+|, classes of few rows pooled|[\d.,]+ %"
    r"|,? or of the confidence(, which is | \()larger here\)?|; errors .+ not measured"
)
_AGAIN = "create the baseline again"
_EQUAL_WIDTH = re.compile(r"(\d+) equal width")
_LONGEST = 500
_MANY = 2**53


Overlap = Literal["auto", "none", "any"]
"""Rows that a file and its baseline share: none, any number, or decided by what is known about them."""


@dataclass(frozen=True, repr=False)
class Baseline(OneLine):
    """A model's error for comparison with a later one: its interval and what it is an error of.

    ``low``, ``point`` and ``high`` are the interval at ``level`` on the scale of a tolerance (roots of squared errors).
    Notion, estimator, bins, number of classes and what the interval is ``about`` have to be the other model's too.
    ``own_low`` and ``own_high`` are its ends at the level of differences, 2 ``level`` - 1. ``outcomes`` identifies the
    numbers of labels of each class, which are equal on the same rows. The last three are None if they are unknown.
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
    own_low: float | None = None
    own_high: float | None = None
    outcomes: str | None = None

    def record(self) -> dict[str, object]:
        """The baseline as plain values, for JSON."""
        return asdict(self)

    def _own(self) -> tuple[float, float]:
        assert self.own_low is not None
        assert self.own_high is not None
        return self.own_low, self.own_high

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
    span, own = measured.interval(each), measured.interval(level)
    low, point, high = (on_tolerance_scale(measured, end) for end in (span.low, span.point, span.high))
    own_low, own_high = (on_tolerance_scale(measured, end) for end in (own.low, own.high))
    count = judged.answered.n_rows
    of = (name, reduction.key, estimator.key, measured.in_bins, judged.n_classes, count, span.about)
    return Baseline(*of, each, low, point, high, own_low, own_high, _outcomes(judged.answered))


def _outcomes(judged: Predictions) -> str | None:
    """Digest of the number of labels of each class; None if the labels are unknown."""
    if judged.labels is None:
        return None
    counts = np.bincount(judged.labels, minlength=judged.n_classes or 0)
    return hashlib.sha256(",".join(map(str, counts.tolist())).encode()).hexdigest()[:16]


@dataclass(frozen=True, repr=False)
class Increase(OneLine):
    """Verdict on the increase of a model's error over a baseline, and the sentence that explains it.

    - within: the interval of the increase is below ``allowed``.
    - worse: it is above.
    - too close to call: it includes ``allowed``.
    - too few rows to tell: it includes ``allowed``, and would for a perfectly calibrated model with these predictions
      too.

    ``low``, ``point`` and ``high`` are on the scale of a tolerance. ``disjoint``: the interval assumes that the two
    files share no rows; otherwise it is valid whichever rows they share, and wider.
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
    disjoint: bool = False

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


def increase(
    measured: Estimate, before: Baseline, allowed: float = 0.01, level: float = LEVEL, overlap: Overlap = "auto"
) -> Increase:
    """Test whether the error exceeds the baseline's by at most ``allowed``; the rows may differ.

    Parameters
    ----------
    measured, before : the error of the new model, and the stored one.
    allowed : allowed increase, at least 0 and below 1.
    level : confidence level of the interval of the increase.
    overlap : rows that the two files may share, "none" or "any". By default, none if their numbers of rows, or of the
        labels of a class, differ.

    The new model has the estimate e with interval [a, b], the baseline f with [c, d].

    *Any rows shared*: both intervals are at level 1 - (1 - level) / 2. The difference is in [a - d, b - c]. Both are
    valid jointly with probability ``level`` or more. This is conservative and wide.

    *No rows shared*: both intervals are at ``level`` (Zou & Donner 2008). The ends are

        high = e - f + sqrt((b - e)^2 + (f - c)^2), low = e - f - sqrt((e - a)^2 + (d - f)^2).

    An estimate whose interval includes 0 is biased upward, so that these ends would miss too often. Its end then counts
    alone: high = b if c = 0, and low = -d if a = 0.

    Each verdict is wrong in at most (1 - level) / 2 of cases if the intervals' ends are valid. InputError where the
    baseline is of another notion, estimator, binning, number of classes or level. What can mislead: each error is that
    on its own rows and in bins of its own scores. Two baselines that were both "within" may differ by ``2 allowed``.
    With "none", models that err in opposite directions on shared rows make the interval too narrow. On the same rows,
    ``paired_difference`` detects far smaller differences.

    >>> from calib_core import Predictions, estimate
    >>> right = estimate(Predictions([[0.9, 0.1]] * 2000, [0] * 1800 + [1] * 200))
    >>> wrong = estimate(Predictions([[0.9, 0.1]] * 2000, [0] * 1600 + [1] * 400))
    >>> increase(wrong, baseline(right)).word, increase(right, baseline(wrong)).word
    ('worse', 'within')
    """
    if not 0 <= allowed < 1:
        raise InputError(f"the increase allowed is {allowed:g}; it must be at least 0 and below 1")
    if overlap not in get_args(Overlap):
        raise InputError(f"overlap is {overlap!r}; choose one of {', '.join(get_args(Overlap))}")
    after = baseline(measured, level)
    _check_same(after, before)
    disjoint = _disjoint(after, before, overlap)
    low, high = _ends(after, before) if disjoint else (after.low - before.high, after.high - before.low)
    point = min(max(after.point - before.point, low), high)
    where = f" ({before.name})" if before.name else ""
    least, middle, most = _written(low, point, high, allowed)
    found = (
        f"the error is estimated at {short_percent(after.point)}, that of the baseline{where} at "
        f"{short_percent(before.point)}, each on its own rows: a change of {middle} points ({at_level(level)} "
        f"interval {least} to {most} points)"
    )
    limit_words = f"the allowed increase of {points(allowed).removeprefix('+')}"
    shared = " This assumes that the two files share no rows." if disjoint else ""

    def answer(word: IncreaseWord, sentence: str, needed: float | None = None) -> Increase:
        sentence = f"{sentence}{shared}"
        return Increase(word, allowed, level, low, point, high, sentence, before, needed, disjoint)

    question = measured.question
    assert question is not None
    if high < allowed:
        if (more := rows_for_groups(question, allowed)) is not None:
            return answer(
                TOO_FEW, f"Too few rows to tell: {found}, below {limit_words}, {' '.join(of_one_mean(more))}", more
            )
        return answer(WITHIN, f"Not worse: {found}, below {limit_words}.")
    if low > allowed:
        return answer(WORSE, f"Worse: {found}, above {limit_words}.")
    each = level if disjoint else after.level
    typical = typical_high(question, each) if question.predictions.row_groups is None else 0.0
    most_error = _most_error(before, allowed) if disjoint else before.low + allowed
    if on_tolerance_scale(measured, typical) >= most_error:
        limit = on_scale_of(measured, most_error)
        needed = rows_to_tell(question, limit, each) if limit > 0 else None
        many = ""
        if needed is not None and math.isfinite(needed):
            many = (
                f" With about {rows(needed)} judged rows, a model without error is shown to be below it in 8 of 10 "
                "samples."
            )
        text = (
            f"Too few rows to tell: {found}. With so few rows, even a perfectly calibrated model would usually not be "
            f"shown to be below {limit_words}.{many}"
        )
        return answer(TOO_FEW, text, needed)
    return answer(TOO_CLOSE, f"Too close to call: {found}, on both sides of {limit_words}.")


def _disjoint(after: Baseline, before: Baseline, overlap: Overlap) -> bool:
    """True if the interval may assume that the two share no rows."""
    known = before.own_low is not None and before.own_high is not None
    if overlap == "any" or (not known and overlap == "auto"):
        return False
    if not known:
        raise InputError("the baseline does not contain what a comparison without shared rows needs; create it again")
    if overlap == "none" or after.rows != before.rows:
        return True
    return after.outcomes is not None and before.outcomes is not None and after.outcomes != before.outcomes


def _ends(after: Baseline, before: Baseline) -> tuple[float, float]:
    """Ends of the difference of two independent estimates."""
    (a, b), (c, d) = after._own(), before._own()
    difference = after.point - before.point
    high = difference + math.hypot(b - after.point, before.point - c) if c > 0 else b
    low = difference - math.hypot(after.point - a, d - before.point) if a > 0 else -d
    return low, high


def _most_error(before: Baseline, allowed: float) -> float:
    """Upper end that a model without error may have: its increase is then below ``allowed``.

    Its estimate is 0, so that the upper end of the difference is sqrt(b^2 + (f - c)^2) - f, or b if c = 0.
    """
    c, _ = before._own()
    if c <= 0:
        return allowed
    return math.sqrt(max((allowed + before.point) ** 2 - (before.point - c) ** 2, 0.0))


def _written(low: float, point: float, high: float, allowed: float) -> list[str]:
    """Format points with enough digits to agree with the verdict on the allowed increase."""
    return in_points((low, point, high), allowed)


def _check_same(after: Baseline, before: Baseline) -> None:
    """Refuse to compare errors of different things, with the option that makes them comparable."""
    mine, theirs = after.record(), before.record()
    for name in _SAME:
        # Bare confidences do not know how many classes there were.
        if _kind(mine[name]) != _kind(theirs[name]) and None not in (mine[name], theirs[name]):
            raise InputError(_difference(name, after, before))
    if not math.isclose(after.level, before.level):
        level = 2 * before.level - 1
        raise InputError(
            f"the baseline has intervals for differences at {at_level(level)}, this check at "
            f"{at_level(2 * after.level - 1)}. Add --level {level:.6g}, or {_AGAIN}"
        )


def _difference(name: str, after: Baseline, before: Baseline) -> str:
    """Describe a difference from the baseline, and how to settle it."""
    mine, theirs = getattr(after, name), getattr(before, name)
    if name in ("notion", "estimator"):
        what = "notion of calibration" if name == "notion" else "estimator"
        return f"the baseline has another {what}: {theirs}, not {mine}. Add --{name} {theirs}, or {_AGAIN}"
    if name == "classes":
        return (
            f"the baseline is of a model with {theirs} classes, but here there are {mine}. Errors are comparable only "
            "for the same classes: give the baseline of such a model"
        )
    if name == "bins":
        number = _EQUAL_WIDTH.fullmatch(theirs)
        option = f"--bins {number[1]}" if number else "the options --binning and --bins of the baseline"
        return f"the baseline has other bins: {bins_noun(theirs)}, not {bins_noun(mine)}. Add {option}, or {_AGAIN}"
    number = _EQUAL_WIDTH.fullmatch(after.bins)
    option = f"--bins {number[1] if number else BINS}"
    return (
        "the interval of the baseline was computed in another way than the one here: by default, the way depends on "
        f"the predictions. With {option} it is the same for all files. {begun(_AGAIN)} with {option} (calib gate "
        f"OLD_FILE {option} --max-ece 1 --format json), and add {option} here"
    )


def _kind(value: Any) -> Any:
    """Parts of the description that must agree: the number of groups, and which error is larger, may differ."""
    return _NUMBERS.sub("", value) if isinstance(value, str) else value


# -- from a gate's JSON ---------------------------------------------------------------------------------------


def read_baselines(data: bytes, name: str, key: bytes | None = None) -> dict[str, Baseline]:
    """Read the baselines in a gate's JSON, by file name.

    The fields of its check have to agree with the digest that the gate wrote. With a ``key``, it also has to be signed
    with this key. InputError describes the fault.

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
    checks = [each for each in checks if _is_table(each) and _is_table(each.get("kept"))]
    if not checks:
        raise InputError(f"{name} contains no error because its gate could not run; create the baseline again")
    found = [_baseline(each["kept"], name) for each in checks]
    for each in checks:
        _check_sealed(each, name, key)
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
    numbers |= {key: kept[key] for key in ("own_low", "own_high") if kept.get(key) is not None}
    if kept.get("outcomes") is not None:
        texts["outcomes"] = kept["outcomes"]
    right = {
        **{key: isinstance(value, str) and len(value) <= _LONGEST for key, value in texts.items()},
        **{key: type(value) is int and 0 < value < _MANY for key, value in counts.items()},
        **{key: _number(value) for key, value in numbers.items()},
    }
    wrong = [key for key, fits in right.items() if not fits]
    if not wrong and not (_nested(numbers) and 0 < kept["level"] < 1):
        wrong = ["interval"]
    if wrong:
        raise InputError(f"{name} is damaged: the value of {wrong[0]} is not valid; create the baseline again")
    return Baseline(**texts, **{"classes": None, **counts}, **{key: float(value) for key, value in numbers.items()})  # type: ignore[arg-type]


def _nested(ends: Mapping[str, Any]) -> bool:
    """True if the ends are in order, those at the lower level inside the others."""
    inner = [ends[key] for key in ("own_low", "own_high") if key in ends]
    low, high = (inner[0], inner[1]) if len(inner) == 2 else (ends["low"], ends["high"])
    return len(inner) != 1 and bool(0 <= ends["low"] <= low <= ends["point"] <= high <= ends["high"])


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -_MANY < value < _MANY


# -- seals ----------------------------------------------------------------------------------------------------

_SEALED = ("verdict", "passed", "headline", "sentence", "limit", "line", "increase", "kept")
"""Fields of a check that its digest covers."""


def seals(check: Mapping[str, object], key: bytes | None = None) -> dict[str, str]:
    """Return the digest of a check's fields, and with a ``key`` its signature (HMAC), both SHA-256 in hexadecimal.

    >>> sorted(seals({"verdict": "within"})), sorted(seals({"verdict": "within"}, b"secret"))
    (['digest'], ['digest', 'signature'])
    """
    # Numbers that JSON does not have become null, as where the record is written.
    plain = json.loads(json.dumps({name: check.get(name) for name in _SEALED}), parse_constant=lambda _: None)
    text = json.dumps(plain, sort_keys=True).encode()
    found = {"digest": hashlib.sha256(text).hexdigest()}
    return found if key is None else found | {"signature": hmac.new(key, text, hashlib.sha256).hexdigest()}


def signing_key() -> bytes | None:
    """Return the key that signs results and baselines, from CALIB_GATE_KEY; None without one, InputError if empty."""
    key = os.environ.get("CALIB_GATE_KEY")
    if key == "":
        raise InputError("CALIB_GATE_KEY is set but empty, as where a secret is missing: give the key, or unset it")
    return None if key is None else key.encode()


def _check_sealed(check: Mapping[str, Any], name: str, key: bytes | None) -> None:
    """InputError if the fields of a check disagree with its digest or with the key."""
    right = seals(check, key)
    if check.get("digest") != right["digest"]:
        raise InputError(f"{name} was changed after calib gate wrote it: its digest differs; {_AGAIN}")
    if key is not None and not hmac.compare_digest(str(check.get("signature")).encode(), right["signature"].encode()):
        signed = "is signed with another key" if check.get("signature") else "is not signed"
        raise InputError(f"{name} {signed}, but a key is set for this gate; {_AGAIN} with the key")
