"""Noise floors and tests: levels, distributions of the draws, and a slow twin of each fast path."""

import numpy as np
import pytest
from generated import asked_of, full_predictions, of_kind, ordinary_rows, permuted
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from null_rates import gumbel_labels, rejection_rate, rejection_rates, spread_rows
from scipy.stats import ks_2samp

from calib_core import ESTIMATORS, REDUCTIONS, NotAnswerable, Predictions, estimate
from calib_core._base.arrays import Rows
from calib_core.binning import EqualMass, EqualWidth, tabulate
from calib_core.estimators import Binned
from calib_core.inference import NoiseFloor, kuiper, noise_floor, spiegelhalter
from calib_core.inference.intervals.joint_intervals import floors
from calib_core.inference.noise import noise_floor as floors_of_rows
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.noise_floor import null_outcomes
from calib_core.inference.significance.calibration_tests import brownian_range_tail
from calib_core.reductions import as_reduction

NOTIONS = [key for key in REDUCTIONS if key != "canonical"]


def sample(n=300, k=4, seed=0):
    rng = np.random.default_rng(seed)
    p = spread_rows(n, k, rng)
    return Predictions(p, gumbel_labels(p, rng))


@pytest.mark.parametrize(
    ("n", "k", "notion", "estimator"),
    [
        (100, 2, "confidence", "ece"),
        (100, 10, "class-wise", "ece"),
        (1000, 10, "top-label", "rmsce"),
    ],
)
def test_calibrated_models_are_rejected_at_the_level(n, k, notion, estimator):
    """The level is 5 +- 1 %; the binomial error of 2000 runs is 0.5 %. Labels are drawn by code outside the library."""
    assert rejection_rate(n, k, notion, estimator, runs=2000, seed=3, draws=3000) == pytest.approx(0.05, abs=0.01)


def test_ties_make_the_shown_test_careful_and_the_exact_one_is_exact():
    """The largest error of 100 rows is that of one row: the observed value is drawn again and again."""
    shown, exact = rejection_rates(100, 10, ["confidence"], ["mce"], runs=2000, seed=3, draws=3000)["confidence", "mce"]
    assert shown < 0.01
    assert exact == pytest.approx(0.05, abs=0.013)


def test_an_exact_p_value_is_a_uniform_rank_among_its_ties():
    tied = NoiseFloor(0.5, np.repeat([0.4, 0.5, 0.6], [400, 300, 299]))
    found = np.array([tied.exact_p_value(seed) for seed in range(2000)]) * 1000
    assert tied.p_value == 0.6
    assert (found.min(), found.max()) == (300, 600)
    assert found.mean() == pytest.approx(450, abs=8)
    assert tied.exact_p_value(3) == tied.exact_p_value(3)
    alone = NoiseFloor(0.5, np.linspace(0, 1, 100))
    assert alone.exact_p_value(0) == alone.p_value == 51 / 101
    accuracy = NoiseFloor(0.5, np.repeat([0.4, 0.5, 0.6], [10, 0, 89]), higher_is_worse=False)
    assert accuracy.exact_p_value(0) == accuracy.p_value == 11 / 100


def test_a_calibrated_model_shows_what_the_floor_draws():
    rng = np.random.default_rng(5)
    p = spread_rows(400, 5, rng)
    p_of = Predictions(p, gumbel_labels(p, rng))
    null = noise_floor(estimate(p_of, "top-label", "ece").question, 4000, random_state=1).draws
    shown = [estimate(p_of.relabelled(gumbel_labels(p, rng)), "top-label", "ece").value for _ in range(800)]
    assert ks_2samp(null, shown).pvalue > 0.01


def test_a_miscalibrated_model_is_rejected_and_its_p_value_is_never_0():
    p = sample(2000)
    sharper = p.probs**2 / (p.probs**2).sum(1, keepdims=True)
    made = estimate(Predictions(sharper, p.labels))
    assert 0 < made.p_value < 1e-10, "the mean gap's own law, which no number of draws limits"
    assert made.noise_floor.p_value == 1 / 1001
    assert made.noise_floor.mean < made.noise_floor.high < made.value
    assert made.noise_floor is made.noise_floor, "made once and kept"


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("scheme", [EqualWidth(7), EqualMass(5)], ids=repr)
def test_counts_are_those_of_drawn_rows(notion, scheme):
    """The slow twin puts the same draws back into the claims and calls the estimator on each."""
    p = asked_of(notion, sample(120))
    question = estimate(p, notion, Binned(scheme)).question
    fast = noise_floor(question, 30, random_state=3).draws

    class OnRows:
        def __call__(self, claims):
            return Binned(scheme)(claims)

    object.__setattr__(question, "estimator", OnRows())
    slow = noise_floor(question, 30, random_state=3).draws
    np.testing.assert_allclose(fast, slow, atol=1e-12)


