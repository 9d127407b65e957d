"""Intervals, resamples and verdicts: coverage, laws, and slow twins."""

import numpy as np
import pytest
from generated import asked_of
from null_rates import gumbel_labels, spread_rows
from scipy import stats

from calib_core import (
    CALIBRATORS,
    ESTIMATORS,
    REDUCTIONS,
    Estimate,
    InputError,
    NotAnswerable,
    Predictions,
    RegistryError,
    estimate,
)
from calib_core.binning import EqualMass, EqualWidth, Groups, tabulate
from calib_core.estimators import Binned
from calib_core.inference import CellGaps, bootstrap, clopper_pearson, interval, inverted, percentile, pivotal, wilson
from calib_core.inference.intervals.bins_of_interval import judged_bins
from calib_core.inference.intervals.elementary import IN_BINS
from calib_core.inference.intervals.error_hierarchy import Chain
from calib_core.inference.intervals.inversion import RICH
from calib_core.inference.intervals.row_bootstrap import shares_follow_rows
from calib_core.inference.noise import cell_sums
from calib_core.inference.noise.cell_sums import claimed_covariance, column_sums, listed_sums, normal, unit_noise
from calib_core.inference.noise.noise_floor import null_outcomes
from calib_core.reductions import as_reduction
from calib_core.text import rows as about_rows

NOTIONS = [key for key in REDUCTIONS if key != "canonical"]


def sample(n=400, k=4, seed=0, power=1.6):
    """Return an overconfident model's predictions: labels from p, claims p^power."""
    rng = np.random.default_rng(seed)
    p = spread_rows(n, k, rng, 2.0)
    said = p**power
    return Predictions(said / said.sum(1, keepdims=True), gumbel_labels(p, rng))


# -- the default ----------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("truth", [lambda s: s, lambda s: np.clip(s - 0.06, 0, 1)], ids=["calibrated", "shifted"])
def test_the_default_covers(order, truth):
    rng = np.random.default_rng(1)
    scores = rng.beta(5, 1.3, 3000)
    at = np.minimum((scores * 15).astype(int), 14)
    sums = np.bincount(at, truth(scores) - scores, minlength=15)
    rows = np.bincount(at, minlength=15)
    share = np.abs(np.divide(sums, rows, out=np.zeros(15), where=rows > 0))
    target = (rows / 3000 @ share**order) ** (1 / order)
    held = 0
    for _ in range(200):
        p = Predictions.from_confidence(scores, rng.random(3000) < truth(scores))
        held += target in interval(estimate(p, "confidence", Binned(EqualWidth(15), order)).question)
    assert 0.86 <= held / 200 <= 0.99


def test_cells_of_very_few_rows_are_judged_in_groups_unless_bins_were_given():
    rng = np.random.default_rng(0)
    p = spread_rows(1000, 100, rng, 4.5)
    rows = Predictions(p, gumbel_labels(p, rng))
    free, given = estimate(rows, "top-label"), estimate(rows, "top-label", bins=15)
    assert free.value == given.value
    assert (free.bins.count > 0).sum() > 1000 / 5
    assert "groups of rows with similar predictions" in free.interval().about
    assert "errors that cancel within such a group of rows are not measured" in free.interval().about
    chosen = judged_bins(free.question).estimator.binning
    assert isinstance(chosen, Groups)
    assert chosen.variance >= RICH
    own = Chain.of(free.question, 0).lines[-1].absolute(0.9, 0.05)
    assert own == Chain.of(estimate(rows, "top-label", bins=chosen).question, 0).lines[-1].absolute(0.9, 0.05)
    assert given.interval().about == IN_BINS
    assert given.interval().low == free.interval().low == 0
    squares = estimate(rows, "top-label", "rmsce", 15).interval()
    assert "bins with two or more rows" in squares.about
    assert not squares.tested
    assert estimate(rows, "top-label", "rmsce").interval().tested
    rich = estimate(sample(4000), "confidence").interval()
    assert rich.about == IN_BINS


