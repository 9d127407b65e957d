"""Errors based on rows, for many outcomes at once: one outcome after the other is the slow twin."""

from functools import partial

import numpy as np
import pytest
from null_rates import gumbel_labels, spread_rows

from calib_core import ESTIMATORS, REDUCTIONS, Predictions, estimate
from calib_core.estimators import KernelECE, SmoothECE
from calib_core.estimators.smooth import _FINE_GRID, _GRID
from calib_core.inference import noise_floor
from calib_core.inference.intervals import wild_bootstrap
from calib_core.inference.noise import outcome_draws, redrawn_errors

KEYS = tuple(key for key in ESTIMATORS if hasattr(ESTIMATORS.make(key), "redrawn"))
BY_ROWS = (
    "ece-convex",
    "ece-adaptive-convex",
    "ece-kde",
    "smece",
    "ece-sweep",
    "max-deviation",
    "skce",
    "two-bin",
    "log-loss",
)


def sample(weighted=False, n=120, k=3, seed=0, rounded=False):
    rng = np.random.default_rng(seed)
    p = spread_rows(n, k, rng, 2.0)
    claimed = np.round(p, 2) if rounded else (p**1.6).astype(np.float32)
    weights = rng.choice([0.0, 0.5, 1.5, 3.25], n) if weighted else None
    return Predictions(claimed / claimed.sum(1, keepdims=True), gumbel_labels(p, rng), weights=weights)


def one_by_one(question, resamples, seed=0):
    """Return the estimate of each drawn outcome, recomputed from its rows."""
    claims = question.claims
    claims = claims.in_order() if question.ranks == 1 and hasattr(claims, "codes") else claims
    return np.array(
        [
            question.of(drawn).value
            for count, rng in outcome_draws.streams(resamples, seed)
            for drawn in outcome_draws.outcomes(claims, question.ranks, rng, count)
        ]
    )


def test_every_error_of_claims_that_looks_at_the_rows_takes_outcomes_together():
    assert set(BY_ROWS) <= set(KEYS)


@pytest.mark.parametrize("case", ["plain", "weighted", "rounded"])
@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-confidence"])
def test_a_floor_is_that_of_outcomes_taken_one_by_one(notion, case, monkeypatch):
    """The draws may be in parts of a few: memory blocks do not affect the result."""
    monkeypatch.setattr(redrawn_errors, "_AT_ONCE", 1000)
    predictions = sample(case == "weighted", rounded=case == "rounded")
    for key in KEYS:
        question = estimate(predictions, notion, key).question
        np.testing.assert_allclose(noise_floor(question, 6).draws, one_by_one(question, 6), atol=1e-12, err_msg=key)


@pytest.mark.parametrize("made", [KernelECE(smoothed="gaps"), ESTIMATORS.make("ece-kde", kernel="beta")])
def test_kernel_errors_of_gaps_and_of_other_kernels_too(made):
    question = estimate(sample(), "class-wise", made).question
    np.testing.assert_allclose(noise_floor(question, 8).draws, one_by_one(question, 8), atol=1e-12)


def test_a_smooth_error_below_the_coarser_grid_is_that_of_the_finer():
    """20,000 near-certain claims: the resulting width is below four steps of the coarser grid."""
    scores = 1.0 - 1e-3 * np.random.default_rng(0).random(20_000)
    question = estimate(Predictions.from_confidence(scores, scores > 0), "confidence", SmoothECE()).question
    found = noise_floor(question, 4).draws
    assert (found < 4 * _GRID.step).all()
    np.testing.assert_allclose(found, one_by_one(question, 4), atol=1e-12)


def test_masses_of_the_coarser_grid_are_those_of_the_finer():
    scores = np.random.default_rng(1).random(50)
    np.testing.assert_allclose(
        _FINE_GRID.coarser(_FINE_GRID.masses(scores), _GRID.cells), _GRID.masses(scores), atol=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("score", ["log-loss", "brier", "accuracy"])
def test_the_floor_of_a_score_of_whole_rows_is_that_of_rows_relabelled_one_by_one(score, weighted):
    predictions = sample(weighted)
    question = estimate(predictions, None, score).question
    (count, rng), *_ = outcome_draws.streams(9, 0)
    labels = outcome_draws.labels(predictions.rows, rng, count).astype(np.intp)
    twin = [question.answer(predictions.relabelled(labels[:, r])).value for r in range(count)]
    np.testing.assert_allclose(noise_floor(question, 9).draws, twin, atol=1e-12)


def test_streams_are_joined_and_parted_to_what_is_held(monkeypatch):
    claims = REDUCTIONS.make("confidence").split(sample())
    picture = partial(ESTIMATORS.make("max-deviation").redrawn, claims)
    together = redrawn_errors.values(claims, 1, [picture], outcome_draws.streams(450, 0))
    monkeypatch.setattr(redrawn_errors, "_HELD", 120 * 200)
    np.testing.assert_array_equal(redrawn_errors.values(claims, 1, [picture], outcome_draws.streams(450, 0)), together)
    assert together.shape == (1, 450)


def test_rows_that_are_no_distribution_have_each_claim_drawn_alone():
    """Two classes with probability one half each, drawn independently: both occur in a quarter of the rows."""
    claims = REDUCTIONS.make("class-wise").split(Predictions(np.full((400, 2), 0.5), np.zeros(400, dtype=int)))

    def rates(s, stratum):
        place = np.zeros(400, dtype=np.intp)
        return redrawn_errors.Image(place, None, 1, lambda sums: sums[:, 0] / 400 * (1 if s else -1))

    apart, together = (
        redrawn_errors.values(claims, 1, [rates], [(300, np.random.default_rng(0))], apart=law)[0]
        for law in (True, False)
    )
    # Half the difference of the rates: variance (1/4 + 1/4)/400/4 if independent, 1/400/4 if one class occurs.
    assert apart.std() == pytest.approx(np.sqrt(0.5 / 400) / 2, rel=0.15)
    assert together.std() == pytest.approx(np.sqrt(1.0 / 400) / 2, rel=0.15)


@pytest.mark.parametrize("notion", ["confidence", "class-wise"])
def test_noise_of_residuals_is_the_same_with_maps_kept_or_made_anew(notion, monkeypatch):
    asked = estimate(sample(n=40), notion, "max-deviation").question
    kept = wild_bootstrap.bounds(asked.estimator, asked.claims, asked.estimator(asked.claims), asked.ranks, 0.9, 0)
    monkeypatch.setattr(wild_bootstrap, "_KEPT_BYTES", 0)
    assert (
        wild_bootstrap.bounds(asked.estimator, asked.claims, asked.estimator(asked.claims), asked.ranks, 0.9, 0) == kept
    )


@pytest.mark.parametrize("notion", ["confidence", "top-label"])
def test_a_floor_over_attainable_confidences_has_the_bins_of_the_value(notion):
    """Bins of attainable confidences begin at 1/3 for three classes."""
    every, attainable = (ESTIMATORS.make("ece-convex", attainable=flag) for flag in (False, True))
    question = estimate(sample(), notion, attainable).question
    found = noise_floor(question, 8).draws
    np.testing.assert_allclose(found, one_by_one(question, 8), atol=1e-12)
    assert not np.allclose(found, noise_floor(estimate(sample(), notion, every).question, 8).draws, atol=1e-4)