@pytest.mark.parametrize("notion", [*NOTIONS, None])
@pytest.mark.parametrize("key", [key for key in ESTIMATORS if "claims" in ESTIMATORS[key].flags.takes])
def test_every_estimator_has_a_floor_in_every_notion(notion, key):
    member = ESTIMATORS.make(key)
    if notion is None and not hasattr(member, "of"):
        pytest.skip("not a score of whole predictions")
    made = noise_floor(estimate(asked_of(notion, sample(60, 3)), notion, member).question, 5)
    assert np.isfinite(made.draws).all()
    assert 0 < made.p_value <= 1


def test_the_canonical_notion_has_a_test():
    made = estimate(sample(60, 3), "canonical", "skce")
    assert 0 < noise_floor(made.question, 20).p_value <= 1


def test_seeds_decide_alone(monkeypatch):
    p = sample(500)
    for notion in ("confidence", "class-wise", "top-k-label"):
        question = estimate(p, notion).question
        first = noise_floor(question, 250, random_state=1).draws
        assert (noise_floor(question, 250, random_state=2).draws != first).any()
        for rows, size in ((17, 1 << 8), (100_000, 1 << 24)):
            with monkeypatch.context() as patch:
                patch.setattr(outcome_draws, "_BLOCK_ROWS", rows)
                patch.setattr(outcome_draws, "_BLOCK_BYTES", size)
                np.testing.assert_array_equal(noise_floor(question, 250, random_state=1).draws, first)


@settings(max_examples=15, deadline=None)
@given(predictions=full_predictions(weighted=False))
def test_floors_of_one_claim_a_row_do_not_depend_on_row_order(predictions):
    shuffled, _ = permuted(predictions)
    for notion in ("confidence", "top-label"):
        one, other = (noise_floor(estimate(p, notion).question, 20).draws for p in (predictions, shuffled))
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("notion", [*NOTIONS, None])
def test_a_whole_weight_is_that_many_copies(notion):
    p = asked_of(notion, sample(50))
    w = np.random.default_rng(0).integers(0, 4, 50)
    weighed = Predictions(p.probs, p.labels, weights=w)
    copies = Predictions(np.repeat(p.probs, w, axis=0), np.repeat(p.labels, w))
    key = "brier" if notion is None else "ece"
    one, other = (noise_floor(estimate(q, notion, key).question, 40) for q in (weighed, copies))
    np.testing.assert_allclose(one.draws, other.draws, atol=1e-12)
    assert one.p_value == other.p_value


@pytest.mark.parametrize("notion", ["confidence", "class-wise", "top-k-label"])
def test_outcomes_are_drawn_with_the_probabilities_of_the_rows(notion):
    """Mean and variance of every cell's count are compared with sum s and sum s (1 - s) of its claims."""
    p = sample(400, 3)
    claims = as_reduction(notion).split(p)
    table = tabulate(claims, [EqualWidth(4)])[0]
    ranks = 3 if notion == "top-k-label" else 1
    drawn = null_outcomes(claims, table, ranks)(np.random.default_rng(0), 4000)
    spread = np.zeros(table.count.shape)
    for s in range(len(table.strata)):
        scores = claims.stratum(s).scores
        at = np.minimum((scores * 4).astype(int), 3)
        spread[s] = np.bincount(at, scores * (1 - scores), minlength=4)
    np.testing.assert_allclose(drawn.mean(0), table.tally.score, atol=5 * np.sqrt(spread.max() / 4000))
    np.testing.assert_allclose(drawn.var(0), spread, rtol=0.12, atol=0.02)
    if notion == "class-wise":
        np.testing.assert_allclose(drawn.sum(axis=(1, 2)), p.n_rows, err_msg="one class a row")


def test_kinds_of_predictions():
    p = sample(100, 3)
    for kind in ("per-class", "top-label", "confidence"):
        assert 0 < noise_floor(estimate(of_kind(p, kind), "confidence").question, 20).p_value <= 1
    with pytest.raises(NotAnswerable, match="need not sum to 1, so no class can be drawn"):
        estimate(of_kind(p, "per-class"), "class-wise").noise_floor.p_value  # noqa: B018


def test_floors_of_a_sweep_are_those_of_each_binning():
    p = sample(300, 3)
    members = [Binned(EqualWidth(b)) for b in (5, 8, 12)] + [Binned(EqualMass(4))]
    for notion in ("confidence", "class-wise"):
        swept = floors(p, as_reduction(notion), members, resamples=100)
        for made, member in zip(swept, members, strict=True):
            alone = noise_floor(estimate(p, notion, member).question, 100)
            np.testing.assert_allclose(made.draws, alone.draws, atol=1e-12)
            assert made.observed == pytest.approx(alone.observed, abs=1e-12)


# -- bin-free tests -------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("test", [spiegelhalter, lambda p: spiegelhalter(p, "log-loss"), kuiper])
def test_score_tests_reject_at_the_level_and_see_over_confidence(test):
    rng = np.random.default_rng(2)
    p = spread_rows(1000, 5, rng, scale=1.5)
    found = [test(Predictions(p, gumbel_labels(p, rng))).p_value for _ in range(1500)]
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.017)
    sharper = p**1.5 / (p**1.5).sum(1, keepdims=True)
    assert test(Predictions(sharper, gumbel_labels(p, rng))).p_value < 0.01


