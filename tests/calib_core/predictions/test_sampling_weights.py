"""Whole-number weights as sampling weights: their meaning at every step, and the level of tests in samples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

import calib_core as cc
from calib_core import InputError, Predictions
from calib_core.predictions.validation import whole
from calib_core.readers import propose, read_table
from calib_core.readers.checks.examination import examine

RNG = np.random.default_rng(4)
N = 120
WEIGHTS = np.tile([1.0, 1.0, 4.0], N // 3)
"""Mean 2: scaled by it, the largest are whole numbers again."""
PROBS = RNG.dirichlet([1.0, 1.0], N)
LABELS = (RNG.random(N) < PROBS[:, 1]).astype(int)


def rows(weights) -> Predictions:
    return Predictions(PROBS, LABELS, weights=weights)


@pytest.mark.parametrize("weights", [WEIGHTS, np.where(WEIGHTS > 1, 2.0, 0.0), np.full(N, 7.0), 20 * WEIGHTS])
def test_they_count_as_weights_that_are_not_whole(weights):
    """Weights have no unit: the same results as with weights of 1.37 times the size, which are not whole."""
    declared, twin = rows(cc.sampling_weights(weights)), rows(weights * 1.37)
    assert declared.effective_rows == pytest.approx(twin.effective_rows)
    assert declared.effective_rows <= N
    for some in (np.arange(N), np.flatnonzero(weights == weights.max()), np.arange(2, 50)):
        a, b = declared.take(some), twin.take(some)
        assert a.effective_rows == pytest.approx(b.effective_rows)
        assert a.replace(weights=a.weights).effective_rows == pytest.approx(b.effective_rows)
        for notion in ("confidence", "class-wise"):
            mine, other = (cc.estimate(each, notion, "ece", bins=5) for each in (a, b))
            assert mine.value == pytest.approx(other.value)
            assert mine.interval().high == pytest.approx(other.interval().high, abs=1e-6)


def test_no_part_of_them_is_taken_as_copies():
    """No row counts as two copies because its weight is twice the mean."""
    scaled = cc.sampling_weights(WEIGHTS)
    assert scaled.mean() == pytest.approx(1)
    assert not whole(scaled[WEIGHTS == 4])
    assert whole(WEIGHTS[WEIGHTS == 4])


def test_they_are_checked_like_all_weights():
    with pytest.raises(InputError, match="row 1"):
        cc.sampling_weights([4, -1])


# -- in files ---------------------------------------------------------------------------------------------------


def file_of(weights) -> bytes:
    frame = pd.DataFrame({"risk": PROBS[:, 1], "died": LABELS, "weight": weights})
    return frame.to_csv(index=False).encode()


def findings(values, **chosen):
    table = read_table(file_of(values), "a.csv")
    reading = propose(table, **chosen)
    return {found.code: found for found in examine(table, reading)}


def test_a_file_with_whole_weights_states_that_they_are_copies_until_it_is_chosen():
    found = findings(4 * WEIGHTS, weights="weight")["copies"]
    worth = rows(WEIGHTS * 1.37).effective_rows
    assert f"({4 * WEIGHTS.sum():,.0f} in all)" in found.message
    assert f"about {worth:,.0f}:" in found.message
    assert found.change == {"weighting": "sampling"}
    assert found.worth_saying(("weights",))
    for choice in ("sampling", "copies"):
        assert "copies" not in findings(4 * WEIGHTS, weights="weight", weighting=choice)
    assert "copies" not in findings(WEIGHTS / 3, weights="weight")
    assert "copies" not in findings(np.ones(N, int), weights="weight")


def test_the_proposal_of_a_column_of_weights_names_both_meanings():
    found = findings((4 * WEIGHTS).astype(int))["weights"]
    assert f"{rows(WEIGHTS * 1.37).effective_rows:,.0f}. If it counts" in found.message
    assert f"{4 * WEIGHTS.sum():,.0f} rows" in found.message
    assert found.change == {"weights": "weight", "weighting": "sampling"}
    assert findings(WEIGHTS / 3)["weights"].change == {"weights": "weight"}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_file_is_read_with_the_chosen_meaning():
    read = {
        choice: cc.read_predictions(file_of(WEIGHTS), "a.csv", weights="weight", weighting=choice).effective_rows
        for choice in (None, "copies", "sampling")
    }
    assert read[None] == read["copies"] == WEIGHTS.sum()
    assert read["sampling"] == pytest.approx(rows(WEIGHTS * 1.37).effective_rows)
    with pytest.raises(InputError, match="choose one of copies, sampling"):
        cc.read_predictions(file_of(WEIGHTS), "a.csv", weights="weight", weighting="copy")


# -- simulated case-control samples -----------------------------------------------------------------------------

SAMPLES = 120


def p_value(seed: int, *, copies: bool) -> float:
    """Return the p-value of a calibrated model in a sample of 1 in 4 cases and 1 in 20 other rows, weighted for it."""
    rng = np.random.default_rng(seed)
    risk = expit(0.9 * rng.normal(size=6000) - 2)
    died = rng.random(6000) < risk
    weights = np.where(died, 4, 20)
    kept = rng.random(6000) < 1 / weights
    risk, died, weights = risk[kept], died[kept], weights[kept]
    given = weights if copies else cc.sampling_weights(weights)
    sample = Predictions(np.column_stack([1 - risk, risk]), died.astype(int), weights=given)
    return cc.estimate(sample, "event", "ece").p_value


@pytest.mark.wide
@pytest.mark.parametrize("copies", [False, True], ids=["sampling weights", "falsified: copies"])
def test_a_calibrated_model_is_seldom_rejected_in_a_case_control_sample(copies):
    significant = sum(p_value(seed, copies=copies) <= 0.05 for seed in range(SAMPLES))
    most = stats.binom(SAMPLES, 0.05).ppf(0.999)
    assert (significant > most) == copies, f"{significant} of {SAMPLES}, at most {most:.0f} by chance"
