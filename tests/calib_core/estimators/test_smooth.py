"""Smooth ECE against direct sums of reflected Gaussians, and properties of its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from calib_core import REDUCTIONS, Predictions, estimate
from calib_core.claims.binary_claims import Stratum
from calib_core.estimators import smooth
from calib_core.estimators.smooth import SmoothECE
from calib_core.reductions import Confidence
from calib_core.smoothing import ScoreGrid
from tests.support.smooth_by_hand import fixed_point, smooth_error


def direct_error(scores, outcomes, width, points=4001):
    """Return smECE_s by its definition: a Gaussian and its mirror images around every score, at many t."""
    t = np.linspace(0, 1, points)
    total = np.zeros(points)
    for s, z in zip(scores, outcomes, strict=True):
        images = np.concatenate([s + 2 * np.arange(-4, 5), -s + 2 * np.arange(-4, 5)])
        kernel = np.exp(-((t[:, None] - images) ** 2) / (2 * width**2)).sum(1) / (width * np.sqrt(2 * np.pi))
        total += (z - s) * kernel
    return np.trapezoid(np.abs(total), t) / len(scores)


def sample(n, seed, sharpness=1.0):
    rng = np.random.default_rng(seed)
    scores = rng.beta(3, 1, n)
    return scores, rng.random(n) < scores**sharpness


@pytest.mark.parametrize("width", [0.02, 0.1, 0.5])
def test_the_error_at_a_width_is_that_of_a_direct_sum(width):
    scores, outcomes = sample(60, 0, 2.0)
    scores[:3] = 0, 1, 1
    made = smooth_error(Stratum(scores, outcomes))(width)
    assert made == pytest.approx(direct_error(scores, outcomes, width), rel=2e-4)


def test_the_value_is_the_fixed_point_of_the_direct_sum():
    scores, outcomes = sample(60, 1, 2.0)
    wanted = brentq(lambda width: direct_error(scores, outcomes, width) - width, 1e-2, 1)
    made = estimate(Predictions.from_confidence(scores, outcomes), "confidence", "smece").value
    assert made == pytest.approx(wanted, rel=2e-4)


def test_scores_at_the_ends_count_as_much_as_others():
    """Scores at the ends of [0, 1] have full weight; relplot counts those of its first node half, so it is higher."""
    rng = np.random.default_rng(3)
    scores = np.where(rng.random(400) < 0.6, 1e-4 * rng.random(400), rng.random(400))
    outcomes = rng.random(400) < 0.8 * scores
    wanted = brentq(lambda width: direct_error(scores, outcomes, width, 1001) - width, 1e-2, 1, xtol=1e-6)
    made = SmoothECE()(Confidence().split(Predictions.from_confidence(scores, outcomes))).value
    assert made == pytest.approx(wanted, rel=2e-3)
    inside = scores > 1e-3
    weights = np.where(inside, 1.0, 0.5)
    halved = Predictions.from_confidence(scores, outcomes, weights=weights / weights.mean())
    assert SmoothECE()(Confidence().split(halved)).value > 1.1 * made


@given(seed=st.integers(0, 999), n=st.integers(1, 40))
def test_the_error_falls_with_the_width_from_unsmoothed_to_bias(seed, n):
    scores, outcomes = sample(n, seed)
    error = smooth_error(Stratum(scores, outcomes))
    errors = [error(width) for width in (0, 0.001, 0.01, 0.05, 0.2, 1, 5)]
    assert (np.diff(errors) <= 1e-12).all()
    assert errors[0] <= np.abs(outcomes - scores).mean() + 1e-12
    assert errors[-1] == pytest.approx(abs(outcomes.mean() - scores.mean()), abs=1e-9)
    value = estimate(Predictions.from_confidence(scores, outcomes), "confidence", "smece").value
    assert errors[-1] - 1e-12 <= value <= errors[0] + 1e-12


def test_a_bias_common_to_all_scores_is_the_value():
    """z - s = 0.2 on average at every score: smoothing at any width preserves it."""
    scores = np.repeat(np.linspace(0.1, 0.7, 7), 10)
    outcomes = np.concatenate([np.arange(10) < round(10 * (s + 0.2)) for s in np.linspace(0.1, 0.7, 7)])
    made = estimate(Predictions.from_confidence(scores, outcomes), "confidence", "smece").value
    assert made == pytest.approx(0.2, abs=1e-9)


def test_perfect_and_worst_claims():
    p = Predictions.from_confidence([1.0, 1.0, 0.0], [True, True, False])
    assert estimate(p, "confidence", "smece").value == pytest.approx(0, abs=1e-12)
    p = Predictions.from_confidence([1.0, 1.0], [False, False])
    assert estimate(p, "confidence", "smece").value == pytest.approx(1, abs=1e-9)


def test_small_errors_go_to_the_finer_grid_and_agree_with_a_finer_one_still():
    rng = np.random.default_rng(0)
    scores = rng.beta(0.01, 20, 50_000)
    stratum = Stratum(scores, rng.random(50_000) < scores)
    made = estimate(Predictions.from_confidence(stratum.scores, stratum.outcomes), "confidence", "smece").value
    assert made < 4 / 4096
    assert made == pytest.approx(fixed_point(smooth_error(stratum, ScoreGrid(cells=2**18))), rel=5e-3)
    assert made != pytest.approx(fixed_point(smooth_error(stratum)), rel=1e-6)


def test_a_calibrated_model_approaches_zero_and_a_miscalibrated_one_its_error():
    rng = np.random.default_rng(0)
    h = rng.random(200_000)
    calibrated = Predictions.from_confidence(h, rng.random(200_000) < h)
    assert estimate(calibrated, "confidence", "smece").value < 0.006
    # E|h - h^2| = 1/2 - 1/3 with h uniform; smoothing of width 0.16 takes some of it away near the ends.
    squared = Predictions.from_confidence(h, rng.random(200_000) < h**2)
    assert estimate(squared, "confidence", "smece").value == pytest.approx(1 / 6, abs=0.003)


def test_weights_of_a_stratum_without_claims():
    p = Predictions([[0.9, 0.1], [0.8, 0.2]], [0, 0])
    made = estimate(p, "top-label", "smece")
    assert np.isnan(made.per_stratum[1])
    assert made.value == made.per_stratum[0]
    weighed = SmoothECE()(Confidence().split(Predictions([[0.9, 0.1], [0.8, 0.2]], [0, 1], weights=[1, 0])))
    assert weighed.value == pytest.approx(0.1, abs=1e-9)


def test_strata_without_claims_or_residuals_cost_no_search_on_the_finer_grid(monkeypatch):
    searched = []
    search = smooth.fixed_points
    monkeypatch.setattr(smooth, "fixed_points", lambda *given: searched.append(given) or search(*given))
    p = Predictions([[0.75, 0.25, 0.0]] * 8, [0] * 6 + [1] * 2)
    made = estimate(p, "class-wise", "smece")
    assert made.per_stratum.tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(estimate(p, "top-label", "smece").per_stratum[1:]).all()
    assert len(searched) == 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("notion", ["class-wise", "top-label"])
@pytest.mark.parametrize("sharpness", [0.3, 30.0])
def test_strata_together_have_the_errors_they_have_alone(notion, weighted, sharpness):
    """More strata than are computed at once, some narrow, some without claims, some with few."""
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.full(21, sharpness), 300)
    labels = (probs.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1).clip(0, 20)
    p = Predictions(probs, labels, weights=rng.integers(0, 3, 300) if weighted else None)
    claims = REDUCTIONS.make(notion).split(p)
    together = SmoothECE()(claims).per_stratum
    for s in range(0, 21, 2):
        stratum = claims.stratum(s)
        if not stratum.total:
            assert np.isnan(together[s])
            continue
        alone = fixed_point(smooth_error(stratum))
        alone = alone if alone >= 4 / 4096 else fixed_point(smooth_error(stratum, ScoreGrid(cells=8 * 4096)))
        assert together[s] == pytest.approx(alone, rel=1e-10, abs=1e-13)
