"""Sums in units of 2^-40: against fractions, in any order, split anywhere; and the tallies based on them."""

from fractions import Fraction

import numpy as np
import pytest
from generated import asked_of, full_predictions, permuted
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_core import REDUCTIONS, Predictions
from calib_core.binning import EqualWidth, Groups, tabulate, tabulate_at
from calib_core.claims.binary_claims import FlatClaims
from calib_core.claims.exact_sums import AT_ONCE, ROUNDING, ExactSums, added, halves, rounded, sums_of

NOTIONS = [key for key in REDUCTIONS if key != "canonical"]
numbers = st.lists(st.floats(-1, 1), max_size=30)
weights = st.integers(0, 5)
UNIT = Fraction(1, 2**40)


def in_units(x):
    """Return the nearest multiple of 2^-40, half to even."""
    return round(Fraction(float(x)) / UNIT) * UNIT


def as_fractions(sums):
    return [int(w) + int(p) * UNIT for w, p in zip(sums.whole.ravel(), sums.part.ravel(), strict=True)]


def same_bits(a, b):
    for name in a._parts:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@given(st.lists(st.tuples(st.floats(-1, 1), weights, st.integers(0, 2)), max_size=30), st.booleans())
def test_sums_are_those_of_fractions(claims, weighted):
    values, times, cell = (np.array([c[i] for c in claims]) for i in range(3))
    cell = cell.astype(int)
    found = sums_of(values.astype(float), cell, 3, times.astype(float) if weighted else None)
    expected = [
        sum((in_units(v) * (t if weighted else 1) for v, t, c in claims if c == k), Fraction(0)) for k in range(3)
    ]
    assert as_fractions(found) == expected
    assert found.value.tolist() == [float(x) for x in expected]
    assert (found.part >= 0).all()
    assert (found.part < 2**40).all()


@given(numbers)
def test_each_number_is_off_by_half_a_unit_at_most_whichever_way_it_is_rounded(values):
    values = np.array(values)
    assert (np.abs(rounded(values) - values) <= ROUNDING).all()
    high, low = halves(values)
    assert (high + low == rounded(values)).all()


@pytest.mark.parametrize("n", [AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE])
def test_as_many_as_are_added_at_once_are_added_exactly(n):
    """Numbers with all bits set: one more than the block size would lose the last of them."""
    values = np.full(n, 1.0 - 2.0**-40)
    values[::2] = 2.0**-40
    expected = sum(map(in_units, values), Fraction(0))
    assert as_fractions(sums_of(values, np.zeros(n, dtype=int), 1)) == [expected]
    assert as_fractions(sums_of(values, np.zeros(n, dtype=int), 1, np.full(n, 2.0**17 - 1))) == [expected * (2**17 - 1)]


@given(st.lists(st.integers(0, 2**52).map(lambda i: i / 2**40), min_size=1, max_size=6), st.data())
def test_sums_add_up_in_any_grouping(sums, data):
    exact = ExactSums.of(np.array(sums))
    total = sum(map(Fraction, sums), Fraction(0))
    assert as_fractions(exact.total(0)) == [total]
    assert as_fractions(added([exact[i : i + 1] for i in range(len(sums))])) == [total]
    codes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(sums), max_size=len(sums))))
    assert sum(as_fractions(exact.grouped(codes, 3)), Fraction(0)) == total
    assert as_fractions(exact - exact) == [0] * len(sums)
    stop = data.draw(st.integers(0, len(sums)))
    assert as_fractions(exact.runs(np.array([0, stop, len(sums)]))) == [
        sum(map(Fraction, sums[:stop]), Fraction(0)),
        sum(map(Fraction, sums[stop:]), Fraction(0)),
    ]


@pytest.mark.parametrize("notion", NOTIONS)
@settings(max_examples=15)
@given(predictions=full_predictions(max_rows=25), data=st.data())
def test_tallies_are_the_same_bits_in_any_order_and_any_parts(notion, predictions, data):
    predictions = asked_of(notion, predictions)
    if predictions.weights is not None:
        predictions = predictions.replace(weights=np.floor(predictions.weights + 1))
    claims = REDUCTIONS.make(notion).split(predictions)
    shuffled, _ = permuted(predictions)
    fine = (np.arange(1, 60) / 60).astype(claims.dtype)
    coarse = fine[np.array(sorted(data.draw(st.sets(st.integers(0, 58), max_size=8))), dtype=int)]
    starts = np.searchsorted(fine, coarse) + 1
    stop = data.draw(st.integers(1, predictions.n_rows))
    parts = [p for p in (np.arange(stop), np.arange(stop, predictions.n_rows)) if len(p)]
    for count in (lambda c, edges: c.tally(edges), lambda c, edges: c.moments([edges])):
        direct = count(claims, coarse)
        same_bits(direct, count(REDUCTIONS.make(notion).split(shuffled), coarse))
        same_bits(direct, count(claims, fine).coarsened([starts])[0])
        split = [count(REDUCTIONS.make(notion).split(predictions.take(p)), coarse) for p in parts]
        same_bits(direct, sum(split[1:], split[0]))


