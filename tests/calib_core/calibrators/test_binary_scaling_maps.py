"""Platt, beta and temperature maps against scikit-learn, a general optimizer, and the corners of their families."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit, log_expit
from sklearn.linear_model import LogisticRegression

from calib_core import BINARY_CALIBRATORS, CALIBRATORS
from calib_core.calibrators import Beta, BinaryTemperature, Platt
from calib_core.calibrators.fitting.logistic import STEEPEST, _Loss
from calib_core.calibrators.scaling_map import logs

MAPS = ("platt", "beta", "temperature")


def sample(seed, n=400, dtype=np.float64, power=2.0):
    """Return overlapping outcomes: odds of the truth are the score's odds to a power, times e."""
    rng = np.random.default_rng(seed)
    s = rng.beta(0.8, 1.2, n).astype(dtype)
    yes, no = logs(s)
    return s, rng.random(n) < expit(power * (yes - no) + 1), rng.integers(1, 4, n).astype(float)


def loss(probs, outcomes, weights=None):
    p = np.clip(probs, 2.3e-16, 1 - 2.3e-16)
    return np.average(-np.log(np.where(outcomes, p, 1 - p)), weights=weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_platt_is_scikit_learns_logistic_regression(weighted, dtype):
    for seed in range(3):
        s, z, w = sample(seed, dtype=dtype)
        w = w if weighted else None
        yes, no = logs(s)
        peer = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit((yes - no)[:, None], z, w)
        fitted = Platt().fit(s, z, w)
        assert fitted.a_ == pytest.approx(peer.coef_[0, 0], rel=1e-7)
        assert fitted.b_ == pytest.approx(peer.intercept_[0], rel=1e-6)
        assert fitted.status_ == "converged"


@pytest.mark.parametrize("weighted", [False, True])
def test_beta_is_the_constrained_optimum_another_optimiser_finds(weighted):
    statuses = set()
    for seed, power in ((0, 2.0), (1, 0.2), (2, 0.05), (3, -0.5), (4, 0.4)):
        s, z, w = sample(seed, power=power)
        w = w if weighted else np.ones(len(s))
        yes, no = logs(s)

        def value(theta, yes=yes, no=no, z=z, w=w):
            eta = theta[0] * yes - theta[1] * no + theta[2]
            r = w * (expit(eta) - z) / w.sum()
            return -np.average(log_expit(np.where(z, eta, -eta)), weights=w), np.array([r @ yes, -r @ no, r.sum()])

        bounds = [(0, STEEPEST), (0, STEEPEST), (None, None)]
        found = minimize(value, [1, 1, 0], jac=True, method="SLSQP", bounds=bounds, options={"ftol": 1e-15})
        fitted = Beta().fit(s, z, w)
        ours = np.array([fitted.a_, fitted.b_, fitted.c_])
        assert value(ours)[0] <= found.fun + 1e-13
        np.testing.assert_allclose(ours, found.x, atol=2e-4)
        # Karush, Kuhn and Tucker: no slope at 0 would rather grow, elsewhere the gradient vanishes.
        gradient = value(ours)[1]
        assert np.abs(gradient[ours != 0]).max() < 1e-8
        assert (gradient[ours == 0] > 0).all()
        assert fitted.status_ == ("constrained" if (ours == 0).any() else "converged")
        statuses.add(fitted.status_)
    assert statuses == {"constrained", "converged"}


def test_dropping_the_negative_slope_is_the_constrained_optimum_where_one_constraint_binds():
    """The published code refits without the feature; there the fits agree, and both fit the intercept."""
    s, z, _ = sample(4, power=0.4)
    yes, no = logs(s)
    free = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(np.column_stack([yes, -no]), z)
    fitted = Beta().fit(s, z)
    bound = free.coef_[0] < 0
    assert bound.sum() == (fitted.status_ == "constrained")
    if bound.any():
        kept = np.column_stack([yes, -no])[:, ~bound]
        again = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(kept, z)
        np.testing.assert_allclose(fitted.transform(s), again.predict_proba(kept)[:, 1], atol=1e-7)


@pytest.mark.parametrize("k", [1, 2])
def test_the_gradient_is_that_of_the_loss(k):
    s, z, w = sample(5, n=60)
    yes, no = logs(s)
    features = (yes - no)[None, :] if k == 1 else np.stack([yes, -no])
    held = _Loss.centred(features, z, w)
    theta = held.start * np.linspace(0.7, 1.3, k + 1) + 0.1
    gradient = held.value_and_gradient(theta)[1]
    np.testing.assert_allclose(gradient, approx_fprime(theta, lambda t: held.value_and_gradient(t)[0], 1e-7), atol=1e-6)
    eta = held.fitted(theta, "").slopes @ features + held.fitted(theta, "").intercept
    assert held.value_and_gradient(theta)[0] == pytest.approx(
        np.average(-log_expit(np.where(z, eta, -eta)), weights=w), rel=1e-12
    )


@st.composite
def claims(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 80))
    style = draw(st.sampled_from(("spread", "tenths", "ends", "near ends", "equal", "two", "separable", "reversed")))
    s = {
        "tenths": rng.integers(0, 11, n) / 10,
        "ends": rng.integers(0, 2, n).astype(float),
        "near ends": expit(25 * rng.standard_normal(n)),
        "equal": np.full(n, rng.random()),
        "two": rng.choice([0.2, 0.7], n),
    }.get(style, rng.random(n))
    z = {"separable": s > 0.3, "reversed": rng.random(n) > s}.get(style, rng.random(n) < s)
    return s.astype(draw(st.sampled_from((np.float64, np.float32)))), z, rng.integers(0, 3, n) + 1e-3


