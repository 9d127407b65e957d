"""Bounds: exact values by hand, inverses, and simulations that cover at their level and fail with a wrong constant."""

import numpy as np
import pytest
from scipy.stats import binom

from calib_core import CALIBRATORS, guarantees
from calib_core.calibrators import Histogram
from calib_core.guarantees import UniformMassCells

# -- exact values with their arithmetic -------------------------------------------------------------------------


def test_theorem_1_by_hand():
    # log(2 / .1) = 2.995732273553991; / (2 * 49) = .030568696668918; root .174839059334
    assert guarantees.marginal_eps(50, 0.1) == pytest.approx(0.17483905933434, abs=1e-12)
    # log(2 * 1000 / (50 * .1)) = log 400 = 5.991464547107982; / 98 = .061137393337837; root .247259...
    assert guarantees.conditional_eps(50, 1000, 0.1) == pytest.approx(np.sqrt(5.991464547107982 / 98), abs=1e-12)
    assert guarantees.conditional_eps(50, 1000, 0.1) == pytest.approx(0.2472597690, abs=1e-9)
    assert guarantees.simultaneous_eps(50, 20, 0.1) == guarantees.conditional_eps(50, 1000, 0.1)
    assert guarantees.expected_ece(50) == 0.1  # sqrt(1 / 100)
    assert guarantees.expected_ece(200) == 0.05
    # The randomization is added unchanged.
    assert guarantees.marginal_eps(50, 0.1, delta=0.01) == guarantees.marginal_eps(50, 0.1) + 0.01
    assert guarantees.conditional_eps(50, 1000, 0.1, 0.01) == guarantees.conditional_eps(50, 1000, 0.1) + 0.01
    assert guarantees.expected_ece(50, 0.01) == pytest.approx(0.11)
    # Two points: sqrt(log(20) / 2).
    assert guarantees.marginal_eps(2, 0.1) == pytest.approx(1.2238734153404, abs=1e-12)


def test_theorem_2_by_hand():
    made = guarantees.class_wise_bounds([50, 100], 1000, [0.04, 0.06], delta=0.001)
    assert made.marginal[0] == pytest.approx(np.sqrt(np.log(50) / 98) + 0.001, abs=1e-12)  # 2 / .04 = 50
    assert made.marginal[1] == pytest.approx(np.sqrt(np.log(2 / 0.06) / 198) + 0.001, abs=1e-12)
    assert made.conditional[0] == pytest.approx(np.sqrt(np.log(1000) / 98) + 0.001, abs=1e-12)  # 2000 / (50 * .04)
    assert made.conditional[1] == pytest.approx(np.sqrt(np.log(2000 / 6) / 198) + 0.001, abs=1e-12)
    assert made.ece == made.conditional[0]
    assert made.level == pytest.approx(0.9)
    assert made.expected == pytest.approx(0.101)


