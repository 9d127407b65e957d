"""Division of one or two crossed columns into slices, from the columns only, never from the outcomes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import Float64s
from calib_core._base.errors import as_whole
from calib_core._base.pandas_input import Column, is_number, named_codes, stored
from calib_core.columns.conditions import (
    Condition,
    Slice,
    Span,
    Value,
    columns_of,
    date_spans,
    kept_sums,
    metadata_column,
    no_columns,
)
from calib_core.columns.dates import dates_in, divided, finest
from calib_core.defaults import FEW_VALUES
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.readers.proposal.answer_words import as_read, marks_some
from calib_core.reductions.base import counts
from calib_core.text import count

MOST_VALUES = 200
"""A column with more values, or more than half as many as rows, does not define groups."""
PARTS = 4
_IDENTITY = re.compile(r"(^|[^a-z])id$", re.IGNORECASE)
"""Names of columns that identify rows."""
_PEOPLE = re.compile("human|people|person|annotat|expert|manual|review|rater|gold", re.IGNORECASE)
"""Names of columns with people's marks."""
_SLACK = 0.01
"""By so large a share of the rows a quantile may move to where it is a shorter number."""


@dataclass(frozen=True, eq=False)
class CutColumn:
    """One column cut: its conditions, and in which of them each row lies, (n,) whole numbers of few bits."""

    conditions: tuple[Condition, ...]
    codes: NDArray[np.unsignedinteger[Any]]


def cut(
    predictions: Predictions, by: str | Sequence[str], edges: Sequence[float] | None = None, parts: int = PARTS
) -> tuple[Slice, ...]:
    """Non-empty slices of one metadata column or of two crossed columns; each row is in one of them.

    Parameters
    ----------
    by : name of the column, or of two.
    edges : where a column of numbers is cut, ascending. Slices then have low <= number < high, and the outermost are
        open.
    parts : without edges, a column of more than 12 different numbers is cut into this number of ranges of about equally
        many rows. Equal numbers are never separated, so that fewer ranges can result.

    Values are compared as text. Rows with a missing value are a slice of their own, "not given". More than 12 different
    dates are cut into days, weeks, months or quarters, the finest with at most 12 periods, else into years.
    NotAnswerable for a column of more than 200 values, or of more than 12 and than half as many as there are rows: that
    is an identifier.
    For rows chosen from others (``Predictions.take``, a split, a slice) numbers are cut where those of all rows are. So
    "age 40 to 52" means the same everywhere. What can mislead: a cut chosen after looking at the outcomes finds gaps
    due to chance. Quantiles of another file differ.

    >>> columns = pd.DataFrame({"age": [9, 40, 60, None], "site": list("abab")})
    >>> p = Predictions([[0.7, 0.3]] * 4, [0] * 4, metadata=columns)
    >>> [str(part) for part in cut(p, "age", edges=[40])]
    ['age=..40', 'age=40..', 'age=']
    >>> [part.short for part in cut(p, ["site", "age"], parts=2)][:3]
    ['a, 9', 'a, 60', 'b, 40']
    """
    return tuple(slices for slices, _ in coded(predictions, by, edges, parts))


def coded(
    predictions: Predictions, by: str | Sequence[str], edges: Sequence[float] | None = None, parts: int = PARTS
) -> list[tuple[Slice, NDArray[np.intp]]]:
    """Those slices, each with the positions of its rows."""
    names = (by,) if isinstance(by, str) else tuple(by)
    if not 1 <= len(names) <= Slice.most or len(set(names)) < len(names):
        raise InputError(f"slices need one column, or two different columns; got {', '.join(names) or 'none'}")
    if edges is not None and len(names) > 1:
        raise InputError("edges apply to one column only; omit them for two columns")
    if counts(predictions) is not None and len(names) > 1:
        raise NotAnswerable(
            "a summary has counts by one column at a time, not for combinations; use one column, or open the "
            "original file"
        )
    columns = [_cut(predictions, name, edges, parts) for name in names]
    combined = columns[0].codes.astype(np.intp)
    for column in columns[1:]:
        combined = combined * len(column.conditions) + column.codes
    order = np.argsort(combined, kind="stable")
    present, starts = np.unique(combined[order], return_index=True)
    every = list(itertools.product(*(column.conditions for column in columns)))
    groups = np.split(order, starts[1:])
    return [(Slice(every[code]), rows) for code, rows in zip(present.tolist(), groups, strict=True)]


def _cut(predictions: Predictions, name: str, edges: Sequence[float] | None, parts: int) -> CutColumn:
    summary, values = counts(predictions), metadata_column(predictions, name)
    if summary is not None:
        return cut_column(name, values, edges, parts, kept_sums(summary, name)[:, 0])
    whole = predictions.chosen_from
    every = whole.iloc[:, list(map(str, whole.columns)).index(name)] if edges is None and whole is not None else None
    return cut_column(name, values, edges, parts, every=every)


