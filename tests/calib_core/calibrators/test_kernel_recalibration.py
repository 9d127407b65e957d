"""Kernel recalibration: its formula with SciPy's density, far rows, the choice of the bandwidth, and copies."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import dirichlet, entropy

from calib_core import CALIBRATORS, Predictions, load_calibrator
from calib_core.smoothing.simplex_kernel import BANDWIDTHS_TRIED


def sharp(n, k=3, seed=0, factor=1.8):
    """Return rows that are too confident by a factor of their logits, and labels."""
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.standard_normal((n, k))
    return softmax(factor * z, axis=1), (z + rng.gumbel(size=z.shape)).argmax(axis=1)


def make(**params):
    return CALIBRATORS.make("kernel-recalibration", **params)


def slow(new, p, labels, weights, h, prior):
    """Return one row by SciPy's density and divergence, term by term."""
    kernel = np.array([w * dirichlet.pdf(new / new.sum(), row / h + 1) for row, w in zip(p, weights, strict=True)])
    near = sum(w * np.exp(-entropy(row, new) / h) for row, w in zip(p, weights, strict=True))
    shares = np.array([kernel[labels == c].sum() for c in range(p.shape[1])]) / kernel.sum()
    return (near * shares + prior * new) / (near + prior)


def log_loss(q, labels):
    return -np.log(q[np.arange(len(labels)), labels]).mean()


@pytest.mark.parametrize("h", [0.02, 0.1, 0.7])
@pytest.mark.parametrize("prior", [0.0, 3.0])
def test_it_is_the_formula_as_it_is_written(h, prior):
    p, labels = sharp(40)
    weights = np.arange(40) % 3 + 1.0
    cal = make(bandwidth=h, prior=prior).fit(p, labels, sample_weight=weights)
    new = sharp(6, seed=1)[0]
    wanted = [slow(row, p, labels, weights, h, prior) for row in new]
    np.testing.assert_allclose(cal.predict_proba(new), wanted, atol=1e-10)


def test_two_rows_by_hand():
    """Kernels for h = 1: Dirichlet(1.5, 1.5), 8 sqrt(xy) / pi, and Dirichlet(2, 1), 2 x, here at x = y = 1/2."""
    cal = make(bandwidth=1.0, prior=0.0).fit([[0.5, 0.5], [1.0, 0.0]], [0, 1])
    first, second = 4 / np.pi, 1.0
    np.testing.assert_allclose(cal.predict_proba([[0.5, 0.5]])[0, 0], first / (first + second), atol=1e-12)
    # The second kernel has half its height here, exp(-KL((1, 0) || (.5, .5))): 1.5 rows are near.
    mixed = make(bandwidth=1.0, prior=1.5).fit([[0.5, 0.5], [1.0, 0.0]], [0, 1])
    wanted = (first / (first + second) + 0.5) / 2
    np.testing.assert_allclose(mixed.predict_proba([[0.5, 0.5]])[0, 0], wanted, atol=1e-12)


def test_far_from_all_calibration_rows_nothing_changes_and_no_class_gets_0():
    p = np.tile([[0.98, 0.01, 0.01]], (50, 1))
    far = np.array([[1e-3, 0.5, 0.499], [0.0, 0.2, 0.8]])
    cal = make(bandwidth=0.001).fit(p, [0] * 50)
    np.testing.assert_allclose(cal.predict_proba(far), far, atol=1e-15)
    near = cal.predict_proba(p[:1])
    np.testing.assert_allclose(near, [(50 * np.eye(3)[0] + 10 * p[0]) / 60])
    assert near.min() > 0
    # Without prior rows the formula has the frequencies of rows however far away, also where kernels underflow.
    alone = make(bandwidth=0.001, prior=0.0).fit(p, [0] * 50)
    np.testing.assert_array_equal(alone.predict_proba(far), [[1, 0, 0], [1, 0, 0]])


def held_out(p, labels, h, weights=None):
    """Return the leave-one-out log loss by fits without each row."""
    rows = np.arange(len(p))
    losses = []
    for i in rows:
        rest = rows != i
        cal = make(bandwidth=h).fit(p[rest], labels[rest])
        losses.append(log_loss(cal.predict_proba(p[[i]]), labels[[i]]))
    return np.average(losses, weights=weights)


def test_the_bandwidth_is_that_of_the_least_leave_one_out_loss_and_equals_fits_without_the_row():
    p, labels = sharp(40)
    cal = make().fit(p, labels)
    for j in (0, 6, 12):
        assert cal.losses_[j] == pytest.approx(held_out(p, labels, BANDWIDTHS_TRIED[j]), abs=1e-10)
    assert cal.bandwidth_ == BANDWIDTHS_TRIED[int(cal.losses_.argmin())]
    given = make(bandwidth=cal.bandwidth_).fit(p, labels)
    np.testing.assert_array_equal(cal.predict_proba(p), given.predict_proba(p))


def test_rows_of_a_group_are_left_out_together():
    p, labels = sharp(30)
    twice = Predictions(np.repeat(p, 2, axis=0), np.repeat(labels, 2), groups=np.repeat(np.arange(30), 2))
    together = make().fit_on(twice)
    apart = make().fit_on(Predictions(twice.probs, twice.labels))
    # With a row's copy in the data narrow kernels seem best. Without it, all counts are twice those of single rows.
    assert apart.bandwidth_ < together.bandwidth_
    assert together.losses_.min() > apart.losses_.min() + 0.05
    np.testing.assert_allclose(together.losses_, make(prior=5).fit(p, labels).losses_)


def test_a_draw_of_the_rows_chooses_nearly_the_same(monkeypatch):
    p, labels = sharp(1000)
    whole = make().fit(p, labels)
    monkeypatch.setattr("calib_core.calibrators.kernel_recalibration.MOST_LEFT_OUT", 500)
    drawn = make().fit(p, labels)
    assert not np.array_equal(drawn.losses_, whole.losses_)
    np.testing.assert_allclose(drawn.losses_, whole.losses_, atol=0.05)
    np.testing.assert_array_equal(make().fit(p[::-1], labels[::-1]).losses_, drawn.losses_)


def test_it_gains_where_rows_are_too_confident_and_costs_little_where_they_are_not():
    new, truth = sharp(2000, seed=9)
    gained = log_loss(new, truth) - log_loss(make().fit(*sharp(600)).predict_proba(new), truth)
    assert gained > 0.03
    new, truth = sharp(2000, seed=9, factor=1.0)
    fair = make().fit(*sharp(600, factor=1.0)).predict_proba(new)
    assert log_loss(fair, truth) - log_loss(new, truth) < 0.02
    # A falsified twin: labels that belong to other rows.
    p, labels = sharp(600)
    wrong = make(bandwidth=0.02).fit(p, labels[::-1]).predict_proba(new)
    assert log_loss(wrong, truth) > log_loss(new, truth) + 0.1


def test_saved_and_read_it_is_the_same():
    p, labels = sharp(60)
    cal = make().fit(p.astype(np.float32), labels)
    again = load_calibrator(cal.to_json())
    np.testing.assert_array_equal(again.predict_proba(p), cal.predict_proba(p))
    assert cal.insides().short == f"bandwidth {cal.bandwidth_:.3g}"
    assert len(list(cal.insides().numbers())) == 1 + len(BANDWIDTHS_TRIED)
