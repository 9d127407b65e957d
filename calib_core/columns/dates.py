"""Columns of dates: read from how people write them, and divided into days, weeks, months, quarters or years."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.pandas_input import Column, is_number, stored, text_of

Days: TypeAlias = NDArray[np.datetime64]
"""Days, datetime64[D]; NaT where there is none."""

UNITS = ("day", "week", "month", "quarter", "year")
"""Calendar periods, the finest first. Weeks begin on Monday."""
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_SHORT = {name[:3].lower(): place for place, name in enumerate(MONTHS, 1)}
_TIME = r"(?:[T ]\d{1,2}:\d{2}.*)?"
_FORMS = tuple(
    re.compile(form + _TIME, re.IGNORECASE)
    for form in (
        r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})",
        r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})",
        r"(?P<year>\d{4})\.(?P<month>\d{1,2})\.(?P<day>\d{1,2})",
        r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})",
        r"(?P<year>\d{4})-(?P<month>\d{1,2})",
        r"(?P<year>\d{4})-?Q(?P<quarter>[1-4])",
        r"(?P<year>\d{4})-?W(?P<week>\d{1,2})",
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
        r"(?P<day>\d{2})\.(?P<month>\d{2})\.(?P<year>\d{2})",
        r"(?P<day>\d{1,2})[ -](?P<name>[A-Z]{3})[A-Z]*[ -](?P<year>\d{4}|\d{2})",
        r"(?P<name>[A-Z]{3})[A-Z]* (?P<day>\d{1,2}),? (?P<year>\d{4})",
    )
)
"""Ways to write a date that leave no doubt; all dates of a column are written in one of them."""
_DOUBTFUL = re.compile(r"(?P<first>\d{1,2})(?P<sign>[-/])(?P<second>\d{1,2})(?P=sign)(?P<year>\d{4})" + _TIME)
_NO_CENTURY = re.compile(r"\d{1,2}(?P<sign>[-/])\d{1,2}(?P=sign)\d{2}" + _TIME)
_PIVOT = 69
"""Years of two digits from here on are of the 20th century, as POSIX reads them."""
_NO_DATES = "has no dates such as 2026-10-05"
_LONGEST = 40
_LOOKED_AT = 3
"""The first so many different values tell how dates are written."""
_TELLS_TIME = re.compile(
    r"(^|[^a-z])(date|datum|fecha|data|time|timestamp|ts|day|created|at|when|zeit|epoch|month|monat|mois)s?($|[^a-z])",
    re.IGNORECASE,
)
"""Names of columns whose whole numbers may be dates, such as 20261005, or seconds since 1970."""
_SECONDS = (1e9, 4e9)
"""Seconds since 1970 from 2001 to 2096; a thousand times as many milliseconds."""
_CALLED_DATE = re.compile(r"date|datum|fecha", re.IGNORECASE)
_SERIAL, _SERIAL_ZERO = (36526, 73051), np.datetime64("1899-12-30")
"""Days of the years 2000 to 2099 as spreadsheets number them, under a name such as "admission_date"."""


@dataclass(frozen=True, eq=False)
class Dates:
    """Days of a column, ``days`` (n,), or None with the reason, to follow "the column"."""

    days: Days | None
    reason: str = ""

    @property
    def nearly(self) -> bool:
        """True if there are dates, but not readable ones."""
        return self.days is None and self.reason != _NO_DATES


def dates_in(name: str, values: Column) -> Dates:
    """Read the days of a column, by its values and, for whole numbers, by its name. Times of day are dropped.

    Every value must be written in the same way. Dates such as 03/04/2026 are read only if some value shows which part
    is the day.

    >>> dates_in("seen", pd.Series(["2026-10-05 08:30", None, "2026-10-12"])).days.astype(str).tolist()
    ['2026-10-05', 'NaT', '2026-10-12']
    >>> dates_in("seen", pd.Series(["10/13/2026", "10/05/2026"])).days.astype(str).tolist()
    ['2026-10-13', '2026-10-05']
    >>> dates_in("seen", pd.Series(["10/05/2026"])).reason
    'has dates such as 10/05/2026, whose day and month cannot be distinguished; write 2026-12-31 for December 31'
    """
    if pd.api.types.is_datetime64_any_dtype(values):
        naive = values.dt.tz_localize(None)
        return Dates(naive.to_numpy().astype("datetime64[D]"))
    if is_number(values):
        return _numbers(name, values)
    codes, uniques = pd.factorize(values)
    texts = [text_of(value).strip() for value in stored(uniques)]
    written = [text for text in texts if text]
    first = written[:_LOOKED_AT]
    if not any(char.isdigit() for char in "".join(first)) or min(map(len, first)) > _LONGEST:
        return _none()
    found = _read(written)
    if found.days is None:
        return found
    known = iter(found.days)
    every = np.array([*(next(known) if text else np.datetime64("NaT") for text in texts), np.datetime64("NaT")])
    return Dates(every.astype("datetime64[D]")[codes])


def _none() -> Dates:
    return Dates(None, _NO_DATES)


def _read(texts: list[str]) -> Dates:
    """Read different dates; all of them are written in the same way."""
    first = texts[:_LOOKED_AT]
    for form in _FORMS:
        if any(map(form.fullmatch, first)):
            return _built(texts, [match and match.groupdict() for match in map(form.fullmatch, texts)])
    if any(map(_NO_CENTURY.fullmatch, first)):
        return Dates(None, f"has dates such as {first[0]}, with a year of two digits; write 2026-12-31")
    if not any(map(_DOUBTFUL.fullmatch, first)):
        return _none()
    matches = [match and match.groupdict() for match in map(_DOUBTFUL.fullmatch, texts)]
    above = [any(match and int(match[part]) > 12 for match in matches) for part in ("first", "second")]
    if not any(above) and None not in matches:
        doubt = f"has dates such as {texts[0]}, whose day and month cannot be distinguished"
        return Dates(None, f"{doubt}; write 2026-12-31 for December 31")
    day, month = ("first", "second") if above[0] else ("second", "first")
    return _built(texts, [match and match | {"day": match[day], "month": match[month]} for match in matches])


def _built(texts: list[str], parts: list[Mapping[str, str] | None]) -> Dates:
    """Days from their named parts; none, with the first reason, if a text has none or is no day, as February 30."""
    days = []
    for text, part in zip(texts, parts, strict=True):
        try:
            days.append(_day(part) if part else None)
        except ValueError:
            days.append(None)
        if days[-1] is None:
            like = next(other for other, written in zip(texts, parts, strict=True) if written)
            return Dates(None, f"has dates such as {like}, but also {text!r}; write all of them in the same way")
    return Dates(np.array(days, dtype="datetime64[D]"))


def _day(part: Mapping[str, str]) -> date:
    year = int(part["year"])
    if len(part["year"]) == len("69"):
        year += 1900 if year >= _PIVOT else 2000
    if "week" in part:
        return date.fromisocalendar(year, int(part["week"]), 1)
    if "quarter" in part:
        return date(year, 3 * int(part["quarter"]) - 2, 1)
    month = _SHORT.get(part["name"].lower(), 0) if "name" in part else int(part["month"])
    return date(year, month, int(part.get("day", 1)))


def _numbers(name: str, values: Column) -> Dates:
    """Read whole numbers such as 20261005, or seconds or milliseconds since 1970, if the name is about time."""
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    known = np.isfinite(numbers)
    if not _TELLS_TIME.search(name) or not known.any() or (np.isinf(numbers)).any():
        return _none()
    least, most = float(numbers[known].min()), float(numbers[known].max())
    days = np.full(len(numbers), np.datetime64("NaT"), dtype="datetime64[D]")
    for unit in (1, 1000):
        if unit * _SECONDS[0] <= least and most <= unit * _SECONDS[1]:
            seconds = (numbers[known] // unit).astype(np.int64)
            days[known] = seconds.astype("datetime64[s]").astype("datetime64[D]")
            return Dates(days)
    if _CALLED_DATE.search(name) and _SERIAL[0] <= least and most < _SERIAL[1]:
        days[known] = _SERIAL_ZERO + numbers[known].astype(np.int64).astype("timedelta64[D]")
        return Dates(days)
    if not (least >= 19000101 and most <= 21001231 and (numbers[known] % 1 == 0).all()):
        return _none()
    distinct, places = np.unique(numbers[known].astype(np.int64), return_inverse=True)
    found = _read([str(number) for number in distinct.tolist()])
    if found.days is None:
        return found
    days[known] = found.days[places]
    return Dates(days)


def first_days(days: Days, unit: str) -> Days:
    """Return the first day of each day's period.

    >>> first_days(np.array(["2026-10-07", "2026-01-01"], dtype="datetime64[D]"), "week").astype(str).tolist()
    ['2026-10-05', '2025-12-29']
    """
    if unit == "week":
        past_monday = (days.astype(np.int64) + 3) % 7  # January 1, 1970 was a Thursday
        return np.where(np.isnat(days), days, days - past_monday.astype("timedelta64[D]"))
    if unit == "quarter":
        months = days.astype("datetime64[M]")
        return np.asarray((months - (months.astype(np.int64) % 3).astype("timedelta64[M]")).astype("datetime64[D]"))
    return np.asarray(days.astype({"day": "datetime64[D]", "month": "datetime64[M]", "year": "datetime64[Y]"}[unit])
                      .astype("datetime64[D]"))  # fmt: skip


def after(first: date, unit: str) -> date:
    """Return the first day after the period that begins on this day.

    >>> str(after(date(2026, 10, 1), "quarter"))
    '2027-01-01'
    """
    if unit in ("day", "week"):
        return first + timedelta(days=7 if unit == "week" else 1)
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    years, month = divmod(first.month - 1 + months, 12)
    return date(first.year + years, month + 1, 1)


def day_words(day: date) -> str:
    """Write a day.

    >>> day_words(date(2026, 10, 5))
    'October 5, 2026'
    """
    return f"{MONTHS[day.month - 1]} {day.day}, {day.year}"


def span_of_days(first: date | None, before: date | None) -> str:
    """Describe the days from one on and before another in words; None: open.

    >>> [span_of_days(date(2026, 10, 1), after(date(2026, 10, 1), unit)) for unit in ("day", "month", "quarter")]
    ['October 1, 2026', 'October 2026', 'October to December 2026']
    >>> span_of_days(date(2026, 10, 5), date(2026, 10, 12)), span_of_days(None, date(2026, 10, 12))
    ('week of October 5, 2026', 'before October 12, 2026')
    """
    if first is None or before is None:
        if before is not None:
            return f"before {day_words(before)}"
        return "given" if first is None else f"{day_words(first)} or later"
    unit = calendar_unit(first, before)
    if unit == "week":
        return f"week of {day_words(first)}"
    if unit == "quarter":
        return f"{MONTHS[first.month - 1]} to {MONTHS[first.month + 1]} {first.year}"
    days = f"{day_words(first)} to {day_words(before - timedelta(days=1))}"
    named = {"day": day_words(first), "month": f"{MONTHS[first.month - 1]} {first.year}", "year": str(first.year)}
    return named.get(unit, days)


def calendar_unit(first: date | None, before: date | None) -> str:
    """The calendar period that these days are, or "" if they are none."""
    if first is None or before is None:
        return ""
    return next((unit for unit in UNITS if before == after(first, unit) and first == _first(first, unit)), "")


def _first(day: date, unit: str) -> date:
    found: Any = first_days(np.array([day], dtype="datetime64[D]"), unit)[0].item()
    return date(found.year, found.month, found.day)


@dataclass(frozen=True, eq=False)
class CalendarCut:
    """Days divided into periods of one ``unit``: ``firsts`` (m,) are their first days, ``codes`` (n,) -1 if missing."""

    unit: str
    firsts: tuple[date, ...]
    codes: NDArray[np.intp]

    @property
    def ends(self) -> tuple[date, ...]:
        """The first days after each."""
        return tuple(after(first, self.unit) for first in self.firsts)


def divided(days: Days, unit: str) -> CalendarCut:
    """Divide days into the periods of this unit that have at least one of them."""
    known = ~np.isnat(days)
    firsts, places = np.unique(first_days(days[known], unit), return_inverse=True)
    codes = np.full(len(days), -1, dtype=np.intp)
    codes[known] = places
    return CalendarCut(unit, tuple(firsts.tolist()), codes)


def finest(days: Days, most: int) -> str:
    """The finest unit with at most so many periods; "year" if none has so few.

    >>> finest(np.arange("2026-01-01", "2026-12-31", dtype="datetime64[D]"), 12)
    'month'
    """
    known = np.unique(days[~np.isnat(days)])
    return next((unit for unit in units_of(known) if len(np.unique(first_days(known, unit))) <= most), "year")


def units_of(days: Days) -> tuple[str, ...]:
    """The units that divide these days, the finest first: dates of whole months, for instance, have no weeks.

    >>> units_of(np.array(["2026-01-01", "2026-03-01"], dtype="datetime64[D]"))
    ('month', 'quarter', 'year')
    """
    known = np.unique(days[~np.isnat(days)])
    whole = [place for place, unit in enumerate(UNITS) if (first_days(known, unit) == known).all()]
    return UNITS[whole[-1] :] if len(known) > 1 else UNITS
