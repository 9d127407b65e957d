"""Gaussian-process calibration: derivatives, exact inference, and the curves that it can and cannot fit."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from calib_core import CALIBRATORS, Predictions
from calib_core.calibrators import GaussianProcess, shared_process
from calib_core.calibrators.fitting.softmax_loss import LogRows
from calib_core.calibrators.shared_process import AMPLITUDES, LENGTHS, SLOPE, LatentLoss


def bent(n, k=3, seed=0, bend=lambda z: 0.5 * z):
    """Return rows whose labels follow softmax(z + bend(z)) of their log-probabilities z."""
    rng = np.random.default_rng(seed)
    p = softmax(2 * rng.standard_normal((n, k)), axis=1)
    q = softmax(np.log(p) + bend(np.log(p)), axis=1)
    return Predictions(p, np.minimum((rng.random(n)[:, None] > q.cumsum(1)).sum(1), k - 1))


def covariance(x, y, amplitude, length):
    """Return the prior covariance of g, from its definition."""
    return SLOPE**2 * np.outer(x, y) + amplitude**2 * np.exp(-((x[:, None] - y) ** 2) / (2 * length**2))


def exact(p, new, amplitude, length):
    """Return Laplace's approximation with every log-probability of every row as a latent value: (new q, evidence)."""
    z, (n, k) = np.log(p.probs), p.probs.shape
    x, hits = z.ravel(), np.eye(k)[p.labels]
    prior = covariance(x, x, amplitude, length)
    alpha = np.zeros(n * k)
    for _ in range(100):  # g = K alpha, and alpha = hits - q where the posterior is largest
        g = prior @ alpha
        q = softmax(z + g.reshape(n, k), axis=1)
        curvature = np.zeros((n * k, n * k))
        for i, row in enumerate(q):
            curvature[i * k : i * k + k, i * k : i * k + k] = np.diag(row) - np.outer(row, row)
        target = curvature @ g + (hits - q).ravel()
        before, alpha = alpha, np.linalg.solve(np.eye(n * k) + curvature @ prior, target)
        if np.abs(alpha - before).max() < 1e-12:
            break
    fitted = log_softmax(z + (prior @ alpha).reshape(n, k), axis=1)[np.arange(n), p.labels].sum()
    evidence = fitted - alpha @ prior @ alpha / 2 - np.linalg.slogdet(np.eye(n * k) + curvature @ prior)[1] / 2
    g = covariance(np.log(new).ravel(), x, amplitude, length) @ alpha
    return softmax(np.log(new) + g.reshape(new.shape), axis=1), evidence


@pytest.mark.parametrize(("amplitude", "length"), [(0.3, 4.0), (1.0, 1.0), (3.0, 2.0)])
def test_sixty_rows_are_calibrated_as_by_exact_inference(amplitude, length):
    """The nodes are 1/4 apart, so that linear interpolation costs a few thousandths at the shortest length."""
    p = bent(60, bend=lambda z: np.sin(2 * z))
    new = bent(40, seed=1).probs
    new = new[new.min(1) >= p.probs.min()]  # g is constant below what was seen
    want, _ = exact(p, new, amplitude, length)
    cal = GaussianProcess(amplitude, length).fit_on(p)
    assert np.abs(want - new).max() > 0.05, "there is something to find"
    np.testing.assert_allclose(cal.predict_proba(new), want, atol=4e-3)


def test_slope_and_curvature_are_the_numerical_ones():
    p = bent(50, k=4)
    logs = LogRows.log_probabilities(p)
    loss = LatentLoss(logs, p.labels, np.random.default_rng(0).random(50))
    g = 0.5 * np.random.default_rng(1).standard_normal(loss.last + 1)
    here = loss(g)
    z = np.log(p.probs)
    written = -log_softmax(z + np.interp(z, loss.nodes[::-1], g[::-1]), axis=1)[np.arange(50), p.labels]
    assert here.value == pytest.approx(loss.weights @ written)
    for j in range(len(g)):
        step = 1e-5 * np.eye(len(g))[j]
        up, down = loss(g + step), loss(g - step)
        assert here.slope[j] == pytest.approx((up.value - down.value) / 2e-5, abs=1e-6)
        np.testing.assert_allclose(here.curvature[j], (up.slope - down.slope) / 2e-5, atol=1e-6)


@pytest.mark.parametrize("size", [0, 3])
def test_the_scales_chosen_are_nearly_as_likely_as_the_best_by_exact_inference(size):
    """Without bends in the labels the most flexible prior is the least likely, with them the stiffest."""
    p = bent(150, k=2, bend=lambda z: size * np.sin(z))
    evidence = {(a, s): exact(p, p.probs[:1], a, s)[1] for a in AMPLITUDES for s in LENGTHS}
    cal = GaussianProcess().fit_on(p)
    assert evidence[cal.amplitude_, cal.length_] > max(evidence.values()) - 0.5
    worst = evidence[(3.0, 1.0) if size == 0 else (0.1, 8.0)]
    assert max(evidence.values()) - worst > 1.5, "the choice matters"


def test_bends_that_no_temperature_has_are_found():
    fit, test = (bent(4000, seed=s, bend=lambda z: np.where(z > -1.5, 0.0, 1.5 + z)) for s in (1, 2))
    loss = {}
    for key in ("identity", "temperature", "gp"):
        q = CALIBRATORS.make(key).fit_on(fit).apply(test).probs
        loss[key] = -np.log(q[np.arange(4000), test.labels]).mean()
    assert loss["gp"] < loss["temperature"] - 0.002 < loss["identity"]


def test_a_thousand_classes_converge_to_the_temperature_they_were_sharpened_by():
    fit = bent(600, k=1000, bend=lambda z: -0.5 * z)
    cal = GaussianProcess().fit_on(fit)
    assert cal.status_ == "converged"
    assert cal.note == ""
    likely = cal.points_ > -12
    slope = np.polyfit(cal.points_[likely], cal.shifts_[likely], 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.05)


def test_a_first_guess_from_some_rows_leads_to_the_same_fit(monkeypatch):
    fit = bent(9000, bend=np.sin)
    guessed = GaussianProcess().fit_on(fit)
    monkeypatch.setattr(shared_process, "_SAMPLE_ROWS", 9000)
    from_zero = GaussianProcess().fit_on(fit)
    np.testing.assert_allclose(guessed.shifts_, from_zero.shifts_, atol=1e-8)


def test_beyond_what_was_seen_the_curve_is_level():
    cal = GaussianProcess().fit_on(bent(500))
    low = np.exp(cal.points_[0])
    rows = np.array([[1 - low * 1e-3 - low * 1e-5, low * 1e-3, low * 1e-5]])
    q = cal.predict_proba(rows)
    assert q[0, 1] / q[0, 2] == pytest.approx(100, rel=1e-6)


def test_classes_may_change_places_as_is_declared():
    rows = np.tile([[0.6, 0.4]], (400, 1))
    cal = GaussianProcess().fit(rows, [0] * 120 + [1] * 280)
    assert cal.predict(rows[:1]).tolist() == [1]
    assert not CALIBRATORS["gp"].flags.keeps_argmax


def test_its_words_say_the_scales_and_the_numbers_are_the_curve():
    cal = GaussianProcess(1.0, 2.0).fit_on(bent(300))
    inside = cal.insides()
    assert inside.short == "amplitude 1, length 2"
    numbers = list(inside.numbers())
    assert [number.value for number in numbers] == cal.shifts_.tolist()
    assert numbers[-1].place == "probability 1"
