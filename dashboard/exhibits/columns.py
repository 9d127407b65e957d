"""Columns of printed tables: one constructor per kind of value, and the meanings of common columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from calib_core import text as number_words
from calib_core.diagrams import edges_said
from calib_core.inference import in_full
from calib_core.inference.verdicts.verdict import ratio_range
from calib_core.registry.registry import Registry
from calib_core.text import count, score

NOT_KNOWN = "–"
ENDS = {"low": "from", "lower": "from", "high": "to", "upper": "to"}
"""Names of the ends of an interval if each has its own column."""


@dataclass(frozen=True)
class Column:
    """One printed column: its heading, the frame's columns it uses, and their format.

    ``write`` gets their values in order; a column of numbers is aligned to the right. In a sortable table, each of the
    first ``apart`` of them (0: all) has its own column of numbers. ``end`` (by default ``write``) writes one of these,
    given its value and the values of the others. ``digits`` is the printf format for tables too long to write cell by
    cell; empty for a column of words. ``best``: the end, "high" or "low", that is set in bold in a comparison.
    ``lines``: number of lines into which sentences are broken.
    """

    heading: str
    made_of: tuple[str, ...]
    write: Callable[..., str]
    numeric: bool = True
    digits: str = ""
    best: str = ""
    apart: int = 0
    end: Callable[..., str] | None = None
    lines: int = 1

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns of the frame that are separate in a sortable table; none for a column of words."""
        return self.made_of[: self.apart or None] if self.digits else ()

    def headings(self) -> dict[str, str]:
        """Return the headings of these columns."""
        if not self.numbers[1:]:
            return dict.fromkeys(self.numbers, self.heading)
        return {name: f"{self.heading}, {ENDS.get(name.rpartition('_')[2], name)}" for name in self.numbers}

    def alone(self, frame: pd.DataFrame, name: str) -> list[str]:
        """Return the cells of one of these columns as text."""
        aside = [frame[other].tolist() for other in self.made_of[self.apart or len(self.made_of) :]]
        write = self.end or self.write
        return [write(*values) for values in zip(frame[name].tolist(), *aside, strict=True)]


Meanings = MappingProxyType
"""Read-only meanings of columns by name."""


@dataclass(frozen=True)
class Declared:
    """Description of a frame's column: name, heading (empty if not printed), unit and meaning."""

    name: str
    heading: str
    unit: str
    meaning: str


UNITS = {
    "percent": "share",
    "points": "share",
    "localized": "count",
    "%.2g": "p-value",
    "plain": "as in the file",
    "": "words",
}
"""Units of printed columns by their printf format; of all others a number without a unit."""

COMMON = {
    "about": "what the interval is about",
    "basis": "basis of the finding, in words",
    "bin": "number of the bin, from 0",
    "bins": "bins of the raw value",
    "calibrator": "title of the recalibrated model",
    "class": "name of the class",
    "correct": "whether the predicted class is the true one",
    "count": "rows in the bin",
    "confidence": "probability of the predicted class; of a bin its mean",
    "accuracy": "accuracy of the bin's rows",
    "class_difference": "mean absolute difference between a class's error and that of its bin, weighted by rows",
    "class_edge": "what this is at most by noise if classes do not differ, corrected for the number of bins",
    "class_p": "p-value of class_difference, corrected for the number of bins",
    "delta": "mean absolute difference between the predicted classes' accuracy and confidence, weighted by rows",
    "event": "whether the event happened",
    "estimator": "key of the estimator",
    "finding": "the finding in a sentence",
    "first": "title of the first model",
    "first_value": "value of the first model",
    "floor": "noise floor: the raw value of 95 % of calibrated models is at most this (for accuracy: at least)",
    "headline": "the finding in a sentence",
    "high": "upper end of the 90 % interval",
    "label": "true class",
    "level": "level of the interval",
    "limit": "tolerance on the scale of the value",
    "low": "lower end of the 90 % interval",
    "lower": "lower end of the bin",
    "mark": "marks intervals that estimate the same quantity",
    "method": "method of the interval",
    "model": "title of the model",
    "note": "reason for a missing number, or a remark",
    "notion": "notion of calibration",
    "p": "p-value: probability that a calibrated model shows at least as much",
    "p_of": "subject of p: another error, or models that perform as badly or worse",
    "p_corrected": "Holm-corrected p-value, also corrected for the kinds of subsets and the columns",
    "p_holm": "Holm-corrected p-value for the number of tests",
    "P(*": "probability of the class",
    "place": "the place in words",
    "point": "estimate that the interval is about",
    "predicted": "predicted class",
    "ratio": "observed over expected events",
    "ratio_limit": "tolerance of that ratio",
    "ratio_word": "whether the ratio is within its tolerance, outside it, or undecided",
    "reason": "reason for this choice",
    "risk": "predicted risk of the event",
    "row": "position in the file",
    "rows": "number of rows",
    "null_low": "lower end of delta within noise if classes do not differ",
    "null_high": "upper end of the same",
    "second": "title of the second model",
    "second_value": "value of the second model",
    "sentence": "the line in a sentence",
    "share": "share of all rows",
    "slice": "the slice in words",
    "stands_out": "whether p_corrected is at most 0.05",
    "tested": "whether coverage of the interval was simulated or proven in cases like this",
    "title": "title of the quantity in this line",
    "top_label": "confidence plus or minus delta, on the star's side of the diagonal",
    "unit": "unit of the numbers: share, square of a share, or score",
    "upper": "upper end of the bin",
    "value": "raw value of the estimator's formula, noise included",
    "verdict": "one of the four verdicts",
    "worth": "effective sample size: equivalent number of independent rows of equal weight",
}
"""Meanings of columns that are the same in all tables, unless an exhibit overrides them."""


