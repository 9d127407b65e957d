"""Errors of other notions are named if the primary line shows none, and never change it."""

from __future__ import annotations

import numpy as np
import pytest

import calib_core as cc
from calib_core import Predictions
from calib_core.inference import (
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
    line = primary(rows, eps, bins=bins)
    lines = estimate_lines(estimates({"m": rows}, [(notion, "ece") for notion in NOTIONS], bins), eps)
    off = lines.loc[lines["verdict"] == "miscalibrated", "notion"].tolist()
    assert line.notion == "confidence" not in off
    assert list(other_errors(line)) == off
    assert bool(off) == (eps < 0.2)


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
    (found,) = other_errors_of(primaries({"m": rows}), 0.02).to_dict("records")
    assert tuple(found["notions"].split(", ")) == other_errors(primary(rows, 0.02))
    check = gate_check(rows, 0.02)
    assert check.sentence.endswith(found["sentence"])
    assert check.word == primary(rows, 0.02).line.verdict != "miscalibrated"
    assert cc.inference.verdicts(primaries({"m": rows}), 0.02)["verdict"].tolist() == [check.word]
