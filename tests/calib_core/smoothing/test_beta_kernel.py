"""The beta kernel: SciPy's density summed over rows, values by hand, and Dirichlet kernels of two classes."""

import numpy as np
import pytest
from curve_laws import off
from generated import copies, full_predictions, permuted
from hypothesis import given, settings
from scipy import stats

from calib_core import Predictions, estimate
from calib_core.calibrators import BinaryKernel
from calib_core.claims.binary_claims import Stratum
from calib_core.diagrams import kernel_curve
from calib_core.estimators import DirichletKernelError, KernelECE
from calib_core.inference.intervals import wild_bootstrap
from calib_core.reductions import Canonical
from calib_core.smoothing import BetaKernel, Fixed, Linear, ScoreGrid, StandardDeviation, local_calibration


def shape(form, x, b):
    """Return the two parameters at one place, as printed."""
    if form == "first":
        return x / b + 1, (1 - x) / b + 1

    def near(x):
        return 2 * b**2 + 2.5 - np.sqrt(4 * b**4 + 6 * b**2 + 2.25 - x**2 - x / b)

    return near(x) if x < 2 * b else x / b, near(1 - x) if x > 1 - 2 * b else (1 - x) / b


def by_rows(form, x, b, scores):
    """Return K of every score at one place, over the integral of that score's kernel over all places."""

    places = np.linspace(0, 1, 3001)
    shapes = np.array([shape(form, place, b) for place in places]).T[:, :, None]
    whole = np.trapezoid(stats.beta.pdf(scores, *shapes), places, axis=0)
    return stats.beta.pdf(scores, *shape(form, x, b)) / whole


@pytest.mark.parametrize("form", ["first", "second"])
@pytest.mark.parametrize(("low", "width"), [(0.0, 0.05), (1 / 3, 0.1)])
def test_density_and_curve_are_those_of_the_sum_over_rows(form, low, width):
    rng = np.random.default_rng(0)
    s = low + (1 - low) * rng.beta(2.0, 0.7, 40)
    z = rng.random(40) < s
    found = local_calibration(Stratum(s, z), BetaKernel(form).on(ScoreGrid(low, BetaKernel().cells), width))
    b = (2 * width / (1 - low)) ** 2
    for j in (3, 100, 256, 400, 500, 509):
        x = (found.scores[j] - low) / (1 - low)
        k = by_rows(form, x, b, (s - low) / (1 - low)) / (1 - low)
        assert found.all[j] == pytest.approx(k.mean(), rel=0.02, abs=2e-3)
        assert found.curve[j] == pytest.approx(np.average(z, weights=k), abs=5e-3)


def test_the_second_form_by_hand():
    """At 0 it falls straight, Beta(1, 1/b); at 2b it is the middle's, whose mean is the place."""
    u = np.array([0.0, 0.2, 0.5])
    at_end, at_seam, middle = BetaKernel("second").heights(np.array([0.0, 0.2, 0.5]), 0.1, u)
    np.testing.assert_allclose(at_end, 10 * (1 - u) ** 9)
    np.testing.assert_allclose(at_seam, stats.beta.pdf(u, 2, 8))
    np.testing.assert_allclose(middle, stats.beta.pdf(u, 5, 5))


