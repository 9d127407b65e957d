"""The quadratic map against statsmodels, a general constrained optimizer, and the corners of its family."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from calib_core import CALIBRATORS
from calib_core.calibrators import PRIOR_ROWS, QUADRATIC_SPREAD, Platt, Quadratic
from calib_core.calibrators.fitting.logistic import STEEPEST


def sample(seed, a=1.0, b=0.0, c=0.0, n=300):
    """Return scores, outcomes whose log-odds are a parabola of the score's, and whole weights."""
    rng = np.random.default_rng(seed)
    z = 2.0 * rng.normal(size=n)
    return expit(z), rng.random(n) < expit(b + a * z + c * z * z / 4), rng.integers(1, 4, n).astype(float)


def test_parameters_are_those_of_logistic_regression_on_two_powers():
    """statsmodels 0.15.0: sm.GLM(hits and misses, columns z, 1 and z^2 / 4, Binomial()).fit(tol=1e-14).params."""
    rows, hits = [20, 15, 12, 10, 10, 10, 12, 15, 20], [1, 3, 3, 4, 4, 7, 9, 13, 19]
    scores = np.repeat(np.arange(1, 10) / 10, rows)
    outcomes = np.concatenate([np.arange(n) < k for n, k in zip(rows, hits, strict=True)])
    fitted = Quadratic().fit(scores, outcomes)
    assert fitted.status_ == "converged"
    expected = [1.278792979947281, 0.030409327828844254, 0.08637804773564768]
    np.testing.assert_allclose(fitted.parameters, expected, atol=1e-7)


CURVES = {
    "straight": (1.0, 0.2, 0.0),
    "bent": (1.0, 0.2, 0.4),
    "low end flat": (0.5, 0.0, 1.5),
    "high end flat": (0.3, 0.5, -1.5),
    "falling": (-0.5, 0.0, 0.0),
    "steep": (3.0, 1.0, 0.0),
}


@pytest.mark.parametrize("m", [0, PRIOR_ROWS, 60])
@pytest.mark.parametrize("curve", CURVES)
def test_a_general_optimizer_with_the_two_constraints_finds_no_better_parabola(curve, m):
    s, y, w = sample(len(curve), *CURVES[curve])
    z = logit(s)

    def value(theta):
        a, b, c = theta
        eta = b + a * z + c * z * z / 4
        held = m / 8 * (((a - 1) / 0.4) ** 2 + (b / 0.5) ** 2 + (c / 0.25) ** 2)
        r = w * (expit(eta) - y)
        pull = m / 4 * np.array([(a - 1) / 0.16, b / 0.25, c / 0.0625])
        gradient = np.array([r @ z, r.sum(), r @ (z * z / 4)]) + pull
        return (held - w @ log_expit(np.where(y, eta, -eta))) / w.sum(), gradient / w.sum()

    rising = [
        {"type": "ineq", "fun": lambda t, e=e: t[0] + t[2] * e / 2, "jac": lambda t, e=e: np.array([1, 0, e / 2])}
        for e in (z.min(), z.max())
    ]
    twin = minimize(value, [1, 0, 0], jac=True, method="SLSQP", constraints=rising, options={"ftol": 1e-16})
    fitted = Quadratic(prior=m).fit(s, y, w)
    assert value(fitted.parameters)[0] <= twin.fun + 1e-12
    np.testing.assert_allclose(fitted.parameters, twin.x, atol=1e-5)
    ends = twin.x[0] + twin.x[2] / 2 * np.array([z.min(), z.max()])
    assert (fitted.status_ == "constrained") == (ends < 1e-6).any()
    np.testing.assert_allclose(fitted.slopes_, ends, atol=1e-4)
    a, b, c = fitted.parameters
    np.testing.assert_allclose(fitted.transform(s), expit(b + a * z + c * z * z / 4), atol=1e-12)


def test_a_prior_has_the_documented_standard_deviations():
    """At the maximum the slope of the likelihood is the distance from the identity over the variance."""
    deviations = np.array(QUADRATIC_SPREAD)
    assert (deviations == [0.4, 0.5, 0.25]).all()
    s, y, _ = sample(1, n=40)
    for m in (PRIOR_ROWS, 4 * PRIOR_ROWS):
        fitted = Quadratic(prior=m).fit(s, y)
        z = logit(s)
        residual = y - fitted.transform(s)
        slope = np.array([residual @ z, residual.sum(), residual @ (z * z / 4)])
        away = fitted.parameters - [1.0, 0.0, 0.0]
        np.testing.assert_allclose(away, slope * np.square(deviations) * PRIOR_ROWS / m, atol=1e-6)


