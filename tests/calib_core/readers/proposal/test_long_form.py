"""Several models in one file: joined by question, by hand and against files read one by one; and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib_core as cc
from calib_core.predictions.predictions import InputError
from calib_core.readers import Reading, examine, propose, read_table, split_rows
from calib_core.readers.proposal.long_form import of_one_model
from tests.support.sentences import matches

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # findings are looked at themselves

FILE = b"""model,question,confidence,predicted,label,part
old,q1,0.9,A,A,fit
new,q2,0.6,B,A,test
new,q1,0.7,B,A,fit
old,q3,0.5,B,B,test
old,q2,0.8,A,A,test
new,q4,0.4,A,B,fit
"""


def models(content: bytes = FILE, **chosen: Any) -> dict[str, cc.Predictions]:
    return cc.read_models(content, "m.csv", **{"split": "part", **chosen})


def found(content: bytes, **chosen: Any) -> list[tuple[str, str]]:
    table = read_table(content, "m.csv")
    return [(f.severity, f.message) for f in examine(table, propose(table, **chosen)) if f.code == "models"]


def test_rows_are_joined_by_question_in_the_order_of_the_questions() -> None:
    read = models()
    assert list(read) == ["old", "new"]
    assert [p.confidence.tolist() for p in read.values()] == [[0.9, 0.8], [0.7, 0.6]]
    assert [p.correct.tolist() for p in read.values()] == [[True, True], [False, False]]
    for p in read.values():
        assert p.metadata is not None
        assert p.metadata["question"].tolist() == ["q1", "q2"]
        assert "model" not in p.metadata
    table = read_table(FILE, "m.csv")
    how = propose(table, models="model", model="new", split="part")
    assert [part.tolist() for part in split_rows(table, how)] == [[0], [1]]
    assert Reading.from_json(how.to_json()) == how


def test_a_question_not_answered_by_all_is_left_out_and_said() -> None:
    ((severity, message),) = found(FILE, models="model", model="old")
    assert severity == "warning"
    assert matches(message, 'The column "model" names 2 models*"question"*; 2 questions *(2 more questions *left out*')


def test_a_column_that_names_models_is_offered_and_never_taken() -> None:
    content, name = cc.datasets.demo("language-model")
    table = read_table(content, name)
    reading = propose(table)
    assert reading.models is None
    assert cc.read_predictions(content, name).n_rows == 2000
    (offer,) = [f for f in examine(table, reading) if f.code == "models"]
    assert offer.message.startswith('The column "model" names 2 models over the same 1,000 questions')
    assert offer.change == {"models": "model", "question": ("question",)}
    # Only readable options are offered, with reasons for the others; models of cars are not mentioned.
    table = read_table(FILE + b"old,q1,0.9,A,A,fit\n", "m.csv")
    (refused,) = [f for f in examine(table, propose(table)) if f.code == "models"]
    assert (refused.severity, refused.change) == ("warning", None)
    assert 'yet: m.csv, line 8 (row 6): model "old" has another row' in refused.message
    assert found(b"model,id,confidence,correct\nvw,1,.7,1\nvw,2,.7,0\nbmw,3,.8,1\n") == []


def test_a_missing_value_of_one_model_leaves_the_question_out_for_all() -> None:
    content = FILE.replace(b"new,q2,0.6", b"new,q2,")
    with pytest.raises(InputError, match=r'"confidence", line 3 \(row 1\): the value is missing'):
        models(content)
    read = models(content, missing="exclude")
    assert [p.confidence.tolist() for p in read.values()] == [[0.9], [0.7]]


def test_without_a_question_rows_are_joined_by_place_and_that_is_said() -> None:
    content = b"model,confidence,correct\nold,0.9,1\nold,0.8,0\nnew,0.7,1\nnew,0.6,1\n"
    assert [p.confidence.tolist() for p in models(content, split=None).values()] == [[0.9, 0.8], [0.7, 0.6]]
    ((severity, message),) = found(content, models="model", model="old")
    assert severity == "warning"
    assert "No column identifies questions" in message
    with pytest.raises(InputError, match=r'different numbers of rows \("old" 3, "new" 2\), and no column identifies'):
        models(content + b"old,0.3,1\n", split=None)


def test_an_identifier_with_a_value_twice_is_refused_and_never_left_for_the_place() -> None:
    head, old, new = (
        b"model,id,confidence,correct\n",
        b"old,1,.7,1\nold,2,.7,0\nold,3,.6,1\n",
        b"new,3,.9,1\nnew,1,.8,1\n",
    )
    assert models(head + old + new + b"new,2,.9,0\n", split=None)["new"].confidence.tolist() == [0.8, 0.9, 0.9]
    twice = head + old + new + b"new,1,.9,0\n"
    with pytest.raises(InputError, match=r'line 7 .*: model "new" has another row for question "1"; .*or none'):
        models(twice, split=None)
    assert models(twice, split=None, question=())["new"].confidence.tolist() == [0.9, 0.8, 0.9]
    # Two of three models share each: no question is everyone's.
    with pytest.raises(InputError, match="no question is answered by all 3 models"):
        models(head + b"a,1,.7,1\na,2,.6,1\nb,2,.7,1\nb,3,.6,1\nc,3,.7,1\nc,1,.6,1\n", split=None)
    # Numbers of lines that start again for each model do not come before an identifier.
    below = b"idx,model,id,confidence,correct\n0,a,1,.7,1\n1,a,2,.6,1\n0,b,2,.9,1\n1,b,1,.8,1\n"
    assert models(below, split=None)["b"].confidence.tolist() == [0.8, 0.9]
    # Row numbers of the file are not question ids.
    assert models(head + b"a,1,.7,1\nb,2,.6,1\n", split=None)["b"].confidence.tolist() == [0.6]


def test_patients_with_several_rows_are_joined_by_place_where_the_places_agree() -> None:
    head, a = b"model,patient,confidence,correct\n", b"a,x,.7,1\na,x,.6,1\na,y,.5,0\n"
    agreeing = models(head + a + b"b,x,.9,1\nb,x,.8,1\nb,y,.4,0\n", split=None)
    assert agreeing["b"].confidence.tolist() == [0.9, 0.8, 0.4]
    with pytest.raises(InputError, match='another row for question "x"'):
        models(head + a + b"b,x,.9,1\nb,y,.4,0\nb,x,.8,1\n", split=None)


def test_places_are_those_of_the_file() -> None:
    table = read_table(FILE.replace(b"new,q1,0.7", b"new,q1,7"), "m.csv")
    with pytest.raises(InputError, match=r"line 4 \(row 2\): 7 is above 1"):
        cc.readers.predictions(table, propose(table, models="model", model="new", kind="probabilities"))


@pytest.mark.parametrize(
    ("content", "chosen", "why"),
    [
        (
            FILE + b"old,q1,0.9,A,A,fit\n",
            {},
            r'line 8 \(row 6\): model "old" has another row for question "q1"; 2 of 7',
        ),
        (FILE.replace(b"q1,0.7,B,A", b"q1,0.7,B,B"), {}, r'"label", line 4 .*: "B", but model "old" has "A" for the'),
        (FILE.replace(b"q1,0.7,B,A,fit", b"q1,0.7,B,A,test"), {}, r'"part", line 4 .*: "test", but model "old"'),
        (FILE.replace(b"new,q", b"new,r"), {}, "no question is answered by all 2 models"),
        (FILE.replace(b"new", b"old"), {}, 'every row of "model" has "old"'),
        (FILE.replace(b"new,q4", b",q4"), {}, r'"model", line 7 \(row 5\): the value is missing'),
        (FILE, {"model": "mine"}, 'names 2 models, "old", "new", but not "mine"; choose'),
    ],
)
def test_what_cannot_be_joined_is_refused_in_a_sentence(content: bytes, chosen: dict[str, Any], why: str) -> None:
    if "model" in chosen:
        with pytest.raises(InputError, match=why):
            cc.read_predictions(content, "m.csv", models="model", **chosen)
        return
    with pytest.raises(InputError, match=why):
        models(content, **chosen)


def test_a_model_alone_or_none_chosen_is_asked_for() -> None:
    with pytest.raises(InputError, match="choose the model to read"):
        cc.read_predictions(FILE, "m.csv", models="model")
    with pytest.raises(InputError, match="without a column of model names; choose models"):
        cc.read_predictions(FILE, "m.csv", model="old")


def test_samples_of_several_models_are_counted_for_each() -> None:
    content = b"model,question,answer,truth\na,1,X,X\nb,1,Y,X\na,1,Y,X\na,1,X,X\nb,1,Y,X\nb,2,X,X\na,2,Y,X\n"
    read = cc.read_models(content, "m.csv", layout="samples")
    assert [p.confidence.tolist() for p in read.values()] == [[2 / 3, 1.0], [1.0, 1.0]]
    assert [p.correct.tolist() for p in read.values()] == [[True, False], [False, True]]


def test_a_matrix_of_scores_is_divided_too() -> None:
    probs, model = np.array([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9]]), np.array(["a", "b", "b", "a"])
    table = cc.readers.Table("m.npz", "npz", {"y": np.array([0, 0, 1, 1]), "model": model.astype(object)}, {"p": probs})
    part, _ = of_one_model(table, Reading(scores=("p",), label=("y",), classes=("0", "1"), models="model", model="b"))
    assert part.matrices["p"].tolist() == probs[[1, 2]].tolist()
    assert part.place(1) == "row 2"


@st.composite
def long_form(draw: st.DrawFn) -> tuple[pd.DataFrame, list[str]]:
    """Draw rows of up to four models over some of eight questions, at least one in common, in any order."""
    names = draw(st.lists(st.sampled_from(["a", "b", "gpt 4", "gpt-4o"]), min_size=2, max_size=4, unique=True))
    common = draw(st.integers(0, 7))
    truth = draw(st.lists(st.sampled_from("AB"), min_size=8, max_size=8))
    lines = []
    for name in names:
        answered = draw(st.sets(st.integers(0, 7))) | {common}
        for q in answered:
            percent, answer = draw(st.tuples(st.integers(0, 100), st.sampled_from("AB")))
            lines.append((name, f"q{q}", percent / 100, answer, truth[q]))
    frame = pd.DataFrame(
        draw(st.permutations(lines)), columns=["model", "question", "confidence", "predicted", "label"]
    )
    return frame, list(dict.fromkeys(frame["model"]))


@given(long_form())
def test_a_long_file_is_the_files_of_its_models_read_one_by_one(made: tuple[pd.DataFrame, list[str]]) -> None:
    frame, names = made
    how = {"label_coding": "names", "classes": ("A", "B"), "layout": "top-label", "kind": "probabilities"}
    read = cc.read_models(frame.to_csv(index=False).encode(), "m.csv", **how)
    assert list(read) == names
    # The slow way: each model's lines, those of questions all answer, in the order in which questions appear.
    answered = [set(frame.loc[frame["model"] == name, "question"]) for name in names]
    order = [q for q in dict.fromkeys(frame["question"]) if all(q in mine for mine in answered)]
    for name in names:
        lines = frame[frame["model"] == name].set_index("question").loc[order].reset_index()
        alone = cc.read_predictions(lines.drop(columns="model").to_csv(index=False).encode(), "m.csv", **how)
        for field in ("confidence", "predicted", "labels", "correct"):
            np.testing.assert_array_equal(getattr(read[name], field), getattr(alone, field))
        assert read[name].metadata is not None
        assert read[name].metadata["question"].tolist() == order
