"""Scaling maps against exact optima and other packages' values, outside the repository; skipped if missing.

Conventions. The peers' logits are log p without a floor; ours are raised to log 2e-16. Only densenet_c100 has entries
below that: it is compared where the record is another package's with the same floor, or left out. ODIR records marked
"no" weigh sums by lam and mu; ours, as the paper prints it, by lam / (K(K-1)) and mu / K. Records of the exact minimum
stop at gradients near 1e-8, ours at rounding. The loss therefore agrees to 1e-11 and parameters, on flat directions, to
1e-5.
"""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from shared_files import arrays, record

from calib_core import CALIBRATORS

SMALL = ("vgg16_c10", "lenet_c10", "synth_valkkull")


def halves(data):
    """Return calibration rows and labels, and the first five test rows."""
    if data == "synth_valkkull":
        held = arrays("synth_valkkull_val")
        return held["probs"], held["labels"], arrays("synth_valkkull_test")["probs"][:5]
    held = arrays(data)
    n = len(held["labels"]) // 2
    return held["probs"][:n], held["labels"][:n], held["probs"][n : n + 5]


def mean_loss(z, labels):
    return -log_softmax(z, axis=1)[np.arange(len(labels)), labels].mean()


def penalised(w, b, x, labels, lam, mu):
    off = w - np.diag(np.diag(w))
    return mean_loss(x @ w.T + b, labels) + lam * (off**2).sum() + mu * (b**2).sum()


def odir(data, lam, normalised):
    function = "exact minimiser of mean NLL + lam*sum_offdiag W^2 + mu*sum b^2 on log(probs) (Dirichlet-ODIR)"
    return record(
        "calibrators_scaling",
        data=data,
        peer="independent",
        function=function,
        params=lambda p: p["lam"] == lam and p["normalised_by_K"].startswith("lam/") == normalised,
    )


@pytest.mark.parametrize("data", [*SMALL, "lenet_c100"])
def test_temperature_loss_is_the_least(data):
    found = record(
        "calibrators_scaling",
        data=data,
        peer="independent",
        function="optimal temperature by NLL (bounded Brent, xatol 1e-12)",
    )
    p, labels, _ = halves(data)
    cal = CALIBRATORS.make("temperature").fit(p, labels)
    assert mean_loss(np.log(p) / cal.temperature_, labels) == pytest.approx(found["calib_NLL"], rel=1e-12)


@pytest.mark.parametrize("data", [*SMALL, "lenet_c100"])
def test_vector_scaling_is_the_exact_optimum(data):
    found = record(
        "calibrators_scaling", data=data, peer="independent", function="vector scaling optimum (diag w, b) on logits"
    )
    p, labels, new = halves(data)
    cal = CALIBRATORS.make("vector").fit(p, labels)
    assert mean_loss(np.log(p) * cal.weights_ + cal.intercepts_, labels) == pytest.approx(found["objective"], rel=1e-10)
    # 100 classes of a weak model, some hardly ever seen: flat directions.
    np.testing.assert_allclose(cal.weights_, found["w"], atol=1e-4 if data == "lenet_c100" else 5e-6)
    np.testing.assert_allclose(cal.intercepts_, found["b"], atol=3e-4 if data == "lenet_c100" else 5e-6)
    np.testing.assert_allclose(cal.predict_proba(new), found["first5"], atol=1e-6)
    assert cal.status_ == "converged"


@pytest.mark.parametrize("data", SMALL)
@pytest.mark.parametrize(("lam", "normalised"), [(0.01, False), (0.001, False), (1.0, True)])
def test_dirichlet_odir_is_the_exact_optimum_in_both_normalisations(data, lam, normalised):
    found = odir(data, lam, normalised)
    p, labels, new = halves(data)
    k = p.shape[1]
    ours = (lam, lam) if normalised else (lam * k * (k - 1), lam * k)
    cal = CALIBRATORS.make("dirichlet", off_diagonal=ours[0], intercept=ours[1]).fit(p, labels)
    weights = (lam / (k * (k - 1)), lam / k) if normalised else (lam, lam)
    least = penalised(cal.weights_, cal.intercepts_, np.log(p), labels, *weights)
    assert least == pytest.approx(found["objective"], rel=1e-10)
    np.testing.assert_allclose(cal.weights_, found["W"], atol=1e-5)
    np.testing.assert_allclose(cal.intercepts_, found["b"], atol=1e-5)
    np.testing.assert_allclose(cal.predict_proba(new), found["first5"], atol=1e-6)


