"""Kernel reliability curves: what is drawn, the band against resampled rows, gaps, seeds and warnings."""

import numpy as np
import pytest

from calib_core import Predictions, diagrams, estimate
from calib_core.claims import Stratum
from calib_core.diagrams import KernelCurve, kernel_curve, kernel_curves
from calib_core.diagrams.curve import _quantiles
from calib_core.estimators import KernelECE
from calib_core.estimators.kernel import Fixed, Gaussian, Grid, Linear, LogOdds, StandardDeviation, local_calibration
from calib_core.estimators.kernel.kernels import Triweight, response
from calib_core.estimators.kernel.local import binned
from calib_core.estimators.kernel.resampling import BATCH, Cells, occupied, resampled
from calib_core.reductions import ClassSpecific

COLUMNS = ["score", "curve", "density", "median", "lower", "upper"]


def binary(n, seed=0, power=1.0, low=0.0):
    rng = np.random.default_rng(seed)
    h = low + (1 - low) * rng.beta(3, 1.2, n)
    return Predictions.from_confidence(h, rng.random(n) < h**power)


def width(value):
    return KernelECE(bandwidth=Fixed(value))


def test_the_frame_is_what_is_drawn():
    curve = kernel_curve(binary(300), resamples=50)
    frame = curve.frame()
    assert frame.columns.tolist() == COLUMNS
    for name in COLUMNS:
        np.testing.assert_array_equal(frame[name], getattr(curve, name))
    assert frame["score"].iloc[[0, -1]].tolist() == [0.0, 1.0]
    known = frame.dropna()
    assert (known["lower"] <= known["median"]).all()
    assert (known["median"] <= known["upper"]).all()
    assert known["lower"].min() >= 0
    assert known["upper"].max() <= 1
    assert np.trapezoid(frame["density"], frame["score"]) == pytest.approx(1, abs=1e-6)


def test_the_curve_and_its_error_are_those_of_the_estimate():
    p = binary(500)
    for method in (KernelECE(), KernelECE(Gaussian(), StandardDeviation()), width(0.1)):
        curve = kernel_curve(p, method=method, resamples=0)
        assert curve.error == estimate(p, "confidence", method).value
        assert curve.rows == 500
        weighed = np.abs(curve.curve - curve.score) * curve.density
        assert np.trapezoid(np.nan_to_num(weighed), curve.score) == pytest.approx(curve.error, abs=1e-5)
        assert np.isnan(curve.lower).all()
        assert np.isnan(curve.median).all()


def test_a_fine_grid_is_thinned_only_as_far_as_the_bandwidth_allows():
    grid = Grid()
    for value, stride in ((0.1, 8), (0.007, 4), (0.0025, 2), (0.0006, 1)):
        curve = kernel_curve(binary(300), method=width(value), resamples=0)
        np.testing.assert_allclose(curve.score, grid.scores[::stride])
        s = binary(300)
        stratum = Stratum(s.confidence, s.correct)
        whole = local_calibration(stratum, response(Triweight(), value, grid), grid)
        np.testing.assert_allclose(curve.curve, whole.curve[::stride], rtol=1e-6)


def test_the_band_is_that_of_rows_drawn_again():
    """The slow twin draws rows, bins and smooths them anew; both have quantiles of 400 draws."""
    p = binary(200, power=2.0)
    curve = kernel_curve(p, method=width(0.06), resamples=400, level=0.8)
    grid, rng = Grid(), np.random.default_rng(7)
    damping = response(Triweight(), 0.06, grid)
    drawn = []
    for _ in range(400):
        i = rng.integers(0, 200, 200)
        drawn.append(local_calibration(Stratum(p.confidence[i], p.correct[i]), damping, grid).curve[::8])
    wanted = np.nanquantile(np.array(drawn)[:, 120:], (0.1, 0.5, 0.9), axis=0)
    for name, values in zip(("lower", "median", "upper"), wanted, strict=True):
        np.testing.assert_allclose(getattr(curve, name)[120:], values, atol=0.035)
        assert np.abs(getattr(curve, name)[120:] - values).mean() < 0.01


def test_cells_hold_the_same_masses_as_the_rows():
    p = binary(500)
    stratum = Stratum(p.confidence, p.correct)
    cells = occupied(stratum, Grid())
    assert cells.rows == 500
    for made, wanted in zip(cells.masses(cells.count[None]), binned(stratum, Grid()), strict=True):
        np.testing.assert_allclose(made[0], wanted, atol=1e-12)


def test_quantiles_leave_out_resamples_without_data():
    values = np.random.default_rng(0).random((6, 40))
    values[values < 0.3] = np.nan
    values[0], values[1, 1:] = np.nan, np.nan
    values[1, 0] = 0.5
    made = _quantiles(values.copy(), (0.05, 0.5, 0.95))
    np.testing.assert_allclose(np.array(made)[:, 1:], np.nanquantile(values[1:], (0.05, 0.5, 0.95), axis=1))
    assert np.isnan(np.array(made)[:, 0]).all()


