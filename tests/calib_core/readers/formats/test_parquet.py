"""Parquet: bounded by its footer, decoded by a process that may die, refused by column and type."""

from __future__ import annotations

import datetime
import decimal
import importlib.util
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits, read_table
from calib_core.readers.formats import child_process, parquet
from calib_core.readers.formats.decoders import __main__ as child
from calib_core.readers.table import Table
from tests.support.sentences import matches

Refused = Callable[[bytes, str], str]


def written(columns: dict[str, Any] | pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), out, **options)
    return out.getvalue()


def in_process(data: bytes) -> Table:
    """Decode without a child, for the many cases that need no isolation."""
    return child_process.decoded_table("parquet", data, "a.parquet", "parquet", apart=False)


def test_types_that_are_read() -> None:
    table = read_table(
        written(
            {
                "f4": pa.array([0.5, 0.25], pa.float32()),
                "f8": pa.array([0.1, None]),
                "f2": pa.array([np.float16(0.5), np.float16(0.25)], pa.float16()),
                "i": pa.array([1, None]),
                "big": pa.array([2**60, 2**60 + 1]),
                "b": pa.array([True, False]),
                "bn": pa.array([True, None]),
                "d": pa.array([decimal.Decimal("0.50"), decimal.Decimal("0.25")]),
                "s": pa.array(["None", None]),
                "ls": pa.array(["x", "y"], pa.large_string()),
                "cat": pa.array(["x", "y"]).dictionary_encode(),
                "num": pa.array([7, 8]).dictionary_encode(),
                "t": pa.array([datetime.date(2020, 1, 2), None]),
                "none": pa.nulls(2),
            }
        ),
        "a.parquet",
    )
    got = {name: column.tolist() for name, column in table.columns.items()}
    assert str({**got, "f8": None, "i": None, "bn": None, "none": None}) == str(
        {
            "f4": [0.5, 0.25],
            "f8": None,
            "f2": [0.5, 0.25],
            "i": None,
            "big": [2**60, 2**60 + 1],
            "b": [True, False],
            "bn": None,
            "d": [0.5, 0.25],
            "s": ["None", ""],
            "ls": ["x", "y"],
            "cat": ["x", "y"],
            "num": [7, 8],
            "t": ["2020-01-02", ""],
            "none": None,
        }
    )
    for name, first in (("f8", 0.1), ("i", 1.0), ("bn", 1.0), ("none", np.nan)):
        np.testing.assert_array_equal(table.columns[name], [first, np.nan])
    assert table.columns["f4"].dtype == np.float32


def test_neighbouring_scores_are_one_matrix_that_is_not_copied() -> None:
    p = np.random.default_rng(0).dirichlet([1.0] * 4, 50).astype(np.float32)
    frame = pd.DataFrame(p, columns=list("abcd")).assign(y="x")
    table = read_table(frame.to_parquet(row_group_size=7), "a.parquet")
    matrix = table.matrix(("a", "b", "c", "d"))
    assert np.array_equal(matrix, p)
    assert np.shares_memory(matrix, table.columns["a"])
    assert table.matrix(("d", "a")).tolist() == p[:, [3, 0]].tolist()


def test_text_split_over_row_groups_keeps_its_words() -> None:
    words = [f"w{i % 13}" for i in range(100)]
    for dictionary in (True, False):
        data = written({"s": pa.array(words)}, row_group_size=9, use_dictionary=dictionary)
        assert in_process(data).columns["s"].tolist() == words