def test_dirichlet_odir_of_a_hundred_classes():
    """10,100 parameters: the quasi-Newton path, which stops within 1e-7 of the least loss."""
    found = odir("lenet_c100", 0.01, False)
    p, labels, new = halves("lenet_c100")
    cal = CALIBRATORS.make("dirichlet", off_diagonal=0.01 * 100 * 99, intercept=0.01 * 100).fit(p, labels)
    least = penalised(cal.weights_, cal.intercepts_, np.log(p), labels, 0.01, 0.01)
    assert least == pytest.approx(found["objective"], rel=1e-7)
    np.testing.assert_allclose(cal.predict_proba(new), found["first5"], atol=5e-4)


@pytest.mark.parametrize("lam", [0.001, 0.01])
def test_dirichletcal_without_its_reference_row(lam):
    """ref_row=True penalizes W minus its last row, which is not ODIR as published; without it the two agree."""
    found = record(
        "calibrators_scaling",
        data="vgg16_c10",
        peer="dirichletcal",
        function="FullDirichletCalibrator ODIR",
        params=lambda p: p["reg_lambda"] == lam and p["reg_mu"] == lam and not p["ref_row"],
    )
    p, labels, new = halves("vgg16_c10")
    cal = CALIBRATORS.make("dirichlet", off_diagonal=lam * 90, intercept=lam * 10).fit(p, labels)
    ours = mean_loss(np.log(p) @ cal.weights_.T + cal.intercepts_, labels)
    assert ours == pytest.approx(found["calib_NLL"], rel=1e-6)
    np.testing.assert_allclose(cal.predict_proba(new), found["first5"], atol=1e-6)


@pytest.mark.parametrize("data", SMALL)
def test_unregularised_matrix_scaling_is_at_least_as_good_as_dirichletcal(data):
    found = record("calibrators_scaling", data=data, peer="dirichletcal", function="MatrixScaling (no regularisation)")
    p, labels, _ = halves(data)
    cal = CALIBRATORS.make("matrix", off_diagonal=0.0, intercept=0.0).fit(p, labels)
    ours = mean_loss(np.log(p) @ cal.weights_.T + cal.intercepts_, labels)
    assert ours == pytest.approx(found["calib_NLL"], rel=1e-6)
    assert ours <= found["calib_NLL"] * (1 + 1e-9)


@pytest.mark.parametrize("data", [*SMALL, "densenet_c100", "lenet_c100"])
def test_ensemble_temperature_with_log_loss_throughout(data):
    """The peer's solver stops near its weights, 1e-5 away at most; ours must have the lower loss, and be close."""
    found = record(
        "calibrators_scaling", data=data, peer="mixnmatch", function="ensemble_scaling with loss=ce throughout"
    )
    p, labels, new = halves(data)
    cal = CALIBRATORS.make("ensemble-temperature").fit(p, labels)
    row = np.arange(len(labels))

    def loss(temperature, w):
        soft = softmax(np.log(p) / temperature, axis=1)[row, labels]
        return -np.log(w[0] * soft + w[1] * p[row, labels] + w[2] / p.shape[1]).mean()

    np.testing.assert_allclose(cal.weights_, found["w"], atol=2e-5)
    assert loss(found["T"], cal.weights_) <= loss(found["T"], found["w"]) * (1 + 3e-8)
    np.testing.assert_allclose(cal.predict_proba(new), found["first5"], atol=5e-6)