def test_meta_cal_probabilities_by_hand():
    # One held-out score, v = 1: F0 > alpha exactly when that score is below the (1 - alpha)-quantile.
    assert guarantees.exceed_probability(1, 1, 0.05) == pytest.approx(0.95)
    # Two, v = 2: both below, .95 ** 2; v = 1: at least one.
    assert guarantees.exceed_probability(2, 2, 0.05) == pytest.approx(0.9025)
    assert guarantees.exceed_probability(2, 1, 0.05) == pytest.approx(1 - 0.0025)
    assert guarantees.exceed_probability(200, 191, 0.05) == pytest.approx(0.4547, abs=1e-4)
    assert guarantees.exceed_probability(200, 196, 0.05) == pytest.approx(0.0264, abs=1e-4)
    assert guarantees.exceed_probability(200, 195, 0.05) > 0.05
    assert (guarantees.paper_rank(200, 0.05), guarantees.paper_rank(19, 0.05), guarantees.paper_rank(18, 0.05)) == (
        191,  # ceil(190.95)
        19,
        19,  # ceil(18.05): more than 18 scores, so none is enough
    )
    assert guarantees.paper_rank(99, 0.05) == 95  # 100 * .95 is 95, despite floating point
    assert guarantees.rows_for_miscoverage(0.05, 0.05) == 59  # log .05 / log .95 = 58.4
    assert guarantees.rows_for_accuracy(0.97, 0.05) == 99  # log .05 / log .97 = 98.4
    # 2 exp(-200 * .0025 / (2 * .05 * .95)) = 2 exp(-.5 / .095)
    assert guarantees.deviation_probability(0.05, 0.05, 200) == pytest.approx(2 * np.exp(-0.5 / 0.095), abs=1e-12)
    assert guarantees.deviation_probability(0.001, 0.05, 20) == 1.0
    assert guarantees.deviation_probability(0.1, 0.0, 20) == 0.0
    assert guarantees.normal_deviation(0.95, 0.5, 100) == pytest.approx(1.959963985 * 0.05, abs=1e-9)
    # eq. 6: w = .9 * .8 + .3 * .2 = .78; .78 * .2 / 10.
    assert guarantees.worst_ece_at_least(0.8, 10, 0.1, 0.3) == pytest.approx(0.0156)
    assert guarantees.worst_ece_at_least(0.8, 10) == pytest.approx(0.02)
    # Clopper-Pearson: with 0 errors risk ** (1 / n); with all errors 0.
    assert guarantees.accuracy_lower_bound(20, 20, 0.1) == pytest.approx(0.1**0.05)
    assert guarantees.accuracy_lower_bound(0, 20, 0.1) == 0.0
    assert binom.sf(16, 20, guarantees.accuracy_lower_bound(17, 20, 0.1)) == pytest.approx(0.1)


def test_balance_by_hand():
    assert guarantees.balance([0.25, 0.25, 0.25, 0.25]) == 1.0
    assert guarantees.balance([0.125, 0.375, 0.25, 0.25]) == 2.0  # half of 1/4
    assert guarantees.balance([0.6, 0.2, 0.2]) == pytest.approx(1.8)
    assert guarantees.balance([1.0, 0.0]) == float("inf")
    assert guarantees.well_balanced([0.125, 0.375, 0.25, 0.25])
    assert not guarantees.well_balanced([0.124, 0.376, 0.25, 0.25])
    assert guarantees.well_balanced([2, 6, 4, 4]), "counts do as well"
    assert guarantees.unbalanced_probability(5, 1) == 0.0
    assert guarantees.unbalanced_probability(5, 10) == 1.0
    # Two bins on two rows: threshold at rank ceil(1.5) = 2, masses Beta(2, 1) and Beta(1, 2), each outside [1/4, 1]:
    # 1/16 + (1 - (3/4) ** 2) = 8/16.
    assert guarantees.unbalanced_probability(2, 2) == pytest.approx(0.5)


# -- inverses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eps", [0.03, 0.1, 0.31])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
def test_inverses_give_the_fewest(eps, alpha):
    delta = 0.001
    k = guarantees.points_for_marginal(eps, alpha, delta)
    assert guarantees.marginal_eps(k, alpha, delta) <= eps < guarantees.marginal_eps(k - 1, alpha, delta)
    k = guarantees.points_for_conditional(eps, 10_000, alpha, delta)
    assert guarantees.conditional_eps(k, 10_000, alpha, delta) <= eps
    assert guarantees.conditional_eps(k - 1, 10_000, alpha, delta) > eps
    k = guarantees.points_for_expected(eps, delta)
    assert guarantees.expected_ece(k, delta) <= eps
    assert k == 2 or guarantees.expected_ece(k - 1, delta) > eps
    n = guarantees.rows_for_miscoverage(eps, alpha)
    assert (1 - eps) ** n <= alpha < (1 - eps) ** (n - 1)
    assert guarantees.guaranteed_rank(n, eps, alpha) == n
    assert guarantees.guaranteed_rank(n - 1, eps, alpha) is None
    n = guarantees.rows_for_accuracy(1 - eps, alpha)
    assert guarantees.accuracy_lower_bound(n, n, alpha) >= 1 - eps
    assert n == 1 or guarantees.accuracy_lower_bound(n - 1, n - 1, alpha) < 1 - eps