@pytest.mark.parametrize("notion", NOTIONS)
@settings(max_examples=20)
@given(
    predictions=full_predictions(max_rows=20),
    weighted=st.sampled_from(["not", "copies", "unequal"]),
    seed=st.integers(0, 9),
)
def test_moments_are_what_adding_one_by_one_gives(notion, predictions, weighted, seed):
    predictions = asked_of(notion, predictions)
    drawn = np.random.default_rng(seed).uniform(0.2, 3.0, predictions.n_rows)
    w = {"not": None, "copies": np.ceil(drawn), "unequal": drawn}[weighted]
    claims = REDUCTIONS.make(notion).split(predictions.replace(weights=w))
    sets = [np.array([0.3, 0.7], claims.dtype), np.array([0.5], claims.dtype)]
    sets = (sets * len(claims.strata))[: len(claims.strata)] if len(claims.strata) > 1 else sets[:1]
    made = claims.moments(sets)
    # A single row of any weight has weight 1.
    unequal = made.squares is not None
    for s in range(len(claims.strata)):
        one = claims.stratum(s)
        own = [1.0] * len(one.scores) if one.weights is None else one.weights.tolist()
        cells = np.searchsorted(sets[min(s, len(sets) - 1)], one.scores, side="right")
        for b in range(3):
            terms = []
            for x, z, v, c in zip(one.scores.tolist(), one.outcomes.tolist(), own, cells, strict=True):
                if c == b:
                    r, claim, k = z - x, x * (1 - x), v if unequal else 1.0
                    times = 1.0 if unequal else v
                    powers = ((k * r) ** 2, (k * r) ** 3, (k * r) ** 4, k * k * claim, (k * k * claim) ** 2)
                    plain = (k * k, k * r * r, k * claim) if unequal else ()
                    terms.append([v, v * x, v * z, *(times * t for t in (*powers, *plain))])
            names = ["count", "score", "outcome", *made.powers]
            names += ["squares", "plain_second", "plain_claim"] if unequal else []
            expected = np.sum(terms, axis=0) if terms else np.zeros(len(names))
            found = [float(getattr(made, name)[s, b]) for name in names]
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 + 60 * ROUNDING)


def test_weights_that_are_no_copies_have_no_exact_sums():
    claims = REDUCTIONS.make("confidence").split(Predictions([[0.7, 0.3]] * 2, [0, 1], weights=[0.5, 1.0]))
    assert claims.tally(np.array([0.5])).exact is None
    assert claims.tally(np.array([0.5])).score[0, 1] == pytest.approx(1.4)


@pytest.mark.parametrize("backwards", [False, True])
def test_weights_whole_in_one_block_alone_are_no_copies(monkeypatch, backwards):
    monkeypatch.setattr("calib_core.claims.binary_claims.LARGE_BLOCK_BYTES", 64)
    rng = np.random.default_rng(0)
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.5, 1.5, 0.75, 1.25])[:: -1 if backwards else 1]
    rows, labels = rng.dirichlet(np.ones(2), 8), rng.integers(0, 2, 8)
    claims = REDUCTIONS.make("class-wise").split(Predictions(rows, labels, weights=weights))
    found = claims.moments([np.array([0.5])])
    residual = (labels[:, None] == np.arange(2)) - rows
    np.testing.assert_allclose(found.squares.sum(), 2 * (weights**2).sum())
    np.testing.assert_allclose(found.second.sum(), (np.square(weights[:, None] * residual)).sum())


@given(full_predictions(max_rows=40))
def test_groups_and_their_moments_are_those_of_their_bins(predictions):
    if predictions.weights is not None:
        return
    claims = REDUCTIONS.make("top-label").split(predictions)
    table = tabulate(claims, [Groups(rows=6, bins=5)])[0]
    moments = table.together(table.moments(claims))
    np.testing.assert_array_equal(moments.score, table.tally.score)
    np.testing.assert_array_equal(moments.count, table.count)
    fine = tabulate_at(claims, EqualWidth(5).fixed_edges())
    assert fine.tally.exact is not None
    assert table.tally.exact is not None
    assert sum(as_fractions(fine.tally.exact)) == sum(as_fractions(table.tally.exact))


def test_many_listed_claims_are_counted_in_parts():
    """More claims than are counted at a time, in float32, with more than two strata."""
    rng = np.random.default_rng(0)
    n = 140_000
    scores, codes = rng.random(n).astype(np.float32), rng.integers(0, 3, n)
    claims = FlatClaims(scores, rng.random(n) < 0.5, codes, ("a", "b", "c"), np.full(3, 1 / 3))
    edges = np.array([0.25, 0.5], np.float32)
    order = rng.permutation(n)
    other = FlatClaims(scores[order], claims.outcomes[order], codes[order], claims.strata, claims.shares)
    same_bits(claims.moments([edges]), other.moments([edges]))
    exact = sum(map(in_units, scores[(codes == 1) & (scores < 0.25)]), Fraction(0))
    assert claims.tally(edges).exact is not None
    assert as_fractions(claims.tally(edges).exact[0, 1, :1]) == [exact]