def test_many_rows_and_fractional_weights_are_drawn_as_counts_of_cells():
    """Above eight rows a pair counts are drawn, not rows: the same distribution."""
    grid, rng = Grid(), np.random.default_rng(0)
    cells = Cells(grid, np.array([5, 5, 9]), np.array([False, True, True]), np.array([6e4, 3e4, 6e4]), np.zeros(3))
    counts = cells.draws(2000, rng)
    few = Cells(grid, cells.cell, cells.true, np.array([6.0, 3.0, 6.0]), cells.into).draws(2000, rng)
    for drawn, n in ((counts, 150_000), (few, 15)):
        assert (drawn.sum(axis=1) == n).all()
        np.testing.assert_allclose(drawn.mean(axis=0) / n, [0.4, 0.2, 0.4], atol=5 / np.sqrt(n * 2000))
        np.testing.assert_allclose(drawn.var(axis=0) / n, [0.24, 0.16, 0.24], rtol=0.15)
    halves = Cells(grid, cells.cell, cells.true, np.array([10.5, 3.5, 6.0]), cells.into).draws(10, rng)
    assert (halves.sum(axis=1) == 20).all()


def test_the_band_narrows_with_the_square_root_of_the_rows_and_covers_the_truth():
    small, large = (kernel_curve(binary(n, 1), method=width(0.05), resamples=200) for n in (500, 50_000))
    inside = slice(200, 480)
    spread = [np.mean((c.upper - c.lower)[inside]) for c in (small, large)]
    assert 6 < spread[0] / spread[1] < 16
    truth = large.score[inside]
    assert ((large.lower[inside] <= truth + 0.01) & (truth - 0.01 <= large.upper[inside])).mean() > 0.9


def test_the_same_seed_gives_the_same_bits_in_any_row_order_and_batches_stand_alone():
    p = binary(400)
    curve = kernel_curve(p, resamples=60)
    np.testing.assert_array_equal(kernel_curve(p, resamples=60).lower, curve.lower)
    shuffled = p.take(np.random.default_rng(0).permutation(400))
    np.testing.assert_allclose(kernel_curve(shuffled, resamples=60).lower, curve.lower, atol=1e-9)
    assert not np.allclose(kernel_curve(p, resamples=60, random_state=1).lower, curve.lower, equal_nan=True)
    cells, damping = occupied(Stratum(p.confidence, p.correct), Grid()), response(Triweight(), 0.05, Grid())
    few, many = (list(resampled(cells, damping, n, 0)) for n in (BATCH, 2 * BATCH + 1))
    np.testing.assert_array_equal(few[0].true, many[0].true)
    assert [len(b.true) for b in many] == [BATCH, BATCH, 1]


def test_a_whole_weight_is_that_many_copies():
    p = binary(60)
    w = np.random.default_rng(0).integers(0, 4, 60).astype(float)
    weighed = Predictions.from_confidence(p.confidence, p.correct, weights=w)
    at = np.repeat(np.arange(60), w.astype(int))
    one, two = (kernel_curve(q, resamples=30) for q in (weighed, p.take(at)))
    for name in COLUMNS:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-9)
    assert one.rows == w.sum()


def test_a_gap_is_drawn_as_a_gap():
    p = Predictions.from_confidence(np.repeat([0.2, 0.9], 50), np.tile([True, False], 50))
    curve = kernel_curve(p, method=width(0.02), resamples=100)
    gap = (curve.score > 0.3) & (curve.score < 0.8)
    for name in ("curve", "median", "lower", "upper"):
        assert np.isnan(getattr(curve, name)[gap]).all()
    assert (curve.density[gap] < 1e-9).all()
    assert not np.isnan(curve.curve[np.abs(curve.score - 0.2) < 0.05]).any()
    assert np.isnan(curve.local_error(0.5))
    assert curve.local_error(0.9) == pytest.approx(0.4, abs=1e-3)
    assert np.isnan(curve.at(1.5))


def test_the_axis_starts_where_the_scores_can():
    rng = np.random.default_rng(0)
    p = Predictions(rng.dirichlet(np.ones(4), 100), rng.integers(4, size=100))
    assert kernel_curve(p, resamples=0).score[0] == 0.25
    assert kernel_curve(p, "class-wise", stratum=2, resamples=0).score[0] == 0


