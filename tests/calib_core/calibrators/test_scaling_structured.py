"""Structured matrix scaling: its minimum by a slow twin, shrinkage with few rows, its authors' package."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from calib_core import CALIBRATORS


def mixed(n, k=4, seed=0, temperature=1.6, mixing=0.3):
    """Return rows with errors in temperature, and optionally by mixing (equal for every n) and offsets."""
    fixed = np.random.default_rng(99)
    truth = (np.eye(k) + mixing * fixed.standard_normal((k, k))) / temperature
    offsets = mixing * fixed.standard_normal(k)
    rng = np.random.default_rng(seed)
    z = 2 * rng.standard_normal((n, k))
    labels = (z @ truth + offsets + rng.gumbel(size=(n, k))).argmax(axis=1)
    return softmax(z, axis=1), labels


def log_loss(q, labels):
    return -np.log(q[np.arange(len(labels)), labels]).mean()


def prepared(p, temperature):
    n, k = p.shape
    return np.log((n * softmax(np.log(p) / temperature, axis=1) + 1 / k) / (n + 1))


def objective(point, x, labels, strength, mixing):
    """Return the docstring's formula, term by term; ``point`` is v, b and, if there is any mixing, M row by row."""
    n, k = x.shape
    v, b = point[:k], point[k : 2 * k]
    off = np.zeros((k, k))
    if mixing:
        off[~np.eye(k, dtype=bool)] = point[2 * k :]
    z = x @ (np.eye(k) + np.diag(v) + off).T + b
    nll = -log_softmax(z, axis=1)[np.arange(n), labels].mean()
    return nll + strength * k / n * (v @ v + b @ b) + strength * k * (k - 1) / n * (off**2).sum()


@pytest.mark.parametrize("mixing", [True, False])
@pytest.mark.parametrize("strength", [0.2, 1.0])
def test_it_is_the_least_of_the_penalised_loss_as_it_is_written(mixing, strength):
    p, labels = mixed(90, 3)
    cal = CALIBRATORS.make("structured", strength=strength, mixing=mixing).fit(p, labels)
    x = prepared(p, cal.temperature_)
    twin = minimize(objective, np.zeros(12 if mixing else 6), (x, labels, strength, mixing), tol=1e-9)
    weights = cal.weights_ if mixing else np.diag(cal.weights_)
    off = weights[~np.eye(3, dtype=bool)] if mixing else []
    ours = objective(np.concatenate([np.diag(weights) - 1, cal.intercepts_, off]), x, labels, strength, mixing)
    assert ours <= twin.fun + 1e-12
    assert ours == pytest.approx(twin.fun, abs=1e-8)
    np.testing.assert_allclose(cal.predict_proba(p[:9]), softmax(x[:9] @ weights.T + cal.intercepts_, axis=1))


def test_temperature_is_that_of_temperature_scaling():
    p, labels = mixed(200)
    temperature = CALIBRATORS.make("temperature").fit(p, labels).temperature_
    assert CALIBRATORS.make("structured").fit(p, labels).temperature_ == temperature


def test_without_a_penalty_it_is_matrix_scaling_of_the_prepared_rows():
    p, labels = mixed(600, 3)
    cal = CALIBRATORS.make("structured", strength=0.0).fit(p, labels)
    rows = np.exp(prepared(p, cal.temperature_))
    plain = CALIBRATORS.make("matrix", off_diagonal=0.0, intercept=0.0).fit(rows, labels)
    np.testing.assert_allclose(cal.predict_proba(p), plain.predict_proba(rows), atol=1e-6)


def mean_losses(n, k, mixing, keys, seeds):
    """Return the log loss on new rows, averaged over seeds, of each calibrator."""
    new, truth = mixed(4000, k, seed=1000, mixing=mixing)
    fits = [mixed(n, k, seed=s, mixing=mixing) for s in range(seeds)]
    made = {key: CALIBRATORS.make(key, **more) for key, more in keys.items()}
    return {key: np.mean([log_loss(c.fit(*fit).predict_proba(new), truth) for fit in fits]) for key, c in made.items()}


NO_MIXING = {"mixing": False}
LIKE = {"temperature": {}, "structured": {}, "dirichlet": {"off_diagonal": 0.0, "intercept": 0.0}}


def test_where_temperature_is_right_few_rows_lose_a_twentieth_of_what_free_weights_lose():
    losses = mean_losses(100, 10, 0.0, LIKE, seeds=6)
    lost = {key: loss - losses["temperature"] for key, loss in losses.items()}
    assert 0 < 20 * lost["structured"] < lost["dirichlet"]


def test_many_rows_of_mixed_classes_gain_what_free_weights_gain():
    losses = mean_losses(4000, 5, 0.3, LIKE, seeds=2)
    assert losses["structured"] < losses["temperature"] - 0.05
    assert losses["structured"] < losses["dirichlet"] + 0.002


def test_separable_rows_have_a_minimum_and_few_rows_say_that_t_is_none():
    p = np.eye(3)[np.arange(60) % 3] * 0.4 + 0.2
    cal = CALIBRATORS.make("structured").fit(p, np.arange(60) % 3)
    assert cal.status_ == "converged"
    assert cal.temperature_ == 1.0
    assert "no optimum" in cal.note
    assert np.abs(cal.weights_ - np.eye(3)).max() < 1.5
    few = CALIBRATORS.make("structured").fit(p[:5], [0, 1, 2, 1, 1])
    assert "fewer than 10 calibration rows" in few.note


