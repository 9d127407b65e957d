"""Errors of other notions: top-label decides where only it shows one; others are named and never change the verdict."""

from __future__ import annotations

import numpy as np
import pytest

import calib_core as cc
from calib_core import Predictions
from calib_core.inference import (
    deciding,
    estimate_lines,
    estimates,
    gate_check,
    other_errors,
    other_errors_of,
    primaries,
    primary,
)
from calib_core.inference.verdicts.other_measures import NOTIONS


def cancelling(rows: int = 400, classes: int = 3) -> Predictions:
    """Return class 0 right in 5 of 10 rows, class 1 in 9 of 10, both at 70 %."""
    probs = np.zeros((rows, classes))
    probs[::2, :2], probs[1::2, :2] = (0.7, 0.3), (0.3, 0.7)
    return Predictions(probs, ([0, 1] * 5 + [1, 1] * 4 + [1, 0]) * (rows // 20))


@pytest.mark.parametrize("bins", [None, 10])
@pytest.mark.parametrize("eps", [0.02, 0.1, 0.3])
def test_the_notions_named_are_those_whose_own_line_is_miscalibrated(eps: float, bins: int | None) -> None:
    rows = cancelling()
    line = deciding(rows, "confidence", eps=eps, bins=bins)
    lines = estimate_lines(estimates({"m": rows}, [(notion, "ece") for notion in NOTIONS], bins), eps)
    off = lines.loc[lines["verdict"] == "miscalibrated", "notion"].tolist()
    assert "confidence" not in off
    assert list(other_errors(line)) == off
    assert bool(off) == (eps < 0.2)


@pytest.mark.parametrize("bins", [None, 10])
@pytest.mark.parametrize("eps", [0.02, 0.1, 0.3])
def test_errors_of_classes_that_cancel_decide_where_they_are_above_the_tolerance(eps: float, bins: int | None) -> None:
    rows = cancelling()
    line = primary(rows, eps, bins=bins)
    shown = cc.estimate(rows, "top-label", bins=bins).verdict(eps).word == "miscalibrated"
    assert shown == (eps < 0.2)
    assert line.notion == ("top-label" if shown else "confidence")
    assert (line.line.verdict == "miscalibrated") == shown == ("Two measures were fixed" in line.reason)
    assert gate_check(rows, eps, bins=bins).word == line.line.verdict


@pytest.mark.wide
def test_the_rule_of_two_measures_raises_no_more_false_alarms() -> None:
    """Count calibrated samples that are called miscalibrated, at most 5 %, and those of a twin that is off."""
    rng, called = np.random.default_rng(4), {True: 0, False: 0}
    for i in range(80):
        logits = 2 * rng.normal(size=(400, 3 if i % 2 else 10))
        probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        labels = (rng.random(400)[:, None] > probs.cumsum(axis=1)).sum(axis=1).clip(0, probs.shape[1] - 1)
        for right in (True, False):
            told = labels if right else np.where((probs.argmax(axis=1) == 0) & (rng.random(400) < 0.5), 1, labels)
            called[right] += primary(Predictions(probs, told)).line.verdict == "miscalibrated"
    assert called[True] <= 8  # 4 expected at most; three standard errors are 6
    assert called[False] > 40


def test_another_tolerance_chooses_anew() -> None:
    lines = primaries({"m": cancelling(), "n": cancelling(200)})
    for eps, notion in ((0.02, "top-label"), (0.3, "confidence"), (0.02, "top-label")):
        table = cc.inference.verdicts(lines, eps)
        assert set(table["notion"]) == {notion}
        again = cc.inference.verdicts(primaries({"m": cancelling(), "n": cancelling(200)}, eps), eps)
        assert table["sentence"].tolist() == again["sentence"].tolist()


def test_an_error_that_decides_needs_no_other() -> None:
    off = Predictions([[0.9, 0.1, 0]] * 100, [0] * 60 + [1] * 40)
    assert primary(off).line.verdict == "miscalibrated"
    assert other_errors(primary(off)) == ()


def test_of_an_event_every_class_at_once_is_not_named_again() -> None:
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.2, 0.8, 1000)
    rows = Predictions(np.column_stack([1 - risk, risk]), (rng.random(1000) < risk).astype(int))
    assert primary(rows).notion == "event"
    assert "class-wise" not in other_errors(primary(rows))


def test_the_table_and_the_gate_name_the_same_and_the_gate_goes_by_its_line() -> None:
    rows = cancelling()
    lines = primaries({"m": rows}, notion="confidence")
    (found,) = other_errors_of(lines, 0.02).to_dict("records")
    assert tuple(found["notions"].split(", ")) == other_errors(lines["m"])
    check = gate_check(rows, 0.02, notion="confidence")
    assert check.sentence.endswith(found["sentence"])
    assert check.word == lines["m"].line.verdict != "miscalibrated"
    assert cc.inference.verdicts(lines, 0.02)["verdict"].tolist() == [check.word]
