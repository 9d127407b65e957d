"""Errors in all notions, sweeps and diagrams; `test_read_pass`, one pass over the array, is the unit of each size."""

import pytest

from calib_core import REDUCTIONS, Predictions, estimate
from calib_core.binning import EqualWidth, tabulate
from calib_core.diagrams import class_table, reliability
from calib_core.estimators import Binned

NOTIONS = [key for key in REDUCTIONS if key != "canonical"]
SWEEP = [EqualWidth(b) for b in range(5, 26)]


def errors(predictions):
    return [estimate(predictions, notion, "ece").value for notion in NOTIONS]


def swept(predictions, notion, schemes):
    return [Binned().of_table(table).value for table in tabulate(REDUCTIONS.make(notion).split(predictions), schemes)]


def test_read_pass(benchmark, sample):
    """The unit: every entry read once."""
    benchmark(sample.probs.max)


def test_predictions(benchmark, sample):
    """Checking rows and labels, finding the predicted class."""
    benchmark(Predictions, sample.probs, sample.labels)


def test_ece_in_all_notions_ranked(benchmark, sample):
    errors(sample.predictions)
    benchmark(errors, sample.predictions)


def test_ece_in_all_notions_unranked(benchmark, sample):
    """The ranking of the three largest classes is part of the time, the predicted class is not."""
    benchmark.pedantic(errors, setup=lambda: ((sample.fresh(),), {}), rounds=5)


@pytest.mark.parametrize("notion", NOTIONS)
def test_ece(benchmark, sample, notion):
    estimate(sample.predictions, notion, "ece")
    benchmark(estimate, sample.predictions, notion, "ece")


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_sweep_from_5_to_25_bins(benchmark, sample, notion):
    benchmark(swept, sample.predictions, notion, SWEEP)


@pytest.mark.parametrize("bins", ["equal-mass", "distinct"])
def test_confidence_bins_that_need_a_sort(benchmark, sample, bins):
    benchmark(estimate, sample.predictions, "confidence", "ece", bins)


@pytest.mark.parametrize("score", ["log-loss", "brier", "accuracy"])
def test_proper_scores(benchmark, sample, score):
    benchmark(estimate, sample.predictions, None, score)


def test_reliability(benchmark, sample):
    benchmark(reliability, sample.predictions)


@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
def test_class_table(benchmark, sample, notion):
    benchmark(class_table, sample.predictions, notion)
