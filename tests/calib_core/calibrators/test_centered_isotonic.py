"""Centered isotonic regression against hand arithmetic, another package, and a pooling of neighbors pair by pair."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_core import CALIBRATORS
from calib_core.calibrators import CenteredIsotonic, Isotonic


def responses(rows, hits):
    return np.concatenate([np.arange(n) < k for n, k in zip(rows, hits, strict=True)])


def test_a_dose_response_study_by_hand():
    """Five doses of 7, 24, 20, 12 and 17 patients with 1, 3, 10, 3 and 4 responses, the example of the R package cir.

    1/7 > 3/24 are pooled to 4/31 at the mean dose (7 + 48)/31. 10/20 > 3/12 are pooled to 13/32, which is above 4/17,
    so that the last three are 17/49 at the mean dose (60 + 48 + 85)/49.
    """
    rows = [7, 24, 20, 12, 17]
    fitted = CenteredIsotonic().fit(np.repeat(np.arange(1, 6) / 10, rows), responses(rows, [1, 3, 10, 3, 4]))
    np.testing.assert_allclose(fitted.scores_, [5.5 / 31, 19.3 / 49], atol=1e-15)
    np.testing.assert_allclose(fitted.values_, [4 / 31, 17 / 49], atol=1e-15)
    way = (0.2 - 5.5 / 31) / (19.3 / 49 - 5.5 / 31)
    expected = [4 / 31, 4 / 31 + way * (17 / 49 - 4 / 31), 17 / 49]
    np.testing.assert_allclose(fitted.transform([0.1, 0.2, 0.5]), expected, atol=1e-15)


def test_steps_of_height_0_and_1_stay_flat():
    """cir_model 0.2.0: CenteredIsotonicRegression(out_of_bounds="clip"), fitted with the weights, at the new scores."""
    scores = [0.05, 0.1, 0.15, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95]
    outcomes = [0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1]
    weights = [1, 2, 1, 3, 1, 1, 2, 1, 2, 1, 1, 2, 1, 1, 2]
    new = [0, 0.12, 0.16, 0.2, 0.25, 0.33, 0.4, 0.5, 0.55, 0.65, 0.72, 0.78, 0.97]
    expected = [
        *(0.0, 0.0, 0.02333333333333336, 0.11666666666666674, 0.2333333333333334, 0.42000000000000015),
        *(0.5833333333333335, 0.7023809523809524, 0.761904761904762, 0.8809523809523809, 0.9642857142857142, 1.0, 1.0),
    ]
    np.testing.assert_allclose(CenteredIsotonic().fit(scores, outcomes, weights).transform(new), expected, atol=1e-12)


def pooled(scores, outcomes, weights):
    """Return points after pooling the first pair of neighbors that falls, or is equal and neither 0 nor 1."""
    points = [
        [s, weights[scores == s] @ outcomes[scores == s] / weights[scores == s].sum(), weights[scores == s].sum()]
        for s in np.unique(scores[weights > 0])
    ]
    while True:
        pair = next((i for i, (a, b) in enumerate(pairwise(points)) if wrong(a[1], b[1])), None)
        if pair is None:
            return np.array(points)
        (s, p, w), (t, q, v) = points[pair : pair + 2]
        points[pair : pair + 2] = [[(s * w + t * v) / (w + v), (p * w + q * v) / (w + v), w + v]]


def wrong(first, second):
    return first > second + 1e-12 or (abs(first - second) <= 1e-12 and 1e-12 < first < 1 - 1e-12)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30))
def test_it_is_pooling_pair_by_pair(seed, n):
    rng = np.random.default_rng(seed)
    scores, outcomes = rng.integers(0, 13, n) / 12, rng.random(n) < rng.random()
    weights = rng.integers(0, 4, n) * rng.choice([1.0, 0.3])
    weights[0] += 1
    twin = pooled(scores, outcomes.astype(float), weights)
    new = np.linspace(0, 1, 49)
    fitted = CenteredIsotonic().fit(scores, outcomes, weights)
    np.testing.assert_allclose(fitted.transform(new), np.interp(new, twin[:, 0], twin[:, 1]), atol=1e-9)


def test_it_has_the_heights_of_isotonic_regression_and_fewer_ties():
    rng = np.random.default_rng(0)
    s = rng.random(400)
    y = rng.random(400) < s**2
    centered, stairs = CenteredIsotonic().fit(s, y), Isotonic().fit(s, y)
    np.testing.assert_allclose(np.unique(centered.values_), np.unique(stairs.values_), atol=1e-12)
    assert len(np.unique(centered.transform(s))) > 3 * len(np.unique(stairs.transform(s)))


def test_two_classes_are_one_map_seen_from_both_sides():
    rng = np.random.default_rng(3)
    s = rng.random(200)
    y, columns = rng.random(200) < s, np.column_stack([1 - s, s])
    both = CALIBRATORS.make("centered-isotonic").fit(columns, y.astype(int)).predict_proba(columns)
    np.testing.assert_allclose(both[:, 1], CenteredIsotonic().fit(s, y).transform(s), atol=1e-9)


@pytest.mark.parametrize("outcome", [0, 1])
def test_outcomes_that_all_agree_give_a_constant(outcome):
    assert CenteredIsotonic().fit([0.1, 0.5, 0.7], [outcome] * 3).transform([0.0, 0.5, 1.0]).tolist() == [outcome] * 3
