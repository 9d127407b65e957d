"""Fitting and applying calibrators; compare with `test_read_pass` of bench_estimates.py."""

import numpy as np
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


def test_fit_of_the_package_venn_abers(benchmark, sample):
    """The same one-against-the-rest fits, class by class."""
    peer = pytest.importorskip("venn_abers.venn_abers").VennAbers
    if sample.probs.shape[1] > 10:
        pytest.skip("takes half a minute at M")
    columns = [np.column_stack([1 - p, p]) for p in sample.probs.astype(np.float64).T]

    def fits():
        return [peer().fit(p, sample.labels == c) for c, p in enumerate(columns)]

    benchmark.pedantic(fits, rounds=2, warmup_rounds=0)
