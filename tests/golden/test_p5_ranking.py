"""P5 §5.2's ranking of estimators for confidence, scaled down; `tests/simulations/p5_estimators.py` prints more of it.

Reproduced: convex allocation improves on hard allocation for equal-width and equal-mass bins. Adaptive bins by
themselves do worse than the ECE. The kernel estimator beats the ECE, adaptive or not, on small test sets. With 500 rows
most are similar. Two results are not reproduced. One is the kernel estimator as clearly the best in almost all regimes
(convex bins are level with it, ahead or behind by seed). The other is errors of "around 10 %" on the smallest sets
(here above 100 %).
"""

import pytest

from calib_core import ESTIMATORS, lab

pytestmark = pytest.mark.wide  # half a minute, for what no change of the code should touch
SIZES = (60, 120, 500)
FIXED = ("ece", "ece-convex", "ece-adaptive", "ece-adaptive-convex")
MEMBERS = {
    "ece": ESTIMATORS.make("ece"),
    **{key: ESTIMATORS.make(key, bins=15) for key in FIXED[1:]},
    "ece-convex, sqrt": ESTIMATORS.make("ece-convex"),
    "ece-kde": ESTIMATORS.make("ece-kde"),
}
TRUTHS = [lab.Mixture(model, k, d) for k in (2, 5, 10) for d in (2, 5, 10) for model in lab.MODELS]


@pytest.fixture(scope="module")
def errors():
    frame = lab.repeated(TRUTHS, SIZES, 40, MEMBERS, ["confidence"]).frame()
    worst = frame.groupby(["estimator", "n"])["worst"].median()
    return {name: [worst[name, size] for size in SIZES] for name in MEMBERS}


def test_convex_allocation_improves_both_kinds_of_bins(errors):
    for j in range(2):
        assert errors["ece-convex"][j] < 0.95 * errors["ece"][j]
        assert errors["ece-adaptive-convex"][j] < 0.95 * errors["ece-adaptive"][j]


def test_adaptive_bins_alone_underperform_on_small_test_sets(errors):
    for j in range(2):
        assert errors["ece-adaptive"][j] > 1.1 * errors["ece"][j]


def test_the_kernel_estimator_beats_the_plain_and_the_adaptive_error_on_small_test_sets(errors):
    # It and convex bins come out level, in an order that changes with the seed.
    for j in range(2):
        assert errors["ece-kde"][j] < 0.9 * min(errors["ece"][j], errors["ece-adaptive"][j])


def test_beyond_300_rows_estimators_are_alike_and_much_better(errors):
    last = [errors[key][2] for key in MEMBERS]
    assert max(last) < 1.5 * min(last)
    assert max(last) < 0.6 * min(errors[key][0] for key in MEMBERS)


def test_the_square_root_of_the_rows_suits_small_test_sets(errors):
    """Seven bins for 60 rows, ten for 120: better than 15."""
    for j in range(2):
        assert errors["ece-convex, sqrt"][j] < errors["ece-convex"][j]
