"""Ends by test inversion: the laws that skip decided draws give what every draw gives."""

import numpy as np
import pytest

from calib_core.inference.intervals import inversion
from calib_core.inference.intervals.inversion import CellGaps, Noise, absolute_high, highs_reaching, inverted


def cells(count, seed, off):
    """Return cells of many rows with gaps of about ``off``, and normal errors of them."""
    rng = np.random.default_rng([count, seed])
    score = rng.uniform(0.1, 0.9, count)
    weight, rows = rng.dirichlet(np.ones(count)), rng.integers(200, 2000, count).astype(float)
    outcome = np.clip(rng.binomial(rows.astype(int), score) / rows + off * rng.standard_normal(count), 0, 1)
    return CellGaps(weight, rows, outcome, score), rng.standard_normal((400, count))


def bisected(weight, way, size, noise, still):
    """Return the law in which every draw counts at every theta, the slow twin."""
    limit = size * (1.0 + 1e-12)
    return inversion._SimpleLaw(lambda theta: np.mean(np.abs(noise + theta * way) @ weight + still <= limit))


@pytest.mark.parametrize("off", [0.0, 0.03, 0.2])
@pytest.mark.parametrize("count", [1, 4, 40])
def test_ends_without_decided_draws_are_those_of_all_draws(count, off, monkeypatch):
    samples = [cells(count, seed, off) for seed in range(5)]
    fast = [inverted(gaps, 1, 0.9, errors) for gaps, errors in samples]
    monkeypatch.setattr(inversion, "_shifted_law", bisected)
    assert fast == [inverted(gaps, 1, 0.9, errors) for gaps, errors in samples]
    assert len(set(fast)) == 5


@pytest.mark.parametrize("count", [1, 4, 40])
def test_samples_counted_near_a_limit_are_those_whose_end_reaches_it(count):
    gaps, errors = cells(count, 0, 0.0)
    noise, seen = Noise(1e-3, 20.0, 15.0), set()
    samples = [
        (CellGaps(gaps.weight, gaps.rows, cells(count, seed, 0.02)[0].outcome, gaps.score), noise) for seed in range(30)
    ]
    ends = np.array([absolute_high(each, of, 0.9, errors) for each, of in samples])
    for limit in (*np.quantile(ends, [0.1, 0.5, 0.9]), *ends[:5], *(ends[:5] + 1e-6), 1.0):
        reaching = highs_reaching(samples, 0.9, errors, float(limit))
        assert reaching == (ends >= limit).sum()
        seen.add(reaching)
    assert len(seen) > 4
