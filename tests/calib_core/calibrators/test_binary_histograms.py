"""Equal-width histogram binning and binning of errors against loops a reader can follow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_core import BINARY_CALIBRATORS, CALIBRATORS
from calib_core.binning import EqualMass, EqualWidth
from calib_core.calibrators import EqualWidthHistogram, LeceHistogram
from calib_core.calibrators.calibration_rows import as_rows
from calib_core.datasets import valk_kull


@st.composite
def claims(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 60))
    s = rng.integers(0, 21, n) / 20 if draw(st.booleans()) else rng.random(n)
    return s.astype(draw(st.sampled_from((np.float64, np.float32)))), rng.random(n) < s, rng.integers(0, 3, n) + 0.5


NEW = np.linspace(0, 1, 41)


def bin_of(score, edges):
    return sum(score >= edge for edge in edges)


@given(given_=claims(), bins=st.integers(1, 20))
def test_equal_width_histogram_is_the_mean_outcome_of_each_bin(given_, bins):
    s, z, w = given_
    edges = (np.arange(1, bins) / bins).astype(s.dtype)
    fitted = EqualWidthHistogram(bins).fit(s, z, w)
    for new in NEW.astype(s.dtype):
        mine = [i for i in range(len(s)) if bin_of(s[i], edges) == bin_of(new, edges)]
        want = sum(w[i] for i in mine if z[i]) / sum(w[i] for i in mine) if mine else new
        assert fitted.transform(np.array([new]))[0] == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("scheme", [EqualWidth(5), EqualMass(4)])
@given(given_=claims())
def test_binning_of_errors_subtracts_the_mean_error_of_each_bin(scheme, given_):
    s, z, w = given_
    order = np.argsort(s)
    edges = scheme.edges(s[order], as_rows(w)[order])
    fitted = LeceHistogram(scheme).fit(s, z, w)
    for new in NEW.astype(s.dtype):
        mine = [i for i in range(len(s)) if bin_of(s[i], edges) == bin_of(new, edges)]
        error = sum(w[i] * (float(s[i]) - z[i]) for i in mine) / sum(w[i] for i in mine) if mine else 0.0
        want = min(max(float(new) - error, 0.0), 1.0)
        assert fitted.transform(np.array([new]))[0] == pytest.approx(want, abs=1e-12)


def test_a_bin_without_rows_leaves_scores_as_they_are():
    for fitted in (EqualWidthHistogram(4), LeceHistogram(EqualWidth(4))):
        fitted.fit([0.1, 0.2, 0.9], [1, 1, 0])
        np.testing.assert_array_equal(fitted.transform([0.3, 0.6]), [0.3, 0.6])


def test_where_errors_are_equal_they_are_removed_and_histogram_binning_only_removes_their_mean():
    """Every score is 0.1 too high: subtracting the bin's error is exact, the bin's mean outcome flattens the score."""
    s = np.repeat([0.3, 0.5, 0.7], 10)
    z = np.concatenate([np.arange(10) < 2, np.arange(10) < 4, np.arange(10) < 6])
    np.testing.assert_allclose(LeceHistogram(EqualWidth(1)).fit(s, z).transform([0.3, 0.5, 0.7]), [0.2, 0.4, 0.6])
    np.testing.assert_allclose(EqualWidthHistogram(1).fit(s, z).transform([0.3, 0.5, 0.7]), 0.4)


def test_scores_that_are_edges_belong_to_the_upper_bin_in_either_precision():
    for dtype in (np.float64, np.float32):
        s = (np.arange(11) / 10).astype(dtype)
        codes = EqualWidthHistogram(10).fit(s, np.zeros(11, int)).counts_
        np.testing.assert_array_equal(codes, [1] * 9 + [2])


def test_table_1_of_the_lece_paper():
    """P3 Table 1, 5 equal-width bins: class-wise calibration error .049 +- .001 for means, .016 +- .001 for errors.

    Mean over rows and classes of |q - truth|; 5,000 calibration rows; the standard deviations are over data seeds.
    """
    test = valk_kull(20_000, 100)
    found = {"means": [], "errors": []}
    for seed in range(8):
        fit = valk_kull(5000, seed).predictions
        for name, binary in (("means", EqualWidthHistogram(5)), ("errors", LeceHistogram(EqualWidth(5)))):
            made = CALIBRATORS.make("normalised", binary=binary).fit_on(fit).apply(test.predictions)
            found[name].append(np.abs(made.probs - test.true_probs).mean())
    assert np.mean(found["means"]) == pytest.approx(0.049, abs=0.001)
    assert np.mean(found["errors"]) == pytest.approx(0.016, abs=0.0015)


def test_the_promise_counts_the_rows_that_did_not_place_the_bins():
    rng = np.random.default_rng(0)
    scores = rng.random(2000).round(1)  # ties, so that a part of the rows places the bins
    fitted = BINARY_CALIBRATORS.make("histogram", bins=5).fit(scores, rng.random(2000) < scores)
    cells = fitted.cells()
    assert cells.placing == fitted.placing_ > 0
    assert cells.rows == fitted.averaged_.sum() == 2000 - cells.placing
