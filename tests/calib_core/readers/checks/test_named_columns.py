"""Classes of named score columns. Names decide; an order that they leave open is a warning."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core.predictions.event_names import event_of, names_decide
from calib_core.readers import Finding, examine, predictions, propose, read_table

N = 10
"""Rows of every file: far fewer than accuracy needs to tell the right order."""


def drawn(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n).round(3)
    return p, np.r_[0, 1, (rng.random(n - 2) < p[2:]).astype(int)]


P, Y = drawn()


def file(scores: dict[str, np.ndarray], no: Any, yes: Any, label: str = "y") -> bytes:
    words = np.array([no, yes], dtype=object)
    return pd.DataFrame({**scores, label: words[Y]}).to_csv(index=False).encode()


def found(data: bytes, **chosen: Any) -> tuple[cc.Predictions, dict[str, Finding]]:
    table = read_table(data, "a.csv")
    reading = propose(table, **chosen)
    return predictions(table, reading), {each.code: each for each in reversed(examine(table, reading))}


def risk(rows: cc.Predictions) -> np.ndarray:
    """Return the probability of the rows' own outcome 1."""
    assert rows.probs is not None
    assert rows.labels is not None
    own = rows.probs[np.arange(rows.n_rows), rows.labels]
    return np.where(Y == 1, own, 1 - own)


PAIRS = [
    ("p_pos", "p_neg"), ("p_yes", "p_no"), ("prob_true", "prob_false"), ("p_fraud", "p_legit"), ("spam", "ham"),
    ("p_sick", "p_healthy"), ("p_died", "p_survived"), ("p_default", "p_paid"), ("p_churn", "p_stay"),
    ("p_event", "p_no_event"), ("p_case", "p_control"), ("p_krank", "p_gesund"), ("p_malade", "p_sain"),
    ("p_enfermo", "p_sano"), ("p_malato", "p_sano"), ("p_ziek", "p_gezond"), ("p_doente", "p_saudável"),
    ("p_ja", "p_nein"), ("p_oui", "p_non"), ("p_sim", "p_não"), ("prob_positiv", "prob_negativ"),
]  # fmt: skip


@pytest.mark.parametrize(("yes", "no"), PAIRS)
@pytest.mark.parametrize("first", ["yes", "no"])
def test_the_class_named_in_a_column_decides_next_to_0_and_1(yes: str, no: str, first: str) -> None:
    columns = {yes: P, no: 1 - P} if first == "yes" else {no: 1 - P, yes: P}
    rows, told = found(file(columns, 0, 1))
    assert np.allclose(risk(rows), P)
    assert rows.event == 1
    finding = told["named-columns"]
    codes = {yes, no} & {"p_yes", "prob_true", "p_pos", "p_ja", "p_oui", "p_sim", "prob_positiv"}
    assert finding.severity == ("note" if codes and first == "no" else "warning")
    swapped = propose(read_table(file(columns, 0, 1), "a.csv")).replace(**dict(finding.change or {}))
    assert np.allclose(risk(predictions(read_table(file(columns, 0, 1), "a.csv"), swapped)), 1 - P)
    chosen, _ = found(file(columns, 0, 1), **dict(finding.change or {}))
    assert np.allclose(risk(chosen), 1 - P), "the change is also what a command's options say"
    assert not finding.open_to({"classes"})


@pytest.mark.parametrize(("labels", "order"), [(("no", "yes"), 1), (("-1", "1"), 1), (("legit", "fraud"), 1)])
def test_labels_in_other_words_belong_to_the_column_of_their_meaning(labels: Sequence[str], order: int) -> None:
    for columns in ({"p_pos": P, "p_neg": 1 - P}, {"p_neg": 1 - P, "p_pos": P}):
        rows, told = found(file(columns, *labels))
        assert np.allclose(risk(rows), P)
        assert told["named-columns"].severity == "note"
        swapped, _ = found(file(columns, *labels), **dict(told["named-columns"].change or {}))
        assert np.allclose(risk(swapped), 1 - P)


