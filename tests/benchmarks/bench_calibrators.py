"""Fitting and applying calibrators; compare with `test_read_pass` of bench_estimates.py."""

import pytest

from calib_core import CALIBRATORS

KEYS = ["temperature", "top-label-hb", "class-wise-hb", "isotonic-ovr", "venn-abers"]


@pytest.mark.parametrize("key", KEYS)
def test_fit(benchmark, sample, key):
    cal = CALIBRATORS.make(key)
    benchmark.pedantic(cal.fit_on, (sample.predictions,), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("key", KEYS)
def test_apply(benchmark, sample, key):
    cal = CALIBRATORS.make(key).fit_on(sample.predictions)
    benchmark.pedantic(cal.apply, (sample.predictions,), rounds=3)
