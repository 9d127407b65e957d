"""estimate and the estimators: the parts of a result, and the messages in place of one."""

import numpy as np
import pytest
from generated import full_predictions, of_kind
from hypothesis import given

from calib_core import ESTIMATORS, REDUCTIONS, Estimate, NotAnswerable, Predictions, RegistryError, estimate
from calib_core.binning import EqualMass, EqualWidth, as_binning, tabulate
from calib_core.estimators import Binned, as_estimator
from calib_core.predictions.proper_scores import brier_scores, floored_rows, log_losses
from calib_core.reductions import Confidence, as_reduction

P = Predictions([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4]], [0, 0, 0])


def test_an_estimate_carries_its_parts_and_its_recipe():
    made = estimate(P, "top-label", "ece", bins=5)
    assert isinstance(made, Estimate)
    assert float(made) == made.value
    assert made.strata == ("0", "1")
    np.testing.assert_allclose(made.per_stratum, [0.35, 0.8])
    np.testing.assert_allclose(made.shares, [2 / 3, 1 / 3])
    assert made.value == pytest.approx((0.3 + 0.4 + 0.8) / 3)
    reduction, estimator = made.recipe
    assert reduction.to_json() == '{"key":"top-label"}'
    assert estimator.to_json() == '{"key":"ece","params":{"binning":{"key":"equal-width","params":{"bins":5}}}}'
    assert repr(made) == f"Estimate(Top-label {estimator.title}: 0.5000)"
    again = estimate(P, reduction.build(), estimator.build())
    assert again.value == made.value


def test_the_table_is_the_bins_or_the_strata():
    binned = estimate(P, "confidence", "ece", bins=10)
    frame = binned.table
    assert frame["count"].tolist() == [1, 1, 1]
    assert (frame["weight"] * frame["gap"].abs()).sum() == pytest.approx(binned.value)
    scored = estimate(P, "top-label", "brier").table
    assert scored.columns.tolist() == ["stratum", "value", "weight"]
    assert (scored["value"] * scored["weight"]).sum() == pytest.approx(estimate(P, "confidence", "brier").value)


def test_strata_without_claims_have_no_value_and_no_share():
    made = estimate(Predictions([[0.7, 0.3, 0.0]], [0]), "top-label", "ece")
    assert made.per_stratum[0] == pytest.approx(0.3)
    assert np.isnan(made.per_stratum[1:]).all()
    assert made.shares.tolist() == [1, 0, 0]


@pytest.mark.parametrize("order", [1, 2, "max"])
@given(predictions=full_predictions())
def test_binned_errors_are_their_formula(order, predictions):
    claims = REDUCTIONS.make("top-label").split(predictions)
    value, worst = 0.0, 0.0
    for s in range(len(claims.strata)):
        stratum = claims.stratum(s)
        w = np.ones(len(stratum.scores)) if stratum.weights is None else stratum.weights
        cells = np.searchsorted((np.arange(1, 10) / 10).astype(claims.dtype), stratum.scores, side="right")
        for b in range(10):
            mine = cells == b
            if w[mine].sum() > 0:
                gap = abs((w * (stratum.outcomes - stratum.scores.astype(float)))[mine].sum() / w[mine].sum())
                worst = max(worst, gap)
                if order != "max":
                    value += claims.shares[s] * w[mine].sum() / w.sum() * gap**order
    expected = worst if order == "max" else value ** (1 / order)
    assert estimate(predictions, "top-label", Binned(EqualWidth(10), order)).value == pytest.approx(expected, abs=1e-9)


def test_bins_may_be_a_number_a_key_or_a_scheme():
    one = estimate(P, "confidence", "ece", bins=np.int64(7)).value
    assert one == estimate(P, "confidence", "ece", bins=EqualWidth(7)).value
    assert as_binning("equal-mass") == EqualMass(15)
    assert as_binning(3) == EqualWidth(3)
    assert as_estimator("ece", 7) == Binned(EqualWidth(7))
    assert as_reduction("confidence") == Confidence()