@pytest.mark.parametrize("form", ["first", "second"])
@pytest.mark.parametrize("width", [0.0, 1e-5, 0.02, 0.3, 1.0])
def test_the_ends_are_alike_and_every_claim_counts_once(form, width):
    spread = BetaKernel(form).on(ScoreGrid(0.25, 512), width)
    np.testing.assert_allclose(spread.matrix, spread.matrix[::-1, ::-1], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(spread.grid.integral(spread.matrix.T), 1.0, rtol=1e-12)


def test_the_bandwidth_is_the_standard_deviation_in_the_middle_and_shrinks_towards_the_ends():
    places, b, u = np.array([0.5, 0.96]), (2 * 0.03) ** 2, np.linspace(0, 1, 20_001)
    k = BetaKernel().heights(places, b, u)
    mean = (k @ u) / k.sum(1)
    deviation = np.sqrt((k * (u - mean[:, None]) ** 2).sum(1) / k.sum(1))
    np.testing.assert_allclose(deviation, [0.03, 0.06 * np.sqrt(0.96 * 0.04)], rtol=0.04)


def test_claims_of_certainty_are_judged_by_themselves():
    """Six of ten claims of 1 come true, all of 1 - .004: neither is smoothed into the other."""
    s, z = np.r_[np.ones(10), np.full(10, 0.996)], np.r_[np.arange(10) < 6, np.ones(10, bool)]
    curve = kernel_curve(Predictions.from_confidence(s, z), method=KernelECE(BetaKernel(), Fixed(0.02)), band="none")
    assert curve.value(0.996) == pytest.approx(1.0)
    assert curve.value(1.0) == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize("law", ["network, over-confident", "one class of a hundred"])
def test_near_the_ends_it_is_nearer_to_the_truth_than_mirrors_of_the_same_bandwidth(law):
    """The sample has n = 10,000, both on scores; the mirrored kernel is the twin that fails."""
    beta, mirrored = (
        off(law, 10_000, 3, method=KernelECE(bandwidth=StandardDeviation(), **kernel))[0]
        for kernel in ({"kernel": BetaKernel()}, {})
    )
    assert beta < 0.012 < 0.015 < mirrored


def test_dirichlet_kernels_of_two_classes_are_these_kernels_the_other_way_round():
    """Popordanoska's k(p_j; p_i) takes its shape from the averaged row, Chen's from the evaluated place.

    With one bandwidth the weights of the one are those of the other transposed, each line then divided by its sum.
    """
    rng, h = np.random.default_rng(1), 0.05
    s = rng.beta(2, 2, 30)
    p = Predictions(np.column_stack([1 - s, s]), (rng.random(30) < s).astype(int))
    chen = BetaKernel().heights(s, h, s)
    np.fill_diagonal(chen, 0)
    shares = chen.T / chen.T.sum(1, keepdims=True)
    smoother = DirichletKernelError(h).smoother(Canonical().split(p))
    np.testing.assert_allclose(np.vstack([part for _, part in smoother.blocks()]), shares, rtol=1e-7, atol=1e-12)
    # Both classes are off by the same: the canonical error is twice that of one of them.
    value = 2 * np.abs(shares @ p.labels - s).mean()
    assert estimate(p, "canonical", DirichletKernelError(h)).value == pytest.approx(value, rel=1e-6)
    own = 2 * np.abs(chen / chen.sum(1, keepdims=True) @ p.labels - s).mean()
    assert own == pytest.approx(value, rel=0.25)
    assert own != pytest.approx(value, rel=1e-6)


def scores_and_outcomes(n=400, power=1.0, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.beta(5, 1.3, n)
    return s, s**power


def test_the_noise_is_measured_as_the_error_is():
    s, chance = scores_and_outcomes(power=1.8)
    p = Predictions.from_confidence(s, np.random.default_rng(1).random(400) < chance)
    method = KernelECE(BetaKernel(), StandardDeviation(), smoothed="gaps")
    question = estimate(p, "confidence", method).question
    ((_, stratum, rows),) = wild_bootstrap.strata_of(question.claims, question.ranks)
    image = method.image(question.claims, question.answer(p), 0, stratum)
    sums = image.map(wild_bootstrap.residuals(stratum), rows, 400) @ np.ones((400, 1))
    found = image.errors(np.asarray(sums).T / stratum.total)[0]
    assert found == pytest.approx(estimate(p, "confidence", method).value, rel=5e-3)


def coverage(power, factor=1.0, runs=60):
    """Return the coverage of the error of the smoothed true probabilities, given the scores."""
    s, chance = scores_and_outcomes(power=power)
    method = KernelECE(BetaKernel(), Fixed(0.05))
    twice = Predictions.from_confidence(
        np.tile(s, 2), np.repeat([True, False], len(s)), weights=np.r_[chance, 1 - chance]
    )
    target, rng, inside = estimate(twice, "confidence", method).value, np.random.default_rng(5), 0
    for _ in range(runs):
        got = estimate(Predictions.from_confidence(s, rng.random(len(s)) < chance), "confidence", method).interval()
        low, high = (got.point + factor * (end - got.point) for end in (got.low, got.high))
        inside += low - 1e-9 <= target <= high
    return inside / runs


@pytest.mark.wide
def test_intervals_hold_and_a_falsified_twin_does_not():
    """Nominal .90 of 60 runs, a standard error of .04."""
    assert coverage(1.0) >= 0.8
    assert coverage(2.5) >= 0.8
    assert coverage(2.5, factor=0.1) < 0.6


def test_the_floor_is_the_mean_error_of_outcomes_drawn_from_the_scores():
    s, _ = scores_and_outcomes(200)
    method, rng = KernelECE(BetaKernel(), Fixed(0.05)), np.random.default_rng(2)
    drawn = [estimate(Predictions.from_confidence(s, rng.random(200) < s), "confidence", method) for _ in range(80)]
    values = [each.value for each in drawn]
    floor = drawn[0].noise_floor
    assert floor.mean == pytest.approx(np.mean(values), abs=4 * np.std(values) / np.sqrt(80) + 1e-3)


def test_the_calibrator_made_of_it_is_its_curve():
    s, chance = scores_and_outcomes(3000, 1.7)
    z = np.random.default_rng(3).random(3000) < chance
    fitted = BinaryKernel(BetaKernel(), Fixed(0.06), Linear()).fit(s, z)
    curve = kernel_curve(
        Predictions.from_confidence(s, z), method=KernelECE(BetaKernel(), Fixed(0.06), smoothed="gaps"), band="none"
    )
    places = np.linspace(0.3, 0.99, 50)
    np.testing.assert_allclose(fitted.transform(places), [curve.value(x) for x in places], atol=1e-3)


@pytest.mark.parametrize("notion", ["confidence", "class-wise"])
@settings(max_examples=15)
@given(predictions=full_predictions(weighted="whole"))
def test_the_order_of_rows_plays_no_part_and_a_whole_weight_is_that_many_copies(notion, predictions):
    method = KernelECE(BetaKernel("second"))
    value = estimate(predictions, notion, method).value
    assert 0 <= value <= 1
    for same in (permuted(predictions)[0], copies(predictions)):
        assert estimate(same, notion, method).value == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_no_rows_are_too_few_or_too_alike():
    for s in ([0.7], [1.0] * 30, [0.0, 1.0], [0.5] * 3):
        p = Predictions.from_confidence(s, np.ones(len(s), bool))
        for form in ("first", "second"):
            curve = kernel_curve(p, method=KernelECE(BetaKernel(form)))
            assert curve.error == pytest.approx(1 - np.mean(s), abs=1e-3)
            assert curve.value(s[-1]) == pytest.approx(1.0)
