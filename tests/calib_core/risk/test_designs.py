"""Weights and designs: samples by the outcome are named, and intervals have their coverage or are known to be wide."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import calib_core as cc
from calib_core import Predictions, risk
from calib_core.risk.in_the_large import UNDERSAMPLED


def drawn(rng, n, middle):
    """Return calibrated risks and outcomes."""
    s = expit(rng.normal(middle, 1, n))
    return s, rng.random(n) < s


def survey(rng):
    """Weights that have nothing to do with the outcome."""
    s, y = drawn(rng, 1500, -2.5)
    return s, y, np.where(rng.random(1500) < 0.3, 3.7, 0.9) * rng.uniform(0.8, 1.2, 1500)


def by_risk(rng):
    """A third of low risks is sampled, so that events have smaller weights, but not given the risk."""
    s, y = drawn(rng, 1500, -2.5)
    return s, y, np.where(s > 0.15, 1.0, 2.9)


def case_cohort(rng):
    """All events, and one in ten other rows of a cohort."""
    s, y = drawn(rng, 8000, -3.2)
    kept = y | (rng.random(8000) < 0.1)
    return s[kept], y[kept], np.where(y, 1, 9.9)[kept]


def nested(rng):
    """All events, and two other rows for each from the same quarter of the risks, with known fractions."""
    s, y = drawn(rng, 8000, -3.2)
    quarter = np.searchsorted(np.quantile(s, [0.25, 0.5, 0.75]), s)
    kept, weights = y.copy(), np.ones(8000)
    for part in range(4):
        others, events = np.flatnonzero((quarter == part) & ~y), int((y & (quarter == part)).sum())
        chosen = rng.choice(others, 2 * events, replace=False)
        kept[chosen], weights[chosen] = True, len(others) / max(2 * events, 1)
    return s[kept], y[kept], weights[kept]


def few_events(rng):
    """One in five events, and all other rows."""
    s, y = drawn(rng, 3000, -1.5)
    kept = ~y | (rng.random(3000) < 0.2)
    return s[kept], y[kept], np.where(y, 4.9, 1.0)[kept]


DESIGNS = {each.__name__: each for each in (survey, by_risk, case_cohort, nested, few_events)}


def rows(design, seed):
    s, y, weights = DESIGNS[design](np.random.default_rng(seed))
    return Predictions(np.column_stack([1 - s, s]), y.astype(int), weights=weights / weights.mean() * (1 + 1e-7))


@pytest.mark.parametrize("design", DESIGNS)
def test_only_undersampled_events_are_named(design):
    for seed in range(4):
        found = risk.in_the_large(rows(design, seed))
        assert (found.note == UNDERSAMPLED) == (design == "few_events"), seed
        assert found.tested <= (not found.note)


# Shares of 90 % intervals that include the truth, and how far the share may be from .9 by its standard error.
LEAST = {"survey": 0.85, "by_risk": 0.85, "case_cohort": 0.95, "nested": 0.95}


@pytest.mark.wide
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_of_designs_with_known_fractions_are_valid_or_named(design):
    ratio, slope = [], []
    for seed in range(300):
        found = risk.in_the_large(rows(design, 1000 + seed))
        ratio.append(found.ratio_low <= 1 <= found.ratio_high)
        slope.append(found.slope_low <= 1 <= found.slope_high)
    if design == "few_events":
        assert np.mean(slope) < 0.85, "what the note is about"
    else:
        assert min(np.mean(ratio), np.mean(slope)) > LEAST[design]


@pytest.mark.wide
def test_clustered_rows_have_a_valid_ratio_and_no_interval_of_the_slope():
    hospitals = np.repeat(np.arange(40), 40)
    nodes, masses = np.polynomial.hermite_e.hermegauss(15)
    hits = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x, shift = rng.normal(-2, 1, 1600), rng.normal(0, 0.4, 40)
        s = expit(x[:, None] + 0.4 * nodes) @ masses / masses.sum()
        y = rng.random(1600) < expit(x + shift[hospitals])
        found = risk.in_the_large(Predictions(np.column_stack([1 - s, s]), y.astype(int), groups=hospitals))
        hits.append(found.ratio_low <= 1 <= found.ratio_high)
        assert np.isnan(found.slope_low)
        assert "independent rows" in found.slope_note
    assert np.mean(hits) > 0.85


def test_sites_refuse_groups_in_a_sentence():
    s = np.linspace(0.1, 0.9, 100)
    site = pd.DataFrame({"site": ["a", "b"] * 50})
    grouped = Predictions(np.column_stack([1 - s, s]), np.arange(100) % 2, groups=np.arange(100) // 4, metadata=site)
    with pytest.raises(cc.NotAnswerable, match="comparison of sites needs independent rows"):
        cc.slices.between(grouped, "site")
