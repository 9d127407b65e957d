"""Bands of kernel and CORP curves: slow twins, and coverage under distributions like those of networks."""

import numpy as np
import pytest
from curve_laws import LAWS, RISING, corp_coverage, drawn, kernel_coverage, noiseless
from scipy.stats import beta, gamma, norm

from calib_core import NotAnswerable, Predictions
from calib_core.claims.binary_claims import Stratum
from calib_core.diagrams import KERNEL_CURVE, corp, corp_band, kernel_curve
from calib_core.estimators import KernelECE
from calib_core.estimators.kernel_ece import limits
from calib_core.smoothing import BetaKernel, Fixed, Gaussian, LogOdds, ScoreGrid, StandardDeviation, Triweight

NEAR_ONE = [name for name in LAWS if not name.startswith("uniform")]


def weights_at(nodes, rows, kernel, width, grid):
    """Return weights (nodes, rows) of a kernel mirrored at both ends of the grid, without a grid."""
    low, high = grid.ends
    x, at = grid.scale.there(rows), grid.scale.there(nodes)[:, None]
    if isinstance(kernel, BetaKernel):
        u, places, range_ = (x - low) / (high - low), (at - low) / (high - low), np.linspace(0, 1, 4001)
        b = (2 * width / (high - low)) ** 2
        each = kernel.heights(range_, b, u)
        return kernel.heights(places.ravel(), b, u) / np.trapezoid(each, range_, axis=0)
    images = (side * (x - low) + low + turn * 2 * (high - low) for side in (1, -1) for turn in range(-2, 3))
    return sum(kernel((at - image) / width) for image in images)


@pytest.mark.parametrize(
    ("kernel", "width"), [(Triweight(), 0.7), (Gaussian(), 2.0), (Gaussian(), 9.0), (BetaKernel(), 2.0)]
)
@pytest.mark.parametrize("whole", [False, True])
def test_limits_are_those_of_the_sums_over_rows(kernel, width, whole):
    """The slow twin has no grid: nodes against rows at nodes, and the path as defined."""
    grid, rng = ScoreGrid(0.5, 256, LogOdds()), np.random.default_rng(0)
    s = grid.scores[rng.choice(np.arange(60, 257), 80, replace=False)]
    z, v = rng.random(80) < 0.6, rng.uniform(0.5, 2, 80)
    w = weights_at(grid.scores, s, kernel, width, grid) * v
    known = w.sum(1) > 1e-9 * w.sum(1).max()
    curve = np.where(known, np.divide(w @ z, w.sum(1), out=np.zeros(257), where=known), np.nan)
    lower, upper = limits(Stratum(s, z, v), kernel, width, grid, curve, 0.8, whole)

    own = weights_at(s, s, kernel, width, grid) * v
    without = (own.sum(1) * np.interp(s, grid.scores, curve) - np.diag(own) * z) / (own.sum(1) - np.diag(own))
    missed = np.minimum(np.abs(z - without), 1)
    tail = 0.1
    if whole:
        unit = w[known] / np.linalg.norm(w[known], axis=1, keepdims=True)
        path = 2 * np.arcsin(np.linalg.norm(np.diff(unit, axis=0), axis=1) / 2).sum()
        c = np.linspace(0, 8, 400_001)
        chance = 2 * norm.sf(c) + path / np.pi * np.exp(-(c**2) / 2)
        tail = norm.sf(c[np.argmin(np.abs(chance - 0.2))])
    largest = w[known].max(1)
    count = (w[known] ** 2 @ missed**2) / largest**2
    half = largest / w[known].sum(1) * (gamma.isf(tail, count + 1) - count)
    middle = curve[known]
    np.testing.assert_allclose(upper[known], np.clip(middle + half, 0, 1), rtol=1e-3, atol=2e-3)
    np.testing.assert_allclose(lower[known], np.clip(middle - half, 0, 1), rtol=1e-3, atol=2e-3)
    assert np.isnan(lower[~known]).all()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("law", NEAR_ONE)
@pytest.mark.parametrize("n", [10, 300])
def test_kernel_bands_hold_the_smoothed_curve_where_scores_are_near_an_end(law, n):
    """Nominal .90 over 40 runs per case, less three standard errors of .047; the least of many scores a little more."""
    each = kernel_coverage(law, n, 40, "pointwise", seed=1)
    if n == 10 and law == "one class of a hundred":
        assert not each.size, "ten scores far apart have no curve"
        return
    assert each.mean() > 0.85
    assert each.mean(axis=0).min() > 0.72
    assert kernel_coverage(law, n, 40, "whole-curve", seed=2).all(axis=1).mean() > 0.76