def test_the_guaranteed_rank_is_the_smallest():
    for n, alpha, risk in ((59, 0.05, 0.05), (200, 0.05, 0.05), (500, 0.1, 0.01), (500, 0.02, 0.2)):
        v = guarantees.guaranteed_rank(n, alpha, risk)
        assert guarantees.exceed_probability(n, v, alpha) <= risk < guarantees.exceed_probability(n, v - 1, alpha)
        assert v >= guarantees.paper_rank(n, alpha)


def test_likely_deviation_inverts_equations_4_and_7():
    for level in (0.5, 0.9, 0.99):
        delta = guarantees.likely_deviation(level, 0.03, 700)
        assert guarantees.deviation_probability(delta, 0.03, 700) == pytest.approx(1 - level)
        assert guarantees.normal_deviation(level, 0.03, 700) < delta


def test_impossible_requests_are_refused():
    with pytest.raises(ValueError, match="points is 1; a bound needs at least 2 points"):
        guarantees.marginal_eps(1, 0.1)
    with pytest.raises(ValueError, match="points is 0; a bound needs at least 2 points"):
        guarantees.conditional_eps(0, 10, 0.1)
    with pytest.raises(ValueError, match="alpha is 1; it must be a number between 0 and 1, both excluded"):
        guarantees.conditional_eps(50, 100, 1)
    with pytest.raises(ValueError, match="no number of rows is enough"):
        guarantees.points_for_expected(0.01, delta=0.01)


# -- simulations: valid at the level, and failing with half the constant -----------------------------------------

RUNS, ALPHA = 400, 0.1
# With 400 runs a true level of .9 gives 339 or fewer successes once in a thousand times.
FEWEST = 339


def top_label_errors(seed):
    """Return the deviation of every bin, with its mass, for a model that is right half the time at any confidence."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(2), 400)
    cal = CALIBRATORS.make("top-label-hb", points_per_bin=10).fit(probs, rng.integers(2, size=400))
    share = np.mean(probs.argmax(1) == 0)  # of the classes; each is truly predicted half the time
    errors, masses = [], []
    for binary in cal.maps_:
        edges = np.concatenate([[0.5], binary.thresholds_, [1.0]])
        errors.append(np.abs(binary.values_ - 0.5))
        masses.append(np.diff(edges))  # scores are uniform on [.5, 1]: twice the width, times a half for the class
    assert 0 < share < 1
    return cal.guarantee(ALPHA), np.concatenate(errors), np.concatenate(masses)


@pytest.fixture(scope="module")
def top_label():
    return [top_label_errors(seed) for seed in range(RUNS)]


def test_theorem_1_marginally(top_label):
    def kept(factor):
        return np.mean([mass[error <= factor * g["marginal"].eps].sum() for g, error, mass in top_label])

    assert kept(1.0) >= 1 - ALPHA
    assert kept(0.5) < 1 - ALPHA


def test_theorem_1_conditionally(top_label):
    def kept(factor):
        return sum(error.max() <= factor * g["conditional"].eps for g, error, _ in top_label)

    assert kept(1.0) >= FEWEST
    assert kept(0.5) < FEWEST


def test_theorem_1_in_expectation(top_label):
    ece = np.mean([error @ mass for _, error, mass in top_label])
    bound = top_label[0][0]["expected"].eps
    assert ece <= bound
    assert ece > 0.5 * bound


def class_wise_errors(seed):
    """Return the same over three classes, each right a third of the time at any probability."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(3), 200)
    cal = CALIBRATORS.make("class-wise-hb", points_per_bin=10).fit(probs, rng.integers(3, size=200))
    masses = []
    for binary in cal.maps_:
        # A coordinate of a uniform point of the triangle is at most x with probability 1 - (1 - x)^2.
        edges = np.concatenate([[0.0], binary.thresholds_, [1.0]])
        masses.append(np.diff(1 - (1 - edges) ** 2))
    return cal.guarantee(ALPHA), [np.abs(b.values_ - 1 / 3) for b in cal.maps_], masses


