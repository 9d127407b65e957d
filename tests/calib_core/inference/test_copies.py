"""Whole-number weights equal copies of the rows in all results about an estimate."""

import numpy as np
import pytest
from generated import ordinary_rows

from calib_core import CALIBRATORS, ESTIMATORS, Predictions, estimate
from calib_core.inference import shown_at_all, unbinned_bound


@pytest.fixture(scope="module")
def models():
    """Return base and recalibrated predictions of 60 rows: with weights 2, 1, 3, ..., and with repeated rows."""
    probs, labels = ordinary_rows(260, 3, 1)
    at = np.repeat(np.arange(60), np.tile([2, 1, 3, 0], 15))
    made = {}
    for key in ("identity", "temperature", "top-label-hb"):
        fitted = CALIBRATORS.make(key).fit(probs[60:], labels[60:])
        weighed = Predictions(probs[:60], labels[:60], weights=np.tile([2, 1, 3, 0], 15))
        made[key] = fitted.apply(weighed), fitted.apply(Predictions(probs[at], labels[at]))
    return made


@pytest.mark.sampled(2)
@pytest.mark.parametrize("notion", ["confidence", "top-label", None])
@pytest.mark.parametrize("key", [key for key in ESTIMATORS if "claims" in ESTIMATORS[key].flags.takes])
@pytest.mark.parametrize("calibrator", ["identity", "top-label-hb"])
def test_value_interval_floor_and_p_are_those_of_copies(models, calibrator, key, notion):
    weighed, written = models[calibrator]
    whole = hasattr(ESTIMATORS.make(key), "of")
    if notion is None and (not whole or weighed.kind != "full"):
        pytest.skip("a score of whole predictions")
    if key in ("smece", "ece-kde", "ece-sweep") and notion == "top-label":
        pytest.skip("seconds, and nothing that the confidence notion does not show")
    first, second = estimate(weighed, notion, key), estimate(written, notion, key)
    assert first.value == pytest.approx(second.value, abs=1e-12)
    one, other = first.interval(), second.interval()
    assert (one.low, one.high) == (pytest.approx(other.low, abs=1e-9), pytest.approx(other.high, abs=1e-9))
    if key not in ("smece", "ece-kde"):
        assert (first.p_value, first.noise_floor.high) == (second.p_value, pytest.approx(second.noise_floor.high))


@pytest.mark.parametrize("calibrator", ["identity", "temperature", "top-label-hb"])
def test_tests_and_bounds_are_those_of_copies(models, calibrator):
    weighed, written = models[calibrator]
    assert weighed.effective_rows == written.effective_rows == written.n_rows == 90
    assert shown_at_all(weighed).p_value == shown_at_all(written).p_value
    assert unbinned_bound(weighed).value == pytest.approx(unbinned_bound(written).value)