@pytest.mark.sampled(4)
@pytest.mark.parametrize("law", ["network, calibrated", "network, over-confident", "spread, over-confident"])
@pytest.mark.parametrize("n", [1000, 5000])
def test_kernel_bands_hold_the_true_curve_too(law, n):
    """On average over the places drawn; nominal .90, less three standard errors of .047."""
    assert kernel_coverage(law, n, 40, "pointwise", seed=3, true=True).mean() > 0.86


def test_the_former_bandwidth_missed_the_true_curve():
    """The falsified twin: a band around a curve that is smoothed too widely."""
    wide = KernelECE(bandwidth=StandardDeviation(), scale=LogOdds(), smoothed="gaps")
    was, now = (
        kernel_coverage("uniform, a wave", 5000, 20, "pointwise", true=True, **how) for how in ({"method": wide}, {})
    )
    assert was.mean(axis=0).min() < 0.3
    assert now.mean() > max(0.86, was.mean() + 0.05)


@pytest.mark.wide
def test_half_of_a_kernel_band_does_not_hold():
    """The falsified twin: a test of coverage must be able to fail."""
    for law in ("network, over-confident", "spread, over-confident"):
        assert kernel_coverage(law, 3000, 40, "pointwise", narrowed=0.5).mean(axis=0).min() < 0.7
        assert kernel_coverage(law, 3000, 40, "whole-curve", narrowed=0.4).all(axis=1).mean() < 0.8
        # A band for each score is none for all of them.
        assert kernel_coverage(law, 3000, 40, "pointwise").all(axis=1).mean() < 0.85


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "method",
    [
        KernelECE(),
        KernelECE(kernel=Gaussian(), bandwidth=Fixed(0.05), smoothed="gaps"),
        KernelECE(BetaKernel(), StandardDeviation(), smoothed="gaps"),
    ],
)
def test_bands_of_other_smoothing_hold_too(method):
    each = kernel_coverage("network, over-confident", 300, 40, "pointwise", method=method)
    assert each.mean() > 0.85
    assert kernel_coverage("network, over-confident", 300, 40, "whole-curve", method=method).all(axis=1).mean() > 0.8


def test_a_calibrated_model_is_held_by_its_band_and_the_papers_smoothing_bends_it_away():
    """The bias near 1: the noiseless curve of a calibrated model is the diagonal, or is not."""
    s, chance = drawn("network, calibrated", 3000, 0)
    for method, bias in ((KERNEL_CURVE, 1e-3), (KernelECE(bandwidth=Fixed(0.05)), None)):
        smooth = noiseless(s, chance, method=method)
        known = ~np.isnan(smooth.curve) & (smooth.score >= s.min())
        off = np.abs(smooth.curve - smooth.score)[known].max()
        assert off < bias if bias else off > 0.02


def test_no_band_has_no_width_where_all_outcomes_are_alike():
    for n in (1, 10, 100):
        for s in (np.full(n, 0.999), np.ones(n), np.linspace(0.999, 1, n)):
            p = Predictions.from_confidence(s, np.ones(n, bool))
            for band in ("pointwise", "whole-curve"):
                made = kernel_curve(p, band=band)
                at = np.argmin(np.abs(made.score - 0.9995))
                at = at if not np.isnan(made.curve[at]) else np.flatnonzero(~np.isnan(made.curve))[-1]
                assert made.upper[at] - made.lower[at] > 1 / (n + 1)
                steps = corp_band(p, band=band)
                assert (steps.upper - steps.lower > 1 / (n + 1)).all()


@pytest.mark.parametrize("band", ["pointwise", "whole-curve"])
def test_rows_too_far_apart_have_neither_curve_nor_band(band):
    apart = Predictions.from_confidence(np.linspace(0.01, 0.99, 8), np.arange(8) % 2 > 0)
    curve = kernel_curve(apart, method=KernelECE(bandwidth=Fixed(0.01)), band=band)
    assert np.isnan(curve.curve).all()
    assert np.isnan(curve.lower).all()


def test_a_band_for_the_whole_curve_is_the_wider_one():
    s, chance = drawn("network, over-confident", 500, 0)
    p = Predictions.from_confidence(s, np.random.default_rng(0).random(500) < chance)
    for make in (kernel_curve, corp_band):
        one, whole = (make(p, band=band) for band in ("pointwise", "whole-curve"))
        known = ~np.isnan(one.lower)
        assert (whole.lower <= one.lower + 1e-12)[known].all() or make is corp_band
        assert (whole.upper - whole.lower)[known].mean() > 1.2 * (one.upper - one.lower)[known].mean()


# ---- CORP ----------------------------------------------------------------------------------------------------


