"""Scores that are no probabilities, or are on another scale than their names suggest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tests.corpus.bad_files import BadFile, drawn, family, npz, wide

P, Y = drawn(60)
NAMES = np.array(list("abc"))[Y]


def changed(row: int, *values: float) -> bytes:
    """Return the table with the scores of one row replaced."""
    p = P.copy()
    p[row] = values
    return wide(p, NAMES)


@family("Scores")
def scores() -> Iterator[BadFile]:
    refused: dict[str, tuple[bytes, str]] = {
        "negative": (
            changed(3, -0.1, 0.6, 0.5),
            'column "p_a", line 5 (row 3): -0.1 is below 0; 1 of 60 rows affected',
        ),
        "above one": (changed(3, 1.7, 0.0, 0.0), "line 5 (row 3): 1.7 is above 1; 1 of 60 rows affected."),
        "a row of zeros": (changed(3, 0, 0, 0), "line 5 (row 3): the scores sum to 0 instead of 1; 1 of 60 rows"),
        "a row of ones": (changed(3, 1, 1, 1), "the scores sum to 3 instead of 1"),
        "a row that sums to 0.9": (changed(3, 0.3, 0.3, 0.3), "the scores sum to 0.9 instead of 1; 1 of 60 rows"),
        "a class missing": (wide(P[:, :2], NAMES, "ab"), '"c" is not a class'),
        "a class missing, numbered": (npz(probs=P[:, :2], labels=np.minimum(Y, 1)), "instead of 1"),
        "a class too many": (wide(np.column_stack([P, P[:, 0]]), NAMES, "abcd"), "instead of 1"),
        "percentages in one row": (changed(3, 70, 20, 10), "line 5 (row 3): 70 is above 1; 1 of 60 rows affected"),
        "odds": (wide(P / (1 - P), NAMES), 'choose kind "logits"'),
        "infinite logits": (npz(logits=np.where(P > 0.9, np.inf, P * 9 - 3), labels=Y), "is infinite"),
        "rows of -inf": (
            npz(logits=np.where(np.arange(60)[:, None] == 3, -np.inf, P * 9 - 3), labels=Y),
            "-inf for every class",
        ),
        "float32 beyond one": (npz(probs=np.where(P > 0.99, 1.1, P).astype(np.float32), labels=Y), "is above 1"),
    }
    for what, (data, says) in refused.items():
        yield BadFile(what, data, says, filename="a.npz" if data.startswith(b"PK") else "a.csv")
    z = np.log(P) + 3
    read: dict[str, tuple[bytes, str, str]] = {
        "percentages": (wide(100 * P, NAMES), "kind", "The scores are read as percentages"),
        "logits": (wide(z, NAMES), "kind", "The scores are read as logits"),
        "log-probabilities": (wide(np.log(P), NAMES), "kind", "The scores are read as log-probabilities"),
        "probabilities called logits": (npz(logits=P, labels=Y), "called", "read as probabilities"),
        "probabilities called log": (npz(log_probs=P, labels=Y), "called", "is called log-probabilities"),
        "two decimals": (wide(P.round(2), NAMES), "rescaled", "consistent with rounding"),
        "half precision": (npz(probs=P.astype(np.float16), labels=Y), "rescaled", "they are rescaled"),
        "the same in every row": (wide(np.tile(P[0], (60, 1)), NAMES), "constant", "seems to ignore its input"),
        "twice the same rows": (wide(np.tile(P[:30], (2, 1)), np.tile(NAMES[:30], 2)), "duplicates", "30 of 60 rows"),
        "two largest scores": (wide(np.tile([0.4, 0.4, 0.2], (60, 1)), NAMES), "ties", "the first is taken"),
        "a zero for the truth": (changed(3, *np.roll(np.eye(3)[Y[3]], 1)), "zeros", "probability exactly 0 in 1 of 60"),
        "scores that say nothing": (wide(np.roll(P, 7, axis=0), NAMES), "chance", "shuffled labels would give"),
        "labels a row lower": (wide(P, np.roll(NAMES, 1)), "chance", "labels are shifted by one row"),
        "columns in another order": (npz(probs=P[:, [1, 2, 0]], labels=NAMES), "class-order", ""),
        "columns in alphabetical order": (npz(probs=P, labels=NAMES), "assumed-order", "in alphabetical order"),
        "one column": (
            pd.DataFrame({"p": P[:, 0], "y": (Y == 0).astype(int)}).to_csv(index=False).encode(),
            "binary",
            'is read as the probability that "y" is 1',
        ),
        "decimal commas": (
            pd.DataFrame({"p_a": P[:, 0], "p_b": P[:, 1] + P[:, 2], "label": (Y > 0).astype(int)})
            .to_csv(index=False, sep=";", decimal=",")
            .encode(),
            "reader",
            "Decimal commas",
        ),
        "percent signs": (_percent(), "percent", "written with percent signs"),
        "a delimiter at every end": (
            wide(P, NAMES).replace(b"\n", b",\n"),
            "reader",
            "Every line ends with a delimiter",
        ),
        "positive log-probabilities": (npz(log_probs=np.log(P) + 5 * (P > 0.9), labels=Y), "kind", "read as logits"),
        "one class": (npz(probs=np.ones((60, 1)), labels=np.zeros(60, int)), "class-order", "in the wrong order"),
        "missing, left out": (wide(P, NAMES).replace(b",c\n", b",\n", 1), "missing", "They are left out"),
    }
    for what, (data, finds, says) in read.items():
        chosen = {"missing": "exclude"} if what.startswith("missing") else {}
        yield BadFile(what, data, says, finds, "a.npz" if data.startswith(b"PK") else "a.csv", chosen)


def _percent() -> bytes:
    texts = {f"p_{name}": [f"{100 * v:.6f} %" for v in P[:, j]] for j, name in enumerate("abc")}
    return pd.DataFrame({**texts, "label": NAMES}).to_csv(index=False).encode()


def table(**columns: Any) -> bytes:
    return pd.DataFrame(columns).to_csv(index=False).encode()


@family("Confidences")
def confidences() -> Iterator[BadFile]:
    h, correct = P.max(axis=1), (P.argmax(axis=1) == Y).astype(int)
    steps = np.resize(np.arange(1, 6), 60)
    refused: dict[str, tuple[bytes, str]] = {
        "negative": (table(confidence=h - 0.6, correct=correct), "is below 0"),
        "above one": (table(confidence=h + 0.5, correct=correct), "is above 1"),
        "percentages beyond 100": (table(confidence=300 * h, correct=correct), "is above 1; 60 of 60 rows affected"),
        "missing": (table(confidence=np.where(h > 0.9, np.nan, h), correct=correct), "the value is missing"),
        "correct is a word": (table(confidence=h, correct="perhaps"), '"perhaps" is not a true/false value; 60 of 60'),
        "correct is 2": (table(confidence=h, correct=correct * 2), '"2" is not a true/false value'),
        "correct is a share": (table(confidence=h, correct=correct / 2), '"0.5" is not a true/false value'),
        "correct is missing": (table(confidence=h, correct=np.where(correct, "1", "")), "the value is missing"),
        "words nobody knows": (
            table(confidence=["quite so", "meh"] * 30, correct=correct),
            '"quite so" is not a number',
        ),
        "a label of nothing": (table(confidence=h, predicted=P.argmax(1), label=[""] * 60), "the value is missing"),
        "ratings": (table(confidence=steps, correct=correct), "2 is above 1; 48 of 60 rows affected"),
        "infinite": (
            table(confidence=np.where(h > 0.9, np.inf, h), correct=correct),
            "is infinite; 7 of 60 rows affected. Correct the value",
        ),
        "a wrong kind": (
            table(confidence=h, correct=correct),
            'kind is "percent"; did you mean "percentages"? choose one of',
        ),
        "a wrong layout": (table(confidence=h, correct=correct), 'layout is "long"; choose one of'),
        "an unknown field": (
            table(confidence=h, correct=correct),
            'there is no reading option "colour" (--read); the options are',
        ),
        "an unknown column": (
            table(confidence=h, correct=correct),
            'a.csv has no column "w"; its columns are "confidence"',
        ),
    }
    chosen = {
        "a wrong kind": {"kind": "percent"},
        "a wrong layout": {"layout": "long"},
        "an unknown field": {"colour": "red"},
        "an unknown column": {"weights": "w"},
    }
    for what, (data, says) in refused.items():
        yield BadFile(what, data, says, chosen=chosen.get(what, {}))
    predicted, few = P.argmax(axis=1), np.array(["yes", "no", "perhaps"])
    read: dict[str, tuple[bytes, str, str]] = {
        "percentages": (table(confidence=100 * h, correct=correct), "kind", "is read as percentages"),
        "words": (table(confidence=["very likely", "about even"] * 30, correct=correct), "words", "read as:"),
        "always the same": (
            table(confidence=np.full(60, 0.7), correct=correct),
            "constant",
            "have the same confidence",
        ),
        "bases that differ": (
            table(confidence=h, predicted=predicted, label=Y + 1),
            "labels",
            "With predicted classes counted from 0 and labels from 1",
        ),
        "never right": (
            table(confidence=h, predicted=few[predicted], label=NAMES),
            "never-right",
            "use the same codes?",
        ),
        "by chance": (table(confidence=h, predicted=predicted, label=np.roll(Y, 7)), "chance", "shifted by a row"),
        "percent signs": (table(confidence=[f"{100 * v:.3f}%" for v in h], correct=correct), "percent", "is read as"),
    }
    for what, (data, finds, says) in read.items():
        yield BadFile(what, data, says, finds)
