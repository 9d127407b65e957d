"""Fitting the scaling maps, against available peers; one BLAS thread for all, for a fair comparison.

Rows of L for matrix scaling and Dirichlet calibration are left out: a million parameters.
"""

import time

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from calib_core import CALIBRATORS

SIZES = {
    "temperature": "SML",
    "ensemble-temperature": "SM",
    "vector": "SML",
    "matrix": "SM",
    "dirichlet": "SM",
    "structured": "SML",
    "iop": "SML",
    "gp": "SML",
    "decision": "SM",
}


def size_of(sample):
    return {10: "S", 100: "M", 1000: "L"}[sample.probs.shape[1]]


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def timed(benchmark, work, *args):
    benchmark.pedantic(work, args, rounds=5, warmup_rounds=1)


@pytest.mark.parametrize("key", SIZES)
def test_fit(benchmark, sample, key):
    if size_of(sample) not in SIZES[key]:
        pytest.skip("not a size this map is meant for")
    timed(benchmark, CALIBRATORS.make(key).fit_on, sample.predictions)


@pytest.mark.parametrize("key", SIZES)
def test_apply(benchmark, sample, key):
    if size_of(sample) not in SIZES[key]:
        pytest.skip("not a size this map is meant for")
    timed(benchmark, CALIBRATORS.make(key).fit_on(sample.predictions).apply, sample.predictions)


@pytest.mark.parametrize("key", ["iop", "gp", "decision"])
def test_growth(benchmark, of_size, capsys, key):
    """CPU-seconds of a fit as n^a K^b: the exponents are printed, and in the benchmark's extra information."""

    def seconds(n, k):
        fit, start = of_size(n, k).predictions, time.process_time()
        CALIBRATORS.make(key).fit_on(fit)
        return time.process_time() - start

    small, rows, classes = benchmark.pedantic(
        lambda: [seconds(*size) for size in ((2_500, 20), (20_000, 20), (20_000, 80))], rounds=1
    )
    found = {"n": np.log(rows / small) / np.log(8), "K": np.log(classes / rows) / np.log(4)}
    benchmark.extra_info["exponents"] = found
    with capsys.disabled():
        print(f"\n{key}: {classes:.2g} s at 20,000 x 80; n^{found['n']:.2f} K^{found['K']:.2f}")  # noqa: T201


def test_temperature_of_scikit_learn(benchmark, sample):
    """The fit of method="temperature" in scikit-learn: its own class behind CalibratedClassifierCV."""
    calibration = pytest.importorskip("sklearn.calibration")
    if not hasattr(calibration, "_TemperatureScaling"):
        pytest.skip("this scikit-learn has no temperature scaling")
    peer = calibration._TemperatureScaling()
    timed(benchmark, peer.fit, np.log(np.maximum(sample.probs, 1e-12)), sample.labels)


def test_dirichlet_of_scikit_learn(benchmark, sample):
    """The unregularized map: multinomial logistic regression on log-probabilities."""
    if size_of(sample) != "S":
        pytest.skip("takes 15 s at M")
    logs = np.log(np.maximum(sample.probs, 1e-12)).astype(np.float64)
    timed(benchmark, LogisticRegression(C=1e10, max_iter=1000).fit, logs, sample.labels)


@pytest.mark.parametrize("name", ["VectorScaling", "MatrixScaling"])
def test_maps_of_netcal(benchmark, sample, name):
    scaling = pytest.importorskip("netcal.scaling")
    if size_of(sample) != "S" or not hasattr(scaling, name):
        pytest.skip("not at this size")
    timed(benchmark, getattr(scaling, name)().fit, sample.probs.astype(np.float64), sample.labels)


@pytest.mark.parametrize("method", ["ts-mix", "vs", "ms", "sms"])
def test_maps_of_probmetrics(benchmark, sample, method):
    calibrators = pytest.importorskip("probmetrics.calibrators")
    if size_of(sample) == "L":
        pytest.skip("not at this size")
    timed(benchmark, calibrators.get_calibrator(method).fit, sample.probs.astype(np.float64), sample.labels)