def test_chosen_classes_go_with_the_columns_of_their_names() -> None:
    data = file({"p_pos": P, "p_neg": 1 - P}, 0, 1)
    assert np.allclose(risk(found(data, classes=("neg", "pos"))[0]), P)
    assert np.allclose(risk(found(data, classes=("pos", "neg"))[0]), 1 - P)


@pytest.mark.parametrize("names", [("p_cat", "p_dog"), ("p_b", "p_a"), ("home", "away")])
def test_the_order_of_names_that_decide_nothing_is_warned_of(names: tuple[str, str]) -> None:
    rows, told = found(file({names[0]: 1 - P, names[1]: P}, 0, 1))
    assert np.allclose(risk(rows), P)
    assert told["named-columns"].severity == "warning"
    assert "order of the columns" in told["named-columns"].message


def test_more_named_columns_are_counted_and_only_certain_orders_are_a_note() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.3] * 3, 300)
    y = (rng.random((300, 1)) > p.cumsum(axis=1)[:, :2]).sum(axis=1)
    for names, n, severity in (("cab", 300, "note"), ("cab", N, "warning"), ("abc", N, None)):
        frame = pd.DataFrame(p[:n], columns=[f"p_{name}" for name in names]).assign(y=y[:n])
        frame.iloc[:3, 3] = range(3)
        told = found(frame.to_csv(index=False).encode())[1].get("named-columns")
        assert (told and told.severity) == severity


LONE = ["p_0", "p_false", "prob_no_event", "prob_negative", "p_neg", "p_legit", "p_gesund", "p_survived", "prob_nein"]


@pytest.mark.parametrize("score", LONE)
def test_a_single_column_named_like_0_is_the_probability_of_0(score: str) -> None:
    rows, told = found(file({score: 1 - P}, 0, 1))
    assert np.allclose(risk(rows), P)
    assert told["binary"].severity == "warning"
    assert np.allclose(risk(found(file({score: 1 - P}, 0, 1), **dict(told["binary"].change or {}))[0]), 1 - P)
    with pytest.warns(UserWarning, match="because it is named like the class of 0"):
        assert told["binary"].message in cc.read_predictions(file({score: 1 - P}, 0, 1), "a.csv").notes


@pytest.mark.parametrize("score", ["p_1", "p_true", "prob_event", "prob_positive", "p_fraud", "prob", "score", "p"])
def test_a_single_column_of_a_plain_name_is_the_probability_of_1_without_a_warning(score: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.allclose(risk(cc.read_predictions(file({score: P}, 0, 1), "a.csv")), P)


TWO = [
    ("control", "case"), ("legit", "fraud"), ("nein", "ja"), ("survived", "died"), ("ham", "spam"), ("paid", "default"),
    ("healthy", "sick"), ("stay", "churn"), ("sain", "malade"), ("gesund", "krank"), ("sano", "enfermo"),
    ("not survived", "survived")[::-1], ("disease-free", "disease"), ("non-fraud", "fraud"), ("vivant", "décédé"),
    ("benigno", "maligno"), ("gezond", "ziek"), ("não", "sim"), ("no", "sì"), ("nee", "ja"), ("negativ", "positiv"),
]  # fmt: skip


@pytest.mark.parametrize(("no", "yes"), TWO)
def test_a_single_probability_is_that_of_the_event_whatever_the_alphabet_says(no: str, yes: str) -> None:
    assert names_decide((no, yes))
    assert (event_of((no, yes)), event_of((yes, no))) == (1, 0)
    rows, told = found(file({"prob": P}, no, yes))
    assert np.allclose(risk(rows), P)
    assert told["binary"].severity == "note"


@pytest.mark.parametrize(("no", "yes"), [("apple", "pear"), ("B", "M"), ("1", "2"), ("A", "B")])
def test_a_single_probability_next_to_names_that_decide_nothing_is_warned_of(no: str, yes: str) -> None:
    rows, told = found(file({"prob": P}, no, yes))
    assert np.allclose(risk(rows), P)
    assert told["binary"].severity == "warning"
    assert not told["binary"].open_to({"classes"})
    named, told = found(file({f"prob_{no}": 1 - P}, no, yes))
    assert np.allclose(risk(named), P)
    assert told["binary"].severity == "note"
