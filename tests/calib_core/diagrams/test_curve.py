"""Kernel reliability curves: drawing, gaps, scales and warnings; bands are in test_curve_bands.py."""

import numpy as np
import pytest
import shared_files

from calib_core import Predictions, diagrams, estimate
from calib_core.claims.binary_claims import Stratum
from calib_core.diagrams import KERNEL_CURVE, KernelCurve, kernel_curve, kernel_curves
from calib_core.estimators import KernelECE
from calib_core.reductions import ClassSpecific
from calib_core.smoothing import (
    CutDeviation,
    Fixed,
    Gaussian,
    Linear,
    LogOdds,
    ScoreGrid,
    StandardDeviation,
    local_calibration,
)
from calib_core.smoothing.kernels import Triweight

COLUMNS = ["score", "curve", "density", "lower", "upper"]


def binary(n, seed=0, power=1.0, low=0.0):
    rng = np.random.default_rng(seed)
    h = low + (1 - low) * rng.beta(3, 1.2, n)
    return Predictions.from_confidence(h, rng.random(n) < h**power)


def width(value):
    return KernelECE(bandwidth=Fixed(value))


def test_the_frame_is_what_is_drawn():
    curve = kernel_curve(binary(300), method=KernelECE())
    frame = curve.frame()
    assert frame.columns.tolist() == COLUMNS
    for name in COLUMNS:
        np.testing.assert_array_equal(frame[name], getattr(curve, name))
    assert frame["score"].iloc[[0, -1]].tolist() == [0.0, 1.0]
    known = frame.dropna()
    assert (known["lower"] <= known["curve"]).all()
    assert (known["curve"] <= known["upper"]).all()
    assert known["lower"].min() >= 0
    assert known["upper"].max() <= 1
    assert np.trapezoid(frame["density"], frame["score"]) == pytest.approx(1, abs=1e-6)


def test_the_curve_and_its_error_are_those_of_the_estimate():
    p = binary(500)
    for method in (KernelECE(), KernelECE(Gaussian(), StandardDeviation()), width(0.1), KernelECE(smoothed="gaps")):
        curve = kernel_curve(p, method=method, band="none")
        assert curve.error == estimate(p, "confidence", method).value
        assert curve.rows == 500
        weighed = np.abs(curve.curve - curve.score) * curve.density
        # The error is that of all rows; the curve is drawn where enough of them are.
        left_out = np.trapezoid(np.where(np.isnan(curve.curve), curve.density, 0.0), curve.score)
        off = curve.error - np.trapezoid(np.nan_to_num(weighed), curve.score)
        assert -1e-3 < off < left_out + 1e-3 < 0.1
        assert np.isnan(curve.lower).all()


def test_a_fine_grid_is_thinned_only_as_far_as_the_bandwidth_allows():
    grid = ScoreGrid()
    for value, stride in ((0.1, 8), (0.007, 4), (0.0025, 2), (0.0006, 1)):
        curve = kernel_curve(binary(20_000), method=width(value), band="none")
        assert (np.abs(curve.score - grid.scores[::stride]) > 1e-7).sum() <= 2, "but for the smallest and largest score"
        s = binary(20_000)
        stratum = Stratum(s.confidence, s.correct)
        whole = local_calibration(stratum, Triweight().on(grid, value))
        known = ~np.isnan(curve.curve)
        known[[np.flatnonzero(known)[0], np.flatnonzero(known)[-1]]] = False  # at the scores' own ends
        np.testing.assert_allclose(curve.curve[known], whole.curve[::stride][known], rtol=1e-6)


def test_a_whole_weight_is_that_many_copies():
    p = binary(60)
    w = np.random.default_rng(0).integers(0, 4, 60).astype(float)
    weighed = Predictions.from_confidence(p.confidence, p.correct, weights=w)
    at = np.repeat(np.arange(60), w.astype(int))
    for method in (KERNEL_CURVE, KernelECE()):
        one, two = (kernel_curve(q, method=method) for q in (weighed, p.take(at)))
        for name in COLUMNS:
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-9)
    assert one.rows == w.sum()


def test_a_gap_is_drawn_as_a_gap():
    p = Predictions.from_confidence(np.repeat([0.2, 0.9], 50), np.tile([True, False], 50))
    curve = kernel_curve(p, method=width(0.02))
    gap = (curve.score > 0.3) & (curve.score < 0.8)
    for name in ("curve", "lower", "upper"):
        assert np.isnan(getattr(curve, name)[gap]).all()
    assert (curve.density[gap] < 1e-9).all()
    assert curve.value(0.2) == pytest.approx(0.5, abs=1e-3)
    assert np.isnan(curve.local_error(0.5))
    assert curve.local_error(0.9) == pytest.approx(0.4, abs=1e-3)
    assert np.isnan(curve.value(1.5))


