"""Partitions of the simplex: cell assignment and counts of 1,000,000 x 3 rows (50,000 x 1,000).

Goal: under 1 s for three classes, for any partition. Measured on one core: sierpinski 0.2 s, grid 0.15 s, projection
0.5 s (axes) and 0.8 s (random).
"""

import numpy as np
import pytest

from calib_core import Predictions, estimate
from calib_core.binning import Grid, Projection, Sierpinski, simplex_table
from calib_core.reductions import Canonical

SCHEMES = [Sierpinski(3), Grid(5), Projection(27), Projection(27, "random"), Projection(27, "shares")]


@pytest.fixture(scope="module")
def triangle():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 1_000_000).astype(np.float32)
    probs.setflags(write=False)
    return Predictions(probs, rng.integers(3, size=len(probs)))


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_a_million_rows_of_three_classes(benchmark, triangle, scheme):
    benchmark.pedantic(simplex_table, (Canonical().split(triangle), scheme), rounds=3)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_a_thousand_classes(benchmark, large, scheme):
    benchmark.pedantic(simplex_table, (Canonical().split(large.predictions), scheme), rounds=2)


@pytest.mark.parametrize("ask", ["noise_floor", "interval"])
def test_a_canonical_error_of_20_000_rows_with_its_context(benchmark, triangle, ask):
    few = triangle.take(np.arange(20_000))

    def answer():
        made = estimate(few, "canonical", "ece", bins="sierpinski")
        return made.noise_floor if ask == "noise_floor" else made.interval()

    benchmark.pedantic(answer, rounds=2)
