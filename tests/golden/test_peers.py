"""Stored values of other packages, outside the repository with their conventions; skipped if missing.

Tolerances. EXACT: both sides sum the same float64 numbers in some order. Peers close bins on the other side. On these
data no score is on an edge except exact ones, which both put in the last bin. TIES: if scores tie at an equal-mass cut,
the peer shares tied rows or cuts elsewhere; the data named there have such ties.
"""

import numpy as np
import pytest
from shared_files import arrays, predictions, record

from calib_core import CALIBRATORS, Predictions, estimate
from calib_core.binning import EqualMass, EqualWidth
from calib_core.calibrators import Histogram, Isotonic
from calib_core.estimators import Binned
from calib_core.reductions import ClassSpecific

EXACT = 1e-12
DATA = ("vgg16_c10", "lenet_c10", "densenet_c100", "lenet_c100", "synth_valkkull_test")


def metric(data, peer, function, **params):
    def matches(given):
        return all(given.get(key) == want for key, want in params.items())

    return record("metrics_basic", data=data, subset="all rows", peer=peer, function=function, params=matches)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("bins", [10, 15, 20])
def test_confidence_ece_and_mce(data, bins):
    p = predictions(data)
    for peer, params in (
        ("verified_calibration", {"num_bins": bins, "mode": "top-label", "binning": "equal-width (lo,hi]"}),
        ("netcal", {"bins": bins, "equal_intervals": True}),
    ):
        function = "get_ece" if peer == "verified_calibration" else "ECE"
        assert estimate(p, "confidence", "ece", bins).value == pytest.approx(
            metric(data, peer, function, **params), abs=EXACT
        )
    if bins != 20:
        found = metric(data, "netcal", "MCE", bins=bins, equal_intervals=True, sample_threshold=None)
        assert estimate(p, "confidence", "mce", bins).value == pytest.approx(found, abs=EXACT)


@pytest.mark.parametrize("data", DATA)
def test_class_wise_ece_equal_width(data):
    found = metric(data, "verified_calibration", "get_ece", num_bins=15, mode="marginal", binning="equal-width")
    assert estimate(predictions(data), "class-wise", "ece", 15).value == pytest.approx(found, abs=EXACT)


@pytest.mark.parametrize("data", DATA)
def test_equal_mass_ece(data):
    # Tied confidences: the peer cuts at midpoints and drops equal edges; ours moves the tie into the lower bin.
    ties = 2e-6 if data == "vgg16_c10" else EXACT
    found = metric(data, "verified_calibration", "get_ece_em", num_bins=15, mode="top-label")
    made = estimate(predictions(data), "confidence", Binned(EqualMass(15))).value
    assert made == pytest.approx(found, abs=ties)
    found = metric(data, "verified_calibration", "get_ece_em", num_bins=15, mode="marginal")
    made = estimate(predictions(data), "class-wise", Binned(EqualMass(15))).value
    assert made == pytest.approx(found, abs=EXACT)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("mode", ["top-label", "marginal"])
@pytest.mark.parametrize("scheme", ["equal-width", "equal-mass"])
def test_root_mean_square_error(data, mode, scheme):
    found = metric(
        data,
        "verified_calibration",
        "lower_bound_scaling_ce",
        p=2,
        debias=False,
        num_bins=15,
        binning_scheme=scheme,
        mode=mode,
    )
    notion = "confidence" if mode == "top-label" else "class-wise"
    binning = EqualWidth(15) if scheme == "equal-width" else EqualMass(15)
    ties = 2e-4 if (data, mode, scheme) == ("vgg16_c10", "top-label", "equal-mass") else EXACT
    assert estimate(predictions(data), notion, Binned(binning, 2)).value == pytest.approx(found, abs=ties)


@pytest.mark.parametrize("data", DATA)
def test_top_label_ece_and_mce(data):
    composed = "composed: TL-ECE, TL-MCE(max over classes and bins), TL-MCE(class-weighted mean of per-class max)"
    ece, worst, mean_worst = metric(
        data, "df_posthoc", f"{composed} from get_binned_probabilities_fixed_width", n_bins=15
    )
    p = predictions(data)
    assert estimate(p, "top-label", "ece", 15).value == pytest.approx(ece, abs=EXACT)
    made = estimate(p, "top-label", "mce", 15)
    assert made.value == pytest.approx(worst, abs=EXACT)
    assert np.nansum(made.per_stratum * made.shares) == pytest.approx(mean_worst, abs=EXACT)


@pytest.mark.parametrize("data", DATA)
def test_proper_scores(data):
    p = predictions(data)
    assert estimate(p, None, "accuracy").value == pytest.approx(metric(data, "sklearn", "accuracy_score"), abs=EXACT)
    # Both use rows as stored: float32 rounding leaves sums within 1e-6 of 1.
    found = metric(data, "numpy", "-mean(log p_y)")
    assert estimate(p, None, "log-loss").value == pytest.approx(found, rel=1e-12)
    found = metric(data, "lece", "bs (sum over classes, mean over rows)")
    assert estimate(p, None, "brier").value == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("bins", [10, 15, 20])
