"""Laws of every binary calibrator: a map of scores in [0, 1], fitted on scores and outcomes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calib_core import BINARY_CALIBRATORS, InputError

FEW = settings(max_examples=15)
MONOTONE = {
    *("identity", "isotonic", "centered-isotonic", "venn-abers", "boosting"),
    *("platt", "beta", "quadratic", "temperature"),
}


def cases():
    for key in BINARY_CALIBRATORS:
        yield key, lambda key=key: BINARY_CALIBRATORS.make(key)
        names = {p.name for p in BINARY_CALIBRATORS[key].params}
        if "points_per_bin" in names:
            yield f"{key}, 3 points", lambda key=key: BINARY_CALIBRATORS.make(key, points_per_bin=3)
        if "bins" in names:
            yield f"{key}, 5 bins", lambda key=key: BINARY_CALIBRATORS.make(key, bins=5)
        if "prior" in names:
            yield f"{key}, 16 pseudo-rows", lambda key=key: BINARY_CALIBRATORS.make(key, prior=16)


CASES = dict(cases())


@st.composite
def claims(draw, min_rows=1):
    """Draw scores, outcomes and whole-number weights of one stratum."""
    n = draw(st.integers(min_rows, 50))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    style = draw(st.sampled_from(("spread", "tenths", "ends", "equal", "separable")))
    scores = {
        "tenths": rng.integers(0, 11, n) / 10,
        "ends": rng.integers(0, 2, n).astype(float),
        "equal": np.full(n, 0.3),
    }.get(style, rng.random(n))
    outcomes = scores > 0.5 if style == "separable" else rng.random(n) < scores
    if draw(st.booleans()) and n > 4:  # one-sided outcomes
        outcomes[:] = draw(st.booleans())
    weights = rng.integers(0, 4, n).astype(float)
    weights[0] = max(weights[0], 1.0)
    return scores.astype(draw(st.sampled_from((np.float64, np.float32)))), outcomes, weights


NEW = np.array([0.0, 1e-9, 0.1, 0.3, 0.5, 0.7, 0.999, 1.0])


@pytest.fixture(params=CASES)
def case(request):
    return request.param


def test_outputs_are_probabilities_and_each_score_is_mapped_alone(case):
    @FEW
    @given(given_=claims())
    def law(given_):
        scores, outcomes, _ = given_
        fitted = CASES[case]().fit(scores, outcomes)
        for new in (NEW, NEW.astype(np.float32), scores):
            out = fitted.transform(new)
            assert out.shape == new.shape
            assert np.isfinite(out).all()
            assert out.min() >= 0
            assert out.max() <= 1
            np.testing.assert_array_equal([fitted.transform(new[i : i + 1])[0] for i in range(len(new))], out)
            np.testing.assert_array_equal(fitted.transform(new[::-1])[::-1], out)

    law()


def test_row_order_does_not_matter_and_fitting_again_is_fitting_once(case):
    @FEW
    @given(given_=claims(), other=claims())
    def law(given_, other):
        scores, outcomes, _ = given_
        first = CASES[case]().fit(scores, outcomes)
        out = first.transform(NEW)
        order = np.random.default_rng(0).permutation(len(scores))
        np.testing.assert_allclose(CASES[case]().fit(scores[order], outcomes[order]).transform(NEW), out, atol=1e-9)
        first.fit(*other[:2]).fit(scores, outcomes)
        np.testing.assert_array_equal(first.transform(NEW), out)
        with pytest.raises(NotFittedError):
            clone(first).transform(NEW)

    law()


def test_a_whole_weight_is_that_many_copies(case):
    @FEW
    @given(given_=claims(min_rows=3))
    def law(given_):
        scores, outcomes, weights = given_
        at = np.repeat(np.arange(len(scores)), weights.astype(int))
        weighed = CASES[case]().fit(scores, outcomes, sample_weight=weights)
        copied = CASES[case]().fit(scores[at], outcomes[at])
        np.testing.assert_allclose(weighed.transform(NEW), copied.transform(NEW), atol=1e-9)

    law()


def test_inputs_are_left_as_they_were(case):
    scores, outcomes = np.linspace(0, 1, 20), np.arange(20) % 2
    for array in (scores, outcomes):
        array.setflags(write=False)
    fitted = CASES[case]().fit(scores, outcomes)
    fitted.transform(scores)
    np.testing.assert_array_equal(scores, np.linspace(0, 1, 20))


@pytest.mark.parametrize("key", sorted(MONOTONE & set(BINARY_CALIBRATORS)))
@FEW
@given(given_=claims(min_rows=2))
def test_a_higher_score_never_gets_a_lower_output(key, given_):
    fitted = BINARY_CALIBRATORS.make(key).fit(*given_[:2])
    assert (np.diff(fitted.transform(np.linspace(0, 1, 101))) >= 0).all()


@pytest.mark.parametrize("key", ["isotonic", "centered-isotonic", "histogram"])
@given(n=st.integers(1, 60), hits=st.integers(0, 60), score=st.sampled_from((0.0, 0.3, 1.0)))
def test_equal_scores_get_the_share_that_came_true(key, n, hits, score):
    params = {"delta": 0, "points_per_bin": 5} if key == "histogram" else {}
    hits = min(hits, n)
    fitted = BINARY_CALIBRATORS.make(key, **params).fit(np.full(n, score), np.arange(n) < hits)
    np.testing.assert_allclose(fitted.transform([score]), hits / n, atol=1e-12)


def test_bad_claims_are_refused_in_a_sentence(case):
    make = CASES[case]
    for scores, outcomes, weights, message in (
        ([0.2, 1.2], [0, 1], None, r"score 1 is 1\.2; scores must be in \[0, 1\] \(1 of 2 are not\)"),
        ([0.2, np.nan], [0, 1], None, r"score 1 is nan; scores must be in \[0, 1\] \(1 of 2 are not\)"),
        ([[0.2]], [0], None, r"scores has shape \(1, 1\)"),
        ([], [], None, r"scores has shape \(0,\)"),
        ([0.2], [2], None, r"outcomes must be 1 values 0 or 1, one per score; got shape \(1,\)"),
        ([0.2], [0, 1], None, r"outcomes must be 1 values 0 or 1, one per score; got shape \(2,\)"),
        ([0.2, 0.3], [0, 1], [1, -1], r"weights row 1 is -1\.0; weights must be finite and not negative"),
        ([0.2, 0.3], [0, 1], [1], r"weights has shape \(1,\) instead of \(2,\)"),
        ([0.2, 0.3], [0, 1], [0, 0], r"all weights are 0"),
    ):
        with pytest.raises(InputError, match=f"^{message}"):
            make().fit(scores, outcomes, sample_weight=weights)
