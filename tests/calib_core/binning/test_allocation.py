"""Convex allocation and P5's family: arithmetic by hand, a loop over rows as twin, and laws of the shares."""

import math
from itertools import pairwise

import numpy as np
import pytest
from generated import copies, full_predictions
from hypothesis import given
from hypothesis import strategies as st

from calib_core import ESTIMATORS, REDUCTIONS, Predictions, RegistryError, estimate, evaluate
from calib_core.binning import BINNINGS, Edges, EqualMass, EqualWidth
from calib_core.binning.allocation import Convex, Hard, RootMass, RootWidth, allocated, centres
from calib_core.estimators import Binned, ConvexBinned
from calib_core.predictions.predictions import effective_rows
from calib_core.reductions import Confidence, TopLabel

NOTIONS = ["confidence", "top-label", "class-wise"]


def flat(scores, outcomes, **more):
    return Predictions.from_confidence(np.array(scores, float), np.array(outcomes, bool), **more)


def shares(scores, edges):
    """Return the matrix w of shares, one row per score."""
    split = Convex()(np.asarray(scores, float), np.asarray(edges, float))
    w = np.zeros((len(scores), len(edges) + 2))
    rows = np.arange(len(scores))
    w[rows, split.first] += 1 - split.beyond
    w[rows, split.first + 1] += split.beyond
    assert (w[:, -1] == 0).all()
    return w[:, :-1]


# ---- by hand --------------------------------------------------------------------------------------------------


def test_shares_by_hand():
    """Four bins of width 1/4, centers 1/8, 3/8, 5/8, 7/8: 0.2 is 0.3 of the way from the first to the second."""
    found = shares([0.0, 0.125, 0.2, 0.375, 0.6, 0.875, 0.9, 1.0], [0.25, 0.5, 0.75])
    np.testing.assert_allclose(
        found,
        [
            [1, 0, 0, 0],
            [1, 0, 0, 0],
            [0.7, 0.3, 0, 0],
            [0, 1, 0, 0],
            [0, 0.1, 0.9, 0],
            [0, 0, 0, 1],
            [0, 0, 0, 1],
            [0, 0, 0, 1],
        ],
        atol=1e-15,
    )


def test_the_error_by_hand():
    """Two bins, centers 1/4 and 3/4. 0.65 (true) counts 0.2 and 0.8, 0.3 (false) counts 0.9 and 0.1.

    First bin |0.2 (0.65 - 1) + 0.9 (0.3 - 0)| = 0.2, second |0.8 (-0.35) + 0.1 (0.3)| = 0.25; over two rows 0.225.
    """
    made = estimate(flat([0.65, 0.3], [1, 0]), "confidence", ConvexBinned(EqualWidth(2)))
    assert made.value == pytest.approx(0.225, abs=1e-15)
    np.testing.assert_allclose(made.bins.count, [[1.1, 0.9]], atol=1e-15)
    np.testing.assert_allclose(made.bins.mean_outcome, [[0.2 / 1.1, 0.8 / 0.9]], atol=1e-15)
    assert made.bins.lower.tolist() == [[0, 0.5]]
    assert made.bins.upper.tolist() == [[0.5, 1]]


def test_bins_over_the_attainable_range_by_hand():
    """K = 2: confidences are in [1/2, 1]; two bins have centers 5/8 and 7/8, so 0.7 counts 0.7 and 0.3."""
    p = Predictions([[0.7, 0.3], [0.1, 0.9]], [0, 0])
    made = estimate(p, "confidence", ConvexBinned(EqualWidth(2), attainable=True))
    np.testing.assert_allclose(made.bins.count, [[0.7, 1.3]], atol=1e-12)
    assert made.value == pytest.approx((0.7 * 0.3 + abs(0.9 - 0.3 * 0.3)) / 2, abs=1e-12)
    assert made.bins.lower.tolist() == [[0.5, 0.75]]


def test_adaptive_bins_by_hand():
    """Four rows, two bins of two: edge 0.8 (the next score), centers 0.4 and 0.9; 0.6 counts 0.6 and 0.4."""
    p = flat([0.2, 0.6, 0.8, 0.95], [0, 1, 1, 1])
    made = estimate(p, "confidence", "ece-adaptive-convex")
    np.testing.assert_allclose(made.bins.count, [[1 + 0.6 + 0.2, 0.4 + 0.8 + 1]], atol=1e-12)
    first = abs(0.2 - 0.6 * 0.4 - 0.2 * 0.2)
    second = 0.4 * 0.4 + 0.8 * 0.2 + 0.05
    assert made.value == pytest.approx((first + second) / 4, abs=1e-12)
    assert estimate(p, "confidence", "ece-adaptive").value == pytest.approx((abs(0.8 - 1) + abs(1.75 - 2)) / 4)


