"""Stacked samples: an estimator of many samples gives the same results as for each of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calib_core as cc
from calib_core.binning import Distinct, EqualMass, Groups
from calib_core.claims.stacked_samples import side_by_side
from calib_core.estimators import Binned, ConvexBinned, KernelECE, traits
from calib_core.smoothing.kernels import BetaKernel

E = cc.ESTIMATORS
MEMBERS = {
    **{key: E.make(key) for key in E if traits(E.make(key)).together(E.make(key))},
    "square, equal mass": Binned(EqualMass(4), 2),
    "largest, equal mass": Binned(EqualMass(4), "max"),
    "distinct": Binned(Distinct()),
    "attainable": ConvexBinned(EqualMass(5), attainable=True),
    "gaps": KernelECE(smoothed="gaps"),
}


def predictions(n, classes, seed, dtype=np.float64, digits=None):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(classes, 0.5), n)
    if digits is not None:
        probs = np.eye(classes)[probs.argmax(axis=1)] if digits == 0 else probs.round(digits)
        probs /= probs.sum(axis=1, keepdims=True)
    return cc.Predictions(probs.astype(dtype), rng.integers(classes, size=n))


def split(rows, samples, notion):
    return [notion.split(rows.take(part)) for part in np.array_split(np.arange(rows.n_rows), samples)]


def test_the_estimators_of_p5_answer_many_samples_at_once():
    assert {"ece", "rmsce", "mce", "ece-adaptive", "ece-convex", "ece-adaptive-convex", "ece-kde"} <= set(MEMBERS)


@pytest.mark.parametrize("name", MEMBERS)
@given(
    n=st.integers(1, 40),
    classes=st.integers(2, 4),
    seed=st.integers(0, 99),
    dtype=st.sampled_from([np.float64, np.float32]),
    digits=st.sampled_from([None, 0, 1]),
    notion=st.sampled_from(["confidence", "class-wise", "top-k-confidence"]),
)
@settings(max_examples=12)
def test_together_they_are_what_each_is_alone(name, n, classes, seed, dtype, digits, notion):
    """The slow twin calls once per sample, including ties, scores of exactly 0 and 1 and samples of one row."""
    claims = split(predictions(3 * n, classes, seed, dtype, digits), 3, cc.REDUCTIONS.make(notion))
    together = MEMBERS[name].of_samples(side_by_side(claims))
    np.testing.assert_allclose(together, [MEMBERS[name](each).value for each in claims], rtol=1e-12, atol=1e-12)


def test_shares_that_follow_the_labels_are_each_samples_own():
    claims = split(predictions(60, 3, 1), 3, cc.REDUCTIONS.make("class-wise", weights="share"))
    np.testing.assert_allclose(
        MEMBERS["ece"].of_samples(side_by_side(claims)), [E.make("ece")(c).value for c in claims]
    )


def test_what_does_not_fit_side_by_side_is_not_put_there():
    rows = predictions(40, 3, 2)
    assert side_by_side(split(rows, 2, cc.REDUCTIONS.make("top-label"))) is None
    assert side_by_side(split(rows.replace(weights=np.arange(1.0, 41)), 2, cc.REDUCTIONS.make("confidence"))) is None
    assert side_by_side(split(rows, 3, cc.REDUCTIONS.make("confidence"))) is None


@pytest.mark.parametrize("member", [Binned(Groups()), KernelECE(kernel=BetaKernel())])
def test_what_has_no_way_to_answer_together_is_asked_one_by_one(member):
    """Such estimators are bins that pool strata, and a kernel without a method for many samples."""
    assert not traits(member).together(member)
