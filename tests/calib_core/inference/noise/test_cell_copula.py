"""Outcomes drawn from the covariance of cells: margins, correlations, and the level of the resulting test."""

import numpy as np
import pytest

from calib_core import Predictions, estimate
from calib_core._base.distributions import binom
from calib_core.binning import EqualWidth, tabulate
from calib_core.estimators import Binned
from calib_core.inference.noise import cell_draws
from calib_core.inference.noise.cell_draws import shared_outcomes
from calib_core.inference.noise.noise_floor import null_outcomes
from calib_core.results.uncertainty import NoiseFloor


def near_certain(n, k, seed=0):
    """Return confidences like those of networks: near 0 and 1, so that many cells expect few outcomes."""
    rng = np.random.default_rng(seed)
    z = 4.0 * rng.standard_normal((n, k))
    p = np.exp(z - z.max(1, keepdims=True))
    return Predictions((p / p.sum(1, keepdims=True)).astype(np.float32), rng.integers(0, k, n))


@pytest.fixture
def from_cells(monkeypatch):
    monkeypatch.setattr(cell_draws, "MANY_ROWS", 0)


def drawn(p, notion, bins):
    q = estimate(p, notion, "ece", bins).question
    table = tabulate(q.claims, [EqualWidth(bins)])[0]
    return table, shared_outcomes(q.claims, table, q.ranks), q


@pytest.mark.usefixtures("from_cells")
@pytest.mark.parametrize(("notion", "k"), [("class-wise", 4), ("class-wise", 25), ("top-k-label", 4)])
def test_sums_have_the_mean_variance_and_correlation_of_drawn_rows(monkeypatch, notion, k):
    p = near_certain(1500, k)
    table, outcomes, q = drawn(p, notion, 15)
    cells = outcomes(np.random.default_rng(0), 2000).reshape(2000, -1)
    monkeypatch.setattr(cell_draws, "MANY_ROWS", 1e9)
    rows = null_outcomes(q.claims, table, q.ranks)(np.random.default_rng(1), 2000).reshape(2000, -1)
    assert ((cells >= 0) & (cells <= table.count.ravel())).all()
    spread = np.sqrt(np.maximum(rows.var(0), 0.01))
    np.testing.assert_allclose((cells.mean(0) - rows.mean(0)) / spread, 0, atol=0.15)
    rich = rows.var(0) > 2
    np.testing.assert_allclose(cells.var(0)[rich] / rows.var(0)[rich], 1, atol=0.2)
    np.testing.assert_allclose(np.corrcoef(cells.T[rich]), np.corrcoef(rows.T[rich]), atol=0.15)


def test_cells_of_few_outcomes_are_binomial():
    n, p = 5000, 0.0004
    least, upto = cell_draws._upto(n, p)
    assert least == 0
    np.testing.assert_allclose(upto, binom.cdf(np.arange(len(upto)), n, p), rtol=1e-9)
    assert cell_draws._upto(7, 0.0)[1].tolist() == [1.0] * 7
    assert cell_draws._upto(7, 1.0)[1].tolist() == [0.0] * 7


@pytest.mark.usefixtures("from_cells")
def test_claims_of_exactly_0_and_1_come_true_as_they_say():
    p = Predictions([[1.0, 0.0]] * 30 + [[0.0, 1.0]] * 30, [0] * 60)
    table, outcomes, _ = drawn(p, "class-wise", 5)
    assert (outcomes(np.random.default_rng(0), 50) == table.tally.score).all()


@pytest.mark.usefixtures("from_cells")
@pytest.mark.parametrize(("notion", "k"), [("class-wise", 3), ("top-k-confidence", 5), ("top-k-label", 3)])
def test_the_floor_keeps_its_level_and_one_of_half_the_variance_does_not(notion, k):
    """Calibrated outcomes are drawn row by row, tests by draws from cells: at most 5 in 100 reject."""
    p, rule = near_certain(400, k, 3), Binned(EqualWidth(10))
    table, outcomes, q = drawn(p, notion, 10)
    rng, runs = np.random.default_rng(5), 400
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_draws, "MANY_ROWS", 1e9)
        truths = null_outcomes(q.claims, table, q.ranks)(rng, runs)
    observed = rule.of_outcomes(table, truths)
    found = {"cells": [], "halved": []}
    for one in observed:
        first, second = outcomes(rng, 99), outcomes(rng, 99)
        for name, sums in (("cells", first), ("halved", (first + second) / 2)):
            found[name].append(NoiseFloor(float(one), rule.of_outcomes(table, sums)).p_value <= 0.05)
    assert np.mean(found["cells"]) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert np.mean(found["cells"]) >= 0.005
    assert np.mean(found["halved"]) > 0.2
