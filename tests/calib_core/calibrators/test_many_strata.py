"""What calibrators of many strata do at once gives what one stratum, one level, one threshold at a time gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from calib_core import CALIBRATORS, Predictions
from calib_core.calibrators import histogram
from calib_core.calibrators.isotonic import Isotonic
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
    """scikit-learn merges scores closer than 1e-15, many at 1,000 classes."""
    assert Isotonic().fit([1e-20, 1e-18, 0.5], [0, 1, 1]).transform([1e-20, 1e-18]).tolist() == [0, 1]


def test_isotonic_keeps_small_weights_behind_large_ones():
    rng = np.random.default_rng(0)
    scores, weights = rng.random(200), 10.0 ** rng.integers(-12, 12, 200)
    true = rng.random(200) < scores
    twin = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, true, sample_weight=weights)
    found = Isotonic().fit(scores, true, sample_weight=weights).transform(scores)
    np.testing.assert_allclose(found, twin.predict(scores), atol=1e-9)


@given(seeds, st.integers(64, 1500))
@settings(max_examples=20, deadline=None)
def test_bins_of_many_scores_are_those_of_a_search(seed, many):
    rng = np.random.default_rng(seed)
    scores = (rng.random(12_000) ** int(rng.integers(1, 60))).astype(np.float32)
    scores[:6] = [0.0, -0.0, 1.0, 1e-45, 0.5, np.nextafter(np.float32(0.5), np.float32(0))]
    thresholds = np.unique(np.append(rng.choice(scores, many), [0, 0.5, 1e-45, 1])).astype(np.float32)
    np.testing.assert_array_equal(
        histogram._bins_of(scores, thresholds), np.searchsorted(thresholds, scores, side="right")
    )


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
