"""The gain of the best one-parameter map, by the likelihood ratio."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax

from calib_core.evaluation.likelihood_gain import best_gain


def drawn(n, k, factor, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k)) * 1.5
    return softmax(factor * z, axis=1), (z + rng.gumbel(size=z.shape)).argmax(axis=1)


def test_ends_and_p_are_those_of_a_slow_profile():
    p, y = drawn(300, 3, 1.4, 0)
    logs = np.log(p)

    def likelihood(b):
        return np.log(softmax((1 + b) * logs, axis=1)[np.arange(300), y]).sum()

    best = minimize_scalar(lambda b: -likelihood(b), bounds=(-0.9, 2), method="bounded", options={"xatol": 1e-10}).x
    found = best_gain(p, y, logs, np.arange(300), 0.9)
    grid = np.linspace(best - 0.5, best + 0.5, 20001)
    inside = np.array([2 * (likelihood(best) - likelihood(b)) for b in grid[::50]])
    # phi is 1 or a little more, so that the interval is at least the plain one
    plain = grid[::50][inside <= 1.645**2]
    gains = [np.mean(np.sum((q := softmax((1 + b) * logs, axis=1)) * np.log(q / p), axis=1)) for b in plain[[0, -1]]]
    assert found.low == pytest.approx(min(gains), rel=0.25)
    assert found.high == pytest.approx(max(gains), rel=0.25)
    assert found.low <= likelihood(best) / 300 - likelihood(0) / 300 <= found.high


def test_the_lower_end_is_above_0_exactly_where_the_test_rejects():
    for seed in range(40):
        p, y = drawn(100, 2, 1.3, seed)
        found = best_gain(p, y, np.log(p), np.arange(100), 0.9)
        assert (found.low > 0) == (found.p_value < 0.1)


@pytest.mark.wide
@pytest.mark.parametrize("fault", [False, True])
def test_calibrated_models_are_rejected_as_rarely_as_promised_and_the_best_gain_is_covered(fault):
    """500 calibrated samples and 500 of a known shift; the falsified twin counts every row four times."""
    rng = np.random.default_rng(5)
    rejected, missed = [], []
    for _ in range(500):
        z = rng.normal(size=100) * 1.5
        events = np.column_stack([np.zeros(100), np.ones(100)])
        for shift, told in ((0.0, rejected), (0.6, missed)):
            y = (rng.random(100) < expit(z)).astype(int)
            p = np.column_stack([expit(-z - shift), expit(z + shift)])
            times = 4 if fault else 1
            found = best_gain(np.tile(p, (times, 1)), np.tile(y, times), np.tile(events, (times, 1)),
                              np.arange(100 * times), 0.9)  # fmt: skip
            truth = np.column_stack([expit(-z), expit(z)])
            gain = (truth * np.log(truth / p)).sum(axis=1).mean()
            told.append(found.p_value <= 0.05 if shift == 0 else not found.low <= gain <= found.high)
    wrong = np.mean(rejected) > 0.08 or np.mean(missed) > 0.14
    assert wrong == fault


def test_rows_of_one_unit_are_evidence_once():
    p, y = drawn(60, 2, 2.0, 1)
    again, labels = np.repeat(p, 8, axis=0), np.repeat(y, 8)
    alone = best_gain(again, labels, np.log(again), np.arange(480), 0.9)
    together = best_gain(again, labels, np.log(again), np.repeat(np.arange(60), 8), 0.9)
    once = best_gain(p, y, np.log(p), np.arange(60), 0.9)
    assert alone.p_value < together.p_value
    assert together.p_value == pytest.approx(once.p_value, rel=0.6)


def test_outcomes_that_a_map_of_one_number_separates_have_no_interval():
    p = np.full((20, 2), 0.5)
    assert (
        best_gain(p, np.zeros(20, dtype=int), np.column_stack([np.ones(20), np.zeros(20)]), np.arange(20), 0.9) is None
    )