def test_the_axis_starts_where_the_scores_can():
    rng = np.random.default_rng(0)
    p = Predictions(rng.dirichlet(np.ones(4), 100), rng.integers(4, size=100))
    assert kernel_curve(p, method=KernelECE(), band="none").score[0] == 0.25
    assert kernel_curve(p, band="none").score[0] == pytest.approx(0.25)
    assert kernel_curve(p, "class-wise", stratum=2, band="none").score[0] == 0


def test_one_class_or_all():
    rng = np.random.default_rng(0)
    p = Predictions(rng.dirichlet(np.ones(3), 200), rng.integers(2, size=200), class_names=["a", "b", "c"])
    curves = kernel_curves(p)
    assert [c.stratum for c in curves] == ["a", "b", "c"]
    alone = kernel_curve(p, ClassSpecific(1), band="none")
    np.testing.assert_array_equal(curves[1].curve, alone.curve)
    assert len({c.bandwidth for c in curves}) == 3
    # Class c never occurs: its smoothed outcomes are 0, but that does not exclude a small probability.
    never = kernel_curve(p, "class-wise", stratum=2, method=KernelECE())
    assert np.nanmax(never.curve) == 0 < np.nanmin(never.upper)
    assert np.isnan(curves[0].upper).all()
    banded = kernel_curves(p, band="pointwise")
    np.testing.assert_array_equal(banded[0].upper, kernel_curve(p, "class-wise").upper)


def test_a_class_nobody_predicted_has_no_curve():
    p = Predictions([[0.9, 0.1], [0.8, 0.2]], [0, 0])
    empty = kernel_curves(p, "top-label")[1]
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
    curve = kernel_curve(p, ClassSpecific(1) if kind == "class" else "confidence", method=method)
    odds = z if kind == "class" else np.abs(z)
    hit = true if kind == "class" else true == (z > 0)
    for score in (0.02, 0.3) * (kind == "class") + (0.7, 0.98, 0.999):
        at = np.log(score / (1 - score))
        weight = sum(Triweight()((sign * odds - at) / 0.4) for sign in ((1,) if kind == "class" else (1, -1)))
        assert curve.value(score) == pytest.approx(np.average(hit, weights=weight), abs=2e-3)
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
    assert kernel_curve(p, method=KernelECE(scale=LogOdds()), band="none").warning == ""
    assert kernel_curve(p, band="none").warning == ""
    assert kernel_curve(p, method=KernelECE(), band="none").warning != ""


def test_scores_of_0_and_1_and_their_neighbours_are_within_the_log_odds():
    p = Predictions.from_confidence([0.0, 1.0, 1e-300, 1 - 1e-16, 0.5, 0.5], [False, True, False, True, True, True])
    curve = kernel_curve(p, method=KernelECE(bandwidth=Fixed(0.1), scale=LogOdds()))
    assert (curve.value(0.0), curve.value(1.0), curve.value(0.5)) == pytest.approx((0, 1, 1))
    assert np.isnan(curve.value(0.2))


def test_a_bandwidth_below_the_grid_is_said():
    rng = np.random.default_rng(0)
    h = 1 - 1e-5 * rng.random(900)
    p = Predictions.from_confidence(np.append(h, np.linspace(0, 1, 100)), rng.random(1000) < 0.9)
    curve = kernel_curve(p, method=KernelECE(), band="none")
    assert curve.bandwidth < 3 * curve.step
    assert f"{curve.bandwidth:.2g} is under 3 grid steps (0.00073)" in curve.warning
    assert "fixed bandwidth" in curve.warning
    assert kernel_curve(p, method=KernelECE(bandwidth=StandardDeviation()), band="none").warning == ""


def test_it_is_a_diagram_like_the_others():
    assert {"KernelCurve", "kernel_curve", "kernel_curves"} <= set(diagrams.__all__)
    assert KernelCurve.__dataclass_params__.frozen


# ---- default drawing -----------------------------------------------------------------------------------------


def test_the_default_is_the_mean_gap_over_claims_of_like_odds():
    """The slow twin, at single scores; atoms at exactly 1 are at the cut-off and have their own scores."""
    rng = np.random.default_rng(3)
    z = np.append(rng.normal(4, 2, 900), np.full(100, 16.0))
    s = np.append(1 / (1 + np.exp(-z[:900])), np.ones(100))
    p = Predictions.from_confidence(s, rng.random(1000) < 0.9 * s)
    curve = kernel_curve(p)
    assert curve.bandwidth == pytest.approx(0.6 * np.std(np.clip(z, -5, 5), ddof=1) * 750**-0.2)
    for score in (0.7, 0.9, 0.999, 1.0):
        at = min(np.log(score) - np.log1p(-score) if score < 1 else 16.0, 16.0)
        weight = Triweight()((z - at) / curve.bandwidth) + Triweight()((32 - z - at) / curve.bandwidth)
        wanted = np.clip(score + np.average(p.correct - s, weights=weight), 0, 1)
        assert curve.value(score) == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("data", ["vgg16_c10", "lenet_c10", "densenet_c100", "lenet_c100"])
