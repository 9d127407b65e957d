"""Intervals of errors based on rows: their parts against the estimators, and the guarantee of the proof."""

import numpy as np
import pytest
from null_rates import gumbel_labels, spread_rows
from scipy import stats

from calib_core import ESTIMATORS, Predictions, estimate
from calib_core.estimators import ConvexBinned, KernelCalibrationError
from calib_core.estimators.smooth import smooth_errors
from calib_core.inference import coverage_table, interval, rejection_table
from calib_core.inference.intervals import squared_errors, wild_bootstrap
from calib_core.inference.intervals.elementary import beyond
from calib_core.reductions import as_reduction
from calib_core.smoothing import ScoreGrid
from tests.support.smooth_by_hand import fixed_point

NORMS = ("max-deviation", "ece-convex", "ece-adaptive-convex", "ece-sweep", "smece", "ece-kde")


def sample(n=300, k=3, seed=0, power=1.6):
    rng = np.random.default_rng(seed)
    p = spread_rows(n, k, rng, 2.0)
    said = p**power
    return Predictions(said / said.sum(1, keepdims=True), gumbel_labels(p, rng))


def error_of(question, times=None):
    """Return the norm of each row's residuals times ``times`` (n,) (None: once), aggregated like the noise."""
    claims, ranks = question.claims, question.ranks
    made, n, total = question.answer(question.predictions), claims.n_rows(ranks), 0.0
    times = np.ones(n) if times is None else times
    for s, stratum, rows in wild_bootstrap.strata_of(claims, ranks):
        image = question.estimator.image(claims, made, s, stratum)
        sums = image.map(wild_bootstrap.residuals(stratum), rows, n) @ times[:, None]
        total += claims.shares[s] * image.errors(np.asarray(sums).T / stratum.total)[0]
    return total


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-label"])
@pytest.mark.parametrize("key", NORMS[:5])
def test_the_noise_is_measured_as_the_error_is(key, notion):
    """Residuals multiplied by 1 give the estimate back: to rounding, the smooth error to its coarser grid."""
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
    grid, rng = ScoreGrid(cells=256), np.random.default_rng(0)
    masses = rng.standard_normal((3, 257)) * np.array([[1e-3], [1e-2], [1e-4]])
    for one, found in zip(masses, smooth_errors(masses, grid), strict=True):
        spectrum, frequency = grid.spectrum(one), np.pi * np.arange(257)

        def error(width, spectrum=spectrum, frequency=frequency):
            return float(grid.integral(np.abs(grid.density(np.exp(-0.5 * (width * frequency) ** 2) * spectrum))))

        assert found == pytest.approx(fixed_point(error), rel=0.01, abs=np.abs(one).sum() / 1000)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-confidence"])
def test_no_row_moves_an_error_further_than_its_influence(notion):
    """Each row's outcome is replaced by the prediction of its scores, one at a time."""
    p = sample(60)
    question = estimate(p, notion, "max-deviation").question
    claims, ranks = question.claims, question.ranks
    moved = claims.influence(ranks)
    n = claims.n_rows(ranks)
    wanted = np.zeros(n)
    for s, stratum, rows in wild_bootstrap.strata_of(claims, ranks):
        np.add.at(wanted, rows, claims.shares[s] * np.abs(wild_bootstrap.residuals(stratum)) / stratum.total)
    np.testing.assert_allclose(moved, wanted)
    for key in ("max-deviation", "ece-convex", "ece-sweep"):
        asked = estimate(p, notion, key)
        for i in range(0, n, 7):
            times = np.where(np.arange(n) == i, 0.0, 1.0)
            assert abs(error_of(asked.question, times) - asked.value) <= moved[i] + 1e-12


@pytest.mark.wide
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
    """For two classes, both claims of a row are the same statement, so class-wise noise is that of one class."""
    p = sample(200, 2)
    both, one = (estimate(p, notion, "max-deviation").interval() for notion in ("class-wise", "class-specific"))
    assert (both.low, both.high) == (pytest.approx(one.low, abs=1e-9), pytest.approx(one.high, abs=1e-9))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("notion", ["confidence", "top-label"])
