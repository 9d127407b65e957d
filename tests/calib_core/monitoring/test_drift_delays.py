"""Known drifts: the simulated watch is the library's, methods with a promise keep it, and drifts have their shapes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from calib_core import InputError, Predictions
from calib_core.monitoring import Watch, drift_delays
from calib_core.monitoring.drift_delays import DRIFTS, METHODS, _drawn, _drift, _line, _log_e


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


@pytest.mark.parametrize(("shape", "slices"), [("slice", 5), ("step", 1)])
def test_corrected_tests_are_of_each_slice_and_period(shape: str, slices: int) -> None:
    """First alarms by hand, from the same draws: each of the tests of a year has its part of 5 %, on two sides."""
    periods, rows, draws, start = 8, 60, 12, 3
    found = drift_delays(shape, 0.3, start, periods, rows, draws, random_state=1).frame().set_index("method")
    rng, firsts = np.random.default_rng(1), {"bonferroni": [], "cumulative": []}
    for _ in range(200):  # years without a drift come first
        _drawn(rng, np.zeros((periods, rows)))
    for _ in range(draws):
        scores, happened = _drawn(rng, _drift(shape, 0.3, start, periods, rows))
        for method, first in firsts.items():
            alarms = [
                period + 1
                for period in range(periods)
                for each in range(slices)
                for s, y in [(part[slice(0 if method == "cumulative" else period, period + 1), each::slices]
                              for part in (scores, happened))]
                if 2 * norm.sf(abs((y - s).sum()) / np.sqrt((s * (1 - s)).sum())) < 0.05 / periods / slices
            ]  # fmt: skip
            first.append(min(alarms, default=np.inf))
    for method, first in firsts.items():
        line = found.loc[METHODS[method]]
        assert line["false_alarms"] == np.mean([each < start for each in first])
        expected = np.quantile(first, (0.1, 0.5, 0.9), method="inverted_cdf")
        ends = np.where(np.isfinite(expected), expected, np.nan)
        assert line[["early", "median", "late"]].tolist() == pytest.approx(ends, nan_ok=True)


def test_an_alarm_in_the_first_period_of_a_drift_is_true() -> None:
    line = _line("x", np.array([3.0, 3.0, 2.0, np.inf, 9.0]), 3, "step")
    assert (line["false_alarms"], line["found"], line["median"]) == (0.2, 0.75, 3.0)
    assert _line("x", np.array([3.0, 2.0, np.inf, np.inf]), 3, "none")["false_alarms"] == 0.5


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