@pytest.fixture(scope="module")
def class_wise():
    return [class_wise_errors(seed) for seed in range(RUNS)]


def test_theorem_2_marginally_for_all_classes_at_once(class_wise):
    def kept(factor):
        # A new row's three claims: at least 1 minus the sum of the three probabilities of being off.
        return np.mean(
            [
                1 - sum(m[e > factor * g["marginal"].eps].sum() for e, m in zip(errors, masses, strict=True))
                for g, errors, masses in class_wise
            ]
        )

    assert kept(1.0) >= 1 - ALPHA
    assert kept(0.5) < 1 - ALPHA


def test_theorem_2_conditionally(class_wise):
    def kept(factor):
        return sum(max(e.max() for e in errors) <= factor * g["conditional"].eps for g, errors, _ in class_wise)

    assert kept(1.0) >= FEWEST
    assert kept(0.5) < FEWEST


def test_theorem_2_in_expectation(class_wise):
    ece = np.mean([np.mean([e @ m for e, m in zip(errors, masses, strict=True)]) for _, errors, masses in class_wise])
    bound = class_wise[0][0]["expected"].eps
    assert ece <= bound
    assert ece > 0.5 * bound


@pytest.mark.parametrize(("rank", "exceeds"), [(191, 0.4547), (196, 0.0264)])
def test_equation_5_is_exact(rank, exceeds):
    rng = np.random.default_rng(0)
    rates = 1 - np.sort(rng.random((20_000, 200)), axis=1)[:, rank - 1]  # F0 of uniform scores
    assert np.mean(rates > 0.05) == pytest.approx(exceeds, abs=4 * np.sqrt(exceeds / 20_000))


def test_the_bound_on_balance_holds():
    rng = np.random.default_rng(0)
    rows, bins = 150, 10
    ranks = np.ceil(np.arange(1, bins) * (rows + 1) / bins).astype(int) - 1
    cuts = np.sort(rng.random((4000, rows)), axis=1)[:, ranks]
    masses = np.diff(np.column_stack([np.zeros(4000), cuts, np.ones(4000)]), axis=1)
    failed = np.mean([not guarantees.well_balanced(m) for m in masses])
    assert failed <= guarantees.unbalanced_probability(rows, bins) <= 3 * failed
    assert guarantees.unbalanced_probability(guarantees.rows_for_balance(bins, 0.01), bins) <= 0.01


# -- tied scores: the guarantee for the rows that do not set edges --------------------------------------------------

TIED = {
    # levels, their probabilities, how often each is true
    "two decimals": (
        np.arange(101) / 100,
        np.exp(-(((np.arange(101) - 80) / 25) ** 2)),
        0.5 + 0.3 * np.sin(np.arange(101)),
    ),
    "60 % at 1.0": (np.append(np.arange(50, 100) / 100, 1.0), np.append(np.full(50, 0.4 / 50), 0.6), np.full(51, 0.5)),
    "ten trees": (np.arange(11) / 10, np.ones(11), np.full(11, 0.5)),
}
TIED_RUNS = 250


@pytest.fixture(scope="module", params=TIED)
def tied(request):
    """Return per run: the guarantee, every bin's deviation from P(Y = 1 | bin), the bins' masses."""
    levels, share, truth = TIED[request.param]
    share = share / share.sum()
    runs = []
    for seed in range(TIED_RUNS):
        rng = np.random.default_rng(seed)
        drawn = rng.choice(len(levels), 400, p=share)
        binary = Histogram(points_per_bin=100, random_state=seed)
        binary.fit(levels[drawn], rng.random(400) < truth[drawn])
        assert binary.placing_ == 80
        promise = guarantees.binning_promise([binary.cells()], ALPHA, "confidence")
        code = np.searchsorted(binary.thresholds_, levels, side="right")
        mass = np.bincount(code, share)
        error = np.abs(binary.values_ - np.bincount(code, share * truth) / mass)
        runs.append((promise, error, mass))
    return runs


