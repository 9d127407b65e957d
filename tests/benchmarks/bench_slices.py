"""Slices of many rows: a scan of 50 columns x 1,000,000 rows with crossings, and its memory beyond the input."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import calib_core as cc

ROWS, COLUMNS = 1_000_000, 50


@pytest.fixture(scope="module")
def many():
    """Return a third of the columns each: words, numbers to cut, and few whole numbers; one crossing is off."""
    rng = np.random.default_rng(0)
    words = np.array([f"v{i}" for i in range(8)], dtype=object)
    kinds = (
        lambda: words[rng.integers(0, 8, ROWS)],
        lambda: rng.normal(size=ROWS),
        lambda: rng.integers(0, 5, ROWS),
    )
    columns = pd.DataFrame({f"c{j}": kinds[j % 3]() for j in range(COLUMNS)})
    h = rng.uniform(0.5, 1, ROWS).astype(np.float32)
    off = 0.1 * ((columns["c0"] == "v3") & (columns["c2"] == 2)).to_numpy()
    return cc.Predictions.from_confidence(h, rng.random(ROWS) < h - off, metadata=columns)


def test_scan(benchmark, many):
    found = benchmark.pedantic(cc.slices.scan, args=(many,), rounds=1)
    assert found.frame()["where"].iloc[0] == "c0=v3 & c2=2"


def test_scan_holds_less_than_its_input_again(many):
    assert many.metadata is not None
    given = int(many.metadata.memory_usage().sum())
    tracemalloc.start()
    cc.slices.scan(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < given, f"{peak / 1e6:.0f} MB beside {given / 1e6:.0f} MB"


def test_table_of_a_column(benchmark, many):
    benchmark.pedantic(cc.slices.table, args=(many, "c0"), rounds=3)
