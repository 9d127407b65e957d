"""Labels in another file: joined by a key, or by place where asked; what does not match is told, never guessed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib_core as cc
from calib_core.predictions import InputError
from calib_core.readers import as_csv, read_table, with_labels
from calib_core.readers.table import Table


def csv(text: str, name: str) -> Table:
    return read_table(text.encode(), name)


SUBMISSION = "id,cat,dog\n3,0.25,0.75\n1,0.5,0.5\n2,1,0\n"


@given(st.permutations(range(6)), st.sets(st.integers(0, 7), min_size=1))
def test_every_row_has_the_label_of_its_key(order: list[int], known: set[int]) -> None:
    """Beside a dictionary, for any order and any labels that are missing or too many."""
    scores = Table("p.csv", "csv", {"id": np.array(order), "p": np.array(order) / 10})
    truth = Table("y.csv", "csv", {"id": np.array(sorted(known)), "y": np.array([k % 2 for k in sorted(known)])})
    expected = [(i / 10, i % 2) for i in order if i in known]
    if not expected:
        with pytest.raises(InputError, match="no row of"):
            with_labels(scores, truth)
        return
    both = with_labels(scores, truth)
    assert list(zip(both.columns["p"].tolist(), both.columns["y"].tolist(), strict=True)) == expected
    assert f"{len(expected)} of 6 rows" in both.notes[-1]


def test_a_submission_and_its_solution(tmp_path: Path) -> None:
    (tmp_path / "submission.csv").write_text(SUBMISSION)
    (tmp_path / "solution.csv").write_text("id,target,Usage\n1,cat,Public\n2,cat,Private\n3,dog,Public\n")
    p = cc.read_predictions(tmp_path / "submission.csv", labels=tmp_path / "solution.csv")
    assert p.probs.tolist() == [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]
    assert p.true_labels.tolist() == [1, 0, 0]
    assert any('joined by "id"' in note for note in p.notes)
    with pytest.raises(InputError, match="give labels="):
        cc.read_predictions(tmp_path / "submission.csv", key="id")


def test_a_column_of_both_is_called_after_its_file() -> None:
    both = with_labels(csv("id,target\n1,0.7\n2,0.2\n", "sub.csv"), csv("id,target\n2,0\n1,1\n", "sol.csv"))
    assert both.columns["target"].tolist() == [1, 0]
    assert both.columns["sub.csv: target"].tolist() == [0.7, 0.2]
    assert cc.read_predictions(as_csv(both), "both.csv").probs[:, 1].tolist() == [0.7, 0.2]


def test_arrays_are_joined_by_place_where_asked(tmp_path: Path) -> None:
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 20)
    np.save(tmp_path / "oof.npy", p)
    np.save(tmp_path / "y.npy", np.arange(20) % 3)
    with pytest.raises(InputError, match="row i with row i"):
        cc.read_predictions(tmp_path / "oof.npy", labels=tmp_path / "y.npy")
    found = cc.read_predictions(tmp_path / "oof.npy", labels=tmp_path / "y.npy", key=())
    np.testing.assert_array_equal(found.probs, p)
    assert found.true_labels.tolist() == (np.arange(20) % 3).tolist()
    assert any("by its place alone" in note for note in found.notes)
    both = with_labels(read_table(tmp_path / "oof.npy"), read_table(tmp_path / "y.npy"), ())
    np.testing.assert_array_equal(cc.read_predictions(as_csv(both), "both.csv").probs, p)


def test_labels_with_a_column_a_class(tmp_path: Path) -> None:
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 20)
    np.save(tmp_path / "oof.npy", p)
    np.save(tmp_path / "y.npy", np.eye(3)[np.arange(20) % 3])
    found = cc.read_predictions(tmp_path / "oof.npy", labels=tmp_path / "y.npy", key=())
    np.testing.assert_array_equal(found.probs, p)
    assert found.true_labels.tolist() == (np.arange(20) % 3).tolist()


REFUSED = {
    ("id,p\n1,.5\n", "id,y\n1,0\n1,1\n", None): "no column of both, each value once in the labels, is the key",
    ("id,p\n1,.5\n", "id,y\n1,0\n1,1\n", "id"): 'y.csv, line 2 (row 0): "1" stands there more than once as "id"',
    ("id,p\n1,.5\n", "key,y\n1,0\n", None): "is the key that joins them; give the key, or none (key=())",
    ("a,b,p\n1,2,.5\n", "a,b,y\n1,2,0\n", None): '"a", "b" could all be the key',
    ("id,p\n1,.5\n", "id,y\n2,0\n", None): 'no row of p.csv has a label in y.csv: the values of "id" differ',
    ("id,p\n1,.5\n2,.5\n", "y\n1\n", ()): "rows can be joined by place only where there are as many",
    ("id,p\n1,.5\n", "id\n1\n", None): 'y.csv has nothing but the key "id"; it needs a column of labels',
    ("id,p\n1,.5\n", "id,y\n1,0\n", "nr"): 'has no column "nr"',
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_joined_is_one_sentence(case: tuple[str, str, str | None]) -> None:
    scores, truth, key = case
    with pytest.raises(InputError) as why:
        with_labels(csv(scores, "p.csv"), csv(truth, "y.csv"), key)
    assert REFUSED[case] in str(why.value)
    assert "\n" not in str(why.value)


def test_several_keys_together() -> None:
    scores = csv("fold,row,p\n1,1,.1\n1,2,.2\n2,1,.3\n", "p.csv")
    truth = csv("row,fold,y\n1,2,1\n1,1,0\n2,1,0\n", "y.csv")
    assert with_labels(scores, truth, ("fold", "row")).columns["y"].tolist() == [0, 0, 1]


def test_no_spreadsheet_computes_a_text_of_the_joined_file() -> None:
    """Numbers written as texts, such as +1 as a label, are no formulas; read again, all is as it was."""
    both = Table("a.csv", "csv", {"=p": np.array([0.25, -1.0]), "y": np.array(["=1+1", "+1"], dtype=object)})
    assert as_csv(both).decode() == "'=p,y\n0.25,'=1+1\n-1.0,+1\n"
    again = read_table(as_csv(both), "a.csv").columns
    assert {name: column.tolist() for name, column in again.items()} == {"=p": [0.25, -1.0], "y": ["=1+1", "+1"]}