def test_tied_scores_conditionally(tied):
    def missed(factor):
        return sum(error.max() > factor * g["conditional"].eps for g, error, _ in tied)

    # A true level of .9 lets more than 41 of 250 runs miss once in a thousand times.
    assert missed(1.0) <= 41
    assert missed(0.4) > 41, "the bound with two fifths of its constant must fail"


def test_tied_scores_marginally(tied):
    def kept(factor):
        return np.mean([mass[error <= factor * g["marginal"].eps].sum() for g, error, mass in tied])

    assert kept(1.0) >= 1 - ALPHA
    assert kept(0.4) < 1 - ALPHA


def test_tied_scores_in_expectation(tied):
    ece = np.mean([error @ mass for _, error, mass in tied])
    bound = np.mean([g["expected"].eps for g, _, _ in tied])
    assert bound > ece > 0.4 * bound


# -- guarantees -----------------------------------------------------------------------------------------------------


def spread(n, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(classes), n), rng.integers(classes, size=n)


def test_a_promise_uses_the_actual_bins_and_says_its_level():
    # 500 rows, 10 bins: thresholds at ranks ceil(50.1 b); 50 rows below the first, 49 between others: k = 50.
    cells = Histogram().fit(np.random.default_rng(0).random(500), np.arange(500) % 2).cells()
    assert cells == UniformMassCells(500, 10, 49, 1e-10)
    assert cells.points == 50
    probs, labels = spread(500)
    made = CALIBRATORS.make("confidence-hb").fit(probs, labels).guarantee(0.05)
    assert made["marginal"].eps == pytest.approx(np.sqrt(np.log(40) / 98) + 1e-10, abs=1e-13)
    assert made["conditional"].eps == pytest.approx(np.sqrt(np.log(400) / 98) + 1e-10, abs=1e-13)
    assert made["expected"].eps == pytest.approx(0.1 + 1e-10)
    assert made["marginal"].level == made["conditional"].level == 0.95
    assert made.sentence == (
        "With probability at least 95 % over the calibration rows, the confidence ECE on new rows of the same kind is "
        "at most 24.8 %."
    )
    assert "confidence is within 19.5 points" in made["marginal"].sentence


