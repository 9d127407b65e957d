"""Vector, matrix and Dirichlet maps: derivatives, exact minima, invariances, bounds, cross-validation."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from calib_core import CALIBRATORS, InputError, Logits, NotAnswerable, Predictions
from calib_core.calibrators.fitting.softmax_loss import (
    AffineLoss,
    DiagonalLoss,
    LogRows,
    Odir,
    Rowwise,
    fitted,
    large_minimum,
)
from calib_core.calibrators.linear_maps import GRID
from calib_core.predictions.row_groups import dealt

KEYS = ("vector", "matrix", "dirichlet")
FREE = {
    "vector": {},
    "matrix": {"off_diagonal": 0.0, "intercept": 0.0},
    "dirichlet": {"off_diagonal": 0.0, "intercept": 0.0},
}


def noisy(n=800, k=3, seed=0, temperature=1.6):
    """Return predictions with errors in temperature, in each class, and by mixing of classes."""
    rng = np.random.default_rng(seed)
    z = 2 * rng.standard_normal((n, k))
    mixed = z @ (np.eye(k) + 0.2 * rng.standard_normal((k, k))) / temperature + 0.5 * rng.standard_normal(k)
    labels = np.minimum((rng.random(n)[:, None] > softmax(mixed, axis=1).cumsum(1)).sum(1), k - 1)
    return softmax(z, axis=1), labels


def losses(k=4, weighted=True, n=120):
    p, labels = noisy(n, k)
    weights = np.random.default_rng(5).random(n) if weighted else None
    rows = Rowwise(LogRows.best(Predictions(p, labels)), labels.astype(np.intp), weights)
    return {"diagonal": DiagonalLoss(rows), "affine": AffineLoss(rows, Odir(0.7, 0.3))}


def log_loss(q, labels):
    return -np.log(q[np.arange(len(labels)), labels]).mean()


def objective(cal, x, labels, lam, mu):
    """Return the objective of P3 §2.5."""
    w, b = cal.weights_, cal.intercepts_
    k = len(b)
    off = w - np.diag(np.diag(w))
    nll = -log_softmax(x @ w.T + b, axis=1)[np.arange(len(labels)), labels].mean()
    return nll + lam / (k * (k - 1)) * (off**2).sum() + mu / k * (b**2).sum()


@pytest.mark.parametrize("which", ["diagonal", "affine"])
def test_gradient_and_hessian_are_the_numerical_ones(which):
    loss = losses()[which]
    rng = np.random.default_rng(1)
    at = loss.identity + 0.3 * rng.standard_normal(loss.identity.shape)
    gradient = loss.value_and_gradient(at)[1]
    hessian = loss.hessian(at)
    for i in range(at.size):
        step = np.zeros(at.size)
        step[i] = 1e-5
        step = step.reshape(at.shape)
        (up, g_up), (down, g_down) = (loss.value_and_gradient(at + s) for s in (step, -step))
        assert gradient.ravel()[i] == pytest.approx((up - down) / 2e-5, abs=1e-8)
        np.testing.assert_allclose(hessian[i], ((g_up - g_down) / 2e-5).ravel(), atol=1e-7)
    np.testing.assert_allclose(loss.own_curvature(at).ravel(), np.diag(hessian), rtol=1e-10)


@pytest.mark.parametrize("which", ["diagonal", "affine"])
def test_the_method_for_many_parameters_finds_the_same_minimum(which):
    loss = losses(k=6, n=900)[which]
    dense = fitted(loss).parameters
    large, ended = large_minimum(loss, loss.identity)
    assert ended
    # It ends at a whitened gradient of 3e-5.
    assert loss.value_and_gradient(large)[0] - loss.value_and_gradient(dense)[0] < 1e-7
    np.testing.assert_allclose(large, dense, atol=2e-3)


@pytest.mark.parametrize("which", ["diagonal", "affine"])
def test_whitening_makes_class_blocks_the_identity_and_its_two_maps_are_transposes(which):
    loss = losses(k=3, n=70)[which]
    white = loss.whitening(loss.identity)
    rng = np.random.default_rng(2)
    u, g = rng.standard_normal((2, *loss.identity.shape))
    assert np.sum(white.step(u) * g) == pytest.approx(np.sum(u * white.gradient(g)), rel=1e-10)
    hessian = loss.hessian(loss.identity)
    r, k = loss.identity.shape
    one = np.zeros((r, k))
    one[:, 1] = rng.standard_normal(r)
    stepped = white.step(one)
    assert np.count_nonzero(np.delete(stepped, 1, axis=1)) == 0
    assert stepped.ravel() @ hessian @ stepped.ravel() == pytest.approx(np.sum(one**2), rel=1e-3)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_unregularised_maps_agree_with_multinomial_logistic_regression(k):
    p, labels = noisy(1500, k, seed=k)
    peer = LogisticRegression(C=1e12, tol=1e-10, max_iter=5000)
    peer.fit(np.log(p), labels)
    theirs = peer.predict_proba(np.log(p))
    for key in ("matrix", "dirichlet"):
        cal = CALIBRATORS.make(key, **FREE[key]).fit(p, labels)
        ours = cal.predict_proba(p)
        assert log_loss(ours, labels) == pytest.approx(log_loss(theirs, labels), rel=1e-8)
        assert log_loss(ours, labels) <= log_loss(theirs, labels) + 1e-12
        np.testing.assert_allclose(ours, theirs, atol=2e-4)


@pytest.mark.parametrize(("lam", "mu"), [(0.0, 0.0), (1.0, 1.0), (0.1, 20.0), (30.0, 0.0)])
def test_no_nearby_map_is_better(lam, mu):
    p, labels = noisy()
    cal = CALIBRATORS.make("dirichlet", off_diagonal=lam, intercept=mu).fit(p, labels)
    least = objective(cal, np.log(p), labels, lam, mu)
    rng = np.random.default_rng(3)
    w, b = cal.weights_.copy(), cal.intercepts_.copy()
    for size in (1e-2, 1e-4):
        for _ in range(20):
            cal.weights_, cal.intercepts_ = w + size * rng.standard_normal(w.shape), b + size * rng.standard_normal(3)
            assert objective(cal, np.log(p), labels, lam, mu) > least - 1e-9


def test_strong_penalties_leave_a_diagonal_without_intercepts():
    p, labels = noisy()
    cal = CALIBRATORS.make("dirichlet", off_diagonal=1e6, intercept=1e6).fit(p, labels)
    assert np.abs(cal.weights_ - np.diag(np.diag(cal.weights_))).max() < 1e-5
    assert np.abs(cal.intercepts_).max() < 1e-5
    assert np.abs(np.diag(cal.weights_) - 1).max() > 0.3, "the diagonal is not penalised"


def test_the_representative_is_the_one_promised():
    p, labels = noisy(k=4)
    penalised = CALIBRATORS.make("dirichlet").fit(p, labels)
    off = penalised.weights_ - np.diag(np.diag(penalised.weights_))
    np.testing.assert_allclose(off.sum(0), 0, atol=1e-6)
    free = CALIBRATORS.make("dirichlet", **FREE["dirichlet"]).fit(p, labels)
    np.testing.assert_allclose(free.weights_.sum(0), 1, atol=1e-5)
    for cal in (penalised, free, CALIBRATORS.make("vector").fit(p, labels)):
        assert cal.intercepts_.sum() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("key", KEYS)
def test_relabelling_the_classes_commutes_with_calibrating(key):
    p, labels = noisy(k=4)
    order = np.array([2, 0, 3, 1])
    here = CALIBRATORS.make(key).fit(p, labels).predict_proba(p)
    there = CALIBRATORS.make(key).fit(p[:, order], np.argsort(order)[labels]).predict_proba(p[:, order])
    np.testing.assert_allclose(there, here[:, order], atol=1e-10)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.parametrize("rows", ["ordinary", "separable", "overconfident", "absent class", "few"])
def test_never_worse_than_the_base_model_on_the_calibration_rows(key, lam, rows):
    p, labels = noisy(400, 3)
    if rows == "separable":
        labels = p.argmax(1)
    elif rows == "overconfident":
        p = softmax(30 * np.log(p), axis=1)
    elif rows == "absent class":
        labels = np.minimum(labels, 1)
    elif rows == "few":
        p, labels = p[:5], labels[:5]
    params = {} if key == "vector" else {"off_diagonal": lam, "intercept": lam}
    cal = CALIBRATORS.make(key, **params).fit(p, labels)
    before = log_loss(np.maximum(p, np.finfo(float).eps), labels)
    assert log_loss(cal.predict_proba(p), labels) <= before + 1e-12
    assert np.abs(cal.weights_).max() < 1e4
    assert np.abs(cal.intercepts_).max() < 1e4


@pytest.mark.parametrize("key", KEYS)
def test_the_status_says_whether_rows_name_a_map(key):
    def status(p, labels):
        cal = CALIBRATORS.make(key, **FREE[key]).fit(p, labels)
        assert (cal.note == "") == (cal.status_ == "converged")
        return cal.status_

    p, labels = noisy()
    assert status(p, labels) == "converged"
    assert status(p, p.argmax(1)) == "at bound"
    assert status(p, np.minimum(labels, 1)) == "at bound"
    assert status(np.full((9, 3), 1 / 3), [0, 1, 2] * 3) == "converged"


def test_a_class_that_never_occurs_goes_to_nearly_0_unless_intercepts_are_penalised():
    p, labels = noisy(2000, 3)
    labels = np.minimum(labels, 1)
    free = CALIBRATORS.make("dirichlet", **FREE["dirichlet"]).fit(p, labels).predict_proba(p)
    assert 0 < free[:, 2].mean() < 1e-5
    kept = CALIBRATORS.make("dirichlet").fit(p, labels)
    assert 1e-4 < kept.predict_proba(p)[:, 2].mean() < 0.1


def test_two_classes_are_logistic_regression_on_the_log_odds():
    """The Dirichlet map of two classes is beta calibration without bounds: log q1/q0 is linear in log p1 and log p0."""
    p, labels = noisy(1000, 2)
    cal = CALIBRATORS.make("dirichlet", **FREE["dirichlet"]).fit(p, labels)
    q = cal.predict_proba(p)
    peer = LogisticRegression(C=1e12, tol=1e-10, max_iter=2000).fit(np.log(p), labels)
    np.testing.assert_allclose(q[:, 1], peer.predict_proba(np.log(p))[:, 1], atol=1e-5)


def test_temperature_only_data_give_one_weight_for_all_and_no_intercepts():
    rng = np.random.default_rng(7)
    z = 2 * rng.standard_normal((40_000, 3))
    labels = np.minimum((rng.random(40_000)[:, None] > softmax(z / 1.6, axis=1).cumsum(1)).sum(1), 2)
    vector = CALIBRATORS.make("vector").fit(Logits(z), labels)
    # Standard errors are near 0.007 (weights) and 0.01 (intercepts); four of them.
    np.testing.assert_allclose(vector.weights_, 1 / 1.6, atol=0.03)
    np.testing.assert_allclose(vector.intercepts_, 0, atol=0.05)
    matrix = CALIBRATORS.make("matrix").fit(Logits(z), labels)
    np.testing.assert_allclose(matrix.weights_ - np.mean(matrix.weights_, 0) + 1 / 4.8, np.eye(3) / 1.6, atol=0.05)


@pytest.mark.parametrize("key", KEYS)
def test_weights_are_copies_and_float32_is_close_to_float64(key):
    p, labels = noisy(300, 3)
    weights = np.random.default_rng(0).integers(0, 4, 300)
    weighted = CALIBRATORS.make(key).fit(p, labels, sample_weight=weights.astype(float)).predict_proba(p)
    repeated = CALIBRATORS.make(key).fit(np.repeat(p, weights, 0), np.repeat(labels, weights)).predict_proba(p)
    np.testing.assert_allclose(weighted, repeated, atol=1e-10)
    single = CALIBRATORS.make(key).fit(p.astype(np.float32), labels).predict_proba(p.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, CALIBRATORS.make(key).fit(p, labels).predict_proba(p), atol=1e-5)


# ---- logits or log-probabilities ---------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["vector", "matrix"])
def test_raw_logits_are_used_where_there_are_some(key):
    p, labels = noisy()
    z = np.log(p) + np.random.default_rng(1).normal(0, 1, (len(p), 1))
    on_logits = CALIBRATORS.make(key, **FREE[key]).fit(Logits(z), labels)
    on_probs = CALIBRATORS.make(key, **FREE[key]).fit(p, labels)
    assert (on_logits.input_, on_probs.input_) == ("logits", "log-probabilities")
    w, b = on_logits.weights_, on_logits.intercepts_
    by_hand = softmax(z * w + b if w.ndim == 1 else z @ w.T + b, axis=1)
    np.testing.assert_allclose(on_logits.predict_proba(Logits(z)), by_hand, rtol=1e-10)
    assert np.abs(by_hand - on_probs.predict_proba(p)).max() > 1e-3, "a shift of the logits changes these maps"


def test_dirichlet_never_uses_logits():
    p, labels = noisy()
    z = np.log(p) + 3.0
    cal = CALIBRATORS.make("dirichlet").fit(Logits(z), labels)
    assert cal.input_ == "log-probabilities"
    np.testing.assert_allclose(cal.predict_proba(Logits(z)), cal.predict_proba(p), atol=1e-12)


@pytest.mark.parametrize("key", ["vector", "matrix"])
def test_a_map_of_logits_refuses_bare_probabilities(key):
    p, labels = noisy(60)
    cal = CALIBRATORS.make(key).fit(Logits(np.log(p)), labels)
    with pytest.raises(InputError, match=r"raw logits.*give Logits"):
        cal.predict_proba(p)


def test_after_temperature_scaling_vector_scaling_still_sees_logits():
    """Logits divided by T span the same family: ts+vector is vector scaling on logits."""
    p, labels = noisy()
    z = np.log(p) + np.random.default_rng(1).normal(0, 1, (len(p), 1))
    both = CALIBRATORS.make("ts+vector").fit(Logits(z), labels)
    alone = CALIBRATORS.make("vector").fit(Logits(z), labels)
    assert both.then_.input_ == "logits"
    np.testing.assert_allclose(both.predict_proba(Logits(z)), alone.predict_proba(Logits(z)), atol=1e-6)


def test_logits_of_minus_infinity_stay_impossible():
    p, labels = noisy()
    z = np.column_stack([np.log(p), np.full(len(p), -np.inf)])
    cal = CALIBRATORS.make("vector").fit(Logits(z), labels)
    made = cal.predict_proba(Logits(z))
    assert np.isfinite(made).all()
    assert made[:, 3].max() < 1e-4


# ---- choosing the penalties --------------------------------------------------------------------------------


def test_cross_validation_takes_the_least_held_out_loss():
    """The slow twin: a public fit and a log loss for every fold and candidate."""
    p, labels = noisy(240, 3)
    cal = CALIBRATORS.make("dirichlet", cross_validate=True, folds=3, random_state=5).fit(p, labels)
    parts = dealt(labels, 3, 5)

    def held_out(lam, mu):
        total = 0.0
        for f in range(3):
            fit, out = parts != f, parts == f
            one = CALIBRATORS.make("dirichlet", off_diagonal=lam, intercept=mu).fit(p[fit], labels[fit])
            total += log_loss(one.predict_proba(p[out]), labels[out]) * out.sum()
        return total

    lam = min(GRID, key=lambda v: held_out(v, 1.0))
    mu = min(GRID, key=lambda v: held_out(lam, v))
    assert (cal.off_diagonal_, cal.intercept_) == (lam, mu)
    plain = CALIBRATORS.make("dirichlet", off_diagonal=lam, intercept=mu).fit(p, labels)
    np.testing.assert_allclose(cal.weights_, plain.weights_, atol=1e-10)


def test_folds_are_stratified_seeded_and_even():
    labels = np.repeat([0, 1, 2], [50, 20, 3])
    parts = dealt(labels, 5, 0)
    assert np.ptp(np.bincount(parts)) <= 1
    for c in range(3):
        assert np.ptp(np.bincount(parts[labels == c], minlength=5)) <= 1
    np.testing.assert_array_equal(parts, dealt(labels, 5, 0))
    assert (parts != dealt(labels, 5, 1)).any()


@pytest.mark.parametrize("key", ["matrix", "dirichlet"])
def test_cross_validation_stands_rare_classes_and_few_rows(key):
    p, labels = noisy(40, 3)
    labels = np.where(np.arange(40) == 7, 2, np.minimum(labels, 1))
    for n in (1, 2, 4, 40):
        cal = CALIBRATORS.make(key, cross_validate=True).fit(p[:n], labels[:n])
        assert np.isfinite(cal.predict_proba(p)).all()


@pytest.mark.parametrize("key", ["vector", "matrix"])
@pytest.mark.parametrize("size", [1e160, 1e300, 1e308])
def test_logits_whose_squares_overflow_are_refused_in_one_sentence(key, size):
    z = np.random.default_rng(0).normal(size=(60, 3))
    labels = np.arange(60) % 3
    ordinary = Predictions.from_logits(z, labels)
    z[::7, 0], z[::7, 1] = size, -size
    huge = Predictions.from_logits(z, labels)
    with pytest.raises(InputError, match=r"some logits differ by more than 1e\+75"):
        CALIBRATORS.make(key).fit_on(huge)
    fitted_map = CALIBRATORS.make(key).fit_on(ordinary)
    fitted_map.weights_ = 10.0 * (np.ones(3) if key == "vector" else np.eye(3))
    if size > 1e307:
        with pytest.raises(InputError, match="row 0: its logits are too large for this map"):
            fitted_map.apply(huge)
    else:
        assert np.isfinite(fitted_map.apply(huge).probs).all()


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("key", KEYS)
def test_per_class_scores_alike_in_all_rows_become_the_shares_of_classes(key, value):
    labels = np.random.default_rng(3).choice(3, 300, p=[0.2, 0.5, 0.3])
    rows = Predictions.from_scores(np.full((300, 3), value), labels)
    q = CALIBRATORS.make(key, **FREE[key]).fit_on(rows).apply(rows).probs
    np.testing.assert_allclose(q, np.tile(np.bincount(labels) / 300, (300, 1)), atol=1e-4)


@pytest.mark.parametrize("key", ["matrix", "dirichlet"])
def test_more_classes_than_memory_has_room_for_are_refused_before_the_work(key):
    rows = Predictions(np.full((1, 5_000), 1 / 5_000), [0])
    with pytest.raises(NotAnswerable, match="25,005,000 numbers for 5,000 classes; its limit is 2,000 classes"):
        CALIBRATORS.make(key).fit_on(rows)
    with pytest.raises(NotAnswerable, match="its limit is 2,000 classes"):
        CALIBRATORS.make(key).fit_parts([rows])