def test_what_does_not_go_together_is_refused():
    with pytest.raises(RegistryError) as why:
        estimate(P, "confidence", Binned(), bins=10)
    assert str(why.value) == "bins goes with an estimator given by key; this one has its own binning"
    with pytest.raises(RegistryError) as why:
        estimate(P, None, "ece")
    assert str(why.value) == "ECE needs a notion: give reduction="
    with pytest.raises(RegistryError, match="'brier' has no parameter 'binning'; its parameters: none"):
        estimate(P, "confidence", "brier", bins=10)


def test_scores_of_claims_have_their_binary_form():
    for key, by_hand in (
        ("brier", np.mean([0.3**2, 0.8**2, 0.4**2])),
        ("log-loss", -np.mean(np.log([0.7, 0.2, 0.6]))),
        ("accuracy", 2 / 3),
    ):
        assert estimate(P, "confidence", key).value == pytest.approx(by_hand, rel=1e-12)


def test_the_floor_decides_rows_of_probability_zero_and_they_are_counted():
    p = Predictions([[1.0, 0.0], [0.5, 0.5]], [1, 0])
    assert floored_rows(p) == 1
    np.testing.assert_allclose(log_losses(p), [52 * np.log(2), np.log(2)])
    assert estimate(p, None, "log-loss").value == pytest.approx(53 / 2 * np.log(2))


def test_scores_are_the_same_for_float32_and_float64_up_to_storage():
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(5), 500), rng.integers(5, size=500)
    wide, narrow = Predictions(probs, labels), Predictions(probs.astype(np.float32), labels)
    for key in ("log-loss", "brier"):
        assert estimate(narrow, None, key).value == pytest.approx(estimate(wide, None, key).value, rel=1e-6)
    zero = [[1.0, 0.0]], [1]
    in_float32 = Predictions(np.array(zero[0], np.float32), zero[1])
    # The floor does not depend on the dtype: elsewhere float32 input costs 16 nats and float64 input 36.
    assert estimate(in_float32, None, "log-loss").value == pytest.approx(52 * np.log(2), rel=1e-6)


def test_chosen_rows_have_their_own_scores():
    rng = np.random.default_rng(1)
    p = Predictions(rng.dirichlet(np.ones(3), 30), rng.integers(3, size=30))
    part = p.take([4, 2, 9])
    np.testing.assert_array_equal(log_losses(part), log_losses(p)[[4, 2, 9]])
    np.testing.assert_allclose(brier_scores(part), brier_scores(p)[[4, 2, 9]], rtol=1e-12)


@pytest.mark.parametrize(("kind", "refused"), [("top-label", {"log-loss", "brier"}), ("per-class", {"log-loss"})])
def test_scores_that_a_kind_cannot_give_are_refused(kind, refused):
    weaker = of_kind(P, kind)
    for key in ("log-loss", "brier", "accuracy"):
        if key in refused:
            with pytest.raises(NotAnswerable) as why:
                estimate(weaker, None, key)
            assert len(str(why.value).split()) > 8
        else:
            assert estimate(weaker, None, key).value == pytest.approx(estimate(P, None, key).value)


def test_every_estimator_by_key_answers_on_confidence():
    for key in ESTIMATORS:
        if "claims" in ESTIMATORS[key].flags.takes:
            assert np.isfinite(estimate(P, "confidence", key).value)
        else:
            with pytest.raises(NotAnswerable, match="the canonical notion"):
                estimate(P, "confidence", key)


def test_of_table_is_the_estimate_of_claims_already_counted():
    claims = Confidence().split(P)
    table = tabulate(claims, [EqualWidth(10)])[0]
    for order in (1, 2, "max"):
        binned = Binned(EqualWidth(10), order)
        assert binned.of_table(table).value == binned(claims).value
