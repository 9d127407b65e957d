"""Parquet: frames, footers, and types of columns that are no numbers."""

from __future__ import annotations

import datetime
import decimal
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.corpus.bad_files import BadFile, drawn, family, parquet

P, Y = drawn(12)
GOOD = parquet(p_a=P[:, 0], p_b=P[:, 1], p_c=P[:, 2], label=Y)


def of_columns(columns: dict[str, Any], compression: str = "snappy") -> bytes:
    """Return a file of any columns that Arrow can write, including repeated names."""
    out = io.BytesIO()
    arrays = [value if isinstance(value, pa.Array) else pa.array(value) for value in columns.values()]
    pq.write_table(pa.Table.from_arrays(arrays, names=[n.rstrip("\0") for n in columns]), out, compression=compression)
    return out.getvalue()


def with_labels(values: Any, kind: Any) -> bytes:
    return of_columns({"p": P[: len(values), 0], "label": pa.array(values, kind)})


@family("Parquet frames")
def frames() -> Iterator[BadFile]:
    incomplete = "a.parquet is not a complete Parquet file (it is encrypted, damaged or cut off); save it again"
    unsafe = "could not be read safely (it is damaged, or needs too much memory or time); save it again, as NPZ or CSV"
    footer = int.from_bytes(GOOD[-8:-4], "little")
    cases: dict[str, tuple[bytes, str]] = {
        "magic only": (b"PAR1", incomplete),
        "magic twice": (b"PAR1PAR1", incomplete),
        "an empty footer": (b"PAR1" + bytes(4) + b"PAR1", unsafe),
        "cut in the footer": (GOOD[:-1], incomplete),
        "cut in half": (GOOD[: len(GOOD) // 2], incomplete),
        "another ending": (GOOD[:-4] + b"PARE", incomplete),
        "a footer longer than the file": (GOOD[:-8] + b"\xff\xff\xff\x00PAR1", "its footer declares 16.8 MB; save it"),
        "a footer of nothing": (GOOD[:-8] + bytes(4) + b"PAR1", unsafe),
        "a footer of zeros": (GOOD[: -8 - footer] + bytes(footer) + GOOD[-8:], unsafe),
        "a footer cut": (GOOD[: -8 - footer] + GOOD[-8 - footer // 2 :], "is damaged or cut off: its footer declares"),
        "data of zeros": (b"PAR1" + bytes(len(GOOD) - footer - 12) + GOOD[-8 - footer :], unsafe),
        "data of ones": (b"PAR1" + b"\xff" * (len(GOOD) - footer - 12) + GOOD[-8 - footer :], unsafe),
        "a footer of 40 MB": (
            b"PAR1" + bytes(40 << 20) + (40 << 20).to_bytes(4, "little") + b"PAR1",
            "has a footer of 41.9 MB; the maximum is 33.6 MB",
        ),
    }
    for what, (data, says) in cases.items():
        yield BadFile(what, data, says, filename="a.parquet")


@family("Parquet columns")
def columns() -> Iterator[BadFile]:
    rows = range(3)
    kinds: dict[str, tuple[Any, Any, str]] = {
        "lists": ([["a"]] * 3, pa.list_(pa.string()), 'column "label" is nested (list<'),
        "lists of other lengths": ([[1.0], [1.0, 2.0], [1.0]], pa.list_(pa.float64()), "has lists of 1 to 2 numbers"),
        "empty lists": ([[]] * 3, pa.list_(pa.float64()), "has lists of no numbers; every row needs one per class"),
        "lists of a fixed length": ([["a"]] * 3, pa.list_(pa.string(), 1), "is nested (fixed_size_list<"),
        "structures": ([{"a": ["x"]}] * 3, pa.struct([("a", pa.list_(pa.string()))]), '"label.a" is nested (list<'),
        "maps": ([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64()), "is nested (map<"),
        "nested in three": ([[[[1]]]] * 3, pa.list_(pa.list_(pa.list_(pa.int8()))), "save one column per class"),
        "bytes": ([b"a"] * 3, pa.binary(), 'column "label" has type binary; save numbers, booleans or text'),
        "bytes of a fixed length": ([b"ab"] * 3, pa.binary(2), "save numbers, booleans or text"),
        "times of day": (
            [datetime.time(1)] * 3,
            pa.time64("us"),
            "has type time64[us]; save numbers, booleans or text",
        ),
        "durations": ([1, 2, 3], pa.duration("us"), "has type duration[us]; save numbers"),
        "dates": ([datetime.date(2026, 1, 1)] * 3, pa.date32(), 'every label is "2026-01-01"'),
        "only nothing": ([None] * 3, pa.null(), "the value is missing; 3 of 3 rows affected"),
        "a null": ([0, None, 1], pa.int64(), 'column "label", row 1: the value is missing; 1 of 3 rows affected'),
        "a null in text": (["a", None, "b"], pa.string(), "row 1: the value is missing"),
        "decimals that are halves": (
            [decimal.Decimal("0.5")] * 3,
            pa.decimal128(3, 1),
            'every label is "0.5", so the other class has no name',
        ),
        "2^63": ([2**63] * 3, pa.uint64(), 'every label is "9223372036854775808", so the other'),
        "texts of 200,000": (["x" * 200_000] * 3, pa.string(), "has text of 200,000 characters"),
    }
    for what, (values, kind, says) in kinds.items():
        yield BadFile(what, with_labels(values, kind), says, filename="a.parquet")
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "no rows": ({"p": np.zeros(0), "y": np.zeros(0, int)}, "has no rows or no columns"),
        "no columns": ({}, "has no rows or no columns"),
        "5,000 columns": ({f"c{i}": [1] for i in range(5000)}, "has 5,000 columns; the maximum is 4,096"),
        "a name twice": (
            {"p": P[:3, 0], "p\0": P[:3, 0], "y": [0, 1, 0]},
            'a.parquet has two columns called "p"; give every column its own name',
        ),
        "an empty name": ({"": P[:3, 0], "y": [0, 1, 0]}, "needs a name of 1 to 256 characters"),
        "a name of 300": ({"x" * 300: P[:3, 0], "y": [0, 1, 0]}, "needs a name of 1 to 256 characters"),
        "half precision that is infinite": (
            {"logit": pa.array(np.array([1, np.inf, 2], np.float16)), "y": [0, 1, 0]},
            "is infinite; 1 of 3 rows affected",
        ),
        "60 million rows": ({"correct": np.zeros(10_000_001, np.int8)}, "with calib summarise"),
        "no labels": ({"p_a": P[:3, 0], "p_b": P[:3, 1]}, "no column is recognized as the labels"),
        "no scores": ({"y": [0, 1, 0]}, "no columns are recognized as scores"),
        "percent beyond 100": (
            {"p": [70.0, 120.0, 20.0], "y": [0, 1, 0]},
            "row 0: 70 is above 1; 3 of 3 rows affected",
        ),
        "a word among texts": ({"p": ["0.7", "high", "0.2"], "y": [0, 1, 0]}, '"high" is not a number'),
        "rows": ({"index": list(rows)}, "no columns are recognized as scores"),
    }
    for what, (made, says) in cases.items():
        compression = "zstd" if what == "60 million rows" else "snappy"
        yield BadFile(what, of_columns(made, compression), says, filename="a.parquet")
