"""Former overstatements in sentences and interval ends, each found with distributions that other tests do not use."""

import re

import numpy as np
import pytest
from verdict_shares import more_than

from calib_core import Predictions, estimate
from calib_core.inference import deciding, estimate_line, primary
from calib_core.inference.intervals.inversion import CellGaps, Noise, absolute_high, draws_for


def told(n, *parts):
    """Return ``n`` rows of each (claim, share that comes true)."""
    h = np.repeat([claim for claim, _ in parts], n)
    return Predictions.from_confidence(h, np.concatenate([np.arange(n) < round(share * n) for _, share in parts]))


def spread(n, k, seed=0, scale=2.0):
    """Return a calibrated model."""
    rng = np.random.default_rng(seed)
    p = np.exp(scale * rng.standard_normal((n, k)))
    p /= p.sum(axis=1, keepdims=True)
    return Predictions(p, (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("cells", [140, 350])
def test_upper_ends_hold_errors_spread_evenly_over_many_rich_cells(cells):
    """Top-label at 20 or 50 classes, 143 rows per cell, every cell off by nine tenths of its own noise."""
    rng = np.random.default_rng(0)
    rows, score = np.full(cells, 143.0), np.linspace(0.55, 0.95, cells)
    true = score - 0.9 * np.sqrt(score * (1 - score) / rows)
    weight, error = np.full(cells, 1 / cells), np.abs(true - score).mean()
    errors = rng.standard_normal((draws_for(cells), cells))
    unit, missed, runs = 1 / rows.sum(), 0, 60
    for _ in range(runs):
        z = rng.binomial(143, true) / 143
        noise = Noise(unit, float((rows * true * (1 - true)).sum()), float((rows * z * (1 - z)).sum()))
        made = CellGaps(weight, rows, z, score)
        assert made.rich
        missed += absolute_high(made, noise, 0.9, errors) < error
    assert not more_than(missed / runs, runs), missed / runs


@pytest.mark.parametrize("truth", [(0.318, 0.812, 6000), (0.312, 0.808, 20_000)])
def test_beside_an_interval_that_leaves_zero_out_no_score_shows_no_error(truth):
    """Errors cancel in the Brier score: above .3 and above .8."""
    low, high, n = truth
    made = primary(told(n, (0.3, low), (0.8, high)))
    assert made.line.low > 0
    assert "shows no error" not in made.sentence
    assert "does not detect" in made.sentence


def test_a_test_that_sees_no_error_is_not_said_to_rule_one_out():
    """Gupta and Ramdas 2022, Example 1: two predicted classes, each 40 points off, that cancel."""
    n = 250
    labels = np.repeat([0, 1, 1], [n // 5, n - n // 5, n])
    two = Predictions.from_confidence(np.full(2 * n, 0.6), predicted=np.repeat([0, 1], n), labels=labels)
    sentence = deciding(two, "confidence").sentence
    assert "finds no evidence of an error (Spiegelhalter" in sentence
    assert "so errors of different rows can cancel." in sentence


@pytest.mark.parametrize(("n", "score", "right"), [(2000, 0.97, 1917), (900, 0.97, 882), (200, 1.0, 191)])
def test_printed_ends_lie_on_the_side_of_the_tolerance_that_the_word_says(n, score, right):
    verdict = estimate(told(n, (score, right / n))).verdict(0.02)
    low, high = map(float, re.search(r"interval ([\d.]+) to ([\d.]+) %", verdict.sentence).groups())
    on_side = {"within": high < 2, "miscalibrated": low > 2, "too close to call": low <= 2 <= high}
    assert on_side[verdict.word], verdict.sentence


def test_a_small_tolerance_and_a_small_interval_are_not_printed_as_nothing():
    sentence = estimate(told(100_000, (1.0, 1.0))).verdict(0.00004).sentence
    assert "tolerance of 0 %" not in sentence
    assert "0 to 0 %" not in sentence


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n_k", [(3000, 30), (1000, 20)])
def test_the_rows_that_would_tell_tell(n_k):
    """The stated number of rows from the same distribution gives more than "too few" in most draws."""
    n, k = n_k
    needed = estimate(spread(n, k, 0, 5.0), "top-label").verdict(0.02).rows_needed
    again = [estimate(spread(int(1.2 * needed), k, seed, 5.0), "top-label").verdict(0.02) for seed in (1, 2, 3)]
    assert sum(v.word == "too few rows to tell" for v in again) <= 1, [(v.high, v.rows_needed) for v in again]


def test_rows_that_would_tell_are_counted_on_the_scale_of_the_error_not_of_its_square():
    """The bins are the same, and the interval up to the square."""
    rows = spread(600, 5)
    root, square = (estimate(rows, "confidence", key).verdict(0.01) for key in ("rmsce", "debiased-l2"))
    assert root.high == pytest.approx(square.high)
    assert square.rows_needed == pytest.approx(root.rows_needed, rel=0.1)


def test_too_few_rows_does_not_depend_on_the_order_of_rows():
    rows, rng = spread(600, 5), np.random.default_rng(1)
    asked = [estimate(rows.take(rng.permutation(600)), "confidence").verdict(0.0777).word for _ in range(8)]
    assert len(set(asked)) == 1, asked


def test_a_line_counts_the_rows_that_were_answered():
    h = np.full(1000, 0.95)
    rows = Predictions(np.column_stack([h, 1 - h]), np.zeros(1000, dtype=int), abstained=np.arange(1000) >= 210)
    line = estimate_line(estimate(rows, "confidence"))
    assert line.rows == 210
    assert "1,000 rows" not in primary(rows).reason


@pytest.mark.parametrize("key", ["max-deviation", "ece-convex"])
def test_a_number_on_another_scale_is_not_called_the_estimators_own(key):
    """Class-wise, five classes: .016 is reported as 3.9 %."""
    made = estimate(spread(600, 5), "class-wise", key)
    verdict = made.verdict()
    if "this estimator's noiseless value is estimated" in verdict.sentence:
        assert verdict.point == pytest.approx(made.interval().point)


def test_the_worst_bin_and_the_mean_over_bins_are_told_apart():
    """ECE: within; MCE: miscalibrated. Both were called "the error in these bins"."""
    h = np.repeat([0.3, 0.8], [100, 5000])
    rows = Predictions.from_confidence(h, np.r_[np.arange(100) < 60, np.arange(5000) < 4000])
    mean, worst = (estimate(rows, "confidence", key).verdict() for key in ("ece", "mce"))
    assert (mean.word, worst.word) == ("within", "miscalibrated")
    subjects = [v.sentence.split(": ", 1)[1].split(" is estimated")[0] for v in (mean, worst)]
    assert subjects[0] != subjects[1]


def test_the_worst_bin_is_no_probability_on_wrong_classes():
    sentence = estimate(spread(600, 5), "class-wise", "mce").verdict().sentence
    assert "probability assigned to wrong classes" not in sentence


def test_one_group_is_one_group_and_pooled_classes_are_said_to_be():
    said = np.random.default_rng(0).integers(100, size=200)
    made = primary(Predictions(np.eye(100)[said], said))
    assert "1 groups" not in made.sentence
    assert made.notion == "confidence" or "pooled" in made.sentence, made.sentence


def test_errors_of_pooled_classes_do_not_cancel():
    """Claims of .999 are right nine times in ten: over all classes, mean prediction and frequency are equal."""
    rng = np.random.default_rng(0)
    said = rng.integers(20, size=300)
    p = np.full((300, 20), 0.001 / 19)
    p[np.arange(300), said] = 0.999
    for key in ("ece", "rmsce"):
        made = estimate(Predictions(p, np.where(rng.random(300) < 0.1, (said + 1) % 20, said)), "class-wise", key)
        assert made.interval().high > 0.01, key
        assert made.verdict().word != "within"
