"""The table of tests/simulations/watching.py: it keeps the promises, its twins do not, and it can be computed again."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib_core import Predictions
from calib_core.monitoring import Watch

sys.path.insert(0, str(Path(__file__).parents[2] / "simulations"))

import watching

TABLE = watching.frame()


def values(kind: str, method: str) -> pd.Series:
    return TABLE[(TABLE["kind"] == kind) & (TABLE["method"] == method)].set_index("case")["value"]


def test_false_alarms_are_as_rare_as_promised_and_twins_fail() -> None:
    assert set(values("false alarms", "ours").index) <= set(watching.LAWS)
    assert values("false alarms", "ours").max() <= 0.05
    assert values("false alarms", "each look").min() > 0.5
    # Ours where groups, or the tolerance, are ignored.
    assert values("false alarms", "ours, falsified").min() > 0.5
    assert values("coverage", "ours").min() >= 0.95
    assert values("coverage", "each look").max() < 0.6


def test_drifts_are_found_sooner_than_by_fixed_methods() -> None:
    """Fixed methods with their level: tests of each look, of all rows so far, and the calibration error.

    The oracles know the size of the drift, and their limits are simulated for the law.
    """
    ours = values("delay", "ours, tolerance 0")
    for method in ("bonferroni", "cumulative", "ece"):
        assert (ours <= values("delay", method)).all()
    assert (ours / values("delay", "cusum")).max() <= 1.5
    assert (values("delay", "ours") / values("delay", "cusum, tolerance")).max() <= 2.5


@pytest.mark.parametrize("size", [1, 5])
def test_the_simulated_alarm_is_the_one_of_the_library(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LOOKS", 40)
    scores, _, happened = watching.Law("risk", shift=0.09, size=size).draw(np.random.default_rng(4))
    watch = Watch(horizon=40)
    for look, (s, y) in enumerate(zip(scores, happened, strict=True)):
        groups = None if size == 1 else np.arange(50) // size
        watch = watch.add(Predictions(np.column_stack([1 - s, s]), y.astype(int), groups=groups), look + 1)
    place = watching.first_alarm(watching.Sums.of(scores, happened, 0.02, size), 0.02)
    assert watch.years[0].alarm == (str(place + 1) if place < 40 else None)
    assert (place < 40) == (size == 1)
