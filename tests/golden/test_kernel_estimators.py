"""Kernel and smooth estimates against other people's numbers, outside the repository; skipped if missing.

The grid of estimating_eces (P5's authors) has step 4e-4 over a wider range, and averages over its nodes; ours has step
2.4e-4 and trapezoids. They differ by under 2e-4 where the bandwidth spans a few steps. Where Silverman's bandwidth is
below its step (vgg16_c10, most single classes), both are noise and nothing is compared. Its class-wise ``silverman``
uses the bandwidth of class 0 for all; the record with a bandwidth of each class's own is taken.
"""

import numpy as np
import pytest
from shared_files import predictions, record, records

from calib_core import Predictions, estimate
from calib_core.diagrams import kernel_curve
from calib_core.estimators import KernelECE
from calib_core.reductions import Confidence
from calib_core.smoothing import Fixed, Silverman
from tests.support.smooth_by_hand import smooth_error

DATA = ("vgg16_c10", "lenet_c10", "densenet_c100", "lenet_c100", "synth_kumar_binary", "synth_valkkull_test")
SPREAD = [name for name in DATA if name not in ("vgg16_c10",)]
FIRST_ROWS = {"all rows": None, "rows 0:10000": 10_000, "rows 0:20000": 20_000}


def rows_of(data, file, start):
    """Return the predictions of a record: all rows, or the first ones."""
    subset = next(r["subset"] for r in records(file) if r["data"] == data and r["function"].startswith(start))
    p = predictions(data)
    return p if FIRST_ROWS[subset] is None else p.take(np.arange(FIRST_ROWS[subset]))


def kde_record(data, start, bandwidth):
    return record(
        "estimating_eces",
        data=data,
        function=lambda f: f.startswith(start),
        params=lambda params: params["bandwidth"] == bandwidth,
    )


@pytest.mark.parametrize("data", DATA)
def test_silvermans_bandwidth(data):
    found = record("estimating_eces", data=data, function="get_silvermans_bandwidth")
    made = Silverman()(rows_of(data, "estimating_eces", "direct_confidence_ece").confidence)
    assert made == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("bandwidth", [0.1, 0.05, 0.033])
def test_confidence_ece_with_a_fixed_bandwidth(data, bandwidth):
    p = rows_of(data, "estimating_eces", "direct_confidence_ece")
    found = kde_record(data, "direct_confidence_ece", bandwidth)
    assert estimate(p, "confidence", KernelECE(bandwidth=Fixed(bandwidth))).value == pytest.approx(found, abs=2e-4)


@pytest.mark.parametrize("data", SPREAD)
def test_confidence_ece_with_silvermans_bandwidth(data):
    p = rows_of(data, "estimating_eces", "direct_confidence_ece")
    found = kde_record(data, "direct_confidence_ece", "silverman")
    assert estimate(p, "confidence", "ece-kde").value == pytest.approx(found, abs=2e-4)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("bandwidth", [0.1, 0.05])
def test_class_wise_ece_with_a_fixed_bandwidth(data, bandwidth):
    p = rows_of(data, "estimating_eces", "direct_classwise_ece")
    found = kde_record(data, "direct_classwise_ece", bandwidth)
    assert estimate(p, "class-wise", KernelECE(bandwidth=Fixed(bandwidth))).value == pytest.approx(found, abs=2e-4)


@pytest.mark.parametrize("data", ["lenet_c10", "synth_kumar_binary", "synth_valkkull_test"])
def test_class_wise_ece_with_each_class_its_own_bandwidth(data):
    p = rows_of(data, "estimating_eces", "direct_specific_ece averaged")
    found = kde_record(data, "direct_specific_ece averaged", "silverman per class")
    assert estimate(p, "class-wise", "ece-kde").value == pytest.approx(found, abs=2e-4)


@pytest.mark.parametrize("data", SPREAD)
def test_confidence_curve_and_density(data):
    p = rows_of(data, "estimating_eces", "confidence reliability curve")
    found = kde_record(data, "confidence reliability curve", 0.05)
    made = kernel_curve(p, "confidence", method=KernelECE(bandwidth=Fixed(0.05)), band="none")
    # The record's density integrates to 3/4: four mirrored copies of the data, counted as three.
    density = np.array(found["density_times_0p75_normalisation"]) / 0.75
    np.testing.assert_allclose(np.interp(found["x"], made.score, made.density), density, atol=4e-3)
    curve = np.array(
        next(value for key, value in found.items() if key not in ("x", "density_times_0p75_normalisation"))
    )
    # It is drawn between the smallest and the largest score.
    inside = (np.array(found["x"]) >= p.confidence.min()) & (np.array(found["x"]) <= p.confidence.max())
    held = (density > 0.05) & inside
    assert held.sum() >= (density > 0.05).sum() - 2
    made_curve = np.array([made.value(x) for x in found["x"]])
    np.testing.assert_allclose(made_curve[held], curve[held], atol=2e-3)


@pytest.mark.parametrize("data", ["vgg16_c10", "lenet_c10", "densenet_c100", "lenet_c100", "synth_valkkull_test"])
def test_smooth_ece_is_the_exact_one(data):
    """Another implementation of the definition; both integrate |.| by trapezoids, ours on 4,097 nodes."""
    p = rows_of(data, "smece_exact", "smECE exact fixed point")
    found = record("smece_exact", data=data, function="smECE exact fixed point smECE_sigma=sigma")
    assert estimate(p, "confidence", "smece").value == pytest.approx(found, abs=1e-7)
    found = record("smece_exact", data=data, function="smECE_sigma exact reflected Gaussian")
    assert smooth_error(Confidence().split(p).stratum(0))(0.05) == pytest.approx(found, abs=1e-8)


@pytest.mark.parametrize(
    ("targets", "labels"), [("[1,2]", [0, 1]), ("[1,1]", [0, 0]), ("[2,1]", [1, 0]), ("[2,2]", [1, 1])]
)
def test_kernel_calibration_error_of_the_toy(targets, labels):
    """Transcribed from CalibrationErrors.jl's tests; its squared-exponential kernel and ours agree on these rows."""
    found = record("toys_and_canonical", peer="CalibrationErrors.jl", function=lambda f: f.startswith("SKCE unbiased"))
    wanted = {"-2*exp(-1)": -2 * np.exp(-1)}.get(found[f"targets {targets}"], found[f"targets {targets}"])
    made = estimate(Predictions([[1.0, 0.0], [0.0, 1.0]], labels), "canonical", "skce").value
    assert made == pytest.approx(wanted, abs=1e-15)
