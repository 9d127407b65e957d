"""Laws of every interval binning: each score in exactly one bin, ties together, ends included."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_core import BINNINGS, Predictions
from calib_core.binning import Distinct, Edges, EqualMass, EqualWidth, PointsPerBin, of_interval, tabulate
from calib_core.binning.allocation import RootMass, RootWidth
from calib_core.reductions import ClassWise, Confidence
from calib_core.registry.registry import Part

SCHEMES = [
    *(BINNINGS.make(key) for key in Part("BINNINGS", of_interval).keys if key != "edges"),
    EqualWidth(1),
    EqualWidth(2),
    EqualWidth(30),
    EqualMass(1),
    EqualMass(3),
    EqualMass(50),
    PointsPerBin(1),
    PointsPerBin(4),
    Edges((0, 1)),
    Edges((0, 0.25, 0.5, 0.95, 1)),
]


@st.composite
def score_lists(draw):
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    style = draw(st.sampled_from(("spread", "two decimals", "tenths", "ends", "equal", "tiny")))
    scores = {
        "spread": lambda: rng.random(n),
        "two decimals": lambda: rng.integers(0, 101, n) / 100,
        "tenths": lambda: rng.integers(0, 11, n) / 10,
        "ends": lambda: rng.integers(0, 2, n).astype(float),
        "equal": lambda: np.full(n, rng.random()),
        "tiny": lambda: rng.random(n) * 1e-30,
    }[style]()
    return scores.astype(draw(st.sampled_from((np.float64, np.float32))))


def table_of(scores, scheme, weights=None):
    claims = Confidence().split(Predictions.from_confidence(scores, np.zeros(len(scores), bool), weights=weights))
    return tabulate(claims, [scheme])[0]


def bins_of(scores, table):
    """Return the bin of each score, by comparison with both edges of each bin in the table."""
    lower, upper = (edge[0].astype(scores.dtype) for edge in (table.lower, table.upper))
    inside = (scores[:, None] >= lower) & ((scores[:, None] < upper) | (np.arange(len(upper)) == len(upper) - 1))
    assert (inside.sum(1) == 1).all(), "every score lies in exactly one bin"
    return inside.argmax(1)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@given(scores=score_lists())
def test_every_score_is_in_exactly_one_bin_and_counted_there(scheme, scores):
    table = table_of(scores, scheme)
    assert (np.diff(table.lower[0]) > 0).all(), "edges ascend"
    np.testing.assert_array_equal(table.upper[0, :-1], table.lower[0, 1:])
    assert (table.lower[0, 0], table.upper[0, -1]) == (0, 1)
    at = bins_of(scores, table)
    np.testing.assert_array_equal(table.count[0], np.bincount(at, minlength=table.n_bins[0]))
    assert table.count.sum() == len(scores)
    sums = np.bincount(at, scores.astype(float), minlength=table.n_bins[0])
    # Every score is rounded to a multiple of 2^-40 before it is added up, so that sums are the same in any order.
    assert (np.abs(table.tally.score[0] - sums) <= 2.0**-41 * table.count[0] + 1e-12 * sums).all()
    assert table.weight.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@given(scores=score_lists())
def test_equal_scores_never_part_and_row_order_does_not_matter(scheme, scores):
    table = table_of(scores, scheme)
    at = bins_of(scores, table)
    for value in np.unique(scores):
        assert len(set(at[scores == value])) == 1
    again = table_of(scores[np.random.default_rng(1).permutation(len(scores))], scheme)
    np.testing.assert_array_equal(again.lower, table.lower)
    np.testing.assert_array_equal(again.count, table.count)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@given(scores=score_lists())
def test_bins_do_not_look_at_outcomes(scheme, scores):
    edges = []
    for outcomes in (np.zeros(len(scores), bool), np.ones(len(scores), bool)):
        claims = Confidence().split(Predictions.from_confidence(scores, outcomes))
        edges.append(tabulate(claims, [scheme])[0].lower)
    np.testing.assert_array_equal(*edges)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@given(scores=score_lists(), data=st.data())
def test_a_whole_weight_is_that_many_copies(scheme, scores, data):
    n = len(scores)
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), float)
    weights[0] = max(weights[0], 1)
    weighed = table_of(scores, scheme, weights)
    copied = table_of(np.repeat(scores, weights.astype(int)), scheme)
    held, also = weighed.count[0] > 0, copied.count[0] > 0
    np.testing.assert_allclose(weighed.count[0][held], copied.count[0][also], rtol=1e-12)
    np.testing.assert_allclose(weighed.mean_score[0][held], copied.mean_score[0][also], rtol=1e-12)


@given(n=st.integers(1, 200), bins=st.integers(1, 40), seed=st.integers(0, 99))
def test_equal_mass_sizes_differ_by_at_most_one_without_ties(n, bins, seed):
    scores = np.random.default_rng(seed).permutation(n) / n
    counts = table_of(scores, EqualMass(bins)).count[0]
    assert len(counts) == min(n, bins)
    assert counts.max() - counts.min() <= 1
    assert (np.diff(counts) <= 0).all(), "the first n mod B bins hold one row more"


@given(n=st.integers(1, 200), points=st.integers(1, 40), seed=st.integers(0, 99))
def test_points_per_bin_without_ties_holds_at_least_so_many(n, points, seed):
    scores = np.random.default_rng(seed).permutation(n) / n
    counts = table_of(scores, PointsPerBin(points)).count[0]
    assert len(counts) == max(1, n // points)
    assert counts.min() >= min(n, points)


@given(scores=score_lists())
def test_distinct_has_one_bin_a_value(scores):
    table = table_of(scores, Distinct())
    assert (table.count[0] > 0).all()
    np.testing.assert_allclose(table.mean_score[0], np.unique(scores).astype(float), rtol=1e-12, atol=2.0**-41)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bins", range(1, 41))
def test_two_decimal_scores_are_binned_as_exact_fractions_say(bins, dtype):
    """A score of 0.29 as float32 is not the number 0.29: casting the edges to the scores' dtype corrects this."""
    hundredths = np.arange(101)
    scores = (hundredths / 100).astype(dtype)
    exact = [min(int(Fraction(int(h), 100) * bins), bins - 1) for h in hundredths]
    at = bins_of(scores, table_of(scores, EqualWidth(bins)))
    assert at.tolist() == exact
    np.testing.assert_array_equal(table_of(scores, EqualWidth(bins)).count[0], np.bincount(exact, minlength=bins))


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_last_bin_holds_one_and_the_first_holds_zero(scheme, dtype):
    table = table_of(np.array([0.0, 1.0, 0.5, 1.0], dtype=dtype), scheme)
    at = bins_of(np.array([0.0, 1.0], dtype=dtype), table)
    assert at.tolist() == [0, table.n_bins[0] - 1]
    assert table.count[0, -1] >= 2