def test_the_order_of_the_rows_plays_no_part(notion):
    full = sample(150)
    said = np.round(full.confidence, 1)  # many equal scores
    p = Predictions.from_confidence(said, predicted=full.predicted, labels=full.true_labels)
    shuffled = p.take(np.random.default_rng(0).permutation(150))
    for key in (*NORMS, "skce"):
        one, two = (estimate(q, notion, key).interval() for q in (p, shuffled))
        assert (two.low, two.high) == (pytest.approx(one.low, abs=1e-9), pytest.approx(one.high, abs=1e-9)), key


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-confidence"])
def test_the_reach_is_no_less_than_any_outcome_moves_and_not_twice_as_much(notion):
    question = estimate(sample(40), notion, "max-deviation").question
    claims, most = question.claims, 0.0
    for label in range(3):
        p = question.predictions.relabelled(np.full(40, label))
        most = max(most, question.reduction.split(p).influence(question.ranks).max())
    assert most <= wild_bootstrap.reach(claims, question.ranks) * (1 + 1e-12)
    assert wild_bootstrap.reach(claims, question.ranks) <= 2 * most


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-confidence"])
def test_noise_drawn_from_the_scores_is_that_of_the_noise_floor(notion):
    """The two routes to the distribution of a calibrated model's error are the images' and the estimator's own."""
    made = estimate(sample(120), notion, "max-deviation")
    claims, ranks = made.question.claims, made.question.ranks
    answer = made.question.answer(made.question.predictions)
    estimator = made.question.estimator
    drawn = wild_bootstrap.calibrated_sizes(
        lambda s, stratum: estimator.image(claims, answer, s, stratum), claims, ranks, 0
    )
    floor = made.noise_floor.draws
    assert drawn.mean() == pytest.approx(floor.mean(), rel=0.06)
    assert drawn.std() == pytest.approx(floor.std(), rel=0.2)


@pytest.mark.wide
def test_many_strata_of_few_calibrated_rows_show_no_error():
    """Three rows per class: multiplied residuals underestimate the total noise there, in all samples."""
    rng, above = np.random.default_rng(8), 0
    for _ in range(20):
        c = rng.integers(100, size=300)
        y = np.where(rng.random(300) < 0.9, c, (c + 1) % 100)
        p = Predictions.from_confidence(np.full(300, 0.9), predicted=c, labels=y, class_names=[*map(str, range(100))])
        above += estimate(p, "top-label", "max-deviation").interval().low > 0
    assert above <= 4


def near_one(law, n, rng):
    """Return scores whose residuals show no noise: all .999, within .002 of 1, and 60 % exactly 1."""
    spread = {"999": np.full(n, 0.999), "within": 1 - 0.002 * rng.random(n)}
    return np.sort(spread.get(law, np.where(rng.random(n) < 0.6, 1.0, rng.beta(5, 1.3, n))))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("law", ["999", "within", "atom"])
@pytest.mark.parametrize("key", ["max-deviation", "ece-convex", "skce"])
def test_near_certain_scores_hide_no_error_of_a_few_percent(key, law):
    """Truth .05 below the scores, 30 and 100 rows: the upper end covers, that of the residuals does not."""
    rng, below, old, runs = np.random.default_rng(4), 0, 0, 60
    for n in (30, 100):
        scores = near_one(law, n, rng)
        true = np.maximum(scores - 0.05, 0.0)
        squared = np.exp(-np.abs(scores[:, None] - scores)) * 0.05**2
        aim = 0.05 if key != "skce" else (squared.sum() - np.trace(squared)) / (n * (n - 1))
        for _ in range(runs):
            asked = estimate(Predictions.from_confidence(scores, rng.random(n) < true), "confidence", key)
            span = asked.interval()
            assert span.low < span.high
            below += span.high < aim
            moved = asked.question.claims.influence()
            plain = max(asked.value, 0) ** (0.5 if key == "skce" else 1) + 1.645 * np.sqrt(np.square(moved).sum())
            old += plain ** (2 if key == "skce" else 1) < aim
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / (2 * runs))
    assert below / (2 * runs) <= limit
    if law != "atom":
        assert old / (2 * runs) > 0.05  # falsified twin: the result of residuals only


@pytest.mark.parametrize("key", ["max-deviation", "ece-convex", "smece", "skce"])
def test_near_certain_calibrated_scores_show_no_error_however_few_the_outcomes(key):
    rng = np.random.default_rng(5)
    for n in (10, 30, 100):
        scores = near_one("within", n, rng)
        for correct in (np.ones(n, bool), np.arange(n) > 0):
            span = estimate(Predictions.from_confidence(scores, correct), "confidence", key).interval()
            assert (span.low, span.high > 0.5 / n**2) == (0.0, True), (n, key)


def test_the_bounds_follow_the_level():
    made = estimate(Predictions.from_confidence(np.full(50, 0.999), np.ones(50, bool)), "confidence", "max-deviation")
    for level in (0.5, 0.9, 0.98):
        assert made.interval(level).high == pytest.approx(0.001 + beyond(5e-5, (1 - level) / 2) / 50)
    assert beyond(0, 0.05) == pytest.approx(-np.log(0.05))
    assert stats.poisson.cdf(3, 3 + beyond(3, 0.05)) == pytest.approx(0.05)