def meaning(name: str, own: Mapping[str, str]) -> str:
    """Return the meaning of a column; for an end of an interval, derived from its number. Empty if there is none.

    >>> meaning("gap_low", {"gap": "the gap"}), meaning("error, a", {"error, *": "raw ECE"}), meaning("x", {})
    ('lower end of the 90 % interval of: the gap', 'raw ECE', '')
    """
    for known in (own, COMMON):
        if name in known:
            return known[name]
        for pattern, text in known.items():
            before, star, after = pattern.partition("*")
            if star and name.startswith(before) and name.endswith(after) and len(name) > len(before + after):
                return text
    for end, words in (("_low", "lower"), ("_high", "upper")):
        if name.endswith(end) and (text := meaning(name.removesuffix(end), own)):
            return f"{words} end of the 90 % interval of: {text}"
    return ""


def declared(frame: pd.DataFrame, columns: tuple[Column, ...], own: Mapping[str, str]) -> tuple[Declared, ...]:
    """Describe every column of a frame, in order; ``own``: the exhibit's own meanings."""
    found = []
    for name in map(str, frame.columns):
        own_column = (column for column in columns if name in (column.made_of[0], *column.numbers))
        printed = next(own_column, next((column for column in columns if name in column.made_of), None))
        heading = "" if printed is None else printed.headings().get(name, printed.heading)
        unit = "" if printed is None else "of the line" if "unit" in printed.made_of else UNITS.get(printed.digits, "")
        found.append(Declared(name, heading, unit or "number", meaning(name, own)))
    return tuple(found)


def written(frame: pd.DataFrame, columns: tuple[Column, ...]) -> list[list[str]]:
    """Return the cells of a table as text, line by line."""
    parts = [(column, [frame[name].tolist() for name in column.made_of]) for column in columns]
    return [[column.write(*(values[i] for values in lists)) for column, lists in parts] for i in range(len(frame))]


def best_cells(frame: pd.DataFrame, columns: tuple[Column, ...]) -> set[tuple[int, int]]:
    """Return line and column of the best values, if there are several lines to compare.

    >>> frame = pd.DataFrame({"accuracy": [0.9, 0.8, 0.9]})
    >>> sorted(best_cells(frame, (number("accuracy", best="high"),)))
    [(0, 0), (2, 0)]
    """
    found = set()
    for j, column in enumerate(columns):
        if column.best and len(frame) > 1:
            values = frame[column.made_of[0]]
            end = values.max() if column.best == "high" else values.min()
            found |= {(i, j) for i, value in enumerate(values) if value == end}
    return found


def text(heading: str, name: str | None = None) -> Column:
    """A column of words."""
    return Column(heading, (name or heading,), _words, numeric=False)


def yes_or_no(heading: str, name: str | None = None) -> Column:
    """A column of yes or no."""
    return Column(heading, (name or heading,), lambda value: "yes" if value else "no", numeric=False)


def sentences(heading: str, lines: int = 4) -> Column:
    """A column of sentences."""
    return Column(heading, (heading,), _words, numeric=False, lines=lines)


def titled(heading: str, registry: Registry[Any], name: str | None = None) -> Column:
    """A column of keys of a registry, as the titles of its members."""

    def title(key: Any) -> str:
        return NOT_KNOWN if _missing(key) else registry[key].title if key in registry else str(key)

    return Column(heading, (name or heading,), title, numeric=False)


def number(heading: str, name: str | None = None, best: str = "") -> Column:
    """A column of scores or other numbers without a unit, with three significant digits."""
    return Column(heading, (name or heading,), _known(score), digits="%.3g", best=best)


