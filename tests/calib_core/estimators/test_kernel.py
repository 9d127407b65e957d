"""Kernel densities against direct sums over mirrored data, bandwidth rules by hand, and ECE_KDE's edges."""

import numpy as np
import pytest
from generated import of_kind
from hypothesis import given
from hypothesis import strategies as st

from calib_core import NotAnswerable, Predictions, estimate
from calib_core.claims.binary_claims import Stratum
from calib_core.estimators import KERNELS
from calib_core.estimators.kernel_ece import KernelECE
from calib_core.reductions import ClassSpecific, ClassWise, Confidence, TopLabel
from calib_core.smoothing import (
    Fixed,
    Gaussian,
    LogOdds,
    ScoreGrid,
    Silverman,
    StandardDeviation,
    Triweight,
    local_calibration,
)
from calib_core.smoothing.bandwidths import BANDWIDTHS


def direct_density(scores, at, bandwidth, kernel, low):
    """Return the mean of kernels over the data and its mirror images, without grid, binning or transform."""
    height = {
        "triweight": lambda u: 35 / 32 * np.maximum(1 - (u / 3) ** 2, 0) ** 3 / 3,
        "gaussian": lambda u: np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi),
    }[kernel]
    width = 1 - low
    images = [low + sign * (scores - low) + 2 * width * turn for sign in (1, -1) for turn in range(-3, 4)]
    return sum(height((at[:, None] - image) / bandwidth).sum(1) for image in images) / (bandwidth * len(scores))


def claims_of(n, seed=0, low=0.0):
    rng = np.random.default_rng(seed)
    scores = low + (1 - low) * np.append(rng.beta(4, 1.5, n - 2), [0.0, 1.0])
    return Stratum(scores, rng.random(n) < scores)


def by_grid(stratum, bandwidth, kernel="triweight", low=0.0):
    chosen = KERNELS.make(kernel)
    return local_calibration(stratum, chosen.on(ScoreGrid(low, chosen.cells), bandwidth))


@pytest.mark.parametrize("kernel", ["triweight", "gaussian"])
@pytest.mark.parametrize(("bandwidth", "low"), [(0.01, 0.0), (0.05, 0.1), (0.2, 0.5), (0.6, 0.0)])
def test_density_and_curve_are_those_of_a_direct_sum(kernel, bandwidth, low):
    stratum = claims_of(300, low=low)
    made = by_grid(stratum, bandwidth, kernel, low)
    at = made.scores[::97]
    every = direct_density(stratum.scores, at, bandwidth, kernel, low)
    hits = direct_density(stratum.scores[stratum.outcomes], at, bandwidth, kernel, low) * stratum.outcomes.mean()
    # Linear binning widens the kernel's variance by at most step^2 / 4.
    tolerance = 2 * (made.grid.step / bandwidth) ** 2 * every.max()
    np.testing.assert_allclose(made.all[::97], every, atol=tolerance)
    np.testing.assert_allclose(made.true[::97], hits, atol=tolerance)
    held = every > 1e-2
    np.testing.assert_allclose(made.curve[::97][held], (hits / every.clip(1e-300))[held], atol=100 * tolerance)


@given(
    seed=st.integers(0, 999),
    n=st.integers(1, 50),
    bandwidth=st.sampled_from((0.0, 1e-5, 0.001, 0.03, 0.3, 1.0)),
    kernel=st.sampled_from(tuple(KERNELS)),
    low=st.sampled_from((0.0, 0.1, 0.5)),
)
def test_the_density_integrates_to_one_and_is_nowhere_negative(seed, n, bandwidth, kernel, low):
    rng = np.random.default_rng(seed)
    scores = low + (1 - low) * rng.choice([0.0, 1.0, 0.3, rng.random()], n)
    made = by_grid(Stratum(scores, rng.random(n) < 0.5, rng.integers(1, 4, n).astype(float)), bandwidth, kernel, low)
    assert made.grid.integral(made.all) == pytest.approx(1, abs=1e-9)
    assert (made.all >= 0).all()
    assert (made.true >= 0).all()
    assert (made.true <= made.all).all()
    known = made.curve[~np.isnan(made.curve)]
    assert known.size
    assert ((known >= 0) & (known <= 1)).all()


