"""Laws of every estimator in every notion, over the whole registries."""

import numpy as np
import pytest
from generated import UNTIED, asked_of, copies, full_predictions, permuted, unweighted
from hypothesis import assume, given
from hypothesis import strategies as st

from calib_core import ESTIMATORS, REDUCTIONS, Predictions, estimate
from calib_core.binning import Distinct, Edges, EqualMass, EqualWidth, PointsPerBin
from calib_core.binning.allocation import RootMass, RootWidth
from calib_core.estimators import Binned, DebiasedECE, DebiasedL2, EceSweep, KernelCalibrationError, KernelECE
from calib_core.reductions import ClassSpecific

BINARY_NOTIONS = [key for key in REDUCTIONS if key != "canonical"]
SCHEMES = [EqualWidth(1), EqualWidth(10), EqualMass(4), PointsPerBin(5), Distinct(), Edges((0, 0.3, 0.35, 0.7, 1))]
BINNED = [Binned(scheme, order) for scheme in SCHEMES for order in (1, 2, "max")]
OF_CLAIMS = [key for key in ESTIMATORS if "claims" in ESTIMATORS[key].flags.takes]
ALL = [*(ESTIMATORS.make(key) for key in OF_CLAIMS), *BINNED]

# Estimators whose value is no error in [0, 1], and why; a new one must be listed here to be excused.
NOT_IN_UNIT = {
    "log-loss": "nats, 0 to 36",
    "debiased-l2": "an unbiased squared error can be negative",
    "debiased-ece": "the subtracted bias can exceed the plug-in value",
    "skce": "an unbiased estimate can be negative",
}
# Estimators that rightly change when every row is doubled, and why.
DOUBLING_CHANGES = {
    "debiased-l2": "the correction halves",
    "debiased-ece": "the correction shrinks",
    "ece-sweep": "more rows allow more bins",
    "ece-adaptive": "sqrt(n) bins",
    "ece-adaptive-convex": "sqrt(n) bins",
    "ece-convex": "sqrt(n) bins",
    "convex-binned": "sqrt(n) bins",
    "ece-kde": "the bandwidth shrinks",
    "skce": "pairs of a row with its copy are new",
}


def values(predictions, notion, estimators=None):
    """Return the value of every estimator in one notion."""
    return np.array([estimate(predictions, notion, e).value for e in estimators or ALL])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("notion", BINARY_NOTIONS)