def test_inversion_by_one_cell_is_the_normal_interval_for_a_gap():
    gaps = CellGaps(np.ones(1), np.array([400.0]), np.array([0.6]), np.array([0.5]))
    low, high = inverted(gaps, 2, 0.9, np.random.default_rng(0).standard_normal((20_000, 1)))
    half = 1.645 * gaps.deviation[0]
    assert (low, high) == (pytest.approx(0.1 - half, abs=0.002), pytest.approx(0.1 + half, abs=0.002))
    one = inverted(gaps, 1, 0.9, np.random.default_rng(0).standard_normal((20_000, 1)))
    assert one == (pytest.approx(low, abs=0.002), pytest.approx(high, abs=0.002))


def test_no_gap_and_fewer_gaps_than_chance_leave_an_upper_end_above_0():
    exact = Predictions.from_confidence([0.5] * 40, [True, False] * 20)
    got = estimate(exact).interval()
    assert got.low == 0 < got.high < 0.25
    said, true = [0.25] * 40 + [0.75] * 40, [True] * 10 + [False] * 30 + [True] * 31 + [False] * 9
    rare = Predictions.from_confidence(said, true)
    got = estimate(rare).interval()
    assert got.low == 0 < got.high < 0.2


@pytest.mark.sampled(3)
@pytest.mark.parametrize("notion", [*NOTIONS, None])
@pytest.mark.parametrize("key", [key for key in ESTIMATORS if "claims" in ESTIMATORS[key].flags.takes])
def test_every_estimate_has_an_interval_that_says_how_it_was_made(notion, key, monkeypatch):
    from calib_core.inference.intervals import interval_methods

    monkeypatch.setattr(interval_methods, "bootstrap", lambda asked, random_state: bootstrap(asked, 20, random_state))
    member = ESTIMATORS.make(key)
    if notion is None and not hasattr(member, "of"):
        pytest.skip("not a score of whole predictions")
    made = estimate(asked_of(notion, sample(80, 3)), notion, member)
    got = interval(made.question)
    assert got.low <= got.high
    assert got.method in got.sentence
    # Scores of claims that share rows have no bounds of their own.
    assert ("bootstrap" in got.method) == (key in SCORES and notion in SHARING)
    assert not (got.tested and "bootstrap" in got.method), "only what the coverage table holds is called tested"


SCORES = {"log-loss", "brier", "accuracy"}
SHARING = {"class-wise", "top-k-confidence", "top-k-label"}


def test_debiased_errors_share_the_interval_of_what_they_estimate():
    p = sample()
    plain = {order: estimate(p, "top-label", Binned(order=order)).interval() for order in (1, 2)}
    assert estimate(p, "top-label", "debiased-ece", EqualWidth(15)).interval() == plain[1]
    squared = estimate(p, "top-label", "debiased-l2", EqualWidth(15)).interval()
    ends = (plain[2].low ** 2, plain[2].point ** 2, plain[2].high ** 2)
    assert (squared.low, squared.point, squared.high) == ends


def test_the_largest_error_has_the_end_of_clopper_and_pearson_at_a_quarter_of_the_tail():
    scores, hits = np.array([0.3, 0.5, 0.7, 0.9]), np.array([30, 45, 50, 90])
    p = Predictions.from_confidence(scores.repeat(100), np.concatenate([np.arange(100) < h for h in hits]))
    low, high = stats.beta.ppf(0.0125, hits, 101 - hits), stats.beta.ppf(0.9875, hits + 1, 100 - hits)
    found = estimate(p, estimator="mce").interval()
    assert found.high == pytest.approx(max(*(high - scores), *(scores - low)), abs=1e-9)


@pytest.mark.wide
def test_the_largest_error_is_bounded_for_all_cells_at_once():
    rng = np.random.default_rng(0)
    scores = np.repeat([0.3, 0.5, 0.7, 0.9], 100)
    true = scores - np.array([0.0, 0.05, 0.2, 0.0]).repeat(100)
    held = [
        0.2 in estimate(Predictions.from_confidence(scores, rng.random(400) < true), estimator="mce").interval()
        for _ in range(200)
    ]
    assert np.mean(held) >= 0.9


