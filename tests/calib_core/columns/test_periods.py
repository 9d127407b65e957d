"""Division of rows into periods: the length that is chosen."""

import numpy as np
import pandas as pd
import pytest

from calib_core import Predictions
from calib_core.columns.periods import periods


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