def test_many_classes_are_not_mixed_and_it_says_so(monkeypatch):
    monkeypatch.setattr("calib_core.calibrators.structured.MOST_MIXED", 3)
    p, labels = mixed(80, 4)
    cal = CALIBRATORS.make("structured").fit(p, labels)
    assert cal.weights_.shape == (4,)
    assert "above 3 classes" in cal.note
    plain = CALIBRATORS.make("structured", mixing=False).fit(p, labels)
    np.testing.assert_array_equal(cal.predict_proba(p), plain.predict_proba(p))
    assert plain.note == ""


def test_weights_count_as_effective_rows():
    p, labels = mixed(120)
    weights = np.random.default_rng(3).random(120)
    effective = weights.sum() ** 2 / (weights @ weights)
    assert effective < 100
    cal = CALIBRATORS.make("structured").fit(p, labels, sample_weight=weights)
    assert cal.share_ == pytest.approx(1 / (effective + 1), rel=1e-6)


PACKAGE = {
    "sms": [[0.16413, 0.68337, 0.1525], [0.66527, 0.10905, 0.22569]],
    "svs": [[0.1823, 0.57346, 0.24424], [0.6492, 0.18975, 0.16105]],
}


@pytest.mark.parametrize(("method", "mixing"), [("sms", True), ("svs", False)])
def test_it_agrees_with_the_authors_package(method, mixing):
    """The reference is get_calibrator(method).fit(p, labels) of probmetrics 1.3.0, about 1e-4 from the minimum."""
    i = np.arange(120)
    z = np.column_stack([np.sin(i), 1.5 * np.cos(2 * i), np.sin(3 * i + 1)])
    labels = (z @ np.array([[1, 0, 0.4], [0, 0.7, 0], [0, 0, 0.5]]) + np.sin(np.outer(i, [7, 8, 9]))).argmax(axis=1)
    cal = CALIBRATORS.make("structured", mixing=mixing).fit(softmax(z, axis=1), labels)
    np.testing.assert_allclose(cal.predict_proba(softmax(z[:2], axis=1)), PACKAGE[method], atol=1e-3)


def test_vector_scaling_is_the_map_without_mixing_under_a_key_of_its_own():
    p, labels = mixed(90, 3)
    cal, same = (CALIBRATORS.make(key, **more).fit(p, labels) for key, more in (("svs", {}), ("structured", NO_MIXING)))
    np.testing.assert_array_equal(cal.predict_proba(p), same.predict_proba(p))
    assert CALIBRATORS.recipe(same) == CALIBRATORS.recipe(cal)
    assert CALIBRATORS.recipe(cal).to_json() == '{"key":"svs"}'
    assert [param.name for param in CALIBRATORS["svs"].params] == ["strength"]
    full = CALIBRATORS.make("structured").fit(p, labels)
    assert CALIBRATORS.recipe(full).to_json() == '{"key":"structured"}'
    assert np.abs(cal.predict_proba(p) - full.predict_proba(p)).max() > 1e-3


@pytest.mark.parametrize("strength", [0.2, 1.0, 5.0])
def test_vector_scaling_reaches_the_loss_that_l_bfgs_reaches(strength):
    p, labels = mixed(150, 5, seed=3)
    cal = CALIBRATORS.make("svs", strength=strength).fit(p, labels)
    data = prepared(p, cal.temperature_), labels, strength, False
    tight = {"ftol": 1e-15, "gtol": 1e-9, "maxfun": 10**5}
    twin = minimize(objective, np.zeros(10), data, method="L-BFGS-B", options=tight)
    ours = objective(np.concatenate([cal.weights_ - 1, cal.intercepts_]), *data)
    assert ours == pytest.approx(twin.fun, abs=1e-6)
    np.testing.assert_allclose(cal.weights_ - 1, twin.x[:5], atol=1e-4)
    other = CALIBRATORS.make("svs", strength=2 * strength).fit(p, labels)
    assert objective(np.concatenate([other.weights_ - 1, other.intercepts_]), *data) > twin.fun + 1e-6


@pytest.mark.wide
def test_what_the_strength_costs_where_temperature_is_the_truth_and_gains_where_classes_are_mixed():
    """The documented trade-off: no strength is best in both."""

    def beside_temperature(k, n, **law):
        (p, labels), (new, drawn) = mixed(n, k, **law), mixed(8000, k, seed=1, **law)
        alone = log_loss(CALIBRATORS.make("temperature").fit(p, labels).predict_proba(new), drawn)
        return [
            log_loss(CALIBRATORS.make("structured", strength=s).fit(p, labels).predict_proba(new), drawn) - alone
            for s in (1.0, 10.0)
        ]

    weak, strong = beside_temperature(100, 500, mixing=0.0)
    assert 0.004 < weak < 0.04
    assert strong < weak / 2
    weak, strong = beside_temperature(10, 500, mixing=0.3)
    assert weak < strong < -0.01