@given(predictions=full_predictions())
def test_row_order_does_not_matter(notion, predictions):
    predictions = asked_of(notion, predictions)
    shuffled, _ = permuted(predictions)
    np.testing.assert_allclose(values(shuffled, notion), values(predictions, notion), rtol=1e-12, atol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("notion", BINARY_NOTIONS)
@given(predictions=full_predictions(styles=UNTIED), seed=st.integers(0, 99))
def test_names_of_classes_do_not_matter(notion, predictions, seed):
    predictions = asked_of(notion, predictions)
    assume(all(len(set(row)) == len(row) for row in predictions.probs.tolist()))
    k = predictions.n_classes
    new_column_of = np.random.default_rng(seed).permutation(k)
    old_column_of = np.argsort(new_column_of)
    relabelled = Predictions(
        predictions.probs[:, old_column_of], new_column_of[predictions.labels], weights=predictions.weights
    )
    renamed = ClassSpecific(int(new_column_of[0])) if notion == "class-specific" else notion
    if notion == "event":
        relabelled = relabelled.with_event(int(new_column_of[predictions.event]))
    np.testing.assert_allclose(values(relabelled, renamed), values(predictions, notion), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("notion", BINARY_NOTIONS)
@given(predictions=full_predictions(weighted=False))
def test_doubling_all_rows_changes_no_plug_in_value(notion, predictions):
    predictions = asked_of(notion, predictions)
    keys = [key for key in OF_CLAIMS if key not in DOUBLING_CHANGES]
    plug_in = [*(ESTIMATORS.make(key) for key in keys), Binned(Distinct()), Binned(Distinct(), 2)]
    twice = Predictions(np.repeat(predictions.probs, 2, axis=0), np.repeat(predictions.labels, 2))
    np.testing.assert_allclose(
        values(twice, notion, plug_in), values(predictions, notion, plug_in), rtol=1e-12, atol=1e-12
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("notion", BINARY_NOTIONS)
@given(predictions=full_predictions(weighted="whole"))
def test_a_whole_weight_is_that_many_copies(notion, predictions):
    predictions = asked_of(notion, predictions)
    np.testing.assert_allclose(values(predictions, notion), values(copies(predictions), notion), rtol=1e-12, atol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("notion", BINARY_NOTIONS)
@given(predictions=full_predictions(weighted=False), factor=st.sampled_from((0.5, 3.0)))
def test_equal_weights_are_no_weights(notion, predictions, factor):
    predictions = asked_of(notion, predictions)
    chosen = ALL  # equal weights that are not counts of copies are stored as 1
    if factor == 3:  # three copies of every row: bins by count round differently, smaller corrections for noise
        by_count = PointsPerBin | EqualMass | RootMass | RootWidth
        by_copies = DebiasedL2 | DebiasedECE | KernelCalibrationError
        by_rows = EceSweep | KernelECE  # a bandwidth shrinks with the number of rows
        chosen = [
            e
            for e in ALL
            if not isinstance(getattr(e, "binning", None), by_count) and not isinstance(e, by_rows | by_copies)
        ]
    weighed = Predictions(predictions.probs, predictions.labels, weights=np.full(predictions.n_rows, factor))
    np.testing.assert_allclose(
        values(weighed, notion, chosen), values(predictions, notion, chosen), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("notion", BINARY_NOTIONS)
@given(predictions=full_predictions())
def test_values_lie_where_they_should_and_are_the_mean_of_their_strata(notion, predictions):
    predictions = asked_of(notion, predictions)
    for key in OF_CLAIMS:
        made = estimate(predictions, notion, key)
        assert np.isfinite(made.value)
        if key not in NOT_IN_UNIT:
            assert -1e-15 <= made.value <= 1 + 1e-15, key
        assert len(made.per_stratum) == len(made.strata) == len(made.shares)
        assert made.shares.sum() == pytest.approx(1, abs=1e-12)
        assert not np.isnan(made.per_stratum[made.shares > 0]).any() or notion == "class-wise"
    for scheme in SCHEMES:
        first = estimate(predictions, notion, Binned(scheme))
        known = ~np.isnan(first.per_stratum)
        assert first.value == pytest.approx((first.shares * first.per_stratum)[known].sum(), abs=1e-12)
        worst = estimate(predictions, notion, Binned(scheme, "max"))
        assert worst.value == worst.per_stratum[known].max()


@given(predictions=full_predictions(), bins=st.integers(1, 30))
def test_confidence_error_is_at_most_the_top_label_error_on_the_same_bins(predictions, bins):
    """P1 Prop. 4: the inequality is false if bins are chosen per class, so it is tested for fixed bins only."""
    for order in (1, 2):
        estimator = Binned(EqualWidth(bins), order)
        confidence, top_label = (estimate(predictions, n, estimator).value for n in ("confidence", "top-label"))
        assert confidence <= top_label + 1e-12


@pytest.mark.parametrize("notion", BINARY_NOTIONS)
@given(predictions=full_predictions(), bins=st.integers(1, 12), factor=st.sampled_from((2, 3)))
def test_a_nested_finer_partition_never_lowers_the_plug_in_error(notion, predictions, bins, factor):
    """P2 Prop. 3.3 for L1 and L2; a change from 10 to 15 bins is not nested and can lower the error."""
    predictions = asked_of(notion, predictions)
    for order in (1, 2):
        coarse, fine = (
            estimate(predictions, notion, Binned(EqualWidth(b), order)).value for b in (bins, factor * bins)
        )
        assert coarse <= fine + 1e-12


@pytest.mark.parametrize("notion", BINARY_NOTIONS)
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@given(predictions=full_predictions())
def test_the_mean_error_is_at_most_the_root_mean_square_is_at_most_the_largest(notion, scheme, predictions):
    predictions = asked_of(notion, predictions)
    one, two, worst = values(predictions, notion, [Binned(scheme, order) for order in (1, 2, "max")])
    assert one <= two + 1e-12
    assert two <= worst + 1e-12


@given(predictions=full_predictions(min_rows=2, weighted=False), bins=st.integers(1, 20), data=st.data())
def test_the_error_of_a_union_is_at_most_the_mean_error_of_its_parts(predictions, bins, data):
    cut = data.draw(st.integers(1, predictions.n_rows - 1))
    n = predictions.n_rows
    parts = predictions.take(np.arange(cut)), predictions.take(np.arange(cut, n))
    whole, first, second = (estimate(p, "confidence", "ece", bins).value for p in (predictions, *parts))
    assert n * whole <= cut * first + (n - cut) * second + 1e-12


@given(predictions=full_predictions())
def test_the_distance_in_one_bin_is_that_of_the_means(predictions):
    p = predictions
    gap = abs(np.average(p.confidence.astype(float), weights=p.weights) - p.accuracy)
    assert estimate(p, "confidence", "ece", bins=1).value == pytest.approx(gap, abs=1e-12)


@given(predictions=full_predictions(weighted=False))
def test_scores_of_whole_predictions_have_their_definitions(predictions):
    y, probs = predictions.labels, predictions.probs.astype(float)
    one_hot = np.eye(predictions.n_classes)[y]
    true = probs[np.arange(len(y)), y]
    by_hand = {
        "accuracy": np.mean(probs.argmax(1) == y),
        "brier": np.mean(((probs - one_hot) ** 2).sum(1)),
        "log-loss": -np.mean(np.log(np.maximum(true, 2.0**-52))),
    }
    for key, value in by_hand.items():
        assert estimate(unweighted(predictions), None, key).value == pytest.approx(value, rel=1e-12, abs=1e-15)
