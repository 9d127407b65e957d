"""Columns of several models side by side: distinguished from classes by sums and names; a question if ambiguous."""

from __future__ import annotations

import io

import numpy as np
import pytest

import calib_core as cc
from calib_core.predictions.predictions import InputError
from calib_core.readers import Reading, examine, predictions, propose, read_table

RNG = np.random.default_rng(0)
P = RNG.random(80).round(4)
Q = np.clip(P**1.3, 0.01, 0.99).round(4)
Y = (RNG.random(80) < P).astype(int)
WORDS = np.where(Y == 1, "dog", "cat")


def csv(**columns: object) -> bytes:
    rows = zip(*columns.values(), strict=True)  # type: ignore[call-overload]
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]).encode()


MODELS = {
    "a word before": (csv(risk_old=P, risk_new=Q, event=Y, age=range(80)), ("risk_old", "risk_new")),
    "a word behind": (csv(lr_prob=P, random_forest_prob=Q, y=Y), ("lr_prob", "random_forest_prob")),
    "a bare word": (csv(risk=P, risk_new=Q, event=Y), ("risk", "risk_new")),
    "called as per class": (csv(p_lr=P, p_rf=Q, pred_lr=(P > 0.5).astype(int), y=Y), ("p_lr", "p_rf")),
    "model and class": (csv(p_a_cat=1 - P, p_a_dog=P, p_b_cat=1 - Q, p_b_dog=Q, y=WORDS), ("a", "b")),
    "class and model": (csv(p_cat_a=1 - P, p_dog_a=P, p_cat_b=1 - Q, p_dog_b=Q, y=WORDS), ("a", "b")),
}


@pytest.mark.parametrize("case", MODELS)
def test_each_model_has_its_columns(case: str) -> None:
    data, names = MODELS[case]
    found = cc.read_models(data, "trial.csv")
    assert tuple(found) == names
    for each, p in zip(found.values(), (P, Q), strict=True):
        np.testing.assert_allclose(each.probs[:, 1], p, atol=1e-12)
        assert each.true_labels.tolist() == Y.tolist()
        assert each.class_names in (("0", "1"), ("cat", "dog"))
    with pytest.raises(InputError, match="choose the model to read"):
        cc.read_predictions(data, "trial.csv")
    table = read_table(data, "trial.csv")
    assert [f.severity for f in examine(table, propose(table, model=names[1])) if f.code != "duplicates"] == (
        ["note"] * (2 if len(propose(table).scores) == 2 else 1)
    )


CLASSES = {
    "a sum of 1": csv(p_lr=P, p_rf=(1 - P).round(4), y=Y),
    "labels as names": csv(p_cat=P, p_dog=Q, y=WORDS),
    "numbers of classes": csv(p_0=P, p_1=Q, y=Y),
    "yes and no": csv(p_no=P, p_yes=Q, y=Y),
    "ends of an interval": csv(risk=P, risk_lower=P / 2, risk_upper=(1 + P) / 2, event=Y),
    "a threshold beside": csv(risk=P, risk_cut=[0.5] * 80, event=Y),
    "three labels": csv(p_a=P, p_b=Q, y=np.arange(80) % 3),
}


@pytest.mark.parametrize("case", CLASSES)
def test_classes_are_no_models(case: str) -> None:
    assert not propose(read_table(CLASSES[case], "p.csv")).several


@pytest.mark.parametrize("case", ["labels as names", "numbers of classes", "yes and no"])
def test_classes_that_do_not_sum_to_1_may_be_models_by_a_click(case: str) -> None:
    table = read_table(CLASSES[case], "p.csv")
    reading = propose(table)
    (problem,) = [each for each in examine(table, reading) if each.code == "row-sums"]
    other = reading.replace(**dict(problem.change or {}))
    np.testing.assert_allclose(predictions(table, other).probs[:, 1], P)
    np.testing.assert_allclose(predictions(table, other.replace(model=other.score_sets[1])).probs[:, 1], Q)
    assert propose(table, score_sets=other.score_sets).several


def test_names_that_tell_nothing_are_asked_about() -> None:
    data = csv(lr=P, rf=Q, y=Y)
    with pytest.raises(
        InputError, match='if "lr", "rf" are probabilities from different models, choose them as score_sets'
    ):
        cc.read_predictions(data, "p.csv")
    assert list(cc.read_models(data, "p.csv", score_sets=("lr", "rf"))) == ["lr", "rf"]


def test_a_row_that_one_model_lacks_is_left_out_of_all() -> None:
    first, second = ["", *map(str, P[1:])], [*map(str, Q[:-2]), "", str(Q[-1])]
    both = cc.read_models(csv(risk_a=first, risk_b=second, event=Y), "p.csv", missing="exclude")
    for each, p in zip(both.values(), (P, Q), strict=True):
        np.testing.assert_allclose(each.probs[:, 1], np.delete(p, [0, 78]))


def test_matrices_of_one_shape_are_models() -> None:
    out = io.BytesIO()
    np.savez(out, before=np.column_stack([1 - P, P]), after=np.column_stack([1 - Q, Q]), labels=Y)
    both = cc.read_models(out.getvalue(), "p.npz")
    for name, p in (("before", P), ("after", Q)):
        np.testing.assert_allclose(both[name].probs[:, 1], p)


REFUSED = {
    "one name": ({"score_sets": ("a", "a")}, "at least two different models"),
    "uneven": ({"scores": ("a", "b", "c"), "score_sets": ("x", "y")}, "equally among 2 models"),
    "another model": ({"score_sets": ("a", "b"), "model": "z"}, '"z" is not one of the score_sets'),
    "a column too": ({"score_sets": ("a", "b"), "models": "m"}, "no column of models"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_readings_that_cannot_be_are_refused(case: str) -> None:
    fields, why = REFUSED[case]
    with pytest.raises(InputError, match=why):
        Reading(**{"scores": ("a", "b"), "label": ("y",), **fields})  # type: ignore[arg-type]
