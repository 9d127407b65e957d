"""Intra-order-preserving maps: unchanged rankings, the unique minimum of the curve, and its gains."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from calib_core import CALIBRATORS, Logits
from calib_core.calibrators.fitting.softmax_loss import LogRows
from calib_core.calibrators.order_preserving import CurveLoss
from calib_core.predictions.predictions import Predictions


def bent(n, k=4, seed=0):
    """Return rows whose small probabilities are too small and whose large ones nearly right."""
    rng = np.random.default_rng(seed)
    x = log_softmax(2.5 * rng.standard_normal((n, k)), axis=1)
    truth = np.where(x > -3, x / 1.1, -3 / 1.1 + (x + 3) / 3)
    return np.exp(x), (truth + rng.gumbel(size=(n, k))).argmax(axis=1)


def log_loss(q, labels):
    return -np.log(q[np.arange(len(labels)), labels]).mean()


def curve(x, knots, slopes):
    """Return m by its definition: the slope of each piece times the part of the way from x to 0 in it."""
    ends = np.concatenate([[-np.inf], knots, [0.0]])
    return -sum(s * (np.maximum(ends[b + 1], x) - np.maximum(ends[b], x)) for b, s in enumerate(slopes))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    slopes=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8),
    dtype=st.sampled_from((np.float32, np.float64)),
)
def test_every_ranking_is_kept_and_ties_stay_ties_whatever_the_curve(seed, slopes, dtype):
    rng = np.random.default_rng(seed)
    cal = CALIBRATORS.make("iop").fit(*bent(60))
    cal.slopes_ = np.array(slopes)
    cal.knots_ = np.sort(-5 * rng.random(len(slopes) - 1))
    # Entries a hair from each other and from a knot, zeros, and equal ones.
    base = rng.choice(np.concatenate([np.exp(cal.knots_), rng.random(3), [0.0]]), (40, 6)) + 1e-9
    rows = np.nextafter(base, rng.choice([0.0, 1.0], base.shape)) / base.sum(axis=1, keepdims=True)
    rows = (rows / rows.sum(axis=1, keepdims=True)).astype(dtype)
    cal.classes_ = np.arange(6)
    order = np.argsort(rows, axis=1)
    before, after = (np.take_along_axis(v, order, axis=1) for v in (rows, cal.predict_proba(rows)))
    assert (np.diff(after, axis=1) >= 0).all()
    assert (np.diff(after, axis=1)[np.diff(before, axis=1) == 0] == 0).all()


def test_pieces_do_not_overlap_by_rounding():
    rng = np.random.default_rng(0)
    cal = CALIBRATORS.make("iop").fit(*bent(60))
    for _ in range(50):
        cal.knots_, cal.slopes_ = np.sort(-9 * rng.random(7)), np.exp(3 * rng.normal(size=8))
        x = cal.knots_[:, None] + np.spacing(cal.knots_)[:, None] * np.arange(5, -6, -1)
        assert (np.diff(cal._curve(x), axis=1) >= 0).all()


def test_the_curve_is_the_one_of_its_slopes_and_rises_strictly():
    p, labels = bent(900)
    cal = CALIBRATORS.make("iop").fit(p, labels)
    assert len(cal.slopes_) == len(cal.knots_) + 1 == 8
    assert cal.slopes_.min() > 0
    np.testing.assert_allclose(cal.predict_proba(p), softmax(curve(np.log(p), cal.knots_, cal.slopes_), axis=1))
    second = np.sort(np.log(p), axis=1)[:, -2]
    np.testing.assert_allclose([(second <= knot).mean() for knot in cal.knots_], np.arange(1, 8) / 8, atol=2e-3)


@pytest.mark.parametrize("smoothness", [0.1, 1.0])
def test_it_is_the_least_of_the_penalised_loss_as_it_is_written(smoothness):
    p, labels = bent(250)
    cal = CALIBRATORS.make("iop", smoothness=smoothness).fit(p, labels)
    assert len(cal.slopes_) == 3
    temperature = CALIBRATORS.make("temperature").fit(p, labels).temperature_

    def objective(log_r):
        r = np.exp(log_r)
        penalty = np.sum(np.diff(r) ** 2) + np.sum(r - 1 - np.log(r))
        q = softmax(curve(np.log(p), cal.knots_, r / temperature), axis=1)
        return log_loss(q, labels) + smoothness / len(p) * penalty

    twin = minimize(objective, np.zeros(3), tol=1e-9)
    ours = np.log(cal.slopes_ * temperature)
    assert objective(ours) <= twin.fun + 1e-12
    np.testing.assert_allclose(ours, twin.x, atol=1e-4)


def loss_of(p, labels, weights=None):
    source = LogRows.best(Predictions(p, labels))
    given = np.ones(len(p)) if weights is None else weights
    return CurveLoss(source, labels.astype(np.intp), given / given.sum(), np.array([-3.0, -1.0]), 0.7, 0.01)


def test_gradient_and_hessian_are_the_numerical_ones_kept_or_not(monkeypatch):
    p, labels = bent(50)
    point, step = np.array([0.6, 1.1, 1.7]), 1e-5 * np.eye(3)
    for kept in (1 << 27, 0):
        monkeypatch.setattr("calib_core.calibrators.order_preserving._KEPT_BYTES", kept)
        loss = loss_of(p, labels, np.random.default_rng(1).random(50))
        ends = [[loss.value_and_gradient(point + sign * s) for sign in (1, -1)] for s in step]
        gradient = [(up[0] - down[0]) / 2e-5 for up, down in ends]
        np.testing.assert_allclose(loss.value_and_gradient(point)[1], gradient, atol=1e-8)
        np.testing.assert_allclose(loss.hessian(point), [(up[1] - down[1]) / 2e-5 for up, down in ends], atol=1e-7)
    assert loss.value_and_gradient(np.array([1.0, 0.0, 1.0]))[0] == np.inf


def test_it_gains_where_the_curve_is_bent_and_its_fit_is_never_above_temperature_scaling():
    new, truth = bent(4000, seed=1)
    for n in (120, 900):
        p, labels = bent(n, seed=2)
        cal, scaling = (CALIBRATORS.make(key).fit(p, labels) for key in ("iop", "temperature"))
        assert log_loss(cal.predict_proba(p), labels) <= log_loss(scaling.predict_proba(p), labels)
    assert log_loss(cal.predict_proba(new), truth) < log_loss(scaling.predict_proba(new), truth) - 0.01


@pytest.mark.parametrize("rows", ["few", "separable", "no bend"])
def test_without_a_temperature_or_rows_for_two_slopes_it_is_temperature_scaling(rows):
    p, labels = bent({"few": 9, "separable": 300, "no bend": 99}[rows], seed=3)
    labels = p.argmax(axis=1) if rows == "separable" else labels
    cal, scaling = (CALIBRATORS.make(key).fit(p, labels) for key in ("iop", "temperature"))
    assert cal.note == scaling.note
    assert bool(cal.note) == (rows != "no bend")
    np.testing.assert_allclose(cal.predict_proba(p), scaling.predict_proba(p), atol=1e-12)


def test_a_start_from_some_rows_ends_at_the_same_curve(monkeypatch):
    p, labels = bent(900)
    whole = CALIBRATORS.make("iop").fit(p, labels).slopes_
    monkeypatch.setattr("calib_core.calibrators.order_preserving._MANY_VALUES", 0)
    np.testing.assert_allclose(CALIBRATORS.make("iop").fit(p, labels).slopes_, whole, rtol=1e-7)


def test_raw_logits_give_the_map_of_their_probabilities():
    p, labels = bent(300)
    z = 8.0 * np.log(p) + 3.0  # probabilities below the floor of the logarithm among them
    ours, theirs = (CALIBRATORS.make("iop").fit(x, labels).predict_proba(x) for x in (Logits(z), softmax(z, axis=1)))
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