@pytest.mark.parametrize("notion", NOTIONS)
def test_laws_of_the_default(notion):
    p = asked_of(notion, sample(200, 3))
    w = np.random.default_rng(0).integers(0, 4, 200)
    weighed = estimate(Predictions(p.probs, p.labels, weights=w), notion)
    copies = estimate(Predictions(np.repeat(p.probs, w, axis=0), np.repeat(p.labels, w)), notion)
    assert weighed.interval().low == pytest.approx(copies.interval().low, abs=1e-9)
    assert weighed.interval().high == pytest.approx(copies.interval().high, abs=1e-9)
    made = estimate(p, notion)
    narrow, wide = made.interval(0.5), made.interval(0.95)
    assert 0 <= wide.low <= narrow.low <= narrow.high <= wide.high <= 1
    assert made.interval(0.5) is narrow, "made once and kept"
    assert interval(made.question, 0.5) == narrow, "seeded"


def test_levels_outside_their_range_are_refused():
    with pytest.raises(InputError, match=r"^level is 90; it must be a number between 0 and 1, both excluded$"):
        estimate(sample(20)).interval(90)
    with pytest.raises(RegistryError, match="make it with estimate"):
        Estimate(0.0, (), np.empty(0), np.empty(0), None, estimate(sample(20)).recipe).interval()


def test_the_noise_of_cells_is_standard_and_correlated_as_residuals_are():
    p = sample(300, 2)
    claims = as_reduction("class-wise").split(p)
    table = tabulate(claims, [EqualWidth(4)])[0]
    noise = unit_noise(claims, table, 1, np.random.default_rng(0), 20_000).reshape(20_000, 2, 4)
    np.testing.assert_allclose(noise.std(0)[table.count > 0], 1, atol=0.03)
    # Two classes: a row's residuals are opposite, in mirrored bins.
    np.testing.assert_allclose(noise[:, 0, :], -noise[:, 1, ::-1], atol=1e-9)


def test_the_noise_of_many_cells_is_that_of_their_covariance(monkeypatch):
    """The distribution is the same row by row in parts (tables too large for a covariance) and from the covariance."""
    p = sample(400, 3)
    claims = as_reduction("class-wise").split(p)
    table = tabulate(claims, [EqualWidth(4)])[0]
    small = unit_noise(claims, table, 1, np.random.default_rng(0), 4000)
    monkeypatch.setattr(cell_sums, "MOST_CELLS", 0)
    monkeypatch.setattr(cell_sums, "_AT_ONCE", 100)
    large = unit_noise(claims, table, 1, np.random.default_rng(1), 4000)
    filled = (table.count > 0).ravel()
    np.testing.assert_allclose(np.cov(large.T)[filled][:, filled], np.cov(small.T)[filled][:, filled], atol=0.12)


def test_claimed_noise_is_that_of_drawn_classes():
    p = sample(2000, 3)
    claims = as_reduction("class-wise").split(p)
    table = tabulate(claims, [EqualWidth(3)])[0]
    noise = normal(claimed_covariance(claims, table))(np.random.default_rng(0), 4000)
    drawn = null_outcomes(claims, table)(np.random.default_rng(1), 4000).reshape(4000, -1)
    scale = np.sqrt(np.maximum(drawn.var(0), 1e-12))
    np.testing.assert_allclose(np.cov((noise / scale).T), np.cov((drawn / scale).T), atol=0.12)


