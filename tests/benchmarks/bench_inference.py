"""Intervals, resamples and noise floors; one round each where a call takes seconds."""

import pytest

from calib_core import estimate
from calib_core.diagrams import error_sweep
from calib_core.inference import bootstrap, interval, noise_floor


def once(benchmark, call, *args):
    benchmark.pedantic(call, args=args, rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("estimator", ["ece", "debiased-l2"])
@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_bootstrap_of_1000(benchmark, sample, notion, estimator):
    once(benchmark, bootstrap, estimate(sample.predictions, notion, estimator).question)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_default_interval(benchmark, sample, notion):
    once(benchmark, interval, estimate(sample.predictions, notion).question)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_noise_floor_of_1000(benchmark, sample, notion):
    once(benchmark, noise_floor, estimate(sample.predictions, notion).question)


@pytest.mark.parametrize("floor", [False, True])
def test_error_sweep(benchmark, sample, floor):
    benchmark.pedantic(error_sweep, args=(sample.predictions,), kwargs={"floor": floor}, rounds=3)
