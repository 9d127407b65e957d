"""The largest error of a bin over its classes: between the two other largest errors, and equal to its formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_core import NotAnswerable, Predictions, estimate
from calib_core.binning import EqualWidth
from calib_core.diagrams import reliability
from calib_core.estimators import MaxOfBins
from calib_core.reductions import ClassWise, Confidence, TopLabel


@st.composite
def models(draw):
    n, k = draw(st.integers(1, 80)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    probs = rng.dirichlet(np.full(k, draw(st.sampled_from((0.05, 0.5, 3.0)))), n)
    weights = draw(st.sampled_from((None, "whole")))
    return Predictions(probs, rng.integers(0, k, n), weights=None if weights is None else rng.integers(1, 4, n))


def slow(claims, bins, weight):
    """Return the value bin by bin and class by class; ``weight`` is each claim's part of the aggregate."""
    at = np.minimum((claims.scores * bins).astype(int), bins - 1)
    worst = 0.0
    for b in set(at):
        error = total = 0.0
        for c in set(claims.codes[at == b]):
            mine = (at == b) & (claims.codes == c)
            w = weight[mine]
            error += w.sum() * abs(
                np.average(claims.outcomes[mine], weights=w) - np.average(claims.scores[mine], weights=w)
            )
            total += w.sum()
        worst = max(worst, error / total)
    return worst


@given(p=models(), bins=st.integers(1, 20))
def test_it_is_the_largest_class_weighted_gap_of_a_bin(p, bins):
    claims = TopLabel().split(p)
    weight = np.ones(p.n_rows) if p.weights is None else p.weights
    made = estimate(p, "top-label", "mce-of-bins", bins=bins)
    assert made.value == pytest.approx(slow(claims, bins, weight), abs=1e-12)
    assert made.value == pytest.approx(np.nanmax(reliability(p, bins, notion="confidence").delta), abs=1e-12)


@given(p=models(), bins=st.integers(1, 20))
def test_it_lies_between_the_confidence_and_the_top_label_mce(p, bins):
    low, high = estimate(p, "confidence", "mce", bins).value, estimate(p, "top-label", "mce", bins).value
    assert low - 1e-12 <= estimate(p, "top-label", "mce-of-bins", bins).value <= high + 1e-12
    assert estimate(p, "confidence", "mce-of-bins", bins).value == pytest.approx(low, abs=1e-12)


@given(p=models())
def test_many_outcomes_at_once_are_those_one_by_one(p):
    made = MaxOfBins(EqualWidth(5))(ClassWise().split(p))
    other = made.bins.tally.outcome * 0.5
    values = MaxOfBins().of_outcomes(made.bins, np.stack([made.bins.tally.outcome, other]))
    assert values[0] == made.value
    assert values.shape == (2,)


def test_the_two_numbers_called_tl_mce_differ():
    """Data: 100 rows of class 0 off by .01, one of class 1 off by .9, in one bin."""
    confidence = np.full(101, 0.91)
    correct = np.array([True] * 92 + [False] * 9)
    codes = np.array([0] * 100 + [1])
    labels = np.where(correct, codes, 1 - codes)
    p = Predictions.from_confidence(confidence, predicted=codes, labels=labels, class_names=["a", "b"])
    assert estimate(p, "top-label", "mce").value == pytest.approx(0.91)
    assert estimate(p, "top-label", "mce-of-bins").value == pytest.approx((100 * 0.01 + 0.91) / 101)


def test_bins_that_classes_do_not_share_are_refused_and_the_default_ones_are_shared():
    p = Predictions(np.random.default_rng(0).dirichlet([1, 1, 1], 50), np.arange(50) % 3)
    for bins in ("equal-mass", "distinct"):
        with pytest.raises(NotAnswerable, match="bins that all classes share"):
            estimate(p, "top-label", "mce-of-bins", bins)
        assert estimate(p, "confidence", "mce-of-bins", bins).value == estimate(p, "confidence", "mce", bins).value
    assert estimate(p.as_discrete(), "top-label", "mce-of-bins").in_bins == "15 equal width"
    assert Confidence().split(p).strata == ("all rows",)