def test_binary_ece(bins):
    p = predictions("synth_kumar_binary")
    found = metric("synth_kumar_binary", "verified_calibration", "get_ece (1-D)", num_bins=bins)
    assert estimate(p, ClassSpecific(1), "ece", bins).value == pytest.approx(found, abs=EXACT)


@pytest.mark.parametrize("bins", [10, 15, 100])
def test_binary_root_mean_square_error(bins):
    p = predictions("synth_kumar_binary")
    found = metric(
        "synth_kumar_binary",
        "verified_calibration",
        "lower_bound_scaling_ce (1-D)",
        p=2,
        debias=False,
        num_bins=bins,
    )
    assert estimate(p, ClassSpecific(1), Binned(EqualMass(bins), 2)).value == pytest.approx(found, abs=EXACT)


@pytest.mark.parametrize("bins", [5, 10])
def test_bins_closed_on_the_left_on_scores_that_are_edges(bins):
    given = record("toys_and_canonical", data="toy1", peer="input", subset=f"{bins} equal-width bins")
    p = Predictions(given["P"], given["Y"])
    found = record(
        "toys_and_canonical",
        data="toy1",
        peer="derived",
        subset=f"{bins} equal-width bins",
        function=lambda f: f.startswith("left-closed"),
    )
    if bins == 10:
        assert estimate(p, "confidence", "ece", 10).value == pytest.approx(found, abs=EXACT)
        return
    # The record's linspace edge 3 * 0.2 = 0.6000000000000001 puts 0.6 below; the exact edge 3/5 puts it above.
    assert found == pytest.approx(2.8 / 12, abs=EXACT)
    assert estimate(p, "confidence", "ece", 5).value == pytest.approx(2.4 / 12, abs=EXACT)


# ---- calibrators: rows 0:n/2 calibrate ---------------------------------------------------------------------


@pytest.mark.parametrize("data", ["vgg16_c10", "lenet_c10", "densenet_c100", "lenet_c100", "synth_valkkull"])
def test_temperature_is_the_exact_optimum(data):
    """The record is a bounded Brent search on exact float64 loss; a flat minimum fixes T to about 1e-8 relative.

    densenet_c100 has entries below the floor of our logarithm (2e-16), which the record uses unchanged.
    """
    found = record(
        "calibrators_scaling",
        data=data,
        peer="independent",
        function="optimal temperature by NLL (bounded Brent, xatol 1e-12)",
    )
    name = "synth_valkkull_val" if data == "synth_valkkull" else data
    held = arrays(name)
    n = len(held["labels"]) if data == "synth_valkkull" else len(held["labels"]) // 2
    cal = CALIBRATORS.make("temperature").fit(held["probs"][:n], held["labels"][:n])
    floored = data == "densenet_c100"
    assert cal.temperature_ == pytest.approx(found["T"], rel=1e-5 if floored else 1e-7)
    assert cal.status_ == "converged"
    test = arrays("synth_valkkull_test") if data == "synth_valkkull" else {k: v[n:] for k, v in held.items()}
    tolerance = {"rtol": 1e-4, "atol": 1e-7} if floored else {"rtol": 2e-6}
    np.testing.assert_allclose(cal.predict_proba(test["probs"][:5]), found["first5"], **tolerance)


@pytest.mark.parametrize("bins", [10, 15, 20, 50])
def test_uniform_mass_histogram_binning_as_published(bins):
    """delta = 0: the record has no randomization, and the values are ratios of small whole numbers."""
    held = arrays("synth_kumar_binary")
    found = record(
        "calibrators_binning",
        data="synth_kumar_binary",
        peer="paper(own code)",
        params={"n_bins": bins},
    )
    fitted = Histogram(bins=bins, delta=0).fit(held["probs"][:1000], held["labels"][:1000])
    np.testing.assert_allclose(fitted.transform(held["probs"][1000:1005]), found["first5"], atol=EXACT)
    np.testing.assert_array_equal(fitted.thresholds_, found["edges"][: bins - 1])


def test_binary_isotonic_regression():
    """The peer steps between knots in places where scikit-learn interpolates; the first rows are on flat pieces."""
    held = arrays("synth_kumar_binary")
    found = record(
        "calibrators_binning", data="synth_kumar_binary", peer="netcal", function="IsotonicRegression (binary)"
    )
    fitted = Isotonic().fit(held["probs"][:1000], held["labels"][:1000])
    np.testing.assert_allclose(fitted.transform(held["probs"][1000:1005]), found["first5"], atol=1e-9)


@pytest.mark.parametrize("data", ["vgg16_c10", "lenet_c10", "lenet_c100"])
def test_isotonic_one_vs_rest(data):
    found = record(
        "calibrators_binning",
        data=data,
        peer="netcal",
        function="IsotonicRegression (one-vs-rest, normalised)",
    )
    held = arrays(data)
    fitted = CALIBRATORS.make("isotonic-ovr").fit(held["probs"][:5000], held["labels"][:5000])
    np.testing.assert_allclose(fitted.predict_proba(held["probs"][5000:5005]), found["first5"], atol=1e-9)
