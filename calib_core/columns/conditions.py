"""Slices: rows with a given value of one or two columns; as values, as text for links, and in words."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.pandas_input import (
    Column,
    coded_texts,
    from_texts,
    in_span,
    is_number,
    span_ends,
    span_text,
    span_words,
)
from calib_core.columns.dates import CalendarCut, calendar_unit, dates_in, span_of_days
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import counts
from calib_core.summaries.cells import Cells
from calib_core.summaries.mergeable import Summary
from calib_core.text import listed as in_words


def kept_column(summary: Summary, name: str) -> Column:
    """The values of a column in a summary, each once, as numbers if all are numbers."""
    return from_texts(list(summary.slices[name]))


def kept_sums(summary: Summary, name: str) -> Float64s:
    """For each value the number of rows and the sums of confidence and of correct outcomes, (values, 3)."""
    tallies = [cells.over(1) for cells in summary.slices[name].values()]
    return np.array([[t.count[0, 0], t.score[0, 0], t.outcome[0, 0]] for t in tallies], dtype=np.float64)


def part_of_counts(summary: Summary, name: str, values: Sequence[int]) -> Summary:
    """The summary of the rows with some of the values: only (confidence, correct), without stored rows."""
    every = list(summary.slices[name].values())
    return summary.of_single_claims(Cells.together([every[i] for i in values]))


def summed(sums: Float64s, groups: Sequence[Codes]) -> Float64s:
    """The same of groups of the values, (groups, columns)."""
    return np.array([sums[places].sum(axis=0) for places in groups]).reshape(-1, sums.shape[1])


MOST_CONDITIONS = 2
_DATES = re.compile(r"\d{4}-\d\d-\d\d\.\.(\d{4}-\d\d-\d\d)?|\.\.\d{4}-\d\d-\d\d")
_IN_QUOTES = r'"(?:[^"]|"")*"'
_PART = re.compile(rf'\s*(?P<column>{_IN_QUOTES}|[^"=&][^=&]*)=\s*(?P<value>{_IN_QUOTES}|[^"&][^&]*|)\s*')


@dataclass(frozen=True)
class Value:
    """Rows whose ``column`` has the value ``text``; None: rows without a value."""

    column: str
    text: str | None

    def __str__(self) -> str:
        return f"{_quoted(self.column)}={'' if self.text is None else _quoted(self.text)}"

    @property
    def title(self) -> str:
        """The condition in words."""
        return f"{self.column} not given" if self.text is None else f"{self.column} = {self.text}"

    @property
    def clause(self) -> str:
        """The condition as a clause, after "where"."""
        return f"{self.column} is {self.short}"

    @property
    def short(self) -> str:
        """The same where the column is named already."""
        return "not given" if self.text is None else self.text

    def rows(self, values: Column) -> Bools:
        """Mask of the column's values that meet it."""
        codes, texts = coded_texts(values)
        return np.asarray(codes == (-1 if self.text is None else texts.index(self.text) if self.text in texts else -2))


@dataclass(frozen=True)
class Span:
    """Rows whose number in ``column`` is at least ``low`` and below ``high``; an infinite end is open."""

    column: str
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InputError(f"the range {self} is empty; its first end must be below its second")

    def __str__(self) -> str:
        return f"{_quoted(self.column)}={self.text}"

    @property
    def text(self) -> str:
        """The range as it is written."""
        return span_text(self.low, self.high)

    @property
    def title(self) -> str:
        """The condition in words."""
        return f"{self.column} {self.short}"

    @property
    def clause(self) -> str:
        """The condition as a clause, after "where"."""
        return f"{self.column} is {self.short}"

    @property
    def short(self) -> str:
        """The same where the column is named already."""
        return span_words(self.low, self.high)

    def rows(self, values: Column) -> Bools:
        """Mask of the column's values that meet it; NotAnswerable if they are not numbers."""
        if not is_number(values):
            raise NotAnswerable(f"{self.column!r} has no numbers, so no row is in {self}; give one of its values")
        return in_span(values, self.low, self.high)


