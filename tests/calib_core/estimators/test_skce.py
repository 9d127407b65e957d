"""Kernel calibration error: values of CalibrationErrors.jl's tests, double loops, and unbiasedness."""

import itertools

import numpy as np
import pytest
from generated import rows
from hypothesis import given
from hypothesis import strategies as st

from calib_core import Predictions, estimate
from calib_core.estimators import KernelCalibrationError
from calib_core.estimators.skce import pair_sums
from calib_core.reductions import Canonical, ClassSpecific


def term(probs, labels, i, j, scale=1.0):
    """Return (e_i - p_i) . (e_j - p_j) exp(-TV / scale)."""
    residuals = np.eye(probs.shape[1])[labels] - probs
    distance = 0.5 * np.abs(probs[i] - probs[j]).sum()
    return residuals[i] @ residuals[j] * np.exp(-distance / scale)


def sample(n, k, seed, sharpen=1.0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), n)
    labels = (rng.random(n)[:, None] > np.cumsum(probs, 1)[:, :-1]).sum(1)
    said = probs**sharpen
    return Predictions(said / said.sum(1, keepdims=True), labels)


@pytest.mark.parametrize(("labels", "value"), [((0, 1), 0), ((0, 0), 0), ((1, 0), -2 * np.exp(-1)), ((1, 1), 0)])
def test_the_toy_of_calibration_errors_jl(labels, value):
    """Its kernel is exp(-||p - q||^2 / 2), ours exp(-TV): for (1, 0) and (0, 1) both are exp(-1)."""
    p = Predictions([[1.0, 0.0], [0.0, 1.0]], labels)
    assert estimate(p, "canonical", "skce").value == pytest.approx(value, abs=1e-15)


@given(seed=st.integers(0, 999), n=st.integers(2, 25), k=st.integers(2, 5), scale=st.sampled_from((0.05, 0.5, 1.0, 10)))
def test_the_canonical_value_is_the_mean_over_all_pairs(seed, n, k, scale):
    p = sample(n, k, seed, 2.0)
    wanted = np.mean([term(p.probs, p.labels, i, j, scale) for i, j in itertools.combinations(range(n), 2)])
    assert estimate(p, "canonical", KernelCalibrationError(scale)).value == pytest.approx(wanted, abs=1e-12)


@given(seed=st.integers(0, 999), n=st.integers(2, 25), scale=st.sampled_from((0.05, 0.5, 1.0, 10)))
def test_the_binary_value_is_the_mean_over_all_pairs_and_half_the_canonical_one(seed, n, scale):
    p = sample(n, 2, seed, 2.0)
    s, z = p.probs[:, 1], p.labels
    pairs = itertools.combinations(range(n), 2)
    wanted = np.mean([(z[i] - s[i]) * (z[j] - s[j]) * np.exp(-abs(s[i] - s[j]) / scale) for i, j in pairs])
    made = estimate(p, ClassSpecific(1), KernelCalibrationError(scale)).value
    assert made == pytest.approx(wanted, abs=1e-12)
    assert estimate(p, "canonical", KernelCalibrationError(scale)).value == pytest.approx(2 * made, abs=1e-12)


def test_pair_sums_of_many_rows_of_signs_at_once():
    rng = np.random.default_rng(0)
    scores, values = np.sort(rng.random(12)), rng.standard_normal(12)
    signs = rng.choice([-1.0, 1.0], (5, 12))
    made = pair_sums(scores, signs * values, 0.05)
    for row, signed in zip(made, signs * values, strict=True):
        pairs = itertools.combinations(range(12), 2)
        wanted = sum(signed[i] * signed[j] * np.exp((scores[i] - scores[j]) / 0.05) for i, j in pairs)
        assert row == pytest.approx(wanted, abs=1e-12)


@given(seed=st.integers(0, 999), style=st.sampled_from(("spread", "grid", "one-hot", "equal")))
def test_blocks_depend_on_the_seed_and_not_on_the_order_of_the_rows(seed, style):
    rng = np.random.default_rng(seed)
    p = Predictions(
        rows(style, 60, 3, rng), rng.integers(3, size=60), weights=rng.integers(0, 3, 60) + (rng.random() < 0.5)
    )
    shuffled = p.take(rng.permutation(60))
    method = KernelCalibrationError(block=7)
    one, two = (method.blocks(Canonical().split(q)) for q in (p, shuffled))
    assert len(one.values) == 8
    if len(np.unique(p.weights)) == 1:  # rows that differ only in weight cannot be distinguished
        np.testing.assert_allclose(one.values, two.values, atol=1e-12)
    other = KernelCalibrationError(block=7, random_state=1).blocks(Canonical().split(p))
    if style == "spread":
        assert not np.allclose(one.values, other.values)


