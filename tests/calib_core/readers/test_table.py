"""Table: columns by name, adjacent ones as one matrix, and a few first rows to show."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import Table, read_table
from calib_core.readers.proposal.score_survey import survey


def test_arrays_are_copied_unless_read_only() -> None:
    mine = np.array([0.5, 0.25])
    table = Table("a.npz", "npz", {"p": mine})
    mine[0] = 9
    assert table.columns["p"].tolist() == [0.5, 0.25]
    assert mine.flags.writeable
    mine.setflags(write=False)
    assert np.shares_memory(Table("a.npz", "npz", {"p": mine}).columns["p"], mine)
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.name = "b"  # type: ignore[misc]


def test_columns_beside_each_other_are_not_copied() -> None:
    table = read_table(b"a,y,b,c\n.1,x,.2,.3\n.4,x,.5,.6\n", "a.csv")
    matrix = table.matrix(("a", "b", "c"))
    assert matrix.tolist() == [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
    assert np.shares_memory(matrix, table.columns["b"])
    assert not matrix.flags.writeable
    for names in (("a", "c"), ("c", "b"), ("b", "a", "c")):
        assert not np.shares_memory(table.matrix(names), table.columns["b"])
        assert table.matrix(names).tolist() == np.column_stack([table.column(n) for n in names]).tolist()


def test_columns_of_several_types_become_one_matrix() -> None:
    table = Table("a", "npz", {"i": np.array([1, 2]), "h": np.array([1, 2], np.float32), "b": np.array([True, False])})
    assert table.matrix(("i", "b")).dtype == np.float64
    assert table.matrix(("h",)).dtype == np.float32
    with pytest.raises(InputError, match=r'columns "i", "x" have different lengths \[2, 3\]'):
        Table("a", "npz", {"i": np.zeros(2), "x": np.zeros(3)}).matrix(("i", "x"))


def test_columns_of_a_matrix_by_name() -> None:
    table = Table("a.npy", "npy", matrices={"array": np.eye(3)})
    assert table.column("array[:, 2]").tolist() == [0, 0, 1]
    for name in ("array[:, 3]", "array", "array[:, -1]", "other[:, 0]"):
        with pytest.raises(InputError) as caught:
            table.column(name)
        assert str(caught.value) == f'a.npy has no column "{name}"; its columns are "array" (3, 3)'


def test_first_rows() -> None:
    table = Table("a.npz", "npz", {"y": np.arange(20)}, {"p": np.ones((20, 2))})
    head = table.head(3)
    assert list(head.columns) == ["y", "p[:, 0]", "p[:, 1]"]
    assert len(head) == 3


def test_contents_of_many_columns() -> None:
    table = Table("a.npz", "npz", {f"c{i}": np.zeros(2) for i in range(20)})
    assert table.contents().endswith('"c11" (2,) and 8 more')


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_survey_is_what_numpy_says(dtype: type) -> None:
    """The reference is numpy, a slow obvious twin of the one pass over blocks."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3000, 70)).round(2).astype(dtype)
    scores[5, 3], scores[7, 1], scores[9, 0] = np.nan, np.inf, -np.inf
    scores[20] = scores[10]
    got = survey(scores)
    held = np.isfinite(scores)
    assert (got.low, got.high) == (scores[held].min(), scores[held].max())
    assert got.missing.nonzero()[0].tolist() == [5]
    assert got.infinite.nonzero()[0].tolist() == [7, 9]
    assert np.array_equal(got.top, scores.argmax(axis=1))
    plain = np.delete(np.arange(3000), [5, 7, 9])
    np.testing.assert_allclose(got.sums[plain], scores[plain].sum(axis=1, dtype=float))
    ties = (scores[plain] == scores[plain].max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert np.array_equal(got.tied[plain], ties)
    assert got.duplicates == 3000 - len(np.unique(scores[plain], axis=0)) - 3
