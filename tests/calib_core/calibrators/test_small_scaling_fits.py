"""Gains of a prior on few rows: the stored table, one of its cells recomputed, and its falsified twin."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib_core.calibrators import PRIOR_ROWS

SIMULATIONS = Path(__file__).parents[2] / "simulations"


def test_the_library_recommends_what_loses_least_in_the_table():
    table = pd.read_csv(SIMULATIONS / "small_scaling_fits.csv")
    ours = f"prior {PRIOR_ROWS}"
    for (_, n, _), part in table[table["law"].isin(["mean", "worst regret"])].groupby(["law", "rows", "map"]):
        excess = part.set_index("method")["excess"]
        assert excess.idxmin() == ours, n
        assert excess[ours] < excess["prior 0"]
        assert excess[ours] < excess["wrong way"]


@pytest.mark.parametrize("law", ["confidence near 1, calibrated", "naive Bayes, 3 times, easy"])
def test_a_cell_of_the_table_comes_out_again(law, monkeypatch):
    """With other seeds, the prior saves most of maximum likelihood's loss, and one with another center does not."""
    monkeypatch.syspath_prepend(str(SIMULATIONS))
    monkeypatch.delitem(sys.modules, "small_scaling_fits", raising=False)
    import small_scaling_fits as simulation

    few = ("prior 0", f"prior {PRIOR_ROWS}", "wrong way")
    monkeypatch.setattr(simulation, "METHODS", {name: simulation.METHODS[name] for name in few})
    found = pd.DataFrame(simulation.cell(law, 50, 25, seed=11)).pivot_table(
        index="map", columns="method", values="excess"
    )
    assert (found[few[1]] < 0.6 * found["prior 0"]).all()
    assert (found[few[1]] < found["wrong way"]).all()
    assert np.isfinite(found.to_numpy()).all()