@dataclass(frozen=True)
class DateSpan:
    """Rows whose date in ``column`` is not before ``first`` and is before ``before``; None: open."""

    column: str
    first: date | None = None
    before: date | None = None

    def __post_init__(self) -> None:
        if self.first is not None and self.before is not None and not self.first < self.before:
            raise InputError(f"the range {self} is empty; its first date must be before its second")

    def __str__(self) -> str:
        return f"{_quoted(self.column)}={self.text}"

    @property
    def text(self) -> str:
        """The range as it is written."""
        return "..".join("" if end is None else end.isoformat() for end in (self.first, self.before))

    @property
    def title(self) -> str:
        """The condition in words."""
        return f"{self.column} {self.short}"

    @property
    def clause(self) -> str:
        """The condition as a clause, after "where"."""
        within = {"week": "in the ", "month": "in ", "quarter": "in ", "year": "in "}
        return f"{self.column} is {within.get(calendar_unit(self.first, self.before), '')}{self.short}"

    @property
    def short(self) -> str:
        """The same where the column is named already."""
        return span_of_days(self.first, self.before)

    def rows(self, values: Column) -> Bools:
        """Mask of the column's values that meet it; NotAnswerable if they are not dates."""
        found = dates_in(self.column, values)
        if found.days is None:
            raise NotAnswerable(f"{self.column!r} {found.reason}; no row is in {self}; give one of its values")
        first = found.days >= np.datetime64(self.first or date.min)
        return np.asarray(first & (found.days < np.datetime64(self.before)) if self.before is not None else first)


Condition: TypeAlias = Value | Span | DateSpan


def date_spans(column: str, calendar: CalendarCut) -> tuple[DateSpan, ...]:
    """The periods of a calendar as conditions on a column."""
    return tuple(DateSpan(column, *ends) for ends in zip(calendar.firsts, calendar.ends, strict=True))


