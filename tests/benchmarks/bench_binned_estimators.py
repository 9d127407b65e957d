"""Debiased, convex, adaptive and swept errors, against uncertainty-calibration if it is installed.

Reach (ratio to that peer in one run): debiased L2 on equal-mass bins, top 10x at S; marginal 20x at S, 30x at M and L.
"""

import pytest

from calib_core import estimate
from calib_core.binning import EqualMass, EqualWidth
from calib_core.estimators import DebiasedL2

MODES = {"confidence": "top-label", "class-wise": "marginal"}


@pytest.mark.parametrize("notion", MODES)
@pytest.mark.parametrize("scheme", [EqualMass(15), EqualWidth(15)], ids=["equal-mass", "equal-width"])
def test_debiased_l2(benchmark, sample, notion, scheme):
    estimate(sample.predictions, notion, DebiasedL2(scheme))
    benchmark.pedantic(estimate, (sample.predictions, notion, DebiasedL2(scheme)), rounds=3)


@pytest.mark.parametrize("notion", MODES)
def test_debiased_l2_of_the_peer(benchmark, sample, notion):
    peer = pytest.importorskip("calibration")
    if sample.probs.shape[1] > 100:
        pytest.skip("a minute a call")
    probs = sample.probs.astype(float)
    benchmark.pedantic(
        peer.lower_bound_scaling_ce,
        (probs, sample.labels),
        {"p": 2, "debias": True, "num_bins": 15, "mode": MODES[notion]},
        rounds=2,
    )


@pytest.mark.parametrize("key", ["debiased-ece", "ece-convex", "ece-adaptive", "ece-adaptive-convex"])
@pytest.mark.parametrize("notion", ["confidence", "class-wise"])
def test_binned_estimators(benchmark, sample, notion, key):
    estimate(sample.predictions, notion, key)
    benchmark.pedantic(estimate, (sample.predictions, notion, key), rounds=3)


@pytest.mark.parametrize("key", ["ece-sweep", "max-deviation"])
@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_estimators_without_a_number_of_bins(benchmark, sample, notion, key):
    benchmark.pedantic(estimate, (sample.predictions, notion, key), rounds=2)