@given(scores=score_lists())
def test_edges_too_close_for_the_scores_dtype_leave_an_empty_bin_and_count_nothing_twice(scores):
    close = Edges((0, 0.5, 0.5 + 1e-12, 1))
    counts = table_of(scores, close).count[0]
    assert counts.sum() == len(scores)
    assert counts[1] == np.sum((scores >= 0.5) & (scores < 0.5 + 1e-12)) or scores.dtype == np.float32


@given(scores=score_lists())
def test_columns_are_binned_one_by_one_as_listed_claims_are(scores):
    """The matrix form (by subtraction) and the list form (by codes) of claims give the same table in each stratum."""
    matrix = np.column_stack([scores, 1 - scores])
    p = Predictions.from_scores(matrix, np.zeros(len(scores), int))
    for scheme in SCHEMES:
        by_column = tabulate(ClassWise().split(p), [scheme], pooled=False)[0]
        for j in range(2):
            listed = table_of(matrix[:, j].copy(), scheme)
            m = listed.count.shape[1]
            np.testing.assert_array_equal(by_column.count[j, :m], listed.count[0])
            assert (by_column.count[j, m:] == 0).all()
            np.testing.assert_allclose(by_column.tally.score[j, :m], listed.tally.score[0], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("scheme", [PointsPerBin(1), PointsPerBin(3), RootMass(), RootWidth()], ids=repr)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_bins_never_exceed_rows_however_the_weights_are_scaled(scheme, scale):
    """The number of bins is limited by the rows with weight, not by the sum of their weights."""
    rng = np.random.default_rng(0)
    scores, weights = np.sort(rng.random(20)), rng.random(20) * (np.arange(20) % 4 > 0) * scale
    edges = scheme.edges(scores, weights)
    per_bin = 1 if isinstance(scheme, (RootMass, RootWidth)) else scheme.points
    assert len(edges) + 1 <= 15 // per_bin
    np.testing.assert_array_equal(edges, scheme.edges(scores, weights / scale))
