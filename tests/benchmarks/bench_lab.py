"""P5's contest over many models, as on screen: under 10 seconds of one core."""

import time

from calib_core import lab
from calib_core.lab import true_errors, truths

LIMIT = 10.0
"""Maximum seconds of processor time for twenty samples of each of twelve models, including their fits."""


def from_nothing():
    for cached in (truths._fitted, truths._modes, true_errors.holdout, true_errors._of_law):
        cached.cache_clear()
    start = time.process_time()
    run = lab.experiment("models", draws=20)
    return run, time.process_time() - start


def test_the_contest_of_estimators_over_models(benchmark):
    run, seconds = benchmark.pedantic(from_nothing, rounds=1)
    benchmark.extra_info["cpu_seconds"] = round(seconds, 2)
    assert len(run.lines) == 12 * 5 * 5
    assert seconds < LIMIT
