"""LECE and Meta-Cal: 5,000 calibration rows, 10,000 rows to calibrate, as in the published timings."""

import numpy as np
import pytest

from calib_core import CALIBRATORS, Predictions


@pytest.fixture(scope="module", params=[10, 100], ids="K={}".format)
def halves(request):
    rng = np.random.default_rng(0)
    z = 3 * rng.standard_normal((15_000, request.param))
    probs = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    labels = (rng.random(15_000)[:, None] > probs.cumsum(1)[:, :-1]).sum(1)
    return Predictions(probs[:5000], labels[:5000]), Predictions(probs[5000:], labels[5000:])


@pytest.mark.parametrize("neighbours", [50, 500])
def test_lece(benchmark, halves, neighbours):
    fit, new = halves
    cal = CALIBRATORS.make("lece", neighbours=neighbours).fit_on(fit)
    benchmark.pedantic(cal.apply, (new,), rounds=3, warmup_rounds=1)


def test_lece_cross_validation(benchmark, halves):
    cal = CALIBRATORS.make("lece", cross_validate=True)
    benchmark.pedantic(cal.fit_on, (halves[0],), rounds=1)


def test_meta_cal(benchmark, halves):
    fit, new = halves
    cal = CALIBRATORS.make("metacal-miscoverage")
    benchmark.pedantic(lambda: cal.fit_on(fit).apply(new), rounds=3, warmup_rounds=1)
