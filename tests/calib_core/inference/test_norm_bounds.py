"""Intervals of errors that look at the rows: their pieces against the estimators, and what the proof promises."""

import numpy as np
import pytest
from null_rates import gumbel_labels, spread_rows
from scipy import stats

from calib_core import ESTIMATORS, Predictions, estimate
from calib_core.estimators import ConvexBinned, KernelCalibrationError
from calib_core.estimators.base import Estimated
from calib_core.estimators.kernel import Grid
from calib_core.estimators.skce import Blocks
from calib_core.estimators.smooth import fixed_point, smooth_errors
from calib_core.inference import coverage_table, interval, kernel_intervals, rejection_table, wild
from calib_core.reductions import as_reduction

NORMS = ("max-deviation", "ece-convex", "ece-adaptive-convex", "ece-sweep", "smece", "ece-kde")


def sample(n=300, k=3, seed=0, power=1.6):
    rng = np.random.default_rng(seed)
    p = spread_rows(n, k, rng, 2.0)
    said = p**power
    return Predictions(said / said.sum(1, keepdims=True), gumbel_labels(p, rng))


def error_of(question, times=None):
    """The norm of each row's residuals taken ``times`` (n,) (None: once), put together as the noise is."""
    claims, ranks = question.claims, question.ranks
    made, n, total = question.answer(question.predictions), wild.n_rows(claims, ranks), 0.0
    times = np.ones(n) if times is None else times
    for s, stratum, rows in wild.strata_of(claims, ranks):
        image = wild._PICTURES[type(question.estimator)](question.estimator, claims, made, s, stratum)
        sums = image.map(wild.residuals(stratum), rows, n) @ times[:, None]
        total += claims.shares[s] * image.errors(np.asarray(sums).T / stratum.total)[0]
    return total


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-label"])
@pytest.mark.parametrize("key", NORMS[:5])
def test_the_noise_is_measured_as_the_error_is(key, notion):
    """Residuals multiplied by 1 give the estimate back: to a rounding, the smooth error to its coarser grid."""
    made = estimate(sample(), notion, key)
    assert error_of(made.question) == pytest.approx(made.value, rel=2e-2 if key == "smece" else 1e-9)


def test_convex_bins_over_the_attainable_range_are_those_of_the_estimate():
    made = estimate(sample(k=4), "confidence", ConvexBinned(attainable=True))
    assert error_of(made.question) == pytest.approx(made.value, rel=1e-9)


def test_the_kernel_error_of_scores_far_apart_is_the_mean_absolute_residual():
    p = Predictions.from_confidence([0.2, 0.4, 0.6, 0.8], [True, False, True, False])
    made = estimate(p, "confidence", ESTIMATORS.make("ece-kde", bandwidth="fixed"))
    assert error_of(made.question) == pytest.approx(np.mean([0.8, 0.4, 0.4, 0.8]), rel=0.05)


def test_smooth_errors_of_many_draws_are_those_of_one_by_one():
    grid, rng = Grid(cells=256), np.random.default_rng(0)
    masses = rng.standard_normal((3, 257)) * np.array([[1e-3], [1e-2], [1e-4]])
    for one, found in zip(masses, smooth_errors(masses, grid), strict=True):
        spectrum, frequency = grid.spectrum(one), np.pi * np.arange(257)

        def error(width, spectrum=spectrum, frequency=frequency):
            return float(grid.integral(np.abs(grid.density(np.exp(-0.5 * (width * frequency) ** 2) * spectrum))))

        assert found == pytest.approx(fixed_point(error), rel=0.01, abs=np.abs(one).sum() / 1000)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-confidence"])
def test_no_row_moves_an_error_further_than_its_influence(notion):
    """Each row's outcome is put back to what its scores say, one at a time."""
    p = sample(60)
    question = estimate(p, notion, "max-deviation").question
    claims, ranks = question.claims, question.ranks
    moved = wild.influence(claims, ranks)
    n = wild.n_rows(claims, ranks)
    wanted = np.zeros(n)
    for s, stratum, rows in wild.strata_of(claims, ranks):
        np.add.at(wanted, rows, claims.shares[s] * np.abs(wild.residuals(stratum)) / stratum.total)
    np.testing.assert_allclose(moved, wanted)
    for key in ("max-deviation", "ece-convex", "ece-sweep"):
        asked = estimate(p, notion, key)
        for i in range(0, n, 7):
            times = np.where(np.arange(n) == i, 0.0, 1.0)
            assert abs(error_of(asked.question, times) - asked.value) <= moved[i] + 1e-12