def test_every_row_is_in_one_block_and_the_value_is_their_mean():
    p = sample(1003, 4, 0)
    blocks = KernelCalibrationError(block=100).blocks(Canonical().split(p))
    assert blocks.pairs.sum() == 3 * 101 * 100 / 2 + 7 * 100 * 99 / 2
    assert estimate(p, "canonical", "skce").value == pytest.approx(np.average(blocks.values, weights=blocks.pairs))


def test_equal_rows_are_dealt_over_all_blocks():
    """There are only two kinds of rows: sorted into blocks of one kind, every block would have one sign."""
    p = Predictions([[0.8, 0.2], [0.2, 0.8]] * 500, [0, 1] * 500)
    blocks = KernelCalibrationError(block=20).blocks(Canonical().split(p))
    # Residuals +-(0.2, -0.2): 0.08 within a kind, -0.08 exp(-0.6) across; half of the pairs each.
    assert blocks.values.mean() == pytest.approx(0.5 * 0.08 * (1 - np.exp(-0.6)), abs=0.005)
    assert blocks.values.max() < 0.05


@given(seed=st.integers(0, 999), k=st.integers(2, 4))
def test_a_whole_weight_is_that_many_copies_within_a_block(seed, k):
    rng = np.random.default_rng(seed)
    q = sample(20, k, seed)
    w = rng.integers(0, 4, 20).astype(float)
    w[0] = 2
    at = np.repeat(np.arange(20), w.astype(int))
    weighed = Predictions(q.probs, q.labels, weights=w)
    copies = Predictions(q.probs[at], q.labels[at])
    for notion in ("canonical", "class-wise"):
        assert estimate(weighed, notion, "skce").value == pytest.approx(
            estimate(copies, notion, "skce").value, abs=1e-12
        )


@pytest.mark.parametrize("notion", ["canonical", "confidence"])
def test_it_is_as_often_below_zero_as_above_for_a_calibrated_model_and_above_for_another(notion):
    calibrated = np.array([estimate(sample(300, 3, seed), notion, "skce").value for seed in range(200)])
    assert abs(calibrated.mean()) < 4 * calibrated.std() / np.sqrt(200)
    assert 0.3 < (calibrated < 0).mean() < 0.8
    sharpened = [estimate(sample(300, 3, seed, 5.0), notion, "skce").value for seed in range(20)]
    assert np.median(sharpened) > calibrated.max()
    assert min(sharpened) > np.quantile(calibrated, 0.95)


def test_without_a_pair_the_value_is_zero():
    p = Predictions([[0.7, 0.3]], [1])
    for notion in ("canonical", "confidence", "class-wise"):
        assert estimate(p, notion, "skce").value == 0
    assert estimate(Predictions([[0.7, 0.3]], [1], weights=[0.5]), "canonical", "skce").value == 0
    made = estimate(Predictions([[0.7, 0.3], [0.6, 0.4]], [1, 0]), "top-label", "skce")
    assert np.isnan(made.per_stratum[1])


def test_a_thousand_classes_in_blocks():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(1000, 0.02), 600).astype(np.float32)
    labels = (rng.random(600)[:, None] > np.cumsum(probs, 1)[:, :-1]).sum(1)
    p = Predictions(probs, labels)
    blocks = KernelCalibrationError(block=50).blocks(Canonical().split(p))
    assert len(blocks.values) == 12
    error = blocks.values.std(ddof=1) / np.sqrt(12)
    assert abs(blocks.mean) < 4 * error
    # Always the same class: residuals agree in that entry, and predictions that share no class count exp(-1).
    wrong = Predictions(probs, np.zeros(600, dtype=int))
    made = KernelCalibrationError(block=50).of_vectors(Canonical().split(wrong))
    assert made.value == pytest.approx(np.exp(-1), abs=0.02)
