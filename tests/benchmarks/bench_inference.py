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


def anew(benchmark, sample, notion, ask):
    """Time a question that nothing is known about: it keeps what was drawn for it."""

    def question():
        return (estimate(sample.predictions, notion).question,), {}

    benchmark.pedantic(ask, setup=question, rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_default_interval(benchmark, sample, notion):
    anew(benchmark, sample, notion, interval)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_noise_floor_of_1000(benchmark, sample, notion):
    anew(benchmark, sample, notion, noise_floor)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_interval_and_noise_floor(benchmark, sample, notion):
    anew(benchmark, sample, notion, lambda question: (noise_floor(question), interval(question)))


@pytest.mark.parametrize("floor", [False, True])
def test_error_sweep(benchmark, sample, floor):
    benchmark.pedantic(error_sweep, args=(sample.predictions,), kwargs={"floor": floor}, rounds=3)