def test_nothing_wraps_around_and_a_gap_has_no_curve():
    made = by_grid(Stratum(np.full(9, 0.97), np.arange(9) < 6), 0.02)
    assert (made.all[made.scores < 0.9] < 1e-9).all()
    assert np.isnan(made.curve[made.scores < 0.9]).all()
    np.testing.assert_allclose(made.curve[made.scores > 0.93], 2 / 3, atol=1e-9)


def test_a_mass_on_an_end_counts_like_any_other():
    """Half of the data at 1, half at 0.5: near an end, the mirror image doubles the remaining part of the kernel."""
    made = by_grid(Stratum(np.array([1.0, 0.5]), np.array([True, False])), 0.02)
    assert made.all[-1] == pytest.approx(2 * made.all[2048], rel=1e-9)
    assert made.grid.integral(made.true) == pytest.approx(0.5, abs=1e-12)


def test_linear_binning_keeps_sums_and_means():
    rng = np.random.default_rng(0)
    scores, values = 0.2 + 0.8 * rng.random(1000), rng.standard_normal(1000)
    grid = ScoreGrid(0.2, 7)
    masses = grid.masses(scores, values)
    assert masses.sum() == pytest.approx(values.sum(), abs=1e-12)
    assert (masses * grid.scores).sum() == pytest.approx((values * scores).sum(), abs=1e-12)
    # A score a rounding below the floor is put at it.
    np.testing.assert_allclose(grid.masses(np.array([0.2 - 1e-9])), np.eye(8)[0])


@pytest.mark.parametrize("stride", [2, 4, 8])
def test_every_few_nodes_hold_what_all_nodes_hold(stride):
    grid, rng = ScoreGrid(), np.random.default_rng(1)
    spectrum = grid.spectrum(rng.random((3, grid.cells + 1)))
    np.testing.assert_allclose(grid.density(spectrum, stride), grid.density(spectrum)[:, ::stride], rtol=1e-9)


# ---- bandwidths --------------------------------------------------------------------------------------------


def test_silvermans_rule_by_hand():
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.9])  # quartiles 0.2 and 0.4, standard deviation sqrt(0.388 / 4)
    scale = (0.75 * 5) ** -0.2
    assert Silverman()(x) == pytest.approx(0.2 / 1.3489795 * scale, rel=1e-6)
    assert StandardDeviation()(x) == pytest.approx(np.sqrt(0.388 / 4) * scale, rel=1e-12)
    assert Fixed(0.07)(x) == 0.07


def test_silvermans_rule_where_the_middle_half_is_one_value():
    x = np.append(np.full(90, 0.5), np.linspace(0, 1, 10))
    scale = 75**-0.2
    spread = np.diff(np.quantile(x, (0.01, 0.99)))[0] / 4.6526957
    assert Silverman()(x) == pytest.approx(spread * scale, rel=1e-6)
    assert Silverman()(np.append(np.full(999, 0.5), 0.6)) == pytest.approx(
        StandardDeviation()(np.append(np.full(999, 0.5), 0.6))
    )
    assert Silverman()(np.full(5, 0.5)) == 0.0
    assert Silverman()(np.array([0.3], dtype=np.float32)) == 0.0


@given(seed=st.integers(0, 999))
def test_bandwidths_take_a_whole_weight_for_copies(seed):
    rng = np.random.default_rng(seed)
    x, w = rng.random(20).round(1), rng.integers(0, 4, 20).astype(float)
    w[0] = 1
    for rule in (Silverman(), StandardDeviation()):
        assert rule(x, w) == pytest.approx(rule(np.repeat(x, w.astype(int))), abs=1e-12)


def test_fractional_weights_of_little_over_one_make_no_endless_bandwidth():
    few = Stratum(np.array([0.0, 1.0]), np.array([True, False]), np.array([0.5, 0.5 + 1e-9]))
    assert KernelECE(bandwidth=StandardDeviation()).width(few) == 1.0
    assert KernelECE(bandwidth=StandardDeviation(), scale=LogOdds()).width(few) == 32.0


