"""Columns named like classes: one without any true row is a class, an age next to them is not."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy

from calib_core.readers import examine, predictions, propose
from calib_core.readers.proposal.class_columns import block_of
from calib_core.readers.table import Table

N = 60
RNG = np.random.default_rng(5)
Z = RNG.normal(0, 2, (N, 3))
P = scipy.special.softmax(Z, axis=1)
SMALL = np.column_stack([P[:, :2] / P[:, :2].sum(axis=1, keepdims=True) * 0.99, np.full(N, 0.01)])
FORMS = {
    "probabilities": P,
    "percentages": 100 * P,
    "log-probabilities": np.log(P),
    "logits": Z,
    "a small share": SMALL,
}
NAMES = {"names": ("cat", "dog", "bird"), "numbers": ("0", "1", "2"), "numbers from 1": ("1", "2", "3")}
BESIDE = {
    "nothing": {},
    "an age": {"age": RNG.normal(50, 9, N)},
    "ages and a number": {"age": RNG.integers(20, 80, N), "weight of it": RNG.normal(70, 9, N), "id": np.arange(N)},
    "a risk": {"prior": RNG.uniform(0.2, 0.8, N)},
}


def table(scores: np.ndarray, names: tuple[str, ...], labels: np.ndarray, **beside: np.ndarray) -> Table:
    texts = np.array([names[j] for j in labels], dtype=object)
    label = texts.astype(np.int64) if names[0].isdigit() else texts
    columns = {name: scores[:, j] for j, name in enumerate(names[: scores.shape[1]])}
    return Table("a.csv", "csv", {**columns, **beside, "label": label})


@pytest.mark.parametrize(("form", "names", "beside"), [*product(FORMS, NAMES, BESIDE)])
def test_a_class_that_never_comes_true_is_a_class(form: str, names: str, beside: str) -> None:
    scores = FORMS[form]
    labels = (scores[:, 1] > scores[:, 0]).astype(int)
    found = predictions(t := table(scores, NAMES[names], labels, **BESIDE[beside]), propose(t))
    np.testing.assert_allclose(found.probs, SMALL if form == "a small share" else P, atol=1e-12)
    assert found.class_names == NAMES[names]
    assert [found.class_names[j] for j in found.labels] == [NAMES[names][j] for j in labels]


@pytest.mark.parametrize(("form", "beside"), [*product(("probabilities", "percentages", "log-probabilities"), BESIDE)])
def test_where_rows_sum_to_1_nothing_beside_them_is_a_class(form: str, beside: str) -> None:
    two = scipy.special.softmax(Z[:, :2], axis=1)
    scores = {"probabilities": two, "percentages": 100 * two, "log-probabilities": np.log(two)}[form]
    t = table(scores, ("cat", "dog"), two.argmax(axis=1), **BESIDE[beside])
    assert propose(t).scores == ("cat", "dog")
    assert not [each for each in examine(t, propose(t)) if each.code == "classes-beside"]


def test_logits_beside_logits_are_taken_with_a_warning_that_offers_the_other() -> None:
    labels = (Z[:, 1] > Z[:, 0]).astype(int)
    aged = table(Z[:, :2], ("cat", "dog"), labels, age=BESIDE["an age"]["age"])
    for t, code in ((table(Z, NAMES["names"], labels), "warning"), (aged, "note")):
        reading = propose(t)
        (found,) = [each for each in examine(t, reading) if each.code == "classes-beside"]
        assert found.severity == code
        assert found.change is not None
        other = reading.replace(**found.change)
        assert {len(reading.scores), len(other.scores)} == {2, 3}
        assert len(other.classes) == len(other.scores)
        assert predictions(t, other).labels.tolist() == labels.tolist()
        (back,) = [each for each in examine(t, other) if each.code == "classes-beside"]
        assert back.change is not None
        assert other.replace(**back.change).scores == reading.scores


def test_rows_without_scores_and_columns_without_numbers_change_nothing() -> None:
    scores, labels = np.where(np.arange(N)[:, None] % 5 == 0, np.nan, P), P[:, :2].argmax(axis=1)
    assert propose(table(scores, NAMES["names"], labels, empty=np.full(N, np.nan))).scores == NAMES["names"]
    for rows in (slice(0, 0), slice(0, 1)):
        none = table(np.full((N, 3), np.nan)[rows], NAMES["names"], labels[rows])
        assert block_of(none, ("cat", "dog"), NAMES["names"])[:2] == ("cat", "dog")


def test_columns_of_another_model_are_no_classes() -> None:
    t = table(Z[:, :2], ("cat", "dog"), Z[:, :2].argmax(axis=1), cat_new=Z[:, 2], dog_new=Z[:, 0])
    assert propose(t).scores == ("cat", "dog")


def test_hundreds_of_columns_beside_classes_cost_little() -> None:
    many = {f"f{i}": RNG.uniform(0, 1, N) for i in range(300)}
    columns = {**many, "cat": P[:, 0], "dog": P[:, 1], "bird": P[:, 2], **{f"g{i}": many[f"f{i}"] for i in range(300)}}
    assert block_of(Table("a.csv", "csv", columns), ("cat", "dog"), list(columns)) == ("cat", "dog", "bird")
