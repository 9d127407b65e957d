"""Noise of cells whose claims share rows: draws for some cells equal those among all cells."""

import numpy as np
import pytest
from null_rates import gumbel_labels, spread_rows

from calib_core import Predictions, estimate
from calib_core.binning import EqualMass, EqualWidth, tabulate
from calib_core.estimators import Binned
from calib_core.inference.intervals import binned_errors
from calib_core.inference.noise import cell_draws
from calib_core.inference.noise.cell_draws import SharedNoise
from calib_core.inference.noise.noise_floor import null_outcomes

CLASSES = 80


def sample(rows=1500):
    rng = np.random.default_rng(0)
    p = spread_rows(rows, CLASSES, rng)
    return Predictions(p, gumbel_labels(p, rng))


def noise_of(p, scheme):
    claims = estimate(p, "class-wise", Binned(scheme)).question.claims
    table = tabulate(claims, [scheme])[0]
    return SharedNoise(claims, table, 1, None, np.flatnonzero(table.count > 0))


def test_wanted_cells_have_the_errors_they_have_among_all():
    """Equality is to the last bit; shared seeds by themselves do not give it."""
    noise = noise_of(sample(), EqualWidth(15))
    assert noise.of_rows
    wanted = np.zeros(len(noise.cells), dtype=bool)
    wanted[[3, 50, 200]] = True
    every, few = (noise.errors(np.random.default_rng(4), which) for which in (None, wanted))
    np.testing.assert_array_equal(few, every[:, wanted])
    assert (noise.errors(np.random.default_rng(5), wanted) != few).any()
    seen = every[:, np.square(every).sum(axis=0) > 0]
    np.testing.assert_allclose(np.square(seen).mean(axis=0), 1.0)


@pytest.mark.parametrize("scheme", [EqualWidth(15), EqualMass(20)], ids=repr)
def test_gaps_are_those_of_drawn_outcomes(monkeypatch, scheme):
    """The slow twin takes filled cells out of whole tables, stream after stream."""
    monkeypatch.setattr(cell_draws, "_DRAWN_ROWS", 450_000)
    noise = noise_of(sample(), scheme)
    outcomes = null_outcomes(noise.claims, noise.table)
    assert noise.replicates == 300
    streams = np.random.SeedSequence(3).spawn(2)
    every = [outcomes(np.random.default_rng(s), n) for s, n in zip(streams, (200, 100), strict=True)]
    filled = noise.table.count > 0
    sums = np.concatenate(every)[:, filled] / noise.table.count[filled] - noise.table.mean_score[filled]
    np.testing.assert_allclose(noise.gaps(every), sums, rtol=0, atol=1e-15)


@pytest.mark.wide
def test_fewer_replicates_move_the_ends_by_little(monkeypatch):
    """Over seeds, 200 replicates in place of 1,000: the ends' standard deviation stays below a tenth of the width."""
    p, ends = sample(4000), {}
    for number in (200, 1000):
        monkeypatch.setattr(cell_draws, "_DRAWN_ROWS", number * p.n_rows)
        question = estimate(p, "class-wise", "ece").question
        found = [binned_errors.InBins(question, seed).ends(1, 0.9) for seed in range(6)]
        ends[number] = np.array([(each.low, each.high) for each in found])
    width = np.diff(ends[1000].mean(axis=0))
    assert ends[200].std(axis=0, ddof=1).max() < 0.1 * width
    assert np.abs(ends[200].mean(axis=0) - ends[1000].mean(axis=0)).max() < 0.05 * width
