"""Vectorized fits of many strata equal those of one stratum, one level, one threshold at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom
from sklearn.isotonic import IsotonicRegression

from calib_core import CALIBRATORS, InputError, Predictions
from calib_core.calibrators import histogram
from calib_core.calibrators.histogram import Histogram
from calib_core.calibrators.isotonic import Isotonic
from calib_core.claims.exact_sums import places
from calib_core.reductions import ClassWise, TopLabel

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.sampled_from([None, 1.0, 0.3]), st.booleans())
@settings(max_examples=80, deadline=None)
def test_isotonic_is_scikit_learns(seed, unit, rounded):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 80))
    scores = rng.random(n) ** int(rng.integers(1, 4))
    scores = scores.round(1) if rounded else scores.astype(np.float32)
    true = rng.random(n) < scores * rng.choice([1, 0.1])
    weights = None if unit is None else np.append(1, rng.integers(0, 4, n - 1)) * unit
    peer = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    peer.fit(scores.astype(np.float64), true.astype(float), sample_weight=weights)
    ours = Isotonic().fit(scores, true, sample_weight=weights)
    asked = np.append(rng.random(50), scores)
    np.testing.assert_allclose(ours.transform(asked), peer.predict(asked), rtol=0, atol=1e-12)
    assert (np.diff(ours.scores_) > 0).all()
    assert len(ours.scores_) <= max(1, 2 * len(np.unique(ours.values_.round(12))))


def test_scores_closer_than_rounding_are_levels_of_their_own():
    """scikit-learn merges scores closer than 1e-15, which are many at 1,000 classes."""
    assert Isotonic().fit([1e-20, 1e-18, 0.5], [0, 1, 1]).transform([1e-20, 1e-18]).tolist() == [0, 1]


def test_isotonic_keeps_small_weights_behind_large_ones():
    rng = np.random.default_rng(0)
    scores, weights = rng.random(200), 10.0 ** rng.integers(-12, 12, 200)
    true = rng.random(200) < scores
    twin = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, true, sample_weight=weights)
    found = Isotonic().fit(scores, true, sample_weight=weights).transform(scores)
    np.testing.assert_allclose(found, twin.predict(scores), atol=1e-9)


@given(seeds, st.integers(2, 1500), st.sampled_from([np.float32, np.float64]), st.booleans())
@settings(max_examples=30, deadline=None)
def test_places_of_many_scores_are_those_of_a_search(seed, many, dtype, near_one):
    """Near 1 edges share their upper bits, so a search is needed after all."""
    rng = np.random.default_rng(seed)
    scores = (rng.random(12_000) ** int(rng.integers(1, 60))).astype(dtype)
    scores = 1 - scores / 64 if near_one else scores
    scores[:6] = [0.0, -0.0, 1.0, 1e-45, 0.5, np.nextafter(dtype(0.5), dtype(0))]
    edges = np.unique(np.append(rng.choice(scores, many), [0, 0.5, 1e-45, 1]).astype(dtype))
    np.testing.assert_array_equal(places(edges, scores), np.searchsorted(edges, scores, side="right"))


@given(seeds, st.sampled_from([0.002, 0.1, 0.5]), st.sampled_from([np.float32, np.float64]), st.booleans())
@settings(max_examples=20, deadline=None)
def test_isotonic_of_many_scores_is_scikit_learns(seed, rate, dtype, rounded):
    """Both algorithms for the runs, and the map by slopes; with tiny scores, and those of exactly 0 and 1."""
    rng = np.random.default_rng(seed)
    scores = (rng.random(10_000) ** 4).astype(dtype)
    scores = scores.round(2) if rounded else scores
    scores[:3] = [0, 1, np.finfo(dtype).smallest_subnormal]
    true = rng.random(len(scores)) < rate * scores
    peer = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    wide = scores.astype(np.float64)
    wide[:3] = [0, 1, 0] if rounded else [0, 1, wide[3:].min() / 2]  # scikit-learn merges scores this close
    found = Isotonic().fit(wide.astype(dtype), true)
    want = peer.fit(wide.astype(dtype).astype(np.float64), true.astype(float)).predict(wide)
    np.testing.assert_allclose(found.transform(wide.astype(dtype)), want, rtol=0, atol=1e-9)
    sorted_too = Isotonic().fit(wide.astype(dtype), true, sample_weight=np.ones(len(true)))
    np.testing.assert_array_equal(found.scores_, sorted_too.scores_)
    np.testing.assert_array_equal(found.values_, sorted_too.values_)
    one_by_one = np.interp(scores.astype(np.float64), found.scores_, found.values_)
    np.testing.assert_allclose(found.transform(scores), one_by_one, rtol=0, atol=1e-14)


def starts_one_by_one(drawn, bins):
    levels = np.flatnonzero(drawn)[1:]
    before = np.cumsum(drawn)[levels] - drawn[levels]
    total, share = float(drawn.sum()), float(drawn.sum()) / bins
    starts, begun = [0], 0.0
    for b in range(1, bins if len(levels) else 1):
        near = int(np.abs(before - b * share).argmin())
        if min(before[near] - begun, total - before[near]) >= share / 2:
            starts.append(int(levels[near]))
            begun = float(before[near])
    return starts


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40).filter(any), st.integers(1, 30))
def test_equal_shares_start_at_the_nearest_levels(drawn, bins):
    drawn = np.array(drawn, dtype=float)
    assert histogram._equal_shares(drawn, bins).tolist() == starts_one_by_one(drawn, bins)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("key", "notion"), [("top-label-hb", TopLabel()), ("class-wise-hb", ClassWise())])
def test_every_stratum_is_fitted_and_mapped_as_if_it_were_alone(key, notion, weighted):
    rng = np.random.default_rng(0)
    k, n = 130, 3_000  # more columns than are read together
    probs = rng.dirichlet(np.full(k, 0.02), n)
    weights = rng.integers(0, 3, n) if weighted else None
    p = Predictions(probs, (probs.cumsum(1) < rng.random((n, 1))).sum(1).clip(0, k - 1), weights=weights)
    fitted = CALIBRATORS.make(key, points_per_bin=20).fit_on(p)
    after, claims = fitted.apply(p), notion.split(p)
    own = [s for s, name in enumerate(claims.strata) if name not in fitted.pooled_ + fitted.left_alone_]
    assert len(own) > 20
    for s in own[::7]:
        stratum = claims.stratum(s)
        alone = type(fitted.maps_[s])(points_per_bin=20).fit(
            stratum.scores, stratum.outcomes, sample_weight=stratum.weights
        )
        np.testing.assert_array_equal(alone.values_, fitted.maps_[s].values_)
        got = after.probs[:, s] if after.kind == "per-class" else after.confidence[p.predicted == s]
        np.testing.assert_array_equal(got, alone.transform(stratum.scores))


def test_rows_drawn_by_rank_are_drawn_without_replacement():
    """Mean and variance of the levels below the 500th are hypergeometric, and no count exceeds its level."""
    rows = np.random.default_rng(0).integers(1, 5, 1_500)
    ends = np.append(0.0, np.cumsum(rows))
    assert len(rows) > histogram._FEW_LEVELS
    draws = np.array([histogram._drawn(ends, 2_000, seed) for seed in range(400)])
    assert (draws <= rows).all()
    assert (draws.sum(axis=1) == 2_000).all()
    law = hypergeom(rows.sum(), rows[:500].sum(), 2_000)
    below = draws[:, :500].sum(axis=1)
    assert below.mean() == pytest.approx(law.mean(), abs=4 * law.std() / 20)
    assert below.var() == pytest.approx(law.var(), rel=4 * np.sqrt(2 / 400))
    assert binom(2_000, law.mean() / 2_000).var() > law.var() * 1.5, "drawn with replacement it would be seen"


@pytest.mark.parametrize("of_each", [1, 2])
def test_copies_of_many_tied_scores_are_as_good_as_their_number(of_each):
    rng = np.random.default_rng(3)
    scores, true = rng.integers(0, 6_000, 9_000) / 6_000, rng.random(9_000) < 0.3
    weights = rng.integers(0, 3, 9_000) * of_each
    found = Histogram(points_per_bin=100).fit(scores, true, sample_weight=weights)
    written = Histogram(points_per_bin=100).fit(np.repeat(scores, weights), np.repeat(true, weights))
    assert found.placing_ > 0
    np.testing.assert_array_equal(found.thresholds_, written.thresholds_)
    np.testing.assert_allclose(found.values_, written.values_, rtol=0, atol=1e-12)
    order = rng.permutation(9_000)
    again = Histogram(points_per_bin=100).fit(scores[order], true[order], sample_weight=weights[order])
    np.testing.assert_array_equal(again.thresholds_, found.thresholds_)


def test_a_wrong_score_far_down_is_named():
    scores = np.full((9_000, 3), 0.5)
    scores[8_999, 1] = np.nan
    with pytest.raises(InputError, match="scores row 8999, column 1: nan is outside"):
        Predictions.from_scores(scores, np.zeros(9_000, dtype=int))
