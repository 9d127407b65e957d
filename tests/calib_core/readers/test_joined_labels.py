"""Labels in another file: joined by a key, or by position on request; mismatches are reported, never guessed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib_core as cc
from calib_core.predictions.predictions import InputError
from calib_core.readers import as_csv, examine, propose, read_table, with_labels
from calib_core.readers.table import Table
from tests.support.sentences import matches

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # findings are looked at themselves


def csv(text: str, name: str) -> Table:
    return read_table(text.encode(), name)


SUBMISSION = "id,cat,dog\n3,0.25,0.75\n1,0.5,0.5\n2,1,0\n"


@given(st.permutations(range(6)), st.sets(st.integers(0, 7), min_size=1))
def test_every_row_has_the_label_of_its_key(order: list[int], known: set[int]) -> None:
    """The result equals that of a dictionary, for any order and any missing or extra labels."""
    scores = Table("p.csv", "csv", {"id": np.array(order), "p": np.array(order) / 10})
    truth = Table("y.csv", "csv", {"id": np.array(sorted(known)), "y": np.array([k % 2 for k in sorted(known)])})
    expected = [(i / 10, i % 2) for i in order if i in known]
    if not expected:
        with pytest.raises(InputError, match="no row of"):
            with_labels(scores, truth)
        return
    both = with_labels(scores, truth)
    assert list(zip(both.columns["p"].tolist(), both.columns["y"].tolist(), strict=True)) == expected
    assert both.joined is not None
    unused = len(known - {*order})
    assert (both.joined.left_out, both.joined.unused) == (6 - len(expected), unused)
    messages = {each.code: each.message for each in examine(both, propose(both))}
    assert f"{len(expected)} of 6 rows of p.csv have a label in y.csv" in messages["joined"]
    assert ("unlabelled" in messages, "unpredicted" in messages) == (len(expected) < 6, unused > 0)


def test_a_submission_and_its_solution(tmp_path: Path) -> None:
    (tmp_path / "submission.csv").write_text(SUBMISSION)
    (tmp_path / "solution.csv").write_text("id,target,Usage\n1,cat,Public\n2,cat,Private\n3,dog,Public\n")
    p = cc.read_predictions(tmp_path / "submission.csv", labels=tmp_path / "solution.csv")
    assert p.probs.tolist() == [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]
    assert p.true_labels.tolist() == [1, 0, 0]
    assert any('(key: "id")' in note for note in p.notes)
    with pytest.raises(InputError, match="give labels="):
        cc.read_predictions(tmp_path / "submission.csv", key="id")


def test_a_column_of_both_is_called_after_its_file() -> None:
    both = with_labels(csv("id,target\n1,0.7\n2,0.2\n", "sub.csv"), csv("id,target\n2,0\n1,1\n", "sol.csv"))
    assert both.columns["target"].tolist() == [1, 0]
    assert both.columns["sub.csv: target"].tolist() == [0.7, 0.2]
    assert cc.read_predictions(as_csv(both), "both.csv").probs[:, 1].tolist() == [0.7, 0.2]


def test_scores_of_the_labels_file_are_never_judged() -> None:
    """Other confidences are next to the labels: those of the predictions are used."""
    scores = csv("id,confidence\n1,0.7\n2,0.2\n3,0.6\n", "mine.csv")
    both = with_labels(scores, csv("id,correct,confidence\n3,1,0.1\n2,0,0.9\n1,1,0.3\n", "theirs.csv"))
    assert both.columns["confidence"].tolist() == [0.7, 0.2, 0.6]
    assert both.columns["theirs.csv: confidence"].tolist() == [0.3, 0.9, 0.1]
    classes = csv("id,p_0,p_1\n1,0.3,0.7\n2,0.8,0.2\n", "mine.csv")
    both = with_labels(classes, csv("id,label,p_1\n2,0,0.9\n1,1,0.3\n", "theirs.csv"))
    assert cc.read_predictions(as_csv(both), "both.csv").probs[:, 1].tolist() == [0.7, 0.2]


def test_keys_that_come_again_share_a_label_and_that_is_told() -> None:
    truth = csv("id,correct\n1,1\n2,0\n", "y.csv")
    for text, told in (("id,confidence\n1,0.7\n1,0.9\n2,0.2\n", True), ("id,confidence\n1,0.7\n2,0.2\n", False)):
        both = with_labels(csv(text, "p.csv"), truth)
        found = {each.code: each.message for each in examine(both, propose(both))}
        assert ("shared-labels" in found) == told
        assert not told or '2 rows of p.csv share "id"' in found["shared-labels"]
    several = csv("id,model,confidence\n1,a,0.7\n1,b,0.9\n2,a,0.2\n2,b,0.3\n", "p.csv")
    both = with_labels(several, truth)
    reading = propose(both, models="model", model="a", question=("id",))
    assert "shared-labels" not in {each.code for each in examine(both, reading)}


def test_bare_arrays_are_joined_by_place_with_what_speaks_for_it(tmp_path: Path) -> None:
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 20)
    np.save(tmp_path / "oof.npy", p)
    np.save(tmp_path / "y.npy", p.argmax(axis=1))
    for key in (None, ()):
        found = cc.read_predictions(tmp_path / "oof.npy", labels=tmp_path / "y.npy", key=key)
        np.testing.assert_array_equal(found.probs, p)
        assert found.true_labels.tolist() == p.argmax(axis=1).tolist()
        (note,) = (note for note in found.notes if "by row number" in note)
        by_chance = (np.bincount(p.argmax(axis=1)) ** 2).sum() / 400
        assert "both have 20 rows" in note
        assert matches(note, f"*100.0 %; *{100 * by_chance:.1f} %.")
    both = with_labels(read_table(tmp_path / "oof.npy"), read_table(tmp_path / "y.npy"), ())
    np.testing.assert_array_equal(cc.read_predictions(as_csv(both), "both.csv").probs, p)


def test_named_rows_are_joined_by_place_where_asked_alone() -> None:
    scores, truth = csv("nr,p\n1,.5\n2,.7\n", "p.csv"), csv("y\n1\n0\n", "y.csv")
    with pytest.raises(InputError, match="by row number"):
        with_labels(scores, truth)
    assert with_labels(scores, truth, ()).columns["y"].tolist() == [1, 0]


def test_a_column_called_like_one_of_a_matrix_stays() -> None:
    p = np.array([[0.25, 0.75], [0.5, 0.5]])
    table = Table("a.npz", "npz", {"p_0": np.array([7, 8]), "y": np.array(["+1", "-1"], dtype=object)}, {"p": p})
    back = csv(as_csv(table).decode(), "a.csv")
    assert back.names == ("p__0", "p__1", "p_0", "y")
    np.testing.assert_array_equal(np.column_stack([back.columns["p__0"], back.columns["p__1"]]), p)
    assert back.columns["p_0"].tolist() == [7, 8]
    assert back.columns["y"].tolist() == ["+1", "-1"]


def test_labels_come_back_from_csv_as_they_were() -> None:
    for texts in (["+1", "-1"], ["001", "1"], [" a", "a "], ["nan", "NA"], ['say "x"', "a,b"], ["", "a"]):
        data = as_csv(Table("a.csv", "csv", {"p": np.array([0.5, 0.1 + 0.2]), "y": np.array(texts, dtype=object)}))
        back = read_table(data, "a.csv")
        assert back.columns["y"].tolist() == texts
        assert back.columns["p"].tolist() == [0.5, 0.1 + 0.2]


def test_notes_on_rows_left_out_are_handed_over() -> None:
    rows = [{"confidence": 90, "correct": "yes"}, {"confidence": 60, "correct": "no"}]
    judged = {f"q{i}": {"response": "r", "judge_response": row} for i, row in enumerate(rows)}
    judged["q2"] = {"response": "r"}
    found = cc.read_predictions(json.dumps(judged).encode(), "judged_m.json")
    assert found.n_rows == 2
    assert any("left out, not counted as wrong" in note for note in found.notes)


def test_labels_with_a_column_a_class(tmp_path: Path) -> None:
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 20)
    np.save(tmp_path / "oof.npy", p)
    np.save(tmp_path / "y.npy", np.eye(3)[np.arange(20) % 3])
    found = cc.read_predictions(tmp_path / "oof.npy", labels=tmp_path / "y.npy", key=())
    np.testing.assert_array_equal(found.probs, p)
    assert found.true_labels.tolist() == (np.arange(20) % 3).tolist()


REFUSED = {
    ("id,p\n1,.5\n", "id,y\n1,0\n1,1\n", None): "no column of both files",
    ("id,p\n1,.5\n", "id,y\n1,0\n1,1\n", "id"): 'y.csv, line 2 (row 0): "1" occurs more than once in the key "id"',
    ("id,p\n1,.5\n", "key,y\n1,0\n", None): "Give the key, or join by row number",
    ("a,b,p\n1,2,.5\n", "a,b,y\n1,2,0\n", None): '"a", "b" could each be the key',
    ("id,p\n1,.5\n", "id,y\n2,0\n", None): 'no row of p.csv has a label in y.csv; check the values of "id"',
    ("id,p\n1,.5\n2,.5\n", "y\n1\n", ()): "has 2 rows but y.csv has 1",
    ("id,p\n1,.5\n", "id\n1\n", None): 'y.csv has only the key "id"',
    ("id,p\n1,.5\n", "id,y\n1,0\n", "nr"): 'has no column "nr"',
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_joined_is_one_sentence(case: tuple[str, str, str | None]) -> None:
    scores, truth, key = case
    with pytest.raises(InputError) as why:
        with_labels(csv(scores, "p.csv"), csv(truth, "y.csv"), key)
    assert REFUSED[case] in str(why.value)
    assert "\n" not in str(why.value)


def test_a_header_that_is_a_number_is_asked_about() -> None:
    scores = csv("0.5\n0.7\n0.25\n", "p.txt")
    assert with_labels(scores, csv("1\n0\n1\n", "y.csv")).columns["label"].tolist() == [1, 0, 1]
    with pytest.raises(InputError, match=r"if the first line of y\.csv, 0, is a header, remove it"):
        with_labels(scores, csv("0\n1\n0\n1\n", "y.csv"))
    with pytest.raises(InputError, match=r'line 2: "x" is not a number'):
        csv("0.5\nx\n", "p.txt")
    with pytest.raises(InputError, match="line 2 has 1 field, but the first line has 2; complete"):
        csv("0.5 0.5\n0.7\n", "p.txt")
    with pytest.raises(InputError, match="only the column of labels"):
        with_labels(scores, csv("0.5 0.5\n0.5 0.25\n1.5 2.5\n", "train.txt"))
    both = with_labels(scores, csv("1\t0.5\n0\t0.25\n1\t2.5\n", "train.txt"))
    assert both.columns["label"].tolist() == [1, 0, 1]
    assert both.notes == ("Labels are the first of 2 columns of train.txt, as in LightGBM data files.",)


def test_models_side_by_side_take_labels_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,risk_a,risk_b\n1,.5,.25\n2,.75,.5\n")
    (tmp_path / "y.csv").write_text("id,event\n2,1\n1,0\n")
    both = cc.read_models(tmp_path / "p.csv", labels=tmp_path / "y.csv")
    assert {name: p.true_labels.tolist() for name, p in both.items()} == {"risk_a": [0, 1], "risk_b": [0, 1]}


def test_several_keys_together() -> None:
    scores = csv("fold,row,p\n1,1,.1\n1,2,.2\n2,1,.3\n", "p.csv")
    truth = csv("row,fold,y\n1,2,1\n1,1,0\n2,1,0\n", "y.csv")
    assert with_labels(scores, truth, ("fold", "row")).columns["y"].tolist() == [0, 0, 1]


def test_no_spreadsheet_computes_a_text_of_the_joined_file() -> None:
    """Numbers written as texts, such as +1 as a label, are no formulas; read again, all is unchanged."""
    both = Table("a.csv", "csv", {"=p": np.array([0.25, -1.0]), "y": np.array(["=1+1", "+1"], dtype=object)})
    assert as_csv(both).decode() == "'=p,y\n0.25,'=1+1\n-1.0,+1\n"
    again = read_table(as_csv(both), "a.csv").columns
    assert {name: column.tolist() for name, column in again.items()} == {"=p": [0.25, -1.0], "y": ["=1+1", "+1"]}
