"""The CDF spline against the authors' code, a regression on scipy's natural splines, and both sides of two classes."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from calib_core import CALIBRATORS
from calib_core.calibrators import CdfSpline


def sample(n):
    rng = np.random.default_rng(0)
    s = rng.beta(2, 2, n)
    return s, rng.random(n) < s**1.5


def test_with_many_rows_it_is_the_authors_spline():
    """The spline of github.com/kartikgupta-at-anu/spline-calibration (83c85a4) as in probmetrics 1.3.0.

    It has six knots and is fitted to the cumulative outcomes less the cumulative scores of these 20,000 rows. Listed
    are its recalibrated .1, .3, .5, .7 and .9, and its mean log loss on the rows, clipped at 1e-6.
    """
    s, y = sample(20_000)
    fitted = CdfSpline().fit(s, y)
    expected = [0.0008940099388316227, 0.18046269036723145, 0.34882719959308417, 0.5962967374321677, 0.8342812406076742]
    np.testing.assert_allclose(fitted.transform([0.1, 0.3, 0.5, 0.7, 0.9]), expected, atol=3e-5)
    p = np.clip(fitted.transform(s), 1e-6, 1 - 1e-6)
    assert -np.log(np.where(y, p, 1 - p)).mean() == pytest.approx(0.544269865996643, abs=1e-6)


@pytest.mark.parametrize("knots", [2, 3, 6, 12])
@pytest.mark.parametrize("tied", [False, True])
def test_it_is_a_regression_on_natural_splines_by_scipy(knots, tied):
    s, y = sample(300)
    s = np.ceil(s * 20) / 20 if tied else s
    found = np.unique(s)
    through = np.array([0.0, *(np.mean(s <= score) for score in found)])
    error = np.array([0.0, *(np.mean((y - s) * (s <= score)) for score in found)])
    rows = np.diff(through)
    root = np.sqrt([(before + after) / 2 for before, after in zip([0, *rows], [*rows, 0], strict=True)])
    basis = CubicSpline(np.linspace(0, 1, knots), np.eye(knots), bc_type="natural")
    theta = np.linalg.lstsq(basis(through) * root[:, None], error * root)[0]
    # The mean slope over the rows of a score, by many places among them.
    parts = [np.linspace(low, high, 2001) for low, high in pairwise(through)]
    slopes = np.array([(basis((part[1:] + part[:-1]) / 2, 1) @ theta).mean() for part in parts])
    fitted = CdfSpline(knots=knots).fit(s, y)
    np.testing.assert_allclose(fitted.scores_, found)
    np.testing.assert_allclose(fitted.values_, found + slopes, atol=1e-7)


def test_calibrated_outcomes_leave_the_scores_as_they_are():
    """Every score has exactly its share of true outcomes, so the cumulative error is 0."""
    scores = np.repeat(np.arange(1, 10) / 10, 10)
    fitted = CdfSpline().fit(scores, np.concatenate([np.arange(10) < k for k in range(1, 10)]))
    np.testing.assert_allclose(fitted.transform([0.1, 0.15, 0.5, 0.9]), [0.1, 0.15, 0.5, 0.9], atol=1e-12)


def test_few_distinct_scores_get_their_observed_frequencies():
    one = CdfSpline().fit([0.3] * 10, [1] * 6 + [0] * 4)
    assert one.transform([0.0, 0.3, 1.0]).round(12).tolist() == [0.6, 0.6, 0.6]
    uneven = CdfSpline().fit([0.1] * 40 + [0.5] * 5 + [0.7] * 55, [1] * 10 + [0] * 30 + [1] * 2 + [0] * 3 + [1] * 55)
    np.testing.assert_allclose(uneven.transform([0.1, 0.5, 0.7]), [0.25, 0.4, 1.0], atol=1e-9)


def test_a_row_that_weighs_next_to_nothing_gets_the_slope_at_its_place():
    s, y = sample(200)
    plain = CdfSpline().fit(s, y)
    more = CdfSpline().fit(np.append(s, 0.5), np.append(y, True), np.append(np.ones(200), 1e-16))
    np.testing.assert_allclose(more.transform([0.5]), plain.transform([0.5]), atol=0.003)


def test_a_map_that_decreases_is_reported():
    s = np.linspace(0.01, 0.99, 400)
    assert CdfSpline().fit(s, np.random.default_rng(1).random(400) < s).note == ""
    assert CdfSpline().fit(s, np.sin(12 * s) > 0).note == "The map decreases at some scores."


def test_two_classes_are_one_map_seen_from_both_sides():
    s, y = sample(300)
    for scores in (s, np.ceil(s * 20) / 20, np.ceil(s * 3) / 4):
        columns = np.column_stack([1 - scores, scores])
        both = CALIBRATORS.make("cdf-spline").fit(columns, y.astype(int)).predict_proba(columns)
        np.testing.assert_allclose(both[:, 1], CdfSpline().fit(scores, y).transform(scores), atol=1e-9)
