"""External validation: published examples, the authors' package, exact integrals, and simulated standard errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions
from calib_core.inference.intervals.observed_expected import maximum_likelihood
from calib_core.planning import PLANS, answer, validation_size
from calib_core.planning.external_validation import beta_of, beta_risks, calibrated_auroc

LEAST = stats.norm.ppf((np.arange(4000) + 0.5) / 4000)


def normal_risks(mean, spread):
    return 1 / (1 + np.exp(-(mean + spread * LEAST)))


# pmvalsampsize 0.2.1 with simobs=4_000_000, seed=1. It simulates the risks, and searches standard errors in steps.
AUTHORS = [
    # pmvalsampsize(type="b", prevalence=.018, cstatistic=.8, lpnormal=(-5, 2.5), oeciwidth=1)
    (normal_risks(-5, 2.5), {"event_rate": 0.018, "auroc": 0.8, "ratio_width": 1}, [905, 4558, 4252]),
    # pmvalsampsize(type="b", prevalence=.1, cstatistic=.75, lpbeta=(.5, 4.5), oeciwidth=.4)
    (beta_risks(0.5, 4.5), {"event_rate": 0.1, "auroc": 0.75, "ratio_width": 0.4}, [876, 4521, 1008]),
    # pmvalsampsize(type="b", prevalence=.3, cstatistic=.8, lpbeta=(1.2, 2.8), threshold=.25)
    (beta_risks(1.2, 2.8), {"event_rate": 0.3, "auroc": 0.8, "threshold": 0.25}, [898, 2619, 360, 470]),
]


@pytest.mark.parametrize(("risks", "options", "rows"), AUTHORS)
def test_the_numbers_of_rows_are_those_of_the_authors_package(risks, options, rows):
    size = validation_size(risks, **options)
    assert size.frame()["rows"].tolist() == pytest.approx(rows, rel=0.003)
    assert size.rows == max(size.frame()["rows"])
    assert size.decides == "slope"


def test_the_published_example_needs_4252_rows_for_the_auroc():
    """Riley et al. 2021: C statistic .8 and 1.8 % events; the number depends on no distribution."""
    assert validation_size([0.01, 0.05], event_rate=0.018, auroc=0.8).needed("auroc") == 4252


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 4.5), (1.2, 2.8), (3.0, 3.0)])
def test_means_over_the_quantiles_are_the_integrals_over_the_distribution(alpha, beta):
    law = stats.beta(alpha, beta)

    def mean(power):
        def part(p):
            return law.pdf(p) * p * (1 - p) * math.log(p / (1 - p)) ** power

        return integrate.quad(part, 0, 1, limit=200)[0]

    i00, i01, i11 = map(mean, range(3))
    t = 0.2
    hit, spared = 1 - stats.beta.cdf(t, alpha + 1, beta), stats.beta.cdf(t, alpha, beta + 1)
    f = alpha / (alpha + beta)
    w = (1 - f) / f * t / (1 - t)
    size = validation_size(beta_risks(alpha, beta), threshold=t)
    assert size.slope_variance == pytest.approx(i00 / (i00 * i11 - i01**2), rel=2e-3)
    assert size.benefit == pytest.approx(hit - w * (1 - spared), rel=2e-3)
    variance = hit * (1 - hit) / f + w**2 * spared * (1 - spared) / (1 - f) + w**2 * (1 - spared) ** 2 / (f * (1 - f))
    assert size.benefit_variance == pytest.approx(variance, rel=2e-3)


def simulated_errors(rows, alpha, beta, threshold, draws):
    """Standard errors of log O:E, slope, AUROC and standardized net benefit among calibrated samples."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(draws):
        p = rng.beta(alpha, beta, rows)
        y = rng.random(rows) < p
        design = np.column_stack([np.ones(rows), np.log(p / (1 - p))])
        slope = maximum_likelihood(design, np.ones(rows), y.astype(float)).coefficients[1]
        ranks, events = stats.rankdata(p), y.sum()
        auroc = (ranks[y].sum() - events * (events + 1) / 2) / (events * (rows - events))
        acted = p > threshold
        odds = (rows - events) / events * threshold / (1 - threshold)
        found.append([np.log(events / p.sum()), slope, auroc, acted[y].mean() - odds * acted[~y].mean()])
    return np.std(found, axis=0)


def test_intervals_are_as_wide_as_simulated_errors_say():
    rows, draws, rate = 600, 400, 1.2 / 4
    size = validation_size(beta_risks(1.2, 2.8), threshold=0.25)
    widths = {name: float(width) for name, width in size.widths(rows).items()}
    z = stats.norm.isf(0.025)
    stated = [math.asinh(widths["ratio"] / 2) / z, *(widths[name] / 2 / z for name in ("slope", "auroc", "benefit"))]
    seen = simulated_errors(rows, 1.2, 2.8, 0.25, draws)
    # Four standard errors of a standard deviation; Newcombe's formula, of the AUROC, assumes another distribution.
    assert np.abs(seen / stated - 1).max() < 4 / math.sqrt(2 * draws) + 0.05
    # The twin: with a known intercept, the slope would be far more certain.
    p = beta_risks(1.2, 2.8)
    x = np.log(p / (1 - p))
    known = 1 / np.sqrt(rows * np.mean(p * (1 - p) * x**2))
    assert abs(seen[1] / known - 1) > 4 / math.sqrt(2 * draws) + 0.05
    assert rate == pytest.approx(size.event_rate, abs=1e-3)


