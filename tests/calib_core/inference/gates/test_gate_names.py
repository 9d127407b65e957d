"""A gate names both numbers: the estimate of its interval, and the value of the formula."""

import numpy as np
import pytest

from calib_core import Predictions, estimate
from calib_core.inference import gate_check
from calib_core.text import short_percent


def too_high(n: int, seed: int = 0) -> Predictions:
    """Return risks that are twice too high."""
    rng = np.random.default_rng(seed)
    risk = rng.beta(2, 5, n)
    return Predictions(np.column_stack([1 - risk, risk]), (rng.random(n) < risk / 2).astype(int))


@pytest.mark.parametrize("n", [120, 400])
def test_estimate_and_value_as_measured_are_both_named(n: int) -> None:
    rows = too_high(n)
    check, known = gate_check(rows, 0.05), estimate(rows, "event")
    estimated, measured = short_percent(known.interval().point), short_percent(known.value)
    assert f"estimated at {estimated}" in check.headline
    assert f"raw value {measured}" in check.headline
    assert check.about.startswith(f"ECE of the risk, raw value: {measured} (bins: {known.in_bins})")
    assert check.record()["line"]["value"] == known.value


def test_the_bins_named_beside_an_estimate_are_those_it_is_over() -> None:
    grouped, binned = (gate_check(too_high(n, seed), 0.05).line for n, seed in ((120, 0), (400, 0)))
    assert "groups" in grouped.about
    assert grouped.cells in grouped.about
    assert grouped.bins not in grouped.cells
    assert "these bins" in binned.about
    assert binned.bins in binned.cells


def test_a_pass_beside_an_impossible_outcome_says_why() -> None:
    wrong = Predictions.from_confidence([1.0] * 3 + [0.9] * 1000, [False, False, True] + [True] * 900 + [False] * 100)
    check = gate_check(wrong, 0.1)
    assert check.passed
    assert check.record()["impossible_rows"] == 2
    assert "(p = 0)" in check.sentence
    assert "passes nevertheless" in check.sentence
    assert "In 2 rows, the observed outcome had a predicted probability of 0" in check.sentence
    assert "nevertheless" not in gate_check(wrong, 0.001).sentence, "a check that fails has nothing to reconcile"
    assert "nevertheless" not in gate_check(wrong.take(range(2, 1003)), 0.1).sentence