@pytest.mark.parametrize("curve", CURVES)
def test_beyond_the_calibration_rows_the_map_is_its_tangent_and_never_falls(curve):
    s, y, _ = sample(7, *CURVES[curve], n=60)
    fitted = Quadratic().fit(s, y)
    (low, high), (first, last) = fitted.ends_, fitted.slopes_
    a, b, c = fitted.parameters
    for end, slope, beyond in ((low, first, low - np.arange(4)), (high, last, high + np.arange(4))):
        there = b + a * end + c * end * end / 4
        tangent = expit(there + slope * (beyond - end))
        np.testing.assert_allclose(fitted.transform(expit(beyond)), tangent, atol=1e-12)
        assert slope == pytest.approx(a + c * end / 2, abs=1e-9)
    assert (np.diff(fitted.transform(np.linspace(0, 1, 2001))) >= 0).all()


def test_corners_of_the_family():
    step = Quadratic().fit([0.1, 0.2, 0.6, 0.9], [0, 0, 1, 1])
    assert (step.status_, *step.slopes_) == ("at bound", STEEPEST, STEEPEST)
    np.testing.assert_allclose(step.transform([0.0, 0.2, 0.6, 1.0]), [0, 0, 1, 1], atol=1e-15)
    constant = Quadratic().fit([0.1, 0.5, 0.7], [1, 1, 1])
    assert constant.status_ == "at bound"
    np.testing.assert_allclose(constant.transform([0.0, 0.5, 1.0]), 1, atol=1e-15)
    equal = Quadratic().fit([0.3] * 10, [1] * 6 + [0] * 4)
    assert (equal.status_, *equal.slopes_) == ("not identified", 1, 1)
    assert equal.transform([0.3])[0] == pytest.approx(0.6, abs=1e-12)
    s, y = [0.2] * 4 + [0.7] * 5, [0, 0, 0, 1, 1, 1, 0, 1, 1]
    two = Quadratic().fit(s, y)
    assert two.status_ == "not identified"
    np.testing.assert_allclose(two.transform([0.1, 0.2, 0.7]), Platt().fit(s, y).transform([0.1, 0.2, 0.7]), atol=1e-12)


@pytest.mark.parametrize("scores", [[0.3] * 10, [0.3] * 5 + [np.nextafter(0.3, 1)] * 5, [0.0] * 5 + [1.0] * 5])
def test_with_a_prior_every_sample_has_a_moderate_map(scores):
    for outcomes in ([1] * 10, [0] * 5 + [1] * 5, [1] * 5 + [0] * 5):
        fitted = Quadratic(prior=PRIOR_ROWS).fit(scores, outcomes)
        assert np.abs(fitted.parameters - [1, 0, 0]).max() < 3
        assert 0.01 < fitted.transform([0.3])[0] < 0.99


def test_two_classes_are_one_map_seen_from_both_sides():
    s, y, _ = sample(3, *CURVES["bent"])
    columns = np.column_stack([1 - s, s])
    both = CALIBRATORS.make("quadratic", prior=4).fit(columns, y.astype(int)).predict_proba(columns)
    np.testing.assert_allclose(both[:, 1], Quadratic(prior=4).fit(s, y).transform(s), atol=1e-8)


@pytest.mark.parametrize("curve", CURVES)
def test_never_worse_than_platt_scaling_or_no_calibration_on_its_own_rows(curve):
    s, y, w = sample(11, *CURVES[curve], n=80)
    loss = lambda p: -np.average(np.log(np.where(y, p, 1 - p)), weights=w)  # noqa: E731
    assert loss(Quadratic().fit(s, y, w).transform(s)) <= min(loss(s), loss(Platt().fit(s, y, w).transform(s))) + 1e-12


def test_it_follows_a_bend():
    s, y, _ = sample(5, 1.0, 0.0, 0.3, n=2000)
    fits = {each: each().fit(s, y).transform(s) for each in (Platt, Quadratic)}
    likelihood = {each: np.log(np.where(y, p, 1 - p)).sum() for each, p in fits.items()}
    assert likelihood[Quadratic] > likelihood[Platt] + 10
