"""Weights and designs: intervals of samples by the outcome, and of clusters, have their coverage; naive ones fail."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import norm, t

import calib_core as cc
from calib_core import Predictions, risk
from calib_core.inference.intervals.sampling_designs import event_variance, shifted, slope_effect
from calib_core.risk.in_the_large import UNDERSAMPLED

sys.path[:0] = [str(Path(__file__).parents[2] / part) for part in ("simulations", "support")]
import design_laws as designs  # noqa: E402
import designs as simulated  # noqa: E402


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


SIMULATED = pd.read_csv(Path(simulated.__file__).with_suffix(".csv"))
KNOWN = SIMULATED[SIMULATED["none"] < 0.5]
KNOWN = KNOWN.assign(missed=(KNOWN["low_misses"] + KNOWN["high_misses"]) / (1 - KNOWN["none"]))


def test_simulated_intervals_of_designs_have_their_coverage():
    """A case may miss .1 and 3.5 of its standard errors; on average over cases no measure misses more than .1."""
    robust = KNOWN[KNOWN["naive"] == 0]
    runs = robust["runs"] * (1 - robust["none"])
    assert not (robust["missed"] > 0.1 + 3.5 * np.sqrt(0.09 / runs)).any()
    assert (robust.groupby("measure")["missed"].mean() <= 0.1).all()
    assert robust["design"].nunique() == 6


def test_simulated_naive_intervals_of_designs_fail():
    naive = KNOWN[KNOWN["naive"] == 1]
    missed = naive.groupby(["design", "measure"])["missed"].mean().unstack()
    weighted = missed.drop(index="clustered")
    assert (weighted.mean() > 0.15).all(), "every measure, where weights are read as copies"
    assert (weighted.max(axis=1) > 0.2).all(), "every weighted design"
    assert missed.loc["clustered", ["ratio", "auroc", "benefit"]].max() > 0.1


@pytest.mark.parametrize(("design", "seed"), [("case_cohort", 1), ("few_events", 2), ("clustered_cohort", 3)])
def test_stored_coverage_of_designs_is_that_of_today(design, seed):
    """Cheap: 12 new samples, in which at most 5 intervals of a measure miss (chance .0005 each)."""
    n = 1200 if design == "few_events" else 400  # of which one in five events is sampled
    robust = designs.misses(design, n, 0.1, 12, seed)
    naive = designs.misses(design, n, 0.1, 12, seed, naive=True)
    for measure, found in robust.items():
        assert found[0] + found[1] <= 5.2 / 12, measure
        assert found[3] > 1.15 * naive[measure][3], measure


def by_hand(terms, weights, groups=None):
    """The standard error of a weighted mean of terms, from sums over rows or groups."""
    sums = weights * terms if groups is None else np.bincount(groups, weights * terms)
    return np.sqrt((sums**2).sum()) / weights.sum()


@pytest.mark.parametrize("design", ["case_cohort", "few_events"])
def test_widths_are_those_of_the_sandwich_by_hand(design):
    s, y, w, _ = designs.DESIGNS[design](np.random.default_rng(7), 4000, 0.1)
    found = risk.in_the_large(Predictions(np.column_stack([1 - s, s]), y.astype(int), weights=w * (1 + 1e-7)))
    z, expected = 1.6449, (w @ s) / w.sum()
    error = by_hand(y - s * found.ratio, w) / expected
    assert found.ratio_high - found.ratio_low == pytest.approx(2 * z * error, rel=0.06)
    x = np.column_stack([np.ones_like(s), logit(s)])
    beta = np.zeros(2)
    for _ in range(30):
        p = expit(x @ beta)
        information = x.T @ (x * (w * p * (1 - p))[:, None])
        beta += np.linalg.solve(information, x.T @ (w * (y - p)))
    bread = np.linalg.inv(information)
    sandwich = bread @ (x.T @ (x * (w * (y - p))[:, None] ** 2)) @ bread
    assert found.slope == pytest.approx(beta[1], abs=1e-6)
    assert found.slope_high - found.slope_low == pytest.approx(2 * z * np.sqrt(sandwich[1, 1]), rel=0.06)


def test_net_benefit_of_weighted_rows_has_at_least_the_width_of_its_linearization():
    s, y, w, g = designs.DESIGNS["clustered_cohort"](np.random.default_rng(8), 3000, 0.1)
    threshold = 0.15
    terms = np.where(s > threshold, np.where(y, 1, -threshold / (1 - threshold)), 0.0)
    for groups in (None, g):
        rows = Predictions(np.column_stack([1 - s, s]), y.astype(int), weights=w * (1 + 1e-7), groups=groups)
        curve = cc.diagrams.decision_curve(rows, thresholds=(threshold,))
        benefit = (w @ terms) / w.sum()
        assert curve.benefit[0] == pytest.approx(benefit)
        half = 1.6449 * by_hand(terms - benefit, w, groups)
        assert benefit - curve.low[0] >= half
        assert curve.high[0] - curve.low[0] < 2 * 1.6 * half


def test_a_run_without_an_event_counts_the_weight_of_one_unseen():
    """Above the threshold nobody had the event: one who had would weigh 5, as the others with the event do."""
    s = np.repeat([0.1, 0.6], [80, 20])
    y = (np.arange(100) < 10).astype(int)
    weights = np.where(y, 5.0001, 1.0)
    rows = Predictions(np.column_stack([1 - s, s]), y, weights=weights)
    curve = cc.diagrams.decision_curve(rows, thresholds=(0.5,))
    assert curve.hits[0] == 0
    unseen = 1 - 0.05 ** (1 / (20 / 5.0001))
    assert curve.hits_high[0] == pytest.approx(20 / weights.sum() * unseen, rel=1e-3)


def test_sites_refuse_groups_in_a_sentence():
    s = np.linspace(0.1, 0.9, 100)
    site = pd.DataFrame({"site": ["a", "b"] * 50})
    grouped = Predictions(np.column_stack([1 - s, s]), np.arange(100) % 2, groups=np.arange(100) // 4, metadata=site)
    with pytest.raises(cc.NotAnswerable, match="comparison of sites needs independent rows"):
        cc.slices.between(grouped, "site")


def test_the_widest_linearization_counts():
    risks, died, weights = np.full(4, 0.5), np.array([True, True, False, False]), np.array([1.0, 1.0, 3.0, 3.0])
    assert event_variance(risks, died, weights, risks) == 2 * 0.25 + 2 * 9 * 0.25
    assert event_variance(risks, died, weights, risks / 2) == 2 * 0.75**2 + 2 * 9 * 0.25**2
    assert shifted(np.array([0.0, 0.5, 1.0]), np.log(3)).tolist() == pytest.approx([0, 0.75, 1])


def test_the_slope_of_groups_adds_what_their_rows_have_with_signs():
    rng = np.random.default_rng(3)
    x, codes = rng.normal(size=60), np.arange(60) // 3
    y, p, w = rng.random(60) < 0.4, expit(x - 0.5), rng.uniform(0.5, 2, 60)
    groups = Predictions(np.full((60, 2), 0.5), y.astype(int), groups=codes).row_groups
    design = np.column_stack([np.ones(60), x])
    bread = np.linalg.inv(design.T @ (design * (w * p * (1 - p))[:, None]))
    middle = np.zeros((2, 2))
    for g in range(20):
        mine = codes == g
        own = design[mine].T @ (design[mine] * (w * p * (1 - p))[mine][:, None])
        score = np.linalg.inv(np.eye(2) - own @ bread) @ (design[mine].T @ (w * (y - p))[mine])
        middle += np.outer(score, score)
    like = np.bincount(codes, w).sum() ** 2 / np.square(np.bincount(codes, w)).sum()
    wide = (t.ppf(0.95, like - 1) / norm.ppf(0.95)) ** 2
    found = slope_effect(x, y, w, p, groups, 0.9)
    assert found == pytest.approx((bread @ middle @ bread)[1, 1] / bread[1, 1] * wide, rel=1e-6)


def test_the_share_of_weighted_groups_has_the_width_of_its_linearization():
    s, y, w, g = designs.DESIGNS["clustered_cohort"](np.random.default_rng(9), 2000, 0.02)
    rows = Predictions(np.column_stack([1 - s, s]), y.astype(int), weights=w * (1 + 1e-7), groups=g)
    found = risk.in_the_large(rows)
    width = 2 * t.ppf(0.95, 38) * by_hand(y - found.observed, w, g)
    assert found.observed_high - found.observed_low == pytest.approx(width, rel=0.15)