def test_the_default_reads_well_on_networks(data):
    """A curve from end to end oscillates little; the paper's bandwidth is too small on vgg16."""
    p = shared_files.predictions(data)

    def up_and_down(curve):
        return np.abs(np.diff(curve.curve[~np.isnan(curve.curve)])).sum()

    curve = kernel_curve(p, band="none")
    assert up_and_down(curve) < 1.5
    assert curve.warning == ""
    paper = kernel_curve(p, method=KernelECE(), band="none")
    if data == "vgg16_c10":
        assert paper.warning != ""
    # It goes through the data: share right against the mean of the curve, in ten groups of rows.
    order = np.argsort(p.confidence, kind="stable")
    at = np.interp(p.confidence, curve.score, curve.curve)
    for rows in np.array_split(order, 10):
        noise = 4 * np.sqrt(max(p.correct[rows].var(), 0.01) / len(rows))
        known = rows[~np.isnan(at[rows])]
        assert len(known) > 0.9 * len(rows)
        assert abs(at[known].mean() - p.correct[known].mean()) < noise


def test_scores_that_are_all_equal_have_a_curve_and_a_band():
    curve = kernel_curve(Predictions.from_confidence(np.full(30, 0.999), np.ones(30, bool)))
    assert curve.value(0.999) == pytest.approx(1.0)
    lower = np.interp(0.999, curve.score, curve.lower)
    assert lower == pytest.approx(1 - np.log(20) / 30, abs=1e-3)
    assert curve.warning == ""


def test_a_curve_is_between_the_scores_and_broken_where_too_few_rows_count():
    """The slow twin: effective rows (sum w)^2 / sum w^2 of the kernel's weights; at least 20, or a quarter of all."""
    rng = np.random.default_rng(0)
    for n, fewest in ((100, 20), (40, 10)):
        s = np.concatenate([rng.uniform(0.2, 0.4, n // 2), rng.uniform(0.4, 0.95, n // 2)])
        p = Predictions.from_confidence(s, rng.random(len(s)) < s)
        curve = kernel_curve(p, method=width(0.03))
        known = ~np.isnan(curve.curve)
        assert curve.score[known].min() >= s.min()
        assert curve.score[known].max() <= s.max()
        weight = Triweight()((curve.score[:, None] - s) / 0.03)
        effective = weight.sum(1) ** 2 / np.maximum((weight**2).sum(1), 1e-12)
        inside = (curve.score > s.min() + 0.06) & (curve.score < s.max() - 0.06)
        sure = inside & (np.abs(effective / fewest - 1) > 0.05)
        np.testing.assert_array_equal(known[sure], effective[sure] > fewest)
        assert known[sure].any()
        assert not known[sure].all()
        np.testing.assert_array_equal(np.isnan(curve.lower), ~known)


def test_scores_of_exactly_0_and_1_do_not_widen_the_bandwidth():
    """Twin: the standard deviation without a limit."""
    rng = np.random.default_rng(0)
    z = rng.normal(3, 2.2, 3000)
    at_one = np.where(rng.random(3000) < 0.15, 16.0, z)
    widths = {rule: [rule(x) for x in (z, at_one)] for rule in (CutDeviation(), StandardDeviation())}
    assert max(widths[CutDeviation()]) < 1.1 * min(widths[CutDeviation()])
    assert widths[StandardDeviation()][1] > 1.8 * widths[StandardDeviation()][0]
    assert KERNEL_CURVE.bandwidth == CutDeviation()


def test_an_unknown_band_is_refused():
    with pytest.raises(ValueError, match="pointwise, whole-curve, none"):
        kernel_curve(binary(30), band="bootstrap")


def test_what_the_band_is_about_is_said():
    gaps, outcomes = (kernel_curve(binary(30), method=m) for m in (KERNEL_CURVE, KernelECE()))
    assert (gaps.band_title, gaps.level) == ("pointwise 90 % band", 0.9)
    assert gaps.about.startswith("At any one score, about 90 % or more of such bands contain the curve without chance")
    assert "For a calibrated model, this curve is the diagonal" in gaps.about
    assert "even for a calibrated model" in outcomes.about
    assert "At all scores at once" in kernel_curve(binary(30), band="whole-curve").about
    assert kernel_curve(binary(30), band="none").about == ""