def cut_column(
    name: str,
    values: Column,
    edges: Sequence[float] | None = None,
    parts: int = PARTS,
    rows: Float64s | None = None,
    every: Column | None = None,
) -> CutColumn:
    """One column cut, as `cut` does; a condition that no row meets can be among those of given edges.

    ``rows`` (n,): how many rows have each of the values; None: one each. ``every``: the same column of all rows, where
    these are some of them. Numbers are cut where those of all are, into the ranges that contain some of these.
    """
    as_whole(parts, "parts", 2, MOST_VALUES)
    if edges is not None:
        return _spans(name, values, _checked(edges, name, values))
    if values.dtype == object and not values.map(pd.api.types.is_hashable).all():
        raise NotAnswerable(f"the column {name[:80]!r} contains lists or similar values, which cannot define slices")
    if (dated := in_calendar(name, values, every)) is not None:
        return dated
    if is_number(values):
        known = _Ordered.of(values if every is None else every, rows)
        if len(known.numbers) > FEW_VALUES:
            found = _spans(name, values, _quantiles(known, parts))
            return found if every is None else _present(found)
    codes, uniques = pd.factorize(values)
    n = len(values) if rows is None else float(rows.sum())
    if len(uniques) > MOST_VALUES or len(uniques) > max(FEW_VALUES, n / 2):
        raise NotAnswerable(
            f"the column {name[:80]!r} has {count(len(uniques))} different values, too many for slices; use a "
            "column with values shared by many rows"
        )
    named, texts = named_codes(codes, stored(uniques))
    conditions = [Value(name, text) for text in texts]
    if (named < 0).any():
        named[named < 0] = len(conditions)
        conditions.append(Value(name, None))
    return CutColumn(tuple(conditions), _small(named, len(conditions)))


def divided_by(
    rows: Predictions, columns: Sequence[str] | None, parts: int
) -> tuple[dict[str, CutColumn], tuple[tuple[str, str], ...]]:
    """Every column that divides rows into groups, cut, and those that do not, with the reason; or those named.

    NotAnswerable where none does.
    """
    wanted = columns if columns is not None else columns_of(rows)
    if not wanted:
        raise no_columns(rows)
    cuts: dict[str, CutColumn] = {}
    left_out: list[tuple[str, str]] = []
    for name in wanted:
        found = _divided(rows, name, parts, columns is not None)
        if isinstance(found, str):
            left_out.append((name, found))
        else:
            cuts[name] = found
    if not cuts:
        raise NotAnswerable(
            "no column divides these rows into groups, because each has one value in all rows or a different value in "
            "every row; add a column such as site or age"
        )
    return cuts, tuple(left_out)


def _divided(rows: Predictions, name: str, parts: int, wanted: bool) -> CutColumn | str:
    """The column, cut, or the reason why it does not divide these rows; a wanted one is refused for few reasons."""
    values = metadata_column(rows, name)
    if not wanted:
        if rows.row_groups is not None and name == rows.row_groups.name:
            return "it defines the groups of rows"
        if _numbers_rows(name, values, alone=counts(rows) is None):
            return "it only numbers the rows"
        if rows.kind != "full" and _judges_answers(name, values):
            return "it marks some rows as right or wrong, so its values depend on the outcome"
    try:
        found = _cut(rows, name, None, parts)
    except NotAnswerable:
        if wanted:
            raise
        return "it has a different value in almost every row"
    return found if len(found.conditions) > 1 else "it has the same value in every row"


def divides(rows: Predictions) -> bool:
    """True if a column divides the rows into groups, unless one is chosen by name; its slices are tested.

    >>> p = Predictions([[0.7, 0.3]] * 2, [0, 1], metadata=pd.DataFrame({"site": ["A", "B"], "year": [2020, 2020]}))
    >>> divides(p), divides(p.take([0]))
    (True, False)
    """
    return any(not isinstance(_divided(rows, name, PARTS, False), str) for name in columns_of(rows))


def columns_looked_at(rows: Predictions) -> int:
    """Number of columns that divide rows into groups, at least 1: their slices share one share of the 5 %."""
    try:
        return max(1, len(divided_by(rows, None, PARTS)[0]))
    except NotAnswerable:
        return 1


def _judges_answers(name: str, values: Column) -> bool:
    """True if they are people's marks of some answers, by name and values."""
    return bool(_PEOPLE.search(name)) and marks_some(as_read(values))