def pair_ends(p, level=0.9, block=100):
    claims = as_reduction("canonical").split(p)
    return squared_errors.of_blocks(KernelCalibrationError(block=block), claims, level)


def test_blocks_of_rows_give_students_interval_where_outcomes_are_many():
    p = sample(900)
    values = KernelCalibrationError(block=100).blocks(as_reduction("canonical").split(p)).values
    wanted = stats.t.interval(0.9, 8, values.mean(), stats.sem(values))
    assert pair_ends(p) == (max(0.0, wanted[0]), pytest.approx(wanted[1]))
    many, few = (estimate(sample(n), "canonical", "skce").interval() for n in (900, 300))
    assert many.method == few.method == "independent blocks of rows"
    assert few.high - few.low > many.high - many.low


def test_the_norm_of_blocks_is_that_of_all_pairs_one_by_one():
    """One block: the upper end is (S + X/n)^2 n/(n - 1) with S over all pairs, i = j counted."""
    p = sample(40)
    probs, n = p.probs.astype(float), 40
    residual = np.eye(3)[p.labels] - probs
    alike = np.exp(-np.abs(probs[:, None] - probs[None]).sum(-1) / 2) * (residual @ residual.T)
    square = np.square(residual).sum(1)
    longest = 1 + np.square(probs).sum(1).max()
    size = np.sqrt(alike.sum()) / n + np.sqrt(longest) / n * beyond(square.sum() / longest, 0.05)
    assert pair_ends(p)[1] == pytest.approx(size**2 * n / (n - 1))


@pytest.mark.parametrize("rows", [30, 900])
def test_whole_vectors_that_are_near_certain_have_intervals_with_room(rows):
    """Truth .05 off: equal blocks, or few of them, give no certainty; Student's interval by itself fails."""
    rng, k, below, plain, runs = np.random.default_rng(6), 10, 0, 0, 60
    claimed = rng.integers(k, size=rows)
    probs = np.full((rows, k), 0.001 / (k - 1))
    probs[np.arange(rows), claimed] = 0.999
    gap = np.zeros((rows, k))
    gap[np.arange(rows), claimed], gap[np.arange(rows), (claimed + 1) % k] = -0.05, 0.05
    alike = np.exp(-np.where(claimed[:, None] == claimed, 0, 0.999 - 0.001 / (k - 1))) * (gap @ gap.T)
    aim = (alike.sum() - np.trace(alike)) / (rows * (rows - 1))
    for _ in range(runs):
        labels = np.where(rng.random(rows) < 0.05, (claimed + 1) % k, claimed)
        p = Predictions(probs, labels)
        low, high = pair_ends(p)
        assert low < high
        below += high < aim
        values = KernelCalibrationError().blocks(as_reduction("canonical").split(p)).values
        half = stats.sem(values) * stats.t.isf(0.05, len(values) - 1) if len(values) > 1 else 0.0
        plain += values.mean() + half < aim
    assert below / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    if rows == 30:
        assert plain / runs > 0.2
    certain = Predictions(np.repeat([[1.0, 0.0]], rows, axis=0), np.zeros(rows, int))
    assert 0 == pair_ends(certain)[0] < pair_ends(certain)[1] < 20 / rows**2 + 0.2 / rows


def test_a_luckily_small_kernel_error_leaves_room_for_a_true_one():
    """All pairs disagree: below the noise floor, yet the upper end is that of a typical calibrated model."""
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
    assert {"smece", "ece-kde", "ece-convex", "max-deviation", "skce", "two-bin", "ece-sweep"} <= set(
        table["estimator"]
    )
    rejected = rejection_table()
    assert set(rejected["rows"]) == {100, 300, 1000, 3000, 10_000}
    spread, network = (rejected[rejected["law"] == law] for law in ("spread rows", "network"))
    assert set(spread["classes"]) == {2, 3, 10, 30, 100}
    assert set(network["classes"]) == {3, 10, 100, 1000}
    assert spread["rejected_exact"].between(0.035, 0.065).all()
    # 2000 runs and as many draws: a share of .05 is known to .007.
    assert network["rejected_exact"].between(0.03, 0.075).all()
    assert (rejected["rejected"] <= rejected["rejected_exact"] + 0.01).all()
    assert spread[spread["estimator"] != "mce"]["rejected"].between(0.03, 0.065).all()
