"""Scores of calibrated models with many rows: a normal approximation against labels drawn row by row."""

from dataclasses import replace

import numpy as np
import pytest
from null_rates import gumbel_labels, spread_rows
from scipy.stats import ks_2samp, kstest, norm

from calib_core import Predictions, estimate
from calib_core.inference import noise_floor
from calib_core.inference.noise import outcome_draws, score_draws
from calib_core.inference.noise.score_draws import label_losses

SCORES = ("log-loss", "brier", "accuracy")
RUNS, LEVEL = 500, 0.1


def spread(n, k, seed, dtype=np.float64, **more):
    rng = np.random.default_rng(seed)
    rows = spread_rows(n, k, rng).astype(dtype)
    return Predictions(rows, gumbel_labels(rows.astype(np.float64), rng), **more)


@pytest.fixture
def every_row_is_many(monkeypatch):
    monkeypatch.setattr(score_draws, "MANY_ROWS", 0)


def law_of(p, key):
    return score_draws.mean_law(estimate(p, None, key).question)


@pytest.mark.parametrize("key", SCORES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_normal_law_is_that_of_labels_drawn_row_by_row(every_row_is_many, monkeypatch, key, weighted):
    """The slow twin has the same mean and spread: 4 standard errors of 4,000 draws."""
    weights = np.random.default_rng(2).uniform(0.2, 3.0, 2000) if weighted else None
    p = spread(2000, 5, 1, np.float32, weights=weights)
    law = law_of(p, key)
    monkeypatch.setattr(score_draws, "MANY_ROWS", 50_000)
    by_rows = noise_floor(estimate(p, None, key).question, 4000, random_state=3).draws
    assert law.mean == pytest.approx(by_rows.mean(), abs=4 * law.spread / np.sqrt(4000))
    assert law.spread == pytest.approx(by_rows.std(), rel=4 / np.sqrt(2 * 4000))
    assert ks_2samp(law.drawn(np.random.default_rng(0), 4000), by_rows).pvalue > 0.01
    narrow = replace(law, spread=0.8 * law.spread)
    assert ks_2samp(narrow.drawn(np.random.default_rng(0), 4000), by_rows).pvalue < 1e-4


@pytest.mark.parametrize("key", SCORES)
def test_what_calibrated_models_show_is_uniform_in_the_law(every_row_is_many, key):
    """The level over RUNS whole models; labels are drawn by other code. A distribution too narrow fails."""
    rng = np.random.default_rng(7)
    rows = spread_rows(4000, 3, rng)
    p = Predictions(rows, np.zeros(4000, dtype=int))
    law = law_of(p, key)
    shown = np.array([estimate(p.relabelled(gumbel_labels(rows, rng)), None, key).value for _ in range(RUNS)])
    z = (shown - law.mean) / law.spread
    margin = 3 * np.sqrt(LEVEL * (1 - LEVEL) / RUNS)
    rejected = (np.abs(z) > norm.isf(LEVEL / 2)).mean()
    assert rejected == pytest.approx(LEVEL, abs=margin + law.rho / 15)
    assert (np.abs(z) > norm.isf(LEVEL / 2) * 0.8).mean() > LEVEL + margin
    # Accuracies of 4,000 rows lie on steps of 1/4,000: half a step is added at random.
    step = 0.0 if key != "accuracy" else 1 / 4000 / law.spread
    assert kstest(z + step * (rng.random(RUNS) - 0.5), "norm").pvalue > 0.001


@pytest.mark.parametrize("key", SCORES)
@pytest.mark.parametrize("probs", [[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]], ids=["certain", "uniform"])
def test_what_labels_cannot_change_is_known(every_row_is_many, monkeypatch, key, probs):
    """Such cases are scores at exactly 1, and rows whose loss is the same for every outcome."""
    p = Predictions([probs] * 60, [0] * 50 + [1] * 10)
    known = noise_floor(estimate(p, None, key).question)
    monkeypatch.setattr(score_draws, "MANY_ROWS", 50_000)
    by_rows = noise_floor(estimate(p, None, key).question)
    if key == "accuracy" and probs[0] < 1:  # whether a row is right does vary
        assert known.mean == pytest.approx(1 / 3, abs=0.01)
        return
    np.testing.assert_allclose(known.draws, by_rows.draws, atol=1e-12)
    assert known.p_value == by_rows.p_value


@pytest.mark.parametrize("key", SCORES)
def test_few_rows_decide_and_the_labels_are_drawn(every_row_is_many, key):
    """Almost certain rows, and one weight of a million: no normal approximation is valid."""
    sure = np.tile([1 - 1e-4, 1e-4], (300, 1))
    assert law_of(Predictions(sure, np.zeros(300, dtype=int)), key) is None
    heavy = np.ones(300) + 1e6 * (np.arange(300) == 0) + 0.5
    assert law_of(Predictions(spread(300, 3, 0).probs, np.zeros(300, dtype=int), weights=heavy), key) is None


def test_the_law_is_that_of_every_label_of_every_row(every_row_is_many):
    """The moments are computed by hand, label by label; accuracies too."""
    p = spread(2000, 4, 3)
    for key in SCORES:
        score = estimate(p, None, key).question.estimator
        hit = np.arange(4) == p.predicted[:, None]
        lost = hit.astype(float) if key == "accuracy" else score.label_losses(p.probs)
        mean = (p.probs * lost).sum(1)
        variance = (p.probs * np.square(lost - mean[:, None])).sum(1)
        law = law_of(p, key)
        assert (law.mean, law.spread) == pytest.approx((mean.mean(), np.sqrt(variance.sum()) / 2000), rel=1e-9)


def test_few_rows_are_drawn_one_by_one(monkeypatch):
    def refuse(*_):
        raise AssertionError("no normal law of few rows")

    monkeypatch.setattr(score_draws.MeanLaw, "drawn", refuse)
    assert noise_floor(estimate(spread(400, 3, 0), None, "brier").question, 5).resamples == 5


@pytest.mark.parametrize("key", ["log-loss", "brier"])
def test_a_row_s_losses_are_those_of_its_labels(key):
    """Single rows are compared with powers, including scores of exactly 0 and 1."""
    rows = np.vstack([spread(200, 4, 5).probs, np.eye(4), [[0.5, 0.5, 0, 0]]]).astype(np.float32)
    p = Predictions(rows, np.zeros(len(rows), dtype=int))
    score = estimate(p, None, key).question.estimator
    found = label_losses(score, p)
    assert label_losses(score, p) is found, "kept"
    for i, row in enumerate(rows.astype(np.float64)):
        lost = score.label_losses(row[None])[0]
        mean = (row * lost).sum()
        moments = [(row * abs(lost - mean) ** m).sum() for m in (2, 3)]
        seen = [each[i] for each in (found.expected, found.variance, found.third, found.least, found.most)]
        np.testing.assert_allclose(seen, [mean, *moments, lost.min(), lost.max()], rtol=1e-12, atol=1e-15)


def test_what_many_rows_show_by_noise_reads_no_row_again(monkeypatch):
    def refuse(*_):
        raise AssertionError("classes drawn row by row")

    monkeypatch.setattr(outcome_draws, "classes", refuse)
    p = spread(60_000, 3, 0)
    assert all(estimate(p, None, key).p_value > 0.001 for key in SCORES)


@pytest.mark.parametrize("n", [1, 60, 700])
def test_the_accuracy_of_bare_confidences_has_the_floor_of_their_number_of_hits(n):
    rng = np.random.default_rng(n)
    h = rng.beta(4, 2, n)
    p = Predictions.from_confidence(h, rng.random(n) < h)
    floor = estimate(p, None, "accuracy").noise_floor
    law = np.ones(1)
    for chance in h:
        law = np.convolve(law, [1 - chance, chance])
    below = np.cumsum(law)
    # The 5 % point of 1,000 draws is between the exact 3 and 7 % points (2.9 standard errors), and p at its own.
    low, high = (np.searchsorted(below, level) / n for level in (0.03, 0.07))
    assert low - 1e-12 <= floor.high <= high + 1e-12
    exact = below[int(p.correct.sum())]
    assert floor.p_value == pytest.approx(exact, abs=0.05)