def test_one_bin_is_the_distance_of_the_means():
    p = flat([0.2, 0.9], [0, 1])
    for key in ("ece-convex", "ece-adaptive", "ece-adaptive-convex"):
        assert estimate(p, "confidence", key, 1).value == pytest.approx(0.05)


# ---- laws of shares -------------------------------------------------------------------------------------------


@given(
    scores=st.lists(st.floats(0, 1), min_size=1, max_size=30),
    edges=st.lists(st.floats(0.001, 0.999), max_size=8, unique=True).map(sorted),
)
def test_shares_are_linear_between_centres(scores, edges):
    w, c = shares(scores, edges), centres(np.array(edges))
    assert (w >= 0).all()
    np.testing.assert_allclose(w.sum(1), 1, atol=1e-12)
    assert ((w > 0).sum(1) <= 2).all()
    # Sharing preserves each score: the centers, averaged by share, give it back between the outermost ones.
    np.testing.assert_allclose(w @ c, np.clip(scores, c[0], c[-1]), atol=1e-9)
    # The nearer of the two centers has the larger share.
    for row, score in zip(w, scores, strict=True):
        assert abs(c[row.argmax()] - score) <= np.abs(c - score).min() + 1e-9


@given(scores=st.lists(st.floats(0, 1), min_size=1, max_size=30), bins=st.integers(1, 20))
def test_hard_allocation_is_the_ordinary_table(scores, bins):
    claims = Confidence().split(flat(scores, [True] * len(scores)))
    table = allocated(claims, EqualWidth(bins), Hard())
    ordinary = estimate(flat(scores, [True] * len(scores)), "confidence", "ece", bins).bins
    np.testing.assert_array_equal(table.count, ordinary.count)
    np.testing.assert_allclose(table.tally.score, ordinary.tally.score, atol=1e-12)


def test_a_small_change_of_a_score_changes_the_error_little():
    """A score that crosses an edge makes the ECE jump; here the change is of the order of the step."""
    just = [flat([score, 0.42, 0.9], [0, 1, 1]) for score in (0.5 - 1e-9, 0.5 + 1e-9)]
    jump, step = (
        abs(np.diff([estimate(p, "confidence", key, 10).value for p in just])[0]) for key in ("ece", "ece-convex")
    )
    assert jump > 0.1
    assert step < 1e-7


@pytest.mark.parametrize("edges", [(-4, -3, -2, 1), (0, 0.5, 3, 4), (0.2, 0.4, 0.6), (0, 1)])
def test_given_edges_outside_the_unit_interval_still_work(edges):
    c = centres(Edges(edges).fixed_edges())
    assert (np.diff(c) > 0).all()
    assert 0 <= estimate(flat([0.3, 0.7], [0, 1]), "confidence", ConvexBinned(Edges(edges))).value <= 1


# ---- twin -----------------------------------------------------------------------------------------------------


def slowly(scores, outcomes, edges, weights):
    """Return P5 eq. (1) with convex shares, a row and a bin at a time."""
    ends = [0.0, *edges, 1.0]
    c = [(a + b) / 2 for a, b in pairwise(ends)]
    differences = [0.0] * len(c)
    for s, z, weight in zip(scores, outcomes, weights, strict=True):
        for b in range(len(c)):
            if (b == 0 and s <= c[0]) or (b == len(c) - 1 and s >= c[-1]):
                share = 1.0
            elif b > 0 and c[b - 1] <= s <= c[b]:
                share = (s - c[b - 1]) / (c[b] - c[b - 1])
            elif b < len(c) - 1 and c[b] < s < c[b + 1]:
                share = (c[b + 1] - s) / (c[b + 1] - c[b])
            else:
                share = 0.0
            differences[b] += weight * share * (s - float(z))
    return sum(map(abs, differences)) / sum(weights)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("scheme", [EqualWidth(7), EqualMass(5), RootWidth(), RootMass()], ids=repr)
@given(predictions=full_predictions())
def test_convex_error_equals_its_loop(notion, scheme, predictions):
    claims = REDUCTIONS.make(notion).split(predictions)
    made = ConvexBinned(scheme)(claims)
    for s in range(len(claims.strata)):
        stratum = claims.stratum(s).counted()
        weights = np.ones(len(stratum.scores)) if stratum.weights is None else stratum.weights
        if not len(weights):
            assert np.isnan(made.per_stratum[s])
            continue
        order = np.argsort(stratum.scores, kind="stable")
        scores = stratum.scores[order].astype(float)
        edges = scheme.edges(scores, None if stratum.weights is None else weights[order])
        found = slowly(scores, stratum.outcomes[order], edges.tolist(), weights[order].tolist())
        assert made.per_stratum[s] == pytest.approx(found, abs=1e-12)


