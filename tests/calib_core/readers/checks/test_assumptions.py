"""Assumptions about ambiguous files: doctor and library report them, and one click settles them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core.readers import Finding, examine, predictions, propose, read_table
from calib_core.readers.checks.shuffled_labels import association

NAMES = np.array(["zebra", "cat", "mouse"])


def rows(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.4] * 3, n)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)[:, :2]).sum(axis=1)


def wide(p: np.ndarray, labels: Any, prefix: str = "p_", names: str = "abc", **more: Any) -> bytes:
    frame = pd.DataFrame(p, columns=[prefix + name for name in names]).assign(label=labels, **more)
    return frame.to_csv(index=False).encode()


def top(p: np.ndarray, predicted: Any, labels: Any) -> bytes:
    return pd.DataFrame({"confidence": p.max(1), "predicted": predicted, "label": labels}).to_csv(index=False).encode()


def found(data: bytes, name: str = "a.csv", **chosen: Any) -> dict[str, Finding]:
    table = read_table(data, name)
    return {finding.code: finding for finding in reversed(examine(table, propose(table, **chosen)))}


def settled(data: bytes, finding: Finding) -> cc.Predictions:
    table = read_table(data, "a.csv")
    return predictions(table, propose(table).replace(**dict(finding.change or {})))


def shifted() -> bytes:
    p, y = rows()
    return wide(p, np.array(list("abc"))[np.roll(y, 1)])


def shuffled() -> bytes:
    p, y = rows()
    return wide(p, np.array(list("abc"))[np.random.default_rng(1).permutation(y)])


def shuffled_tops() -> bytes:
    p, y = rows()
    return top(p, p.argmax(1), np.random.default_rng(2).permutation(y))


def shuffled_pairs() -> bytes:
    p = np.random.default_rng(3).random(400)
    return pd.DataFrame({"p": p, "y": np.arange(400) % 2}).to_csv(index=False).encode()


@pytest.mark.parametrize("made", [shifted, shuffled, shuffled_tops, shuffled_pairs])
def test_labels_no_better_than_chance_are_warned_of_by_doctor_and_library(made: Callable[[], bytes]) -> None:
    finding = found(made())["chance"]
    assert finding.severity == "warning"
    assert "shuffled labels would give" in finding.message
    with pytest.warns(UserWarning, match="shuffled labels would give"):
        notes = cc.read_predictions(made(), "a.csv").notes
    assert finding.message in notes
    if made is shifted:
        assert "With the label of the row below, accuracy would be" in finding.message


def test_labels_that_go_with_their_rows_are_not_warned_of() -> None:
    """Over 80 seeds of a weak model, and one that always predicts the same class."""
    for seed in range(80):
        p, y = rows(200, seed)
        assert "chance" not in found(wide(0.7 * p + 0.1, np.array(list("abc"))[y])), seed
    rng = np.random.default_rng(0)
    h = rng.uniform(0.01, 0.4, 2000)
    rare = pd.DataFrame({"p": h, "y": (rng.random(2000) < h).astype(int)}).to_csv(index=False).encode()
    assert "chance" not in found(rare)


def test_association_is_the_standardised_sum_over_shuffled_labels() -> None:
    p, y = rows(60)
    rng = np.random.default_rng(4)
    for scores in (p, np.log(p), 100 * p - 3):
        sums = np.array([scores[np.arange(60), rng.permutation(y)].sum() for _ in range(20_000)])
        own = (scores[np.arange(60), y].sum() - sums.mean()) / sums.std()
        assert association(scores, y) == pytest.approx(own, rel=0.03)
    assert association(np.full((9, 3), 0.2), np.arange(9) % 3) is None


def test_the_order_of_unnamed_columns_is_assumed_aloud(tmp_path: Any) -> None:
    p, y = rows()
    for order, severity in ((np.sort(NAMES), "note"), (NAMES, "warning")):
        np.savez(tmp_path / "a.npz", probs=p, labels=order[y])
        data = (tmp_path / "a.npz").read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            notes = cc.read_predictions(data, "a.npz").notes
        told = found(data, "a.npz")
        code = "assumed-order" if severity == "note" else "class-order"
        assert told[code].severity == severity
        assert told[code].message in notes
        assert "classes" in (told[code].change or {})
        assert not told[code].open_to({"classes"}) or severity == "warning"
    np.savez(tmp_path / "a.npz", probs=p, labels=NAMES[y], class_names=NAMES)
    assert not {"assumed-order", "class-order"} & set(found((tmp_path / "a.npz").read_bytes(), "a.npz"))
    numbered = wide(p, np.sort(NAMES)[y], names="012")
    offer = found(numbered)["labels"]
    assert offer.change == {"classes": ("cat", "mouse", "zebra")}
    assert settled(numbered, offer).accuracy > 0.6


@pytest.mark.parametrize("first", [0, 1])
def test_predicted_classes_and_labels_that_count_differently(first: int) -> None:
    p, y = rows()
    data = top(p, p.argmax(1) + first, y + 1 - first)
    finding = found(data)["labels"]
    assert finding.severity == "warning"
    assert finding.change_label == f"Predicted classes count from {first}, labels from {1 - first}"
    assert settled(data, finding).accuracy == np.mean(p.argmax(1) == y)
    assert "labels" not in found(top(p, p.argmax(1) + 1, y + 1))


def test_columns_called_logits_that_hold_probabilities() -> None:
    p, y = rows()
    one = pd.DataFrame({"logit": p[:, 0], "y": (y == 0).astype(int)}).to_csv(index=False).encode()
    assert (found(one)["called"].severity, found(one)["called"].change) == ("warning", {"kind": "logits"})
    three = wide(p, np.array(list("abc"))[y], prefix="logit_")
    assert found(three)["called"].severity == "note", "rows that sum to 1 leave no doubt"
    assert "called" not in found(one, kind="logits")


@pytest.mark.parametrize(("steps", "value"), [(range(1, 6), 0.9), (range(11), 1.0), (range(1, 8), 0.9286)])
def test_ratings_are_not_percentages(steps: range, value: float) -> None:
    column = np.resize(np.array(steps), 60)
    data = pd.DataFrame({"confidence": column, "correct": np.arange(60) % 2}).to_csv(index=False).encode()
    table = read_table(data, "a.csv")
    first, other = [f for f in examine(table, propose(table)) if f.code == "range"]
    assert "look like ratings" in first.message
    assert other.change == {"kind": "percentages"}
    assert settled(data, first).confidence.max() == pytest.approx(value)


def test_thousands_are_not_decimals() -> None:
    data = b'p,y,weight\n0.7,1,"1,234"\n0.2,0,"2,500"\n'
    with pytest.raises(cc.InputError) as why:
        cc.read_predictions(data, "a.csv", weights="weight")
    assert str(why.value).startswith(
        'a.csv, column "weight", line 2 (row 0): "1,234" may be 1.234 or 1234; 2 of 2 rows affected.'
    )
    decimals = b"p;y;weight\n0,7;1;1,234\n0,2;0;2,500\n"
    assert cc.read_predictions(decimals, "a.csv", weights="weight").weights is not None, "0,7 says what commas are"


def test_one_letter_written_in_two_ways_is_one_letter() -> None:
    p, y = rows()
    composed, apart = np.array(["ch\u00e1t", "chien", "loup"]), np.array(["cha\u0301t", "chien", "loup"])
    mixed = np.where(np.arange(400) % 2, composed[y], apart[y])
    for data in (
        pd.DataFrame(p, columns=[f"p_{name}" for name in composed]).assign(label=mixed).to_csv(index=False).encode(),
        top(p, composed[p.argmax(1)], mixed),
    ):
        told = found(data)["reader"]
        assert "form NFC" in told.message
        got = cc.read_predictions(data, "a.csv")
        assert (got.n_classes, got.accuracy) == (3, np.mean(p.argmax(1) == y))
    with pytest.raises(cc.InputError, match="columns called"):
        read_table("p_\u00e1,p_a\u0301,label\n.5,.5,a\n".encode(), "a.csv")