# -- resamples ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("scheme", [EqualWidth(6), EqualMass(5)], ids=repr)
def test_sums_of_resampled_rows_are_those_of_the_rows_taken(notion, scheme):
    """The slow twin takes rows one by one and counts their claims into the same bins."""
    p = asked_of(notion, sample(60, 3))
    claims = as_reduction(notion).split(p)
    table = tabulate(claims, [scheme])[0]
    ranks = estimate(p, notion).question.ranks
    sums = listed_sums(claims, table, ranks) if hasattr(claims, "scores") else column_sums(claims, table)
    times = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    got = sums.of(times)
    for r in range(2):
        taken = as_reduction(notion).split(p.take(np.repeat(np.arange(60), times[:, r].astype(int))))
        for s in range(len(table.strata)):
            one = taken.stratum(s)
            edges = table.lower[s, 1:]
            at = np.searchsorted(edges[~np.isnan(edges)], one.scores, side="right")
            for part, values in ((got.count, None), (got.score, one.scores), (got.outcome, one.outcomes)):
                wanted = np.bincount(at, values, minlength=table.count.shape[1])
                np.testing.assert_allclose(part[r, s], wanted, atol=1e-9)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-specific"])
def test_cells_resample_as_rows_do(notion):
    """Mean and spread of the values are compared with a bootstrap of rows with the same fixed edges."""
    p = sample(500, 3)
    question = estimate(p, notion, Binned(EqualWidth(8))).question
    fast = bootstrap(question, 1500, random_state=1)
    rng = np.random.default_rng(2)
    slow = [question.answer(p.take(rng.integers(500, size=500))).value for _ in range(1500)]
    assert fast.mean() == pytest.approx(np.mean(slow), abs=4 * np.std(slow) * (2 / 1500) ** 0.5)
    assert fast.std() == pytest.approx(np.std(slow), rel=0.1)


def test_shares_of_strata_move_with_the_resampled_rows():
    """Class 0 is always right, class 1 never, both certain: the error is the share of class 1."""
    p = Predictions(np.repeat([[1.0, 0.0], [0.0, 1.0]], 100, axis=0), np.zeros(200, dtype=int))
    found = bootstrap(estimate(p, "top-label").question)
    assert found.mean() == pytest.approx(0.5, abs=0.01)
    assert found.std() == pytest.approx((0.25 / 200) ** 0.5, rel=0.1)


def test_a_bootstrap_of_too_many_strata_is_refused_before_the_work():
    """The limit is on classes times resamples; errors of bins are drawn as counts, for any number of classes."""
    p = Predictions(np.full((4, 1_100), 1 / 1_100), [0, 1, 2, 3])
    for rows in (p, p.replace(groups=[0, 0, 1, 1])):
        with pytest.raises(NotAnswerable, match="1,100 classes in each of 1,000 resamples"):
            bootstrap(estimate(rows, "class-wise", "ece-sweep").question)
    assert bootstrap(estimate(p, "class-wise", "ece-sweep").question, 2).shape == (2,)
    assert bootstrap(estimate(p, "class-wise", "ece").question).shape == (1000,)


def test_the_bootstrap_of_a_mean_has_its_standard_error():
    p = sample(500)
    found = bootstrap(estimate(p, None, "accuracy").question, 600)
    assert found.mean() == pytest.approx(p.accuracy, abs=0.004)
    assert found.std() == pytest.approx((p.accuracy * (1 - p.accuracy) / 500) ** 0.5, rel=0.12)
    span = estimate(p, None, "accuracy").interval()
    assert p.accuracy in span
    assert span.method == "Clopper-Pearson"


def test_seeds_decide_resamples_and_strata_shares_follow_rows():
    question = estimate(sample(), "class-wise").question
    np.testing.assert_array_equal(bootstrap(question, 30, 1), bootstrap(question, 30, 1))
    assert (bootstrap(question, 30, 1) != bootstrap(question, 30, 2)).any()
    assert shares_follow_rows(as_reduction("top-label").split(sample()))
    assert not shares_follow_rows(as_reduction("class-wise").split(sample()))


def test_percentile_and_pivotal_forms_mirror_each_other():
    question = estimate(sample()).question
    value = question.answer(question.predictions).value
    found = bootstrap(question)
    low, high = percentile(found, 0.9)
    assert pivotal(value, found, 0.9) == (2 * value - high, 2 * value - low)
    got = interval(question, 0.9, method="pivotal")
    assert (got.low, got.high, got.tested) == (*pivotal(value, found, 0.9), False)


# -- bins -----------------------------------------------------------------------------------------------------