@pytest.mark.parametrize("key", MAPS)
@settings(max_examples=150)
@given(given_=claims())
def test_never_worse_than_the_identity_on_the_rows_it_was_fitted_on(key, given_):
    s, z, w = given_
    fitted = BINARY_CALIBRATORS.make(key).fit(s, z, w)
    assert loss(fitted.transform(s), z, w) <= loss(s.astype(float), z, w) + 1e-9


@settings(max_examples=100)
@given(given_=claims())
def test_richer_families_fit_better(given_):
    losses = {key: loss(BINARY_CALIBRATORS.make(key).fit(*given_).transform(given_[0]), *given_[1:]) for key in MAPS}
    assert losses["beta"] <= losses["platt"] + 1e-9
    assert losses["platt"] <= losses["temperature"] + 1e-9


@pytest.mark.parametrize("key", ["platt", "beta"])
def test_separable_rows_put_a_steep_step_into_the_gap(key):
    fitted = BINARY_CALIBRATORS.make(key).fit([0.1, 0.2, 0.6, 0.9], [0, 0, 1, 1])
    assert fitted.status_ == "at bound"
    assert fitted.a_ == STEEPEST
    assert np.isfinite([getattr(fitted, name) for name in vars(fitted) if name in ("b_", "c_")]).all()
    np.testing.assert_allclose(fitted.transform([0.0, 0.2, 0.6, 1.0]), [0, 0, 1, 1], atol=1e-15)
    # Halfway between the log-odds of 0.2 and 0.6: one row on either side.
    halfway = expit((np.log(0.2 / 0.8) + np.log(0.6 / 0.4)) / 2)
    assert fitted.transform([halfway])[0] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("key", ["platt", "beta"])
def test_outcomes_that_all_agree_give_a_constant(key):
    for outcome in (0, 1):
        fitted = BINARY_CALIBRATORS.make(key).fit([0.1, 0.5, 0.7], [outcome] * 3)
        assert fitted.status_ == "at bound"
        np.testing.assert_allclose(fitted.transform([0.0, 0.5, 1.0]), outcome, atol=1e-15)


@pytest.mark.parametrize("key", ["platt", "beta"])
def test_equal_scores_get_the_share_that_came_true_and_the_slope_stays_one(key):
    fitted = BINARY_CALIBRATORS.make(key).fit([0.3] * 10, [1] * 6 + [0] * 4)
    assert fitted.status_ == "not identified"
    assert fitted.a_ == 1
    assert fitted.transform([0.3])[0] == pytest.approx(0.6, abs=1e-12)


@pytest.mark.parametrize("key", ["platt", "beta"])
def test_reversed_scores_give_the_constant_share_and_never_a_falling_map(key):
    fitted = BINARY_CALIBRATORS.make(key).fit([0.1, 0.2, 0.4, 0.6, 0.8, 0.9], [1, 1, 0, 1, 0, 0])
    assert fitted.status_ == "constrained"
    np.testing.assert_allclose(fitted.transform([0.0, 0.5, 1.0]), 0.5, atol=1e-9)


