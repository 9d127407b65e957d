"""The kernel curve as a map: its sums row by row, its ends, and its relation to the diagram's curve."""

import numpy as np
import pytest

from calib_core import BINARY_CALIBRATORS, Predictions, diagrams
from calib_core.calibrators import BinaryKernel
from calib_core.estimators import KernelECE
from calib_core.smoothing import Fixed, Gaussian, LogOdds


def claims(n=400, seed=0):
    """Return overconfident scores and their outcomes."""
    rng = np.random.default_rng(seed)
    s = 1 / (1 + np.exp(-2 * rng.standard_normal(n)))
    return s, rng.random(n) < s**1.7


def by_rows(scores, outcomes, weights, at, width):
    """Return s + sum K (z - s) / sum K over the rows, mirrored at log-odds of -16 and 16."""
    x, there = (np.log(v / (1 - v)) for v in (scores, at))
    images = np.concatenate([x, -32 - x, 32 - x])
    k = np.exp(-0.5 * ((there[:, None] - images) / width) ** 2) * np.tile(weights, 3)
    return np.clip(at + k @ np.tile(outcomes - scores, 3) / k.sum(1), 0, 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_map_is_the_smoothed_error_row_by_row(weighted):
    s, z = claims()
    weights = np.random.default_rng(1).integers(1, 4, len(s)) if weighted else np.ones(len(s))
    made = BinaryKernel(Gaussian(), Fixed(0.4)).fit(s, z, weights if weighted else None)
    at = np.linspace(0.05, 0.98, 60)
    np.testing.assert_allclose(made.transform(at), by_rows(s, z, weights, at, 0.4), atol=1e-3)
    assert np.abs(made.transform(at) - at).max() > 0.05


def test_it_is_the_curve_of_the_diagram():
    s, z = claims(3000)
    made = BINARY_CALIBRATORS.make("kernel").fit(s, z)
    method = KernelECE(smoothed="gaps", scale=LogOdds(), bandwidth=Fixed(made.bandwidth_))
    curve = diagrams.kernel_curve(Predictions.from_confidence(s, z), "confidence", method=method)
    at = np.linspace(0.1, 0.97, 40)
    np.testing.assert_allclose(made.transform(at), [curve.value(x) for x in at], atol=1e-3)
    assert made.bandwidth_ == pytest.approx(curve.bandwidth)


def test_calibrated_scores_stay_where_they_are_but_for_noise():
    rng = np.random.default_rng(2)
    s = rng.random(50_000)
    moved = BinaryKernel().fit(s, rng.random(50_000) < s).transform(s) - s
    assert np.abs(moved).mean() < 0.01


def test_beyond_the_rows_the_last_error_is_kept_and_stays_a_probability():
    made = BinaryKernel(scale=LogOdds()).fit([0.6] * 50 + [0.7] * 50, [0] * 50 + [1] * 50)
    assert made.transform([0.0, 1.0]).tolist() == [0.0, 1.0]
    low, high = made.transform([0.4]), made.transform([0.9])
    assert low == 0.0, "the rows at .6 never came true: .6 too high, and .4 can only fall to 0"
    assert high == 1.0


def test_equal_scores_get_the_share_that_came_true_and_words():
    made = BinaryKernel().fit([0.25] * 8, [1] * 6 + [0] * 2)
    assert made.transform([0.25]) == pytest.approx(0.75, abs=1e-9)
    assert made.insides().unit == "curve"
    assert [n.value for n in made.insides().numbers()] == made.values_.tolist()
