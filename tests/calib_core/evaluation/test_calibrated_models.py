"""The simulation of calibrated models: its rows are calibrated, and its check finds cells and twins that it should."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "simulations"))
import calibrated_models


@pytest.mark.parametrize("law", calibrated_models.LAWS)
def test_its_rows_are_calibrated(law):
    rows = calibrated_models.drawn(law, 20_000, 3, np.random.default_rng(0))
    gap = rows.probs.mean(axis=0) - np.bincount(rows.true_labels, minlength=3) / rows.n_rows
    assert np.abs(gap).max() < 4 * 0.5 / rows.n_rows**0.5
    top = rows.probs[np.arange(rows.n_rows), rows.true_labels]
    assert np.mean(top) == pytest.approx(np.square(rows.probs).sum(axis=1).mean(), abs=0.01)


@pytest.mark.parametrize(
    ("left", "plain", "found"),
    [(58, 3, 0), (50, 3, 1), (60, 59, 1)],
)
def test_a_cell_below_the_goal_and_a_twin_that_meets_it_are_faults(left, plain, found):
    line = {"law": "sure", "classes": 3, "rows": 100, "block": 0, "runs": 60, "left": left, "plain": plain}
    frame = pd.DataFrame([line | {"refused": 0, "harm": 0.0}])
    assert len(calibrated_models.faults(frame)) == found


def test_blocks_are_named_once_and_cover_the_grid():
    names = [name for case in calibrated_models.cases() for name in case.names]
    assert len(set(names)) == len(names)
    cells = {(case.classes, case.rows) for case in calibrated_models.cases()}
    assert len(cells) == len(calibrated_models.CLASSES) * len(calibrated_models.SIZES)
