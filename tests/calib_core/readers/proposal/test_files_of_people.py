"""Files as people write them: opposite names, words of other languages, objects in cells, and points of a score."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calib_core as cc

N = 120
RISK = np.round(np.random.default_rng(0).uniform(0.02, 0.98, N), 3)
EVENT = (np.random.default_rng(1).random(N) < RISK).astype(int)
CLASSES = ("cat", "dog", "emu")
PROBS = np.random.default_rng(2).dirichlet([0.6, 0.5, 0.4], N)
LABEL = np.array([np.random.default_rng(i).choice(3, p=p) for i, p in enumerate(PROBS)])
NAMES = [CLASSES[code] for code in LABEL]


def read(rows: dict[str, Any], name: str = "a.csv") -> tuple[cc.Predictions, str]:
    """Return the predictions of a file with these columns, and its warnings in one text."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = cc.read_predictions(pd.DataFrame(rows).to_csv(index=False).encode(), name)
    return found, " ".join(str(each.message) for each in seen)


def words(codes: Iterable[int], names: Sequence[str]) -> list[str]:
    return [names[code] for code in codes]


@pytest.mark.parametrize("name", ["uncertainty", "error_probability", "entropy"])
def test_the_opposite_of_a_confidence_is_refused(name: str) -> None:
    with pytest.raises(cc.InputError, match=f'"{name}" is named like the opposite of a confidence'):
        read({name: 1 - RISK, "correct": EVENT})


def test_marks_of_errors_are_no_outcome_of_a_confidence() -> None:
    with pytest.raises(cc.InputError, match='"error" is named like marks of wrong answers'):
        read({"confidence": RISK, "error": 1 - EVENT})


def test_a_confidence_by_elimination_and_one_in_reverse_are_warnings() -> None:
    found, said = read({"loudness": 1 - RISK, "correct": EVENT})
    assert found.kind == "confidence"
    assert "only because no other column can be one" in said
    assert "Is it an uncertainty" in said
    assert read({"confidence": RISK, "correct": EVENT})[1] == ""


@pytest.mark.parametrize(
    ("score", "label", "names"),
    [
        ("Sicherheit", "richtig", ("nein", "ja")),
        ("confidence", "grade", ("wrong", "right")),
        ("confidence", "verdict", ("incorrect", "correct")),
    ],
)
def test_verdicts_in_words(score: str, label: str, names: Sequence[str]) -> None:
    found, said = read({score: RISK, label: words(EVENT, names)})
    assert found.kind == "confidence"
    assert found.accuracy == pytest.approx(EVENT.mean())
    assert said == ""


@pytest.mark.parametrize(
    ("score", "label", "names"),
    [
        ("Wahrscheinlichkeit", "Ergebnis", ("nein", "ja")),
        ("olasılık", "label", ("hayır", "evet")),
        ("вероятность", "label", ("нет", "да")),
        ("確率", "label", ("いいえ", "はい")),
        ("churn_probability", "Churn", ("No", "Yes")),
        ("prob_malignant", "biopsy", ("benign", "malignant")),
    ],
)
def test_the_event_in_other_words(score: str, label: str, names: Sequence[str]) -> None:
    found, said = read({score: RISK, label: words(EVENT, names)})
    assert found.class_names == tuple(names)
    assert found.probs is not None
    np.testing.assert_allclose(found.probs[:, 1], RISK)
    assert said == ""


def test_an_outcome_without_a_word_of_its_risk_is_a_warning_next_to_another_column() -> None:
    columns = {"p_yes": RISK, "drinks": words(EVENT, ("no", "yes"))}
    assert read(columns)[1] == ""
    assert "so it is read as the outcome" in read(columns | {"smoker": words(1 - EVENT, ("no", "yes"))})[1]


@pytest.mark.parametrize("label", ["hospital_death", "icu_mortality"])
def test_deaths_in_a_place_are_an_outcome(label: str) -> None:
    assert read({"risk": RISK, label: EVENT})[0].labels is not None


def test_points_yield_to_a_risk() -> None:
    found, _ = read({"score": np.arange(N) + 400, "PD": RISK, "default_flag": EVENT})
    assert found.probs is not None
    np.testing.assert_allclose(found.probs[:, 1], RISK)


def test_columns_of_survival_belong_to_survivors() -> None:
    found, _ = read({"p_survival": RISK, "p_death": 1 - RISK, "survived": EVENT})
    assert found.accuracy == pytest.approx(np.mean((RISK > 0.5) == EVENT))


def test_a_label_that_is_every_prediction_is_not_the_label() -> None:
    scores = {f"Probability:Class={name}": PROBS[:, j] for j, name in enumerate(CLASSES)}
    found, _ = read({**scores, "Class": words(PROBS.argmax(axis=1), CLASSES), "Label": NAMES})
    assert found.accuracy == pytest.approx(np.mean(PROBS.argmax(axis=1) == LABEL))


def as_dict(row: Sequence[float]) -> dict[str, float]:
    return dict(zip(CLASSES, map(float, row), strict=True))


@pytest.mark.parametrize(
    "cell",
    [
        lambda row: json.dumps(as_dict(row)),
        lambda row: str(as_dict(row[::1])),
        lambda row: json.dumps([{"label": name, "prob": p} for name, p in sorted(as_dict(row).items())[::-1]]),
    ],
)
def test_probabilities_in_objects_of_a_cell(cell: Any) -> None:
    found, said = read({"scores": [cell(row) for row in PROBS], "gold": NAMES})
    assert found.class_names is not None
    order = [CLASSES.index(name) for name in found.class_names]
    np.testing.assert_allclose(found.probs, PROBS[:, order])
    assert found.accuracy == pytest.approx(np.mean(PROBS.argmax(axis=1) == LABEL))
    assert said == ""


def test_objects_that_are_no_probabilities_remain_text() -> None:
    found, _ = read({"settings": [str({"a": 1, "b": 2})] * N, "prob": RISK, "label": EVENT})
    assert found.metadata is not None
    assert list(found.metadata) == ["settings"]


def test_arrays_of_one_object_next_to_the_names_of_classes() -> None:
    data = json.dumps({"y_true": LABEL.tolist(), "y_prob": PROBS.tolist(), "class_names": CLASSES}).encode()
    found = cc.read_predictions(data, "a.json")
    assert found.accuracy == pytest.approx(np.mean(PROBS.argmax(axis=1) == LABEL))