def test_corp_bands_are_the_best_of_their_runs():
    """The slow twin, at each of few scores: runs of 8, 16, 32 rows and all, counted as they are examined."""
    rng = np.random.default_rng(4)
    s = rng.choice([0.5, 0.8, 0.9, 0.97, 1.0], 90)
    z = rng.random(90) < s**2
    levels = np.unique(s)

    def runs_up_to(x):
        found = set()
        for size in (8, 16, 32, 64, 128):
            from_ = [level for level in levels if level <= x and ((s >= level) & (s <= x)).sum() >= size]
            found.add(max(from_) if from_ else levels[0])
        return found

    total = sum(len(runs_up_to(x)) for x in levels)
    for band in ("pointwise", "whole-curve"):
        made = corp_band(Predictions.from_confidence(s, z), band=band)
        np.testing.assert_array_equal(made.score, levels)
        best = 0.0
        for x, low in zip(levels, made.lower, strict=True):
            runs = runs_up_to(x)
            tail = 0.05 / (total if band == "whole-curve" else len(runs))
            mine = [(s >= start) & (s <= x) for start in runs]
            here = max(beta.ppf(tail, z[m].sum(), (~z[m]).sum() + 1) if z[m].any() else 0.0 for m in mine)
            best = max(best, here)
            assert low == pytest.approx(best if band == "whole-curve" else here, abs=1e-12)


def test_corp_bands_look_alike_from_either_end():
    rng = np.random.default_rng(5)
    s = rng.random(50)
    z = rng.random(50) < s
    up, down = corp_band(Predictions.from_confidence(s, z)), corp_band(Predictions.from_confidence(1 - s, ~z))
    common = np.isin(np.round(1 - down.score[::-1], 9), np.round(up.score, 9)).mean()
    assert common > 0.9
    at = {round(x, 9): (a, b) for x, a, b in zip(up.score, up.lower, up.upper, strict=True)}
    for x, a, b in zip(down.score, down.lower, down.upper, strict=True):
        if round(1 - x, 9) in at:
            assert at[round(1 - x, 9)] == pytest.approx((1 - b, 1 - a), abs=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("law", [name for name in NEAR_ONE if name in RISING])
@pytest.mark.parametrize("n", [10, 1000])
def test_corp_bands_hold_the_true_curve(law, n):
    """At least .90 by proof, of 40 runs; three standard errors less."""
    assert corp_coverage(law, n, 40, "pointwise", seed=3).mean(axis=0).min() > 0.76
    assert corp_coverage(law, n, 40, "whole-curve", seed=4).all(axis=1).mean() > 0.76


def test_half_of_a_corp_band_does_not_hold_and_a_falling_curve_is_noticed():
    assert corp_coverage("near 1, a jump", 3000, 40, "pointwise", narrowed=0.4).mean(axis=0).min() < 0.7
    assert corp_coverage("near 1, a jump", 3000, 40, "whole-curve", narrowed=0.4).all(axis=1).mean() < 0.7
    s = np.random.default_rng(0).random(4000)
    falling = corp_band(Predictions.from_confidence(s, np.random.default_rng(1).random(4000) < 1 - s))
    assert "the true curve must decrease somewhere" in falling.about
    rising = corp_band(Predictions.from_confidence(s, np.random.default_rng(1).random(4000) < s), band="whole-curve")
    assert rising.about.endswith("contain the true curve, at all scores at once.")


def test_corp_bands_of_weighted_rows_are_refused_and_of_equal_weights_are_not():
    rng = np.random.default_rng(0)
    s = rng.random(40)
    z = rng.random(40) < s
    with pytest.raises(NotAnswerable, match="equal or whole-number"):
        corp_band(Predictions.from_confidence(s, z, weights=rng.random(40)))
    plain = corp_band(Predictions.from_confidence(s, z))
    equal = corp_band(Predictions.from_confidence(s, z, weights=np.full(40, 2.5)))
    np.testing.assert_array_equal(plain.lower, equal.lower)
    whole = rng.integers(0, 4, 40).astype(float)
    copies = corp_band(Predictions.from_confidence(np.repeat(s, whole.astype(int)), np.repeat(z, whole.astype(int))))
    written = corp_band(Predictions.from_confidence(s, z, weights=whole))
    np.testing.assert_array_equal(written.upper, copies.upper)
    left_out = Predictions.from_confidence(np.append(s, 0.5), np.append(z, True), weights=np.append(np.ones(40), 0.0))
    np.testing.assert_array_equal(corp_band(left_out).upper, plain.upper)


def test_a_class_nobody_predicted_has_an_empty_band():
    p = Predictions([[0.9, 0.1], [0.8, 0.2]], [0, 0])
    assert not len(corp_band(p, "top-label", 1).frame())


def test_a_corp_band_has_two_kinds():
    p = Predictions.from_confidence([0.2, 0.9], [False, True])
    with pytest.raises(ValueError, match="pointwise or whole-curve"):
        corp_band(p, band="none")
    assert corp_band(p, band="whole-curve").band_title == "90 % band for the whole curve"
    assert corp(p).stratum == corp_band(p).stratum