def _numbers_rows(name: str, values: Column, *, alone: bool) -> bool:
    """True if they are distinct whole numbers that only identify rows: many, consecutive, or called an id.

    The values of a summary are not ``alone``: each stands for several rows, so that few of them identify none.
    """
    if len(values) <= (FEW_VALUES if alone else MOST_VALUES) or not is_number(values):
        return False
    first = values.head(MOST_VALUES)  # most columns are told from their first values
    if not (first.is_unique and (first % 1 == 0).all() and values.is_unique and (values % 1 == 0).all()):
        return False
    consecutive = values.max() - values.min() == len(values) - 1
    return len(values) > MOST_VALUES or bool(consecutive) or _IDENTITY.search(name) is not None


def _spans(name: str, values: Column, inner: Sequence[float]) -> CutColumn:
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    ends = [-math.inf, *inner, math.inf]
    conditions: list[Condition] = [Span(name, low, high) for low, high in itertools.pairwise(ends)]
    codes = np.searchsorted(np.asarray(inner, dtype=np.float64), numbers, side="right")
    absent = np.isnan(numbers)
    if absent.any():
        codes[absent] = len(conditions)
        conditions.append(Value(name, None))
    return CutColumn(tuple(conditions), _small(codes, len(conditions)))


def in_calendar(name: str, values: Column, every: Column | None = None) -> CutColumn | None:
    """The column cut into calendar periods; None if it has no dates, or few different ones."""
    found = dates_in(name, values).days
    whole = found if every is None else dates_in(name, every).days
    if found is None or whole is None or len(np.unique(whole[~np.isnat(whole)])) <= FEW_VALUES:
        return None
    calendar = divided(found, finest(whole, FEW_VALUES))
    conditions: list[Condition] = [*date_spans(name, calendar)]
    codes = calendar.codes.copy()
    if (codes < 0).any():
        codes[codes < 0] = len(conditions)
        conditions.append(Value(name, None))
    return CutColumn(tuple(conditions), _small(codes, len(conditions)))


def _present(found: CutColumn) -> CutColumn:
    """The same without conditions that no row meets."""
    which, codes = np.unique(found.codes, return_inverse=True)
    return CutColumn(tuple(found.conditions[code] for code in which), _small(codes.ravel(), len(which)))


def _small(codes: NDArray[np.intp], size: int) -> NDArray[np.unsignedinteger[Any]]:
    return codes.astype(np.min_scalar_type(max(size - 1, 0)))


def _checked(edges: Sequence[float], name: str, values: Column) -> list[float]:
    if not is_number(values):
        raise NotAnswerable(f"{name!r} has no numbers, so cut points do not apply; omit them")
    given = [float(edge) for edge in edges]
    if not given or not all(math.isfinite(edge) for edge in given) or given != sorted(set(given)):
        raise InputError(f"edges must be distinct finite numbers in ascending order; got {given}")
    return given


@dataclass(frozen=True, eq=False)
class _Ordered:
    """The different finite numbers of a column, ascending, and how many rows lie up to each: runs of equal rows.

    Infinite ones lie in the outermost ranges, which are open.
    """

    numbers: Float64s
    ends: Float64s

    @classmethod
    def of(cls, values: Column, rows: Float64s | None) -> _Ordered:
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        known = np.isfinite(numbers)
        distinct, place = np.unique(numbers[known], return_inverse=True)
        return cls(distinct, np.cumsum(np.bincount(place, None if rows is None else rows[known], len(distinct))))

    def run(self, place: int) -> int:
        """The number of the row at this position in the order."""
        return int(np.searchsorted(self.ends, place, side="right"))


def _quantiles(known: _Ordered, parts: int) -> list[float]:
    """Cut points of ordered numbers into ``parts`` of about equal size; equal numbers are never separated."""
    n, found = round(known.ends[-1]), set()
    slack = int(_SLACK * n)
    for place in (round(part * n / parts) for part in range(1, parts)):
        below, first = known.run(max(place - 1 - slack, 0)), known.run(min(place + slack, n - 1))
        if below == first:  # a run of equal numbers goes where most of it lies
            start, stop = known.ends[first - 1] if first else 0, known.ends[first]
            below, first = (first - 1, first) if place - start <= stop - place else (first, first + 1)
            if below < 0 or first == len(known.numbers):
                continue
        found.add(_between(float(known.numbers[below]), float(known.numbers[first])))
    return sorted(found)


def _between(below: float, first: float) -> float:
    """The shortest decimal that is above the one number and not above the other.

    >>> _between(39.0, 41.0), _between(0.12341, 0.12377), _between(-1.5, -1.2)
    (41.0, 0.1237, -1.2)
    """
    shorter = (math.floor(first * 10**digits) / 10**digits for digits in range(16))
    return next((near for near in shorter if below < near <= first), first)
