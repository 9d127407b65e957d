"""Kernel curves, their bands and errors, smooth ECE and kernel calibration error."""

import numpy as np
import pytest

from calib_core import Predictions, estimate
from calib_core.diagrams import kernel_curve
from calib_core.estimators import KernelCalibrationError
from calib_core.estimators.kernel import Grid, Silverman, Triweight
from calib_core.estimators.kernel.kernels import response
from calib_core.estimators.kernel.resampling import occupied, resampled
from calib_core.reductions import Canonical, Confidence


@pytest.fixture(scope="module")
def million():
    rng = np.random.default_rng(0)
    h = rng.beta(5, 1.3, 1_000_000)
    return Predictions.from_confidence(h, rng.random(1_000_000) < h)


def resampled_errors(predictions, resamples=1000):
    """ECE_KDE of every resample, as an interval would need them."""
    claims = Confidence().split(predictions)
    stratum, grid = claims.stratum(0), Grid(claims.floor)
    damping = response(Triweight(), Silverman()(stratum.scores), grid)
    return np.concatenate([batch.error for batch in resampled(occupied(stratum, grid), damping, resamples, 0, 8)])


def test_curve(benchmark, sample):
    benchmark(kernel_curve, sample.predictions, resamples=0)


def test_curve_with_band_of_1000(benchmark, sample):
    benchmark.pedantic(kernel_curve, (sample.predictions,), rounds=3, warmup_rounds=1)


def test_ece_kde_with_1000_resamples(benchmark, sample):
    benchmark.pedantic(resampled_errors, (sample.predictions,), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("notion", ["confidence", "class-wise"])
@pytest.mark.parametrize("estimator", ["ece-kde", "smece", "skce"])
def test_estimate(benchmark, sample, estimator, notion):
    benchmark.pedantic(estimate, (sample.predictions, notion, estimator), rounds=2, warmup_rounds=1)


def test_canonical_kernel_calibration_error(benchmark, sample):
    benchmark.pedantic(KernelCalibrationError(), (Canonical().split(sample.predictions),), rounds=1)


@pytest.mark.parametrize("estimator", ["ece-kde", "smece", "skce"])
def test_a_million_rows(benchmark, million, estimator):
    benchmark.pedantic(estimate, (million, "confidence", estimator), rounds=3, warmup_rounds=1)


def test_band_of_a_million_rows(benchmark, million):
    benchmark.pedantic(kernel_curve, (million,), rounds=2)
