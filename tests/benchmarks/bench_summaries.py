"""Summaries: of predictions in memory, and of a file of a million binary rows (p, label); ten of them is the goal's."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calib_core import Predictions, Summary, summarise

ROWS = 1_000_000


def binary():
    rng = np.random.default_rng(0)
    risks = rng.random(ROWS) ** 2
    return risks, (rng.random(ROWS) < risks).astype(int)


def once(benchmark, call, *args):
    benchmark.pedantic(call, args=args, rounds=3, warmup_rounds=1)


def test_summary(benchmark, sample):
    once(benchmark, Summary.of, sample.predictions)


@pytest.fixture(scope="module")
def of_two():
    risks, labels = binary()
    probs = np.column_stack([1 - risks, risks])
    probs.setflags(write=False)
    return probs, labels


def test_predictions_of_two_classes(benchmark, of_two):
    once(benchmark, Predictions, *of_two)


def test_summary_of_two_classes(benchmark, of_two):
    once(benchmark, Summary.of, Predictions(*of_two))


def test_summary_of_a_file_of_two_classes(benchmark, tmp_path):
    risks, labels = binary()
    pq.write_table(pa.table({"p": risks, "label": labels}), tmp_path / "rows.parquet")
    once(benchmark, summarise, tmp_path / "rows.parquet")