def test_two_distinct_scores_cannot_tell_the_slopes_of_beta_apart():
    s, z = [0.2] * 4 + [0.7] * 5, [0, 0, 0, 1, 1, 1, 0, 1, 1]
    beta, platt = Beta().fit(s, z), Platt().fit(s, z)
    assert beta.status_ == "not identified"
    assert (beta.a_, beta.b_, beta.c_) == (platt.a_, platt.a_, platt.b_)
    np.testing.assert_allclose(platt.transform([0.2, 0.7]), [0.25, 0.8], atol=1e-12)


def test_a_column_of_tiny_scores_has_one_flat_feature_and_still_an_answer():
    s = np.array([1e-30, 1e-18, 1e-12, 1e-10, 1e-9, 1e-8])
    for key in MAPS:
        out = BINARY_CALIBRATORS.make(key).fit(s, [0, 0, 1, 0, 1, 0]).transform(s)
        assert np.isfinite(out).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_binary_temperature_is_multiclass_temperature_on_two_columns(weighted):
    s, z, w = sample(7)
    w = w if weighted else None
    ours = BinaryTemperature().fit(s, z, w)
    two = CALIBRATORS.make("temperature").fit(np.column_stack([1 - s, s]), z.astype(int), w)
    assert ours.temperature_ == pytest.approx(two.temperature_, rel=1e-9)
    assert ours.status_ == two.status_ == "converged"
    np.testing.assert_allclose(ours.transform(s), two.predict_proba(np.column_stack([1 - s, s]))[:, 1], rtol=1e-8)
    uniform = BinaryTemperature().fit([0.5, 0.5] * 5, [0, 1] * 5)
    assert (uniform.status_, uniform.temperature_) == ("not identified", 1.0)
    right = BinaryTemperature().fit([0.2, 0.8] * 5, [0, 1] * 5)
    assert (right.status_, right.temperature_) == ("no finite optimum", 1.0)
    few = BinaryTemperature().fit([0.2, 0.8], [0, 1])
    assert (few.status_, few.temperature_) == ("too few rows", 1.0)
    assert few.note == two.fit([[0.8, 0.2]], [0]).note != ""


def test_rows_that_the_floor_of_the_logarithm_decides_are_counted():
    for key in MAPS:
        fitted = BINARY_CALIBRATORS.make(key).fit([0.0, 0.0, 1.0, 1.0, 0.5, 0.4], [1, 0, 0, 1, 1, 0])
        assert fitted.floored_ == 2


@pytest.mark.parametrize("key", ["platt", "beta"])
def test_scores_of_0_and_1_with_uneven_weights_end_at_the_minimum(key):
    rng = np.random.default_rng(187)
    for _ in range(200):
        scores, true = rng.integers(0, 2, 30) * 1.0, rng.random(30) < 0.5
        weights = 10.0 ** rng.integers(-3, 3, 30)
        found = BINARY_CALIBRATORS.make(key).fit(scores, true, sample_weight=weights).transform(scores)
        lost = np.average(-np.log(np.where(true, found, 1.0 - found)), weights=weights)
        share = [np.average(true[scores == s], weights=weights[scores == s]) for s in (0, 1)]
        if share[0] >= share[1]:
            share = [np.average(true, weights=weights)] * 2
        best = np.array(share)[scores.astype(int)]
        np.testing.assert_allclose(
            lost, np.average(-np.log(np.where(true, best, 1.0 - best)), weights=weights), atol=1e-6
        )


# ---- a prior -----------------------------------------------------------------------------------------------

PRIORS = ("platt", "beta")


def penalised(key, s, z, w, m):
    """Return the documented objective as a function: slopes, shift -> summed loss and penalty."""
    yes, no = logs(s)
    x, w = yes - no, np.asarray(w, float)
    features = x[None, :] if key == "platt" else np.stack([yes, -no])
    informed = w * expit(x) * (1 - expit(x))
    centre = np.array([np.average(f, weights=informed) for f in features])

    def value(theta):
        slopes, c = theta[:-1], theta[-1]
        eta = slopes @ features + c
        d = slopes @ centre + c - centre.sum()
        return -(w @ log_expit(np.where(z, eta, -eta))) + m / 8 * (np.mean((slopes - 1) ** 2) + d**2)

    return value