@pytest.mark.parametrize("truth", [lambda s: s, lambda s: np.clip(s - 0.08, 0, 1)], ids=["calibrated", "shifted"])
@pytest.mark.parametrize("key", ["max-deviation", "ece-convex", "skce"])
def test_the_truth_is_inside_at_least_as_often_as_promised(key, truth):
    rng = np.random.default_rng(3)
    scores = np.sort(rng.beta(5, 1.3, 400))
    rows = np.repeat(np.arange(400), 2)
    true = truth(scores)
    weights = np.column_stack([true, 1 - true]).ravel()
    options = {"bins": 10} if key == "ece-convex" else {}
    member = ESTIMATORS.make(key, **options)
    expected = Predictions.from_confidence(scores[rows], np.tile([True, False], 400), weights=weights)
    aim = estimate(expected, "confidence", member).value
    if key == "skce":  # each row's two halves must not be paired with each other
        gap = true - scores
        alike = np.exp(-np.abs(scores[:, None] - scores)) * gap[:, None] * gap
        aim = (alike.sum() - np.trace(alike)) / (400 * 399)
    held = []
    for _ in range(150):
        got = interval(
            estimate(Predictions.from_confidence(scores, rng.random(400) < true), "confidence", member).question
        )
        assert got.tested
        held.append(got.low - 1e-12 <= aim <= got.high)
    assert np.mean(held) >= 0.86


def test_intervals_narrow_with_the_rows_and_find_a_gross_error():
    for key in (*NORMS, "skce"):
        few, many = (estimate(sample(n, 2, power=2.5), "confidence", key).interval() for n in (250, 4000))
        assert many.high - many.low < 0.55 * (few.high - few.low), key
        assert many.low > 0, key
        assert many.low <= estimate(sample(4000, 2, power=2.5), "confidence", key).value <= many.high


def test_claims_of_one_row_go_together():
    """Two classes: both claims of a row are the same statement, so class-wise noise is that of one class."""
    p = sample(200, 2)
    both, one = (estimate(p, notion, "max-deviation").interval() for notion in ("class-wise", "class-specific"))
    assert (both.low, both.high) == (pytest.approx(one.low, abs=1e-9), pytest.approx(one.high, abs=1e-9))


@pytest.mark.parametrize("notion", ["confidence", "top-label"])
def test_the_order_of_the_rows_plays_no_part(notion):
    full = sample(150)
    said = np.round(full.confidence, 1)  # many equal scores
    p = Predictions.from_confidence(said, predicted=full.predicted, labels=full.true_labels)
    shuffled = p.take(np.random.default_rng(0).permutation(150))
    for key in (*NORMS, "skce"):
        one, two = (estimate(q, notion, key).interval() for q in (p, shuffled))
        assert (two.low, two.high) == (pytest.approx(one.low, abs=1e-9), pytest.approx(one.high, abs=1e-9)), key


def test_a_kernel_error_below_the_middle_of_noise_counts_as_the_middle(monkeypatch):
    claims = as_reduction("confidence").split(sample())

    def ends(value):
        monkeypatch.setattr(KernelCalibrationError, "__call__", lambda *_: Estimated(value, np.array([value])))
        return kernel_intervals.inverted_pairs(KernelCalibrationError(), claims, 1, 0.9, 0)

    assert ends(-1.0) == ends(-0.001)
    assert 0.0005 < ends(-1.0)[1] < ends(0.01)[1]


def test_blocks_of_rows_give_students_interval_and_few_blocks_none():
    values = np.random.default_rng(0).standard_normal(20) * 0.01 + 0.05
    wanted = stats.t.interval(0.9, 19, values.mean(), stats.sem(values))
    assert kernel_intervals.of_blocks(Blocks(values, np.full(20, 10.0)), 0.9) == pytest.approx(wanted)
    assert kernel_intervals.of_blocks(Blocks(-values, np.full(20, 10.0)), 0.9) == (
        0.0,
        pytest.approx(wanted[1] - values.mean()),
    )
    assert kernel_intervals.of_blocks(Blocks(values[:7], np.full(7, 10.0)), 0.9) is None
    many, few = (estimate(sample(n), "canonical", "skce").interval() for n in (900, 300))
    assert (many.method, many.tested) == ("independent blocks of rows", True)
    assert (few.method, few.tested) == ("pivotal bootstrap", False)


def test_a_luckily_small_kernel_error_leaves_room_for_a_true_one():
    """All pairs disagree: below what noise shows, yet the upper end is that of a typical calibrated model."""
    scores = np.repeat(0.5, 200)
    got = estimate(Predictions.from_confidence(scores, np.arange(200) % 2 == 0), "confidence", "skce").interval()
    assert (got.low, 0.002 < got.high < 0.02) == (0, True)


def test_weights_that_are_no_counts_are_answered_but_not_called_tested():
    p = sample(80)
    w = np.random.default_rng(0).random(80)
    for key in (*NORMS, "skce"):
        made = estimate(Predictions(p.probs, p.labels, weights=w), "class-wise", key).interval()
        assert 0 <= made.low < made.high
        assert not made.tested


def test_the_tables_hold_what_they_promise():
    table = coverage_table()
    assert {"smece", "ece-kde", "ece-convex", "max-deviation", "skce", "ece-sweep"} <= set(table["estimator"])
    by_rows = table[table["estimator"].isin([*NORMS, "skce"])]
    assert (by_rows["coverage"] >= 0.85).all()
    rejected = rejection_table()
    assert set(rejected["rows"]) == {100, 300, 1000, 3000, 10_000}
    assert set(rejected["classes"]) == {2, 3, 10, 30, 100}
    assert rejected["rejected_exact"].between(0.035, 0.065).all()
    assert (rejected["rejected"] <= rejected["rejected_exact"] + 0.01).all()
    assert rejected[rejected["estimator"] != "mce"]["rejected"].between(0.03, 0.065).all()