NESTED = {
    "list<element: string>": pa.array([["a"], ["b"]], pa.list_(pa.string())),
    "map<string, int64": pa.array([[("x", 1)], [("y", 2)]], pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("kind", NESTED)
def test_nested_columns_are_refused_by_name(kind: str, refused: Refused) -> None:
    assert matches(
        refused(written({"y": [1, 2], "probs": NESTED[kind]}), "a.parquet"),
        f'a.parquet: column "probs" is nested ({kind}*); save one column per class',
    )


@pytest.mark.parametrize(
    ("column", "kind"), [(pa.array([b"x"]), "binary"), (pa.array([5], pa.duration("s")), "duration[s]"),
                         (pa.array([5], pa.time32("ms")), "time32[ms]")]
)  # fmt: skip
def test_other_types_are_refused_by_name(column: Any, kind: str) -> None:
    with pytest.raises(InputError) as caught:
        in_process(written({"x": column}))
    assert str(caught.value) == f'a.parquet: column "x" has type {kind}; save numbers, booleans or text'


def test_deep_nesting(refused: Refused) -> None:
    kind = pa.int8()
    for _ in range(40):
        kind = pa.struct([("a", kind)])
    assert "nested" in refused(written(pa.table({"x": pa.nulls(1, kind)})), "a.parquet")


def test_rows_times_columns_are_bounded_by_the_footer(refused: Refused) -> None:
    n = 40_000_000
    codes = pa.array(np.zeros(1_000_000, np.int8))
    chunk = pa.DictionaryArray.from_arrays(codes, pa.array([0.5]))
    data = written(pa.table({c: pa.chunked_array([chunk] * 40) for c in "abcd"}), row_group_size=n)
    assert len(data) < 800_000
    assert matches(refused(data, "a.parquet"), "a.parquet has 40,000,000 rows of 4 columns; * 134,217,728 values.*")


def test_columns_are_bounded_by_the_footer(refused: Refused) -> None:
    data = written({f"c{i}": [0.5] for i in range(limits.COLUMNS + 1)})
    assert matches(refused(data, "a.parquet"), "a.parquet has 4,097 columns; * 4,096.*transposed")


def test_one_long_text_in_every_row_is_read_once_and_refused(refused: Refused) -> None:
    word = pa.DictionaryArray.from_arrays(pa.array(np.zeros(200, np.int8)), pa.array(["x" * 10_000_000]))
    data = written(pa.table({"y": word}), compression="zstd", write_statistics=False, store_schema=False, version="1.0")
    assert len(data) < 5000
    assert matches(refused(data, "a.parquet"), 'a.parquet: column "y" has text of 10,000,000 characters;*')


def test_names_are_checked(refused: Refused) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["p", "p"])
    assert refused(written(twice), "a.parquet") == (
        'a.parquet has two columns called "p"; give every column its own name'
    )
    assert "needs a name of 1 to 256 characters" in refused(written({"x" * 300: [1]}), "a.parquet")
    assert "needs a name" in refused(written({" ": [1]}), "a.parquet")


def test_empty_tables(refused: Refused) -> None:
    assert "no rows or no columns" in refused(written({"p": pa.array([], pa.float64())}), "a.parquet")


def test_cut_off_and_damaged_files(refused: Refused) -> None:
    data = written({"p": [0.5]})
    assert refused(data[:-5], "a.parquet") == (
        "a.parquet is not a complete Parquet file (it is encrypted, damaged or cut off); save it again"
    )
    promised = data[:-8] + (2**31).to_bytes(4, "little") + b"PAR1"
    assert matches(refused(promised, "a.parquet"), "a.parquet is damaged or cut off*2.15 GB*")
    assert refused(b"PAR1" + b"\x15" * 40 + (36).to_bytes(4, "little") + b"PAR1", "a.parquet") == (
        "a.parquet could not be read safely (it is damaged, or needs too much memory or "
        "time); save it again, as NPZ or CSV"
    )


def test_pandas_metadata_decides_nothing() -> None:
    table = pa.table({"p": [0.5, 0.7], "y": ["a", "b"]}).replace_schema_metadata(
        {b"pandas": b'{"index_columns": ["p"], "columns": "lies"}'}
    )
    assert in_process(written(table)).names == ("p", "y")
    indexed = pd.DataFrame({"p": [0.5]}, index=pd.Index(["r"], name="id"))
    assert in_process(indexed.to_parquet()).names == ("p", "id")


def test_a_child_that_dies_is_a_sentence(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    data = written({"p": np.random.default_rng(0).random(200_000)})
    monkeypatch.setattr(limits, "CHILD_BYTES", 60 << 20)
    assert "could not be read safely" in refused(data, "a.parquet")


def test_a_child_that_takes_too_long_is_a_sentence(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CHILD_SECONDS", 0)
    assert "could not be read safely" in refused(written({"p": [0.5]}), "a.parquet")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"not json\n",
        b"[]\n",
        b'{"columns": [{"name": "p", "dtype": "|O", "width": 1, "column": 0, "offset": 0}], "rows": 1}\n' + b"\0" * 8,
        b'{"columns": [{"name": "p", "dtype": "<f8", "width": 1, "column": 0, "offset": 0}], "rows": 9}\n' + b"\0" * 8,
        b'{"columns": [{"name": "p", "dtype": "<f8", "width": 1, "column": 3, "offset": 0}], "rows": 1}\n' + b"\0" * 8,
    ],
)
def test_the_child_is_trusted_no_more_than_the_file(answer: bytes) -> None:
    with pytest.raises(InputError, match="could not be read safely"):
        child_process._table(answer, "a.parquet", "parquet")


def test_without_limits_on_processes_the_footer_bounds_remain(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_HAS_LIMITS", False)
    assert read_table(written({"p": [0.5]}), "a.parquet").columns["p"].tolist() == [0.5]
    assert "no rows" in refused(written({"p": pa.array([], pa.float64())}), "a.parquet")
    assert "could not be read safely" in refused(b"PAR1" + b"\x15" * 40 + b"\x24\0\0\0PAR1", "a.parquet")


def test_without_pyarrow_the_sentence_says_what_to_install(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert refused(written({"p": [0.5]}), "a.parquet") == (
        "a.parquet: reading Parquet needs pyarrow; run: pip install calib[parquet]"
    )


def test_decoders_need_nothing_else_of_the_project() -> None:
    """Their process starts quickly, and a damaged file meets little code."""
    for file in Path(child.__file__).parent.glob("*.py"):
        assert "calib_core" not in file.read_text("utf-8"), file.name


def test_the_child_limits_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    held: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(resource, "setrlimit", lambda what, pair: held.__setitem__(what, pair))
    child.limit(child_process.bounds())
    assert held[resource.RLIMIT_CORE] == (0, 0)
    assert held[resource.RLIMIT_CPU][0] <= limits.CHILD_SECONDS
    assert held[resource.RLIMIT_AS][0] <= limits.CHILD_BYTES
