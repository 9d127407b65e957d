"""Kernel curves, their bands and errors, smooth ECE and kernel calibration error."""

import numpy as np
import pytest

from calib_core import Predictions, estimate
from calib_core.diagrams import KERNEL_CURVE, corp_band, kernel_curve
from calib_core.estimators import KernelCalibrationError, KernelECE
from calib_core.reductions import Canonical
from calib_core.smoothing import BetaKernel


@pytest.fixture(scope="module")
def million():
    rng = np.random.default_rng(0)
    h = rng.beta(5, 1.3, 1_000_000)
    return Predictions.from_confidence(h, rng.random(1_000_000) < h)


def test_curve(benchmark, sample):
    benchmark(kernel_curve, sample.predictions, band="none")


@pytest.mark.parametrize("band", ["pointwise", "whole-curve"])
@pytest.mark.parametrize(
    "method", [KERNEL_CURVE, KernelECE(), KernelECE(BetaKernel())], ids=["default", "paper", "beta"]
)
def test_curve_with_band(benchmark, sample, method, band):
    benchmark(kernel_curve, sample.predictions, method=method, band=band)


def test_corp_band(benchmark, sample):
    benchmark(corp_band, sample.predictions, band="whole-curve")


@pytest.mark.parametrize("notion", ["confidence", "class-wise"])
@pytest.mark.parametrize("estimator", ["ece-kde", KernelECE(BetaKernel()), "smece", "skce"], ids=str)
def test_estimate(benchmark, sample, estimator, notion):
    benchmark.pedantic(estimate, (sample.predictions, notion, estimator), rounds=2, warmup_rounds=1)


def test_canonical_kernel_calibration_error(benchmark, sample):
    benchmark.pedantic(KernelCalibrationError().of_vectors, (Canonical().split(sample.predictions),), rounds=1)


def test_canonical_error_by_dirichlet_kernels(benchmark, sample):
    some = sample.predictions.take(np.arange(400))
    if some.n_classes > 100:
        pytest.skip("refused: too many classes for 400 rows")
    benchmark.pedantic(estimate, (some, "canonical", "canonical-kde"), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("estimator", ["ece-kde", "smece", "skce"])
def test_a_million_rows(benchmark, million, estimator):
    benchmark.pedantic(estimate, (million, "confidence", estimator), rounds=3, warmup_rounds=1)


def test_band_of_a_million_rows(benchmark, million):
    benchmark.pedantic(kernel_curve, (million,), rounds=2)
