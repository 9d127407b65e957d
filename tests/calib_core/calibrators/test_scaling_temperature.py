"""Temperature and ensemble temperature scaling: exactness, logits, recovery of a known T."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from calib_core import CALIBRATORS, Logits, Predictions
from calib_core.calibrators.ensemble_temperature import mixture_weights


def softened_truth(n, k, temperature, seed=0, spread=3.0):
    """Return logits z whose truth is softmax(z / T), and labels drawn from it."""
    rng = np.random.default_rng(seed)
    z = spread * rng.standard_normal((n, k))
    truth = softmax(z / temperature, axis=1)
    labels = np.minimum((rng.random(n)[:, None] > truth.cumsum(1)).sum(1), k - 1)
    return z, labels


def slow_temperature(logs, labels, weights=None):
    """Return the temperature by a bracketed search over log T for the explicit log loss: a slow twin."""

    def loss(log_t):
        values = -log_softmax(logs / np.exp(log_t), axis=1)[np.arange(len(labels)), labels]
        return np.average(values, weights=weights)

    return float(np.exp(minimize_scalar(loss, bounds=(-4, 4), method="bounded", options={"xatol": 1e-11}).x))


def slope_at(temperature, logs, labels):
    """Return d loss / d(1/T), which is zero at the optimum and a much sharper test of T than the flat loss."""
    b = 1 / temperature
    mean = (softmax(b * logs, axis=1) * logs).sum(1)
    variance = (softmax(b * logs, axis=1) * logs**2).sum(1) - mean**2
    return (mean - logs[np.arange(len(labels)), labels]).mean() / variance.mean() / b


@pytest.mark.parametrize(("n", "k"), [(50, 2), (300, 4), (6000, 3), (10_000, 10), (3000, 100)])
@pytest.mark.parametrize("temperature", [0.4, 1.0, 1.7, 4.0])
def test_temperature_is_exact_in_float64(n, k, temperature):
    z, labels = softened_truth(n, k, temperature, seed=n + k)
    p = softmax(z, axis=1)
    cal = CALIBRATORS.make("temperature").fit(p, labels)
    # One more Newton step from T would move 1/T by this share of itself.
    assert abs(slope_at(cal.temperature_, np.log(p), labels)) < 1e-10
    assert cal.temperature_ == pytest.approx(slow_temperature(np.log(p), labels), rel=1e-6)
    assert cal.status_ == "converged"


@pytest.mark.parametrize(("n", "k"), [(2000, 3), (10_000, 10), (4000, 300)])
def test_temperature_of_float32_rows_is_exact_to_a_millionth(n, k):
    z, labels = softened_truth(n, k, 1.7)
    p = softmax(z, axis=1).astype(np.float32)
    single = CALIBRATORS.make("temperature").fit(p, labels).temperature_
    assert abs(slope_at(single, np.log(p.astype(float)), labels)) < 1e-6


def test_a_known_temperature_is_recovered():
    """With 20,000 rows the standard error of log T is about 1 / sqrt(20,000 x information), some 1 %."""
    z, labels = softened_truth(20_000, 5, 1.6)
    cal = CALIBRATORS.make("temperature").fit(softmax(z, axis=1), labels)
    assert cal.temperature_ == pytest.approx(1.6, rel=0.03)


def test_chosen_rows_and_weights_are_honoured_whatever_the_sample_of_rows():
    z, labels = softened_truth(9000, 4, 2.0)
    weights = np.random.default_rng(1).integers(0, 4, 9000).astype(float)
    p = softmax(z, axis=1)
    whole = Predictions(p, labels, weights=weights)
    at = np.random.default_rng(2).permutation(9000)[:7000]
    cal = CALIBRATORS.make("temperature").fit_on(whole.take(at))
    twin = slow_temperature(np.log(p[at]), labels[at], weights[at])
    assert cal.temperature_ == pytest.approx(twin, rel=1e-6)


def test_raw_logits_give_the_same_temperature_and_the_same_rows():
    z, labels = softened_truth(3000, 4, 1.5, spread=2.0)
    z += np.random.default_rng(3).normal(0, 5, (3000, 1))
    with_logits = CALIBRATORS.make("temperature").fit(Logits(z), labels)
    without = CALIBRATORS.make("temperature").fit(softmax(z, axis=1), labels)
    assert with_logits.temperature_ == pytest.approx(without.temperature_, rel=1e-10)
    new = z[:20]
    np.testing.assert_allclose(
        with_logits.predict_proba(Logits(new)), without.predict_proba(softmax(new, axis=1)), rtol=1e-9, atol=1e-14
    )


def test_raw_logits_keep_what_rounded_probabilities_have_lost():
    """float32 probabilities of a very confident net are 0 and 1; its logits still identify the temperature."""
    z, labels = softened_truth(4000, 3, 20.0, spread=60.0)
    exact = CALIBRATORS.make("temperature").fit(Logits(z), labels)
    assert abs(slope_at(exact.temperature_, z - z.max(1, keepdims=True), labels)) < 1e-10
    rounded = CALIBRATORS.make("temperature").fit(softmax(z, axis=1).astype(np.float32), labels)
    assert abs(rounded.temperature_ / exact.temperature_ - 1) > 0.05
    assert rounded.floored_ > 0
    assert exact.floored_ == 0


def test_logits_of_minus_infinity_are_impossible_classes():
    z, labels = softened_truth(2000, 3, 1.5)
    impossible = np.column_stack([z, np.full(2000, -np.inf)])
    with_class = CALIBRATORS.make("temperature").fit(Logits(impossible), labels)
    without = CALIBRATORS.make("temperature").fit(Logits(z), labels)
    assert with_class.temperature_ == pytest.approx(without.temperature_, rel=1e-6)
    made = with_class.predict_proba(Logits(impossible[:5]))
    assert made[:, 3].max() < 1e-9


def test_the_output_keeps_its_logits_divided_by_the_temperature():
    z, labels = softened_truth(500, 3, 1.5)
    given = Predictions.from_logits(z, labels)
    cal = CALIBRATORS.make("temperature").fit_on(given)
    made = cal.apply(given)
    np.testing.assert_allclose(made.logits.array(), z / cal.temperature_, rtol=1e-14)
    np.testing.assert_allclose(softmax(made.logits.array(), axis=1), made.probs, rtol=1e-10)
    assert (
        CALIBRATORS.make("temperature").fit(softmax(z, axis=1), labels).apply(Predictions(given.probs, labels)).logits
        is None
    )


def test_separable_and_uniform_rows_say_so():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 40)
    right = CALIBRATORS.make("temperature").fit(p, p.argmax(1))
    assert (right.status_, right.temperature_) == ("no finite optimum", 1.0)
    uniform = CALIBRATORS.make("temperature").fit(np.full((12, 3), 1 / 3), [0, 1, 2] * 4)
    assert (uniform.status_, uniform.temperature_) == ("not identified", 1.0)
    worst = CALIBRATORS.make("temperature").fit(p, p.argmin(1))
    assert (worst.status_, round(worst.temperature_)) == ("at bound", 1000)


# ---- the ensemble ------------------------------------------------------------------------------------------


def mixture_loss(w, members):
    return -np.log(members @ w).mean()


@pytest.mark.parametrize("seed", range(8))
def test_mixture_weights_are_the_least_on_a_fine_grid_of_the_simplex(seed):
    rng = np.random.default_rng(seed)
    members = np.column_stack(
        [rng.beta(2, 1 + seed % 3, 200), rng.beta(2, 2, 200), np.full(200, 0.2 + 0.1 * (seed % 4))]
    )
    w = mixture_weights(members, np.full(200, 1 / 200))
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1, abs=1e-15)
    steps = np.linspace(0, 1, 41)
    grid = [(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1]
    assert mixture_loss(w, members) <= min(mixture_loss(np.array(g), members) for g in grid) + 1e-12
    # The conditions of the minimum: mean share of a member 1 where its weight is positive, at most 1 where it is 0.
    shares = (members / (members @ w)[:, None]).mean(0)
    np.testing.assert_allclose(shares[w > 1e-9], 1, atol=1e-8)
    assert shares.max() <= 1 + 1e-8


def test_the_ensemble_is_never_worse_than_its_members_and_reaches_noisy_labels():
    """If labels are random 30 % of the time, the optimum includes the uniform member."""
    z, labels = softened_truth(5000, 4, 1.0)
    rng = np.random.default_rng(4)
    labels = np.where(rng.random(5000) < 0.3, rng.integers(4, size=5000), labels)
    p = Predictions(softmax(z, axis=1), labels)
    losses = {}
    for key in ("identity", "temperature", "ensemble-temperature"):
        q = CALIBRATORS.make(key).fit_on(p).apply(p).probs
        losses[key] = -np.log(q[np.arange(5000), labels]).mean()
    assert losses["ensemble-temperature"] < losses["temperature"] - 0.01
    assert losses["temperature"] < losses["identity"]
    cal = CALIBRATORS.make("ensemble-temperature").fit_on(p)
    assert cal.weights_[2] == pytest.approx(0.3, abs=0.05)


def test_the_first_stage_is_temperature_scaling_itself():
    z, labels = softened_truth(2000, 3, 1.8)
    p = softmax(z, axis=1)
    both = [CALIBRATORS.make(key).fit(p, labels) for key in ("temperature", "ensemble-temperature")]
    assert both[0].temperature_ == both[1].temperature_
    np.testing.assert_allclose(
        both[1].predict_proba(p),
        both[1].weights_[0] * both[0].predict_proba(p) + both[1].weights_[1] * p + both[1].weights_[2] / 3,
        rtol=1e-14,
    )
