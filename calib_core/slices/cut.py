"""Into which slices a column is cut, or two columns that cross; from the columns alone, never from what came true."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._arguments import as_whole
from calib_core._arrays import Float64s
from calib_core._text import count
from calib_core.predictions import InputError, NotAnswerable, Predictions
from calib_core.slices.conditions import (
    Condition,
    Slice,
    Span,
    Value,
    is_number,
    metadata_column,
    named_codes,
    no_columns,
    stored,
)

FEW_VALUES = 12
"""Up to so many different numbers each is a slice of its own; more are cut into ranges."""
MOST_VALUES = 200
"""A column of more values tells rows apart, not groups of them."""
PARTS = 4
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
    """The slices of one metadata column, or of the crossing of two: those that hold rows, each row in one of them.

    Parameters
    ----------
    by : name of the column, or of two.
    edges : where a column of numbers is cut, ascending; slices then hold low <= number < high, the outermost are open.
    parts : without edges, a column of more than 12 different numbers is cut into so many ranges of about equally many
        rows; equal numbers are never parted, so that fewer can result.

    Values are compared as text. Rows for which the column says nothing are a slice of their own, "not given".
    NotAnswerable for a column of more than 200 values, which is an identifier. What can mislead: a cut chosen after
    looking at what came true finds gaps that are none; quantiles are of these rows, and lie elsewhere in others.

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
        raise InputError(f"rows are cut by one column, or by two different ones; got {', '.join(names) or 'none'}")
    if edges is not None and len(names) > 1:
        raise InputError("edges go with one column; cut two columns without them")
    columns = [cut_column(name, metadata_column(predictions, name), edges, parts) for name in names]
    combined = columns[0].codes.astype(np.intp)
    for column in columns[1:]:
        combined = combined * len(column.conditions) + column.codes
    order = np.argsort(combined, kind="stable")
    present, starts = np.unique(combined[order], return_index=True)
    every = list(itertools.product(*(column.conditions for column in columns)))
    groups = np.split(order, starts[1:])
    return [(Slice(every[code]), rows) for code, rows in zip(present.tolist(), groups, strict=True)]


def cut_column(
    name: str, values: pd.Series[Any], edges: Sequence[float] | None = None, parts: int = PARTS
) -> CutColumn:
    """One column cut, as `cut` does; a condition that no row meets can be among those of given edges."""
    as_whole(parts, "parts", 2, MOST_VALUES)
    if edges is not None:
        return _spans(name, values, _checked(edges, name, values))
    if is_number(values):
        numbers = _known_numbers(values)
        if 1 + np.count_nonzero(np.diff(numbers)) > FEW_VALUES:
            return _spans(name, values, _quantiles(numbers, parts))
    if values.dtype == object and not values.map(pd.api.types.is_hashable).all():
        raise NotAnswerable(f"the column {name[:80]!r} holds lists or the like, which rows cannot share")
    codes, uniques = pd.factorize(values)
    if len(uniques) > MOST_VALUES:
        raise NotAnswerable(
            f"the column {name[:80]!r} has {count(len(uniques))} different values: it tells rows apart, not groups of "
            "rows; slice by a column that many rows share"
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
    metadata = rows.metadata
    wanted = columns if columns is not None else [] if metadata is None else [str(name) for name in metadata.columns]
    if not wanted:
        raise no_columns(rows)
    together = None if rows.row_groups is None else rows.row_groups.name
    cuts: dict[str, CutColumn] = {}
    left_out: list[tuple[str, str]] = []
    for name in wanted:
        values = metadata_column(rows, name)
        if columns is None and name == together:
            left_out.append((name, "it says which rows belong together"))
            continue
        if columns is None and _numbers_rows(values):
            left_out.append((name, "it numbers the rows"))
            continue
        try:
            found = cut_column(name, values, parts=parts)
        except NotAnswerable:
            if columns is not None:
                raise
            left_out.append((name, "its values tell rows apart, not groups of rows"))
            continue
        if len(found.conditions) > 1:
            cuts[name] = found
        else:
            left_out.append((name, "it says the same of every row"))
    if not cuts:
        raise NotAnswerable(
            "no column divides these rows: each says the same of all of them, or tells single rows apart"
        )
    return cuts, tuple(left_out)


def _numbers_rows(values: pd.Series[Any]) -> bool:
    """Whether they are whole numbers, many and all different: these say nothing of a row but which it is."""
    if len(values) <= MOST_VALUES or not is_number(values):
        return False
    first = values.head(MOST_VALUES)  # most columns are told from their first values
    return bool(first.is_unique and (first % 1 == 0).all() and values.is_unique and (values % 1 == 0).all())


def _spans(name: str, values: pd.Series[Any], inner: Sequence[float]) -> CutColumn:
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    ends = [-math.inf, *inner, math.inf]
    conditions: list[Condition] = [Span(name, low, high) for low, high in itertools.pairwise(ends)]
    codes = np.searchsorted(np.asarray(inner, dtype=np.float64), numbers, side="right")
    absent = np.isnan(numbers)
    if absent.any():
        codes[absent] = len(conditions)
        conditions.append(Value(name, None))
    return CutColumn(tuple(conditions), _small(codes, len(conditions)))


def _small(codes: NDArray[np.intp], size: int) -> NDArray[np.unsignedinteger[Any]]:
    return codes.astype(np.min_scalar_type(max(size - 1, 0)))


def _checked(edges: Sequence[float], name: str, values: pd.Series[Any]) -> list[float]:
    if not is_number(values):
        raise NotAnswerable(f"{name!r} holds no numbers, so that there is nothing to cut at edges; leave them out")
    given = [float(edge) for edge in edges]
    if not given or not all(math.isfinite(edge) for edge in given) or given != sorted(set(given)):
        raise InputError(f"edges must be finite numbers in ascending order, all different; got {given}")
    return given


def _known_numbers(values: pd.Series[Any]) -> Float64s:
    """The finite numbers of a column in order; infinite ones lie in the outermost ranges, which are open."""
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.sort(numbers[np.isfinite(numbers)])


def _quantiles(numbers: Float64s, parts: int) -> list[float]:
    """Where ordered numbers are parted into ``parts`` of about equally many rows, equal ones never."""
    n, found = len(numbers), set()
    slack = int(_SLACK * n)
    for place in (round(part * n / parts) for part in range(1, parts)):
        below, first = numbers[max(place - 1 - slack, 0)], numbers[min(place + slack, n - 1)]
        if below == first:  # a run of equal numbers goes where most of it lies
            start, stop = np.searchsorted(numbers, first, "left"), np.searchsorted(numbers, first, "right")
            edge = start if place - start <= stop - place else stop
            if not 0 < edge < n:
                continue
            below, first = numbers[edge - 1], numbers[edge]
        found.add(_between(float(below), float(first)))
    return sorted(found)


def _between(below: float, first: float) -> float:
    """The shortest decimal that is above the one number and not above the other.

    >>> _between(39.0, 41.0), _between(0.12341, 0.12377), _between(-1.5, -1.2)
    (41.0, 0.1237, -1.2)
    """
    shorter = (math.floor(first * 10**digits) / 10**digits for digits in range(16))
    return next((near for near in shorter if below < near <= first), first)
