"""JSON Lines of an evaluation of a language model, against pandas, which returns columns of objects."""

import pandas as pd
import pytest

import calib_core as cc
from calib_core.readers import StreamedFile
from tests.corpus.lm_eval_files import LETTERS, NAME, accuracy, drawn, encoded, line

ROWS = 20_000


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    scores, gold = drawn(1000, 4)
    rows = ((i, scores[i % 1000], gold[i % 1000]) for i in range(ROWS))
    path = tmp_path_factory.mktemp("samples") / NAME
    path.write_bytes(encoded(line(i, s, g, LETTERS, acc=accuracy(s, g)) for i, s, g in rows))
    return path


def test_as_predictions(benchmark, file):
    assert benchmark.pedantic(cc.read_predictions, args=(file,), rounds=3).n_rows == ROWS


def test_in_parts(benchmark, file):
    counted = benchmark.pedantic(lambda: sum(part.n_rows for part in StreamedFile(file)), rounds=3)
    assert counted == ROWS


def test_pandas_read_json(benchmark, file):
    assert len(benchmark.pedantic(pd.read_json, args=(file,), kwargs={"lines": True}, rounds=3)) == ROWS