def test_spiegelhalter_is_its_formula():
    probs, labels = ordinary_rows(50, 3)
    losses = {"brier": lambda p, k: ((p - np.eye(3)[k]) ** 2).sum(), "log-loss": lambda p, k: -np.log(p[k])}
    for score, loss in losses.items():
        excess = variance = 0.0
        for p, y in zip(np.maximum(probs, 2.0**-52), labels, strict=True):
            values = np.array([loss(p, k) for k in range(3)])
            mean = (p * values).sum()
            excess += values[y] - mean
            variance += (p * (values - mean) ** 2).sum()
        assert spiegelhalter(Predictions(probs, labels), score).statistic == pytest.approx(excess / variance**0.5)


def test_kuiper_sums_equal_scores_as_one_step_and_has_the_law_of_a_brownian_range():
    p = Predictions.from_confidence([0.5, 0.5, 0.5, 0.5], [True, False, True, False])
    assert kuiper(p).statistic == 0
    rng = np.random.default_rng(0)
    path = np.cumsum(rng.standard_normal((4000, 2000)), axis=1) / np.sqrt(2000)
    width = np.maximum(path.max(1), 0) - np.minimum(path.min(1), 0)
    for x in (1.0, 1.5, 2.0, 2.5):
        assert brownian_range_tail(x) == pytest.approx(np.mean(width >= x - 0.02), abs=0.025)
    with pytest.raises(NotAnswerable, match="one stratum"):
        kuiper(sample(), "class-wise")


class Given:
    """Chosen uniforms: among them the ends of parts of [0, 1], where a look-up can be off by one."""

    def __init__(self, values):
        self.values = values

    def random(self, size):
        return np.resize(self.values, size)


@given(
    p=arrays(
        float, st.tuples(st.integers(1, 20), st.integers(1, 70)), elements=st.sampled_from([0.0, 1e-9, 0.25, 1.0])
    ),
    uniforms=st.lists(
        st.one_of(st.integers(0, 63).map(lambda i: i / 64), st.floats(0, 1, exclude_max=True)), min_size=1, max_size=60
    ),
)
def test_a_drawn_class_is_the_one_whose_part_of_the_row_holds_the_uniform_number(p, uniforms):
    p[:, 0] += p.sum(1) == 0
    ((_, _, drawn),) = outcome_draws.classes(Rows(p), Given(uniforms), len(uniforms))
    upto = np.cumsum(p, axis=1)
    for i, (row, classes) in enumerate(zip(upto / upto[:, -1:] + np.arange(len(p))[:, None], drawn, strict=True)):
        passed = [int((row <= u + i).sum()) for u in np.resize(uniforms, drawn.shape)[i]]
        assert classes.tolist() == np.minimum(passed, p.shape[1] - 1).tolist()


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize(("k", "count"), [(3, 40), (60, 40)])
def test_drawn_classes_are_counted_in_the_cells_of_their_scores(monkeypatch, k, count, weighed):
    """The slow twin looks up one row and one replicate at a time; rows are counted in several parts."""
    monkeypatch.setattr(floors_of_rows, "_AT_ONCE", 1000)
    rows = sample(700, k)
    weights = np.random.default_rng(2).integers(1, 9, 700) / 4 if weighed else None
    claims = as_reduction("class-wise").split(rows).reweighed(weights)
    (table,) = tabulate(claims, [EqualMass(4)])
    expected = np.zeros((count, *table.count.shape))
    for where, block, drawn in outcome_draws.classes(claims.rows, np.random.default_rng(5), count):
        for i, (probs, classes) in enumerate(zip(block, drawn, strict=True), where.start):
            for r, c in enumerate(classes):
                b = np.searchsorted(table.inner_edges(c, claims.dtype), probs[c], side="right")
                expected[r, c, b] += 1 if weights is None else weights[i]
    assert expected.any(axis=0).sum() > 2 * k
    np.testing.assert_array_equal(null_outcomes(claims, table)(np.random.default_rng(5), count), expected)


def test_outcomes_are_drawn_once_for_the_interval_and_the_floor(monkeypatch):
    calls = []
    drawn = floors_of_rows._column_outcomes
    monkeypatch.setattr(floors_of_rows, "_column_outcomes", lambda *given: calls.append(given) or drawn(*given))
    first, second = (estimate(sample(), "class-wise", "ece") for _ in range(2))
    floor, interval = first.noise_floor, first.interval()
    assert len(calls) == 5
    again, low = second.interval(), second.noise_floor
    assert len(calls) == 10
    assert again == interval
    np.testing.assert_array_equal(low.draws, floor.draws)
    first.interval(random_state=1)
    assert len(calls) == 15, "another seed, other outcomes"