def test_wilson_and_clopper_pearson_are_those_of_scipy():
    for k, n in ((0, 7), (3, 7), (7, 7), (40, 90)):
        for made, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
            low, high = made(np.array([float(k)]), np.array([float(n)]), 0.9)
            wanted = stats.binomtest(k, n).proportion_ci(0.9, method)
            assert (low[0], high[0]) == (pytest.approx(wanted.low, abs=1e-12), pytest.approx(wanted.high, abs=1e-12))
    assert np.isnan(wilson(np.zeros(1), np.zeros(1))[0]).all()


# -- verdicts -------------------------------------------------------------------------------------------------


def test_verdicts_follow_their_rule():
    rng = np.random.default_rng(0)
    scores = rng.beta(5, 1.3, 20_000)
    good = estimate(Predictions.from_confidence(scores, rng.random(20_000) < scores))
    assert good.verdict(0.05).word == "within"
    assert good.verdict(0.0001).word == "too few rows to tell"
    bad = estimate(Predictions.from_confidence(scores, rng.random(20_000) < scores - 0.1))
    assert bad.verdict(0.02).word == "miscalibrated"
    assert bad.verdict(0.3).word == "within", "a real error can be small enough"
    few = estimate(Predictions.from_confidence(scores[:30], rng.random(30) < scores[:30])).verdict()
    assert (few.word, few.eps) == ("too few rows to tell", 0.02)
    assert few.rows_needed > 1000
    assert f"About {about_rows(few.rows_needed)} judged rows would be needed (there are 30)" in few.sentence
    assert "within 2 % in 8 of 10 samples" in few.sentence
    near = estimate(Predictions.from_confidence(scores, rng.random(20_000) < scores - 0.02)).verdict(0.02)
    assert near.word == "too close to call"
    assert "There is evidence of some error (" in near.sentence
    assert bad.verdict(0.02) is bad.verdict(0.02)
    with pytest.raises(InputError, match=r"^the tolerance is 0; it must be a number between 0 and 1, 0 excluded"):
        bad.verdict(0)


@pytest.mark.parametrize("order", [1, 2])
def test_bins_that_fit_too_well_promise_no_less_than_noise_lets_one_see(order: int) -> None:
    score, rows = np.linspace(0.05, 0.95, 10), np.full(10, 100.0)
    noise = np.random.default_rng(0).standard_normal((4000, 10))

    def upper(gap: float) -> float:
        signs = np.where(np.arange(10) % 2, gap, -gap)
        return inverted(CellGaps(np.full(10, 0.1), rows, score + signs, score), order, 0.9, noise)[1]

    spread = np.sqrt(np.mean(score * (1 - score) / 100))
    typical = upper(spread * (np.sqrt(2 / np.pi) if order == 1 else 1.0))
    assert upper(1e-6) > 0.7 * typical > 0.01
    assert upper(1e-6) <= upper(2 * spread)


def test_a_calibrator_judged_on_the_rows_it_was_fitted_on_is_not_shown_to_be_calibrated() -> None:
    rng = np.random.default_rng(3)
    scores = rng.uniform(size=400)
    fit = Predictions.from_confidence(scores, rng.uniform(size=400) < scores**2)
    overfit = CALIBRATORS.make("confidence").fit_on(fit).apply(fit)
    made = estimate(overfit, "confidence", "ece", "distinct")
    assert made.value < made.noise_floor.mean / 3
    assert made.verdict(0.01).word == "too few rows to tell"


def test_no_point_falls_short_of_the_mean_gap_that_is_shown():
    """An error spread evenly over bins, none of them significant, was halved: 2 % of 4 %."""
    points, gaps = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        scores = rng.uniform(0.55, 0.95, 500)
        right = rng.random(500) < scores - 0.08
        points.append(estimate(Predictions.from_confidence(scores, right), "confidence", "ece").interval().point)
        gaps.append(abs((scores - right).mean()))
    np.testing.assert_allclose(points, np.maximum(points, gaps), rtol=1e-3)
    assert np.mean(points) == pytest.approx(0.08, abs=0.015)
