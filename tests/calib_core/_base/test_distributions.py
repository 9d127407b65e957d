"""Distributions by scipy.special against scipy.stats."""

import numpy as np
import pytest
from scipy import stats

from calib_core._base import distributions as ours

Q = np.array([1e-8, 1e-3, 0.05, 0.3, 0.5, 0.9, 0.999])
X = np.array([-9.0, -2.0, 0.0, 0.7, 5.0, 30.0])
COUNTS = np.arange(-1, 13)
PLACES = {
    "norm": ({"cdf": X, "sf": X, "ppf": Q, "isf": Q}, [()]),
    "t": ({"sf": X, "ppf": Q, "isf": Q}, [(1,), (2.5,), (9,), (1e6,)]),
    "beta": ({"cdf": Q, "sf": Q, "ppf": Q, "isf": Q}, [(1, 1), (0.5, 20.0), (3, 1e5), (1e4, 1)]),
    "gamma": ({"isf": Q}, [(1,), (3.5,), (1e5,)]),
    "binom": ({"cdf": COUNTS, "sf": COUNTS, "ppf": Q, "isf": Q}, [(10, 0.3), (10, 0.0), (1, 1.0), (12, 1e-6)]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("law", "call", "shapes"),
    [(law, call, shapes) for law, (calls, every) in PLACES.items() for call in calls for shapes in every],
)
def test_each_is_that_of_scipy_stats(law, call, shapes):
    places = PLACES[law][0][call]
    theirs = getattr(getattr(stats, law), call)(places, *shapes)
    np.testing.assert_allclose(getattr(getattr(ours, law), call)(places, *shapes), theirs, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("shape", [(50, 20, 10), (2_000, 1_370, 20), (7, 7, 3), (5, 0, 2), (9, 4, 9)])
def test_the_hypergeometric_law_is_that_of_scipy_stats(shape):
    for k in range(-1, shape[2] + 2):
        for call in ("cdf", "sf"):
            theirs = getattr(stats.hypergeom, call)(k, *shape)
            assert getattr(ours.hypergeom, call)(k, *shape) == pytest.approx(theirs, rel=1e-9, abs=1e-14)
