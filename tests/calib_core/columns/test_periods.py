"""Division of rows into periods: the column and the length that are chosen."""

import numpy as np
import pandas as pd
import pytest

from calib_core import Predictions
from calib_core.columns.periods import periods, time_columns


def seen(counts: list[int], days: int) -> Predictions:
    """Rows at days 0, ``days``, 2 ``days`` ... from a Monday on, with these numbers of rows."""
    day = np.datetime64("2025-01-06") + np.repeat(np.arange(len(counts)) * days, counts)
    rows = np.tile([0.7, 0.3], (len(day), 1))
    return Predictions(rows, np.zeros(len(day), dtype=int), metadata=pd.DataFrame({"seen": day.astype(str)}))


@pytest.mark.parametrize(
    ("counts", "days", "unit"),
    [
        ([20] * 20, 7, "week"),
        ([19] * 20, 7, "month"),
        # One busy week is no reason for weeks: their median is what matters.
        ([2000] + [7] * 25, 7, "month"),
        ([20] * 60, 1, "day"),
        ([20] * 61, 1, "week"),
        ([20] * 3, 1, "day"),
    ],
)
def test_a_length_is_the_finest_with_at_most_60_periods_of_20_rows_in_the_median(
    counts: list[int], days: int, unit: str
) -> None:
    assert periods(seen(counts, days), "seen").unit == unit


def test_dates_of_the_prediction_come_before_later_ones_and_numbers() -> None:
    day = ["2026-10-05", "2026-10-12"]
    columns = pd.DataFrame({"week": [1, 2], "discharge": day, "born": day, "seen": day, "end_of_stay": day, "once": 3})
    rows = Predictions([[0.7, 0.3]] * 2, [0, 1], metadata=columns)
    assert time_columns(rows) == ("seen", "discharge", "end_of_stay", "week")
