"""Sample sizes: counts of draws equal full upper ends, and with the stated rows 8 of 10 samples are within."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.stats import norm

from calib_core import Predictions, estimate
from calib_core.inference.intervals import larger_samples
from calib_core.inference.intervals.binned_errors import InBins, is_majority
from calib_core.inference.intervals.interval_methods import typical_high, usually_reaches
from calib_core.inference.intervals.inversion import absolute_high
from calib_core.inference.intervals.larger_samples import DRAWS, cells_with, drawn_cells, times_for_power
from calib_core.inference.verdicts.verdict import of_sample_size

LEVEL, EPS = 0.9, 0.02


def bins_of(n, k, notion):
    rng = np.random.default_rng(n)
    probs = rng.dirichlet(np.full(k, 0.3), n).astype(np.float32)
    question = estimate(Predictions(probs, rng.integers(0, k, n)), notion, "ece").question
    return InBins(question, 0)


def highs(bins, factor, error):
    """Return every upper end of the same draws in full: the slow twin."""
    drawn, errors = drawn_cells(bins._cells_with(factor), error, DRAWS, bins._stream)
    return np.array([absolute_high(cells, noise, LEVEL, errors) for cells, noise in drawn])


@pytest.mark.parametrize(("n", "k", "notion"), [(10, 2, "confidence"), (400, 30, "top-label"), (2000, 10, "top-label")])
@pytest.mark.parametrize("error", [0.0, 0.03])
def test_samples_counted_are_those_whose_upper_end_lies_below_the_limit(n, k, notion, error):
    bins = bins_of(n, k, notion)
    for factor in (1.0, 30.0):
        slow = highs(bins, factor, error)
        for limit in (*np.quantile(slow, (0.1, 0.5, 0.9)), 0.9 * slow.min(), 1.1 * slow.max()):
            assert bins.within_with(factor, LEVEL, float(limit) + 1e-9, error) == (slow < limit + 1e-9).sum()


def test_a_count_of_one_draw_would_be_caught(monkeypatch):
    monkeypatch.setattr(larger_samples, "highs_reaching", lambda *_: 0)
    bins = bins_of(400, 30, "top-label")
    assert bins.within_with(1.0, LEVEL, float(np.median(highs(bins, 1.0, 0.0)))) == DRAWS


def test_drawn_models_have_the_error_that_is_stated():
    bins = bins_of(2000, 10, "confidence")
    cells = cells_with(bins.gaps, None, 1e5)
    drawn, _ = drawn_cells(cells, 0.03, 3, bins._stream)
    for made, _ in drawn:
        assert made.weight @ np.abs(made.outcome - made.score) == pytest.approx(0.03, abs=1e-3)
        assert made.score is cells.score


@pytest.mark.parametrize("true", [1.7, 12.0, 300.0])
def test_a_known_share_of_samples_is_found(true):
    """The shares follow a probit line in the log of the rows and reach 0.8 at a known number, drawn by chance."""
    rng = np.random.default_rng(int(true))

    def within(factor, draws):
        return int(rng.binomial(draws, norm.cdf(norm.ppf(0.8) + 6 * np.log(factor / true))))

    found = [times_for_power(within) for _ in range(40)]
    assert np.median(found) == pytest.approx(true, rel=0.04)
    assert np.quantile(np.abs(np.log(np.array(found) / true)), 0.9) < 0.06, "0.1 with the draws of the search alone"


def test_what_takes_very_many_rows_is_not_named():
    assert times_for_power(lambda factor, draws: 0) is None


def test_the_sentence_states_the_model_and_how_often():
    alone, both = of_sample_size(7310, 0.02), of_sample_size(7310, 0.02, 14650, judged=750)
    assert re.findall(r"\d[\d,]*", alone) == ["7,400", "2", "8", "10"]
    assert re.findall(r"\d[\d,]*", both) == ["7,400", "750", "2", "8", "10", "1", "15,000"]
    assert "7,400 judged rows" in alone
    assert "7,400 independent judged rows" in of_sample_size(7310, 0.02, independent=True)


# ---- simulations with the stated number of fresh rows --------------------------------------------------------


def spread(n, seed, error=0.0):
    rng = np.random.default_rng(seed)
    score = rng.beta(5, 1.3, n)
    return Predictions.from_confidence(score, rng.random(n) < np.where(score >= error, score - error, score + error))


def near_one(n, seed, error=0.0):
    rng = np.random.default_rng(seed)
    score = np.where(rng.random(n) < 0.5, 1.0, rng.beta(200, 1, n))
    return Predictions.from_confidence(score, rng.random(n) < score - error)


SETS, RUNS = 4, 25
MARGIN = 3 * np.sqrt(0.8 * 0.2 / (SETS * RUNS))


def share_within(law, error, named):
    """Return the share within of fresh samples with the number of rows stated for each of a few sets."""
    shown = []
    for seed in range(SETS):
        n = int(named(estimate(law(500 if law is spread else 100, seed)).verdict(EPS)))
        fresh = (estimate(law(n, 1000 * seed + 10 + run, error)) for run in range(RUNS))
        shown += [each.interval(LEVEL).high < EPS for each in fresh]
    return float(np.mean(shown))


def test_with_the_rows_named_a_model_with_no_error_is_within_in_eight_of_ten_samples():
    assert abs(share_within(spread, 0.0, lambda verdict: verdict.rows_needed) - 0.8) <= MARGIN


@pytest.mark.wide
def test_with_the_rows_named_for_half_the_tolerance_so_is_a_model_with_that_error():
    assert abs(share_within(spread, EPS / 2, lambda verdict: verdict.rows_with_error) - 0.8) <= MARGIN


def test_of_scores_near_one_at_least_as_many():
    assert share_within(near_one, 0.0, lambda verdict: verdict.rows_needed) >= 0.8 - MARGIN


@pytest.mark.wide
def test_rows_at_which_half_of_samples_are_within_would_fail():
    """The former rule: the number at which the median upper end equals the tolerance."""

    def by_the_middle(verdict):
        bins = InBins(estimate(spread(500, 0)).question, 0)
        times = 2.0
        while bins.within_with(times, LEVEL, EPS) < DRAWS / 2:
            times *= 1.1
        return 500 * times

    assert share_within(spread, 0.0, by_the_middle) < 0.8 - MARGIN


@pytest.mark.parametrize("key", ["ece", "rmsce", "mce", "debiased-l2", pytest.param("smece", marks=pytest.mark.wide)])
@pytest.mark.parametrize(("notion", "k"), [("event", 2), ("class-wise", 3)])
def test_whether_the_typical_end_reaches_a_limit_is_known_without_it(notion, k, key):
    """Only the draws that decide are made, and of mean absolute errors only whether their ends reach the limit."""
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([0.7] * k, 90)
    drawn = Predictions(probs, (rng.random(90)[:, None] > probs.cumsum(axis=1)).sum(axis=1).clip(0, k - 1))
    end = typical_high(estimate(drawn, notion, key).question, 0.9)
    asked = estimate(Predictions(drawn.probs, drawn.labels), notion, key).question
    for limit in (end / 4, end * 0.999, end * 1.001, 1.0, 1.01):
        assert usually_reaches(asked, limit, 0.9) == (end >= limit), limit


def test_a_majority_is_known_from_the_answers_that_decide_it():
    asked = []

    def answers(*told):
        for told_now in told:
            asked.append(told_now)
            yield told_now

    for told, count, found, read in [
        ((True, True, False), 3, True, 2),
        ((False, True, False), 3, False, 3),
        ((True, False, False, True), 4, False, 3),
    ]:
        asked.clear()
        assert is_majority(answers(*told), count) == found
        assert len(asked) == read