def test_the_standard_deviation_rule_stands_where_silvermans_collapses():
    x = np.append(1 - 1e-5 * np.linspace(0, 1, 9_000), np.linspace(0, 1, 1_000))
    assert Silverman()(x) < 1e-5
    assert 0.01 < StandardDeviation()(x) < 0.05


@pytest.mark.parametrize("kernel", [Triweight(), Gaussian()])
def test_the_bandwidth_is_the_standard_deviation_of_the_kernel(kernel):
    u = np.linspace(-9, 9, 200_001)
    height = kernel(u)
    assert np.sqrt((height * u**2).sum() / height.sum()) == pytest.approx(1, abs=1e-6)
    assert kernel(np.array([kernel.reach])) < 1e-17


# ---- the estimate ------------------------------------------------------------------------------------------


def test_a_class_that_never_occurs_has_the_curve_zero_and_its_mean_score_as_error():
    p = Predictions([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.2, 0.7, 0.1]] * 20, [0, 1, 1] * 20)
    made = KernelECE(bandwidth=Fixed(0.01))(ClassWise().split(p))
    assert made.per_stratum[2] == pytest.approx(0.4 / 3, abs=1e-6)
    assert made.value == pytest.approx(made.per_stratum.mean())


def test_each_class_has_its_own_bandwidth():
    rng = np.random.default_rng(0)
    p = Predictions(rng.dirichlet([5, 1, 0.2], 500), rng.integers(3, size=500))
    whole = estimate(p, "class-wise", "ece-kde")
    alone = [estimate(p, ClassSpecific(c), "ece-kde").value for c in range(3)]
    np.testing.assert_allclose(whole.per_stratum, alone, rtol=1e-12)


def test_scores_that_are_all_equal_give_the_distance_of_the_means():
    p = Predictions.from_confidence(np.full(10, 0.7), np.arange(10) < 4)
    assert estimate(p, "confidence", "ece-kde").value == pytest.approx(0.3, abs=1e-12)


def test_the_support_is_that_of_the_notion():
    full = Predictions([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]], [0, 1])
    for notion in (Confidence(), TopLabel()):
        assert notion.split(full).floor == 1 / 3
        assert notion.split(of_kind(full, "top-label")).floor == 1 / 3
        assert estimate(of_kind(full, "top-label"), notion, "ece-kde").value == estimate(full, notion, "ece-kde").value
    assert Confidence().split(of_kind(full, "confidence")).floor == 0
    assert ClassWise().split(full).floor == 0
    # A recalibrated confidence can lie below 1/K.
    low = Predictions.from_confidence([0.1, 0.9], predicted=[0, 1], labels=[0, 1], class_names=["a", "b"])
    assert TopLabel().split(low).floor == 0
    # Rounding to float32 is not lying below.
    even = Predictions(np.full((2, 25), 1 / 25, dtype=np.float32), [0, 1])
    assert float(even.confidence.min()) < 1 / 25
    assert Confidence().split(even).floor == 1 / 25


def test_a_wide_fixed_bandwidth_errs_at_the_end_and_says_so_where_a_narrow_one_does_not():
    rng = np.random.default_rng(0)
    h = rng.beta(20, 1, 20_000)
    p = Predictions.from_confidence(h, rng.random(20_000) < h)
    narrow, wide = (estimate(p, "confidence", KernelECE(bandwidth=Fixed(b))).value for b in (0.01, 0.1))
    assert narrow < 0.01 < 0.03 < wide


def test_the_canonical_notion_has_no_curve():
    with pytest.raises(NotAnswerable, match="no single score"):
        estimate(Predictions([[0.7, 0.3]], [0]), "canonical", "ece-kde")


@pytest.mark.parametrize("key", BANDWIDTHS)
def test_many_lines_have_the_bandwidths_that_each_has_by_itself(key):
    rule, lines = BANDWIDTHS.make(key), np.random.default_rng(1).beta(4, 2, (3, 50))
    np.testing.assert_allclose(rule.of_lines(lines), [rule(line) for line in lines], rtol=1e-12)
