"""Memory of a Parquet file is estimated from its footer, and no footer makes that fail."""

import io
import time

import numpy as np
import pandas as pd
import pytest

from calib_core.readers.formats.parquet import promised_bytes

ROWS = 3000


def parquet(rows_in_a_group=None, **columns):
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer, row_group_size=rows_in_a_group)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("dtype", "size"), [("f4", 4), ("f8", 8), ("i4", 4), ("i8", 8), ("i1", 4), ("bool", 1), (object, 24)]
)
def test_rows_times_the_types_of_columns(dtype, size):
    """The sizes are computed by hand for constant columns, of which the file itself is a hundredth."""
    column = np.full(ROWS, "word" if dtype is object else 1, dtype=dtype)
    data = parquet(500, **{f"c{j}": column for j in range(20)})
    assert promised_bytes(data) == ROWS * 20 * size > len(data)


def test_lists_in_rows_are_counted_by_the_file():
    data = parquet(lists=[[0.5, 0.5]] * ROWS, name=["x"] * ROWS)
    assert promised_bytes(data) == max(4 * len(data), ROWS * (8 + 24))


def test_damaged_footers_are_answered_at_once():
    good, rng = parquet(**{f"c{j}": np.zeros(10) for j in range(200)}), np.random.default_rng(0)
    slowest = 0.0
    for i in range(300):
        data = bytearray(good)
        for place in rng.integers(4 if i % 2 else len(good) - 400, len(good) - 4, 6):
            data[place] = rng.integers(256)
        start = time.process_time()
        assert promised_bytes(bytes(data[: len(good) - i % 3])) >= 0
        slowest = max(slowest, time.process_time() - start)
    assert slowest < 1.0
    deep = b"\x1c" * 1000
    assert promised_bytes(b"PAR1" + deep + len(deep).to_bytes(4, "little") + b"PAR1") == 1012
    endless = b"\x19\xfc" + b"\xff" * 9 + b"\x01" + b"\x00" * 50
    assert promised_bytes(b"PAR1" + endless + len(endless).to_bytes(4, "little") + b"PAR1") == 12 + len(endless)