# ---- square root of the rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "bins"), [(1, 1), (3, 1), (4, 2), (24, 4), (25, 5), (1000, 31)])
def test_the_number_of_bins_is_the_root_cut_off(n, bins):
    scores = np.linspace(0.01, 0.99, n)
    for scheme in (RootWidth(), RootMass()):
        assert len(scheme.edges(scores, None)) + 1 == bins == math.isqrt(n)
        assert len(scheme.edges(scores, np.full(n, 0.1))) + 1 == bins
    assert len(RootWidth().edges(scores, np.full(n, 4.0))) + 1 == math.isqrt(4 * n)
    assert RootWidth(7).fixed_edges().tolist() == EqualWidth(7).fixed_edges().tolist()


def test_bins_of_a_stratum_follow_its_own_rows():
    """P5 states the rule for one class's scores; a stratum of a finer notion has fewer rows and so fewer bins."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([5, 1, 1], 400)
    p = Predictions(probs, rng.integers(3, size=400))
    made = estimate(p, "top-label", "ece-convex")
    rows = TopLabel().split(p)
    assert made.bins.n_bins.tolist() == [math.isqrt(len(rows.stratum(s).scores)) for s in range(3)]
    assert estimate(p, "class-wise", "ece-adaptive").bins.n_bins.tolist() == [20, 20, 20]


def test_weights_are_worth_rows():
    assert effective_rows(3, None) == 3
    assert effective_rows(3, np.array([2.0, 0.0, 1.0])) == 3
    assert effective_rows(4, np.full(4, 0.25)) == 4
    assert effective_rows(2, np.array([1.5, 0.5])) == pytest.approx(4 / 2.5)
    assert effective_rows(1, np.array([0.0])) == 0


@given(predictions=full_predictions(weighted="whole"))
def test_rows_of_weight_0_move_no_centre(predictions):
    for estimator in (ConvexBinned(EqualMass(3)), ConvexBinned(RootMass()), ConvexBinned(RootWidth())):
        weighed, written = (estimate(p, "confidence", estimator).value for p in (predictions, copies(predictions)))
        assert weighed == pytest.approx(written, abs=1e-12)


# ---- registered -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["ece-adaptive", "ece-convex", "ece-adaptive-convex"])
def test_bins_given_as_a_number_keep_the_kind_of_bins(key):
    rng = np.random.default_rng(1)
    p = flat(rng.beta(5, 1, 300), rng.random(300) < 0.8)
    made = estimate(p, "confidence", key, bins=6)
    assert made.bins.n_bins.tolist() == [6]
    hard = np.ptp(estimate(p, "confidence", Binned(EqualMass(6))).bins.upper - made.bins.upper) < 1e-12
    assert hard == ("adaptive" in key)
    assert ESTIMATORS.recipe(ESTIMATORS.make(key, bins=6)).to_dict() == {"key": key, "params": {"bins": 6}}


def test_a_scheme_for_an_estimator_that_places_its_own_bins_is_refused():
    with pytest.raises(
        RegistryError, match="'ece-convex' has no parameter 'binning'; its parameters: bins, attainable"
    ):
        estimate(flat([0.5], [1]), "confidence", "ece-convex", bins=EqualMass(3))


def test_a_study_passes_the_number_of_bins_on():
    p = Predictions(np.tile([[0.7, 0.3], [0.2, 0.8], [0.55, 0.45], [0.1, 0.9]], (10, 1)), np.tile([0, 1, 1, 1], 10))
    table = evaluate(p, p, ["identity"], ["confidence"], ["ece-convex"], bins=3)
    assert table["value"].iloc[-1] == estimate(p, "confidence", "ece-convex", 3).value
    by_name = evaluate(p, p, ["identity"], ["confidence"], ["ece-convex"], bins="equal-mass")
    assert by_name["value"].iloc[-1] == estimate(p, "confidence", "ece-convex").value


def test_the_square_root_is_there_for_every_binned_estimator():
    p = flat(np.linspace(0, 1, 16), np.ones(16))
    assert estimate(p, "confidence", "rmsce", "sqrt-equal-mass").bins.n_bins.tolist() == [4]
    assert BINNINGS.recipe(RootMass()).key == "sqrt-equal-mass"


@pytest.mark.parametrize("bins", [0, 2.5, True])
def test_a_number_of_bins_is_a_whole_number(bins):
    for scheme in (RootWidth, RootMass):
        with pytest.raises(RegistryError, match="it must be a whole number of at least 1"):
            scheme(bins)
