"""The proposed reading for common ways to save predictions, and questions in ambiguous cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import Reading, predictions, propose, read_table
from calib_core.readers.table import Table
from tests.support.sentences import matches


def csv(text: str) -> Table:
    return read_table(text.encode(), "a.csv")


def arrays(**held: Any) -> Table:
    arrays = {name: np.asarray(array) for name, array in held.items()}
    arrays = {n: a.astype(object) if a.dtype.kind == "U" else a for n, a in arrays.items()}
    return Table(
        "a.npz",
        "npz",
        {name: a for name, a in arrays.items() if a.ndim == 1},
        {name: a for name, a in arrays.items() if a.ndim == 2},
    )


P = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]])
P3 = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])


@pytest.mark.parametrize(
    ("text", "scores", "classes", "coding"),
    [
        ("p_cat,p_dog,label\n.7,.3,cat\n.2,.8,dog", ("p_cat", "p_dog"), ("cat", "dog"), "names"),
        ("label,prob_dog,prob_cat\ncat,.3,.7\ndog,.8,.2", ("prob_dog", "prob_cat"), ("dog", "cat"), "names"),
        ("cat,dog,y\n.7,.3,cat\n.2,.8,dog", ("cat", "dog"), ("cat", "dog"), "names"),
        ("P(cat),P(dog),target\n.7,.3,cat\n.2,.8,dog", ("P(cat)", "P(dog)"), ("cat", "dog"), "names"),
        ("p_0,p_1,y\n.7,.3,0\n.2,.8,1", ("p_0", "p_1"), ("0", "1"), "0-based"),
        ("p0,p1,y\n.7,.3,0\n.2,.8,1", ("p0", "p1"), ("0", "1"), "0-based"),
        ("p_1,p_2,y\n.7,.3,1\n.2,.8,2", ("p_1", "p_2"), ("1", "2"), "names"),
        ("0,1,y\n.7,.3,0\n.2,.8,1", ("0", "1"), ("0", "1"), "0-based"),
        ("p_cat,p_dog,y\n.7,.3,0\n.2,.8,1", ("p_cat", "p_dog"), ("cat", "dog"), "0-based"),
        ("p_cat,p_dog,y\n.7,.3,1\n.2,.8,2", ("p_cat", "p_dog"), ("cat", "dog"), "1-based"),
        ("p_Cat,p_dog,y\n.7,.3,cat\n.2,.8,dog", ("p_Cat", "p_dog"), ("cat", "dog"), "names"),
        ("p_001,p_01,y\n.7,.3,001\n.2,.8,01", ("p_001", "p_01"), ("001", "01"), "names"),
        ("p_None,p_nan,y\n.7,.3,None\n.2,.8,nan", ("p_None", "p_nan"), ("None", "nan"), "names"),
        ("u,v,y\n.7,.3,0\n.2,.8,1", ("u", "v"), ("u", "v"), "0-based"),
    ],
)
def test_one_score_column_a_class(text: str, scores: tuple[str, ...], classes: tuple[str, ...], coding: str) -> None:
    table = csv(text)
    reading = propose(table)
    assert (reading.scores, reading.classes, reading.label_coding) == (scores, classes, coding)
    assert predictions(table, reading).accuracy == 1


@pytest.mark.parametrize(
    ("text", "score", "classes", "probs"),
    [
        ("p,y\n.7,1\n.2,0", "p", ("0", "1"), [0.7, 0.2]),
        ("score,label\n.7,1\n.2,0", "score", ("0", "1"), [0.7, 0.2]),
        ("confidence,label\n.7,1\n.2,0", "confidence", ("0", "1"), [0.7, 0.2]),
        ("whatever,label\n.7,1\n.2,0", "whatever", ("0", "1"), [0.7, 0.2]),
        ("age,risk,event\n50,.7,1\n60,.2,0", "risk", ("0", "1"), [0.7, 0.2]),
        ("predicted_probability,obs\n.7,1\n.2,0", "predicted_probability", ("0", "1"), [0.7, 0.2]),
        ("p_spam,label\n.7,spam\n.2,ham", "p_spam", ("ham", "spam"), [0.7, 0.2]),
        ("p_ham,label\n.3,spam\n.8,ham", "p_ham", ("spam", "ham"), [0.3, 0.8]),
        ("p,label\n.7,True\n.2,False", "p", ("False", "True"), [0.7, 0.2]),
        ("p,label\n.7,yes\n.2,no", "p", ("no", "yes"), [0.7, 0.2]),
        ("p,label\n.7,2\n.2,1", "p", ("1", "2"), [0.7, 0.2]),
        ("p,label\n.7,1\n.2,-1", "p", ("-1", "1"), [0.7, 0.2]),
    ],
)
def test_one_column_is_the_second_class(text: str, score: str, classes: tuple[str, ...], probs: list[float]) -> None:
    table = csv(text)
    reading = propose(table)
    assert (reading.scores, reading.classes) == ((score,), classes)
    got = predictions(table, reading)
    np.testing.assert_allclose(got.probs[:, 1], probs)
    assert got.accuracy == 1


def test_confidence_layouts() -> None:
    bare = propose(csv("confidence,correct\n.7,True\n.6,False\n"))
    assert (bare.layout, bare.confidence, bare.correct) == ("confidence", "confidence", "correct")
    top = propose(csv("conf,pred,label,image_id\n.7,dog,dog,a\n.6,cat,dog,b\n"))
    assert (top.layout, top.confidence, top.predicted, top.label) == ("top-label", "conf", "pred", ("label",))
    assert (top.classes, top.label_coding, top.metadata) == (("cat", "dog"), "names", ("image_id",))
    coded = propose(csv("conf,pred,label\n.7,3,3\n.6,0,1\n"))
    assert (coded.classes, coded.label_coding) == (("0", "1", "2", "3"), "0-based")
    assert propose(csv("confidence,correct\n70,1\n60,0\n")).kind == "percentages"


def test_a_full_matrix_goes_before_the_confidence_beside_it() -> None:
    reading = propose(csv("p_a,p_b,pred,confidence,correct,label\n.7,.3,a,.7,1,a\n.2,.8,b,.8,0,a\n"))
    assert (reading.layout, reading.scores) == ("wide", ("p_a", "p_b"))
    assert reading.metadata == ("pred", "confidence", "correct")


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        (P3, "probabilities"),
        (P3 * 100, "percentages"),
        (np.log(P3), "log-probabilities"),
        (np.log(P3) + 1, "logits"),
        ([[4.0, -1, 0], [0, 3, 0], [-2, 0, 5]], "logits"),
    ],
)
def test_kinds_are_told_by_the_values(scores: Any, kind: str) -> None:
    table = arrays(scores=scores, labels=[0, 1, 2])
    assert propose(table).kind == kind
    got = predictions(table, propose(table))
    assert got.accuracy == 1
    assert got.probs.sum(axis=1) == pytest.approx(1)


def test_positive_scores_without_a_pattern_are_not_guessed() -> None:
    assert propose(arrays(scores=P3 * 7, labels=[0, 1, 2])).kind == "probabilities"
    assert propose(arrays(logits=P3 * 7, labels=[0, 1, 2])).kind == "logits"


def test_class_names_of_a_matrix() -> None:
    assert propose(arrays(probs=P3, labels=[0, 1, 2], class_names=["a", "b", "c"])).classes == ("a", "b", "c")
    assert propose(arrays(probs=P3[:2], labels=[0, 1], anything=["a", "b", "c"])).classes == ("a", "b", "c")
    by_label = propose(arrays(probs=P3, y=["dog", "bird", "cat"]))
    assert (by_label.classes, by_label.label_coding) == (("bird", "cat", "dog"), "names")
    assert propose(arrays(probs=P3, y=["0", "1", "2"])).classes == ("0", "1", "2")


def test_labels_as_one_hot() -> None:
    one_hot = np.eye(3, dtype=int)
    reading = propose(arrays(probs=P3, labels=one_hot))
    assert (reading.label, reading.label_coding) == (("labels",), "one-hot")
    reading = propose(csv("p_a,p_b,y_b,y_a\n.7,.3,0,1\n.2,.8,1,0\n"))
    assert (reading.label, reading.label_coding) == (("y_a", "y_b"), "one-hot")


def test_a_lone_matrix_may_hold_its_labels() -> None:
    for matrix, label in ((np.column_stack([P3, [0, 1, 2]]), 3), (np.column_stack([[0, 1, 2], P3]), 0)):
        table = Table("a.npy", "npy", matrices={"array": matrix})
        reading = propose(table)
        assert reading.label == (f"array[:, {label}]",)
        assert reading.classes == ("0", "1", "2")
        assert predictions(table, reading).accuracy == 1
    pair = Table("a.npy", "npy", matrices={"array": np.array([[0.7, 1], [0.2, 0]])})
    assert predictions(pair, propose(pair)).accuracy == 1


def test_split_weights_and_metadata_by_name() -> None:
    reading = propose(csv("id,split,weight,p_a,p_b,label,site\n1,cal,2,.7,.3,a,x\n2,test,1,.2,.8,b,y\n"))
    assert (reading.split, reading.weights) == ("split", None), "weights are proposed, never taken"
    assert reading.metadata == ("id", "split", "weight", "site")


def test_chosen_fields_are_taken_as_given() -> None:
    table = csv("p_a,p_b,q_a,q_b,one,two\n.7,.3,.6,.4,a,b\n.2,.8,.1,.9,b,b\n")
    reading = propose(table, scores=["q_a", "q_b"], label="two", classes=("a", "b"))
    assert (reading.scores, reading.label, reading.classes) == (("q_a", "q_b"), ("two",), ("a", "b"))
    with pytest.raises(InputError, match=r'no reading option "colour" \(--read\); the options are layout, kind'):
        propose(table, colour="red", label="one")


@pytest.mark.parametrize(
    ("field", "value", "near"),
    [("weight", "w", "weights"), ("Labels", "y", "label"), ("kind", "logit", "logits"), ("label", "Labl", "label")],
)
def test_a_name_nearly_right_is_told_the_right_one(field: str, value: str, near: str) -> None:
    with pytest.raises(InputError, match=f'did you mean "{near}"[?]'):
        propose(csv("p_a,p_b,label\n.7,.3,a\n.2,.8,b\n"), **{field: value})


ASKED = {
    "two labels": (
        csv("p_a,p_b,label,target\n.7,.3,a,b\n"),
        'a.csv: columns "label", "target" * label; give label=. a.csv contains "p_a", "p_b", "label", "target"',
    ),
    "no label": (
        csv("p_a,p_b,first,second\n.7,.3,a,b\n"),
        'a.csv: no column *; give label=*file*. a.csv contains "p_a", "p_b", "first", "second"',
    ),
    "no scores": (
        csv("label,text\na,b\n"),
        'a.csv: no columns *; give scores=. a.csv contains "label", "text"',
    ),
    "two matrices": (
        arrays(first=P3, second=100 * P3, labels=[0, 1, 2]),
        'a.npz: *2 matrices of scores, "first", "second"; give scores=. a.npz contains '
        '"first" (3, 3), "second" (3, 3), "labels" (3,)',
    ),
    "no labels beside the matrix": (
        Table("a.npy", "npy", matrices={"array": P3}),
        'a.npy: no column *; give label=*file*. a.npy contains "array" (3, 3)',
    ),
    "two groups": (
        csv("score_a,score_b,logit_a,logit_b,label\n.7,.3,1,2,a\n"),
        'a.csv: columns "score_a", "score_b" and "logit_a", "logit_b" *scores; give scores=. a.csv contains '
        '"score_a", "score_b", "logit_a", "logit_b", "label"',
    ),
    "binary scores, three labels": (
        csv("p,label\n.7,a\n.2,b\n.1,c\n"),
        'a.csv: there is one column of scores, "p", for 3 different labels ("a", "b", "c")*; '
        'give scores=. a.csv contains "p", "label"',
    ),
    "binary scores, one label": (
        csv("p,label\n.7,a\n.2,a\n"),
        'a.csv: every label is "a"*classes=*',
    ),
    "names of labels for nameless columns": (
        arrays(probs=P3, labels=["dog", "cat", "cat"]),
        'a.npz: labels "labels" *2 names ("cat", "dog")*3 *columns*classes=*',
    ),
}


@pytest.mark.parametrize("case", ASKED)
def test_questions_list_what_there_is(case: str) -> None:
    table, said = ASKED[case]
    with pytest.raises(InputError) as caught:
        propose(table)
    assert matches(str(caught.value), said)


def test_probabilities_beside_logits() -> None:
    reading = propose(csv("logit_a,logit_b,p_a,p_b,label\n1,2,.3,.7,b\n"))
    assert reading.scores == ("p_a", "p_b")
    assert propose(arrays(logits=P3 * 9 - 4, probs=P3, labels=[0, 1, 2])).scores == ("probs",)


def test_columns_with_gaps_are_still_scores() -> None:
    reading = propose(csv("p_a,p_b,label\n.7,,a\n.2,.8,b\n,nan,b\n.5,.5,a\n"))
    assert reading.scores == ("p_a", "p_b")
    assert isinstance(reading, Reading)


def test_labels_that_repeat_whole_column_names_keep_what_looks_like_a_prefix() -> None:
    table = read_table(b"class 1,class 2,label\n0.7,0.3,class 1\n0.2,0.8,class 2\n0.4,0.6,class 2\n", "a.csv")
    assert propose(table).classes == ("class 1", "class 2")


def test_a_missing_label_column_is_named_instead_of_the_scores() -> None:
    names = ["cat", "dog", "cow", "owl"]
    columns = dict(zip(names, np.random.default_rng(0).dirichlet(np.ones(4), 40).T, strict=True))
    columns["hour"] = np.arange(40) % 24 + 2
    table = Table("t.csv", "csv", columns)
    with pytest.raises(InputError, match="no column is recognized as the labels; give label="):
        propose(table)
    labeled = Table("t.csv", "csv", columns | {"label": np.array(names * 10, dtype=object)})
    with pytest.raises(InputError, match='has no column "labell"; did you mean "label"'):
        propose(labeled, label="labell")
