"""Fit and test rows: by a column of words, and rows that are in both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers import propose, read_table, shared_rows, split_rows
from tests.support.sentences import matches


def table(*words: str) -> tuple[object, object]:
    text = "p_a,p_b,label,split\n" + "".join(f".75,.25,a,{word}\n" for word in words)
    held = read_table(text.encode(), "a.csv")
    return held, propose(held, split="split")


@pytest.mark.parametrize(
    ("fit", "test"),
    [("cal", "test"), ("Calibration", "EVAL"), ("val", "test"), ("train", "holdout"), (" fit", "test ")],
)
def test_words_for_both_parts(fit: str, test: str) -> None:
    first, second = split_rows(*table(fit, test, test, fit))  # type: ignore[arg-type]
    assert (first.tolist(), second.tolist()) == ([0, 3], [1, 2])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("cal", "test", "other"),
            'a.csv, column "split" contains "other"*calibration, fit, val or train*test or eval*',
        ),
        (
            ("train", "val", "test"),
            'a.csv, column "split" contains "test", "train", "val"*remove the training rows*',
        ),
        (("test", "test"), 'a.csv, column "split" contains only "test"*'),
    ],
)
def test_unclear_words(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError) as caught:
        split_rows(*table(*words))  # type: ignore[arg-type]
    assert matches(str(caught.value), said)


def test_no_split_column() -> None:
    held = read_table(b"p_a,p_b,label\n.7,.3,a\n", "a.csv")
    with pytest.raises(InputError, match="no column of calibration and test rows"):
        split_rows(held, propose(held))


def test_rows_are_counted_after_rows_with_gaps_are_left_out() -> None:
    held = read_table(b"p_a,p_b,label,split\n.7,.3,a,cal\n,.3,a,cal\n.7,.3,a,test\n", "a.csv")
    first, second = split_rows(held, propose(held, missing="exclude"))
    assert (first.tolist(), second.tolist()) == ([0], [1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shared_rows_are_counted(dtype: type) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1.0] * 5, 300).astype(dtype)
    y = rng.integers(0, 5, 300)
    everything = Predictions(p, y)
    fit, test = everything.take(np.arange(200)), everything.take(np.arange(150, 300))
    assert shared_rows(fit, test) == 50
    assert shared_rows(fit, everything.take(np.arange(200, 300))) == 0
    assert shared_rows(Predictions(p[:200], (y[:200] + 1) % 5), test) == 0
    assert shared_rows(Predictions(p.astype(np.float64), y), Predictions(p.astype(np.float32), y)) == 300
    # Test rows are counted, however often a calibration row equals them.
    first, twice = everything.take(np.array([0])), everything.take(np.array([0, 0]))
    assert [shared_rows(first, twice), shared_rows(twice, first)] == [2, 1]


def test_shared_rows_of_other_kinds() -> None:
    a = Predictions.from_confidence([0.7, 0.6], [True, False])
    assert shared_rows(a, Predictions.from_confidence([0.7, 0.6], [True, True])) == 1
    b = Predictions.from_confidence([0.7, 0.6], predicted=[0, 1], labels=[0, 0])
    assert shared_rows(b, b) == 2
    assert shared_rows(a, b) == 0


def test_rows_with_other_metadata_are_other_rows() -> None:
    def rows(**columns: Any) -> Predictions:
        return Predictions([[0.7, 0.3]] * 3, [0, 1, 1], metadata=pd.DataFrame(columns) if columns else None)

    fit = rows(site=["A", "B", "C"], age=[40, 50, 60], part=["cal"] * 3)
    assert shared_rows(fit, rows(site=["A", "B", "D"], age=[40, 50, 60])) == 2
    assert shared_rows(fit, rows(site=["A", "B", "C"], age=[40.0, 50.0, np.nan])) == 2
    assert shared_rows(fit, rows(part=["test"] * 3)) == 0
    assert shared_rows(fit, rows(part=["test"] * 3), "part") == shared_rows(fit, rows()) == 3


def test_equal_rows_get_equal_keys_and_others_do_not() -> None:
    from calib_core.readers.proposal.score_survey import row_keys

    grid = np.array(np.meshgrid(*[np.arange(8) / 8] * 4)).reshape(4, -1).T
    for dtype in (np.float32, np.float64):
        held = grid.astype(dtype)
        assert len(np.unique(row_keys(held))) == len(held) == 4096
        assert np.array_equal(row_keys(held), row_keys(np.asfortranarray(held)))
    assert row_keys(np.array([[0.0, 1]]))[0] == row_keys(np.array([[-0.0, 1]]))[0]
