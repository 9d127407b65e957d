"""The spline map against statsmodels and patsy, a general optimizer of its objective, and a plain cross-validation."""

import numpy as np
import pytest
from scipy.interpolate import BSpline, CubicSpline
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from calib_core import CALIBRATORS
from calib_core.calibrators import Platt, SplineMap
from calib_core.calibrators.fitting.natural_spline import NaturalSpline
from calib_core.calibrators.spline_maps import PENALTIES
from calib_core.defaults import SEED


def sample(seed, n=300, wave=0.7):
    """Return scores, outcomes whose log-odds are a wave around the score's, and whole weights."""
    rng = np.random.default_rng(seed)
    z = 2.0 * rng.normal(size=n)
    return expit(z), rng.random(n) < expit(0.2 + z + wave * np.sin(1.5 * z)), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("m", [3, 4, 6])
def test_bends_are_natural_splines_with_one_second_derivative(m):
    knots = np.sort(np.random.default_rng(m).normal(size=m))
    spline = NaturalSpline(knots)
    x = np.linspace(knots[0] - 2, knots[-1] + 2, 101)
    inside = (x >= knots[0]) & (x <= knots[-1])
    for j, (values, slopes) in enumerate(zip(spline.bends(x), spline.slopes(x), strict=True)):
        twin = CubicSpline(knots, spline.bends(knots)[j], bc_type="natural")
        np.testing.assert_allclose(values[inside], twin(x[inside]), atol=1e-12)
        np.testing.assert_allclose(slopes[inside], twin(x[inside], 1), atol=1e-12)
        np.testing.assert_allclose(twin(knots, 2), np.eye(m)[j + 1], atol=1e-9)
        np.testing.assert_allclose(np.diff(values[x > knots[-1]], 2), 0, atol=1e-12)
        assert (values[x < knots[0]] == 0).all()
    bends = np.arange(1.0, m - 1)
    pieces = spline.pieces(0.5, -2.0, bends)
    b = np.searchsorted(knots, x, side="right")
    t = x - np.append(knots[:1], knots)[b]
    np.testing.assert_allclose((pieces[b] * t[:, None] ** np.arange(4)).sum(1), 0.5 - 2 * x + bends @ spline.bends(x))


def test_without_a_penalty_it_is_a_regression_on_a_natural_spline_basis():
    """patsy 1.0.3 and statsmodels 0.15.0, binomial GLM of hits and misses, tol=1e-14.

    Its design is cr(z, knots=k[1:-1], lower_bound=k[0], upper_bound=k[-1]) - 1 with k = quantile(z, linspace(.03, .97,
    6)). Listed are its fitted values at .05, .25, .5, .75, .95, and its mean log loss.
    """
    hits = [112, 131, 131, 142, 168, 211, 273, 353, 448, 550, 648, 732, 799, 848, 880, 900, 908, 908, 922]
    scores, yes = np.arange(1, 20) / 20, np.array(hits, float)
    fitted = SplineMap(penalty=1e-9).fit(np.tile(scores, 2), np.repeat([1, 0], 19), np.append(yes, 1000 - yes))
    p = fitted.transform(scores)
    expected = [0.11802235983790234, 0.17390077796059952, 0.549931337122242, 0.8760657378256909, 0.9176142756761276]
    np.testing.assert_allclose(p[[0, 4, 9, 14, 18]], expected, atol=1e-6)
    assert -(yes @ np.log(p) + (1000 - yes) @ np.log1p(-p)) / 19000 == pytest.approx(0.46605963951210644, abs=1e-10)
    assert len(fitted.knots_) == 6
    np.testing.assert_allclose(fitted.knots_, np.quantile(logit(scores), np.linspace(0.03, 0.97, 6)), atol=1e-12)


def basis(x, knots):
    """Return bends by integrating hat functions twice, straight beyond the knots, less their regression on 1 and x."""
    near = np.clip(x, knots[0], knots[-1])
    rows = []
    for j in range(1, len(knots) - 1):
        hat = BSpline(np.append(knots[0], np.append(knots, knots[-1])), np.eye(len(knots))[j], 1)
        rows.append(hat.antiderivative(2)(near) + hat.antiderivative(1)(near) * (x - near))
    return np.array(rows)


