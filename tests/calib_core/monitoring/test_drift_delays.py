"""Known drifts: the simulated watch is the library's, methods with a promise keep it, and drifts have their shapes."""

from __future__ import annotations

import numpy as np
import pytest

from calib_core import InputError, Predictions
from calib_core.monitoring import Watch, drift_delays
from calib_core.monitoring.drift_delays import DRIFTS, METHODS, _drawn, _drift, _log_e


def test_the_evidence_is_that_of_a_watch() -> None:
    scores, happened = _drawn(np.random.default_rng(1), _drift("step", 0.2, 3, 6, 40))
    watch = Watch(tolerance=0.0, horizon=6)
    for place, (s, y) in enumerate(zip(scores, happened, strict=True)):
        watch = watch.add(Predictions(np.column_stack([1 - s, s]), y.astype(int)), place + 1)
    assert _log_e(scores, happened) == pytest.approx(watch.evidence.log_e)


def test_drifts_have_their_shapes() -> None:
    found = {shape: _drift(shape, 0.1, 5, 30, 10) for shape in DRIFTS}
    assert all(not each[:4].any() for each in found.values())
    assert (found["step"][4:] == 0.1).all()
    assert found["slope"][-1] == pytest.approx(0.1)
    assert (np.diff(found["slope"][3:, 0]) > 0).all()
    assert found["season"].min() == pytest.approx(-0.1, abs=1e-3)
    assert found["slice"][10].tolist() == [0.1, 0, 0, 0, 0] * 2
    assert not found["none"].any()


def test_promises_of_a_year_are_kept_and_those_of_periods_are_not() -> None:
    found = drift_delays("none", periods=30, draws=12, rows=60).frame().set_index("method").to_dict("index")
    assert found[METHODS["watch"]]["false_alarms"] <= 0.25  # at 5 %, 4 or more of 12 have a chance of 2 in 1,000
    assert found[METHODS["each"]]["false_alarms"] >= 0.5
    assert not found[METHODS["each"]]["of_year"]
    assert all(np.isnan(line["found"]) for line in found.values())


def test_a_large_step_is_found_at_once_and_a_slice_by_its_watch() -> None:
    found = drift_delays("step", 0.3, 10, periods=20, draws=5)
    lines = found.frame().set_index("method").to_dict("index")
    assert 10 <= lines[METHODS["watch"]]["median"] <= 11
    assert found.sentence.startswith("An error of 30 points is found after 1 period (median).")
    of_slice = drift_delays("slice", 0.4, 6, periods=14, draws=3, rows=150).frame().set_index("method").to_dict("index")
    assert of_slice[METHODS["watch"]]["median"] <= 10
    with pytest.raises(InputError, match="no drift 'jump'"):
        drift_delays("jump")
