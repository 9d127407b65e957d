"""Columns named after the values of a label, in the spellings of many tools, and labels found by their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core.predictions.predictions import InputError
from calib_core.readers import propose
from calib_core.readers.proposal.column_roles import class_of
from calib_core.readers.proposal.named_blocks import answers
from calib_core.readers.table import Table

N = 60
RNG = np.random.default_rng(30)
CLASSES = ("Iris-setosa", "versicolor", "virginica")
P = RNG.dirichlet([0.5, 0.8, 1.1], N).round(4)
P[:, 2] = 1 - P[:, 0] - P[:, 1]
Y = np.array([RNG.choice(3, p=row) for row in P])
TRUE, GUESSED = (np.array(CLASSES, dtype=object)[codes] for codes in (Y, P.argmax(axis=1)))

SPELLINGS: dict[str, tuple[str, str]] = {
    "Azure Designer": ("Scored Probabilities_{}", "Scored Labels"),
    "Azure Studio": ('Scored Probabilities for Class "{}"', "Scored Labels"),
    "Azure AutoML": ("kind_predicted_proba_{}", "kind_predicted"),
    "KNIME": ("P (kind={})", "Prediction (kind)"),
    "DataRobot": ("kind_{}_PREDICTION", "kind_PREDICTION"),
    "PyCaret": ("prediction_score_{}", "prediction_label"),
    "CatBoost": ("Probability:Class={}", "top"),
    "spaCy": ("cats.{}", "top"),
    "RapidMiner": ("confidence({})", "prediction(kind)"),
    "Orange": ("Random Forest ({})", "Random Forest"),
    "a suffix": ("{} share", "model"),
    "a class that begins with a separator": ("p_:{}", "predicted"),
}


def table(columns: Mapping[str, Sequence[object] | np.ndarray]) -> Table:
    return Table("a.csv", "csv", {name: np.asarray(column) for name, column in columns.items()})


def spelled(form: str, predicted: str, scores: np.ndarray = P, **more: np.ndarray) -> Table:
    named = {form.format(name): scores[:, j] for j, name in enumerate(CLASSES)}
    return table({"petal": RNG.normal(5, 1, N).round(1), "kind": TRUE, **named, predicted: GUESSED, **more})


@pytest.mark.parametrize(("form", "predicted"), SPELLINGS.values(), ids=SPELLINGS)
def test_what_all_names_share_is_no_part_of_a_class(form: str, predicted: str) -> None:
    found = cc.readers.predictions(t := spelled(form, predicted), propose(t))
    assert found.class_names == CLASSES
    assert propose(t).label == ("kind",)
    np.testing.assert_allclose(found.probs, P, atol=1e-12)
    np.testing.assert_array_equal(found.labels, Y)


def test_logits_need_a_word_for_scores() -> None:
    z = np.log(P + 0.001) + 1
    assert propose(t := spelled("RawFormulaVal:Class={}", "top", z)).classes == CLASSES
    assert propose(t).kind == "logits"
    with pytest.raises(InputError):
        propose(spelled("width of {}", "top", z))


def test_probabilities_are_read_where_their_logits_are_beside_them() -> None:
    logits = {f"raw {name}": np.log(P[:, j] + 0.01) for j, name in enumerate(CLASSES)}
    assert propose(spelled("P({})", "top", **logits)).scores == tuple(f"P({name})" for name in CLASSES)


def test_two_sets_of_probabilities_are_a_question() -> None:
    other = {
        f"forest ({name})": column for name, column in zip(CLASSES, (P**2 / (P**2).sum(1)[:, None]).T, strict=True)
    }
    with pytest.raises(InputError, match="could each be the scores"):
        propose(spelled("boosting ({})", "top", **other))


@pytest.mark.parametrize(
    ("name", "extra", "belongs"),
    [("other", np.zeros(N), True), ("max", np.zeros(N), True), ("max", RNG.uniform(0, 1, N), False)],
)
def test_a_further_column_is_a_class_unless_its_name_and_sums_speak_against_it(
    name: str, extra: np.ndarray, belongs: bool
) -> None:
    t = spelled("P (kind={})", "top", **{f"P (kind={name})": extra})
    assert propose(t).classes == ((*CLASSES, name) if belongs else CLASSES)


def test_a_class_too_many_is_refused() -> None:
    t = spelled("P (kind={})", "top", **{"P (kind=other)": RNG.uniform(0, 1, N)})
    with pytest.raises(InputError, match="instead of 1"):
        cc.readers.predictions(t, propose(t, label="kind"))


def test_one_hot_columns_are_the_label_of_scores_of_the_same_classes() -> None:
    gold = {f"gold.{CLASSES[j]}": np.equal(Y, j).astype(float) for j in (2, 0, 1)}
    t = table({**gold, **{f"pred.{name}": P[:, j] for j, name in enumerate(CLASSES)}})
    found = cc.readers.predictions(t, propose(t))
    np.testing.assert_array_equal(found.labels, Y)
    np.testing.assert_allclose(found.probs, P, atol=1e-12)


ONE_HOT = {
    "y_cat, p_cat": ("y_{}", "p_{}"),
    "cat, cat_pred": ("{}", "{}_pred"),
    "cat, prob_cat": ("{}", "prob_{}"),
    "cat_true, cat_pred": ("{}_true", "{}_pred"),
    "true_cat, pred_cat": ("true_{}", "pred_{}"),
    "y_cat, cat": ("y_{}", "{}"),
    "is cat, share of cat": ("is {}", "share of {}"),
}
NAMES = {"words": ("cat", "dog", "bird"), "digits": ("0", "1", "2"), "one in another": ("cat", "cat2", "big cat")}
WRITTEN = {
    "0 and 1": lambda marks: marks.astype(int),
    "0.0 and 1.0": lambda marks: marks.astype(float),
    "false and true": lambda marks: np.array([str(mark) for mark in marks], dtype=object),
    "booleans": lambda marks: marks,
}


MEANINGFUL = [(form, names) for form in ONE_HOT for names in NAMES if names != "digits" or "{}" not in ONE_HOT[form]]


@pytest.mark.parametrize(("form", "names"), MEANINGFUL)
@pytest.mark.parametrize("written", WRITTEN)
def test_columns_that_mark_the_class_are_the_label(form: str, names: str, written: str) -> None:
    mark, score = ONE_HOT[form]
    marks = {mark.format(name): WRITTEN[written](np.equal(Y, j)) for j, name in enumerate(NAMES[names])}
    scores = {score.format(name): P[:, j] for j, name in enumerate(NAMES[names])}
    sex = {"sex": np.arange(N) % 2}
    for columns in ({**marks, **scores, **sex}, {**scores, **dict(reversed(marks.items()))}):
        t = table(columns)
        found = cc.readers.predictions(t, propose(t))
        np.testing.assert_array_equal(found.labels, Y)
        np.testing.assert_allclose(found.probs, P, atol=1e-12)


def test_columns_that_do_not_mark_one_class_each_are_no_label() -> None:
    """Several labels per row, a marked prediction, and two families of marks, of which one is a prediction."""
    scores = {f"{name}_score": P[:, j] for j, name in enumerate("abc")}
    truth = {name: np.equal(Y, j).astype(int) for j, name in enumerate("abc")}
    several = {**truth, "a": np.ones(N, dtype=int)}
    guess = {f"predicted_{name}": np.equal(P.argmax(axis=1), j).astype(int) for j, name in enumerate("abc")}
    unclear = {f"{name}_hat": column for name, column in zip("abc", guess.values(), strict=True)}
    for columns in (several, guess, {**truth, **unclear}):
        with pytest.raises(InputError, match="no column is recognized as the labels"):
            propose(table({**columns, **scores}))
    assert propose(table({**guess, **truth, **scores})).label == ("a", "b", "c")


def test_a_label_column_is_preferred_to_marks() -> None:
    scores = {f"{name}_score": P[:, j] for j, name in enumerate("abc")}
    marks = {name: np.equal(Y[::-1], j).astype(int) for j, name in enumerate("abc")}
    t = table({**marks, **scores, "label": np.array(list("abc"), dtype=object)[Y]})
    assert propose(t).label == ("label",)


def test_a_label_of_numbers_is_found_by_its_values() -> None:
    p = P[:, 0]
    y = (RNG.random(N) < p).astype(int)
    t = table({"BAD": y, "P_BAD1": p, "P_BAD0": 1 - p, "I_BAD": (p > 0.5).astype(int)})
    found = cc.readers.predictions(t, propose(t))
    assert propose(t).label == ("BAD",)
    assert found.class_names == ("1", "0")
    np.testing.assert_array_equal(found.labels, 1 - y)


def test_two_columns_of_class_names_are_a_question() -> None:
    again = np.array(CLASSES, dtype=object)[RNG.integers(0, 3, N)]
    with pytest.raises(InputError, match='"kind", "second opinion" contain names of classes'):
        propose(spelled("P (kind={})", "top", **{"second opinion": again}))


def test_a_label_that_is_the_prediction_is_a_question_beside_another() -> None:
    t = spelled("Probability:Class={}", "Class")
    with pytest.raises(
        InputError, match='"Class", "kind" could each be the label, and the first is the predicted class'
    ):
        propose(t)
    assert propose(t, label="kind").label == ("kind",)
    alone = Table(t.name, t.format, {name: column for name, column in t.columns.items() if name != "kind"})
    assert propose(alone).label == ("Class",)


def test_the_first_character_of_a_class_may_be_a_separator() -> None:
    assert class_of("p_:red") == ("p", ":red")
    assert class_of("p__red") == ("p", "red")
    assert class_of("P (red)") == ("p", "red")


# -- one score per row ---------------------------------------------------------------------------------------------

TOP = P.max(axis=1)
HITS = P.argmax(axis=1) == Y


@pytest.mark.parametrize(
    ("predicted", "score", "label"),
    [
        ("prediction_label", "prediction_score", "Purchase"),
        ("result.prediction.label", "result.prediction.probability", "target"),
        ("intent_prediction.name", "intent_prediction.confidence", "intent"),
        ("index", "prob", "target"),
        ("predicted_label", "probability", "label"),
        ("output.category", "output.confidence", "expected.category"),
    ],
)
def test_answers_are_a_predicted_class_and_its_probability(predicted: str, score: str, label: str) -> None:
    t = table({"note": np.array(["x"] * N, dtype=object), label: TRUE, predicted: GUESSED, score: TOP})
    how = propose(t)
    assert (how.layout, how.predicted, how.confidence, how.label) == ("top-label", predicted, score, (label,))
    np.testing.assert_array_equal(cc.readers.predictions(t, how).correct, HITS)


def test_of_two_classes_a_score_below_one_half_is_that_of_an_event() -> None:
    risk = P[:, 0]
    y, guess = ((RNG.random(N) < risk).astype(int), (risk > 0.5).astype(int))
    t = table({"income": y, "Scored Labels": guess, "Scored Probabilities": risk})
    assert (propose(t).layout, propose(t).label) == ("wide", ("income",))
    sure = table({"income": y, "Scored Labels": guess, "Scored Probabilities": np.maximum(risk, 1 - risk)})
    assert (propose(sure).layout, propose(sure).predicted) == ("top-label", "Scored Labels")


def test_columns_that_agree_only_by_chance_are_no_answers() -> None:
    shuffled = np.random.default_rng(1).permutation(TRUE)
    with pytest.raises(InputError, match="one column of scores"):
        propose(table({"target": TRUE, "colour": shuffled, "prob": TOP}))


@pytest.mark.parametrize(
    ("confidence", "correct"),
    [
        ("outputs.confidence", "feedback.correctness"),
        ("eval.verbalized_confidence", "eval.is_correct"),
        ("model_confidence", "response_correct"),
        ("score", "matched"),
    ],
)
def test_longer_names_have_the_role_of_their_last_part(confidence: str, correct: str) -> None:
    t = table({"id": np.arange(N), "kind": TRUE, confidence: TOP, correct: HITS.astype(int)})
    how = propose(t)
    assert (how.layout, how.confidence, how.correct) == ("confidence", confidence, correct)


def test_a_longer_name_does_not_compete_with_probabilities() -> None:
    y = (RNG.random(N) < P[:, 0]).astype(int)
    how = propose(table({"prob": P[:, 0], "y": y, "mean_confidence": TOP, "last_correct": HITS.astype(int)}))
    assert (how.layout, how.scores) == ("wide", ("prob",))


def test_a_file_of_a_tool_is_read_whole(tmp_path) -> None:
    path = tmp_path / "scored.csv"
    pd.DataFrame(dict(spelled(*SPELLINGS["KNIME"]).columns)).to_csv(path)
    found = cc.read_predictions(str(path))
    assert found.class_names == CLASSES
    np.testing.assert_array_equal(found.labels, Y)


def test_a_result_of_a_scorer_is_whether_an_answer_is_right_and_is_reported() -> None:
    t = table({"metadata.confidence": TOP, "scores.Factuality": HITS.astype(int), "metrics.n": RNG.uniform(1, 9, N)})
    how = propose(t)
    assert (how.layout, how.correct) == ("confidence", "scores.Factuality")
    (finding,) = [each for each in cc.readers.examine(t, how) if each.code == "scorer"]
    assert finding.open_to()
    assert not finding.open_to({"correct"})
    two = table({"metadata.confidence": TOP, "scores.Exact": HITS.astype(int), "scores.Judge": (~HITS).astype(int)})
    with pytest.raises(InputError, match=r'"scores\.Exact", "scores\.Judge" could each be the correctness of answers'):
        propose(two)
    assert propose(two, correct="scores.Judge").correct == "scores.Judge"


def test_a_predicted_class_without_such_a_name_is_reported() -> None:
    t = table({"target": TRUE, "index": GUESSED, "prob": TOP})
    (finding,) = [each for each in cc.readers.examine(t, propose(t)) if each.code == "answers"]
    assert '"index" often agrees with "target"' in finding.message
    named = table({"target": TRUE, "species_pred": GUESSED, "prob": TOP})
    assert not [each for each in cc.readers.examine(named, propose(named)) if each.code == "answers"]


def test_ranks_are_no_classes() -> None:
    falling = -np.sort(-P, axis=1)
    t = table({**{f"prob_{j}": falling[:, j] for j in range(3)}, "target": Y})
    with pytest.raises(InputError, match="the columns are ranks rather than classes"):
        propose(t)
    assert propose(t, scores=("prob_0", "prob_1", "prob_2")).scores == ("prob_0", "prob_1", "prob_2")
    assert propose(table({**{f"prob_{j}": P[:, j] for j in range(3)}, "target": Y})).classes == ("0", "1", "2")
    assert propose(table({**{f"p_{name}": falling[:, j] for j, name in enumerate(CLASSES)}, "kind": TRUE})).label == (
        "kind",
    )


def test_two_columns_of_dates_are_no_answers_and_labels() -> None:
    days = np.array(["2026-10-05", "2026-10-06", "2026-10-05", "2026-10-07"], dtype=object)
    table = Table("a.csv", "csv", {"prediction_date": days, "discharge_date": days[::-1]})
    assert answers(table, ()) is None
    german = np.array(["05.10.2026", "06.10.2026 08:30", "05.10.2026", "07.10.2026"], dtype=object)
    assert answers(Table("a.csv", "csv", {"prediction_date": german, "discharge_date": german[::-1]}), ()) is None