@pytest.mark.parametrize(("rate", "auroc"), [(0.02, 0.7), (0.3, 0.85), (0.5, 0.6), (0.1, 0.98)])
def test_the_beta_distribution_has_the_stated_event_rate_and_auroc(rate, auroc):
    alpha, beta = beta_of(rate, auroc)
    assert alpha / (alpha + beta) == pytest.approx(rate)
    rng = np.random.default_rng(1)
    p = rng.beta(alpha, beta, 200_000)
    y = rng.random(len(p)) < p
    ranks = stats.rankdata(p)
    drawn = (ranks[y].sum() - y.sum() * (y.sum() + 1) / 2) / (y.sum() * (~y).sum())
    assert drawn == pytest.approx(auroc, abs=0.01)


def test_the_auroc_of_a_calibrated_model_counts_every_pair():
    p = np.array([0.1, 0.3, 0.3, 0.9])
    w = np.array([0.1, 0.2, 0.3, 0.4])
    above, total = 0.0, 0.0
    for i in range(4):
        for j in range(4):
            pair = w[i] * p[i] * w[j] * (1 - p[j])
            above += pair * (float(p[i] > p[j]) + 0.5 * float(p[i] == p[j]))
            total += pair
    assert calibrated_auroc(p, w) == pytest.approx(above / total)


def test_the_rows_needed_are_the_first_with_narrow_intervals():
    size = validation_size(beta_risks(1, 4), threshold=0.2, level=0.9)
    for name, target in size.targets.items():
        n = size.needed(name)
        assert size.widths(n)[name] <= target < size.widths(n - 1)[name]


def test_a_file_gives_its_risks_by_weight_and_its_rows():
    rng = np.random.default_rng(0)
    risk = rng.beta(1, 4, 500)
    rows = Predictions(np.column_stack([1 - risk, risk]), (rng.random(500) < risk).astype(int))
    found = answer("validation", rows, rows)
    by_hand = validation_size(risk)
    assert found.amount == 500
    assert found.needed == by_hand.rows
    assert found.plan.auroc == pytest.approx(calibrated_auroc(risk, np.full(500, 1 / 500)))
    copies = np.where(risk > 0.2, 3.0, 1.0)
    heavier = answer("validation", rows, rows.replace(weights=copies))
    assert heavier.needed == validation_size(np.repeat(risk, copies.astype(int))).rows
    assert f"{found.needed:,} rows" in found.inverse
    own = answer(PLANS.make("validation", alpha=2.0, beta=2.0), rows, rows)
    assert (own.amount, own.plan.event_rate) == (500, pytest.approx(0.5))


def test_the_bound_is_one_exactly_from_the_rows_needed_on():
    plan = PLANS.make("validation", event_rate=0.1, auroc=0.8, rows=1000, threshold=0.2)
    found = answer(plan)
    first = next(iter(found.plan.curves(np.array([found.needed - 1.0, found.needed])).values()))
    assert first[0] > 1 >= first[1]
    assert found.limit == 1


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({}, "“Number of test rows” (rows) is missing|“Share of events” (event_rate) is missing"),
        ({"rows": 500}, "“Share of events” (event_rate) is missing"),
        ({"rows": 500, "event_rate": 0.1}, "“AUROC” (auroc) is missing"),
        ({"rows": 500, "alpha": 1.0}, "give alpha and beta"),
        ({"alpha": 1.0, "beta": 3.0}, "“Number of test rows” (rows) is missing"),
    ],
)
def test_missing_numbers_are_named(params, why):
    with pytest.raises(NotAnswerable) as raised:
        answer(PLANS.make("validation", **params))
    assert any(each in str(raised.value) for each in why.split("|"))


def test_other_rows_are_refused_in_a_sentence():
    with pytest.raises(NotAnswerable, match="all risks are equal"):
        validation_size([0.2, 0.2, 0.2])
    with pytest.raises(NotAnswerable, match="nothing to validate"):
        validation_size([0.0, 0.0])
    with pytest.raises(InputError, match=r"auroc is 0\.4"):
        validation_size([0.1, 0.2], auroc=0.4)
    with pytest.raises(InputError, match="slope_width is 0"):
        validation_size([0.1, 0.2], slope_width=0)
    with pytest.raises(InputError, match="between 0 and 1, one per row"):
        validation_size([0.1, 1.2])
    with pytest.raises(InputError, match="weights must be 2 numbers"):
        validation_size([0.1, 0.2], [1.0])
    grouped = Predictions([[0.8, 0.2], [0.6, 0.4]] * 10, [0, 1] * 10, groups=np.arange(20) // 2)
    with pytest.raises(NotAnswerable, match="independent rows"):
        answer("validation", grouped, grouped)
    three = Predictions(np.full((6, 3), 1 / 3), [0, 1, 2] * 2)
    with pytest.raises(NotAnswerable):
        answer("validation", three, three)
    assert cc.planning.answers(["validation"], three, three)["note"][0]
