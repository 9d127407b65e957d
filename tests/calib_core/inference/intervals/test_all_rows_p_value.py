"""The p-value of all rows: at most uniform for grouped rows, and far too small if groups are ignored."""

import numpy as np
import pytest
from scipy import stats

from calib_core import Predictions
from calib_core.diagrams.overall_gap import overall_gap
from calib_core.risk import in_the_large

RUNS = 200
MOST = 20
"""Limit on rejections: with 200 runs a true level of .05 exceeds 20 once in eight hundred times."""


def rejections(groups: int, rows: int, together: float, law: tuple[float, float], *, grouped: bool) -> int:
    """Return the number of calibrated samples of ``groups`` of about ``rows`` rows with p <= .05; groups agree."""
    rng, found = np.random.default_rng(11), 0
    for _ in range(RUNS):
        sizes = 1 + rng.poisson(rows - 1, groups)
        code = np.repeat(np.arange(groups), sizes)
        risk = rng.beta(*law, len(code))
        shared = np.sqrt(together) * rng.standard_normal(groups)[code]
        happened = stats.norm.cdf(shared + np.sqrt(1 - together) * rng.standard_normal(len(code))) < risk
        p = Predictions(np.column_stack([1 - risk, risk]), happened.astype(int), groups=code if grouped else None)
        found += overall_gap(p, notion="event").p_value <= 0.05
    return found


CASES = [(40, 10, 0.3, (2, 5)), (30, 50, 0.1, (2, 5)), (150, 4, 0.3, (1, 9))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_that_belong_together_are_called_off_in_a_twentieth_at_most(case):
    assert rejections(*case, grouped=True) <= MOST


@pytest.mark.wide
def test_they_are_far_more_often_if_that_is_ignored():
    assert rejections(*CASES[0], grouped=False) > MOST


def test_it_sees_a_gap():
    rng = np.random.default_rng(3)
    code, risk = np.repeat(np.arange(60), 5), rng.beta(2, 5, 300)
    happened = (rng.random(300) < 0.6 * risk).astype(int)
    p = Predictions(np.column_stack([1 - risk, risk]), happened, groups=code)
    assert in_the_large(p).p_value < 0.01


def test_p_and_the_end_towards_the_expected_number_never_disagree():
    """p <= a exactly where the interval at level 1 - 2a excludes calibration: 60 samples, near and far."""
    rng, apart = np.random.default_rng(8), 0
    for _ in range(60):
        s = rng.beta(2, 5, 120)
        y = (rng.random(120) < np.clip(s * rng.choice([0.7, 0.8, 1.0, 1.2]), 0, 1)).astype(int)
        weights = None if rng.random() < 0.5 else rng.exponential(size=120)
        p = Predictions(np.column_stack([1 - s, s]), y, weights=weights)
        for level in (0.8, 0.9, 0.96):
            found = in_the_large(p, level)
            excluded = not found.gap_low <= 0 <= found.gap_high
            assert excluded == (found.p_value <= (1 - level) / 2 + 1e-12), (level, found.p_value)
            apart += excluded
    assert 20 < apart < 160