@pytest.mark.parametrize("m", [1, 16, 300])
@pytest.mark.parametrize("key", PRIORS)
def test_a_prior_gives_the_minimum_that_another_optimiser_finds(key, m):
    for seed, power, n in ((0, 2.0, 60), (1, 0.1, 60), (2, -0.5, 60), (3, 30.0, 25)):
        s, z, w = sample(seed, n=n, power=power)
        value = penalised(key, s, z, w, m)
        k = 1 if key == "platt" else 2
        start, bounds = np.append(np.ones(k), 0.0), [(0, STEEPEST)] * k + [(None, None)]
        found = minimize(value, start, method="SLSQP", bounds=bounds, options={"ftol": 1e-15, "maxiter": 500})
        fitted = BINARY_CALIBRATORS.make(key, prior=m).fit(s, z, w)
        ours = np.array([fitted.a_, fitted.b_] if k == 1 else [fitted.a_, fitted.b_, fitted.c_])
        assert value(ours) <= found.fun + 1e-9
        np.testing.assert_allclose(ours, found.x, atol=3e-3)


@pytest.mark.parametrize("key", PRIORS)
def test_priors_lie_between_the_fit_without_one_and_the_identity(key):
    s, z, _ = sample(0, n=80)
    plain = BINARY_CALIBRATORS.make(key).fit(s, z).transform(s)
    np.testing.assert_allclose(BINARY_CALIBRATORS.make(key, prior=1e-6).fit(s, z).transform(s), plain, atol=1e-6)
    moved = [np.abs(BINARY_CALIBRATORS.make(key, prior=m).fit(s, z).transform(s) - s).max() for m in (1, 16, 300, 1e4)]
    assert moved == sorted(moved, reverse=True)
    assert moved[-1] < 0.02 < moved[0]


@pytest.mark.parametrize("key", PRIORS)
def test_without_a_prior_nothing_changes_to_the_last_bit(key):
    s, z, w = sample(6)
    one, two = BINARY_CALIBRATORS.make(key).fit(s, z, w), BINARY_CALIBRATORS.make(key, prior=0.0).fit(s, z, w)
    np.testing.assert_array_equal(one.transform(s), two.transform(s))
    assert one.a_ == two.a_


@pytest.mark.parametrize("key", PRIORS)
def test_with_a_prior_separable_and_one_sided_rows_have_a_moderate_answer(key):
    for s, z in (([0.1, 0.2, 0.6, 0.9], [0, 0, 1, 1]), ([0.1, 0.5, 0.7], [1, 1, 1]), ([0.0, 0.0, 1.0], [0, 0, 1])):
        fitted = BINARY_CALIBRATORS.make(key, prior=16).fit(s, z)
        assert fitted.status_ == "converged"
        assert 0.5 < fitted.a_ < 3
    equal = BINARY_CALIBRATORS.make(key, prior=16).fit([0.3] * 10, [1] * 6 + [0] * 4)
    assert 0.3 < equal.transform([0.3])[0] < 0.6


@pytest.mark.parametrize("scale", [0.01, 7.3])
@pytest.mark.parametrize("key", PRIORS)
def test_a_prior_is_weighed_against_effective_rows_whatever_the_scale_of_weights(key, scale):
    s, z, _ = sample(2, n=50)
    w = np.random.default_rng(0).random(50) + 0.1
    one, other = (BINARY_CALIBRATORS.make(key, prior=16).fit(s, z, weights) for weights in (w, scale * w))
    np.testing.assert_allclose(one.transform(s), other.transform(s), atol=1e-9)


@pytest.mark.parametrize("key", PRIORS)
@pytest.mark.parametrize("wrapper", ["confidence", "top-label", "class-wise", "normalised"])
def test_wrappers_hand_the_prior_on(key, wrapper):
    rng = np.random.default_rng(3)
    probs, labels = rng.dirichlet(np.ones(3), 60), rng.integers(3, size=60)
    plain = CALIBRATORS.make(wrapper, binary=key).fit(probs, labels)
    held = CALIBRATORS.make(wrapper, binary=BINARY_CALIBRATORS.make(key, prior=16)).fit(probs, labels)
    assert all(binary.prior == 16 for binary in held.maps_)
    assert np.abs(held.predict_proba(probs) - plain.predict_proba(probs)).max() > 1e-3
    alone = BINARY_CALIBRATORS.make(key, prior=16).fit(probs[:, 1], labels == 1)
    if wrapper == "class-wise":
        np.testing.assert_array_equal(held.predict_proba(probs)[:, 1], alone.transform(probs[:, 1]))
    assert CALIBRATORS.recipe(held).to_json().count('"prior":16') == 1