def evidence(heading: str, name: str) -> Column:
    """A column of e-values; those above a million, which can have 40 digits, are only said to be so."""

    def write(value: float) -> str:
        return "over 1,000,000" if value > 1e6 else score(value)

    return Column(heading, (name,), _known(write), digits="%.3g")


def error(heading: str, name: str | None = None, best: str = "") -> Column:
    """A column of errors in units of probability: percent, two significant digits."""
    return Column(heading, (name or heading,), _known(number_words.short_percent), digits="percent", best=best)


GAP = "gap (observed - predicted)"
"""Heading of every gap; below 0, predictions are too high."""


def gap(name: str = "gap") -> Column:
    """A column of gaps, observed minus predicted, in tables of bins, classes, slices and all rows."""
    return points(GAP, name)


def points(heading: str, name: str | None = None) -> Column:
    """A column of differences of shares, in percentage points."""
    return Column(heading, (name or heading,), _known(number_words.points), digits="points")


def size(heading: str, name: str | None = None) -> Column:
    """A column of sizes of gaps: in percentage points like these, without a sign."""
    return Column(heading, (name or heading,), _known(_size), digits="points")


def measured(heading: str, name: str | None = None, unit: str = "unit") -> Column:
    """A column of estimates, each in the unit given by the frame's column ``unit``."""
    write = _known(number_words.measured)
    return Column(heading, (name or heading, unit), write, digits="%.3g", apart=1)


def measured_between(heading: str, low: str, high: str, unit: str = "unit", limit: str = "limit") -> Column:
    """A column of intervals in their units, with enough digits to separate their ends from the ``limit``."""

    def both(low: Any, high: Any, unit: number_words.Unit, limit: Any) -> str:
        apart = None if _missing(limit) else float(limit)
        return NOT_KNOWN if _missing(low) or _missing(high) else number_words.measured_between(low, high, unit, apart)

    def end(value: Any, unit: number_words.Unit, limit: Any) -> str:
        return both(value, value, unit, limit).partition(" to ")[2] or NOT_KNOWN

    return Column(heading, (low, high, unit, limit), both, digits="%.3g", apart=2, end=end)


def in_unit(heading: str, name: str, unit: number_words.Unit, best: str = "") -> Column:
    """A column of numbers in one unit."""
    return error(heading, name, best) if unit == "share" else number(heading, name, best)


def whole(heading: str, name: str | None = None) -> Column:
    """A column of counts."""
    return Column(heading, (name or heading,), _known(lambda value: count(round(value))), digits="localized")


def given(name: str, values: pd.Series) -> Column:
    """A column of the user's file, unrounded; Booleans become yes or no."""
    if pd.api.types.is_bool_dtype(values):
        return Column(name, (name,), lambda value: "yes" if value else "no", numeric=False)
    numeric = pd.api.types.is_numeric_dtype(values)
    return Column(name, (name,), _words, numeric, "plain" if numeric else "")


def share(heading: str, name: str | None = None, best: str = "") -> Column:
    """A column of shares, such as confidence and accuracy: percent, one decimal."""
    return Column(heading, (name or heading,), _known(_one_decimal), digits="percent", best=best)


def level(heading: str, name: str | None = None) -> Column:
    """A column of confidence levels: percent, with a decimal only if needed."""
    return Column(heading, (name or heading,), _known(_end), digits="percent")


def between(heading: str, low: str, high: str) -> Column:
    """A column of intervals of probabilities or shares, from two columns of the frame."""
    return Column(heading, (low, high), span, digits="percent", end=_known(_one_decimal))


def bin_ends(heading: str, low: str, high: str) -> Column:
    """A column of bins as in sentences, with exact ends."""

    def ends(lower: Any, upper: Any) -> str:
        known = not (_missing(lower) or _missing(upper))
        return edges_said(max(0.0, float(lower)), min(1.0, float(upper))) if known else NOT_KNOWN

    return Column(heading, (low, high), ends, digits="percent", end=_known(_one_decimal))


def number_between(heading: str, low: str, high: str, marks: Sequence[str] = ()) -> Column:
    """A column of intervals of numbers without a unit, with enough digits to distinguish their ends from ``marks``.

    ``marks`` are columns of the frame, such as that of the value of a calibrated model.
    """

    def end(value: Any, *marks: Any) -> str:
        apart = [float(mark) for mark in marks if not _missing(mark)]
        return NOT_KNOWN if _missing(value) else number_words.score_apart(float(value), apart)

    def both(low: Any, high: Any, *marks: Any) -> str:
        return NOT_KNOWN if _missing(low) or _missing(high) else f"{end(low, *marks)} to {end(high, *marks)}"

    return Column(heading, (low, high, *marks), both, digits="%.3g", apart=2, end=end)