def test_top_label_bins_share_alpha_and_class_wise_bins_share_it_by_class():
    probs, labels = spread(900)
    top = CALIBRATORS.make("top-label-hb").fit(probs, labels)
    counts = np.bincount(probs.argmax(1))
    bins, fewest = (counts // 50).sum(), min(m.averaged_.min() for m in top.maps_)
    assert top.guarantee(0.1)["conditional"].eps == pytest.approx(np.sqrt(np.log(20 * bins) / (2 * fewest)), abs=1e-9)
    each = CALIBRATORS.make("class-wise-hb").fit(probs, labels).guarantee(0.1)
    assert each["conditional"].eps == pytest.approx(np.sqrt(np.log(2 * 18 / (0.1 / 3)) / 98), abs=1e-9)
    theorem = guarantees.class_wise_bounds([50] * 3, 900, [0.1 / 3] * 3, 1e-10)
    assert each["conditional"].eps == pytest.approx(theorem.ece, abs=1e-12)
    assert each["marginal"].eps == pytest.approx(max(theorem.marginal), abs=1e-12)


def test_classes_pooled_or_left_alone_are_named_and_promised_nothing():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([4, 4, 0.4], 400)
    labels = rng.integers(3, size=400)
    for small in ("pool", "leave"):
        made = CALIBRATORS.make("top-label-hb", small=small).fit(probs, labels).guarantee()
        assert made.holds
        assert made.left_out == ("2",)
        assert made.sentence.endswith("no guarantee for 1 class with too few rows (2).")
        assert "of the covered classes" in made["expected"].sentence
    none = CALIBRATORS.make("top-label-hb", points_per_bin=300).fit(probs, labels).guarantee()
    assert not none.holds
    assert "no class has enough rows" in none.sentence


def test_tied_scores_keep_a_promise_with_the_rows_that_did_not_place_edges():
    rng = np.random.default_rng(3)
    confidence = np.round(rng.uniform(0.5, 1, 500), 2)
    cal = CALIBRATORS.make("confidence-hb").fit(
        np.column_stack([confidence, 1 - confidence]), rng.integers(2, size=500)
    )
    (binary,) = cal.maps_
    fewest = int(binary.averaged_.min())
    assert binary.cells() == UniformMassCells(375, len(binary.values_), fewest, 1e-10, placing=125)
    made = cal.guarantee(0.1)
    want = np.sqrt(np.log(20 * len(binary.values_)) / (2 * fewest)) + 1e-10
    assert made["conditional"].eps == pytest.approx(want, abs=1e-12)
    assert made["expected"].eps == pytest.approx(max(0.5 / np.sqrt(fewest), np.sqrt(len(binary.values_) / 750)))
    assert "with bins filled like these" in made["expected"].sentence
    assert made.sentence.endswith(f"at least {fewest} in every bin.")


def test_a_bin_that_holds_none_of_the_averaged_rows_undoes_the_promise():
    for seed in range(99):
        binary = Histogram(points_per_bin=2, random_state=seed).fit(np.round(np.arange(60) / 60, 1), np.arange(60) % 2)
        if binary.averaged_.min() == 0:
            break
    made = guarantees.binning_promise([binary.cells()], 0.1, "confidence")
    assert "scores tie" in made.sentence
    assert not made.holds


def test_weights_and_normalising_undo_the_promise_and_say_so():
    probs, labels = spread(500)
    uneven = np.round(probs, 1) / np.round(probs, 1).sum(1, keepdims=True)
    shared = CALIBRATORS.make("confidence-hb").fit(uneven, labels, sample_weight=1.5 + np.arange(500) % 2)
    assert not shared.guarantee().holds
    weighted = CALIBRATORS.make("confidence-hb").fit(probs, labels, sample_weight=1.0 + np.arange(500) % 2)
    assert "the calibration rows are weighted" in weighted.guarantee().sentence
    for scale in (1.0, 0.002, 7e9):
        equal = CALIBRATORS.make("confidence-hb").fit(probs, labels, sample_weight=np.full(500, scale))
        assert equal.guarantee() == CALIBRATORS.make("confidence-hb").fit(probs, labels).guarantee()
    assert "dividing rows by their sum" in CALIBRATORS.make("normalised-hb").fit(probs, labels).guarantee().sentence


@pytest.mark.parametrize("key", list(CALIBRATORS))
def test_every_calibrator_promises_something_or_says_that_it_does_not(key):
    probs, _ = spread(700)
    if CALIBRATORS[key].flags.classes == 2:
        probs = np.column_stack([probs[:, 0], 1 - probs[:, 0]])
    labels = (np.random.default_rng(1).random(700)[:, None] > probs.cumsum(1)[:, :-1]).sum(1)
    params = {"accuracy": 0.3} if key == "metacal-accuracy" else {}
    made = CALIBRATORS.make(key, **params).fit(probs, labels).guarantee(0.1)
    assert made.sentence.endswith(".")
    promising = {"confidence", "top-label", "class-wise", *HISTOGRAMS, "metacal-miscoverage"}
    assert made.holds == (key in promising | {"sierpinski", "grid", "projection"})
    for bound in made.bounds:
        assert bound.eps > 0
        assert bound.level is None or 0 < bound.level < 1
        assert bound.sentence.endswith(".")


HISTOGRAMS = {"confidence-hb", "top-label-hb", "class-wise-hb"}
