"""Division of rows into periods of time by a column of dates, or of whole numbers such as weeks or batches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calib_core._base.notebook_display import OneLine
from calib_core._base.pandas_input import Column, coded_texts, is_number
from calib_core.columns.conditions import Condition, Slice, Span, Value, columns_of, date_spans, metadata_column
from calib_core.columns.dates import UNITS, CalendarCut, Days, dates_in, day_words, divided, first_days, units_of
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.text import count

AUTO = "auto"
MOST_SHOWN, FEWEST_SHOWN = 60, 4
"""Numbers of periods between which a length of periods is chosen."""
TYPICAL_ROWS = 20
"""Rows of the median period that a length should have."""
MOST_PERIODS = 1_000
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_STEPS = re.compile(
    r"(^|[^a-z])(batch|day|week|month|quarter|year|period|wave|round|woche|monat|jahr|mois|ann[eé]e|semana|mes|año)s?"
    r"($|[^a-z])",
    re.IGNORECASE,
)
"""Names of columns whose whole numbers are in the order of time."""
_MONTH = re.compile(r"(?<![a-z])(month|monat|mois|mes)(?![a-z])", re.IGNORECASE)
_YEAR = re.compile(r"(?<![a-z])(year|jahr|ann[eé]e|año)(?![a-z])", re.IGNORECASE)
"""Names of numbers of months, and of the years beside them."""
_YEARS = (1900, 2100)
_BIRTH = re.compile(r"birth|born|dob|geburt|naissance|nacimiento", re.IGNORECASE)
"""Names of dates that do not say when a prediction was made."""
_LATER = re.compile(
    r"discharge|entlass|sortie|death|deceased|verstorben|follow|export|update|modif|outcome|label|(^|[^a-z])end($|[^a-z])",
    re.IGNORECASE,
)
"""Names of dates that are usually later than the prediction, so that another column of dates comes first."""


@dataclass(frozen=True, eq=False, repr=False)
class Periods(OneLine):
    """Rows divided by time. ``codes`` (n,) are their periods, in order; -1 for rows without a date.

    ``unit`` is "day", "week", "month", "quarter" or "year", or "value" for whole numbers. ``conditions`` are the
    periods as slices, of two columns for months beside years. ``titles`` are the periods in words, and ``labels`` their
    first days or numbers. ``names`` say when, such as "in October 2026". ``begins`` follow "since".
    """

    column: str
    unit: str
    conditions: tuple[Condition | Slice, ...]
    titles: tuple[str, ...]
    labels: tuple[str, ...]
    names: tuple[str, ...]
    begins: tuple[str, ...]
    codes: NDArray[np.intp]

    @cached_property
    def places(self) -> list[NDArray[np.intp]]:
        """Positions of the rows of each period."""
        order = np.argsort(self.codes, kind="stable")
        return np.split(order, np.searchsorted(self.codes[order], np.arange(len(self.labels))))[1:]

    @property
    def without_date(self) -> int:
        """Number of rows without a date."""
        return int((self.codes < 0).sum())


def time_columns(predictions: Predictions) -> tuple[str, ...]:
    """Names of the metadata columns that order rows in time: of dates, then of whole numbers named like "week".

    Months from 1 to 12 beside a column of years are dates. Dates of birth and columns with a single value are left out.
    Dates named like a discharge come after other dates.

    >>> import pandas as pd
    >>> columns = pd.DataFrame({"site": ["a", "b"], "week": [1, 2], "seen": ["2026-10-05", "2026-10-12"]})
    >>> time_columns(Predictions([[0.7, 0.3]] * 2, [0, 1], metadata=columns))
    ('seen', 'week')
    """
    dated, numbered = [], []
    for name in columns_of(predictions):
        values = metadata_column(predictions, name)
        if _BIRTH.search(name):
            continue
        days = dates_in(name, values).days
        if days is None and (months := _months(predictions, name)) is not None:
            days = months[1]
        if days is not None:
            if len(np.unique(days[~np.isnat(days)])) > 1:
                dated.append(name)
        elif _STEPS.search(_CAMEL.sub("_", name)) and len(_steps(values)) > 1:
            numbered.append(name)
    return (*sorted(dated, key=lambda name: bool(_LATER.search(name))), *numbered)


def no_time(predictions: Predictions) -> str:
    """Say why no metadata column orders the rows in time, with the reason of the first column that nearly does.

    >>> import pandas as pd
    >>> no_time(Predictions([[0.7, 0.3]], [0], metadata=pd.DataFrame({"seen": ["2026-10-05"]})))
    "the dates in the column 'seen' are all October 5, 2026; periods are days or longer"
    """
    for name in columns_of(predictions):
        if _BIRTH.search(name):
            continue
        found = dates_in(name, metadata_column(predictions, name))
        if found.days is not None and not np.isnat(found.days).all():
            only = day_words(found.days[~np.isnat(found.days)][0].item())
            return f"the dates in the column {name[:80]!r} are all {only}; periods are days or longer"
        if found.days is None and found.nearly:
            return f"the column {name[:80]!r} {found.reason}"
    return (
        "there is no column with the time of the predictions; add a column of dates such as 2026-10-05, or of whole "
        "numbers, named week or batch"
    )


def _steps(values: Column) -> list[int]:
    """The different whole numbers of a column, ascending; none if it has other values, or too many."""
    if not is_number(values):
        return []
    numbers = np.unique(values.to_numpy(dtype=np.float64, na_value=np.nan))
    numbers = numbers[~np.isnan(numbers)]
    good = len(numbers) <= MOST_PERIODS and np.isfinite(numbers).all() and (numbers % 1 == 0).all()
    return numbers.astype(np.int64).tolist() if good else []


def periods(predictions: Predictions, column: str, every: str = AUTO) -> Periods:
    """Divide rows into periods by a metadata column.

    ``every`` is "day", "week" (from Monday), "month", "quarter" or "year". "auto" is the finest of them with at most 60
    periods and a median of 20 rows. Whole numbers are periods as they are, but months beside a column of years are
    those of the calendar. Neither depends on the outcomes.

    NotAnswerable if the column has neither dates nor whole numbers, or more than 1,000 periods.

    >>> import pandas as pd
    >>> seen = pd.DataFrame({"seen": ["2026-10-05", "2026-11-12", "2026-10-30", None]})
    >>> found = periods(Predictions([[0.7, 0.3]] * 4, [0, 1, 0, 0], metadata=seen), "seen", "month")
    >>> found.labels, found.codes.tolist(), found.conditions[0].title
    (('2026-10-01', '2026-11-01'), [0, 1, 0, -1], 'seen October 2026')
    """
    if every not in (AUTO, *UNITS):
        raise InputError(f"every is {every!r:.80}; it must be one of {', '.join((AUTO, *UNITS))}")
    values = metadata_column(predictions, column)
    found = dates_in(column, values)
    months = _months(predictions, column) if found.days is None else None
    year, days = (None, found.days) if months is None else months
    if days is None:
        return _numbered(column, values, every, found.reason)
    if np.isnat(days).all():
        raise NotAnswerable(f"no row has a date in the column {column[:80]!r}")
    if year is not None and every in ("day", "week"):
        raise NotAnswerable(f"the columns {year[:80]!r} and {column[:80]!r} have no days; choose months or longer")
    calendar = divided(days, _length(days) if every == AUTO else every)
    if len(calendar.firsts) > MOST_PERIODS:
        raise NotAnswerable(
            f"the column {column[:80]!r} has {count(len(calendar.firsts))} periods, more than {count(MOST_PERIODS)}; "
            "choose longer ones"
        )
    spans = date_spans(column, calendar)
    article = {"day": "on ", "week": "in the "}.get(calendar.unit, "in ")
    return Periods(
        column,
        calendar.unit,
        spans if year is None else _of_two_columns(year, column, calendar),
        tuple(span.short for span in spans),
        tuple(first.isoformat() for first in calendar.firsts),
        tuple(f"{article}{span.short}" for span in spans),
        tuple(day_words(first) for first in calendar.firsts),
        calendar.codes,
    )


def _months(predictions: Predictions, column: str) -> tuple[str, Days] | None:
    """The column of years beside a column of months from 1 to 12, and the first days of the months; None without one.

    Their names differ in these words only, such as "admission_month" and "admission_year".
    """
    months = metadata_column(predictions, column)
    steps = _steps(months) if _MONTH.search(_CAMEL.sub("_", column)) else []
    if not steps or not 1 <= steps[0] <= steps[-1] <= 12:
        return None
    for name in columns_of(predictions):
        years = metadata_column(predictions, name)
        if _stem(_YEAR, name) != _stem(_MONTH, column) or not (of_years := _steps(years)):
            continue
        if _YEARS[0] <= of_years[0] <= of_years[-1] <= _YEARS[1]:
            y, m = (each.to_numpy(dtype=np.float64, na_value=np.nan) for each in (years, months))
            since, known = (y - 1970) * 12 + m - 1, ~np.isnan(y + m)
            days = np.full(len(since), "NaT", dtype="datetime64[D]")
            days[known] = since[known].astype(np.int64).astype("datetime64[M]")
            return name, days
    return None


def _stem(word: re.Pattern[str], name: str) -> str | None:
    """The name without the first such word; None if it has none."""
    stem, found = word.subn("", _CAMEL.sub("_", name), count=1)
    return stem.casefold() if found else None


def _of_two_columns(year: str, month: str, calendar: CalendarCut) -> tuple[Slice, ...]:
    """The periods of a calendar as conditions on a column of years, and on one of months."""
    months = {"quarter": 3, "year": 12}.get(calendar.unit)
    return tuple(
        Slice((
            Value(year, str(first.year)),
            Value(month, str(first.month)) if months is None else Span(month, first.month, first.month + months),
        ))
        for first in calendar.firsts
    )  # fmt: skip


def _numbered(column: str, values: Column, every: str, reason: str) -> Periods:
    steps = _steps(values)
    if not steps:
        raise NotAnswerable(
            f"the column {column[:80]!r} {reason}, and no whole numbers either; choose the column with the time of "
            "each prediction"
        )
    if every != AUTO:
        raise NotAnswerable(f"the column {column[:80]!r} has numbers, not dates: each number is a period")
    codes, texts = coded_texts(values)
    names = tuple(f"{column} {text}" for text in texts)
    conditions = tuple(Value(column, text) for text in texts)
    when = tuple(f"in {name}" for name in names)
    return Periods(column, "value", conditions, tuple(texts), tuple(texts), when, names, codes)


def _length(days: Days) -> str:
    """The finest unit that has neither too many periods nor too few rows in each."""
    known = days[~np.isnat(days)]
    sizes = {unit: np.unique(first_days(known, unit), return_counts=True)[1] for unit in UNITS}
    units = units_of(known)
    able = [unit for unit in units if FEWEST_SHOWN <= len(sizes[unit]) <= MOST_SHOWN]
    few = [unit for unit in units if len(sizes[unit]) <= MOST_SHOWN]
    rich = [unit for unit in able if np.median(sizes[unit]) >= TYPICAL_ROWS]
    return (*rich, *able[::-1], *few, "year")[0]
