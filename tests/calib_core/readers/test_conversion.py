"""Refusals name place, count and remedy; conversions are the chosen ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import Reading, predictions, propose, read_predictions, read_table
from calib_core.readers.table import Table
from tests.support.sentences import matches

SPREAD = [(0.2, 0.3, 0), (0.5, 0.1, 1), (0.25, 0.5, 2), (0.6, 0.2, 0), (0.1, 0.7, 1)]


def said(text: str, **changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_predictions(text.encode(), "preds.csv", **changes)
    return str(caught.value)


def rows(*lines: str, good: int = 6) -> str:
    """Return a header, some good rows, then the given ones."""
    return "\n".join(["p_cat,p_dog,label", *["0.75,0.25,cat"] * good, *lines])


def test_the_tone_of_a_refusal() -> None:
    text = "\n".join(["p_cat,p_dog,label", *["0.75,0.25,cat"] * 7, "1.7,0.3,cat", *["0.75,0.25,cat"] * 192])
    assert matches(
        said(text),
        'preds.csv, column "p_cat", line 9 (row 7): 1.7 is above 1; 1 of 200 rows affected.*"percentages"*"logits"*',
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "-0.1,1.1,cat",
            'preds.csv, column "p_cat", line 8 (row 6): -0.1 is below 0; 1 of 7 rows affected.*"percentages"*',
        ),
        (
            "inf,0,cat",
            'preds.csv, column "p_cat", line 8 (row 6): inf is infinite; 1 of 7 rows affected.*',
        ),
        (
            ",0.5,cat",
            'preds.csv, column "p_cat", line 8 (row 6): the value is missing; 1 of 7 rows affected.*"exclude"*',
        ),
        (
            "0.5,nan,cat",
            'preds.csv, column "p_dog", line 8 (row 6): the value is missing; 1 of 7 rows affected.*"exclude"*',
        ),
        (  # the row is one where the named column has no value, not the first with any gap
            "0.5,,cat\n,0.5,cat",
            'preds.csv, column "p_cat", line 9 (row 7): the value is missing; 2 of 8 rows affected.*"exclude"*',
        ),
        (
            "0.5,0.5,",
            'preds.csv, column "label", line 8 (row 6): the value is missing; 1 of 7 rows affected.*"exclude"*',
        ),
        (
            "50%,0.5,cat",
            'preds.csv, column "p_cat", line 8 (row 6): "50%" has a percent sign*; 1 of 7 rows affected*',
        ),
        (
            "0x1p-3,0.5,cat",
            'preds.csv, column "p_cat", line 8 (row 6): "0x1p-3" is not a number; 1 of 7 rows affected*',
        ),
        (
            "0.5,0.5,bird",
            'preds.csv, column "label", line 8 (row 6): "bird" is not a class; 1 of 7 rows affected. '
            'The classes are "cat", "dog".',
        ),
        (
            "0.5,0.5,Cat ",
            'preds.csv, column "label", line 8 (row 6): "Cat " is not a class; 1 of 7 rows affected. '
            'It differs from "cat"*',
        ),
    ],
)
def test_one_bad_row(line: str, message: str) -> None:
    assert matches(said(rows(line)), message)


def test_row_sums_name_the_worst_line() -> None:
    message = said(rows("0.5,0.1,cat"))
    assert matches(message, 'preds.csv, line 8 (row 6): the scores sum to 0.6 *; 1 of 7 rows affected*"logits"*')


@pytest.mark.parametrize(
    ("labels", "coding", "message"),
    [
        ("0 1 2", "0-based", '"y", line 4 (row 2): label 2 is not among the classes 0, 1 (1 of 3 rows)*Correct*'),
        ("1 2 2", "0-based", '"y", line 3 (row 1): label 2 is not among the classes 0, 1 (2 of 3 rows)*"1-based"*'),
        ("0 1 1", "1-based", '"y", line 2 (row 0): label 0 is not among the classes 1, 2 (1 of 3 rows)*"0-based"*'),
        ("0 1.5 1", "0-based", '"y", line 3 (row 1): label 1.5 is not among the classes 0, 1 (1 of 3 rows)*Correct*'),
        ("0 -1 1", "0-based", '"y", line 3 (row 1): label -1 is not among the classes 0, 1 (1 of 3 rows)*Correct*'),
    ],
)  # fmt: skip
def test_labels_by_number(labels: str, coding: str, message: str) -> None:
    text = "p_cat,p_dog,y\n" + "".join(f"0.75,0.25,{y}\n" for y in labels.split())
    assert matches(said(text, label_coding=coding), f"preds.csv, column {message}")


def test_scores_above_one_are_refused_with_the_sums_of_their_rows() -> None:
    lines = "\n".join(f"{1.5 * p},{1.5 * q},{1.5 * (1 - p - q)},{y}" for p, q, y in [(0.8, 0.1, 0), *SPREAD])
    text = said(f"p_cat,p_dog,p_owl,label\n{lines}")
    n = len(SPREAD) + 1
    assert f"1.2 is above 1; 2 of {n} rows affected. {n} of {n} rows do not sum to 1: each sums to 1.5." in text
    assert "do not sum" not in said(rows("1.7,0.3,cat")), "the score above 1 is the whole fault"


@pytest.mark.parametrize("factor", [0.9, 0.95])
def test_columns_without_a_common_name_are_refused_for_their_sums(factor: float) -> None:
    lines = "\n".join(f"{factor * p},{factor * q},{factor * (1 - p - q)},{y}" for p, q, y in SPREAD)
    assert matches(said(f"cat,dog,owl,label\n{lines}"), f"preds.csv, line *: the scores sum to {factor} instead of 1*")
    two = said(f"cat,dog,owl,label\n{lines}".replace(",2\n", ",1\n"))
    assert "different models" in two, "three risks of one event have two labels"


def test_one_hot_labels_mark_one_class() -> None:
    text = "p_a,p_b,y_a,y_b\n.75,.25,1,0\n.75,.25,1,1\n"
    assert matches(said(text), 'preds.csv, column "y_a", line 3 (row 1): *; 1 of 2 rows affected.')


def test_arrays_of_different_lengths() -> None:
    table = Table("a.npz", "npz", {"labels": np.zeros(199, int)}, {"probs": np.full((200, 3), 1 / 3)})
    with pytest.raises(InputError) as caught:
        predictions(table, propose(table))
    assert str(caught.value) == 'a.npz: 199 values of "labels" for 200 rows of "probs"; give one value per row'


def test_missing_rows_are_left_out_when_that_is_chosen() -> None:
    text = "p_a,p_b,label,site\n.75,.25,a,x\n,.5,a,y\n.25,.75,,z\n.25,.75,b,\n"
    got = read_predictions(text.encode(), "preds.csv", missing="exclude")
    assert got.probs.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert got.metadata is not None
    assert got.metadata["site"].tolist() == ["x", ""]
    assert said("p_a,p_b,label\n,.5,a\n.5,,b\n", missing="exclude", scores=("p_a", "p_b")) == (
        'preds.csv: every row has a missing value; the first is in column "p_a"'
    )


def test_missing_rows_do_not_hide_bad_ones() -> None:
    assert "line 9 (row 7): 1.5 is above 1; 1 of 8 rows" in said(rows(",0.5,cat", "1.5,-.5,cat"), missing="exclude")
    # A row that is left out may contain anything.
    assert read_predictions(rows(",7,cat").encode(), "preds.csv", missing="exclude").n_rows == 6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_conversions(dtype: Any) -> None:
    p = np.array([[0.75, 0.25], [0.5, 0.5]], dtype=dtype)

    def read(scores: np.ndarray, kind: str) -> np.ndarray:
        table = Table("a.npz", "npz", {"y": np.array([0, 1])}, {"s": scores})
        got = predictions(table, Reading(scores=("s",), label=("y",), classes=("a", "b"), kind=kind))  # type: ignore[arg-type]
        assert got.probs.dtype == dtype
        return np.asarray(got.probs)

    np.testing.assert_allclose(read(p * 100, "percentages"), p, rtol=1e-6)
    np.testing.assert_allclose(read(np.log(p), "log-probabilities"), p, rtol=1e-6)
    np.testing.assert_allclose(read(np.log(p) + 3, "logits"), p, rtol=1e-6)
    assert np.array_equal(read(p, "probabilities"), p)
    one = p[:, :1]
    for kind, scores in (("percentages", one * 100), ("logits", np.log(one / (1 - one))), ("probabilities", one)):
        np.testing.assert_allclose(read(scores, kind)[:, 1], one[:, 0], rtol=1e-6)


def test_the_matrix_of_a_file_is_not_copied() -> None:
    p = np.random.default_rng(0).dirichlet([1.0] * 4, 60).astype(np.float32)
    p.setflags(write=False)
    table = Table("a.npz", "npz", {"y": np.zeros(60, int)}, {"probs": p})
    assert np.shares_memory(predictions(table, propose(table)).probs, p)


def test_logits_are_kept_and_may_be_minus_infinity() -> None:
    table = Table("a.npz", "npz", {"y": np.array([0, 1])}, {"logits": np.array([[3.0, -np.inf], [0.0, 4.0]])})
    got = predictions(table, propose(table))
    assert got.logits is not None
    assert got.probs[0].tolist() == [1, 0]
    bad = Table("a.npz", "npz", {"y": np.array([0, 1])}, {"logits": np.array([[3.0, np.inf], [0.0, -4.0]])})
    with pytest.raises(InputError) as caught:
        predictions(bad, propose(bad, kind="logits"))
    assert str(caught.value) == (
        'a.npz, column "logits[:, 1]", row 0: inf is infinite; 1 of 2 rows affected. '
        "Correct the value: logits are finite, or -inf for an impossible class."
    )


def test_weights_go_along_and_are_checked() -> None:
    text = "p_a,p_b,label,weight\n.75,.25,a,2\n.25,.75,a,1\n"
    unasked = read_predictions(text.encode(), "preds.csv")
    assert (unasked.weights, unasked.accuracy) == (None, 0.5)
    assert unasked.notes[0].startswith('The column "weight" (1 to 2) is not used')
    assert read_predictions(text.encode(), "preds.csv", weights="weight", weighting="copies").accuracy == pytest.approx(
        2 / 3
    )
    assert (
        said(text.replace(",2", ",-2"), weights="weight")
        == "preds.csv: weights row 0 is -2.0; weights must be finite and not negative"
    )


@pytest.mark.parametrize("words", [("1", "0"), ("True", "False"), ("yes", "no"), ("Correct", "wrong"), ("1.0", "0.0")])
def test_correctness_in_words(words: tuple[str, str]) -> None:
    got = read_predictions(f"confidence,correct\n.7,{words[0]}\n.6,{words[1]}\n".encode(), "preds.csv")
    assert got.correct.tolist() == [True, False]


def test_correctness_that_is_neither() -> None:
    message = said("confidence,correct\n.7,1\n.6,2\n")
    assert matches(message, 'preds.csv, column "correct", line 3 (row 1): "2" *; 1 of 2 rows affected.*')
    assert "the value is missing" in said("confidence,correct\n.7,yes\n.6,\n")


def test_top_label_tables() -> None:
    got = read_predictions(b"conf,pred,label\n70,dog,dog\n60,cat,dog\n", "preds.csv")
    assert (got.kind, got.class_names, got.correct.tolist()) == ("top-label", ("cat", "dog"), [True, False])
    np.testing.assert_allclose(got.confidence, [0.7, 0.6])
    assert said("conf,pred,label\n.7,dog,dog\n.6,cow,dog\n", classes=("cat", "dog")) == (
        'preds.csv, column "pred", line 3 (row 1): "cow" is not a class; 1 of 2 rows '
        'affected. The classes are "cat", "dog".'
    )


def test_class_names_fit_the_columns() -> None:
    assert said(rows(), classes=("cat",)) == "preds.csv: 1 class names for 2 classes of scores; give one name per class"


def test_unknown_columns_are_named() -> None:
    assert said(rows(), label="colour") == (
        'preds.csv has no column "colour"; its columns are "p_cat", "p_dog", "label"'
    )


def test_reading_a_table_twice_gives_the_same() -> None:
    table = read_table(rows("0.25,0.75,dog").encode(), "preds.csv")
    reading = propose(table)
    assert hash(reading) == hash(propose(table))
    assert np.array_equal(predictions(table, reading).probs, predictions(table, reading).probs)