@dataclass(frozen=True)
class Slice:
    """Rows that meet one condition on a metadata column, or two on different columns.

    Its text is the form used in links and commands, and ``Slice.read`` is its inverse. Examples are ``subject=law``,
    ``age=40..60`` (from 40 to below 60), ``age=..40``, ``age=60..``, ``subject=`` (not given), and two of them joined
    by ``&``. ``seen=2026-10-01..2026-11-01`` are dates before the second one. Names and values with signs of this
    language are in double quotes, which are doubled inside.

    >>> where = Slice.read("subject=law & age=40..60")
    >>> str(where), where.title
    ('subject=law & age=40..60', 'subject = law, age 40 to 60')
    >>> Slice.read('site="a & b"').conditions
    (Value(column='site', text='a & b'),)
    """

    conditions: tuple[Condition, ...]
    most: ClassVar[int] = MOST_CONDITIONS

    def __post_init__(self) -> None:
        columns = [condition.column for condition in self.conditions]
        if not 1 <= len(columns) <= self.most or len(set(columns)) < len(columns):
            raise InputError(f"a slice has one condition, or two on different columns; got {str(self)[:80]!r}")

    def __str__(self) -> str:
        return " & ".join(map(str, self.conditions))

    @classmethod
    def read(cls, text: str) -> Slice:
        """Parse a slice from text; InputError if it is not a slice."""
        return cls(tuple(_conditions(text)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it looks at."""
        return tuple(condition.column for condition in self.conditions)

    @property
    def title(self) -> str:
        """The slice in words."""
        return ", ".join(condition.title for condition in self.conditions)

    @property
    def clause(self) -> str:
        """The slice as a clause, after "where".

        >>> Slice.read("site=C").clause, Slice.read("subject= & age=75..").clause
        ('site is C', 'subject is not given and age is 75 or more')
        """
        return " and ".join(condition.clause for condition in self.conditions)

    @property
    def short(self) -> str:
        """The same where the columns are named already."""
        return ", ".join(condition.short for condition in self.conditions)

    def narrowed(self, other: Slice) -> Slice:
        """The intersection with another slice, without its own conditions on the same or on too many columns.

        >>> law = Slice.read("subject=law")
        >>> str(law.narrowed(Slice.read("model=small"))), str(law.narrowed(Slice.read("subject=history")))
        ('subject=law & model=small', 'subject=history')
        """
        kept = (
            *(condition for condition in self.conditions if condition.column not in other.columns),
            *other.conditions,
        )
        return Slice(kept[-self.most :])

    def rows(self, predictions: Predictions) -> Bools:
        """Mask of the rows in the slice, shape (n,); NotAnswerable if there is no such column.

        >>> import pandas as pd
        >>> p = Predictions([[0.7, 0.3]] * 3, [0, 1, 0], metadata=pd.DataFrame({"age": [39, 40, None]}))
        >>> [Slice.read(text).rows(p).tolist() for text in ("age=40..60", "age=", "age=39")]
        [[False, True, False], [False, False, True], [True, False, False]]
        """
        kept = [condition.rows(metadata_column(predictions, condition.column)) for condition in self.conditions]
        return np.asarray(np.logical_and.reduce(kept))


def as_slice(where: str | Slice) -> Slice:
    """A slice, given as itself or as its text."""
    return Slice.read(where) if isinstance(where, str) else where


def part(predictions: Predictions, where: str | Slice) -> Predictions:
    """Return the rows of a slice; NotAnswerable if there are none, or no such column.

    For a summary, the counts of the values of the column that are in the slice, if it has these. They are of the
    predicted class's confidence and whether it was right, and of no other class.

    >>> import pandas as pd
    >>> p = Predictions([[0.7, 0.3]] * 2, [0, 1], metadata=pd.DataFrame({"age": [39, 40]}))
    >>> part(p, "age=40..").n_rows
    1
    """
    wanted, summary = as_slice(where), counts(predictions)
    found = places(predictions, wanted)
    if summary is None:
        return predictions.take(found)
    return cast(Predictions, part_of_counts(summary, wanted.columns[0], found.tolist()))


def places(predictions: Predictions, where: Slice) -> NDArray[np.intp]:
    """Positions of the rows of a slice, or of a summary's values; NotAnswerable if there are none."""
    if counts(predictions) is not None and len(where.conditions) > 1:
        raise NotAnswerable(
            "a summary has counts by one column at a time, not for combinations; here "
            f"{in_words(list(where.columns))} are combined; give one condition, or open the original file"
        )
    found = np.flatnonzero(where.rows(predictions))
    if not len(found):
        kept = f"; the column has {listed(predictions, where.columns[0])}" if counts(predictions) is not None else ""
        raise NotAnswerable(f"no row is in the slice {where.title}{kept}; choose another value, or remove the slice")
    if predictions.weights is not None and not predictions.weights[found].any():
        raise NotAnswerable(
            f"every row in the slice {where.title} has weight 0; choose another value, or remove the slice"
        )
    return found


def no_columns(rows: Predictions) -> NotAnswerable:
    """Message: there are no columns for slices, and what to do."""
    if counts(rows) is not None:
        return NotAnswerable(
            "this summary has no slices; open the original file, or create the summary again with calib summarise "
            "--column NAME"
        )
    return NotAnswerable("these rows have no metadata columns; add a column to the file, for example site or age")


def metadata_column(predictions: Predictions, name: str) -> Column:
    """Return a metadata column by name, or a summary's values of it; NotAnswerable lists the columns."""
    names, summary = columns_of(predictions), counts(predictions)
    if not names:
        raise no_columns(predictions)
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        if summary is not None:
            raise NotAnswerable(
                f"this summary has no slices of {name[:80]!r}; {hint}it has those of {known}, and calib summarise "
                "--column creates others from the rows"
            )
        raise NotAnswerable(f"these rows have no column {name[:80]!r}; {hint}they have {known}")
    if summary is not None:
        return kept_column(summary, name)
    return predictions.metadata.iloc[:, names.index(name)]  # type: ignore[union-attr]


def columns_of(predictions: Predictions) -> tuple[str, ...]:
    """Names of the columns that can define slices; for a summary, those with counts by value."""
    summary, metadata = counts(predictions), predictions.metadata
    if summary is not None:
        return tuple(summary.slices)
    return () if metadata is None else tuple(map(str, metadata.columns))


def listed(predictions: Predictions, name: str) -> str:
    """The values of a column, the first few, for the middle of a sentence."""
    texts = coded_texts(metadata_column(predictions, name))[1]
    return ", ".join(texts[:8]) + (", ..." if len(texts) > 8 else "")


def _conditions(text: str) -> Iterator[Condition]:
    place = 0
    while place <= len(text):
        found = _PART.match(text, place)
        if found is None or text[found.end() : found.end() + 1] not in ("", "&"):
            raise InputError(f"{text[:80]!r} is not a slice; write subject=law, age=40..60, or two joined by &")
        yield _condition(found["column"], found["value"])
        place = found.end() + 1


def _condition(column: str, value: str) -> Condition:
    name, plain = _unquoted(column), value.strip()
    if _DATES.fullmatch(plain):
        try:
            return DateSpan(name, *(date.fromisoformat(end) if end else None for end in plain.split("..")))
        except ValueError:
            raise InputError(f"{plain!r} is not a range of dates; write 2026-10-01..2026-11-01") from None
    ends = span_ends(plain)
    return Value(name, _unquoted(plain) if plain else None) if ends is None else Span(name, *ends)


def _quoted(text: str) -> str:
    doubtful = not text or text != text.strip() or re.search(r'[="&]', text) or _is_span(text)
    return '"' + text.replace('"', '""') + '"' if doubtful else text


def _is_span(text: str) -> bool:
    """True if the text is read as a range of numbers, valid or not."""
    try:
        return span_ends(text) is not None
    except InputError:
        return True


def _unquoted(text: str) -> str:
    plain = text.strip()
    return plain[1:-1].replace('""', '"') if plain.startswith('"') else plain
