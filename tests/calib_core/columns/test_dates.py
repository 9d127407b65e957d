"""Dates as people write them, and the calendar periods they are divided into."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_core import InputError, NotAnswerable, Predictions
from calib_core.columns.conditions import DateSpan, Slice
from calib_core.columns.cut import cut
from calib_core.columns.dates import UNITS, after, calendar_unit, dates_in, divided, finest, first_days, units_of
from calib_core.columns.periods import no_time, periods, time_columns
from calib_core.slices import table

DAYS = ("2026-10-05", "2026-10-13")
FORMS = {
    "ISO": ("2026-10-05", "2026-10-13"),
    "ISO with time": ("2026-10-05T23:59:59Z", "2026-10-13 00:00"),
    "slashes, year first": ("2026/10/05", "2026/10/13"),
    "dots, year first": ("2026.10.05", "2026.10.13"),
    "German": ("05.10.2026", "13.10.2026"),
    "German without zeros": ("5.10.2026", "13.10.2026"),
    "American": ("10/05/2026", "10/13/2026"),
    "British": ("05/10/2026", "13/10/2026"),
    "British with dashes": ("5-10-2026", "13-10-2026"),
    "compact": ("20261005", "20261013"),
    "month in letters": ("5 Oct 2026", "13 Oct 2026"),
    "SAS": ("05-OCT-2026", "13-OCT-2026"),
    "month in full": ("October 5, 2026", "October 13, 2026"),
    "German, short": ("05.10.26", "13.10.26"),
    "Oracle": ("05-Oct-26", "13-OCT-26"),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_ways_people_write_dates_are_read(form: str) -> None:
    found = dates_in("x", pd.Series([*FORMS[form], None, ""], dtype=object)).days
    assert found is not None
    assert found[:2].astype(str).tolist() == list(DAYS)
    assert np.isnat(found[2:]).all()


@pytest.mark.parametrize(
    ("written", "first", "unit"),
    [
        (["2026Q1", "2026Q4", "2027Q2"], ["2026-01-01", "2026-10-01", "2027-04-01"], "quarter"),
        (["2026-Q3", "2026-Q4"], ["2026-07-01", "2026-10-01"], "quarter"),
        (["2026-W01", "2026-W53"], ["2025-12-29", "2026-12-28"], "week"),
        (["2026-09", "2026-10"], ["2026-09-01", "2026-10-01"], "month"),
        (["2025-01-01", "2026-01-01"], ["2025-01-01", "2026-01-01"], "year"),
        (["2026-10-05", "2026-10-13"], list(DAYS), "day"),
    ],
)
def test_dates_of_whole_periods_are_these_periods(written: list[str], first: list[str], unit: str) -> None:
    found = dates_in("seen", pd.Series(written)).days
    assert found is not None
    assert found.astype(str).tolist() == first
    assert units_of(found)[0] == unit
    assert periods(_rows(seen=written * 30), "seen").unit == unit


def test_years_of_two_digits_are_near() -> None:
    found = dates_in("seen", pd.Series(["31.12.68", "01.01.69"])).days
    assert found is not None
    assert found.astype(str).tolist() == ["2068-12-31", "1969-01-01"]
    slashes = dates_in("seen", pd.Series(["04/13/26"]))
    assert slashes.days is None
    assert "year of two digits" in slashes.reason


def test_days_numbered_by_a_spreadsheet_are_read_under_the_name_of_a_date() -> None:
    numbers = pd.Series([46300, 46308, None])  # 2026-10-05 and 2026-10-13 in a spreadsheet
    found = dates_in("admission_date", numbers).days
    assert found is not None
    assert found.astype(str).tolist() == [*DAYS, "NaT"]
    assert dates_in("time", numbers).days is None
    assert dates_in("admission_date", pd.Series([46300, 80000])).days is None


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"seen": ["2026-10-05"] * 4}, "the dates in the column 'seen' are all October 5, 2026"),
        ({"seen": ["2026-10-05", "unknown"] * 2}, "such as 2026-10-05, but also 'unknown'; write all of them in the"),
        ({"seen": ["unknown", "2026-10-05"] * 2}, "such as 2026-10-05, but also 'unknown'; write all of them in the"),
        ({"seen": ["03/04/2026", "05/06/2026"] * 2}, "day and month cannot be distinguished"),
        ({"born": ["2026-10-05"] * 4, "site": list("abab")}, "there is no column with the time of the predictions"),
    ],
)
def test_why_there_is_no_time_is_said_of_the_column_that_nearly_has_it(
    columns: dict[str, list[object]], why: str
) -> None:
    rows = _rows(**columns)
    assert time_columns(rows) == ()
    assert why in no_time(rows)


def test_a_date_of_discharge_comes_after_other_dates() -> None:
    rows = _rows(discharged=["2026-10-05", "2026-10-13"] * 2, admitted=["2026-10-04", "2026-10-05"] * 2)
    assert time_columns(rows) == ("admitted", "discharged")


def test_names_and_begins_belong_to_their_period() -> None:
    found = periods(_rows(seen=["2026-10-05", "2026-11-12"]), "seen", "month")
    assert found.names == ("in October 2026", "in November 2026")
    assert found.begins == ("October 1, 2026", "November 1, 2026")
    assert periods(_rows(seen=["2026-10-07", "2026-11-12"]), "seen", "day").names[0] == "on October 7, 2026"
    week = periods(_rows(seen=["2026-10-07", "2026-11-12"]), "seen", "week")
    assert (week.names[0], week.begins[0]) == ("in the week of October 5, 2026", "October 5, 2026")


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(pd.Series([*DAYS, None])),
        pd.to_datetime(pd.Series([*DAYS, None])).dt.tz_localize("US/Eastern"),
        pd.to_datetime(pd.Series([f"{day} 00:30" for day in DAYS] + [None])).dt.tz_localize("Europe/Berlin"),
        pd.Series([date(2026, 10, 5), date(2026, 10, 13), None]),
        pd.Series([datetime(2026, 10, 5, 13), datetime(2026, 10, 13), None]),
        pd.Series([*DAYS, None], dtype="category"),
        pd.Series([*DAYS, None], dtype="string"),
    ],
)
def test_dates_of_every_type_are_read(values: pd.Series) -> None:  # type: ignore[type-arg]
    found = dates_in("x", values).days
    assert found is not None
    assert found.astype(str).tolist() == [*DAYS, "NaT"]


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("date", [20261005, 20261013]),
        ("timestamp", [1791158400, 1791849600]),
        ("created_at", [1791158400000, 1791849600000]),
    ],
)
def test_whole_numbers_are_dates_only_under_a_name_about_time(name: str, numbers: list[int]) -> None:
    found = dates_in(name, pd.Series(numbers)).days
    assert found is not None
    assert found.astype(str).tolist() == list(DAYS)
    assert dates_in("amount", pd.Series(numbers)).days is None


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b"],
        ["2026-10-05", "next week"],
        ["2026-02-30"],
        ["2026-13-01"],
        ["2026-10-05", "05.10.2026"],
        ["13/13/2026"],
        ["31/12/2026", "12/31/2026"],
        ["1.2", "3.4"],
        ["2026-10-05-7"],
        ["12345678"],
        [""],
    ],
)
def test_what_is_no_date_is_not_read_as_one(values: list[str]) -> None:
    assert dates_in("date", pd.Series(values)).days is None


def test_dates_that_can_be_read_in_two_ways_are_said_to_be() -> None:
    found = dates_in("seen", pd.Series(["03/04/2026", "05/06/2026"]))
    assert found.days is None
    assert "day and month cannot be distinguished" in found.reason
    rows = _rows(seen=["03/04/2026", "05/06/2026"] * 2)
    with pytest.raises(NotAnswerable, match="cannot be distinguished; write 2026-12-31"):
        periods(rows, "seen")


_SOME_DAYS = st.dates(date(1990, 1, 1), date(2040, 12, 31))


@given(day=_SOME_DAYS, unit=st.sampled_from(UNITS))
def test_every_day_is_in_its_period(day: date, unit: str) -> None:
    (first,) = first_days(np.array([day], dtype="datetime64[D]"), unit).tolist()
    twin = {
        "day": day,
        "week": day - timedelta(days=day.weekday()),
        "month": day.replace(day=1),
        "quarter": date(day.year, 3 * ((day.month - 1) // 3) + 1, 1),
        "year": date(day.year, 1, 1),
    }
    assert first == twin[unit]
    assert first <= day < after(first, unit)
    assert calendar_unit(first, after(first, unit)) == unit
    # The next period begins where this one ends.
    (next_first,) = first_days(np.array([after(first, unit)], dtype="datetime64[D]"), unit).tolist()
    assert next_first == after(first, unit)


@given(st.lists(_SOME_DAYS, min_size=1, max_size=40), st.sampled_from(UNITS))
def test_a_calendar_divides_all_days_in_order(days: list[date], unit: str) -> None:
    given_days = np.array([*days, "NaT"], dtype="datetime64[D]")
    found = divided(given_days, unit)
    assert found.codes[-1] == -1
    assert list(found.firsts) == sorted(set(found.firsts))
    for day, code in zip(days, found.codes, strict=False):
        assert found.firsts[code] <= day < found.ends[code]
    assert set(found.codes[:-1].tolist()) == set(range(len(found.firsts)))


@given(st.lists(_SOME_DAYS, min_size=1, max_size=60), st.integers(1, 20))
def test_the_finest_unit_is_the_first_with_few_enough_periods(days: list[date], most: int) -> None:
    given_days = np.array(days, dtype="datetime64[D]")
    unit = finest(given_days, most)
    sizes = [len(divided(given_days, each).firsts) for each in UNITS]
    able = [each for each, size in zip(UNITS, sizes, strict=True) if size <= most]
    assert unit == (able[0] if able else "year")


@pytest.mark.parametrize(
    ("text", "title", "clause"),
    [
        ("seen=2026-10-05..2026-10-12", "seen week of October 5, 2026", "seen is in the week of October 5, 2026"),
        ("seen=2026-10-06..2026-10-13", "seen October 6, 2026 to October 12, 2026",
         "seen is October 6, 2026 to October 12, 2026"),
        ("seen=2026-10-01..2026-11-01", "seen October 2026", "seen is in October 2026"),
        ("seen=2026-10-01..2027-01-01", "seen October to December 2026", "seen is in October to December 2026"),
        ("seen=2026-01-01..2027-01-01", "seen 2026", "seen is in 2026"),
        ("seen=2026-10-05..2026-10-06", "seen October 5, 2026", "seen is October 5, 2026"),
        ("seen=2026-10-05..", "seen October 5, 2026 or later", "seen is October 5, 2026 or later"),
        ("seen=..2026-10-05", "seen before October 5, 2026", "seen is before October 5, 2026"),
    ],
)  # fmt: skip
def test_a_range_of_dates_is_a_slice_in_links_and_in_words(text: str, title: str, clause: str) -> None:
    where = Slice.read(text)
    assert (str(where), where.title, where.clause) == (text, title, clause)
    assert Slice.read(str(where)) == where


def test_a_range_of_dates_is_half_open_and_leaves_out_missing_ones() -> None:
    rows = _rows(seen=["2026-10-04", "2026-10-05", "2026-10-11", "2026-10-12", None, None])
    assert Slice.read("seen=2026-10-05..2026-10-12").rows(rows).tolist() == [False, True, True, False, False, False]
    assert Slice.read("seen=2026-10-05..").rows(rows).tolist() == [False, True, True, True, False, False]
    assert Slice.read("seen=..2026-10-05").rows(rows).tolist() == [True, False, False, False, False, False]


@pytest.mark.parametrize("text", ["seen=2026-10-12..2026-10-05", "seen=2026-10-05..2026-10-05", "seen=2026-02-30.."])
def test_an_empty_or_impossible_range_of_dates_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="range"):
        Slice.read(text)


def test_a_value_that_looks_like_a_range_of_dates_is_quoted() -> None:
    rows = _rows(note=["2026-10-05..2026-10-12", "x"])
    (first, _) = cut(rows, "note")
    assert str(first) == 'note="2026-10-05..2026-10-12"'
    assert Slice.read(str(first)).rows(rows).tolist() == [True, False]


def test_a_column_without_dates_has_no_range_of_them() -> None:
    with pytest.raises(NotAnswerable, match="no dates such as"):
        DateSpan("site", date(2026, 1, 1)).rows(pd.Series(["a", "b"]))


def test_many_dates_are_cut_into_periods_and_few_are_values() -> None:
    days = pd.Series(np.arange("2026-01-01", "2026-12-31", dtype="datetime64[D]").astype(str))
    rows = _rows(seen=[*days, None, None])
    found = cut(rows, "seen")
    assert [each.short for each in found[:2]] == ["January 2026", "February 2026"]
    assert [each.short for each in found[-2:]] == ["December 2026", "not given"]
    assert sum(int(each.rows(rows).sum()) for each in found) == rows.n_rows
    few = cut(_rows(seen=["2026-01-01", "2026-01-08"]), "seen")
    assert [str(each) for each in few] == ["seen=2026-01-01", "seen=2026-01-08"]
    assert table(rows, "seen")["rows"].sum() == rows.n_rows


def test_rows_chosen_from_others_are_cut_into_the_same_periods() -> None:
    days = np.arange("2026-01-01", "2026-12-31", dtype="datetime64[D]").astype(str)
    rows = _rows(seen=list(days))
    part = rows.take(np.arange(40))  # by themselves they would be cut into weeks
    assert [each.short for each in cut(part, "seen")] == ["January 2026", "February 2026"]


def test_columns_of_time_are_told_from_others() -> None:
    rows = _rows(
        site=list("abcd"), date_of_birth=["1990-01-01", "1980-01-01", "1970-01-01", "1975-05-05"],
        week=[1, 2, 3, 4], age=[40, 50, 60, 70], weekday=["Mon", "Tue", "Wed", "Thu"], admission_year=[2020] * 4,
        batchNo=[1, 1, 2, 2], seen=["2026-10-05", "2026-10-06", None, "2026-10-07"], once=["2026-10-05"] * 4,
        months_since=[.5, 1.5, 2, 3],
    )  # fmt: skip
    assert time_columns(rows) == ("seen", "week", "batchNo")


def test_months_beside_years_are_those_of_the_calendar() -> None:
    months = [11, 12, 1, None, 2, 12]
    rows = _rows(admissionYear=[2025, 2025, 2026, 2026, 2026, 2026], admissionMonth=months, visits=[1, 2, 3, 4, 5, 6])
    assert time_columns(rows) == ("admissionMonth", "admissionYear")
    found = periods(rows, "admissionMonth", "month")
    assert found.labels == ("2025-11-01", "2025-12-01", "2026-01-01", "2026-02-01", "2026-12-01")
    assert found.codes.tolist() == [0, 1, 2, -1, 3, 4]
    assert (found.titles[0], found.names[0], found.unit) == ("November 2025", "in November 2025", "month")
    for every, labels in (
        ("quarter", ["2025-10-01", "2026-01-01", "2026-10-01"]),
        ("year", ["2025-01-01", "2026-01-01"]),
    ):
        found = periods(rows, "admissionMonth", every)
        assert list(found.labels) == labels
    for every in ("month", "quarter", "year"):
        found = periods(rows, "admissionMonth", every)
        for place, where in zip(found.places, found.conditions, strict=True):
            assert np.flatnonzero(Slice.read(str(where)).rows(rows)).tolist() == place.tolist()
    with pytest.raises(NotAnswerable, match="have no days; choose months or longer"):
        periods(rows, "admissionMonth", "week")


@pytest.mark.parametrize(
    "columns",
    [
        {"month": [1, 2, 3, 13], "year": [2025, 2025, 2026, 2026]},
        {"month": [1, 2, 3, 0], "year": [2025, 2025, 2026, 2026]},
        {"month": [1, 2, 3, 4], "year": [1, 1, 2, 2]},
        {"month": [1, 2, 3, 4], "birth_year": [1950, 1960, 1970, 1980]},
    ],
)
def test_other_months_are_numbers(columns: dict[str, list[object]]) -> None:
    found = periods(_rows(**columns), "month")
    assert found.unit == "value"
    assert set(found.labels) == set(map(str, columns["month"]))


def test_the_length_of_periods_is_chosen_from_dates_only() -> None:
    year = np.arange("2026-01-01", "2026-12-31", dtype="datetime64[D]").astype(str)
    assert periods(_rows(seen=[*year] * 8), "seen").unit == "week"
    assert periods(_rows(seen=[*year]), "seen").unit == "month"
    decade = np.arange("2016-01-01", "2026-01-01", dtype="datetime64[D]").astype(str)
    assert periods(_rows(seen=[*decade]), "seen").unit == "quarter"
    # One day with many rows does not make the others rich.
    days = np.arange("2026-01-05", "2026-02-14", dtype="datetime64[D]").astype(str)
    assert periods(_rows(seen=[*days] * 5 + ["2026-01-05"] * 60), "seen").unit == "week"
    found = periods(_rows(week=[3, 10, 9, 3]), "week")
    assert (found.unit, found.labels, found.codes.tolist()) == ("value", ("3", "9", "10"), [0, 2, 1, 0])
    with pytest.raises(NotAnswerable, match="each number is a period"):
        periods(_rows(week=[3, 10, 9, 3]), "week", "month")
    with pytest.raises(NotAnswerable, match="choose the column with the time of each"):
        periods(_rows(site=list("abab")), "site")
    with pytest.raises(InputError, match="must be one of"):
        periods(_rows(week=[1, 2]), "week", "fortnight")


def _rows(**columns: list[object]) -> Predictions:
    n = len(next(iter(columns.values())))
    return Predictions([[0.7, 0.3]] * n, [0, 1] * (n // 2) + [0] * (n % 2), metadata=pd.DataFrame(columns))