@pytest.mark.parametrize("p", [0.01, 1.0, 100.0])
def test_a_general_optimizer_of_the_documented_objective_finds_the_same_map(p):
    s, y, w = sample(1)
    z = logit(s)
    mean = np.average(z, weights=w)
    x = (z - mean) / np.sqrt(np.average((z - mean) ** 2, weights=w))
    knots = np.quantile(np.unique(x), np.linspace(0.03, 0.97, 6))
    line = np.stack([np.ones_like(x), x])
    regression = np.linalg.lstsq((line * np.sqrt(w)).T, (basis(x, knots) * np.sqrt(w)).T)[0]
    design = np.concatenate([line, basis(x, knots) - regression.T @ line])
    ridge = np.array([0.01, 0.01, p, p, p, p])

    def value(theta):
        eta = z + theta @ design
        gradient = design @ (w * (expit(eta) - y)) + ridge * theta
        return ridge @ theta**2 / 2 - w @ log_expit(np.where(y, eta, -eta)), gradient

    twin = minimize(value, np.zeros(6), jac=True, method="BFGS", options={"gtol": 1e-9})
    fitted = SplineMap(penalty=p).fit(s, y, w)
    np.testing.assert_allclose(fitted.transform(s), expit(z + twin.x @ design), atol=1e-7)
    low = logit(fitted.transform(expit(fitted.knots_[0] - np.array([0.0, 0.5, 1.0, 1.5]))))
    np.testing.assert_allclose(np.diff(low, 2), 0, atol=1e-9)


@pytest.mark.parametrize(("seed", "wave"), [(2, 0.0), (3, 0.7), (4, 1.5)])
def test_the_penalty_is_the_one_with_the_least_loss_in_the_folds(seed, wave):
    s, y, _ = sample(seed, wave=wave)
    order = np.argsort(np.where(y, s, 1 - s))
    fold = np.random.default_rng(SEED).permutation(len(s)) % 5
    lost = []
    for p in PENALTIES:
        total = 0.0
        for k in range(5):
            # Knots and scale are those of all rows: held-out ones have a weight that is next to nothing.
            weights = np.where(fold == k, 1e-9, 1.0)
            weights *= 240 / weights.sum()
            q = SplineMap(penalty=p).fit(s[order], y[order], weights).transform(s[order])
            total -= np.log(np.where(y[order], q, 1 - q))[fold == k].sum()
        lost.append(total)
    assert SplineMap().fit(s, y).penalty_ == PENALTIES[int(np.argmin(lost))]


def test_cross_validation_bends_the_map_where_the_truth_does_and_not_elsewhere():
    s, y, _ = sample(5, n=3000, wave=1.0)
    bent = SplineMap().fit(s, y)
    assert bent.penalty_ <= 1
    logs = {"spline": bent.transform(s), "platt": Platt().fit(s, y).transform(s)}
    likelihood = {key: np.log(np.where(y, p, 1 - p)).sum() for key, p in logs.items()}
    assert likelihood["spline"] > likelihood["platt"] + 20
    s, y, _ = sample(5, n=300, wave=0.0)
    straight = SplineMap().fit(s, y)
    np.testing.assert_allclose(straight.transform(s), Platt().fit(s, y).transform(s), atol=0.03)


def test_a_map_that_decreases_is_reported():
    z = np.linspace(-3, 3, 600)
    rising = SplineMap().fit(expit(z), np.random.default_rng(0).random(600) < expit(z))
    assert rising.note == ""
    wave = SplineMap().fit(expit(z), np.sin(3 * z) > 0)
    assert wave.note == "The map decreases at some scores."
    assert (np.diff(wave.transform(expit(z))) < 0).any()
    assert (np.diff(rising.transform(expit(z))) > 0).all()


@pytest.mark.parametrize("scores", [[0.3] * 20, [0.0] * 10 + [1.0] * 10, np.linspace(0.1, 0.9, 20), [0.2, 0.4] * 10])
@pytest.mark.parametrize("outcomes", [[1] * 20, [0] * 10 + [1] * 10, [1] * 10 + [0] * 10])
def test_few_scores_and_separated_outcomes_have_a_finite_curve(scores, outcomes):
    fitted = SplineMap().fit(scores, outcomes)
    assert np.isfinite(fitted.coefficients_).all()
    assert 0 < fitted.transform([0.3])[0] < 1
    assert len(fitted.knots_) == (6 if len(set(scores)) > 5 else 0)


def test_two_distinct_scores_get_their_observed_frequencies():
    fitted = SplineMap().fit([0.1] * 400 + [0.7] * 500, [0] * 300 + [1] * 100 + [0] * 100 + [1] * 400)
    np.testing.assert_allclose(fitted.transform([0.1, 0.7]), [0.25, 0.8], atol=1e-4)


def test_two_classes_are_one_map_seen_from_both_sides():
    s, y, _ = sample(7)
    columns = np.column_stack([1 - s, s])
    both = CALIBRATORS.make("spline").fit(columns, y.astype(int)).predict_proba(columns)
    np.testing.assert_allclose(both[:, 1], SplineMap().fit(s, y).transform(s), atol=1e-7)