def ratio_between(heading: str, low: str, high: str, limit: str) -> Column:
    """A column of intervals of observed to expected events, with ends distinguishable from the tolerance and from 1."""

    def both(low: Any, high: Any, limit: Any) -> str:
        return NOT_KNOWN if any(map(_missing, (low, high, limit))) else ratio_range(low, high, limit)

    def end(value: Any, limit: Any) -> str:
        return both(value, value, limit).partition(" to ")[2] or NOT_KNOWN

    return Column(heading, (low, high, limit), both, digits="%.3g", apart=2, end=end)


def difference(heading: str, name: str | None = None, unit: number_words.Unit | None = None) -> Column:
    """A column of differences in a unit, shares in points; without ``unit``, each in the frame's unit."""
    made_of = (name or heading, *(["unit"] if unit is None else []))
    return Column(heading, made_of, _known(_difference(unit)), digits="%.3g", apart=1)


def difference_between(heading: str, low: str, high: str, unit: number_words.Unit | None = None) -> Column:
    """A column of intervals of differences, units as in `difference`."""
    write = _difference(unit)

    def both(low: Any, high: Any, *unit: Any) -> str:
        if _missing(low) or _missing(high):
            return NOT_KNOWN
        return f"{write(float(low), *unit).removesuffix(' points')} to {write(float(high), *unit)}"

    made_of = (low, high, *(["unit"] if unit is None else []))
    return Column(heading, made_of, both, digits="%.3g", apart=2, end=_known(write))


def _difference(unit: number_words.Unit | None) -> Callable[..., str]:
    if unit is None:
        return number_words.difference
    return lambda value: number_words.difference(value, unit)


def probability(heading: str, name: str | None = None) -> Column:
    """A column of p-values: two significant digits, more near the significance level (``text.chance``)."""
    return Column(heading, (name or heading,), _known(_chance), digits="%.2g")


def probability_of(name: str, whose: str, heading: str = "") -> Column:
    """A column of p-values, each with its subject if that is not the line itself."""

    def both(p: Any, whose: Any) -> str:
        return NOT_KNOWN if _missing(p) else " ".join(filter(None, (_chance(float(p)), f"({whose})" if whose else "")))

    return Column(heading or name, (name, whose), both, digits="%.2g", apart=1)


def verdict(heading: str = "verdict", name: str | None = None) -> Column:
    """A column of the four verdicts."""

    def word(value: Any) -> str:
        return NOT_KNOWN if _missing(value) else in_full(value)

    return Column(heading, (name or heading,), word, numeric=False)


def flag(heading: str, name: str | None = None) -> Column:
    """A column of properties: yes or no."""
    return Column(heading, (name or heading,), lambda value: "yes" if value else "no", numeric=False)


def marks(frame: pd.DataFrame, marked: Sequence[str]) -> tuple[Column, ...]:
    """Return the column of marks of the intervals before it, one per line; none if nothing is marked.

    The frame has the columns ``about``, which determines the marks, and ``tested``.
    """
    known = dict(zip(zip(frame["about"], map(str, frame["tested"].tolist()), strict=True), marked, strict=True))
    column = Column("mark", ("about", "tested"), lambda about, tested: known[about, str(tested)], numeric=False)
    return (column,) if any(marked) else ()


def span(low: float | None, high: float | None) -> str:
    """Both ends of an interval of shares.

    >>> span(0.01, 0.0234), span(8 / 15, 1.0), span(None, 0.2)
    ('1 to 2.3 %', '53.3 to 100 %', '–')
    """
    if low is None or high is None or _missing(low) or _missing(high):
        return NOT_KNOWN
    return f"{_end(low).removesuffix(' %')} to {_end(high)}"


def _end(value: float) -> str:
    return _one_decimal(value).replace(".0 %", " %")


def _one_decimal(value: float) -> str:
    """Format with one decimal, or more for values very near 0 or 1.

    >>> [_one_decimal(x) for x in (0.5, 0.79371, 0.99996, 0.0004, 1.0, 0.0)]
    ['50.0 %', '79.4 %', '99.996 %', '0.04 %', '100 %', '0 %']
    """
    near = min(abs(value), abs(1.0 - value))
    return number_words.percent(value) if near >= 0.001 else number_words.short_percent(value)


def _size(value: float) -> str:
    return number_words.points_of(number_words.short_percent(value))


def _chance(p: float) -> str:
    return number_words.chance(p).removeprefix("p ").removeprefix("= ")


def _words(value: Any) -> str:
    return NOT_KNOWN if _missing(value) else _CONTROLS.sub(" ", str(value))


def _known(write: Callable[..., str]) -> Callable[..., str]:
    return lambda value, *more: NOT_KNOWN if _missing(value) else write(float(value), *more)


def _missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