def test_one_class_or_all():
    rng = np.random.default_rng(0)
    p = Predictions(rng.dirichlet(np.ones(3), 200), rng.integers(2, size=200), class_names=["a", "b", "c"])
    curves = kernel_curves(p)
    assert [c.stratum for c in curves] == ["a", "b", "c"]
    alone = kernel_curve(p, ClassSpecific(1), resamples=0)
    np.testing.assert_array_equal(curves[1].curve, alone.curve)
    assert len({c.bandwidth for c in curves}) == 3
    # Class c never occurs: its curve is 0, and so is every resample's.
    never = kernel_curve(p, "class-wise", stratum=2, resamples=20)
    assert np.nanmax(never.curve) == np.nanmax(never.upper) == 0
    banded = kernel_curves(p, resamples=20)
    assert all(np.isfinite(c.upper).any() for c in banded)
    np.testing.assert_array_equal(banded[2].upper, never.upper)
    np.testing.assert_array_equal(banded[0].upper, kernel_curve(p, "class-wise", resamples=20).upper)


def test_a_class_nobody_predicted_has_no_curve():
    p = Predictions([[0.9, 0.1], [0.8, 0.2]], [0, 0])
    empty = kernel_curves(p, "top-label", resamples=10)[1]
    assert empty.rows == 0
    assert np.isnan(empty.curve).all()
    assert np.isnan(empty.upper).all()
    assert np.isnan(empty.error)
    assert empty.warning == ""


@pytest.mark.parametrize("kind", ["confidence", "class"])
def test_on_log_odds_the_curve_is_a_mean_over_claims_of_like_odds(kind):
    """The slow twin, at single scores: outcomes averaged with kernel weights of the distance in log-odds."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 3, 2000)
    s = 1 / (1 + np.exp(-z))
    true = rng.random(2000) < s**1.5
    p = Predictions(np.column_stack([1 - s, s]), true.astype(int))
    method = KernelECE(bandwidth=Fixed(0.4), scale=LogOdds())
    curve = kernel_curve(p, ClassSpecific(1) if kind == "class" else "confidence", method=method, resamples=50)
    odds = z if kind == "class" else np.abs(z)
    hit = true if kind == "class" else true == (z > 0)
    for score in (0.02, 0.3) * (kind == "class") + (0.7, 0.98, 0.999):
        at = np.log(score / (1 - score))
        weight = sum(Triweight()((sign * odds - at) / 0.4) for sign in ((1,) if kind == "class" else (1, -1)))
        assert curve.at(score) == pytest.approx(np.average(hit, weights=weight), abs=2e-3)
    assert (curve.unit, curve.bandwidth, curve.score[-1]) == ("log-odds", 0.4, 1.0)
    assert curve.error == pytest.approx(
        estimate(p, ClassSpecific(1) if kind == "class" else "confidence", method).value
    )
    inside = ~np.isnan(curve.lower)
    assert (curve.lower[inside] <= curve.upper[inside]).all()


def test_on_log_odds_a_confident_calibrated_model_shows_less_error_than_on_scores():
    rng = np.random.default_rng(1)
    s = 1 / (1 + np.exp(-rng.normal(8, 3, 20_000)))
    p = Predictions.from_confidence(s, rng.random(20_000) < s)
    scores, odds = (
        estimate(p, "confidence", KernelECE(bandwidth=b, scale=c)).value
        for b, c in ((Fixed(0.05), Linear()), (StandardDeviation(), LogOdds()))
    )
    assert odds < 0.01 < scores
    assert kernel_curve(p, method=KernelECE(scale=LogOdds()), resamples=0).warning == ""
    assert kernel_curve(p, resamples=0).warning != ""


def test_scores_of_0_and_1_and_their_neighbours_are_within_the_log_odds():
    p = Predictions.from_confidence([0.0, 1.0, 1e-300, 1 - 1e-16, 0.5], [False, True, False, True, True])
    curve = kernel_curve(p, method=KernelECE(bandwidth=Fixed(0.1), scale=LogOdds()), resamples=5)
    assert (curve.at(0.0), curve.at(1.0), curve.at(0.5)) == pytest.approx((0, 1, 1))
    assert np.isnan(curve.at(0.2))


def test_a_bandwidth_below_the_grid_is_said():
    rng = np.random.default_rng(0)
    h = 1 - 1e-5 * rng.random(900)
    p = Predictions.from_confidence(np.append(h, np.linspace(0, 1, 100)), rng.random(1000) < 0.9)
    curve = kernel_curve(p, resamples=0)
    assert curve.bandwidth < 3 * curve.step
    assert curve.warning == (
        f"The bandwidth {curve.bandwidth:.2g} is under 3 grid steps (0.00073): the curve follows single scores and its "
        "error is mostly noise; smooth the log-odds, or take silverman-std or a fixed bandwidth."
    )
    assert kernel_curve(p, method=KernelECE(bandwidth=StandardDeviation()), resamples=0).warning == ""


def test_it_is_a_diagram_like_the_others():
    assert {"KernelCurve", "kernel_curve", "kernel_curves"} <= set(diagrams.__all__)
    assert KernelCurve.__dataclass_params__.frozen
