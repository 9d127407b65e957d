"""Measures of a risk equal those of R, stored with their script (tests/golden/risk/reference.R)."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib_core import risk
from calib_core.inference.intervals.event_rows import Trials
from calib_core.predictions.predictions import Predictions
from calib_core.risk.smooth_curve import loess, lowess

FOLDER = Path(__file__).parent / "risk"
CASES, VALUES, CURVES = (pd.read_csv(FOLDER / f"{name}.csv") for name in ("cases", "values", "curves"))
NAMES = tuple(CASES["case"].unique())
EXACT = {"rel": 1e-8, "abs": 1e-9}


def rows(case):
    mine = CASES[CASES["case"] == case]
    s, y = mine["s"].to_numpy(), mine["y"].to_numpy()
    return Predictions(np.column_stack([1 - s, s]), y), s, y == 1


def of_r(case):
    return VALUES[VALUES["case"] == case].set_index("measure")["value"]


@pytest.mark.parametrize("case", NAMES)
def test_intercept_slope_and_scores(case):
    found, wanted = risk.summary(rows(case)[0]).set_index("measure")["value"], of_r(case)
    assert found["intercept"] == pytest.approx(wanted["intercept"], **EXACT)
    assert found["slope"] == pytest.approx(wanted["slope"], **EXACT)
    assert found["slope"] == pytest.approx(wanted["val.prob Slope"], rel=1e-6)
    assert found["auroc"] == pytest.approx(wanted["auroc"], **EXACT)
    assert found["auroc"] == pytest.approx(wanted["val.prob C (ROC)"], abs=1e-3)
    assert found["brier"] == pytest.approx(wanted["val.prob Brier"], **EXACT)


@pytest.mark.parametrize("case", NAMES)
@pytest.mark.parametrize("method", ["loess", "spline"])
def test_distances_of_the_curve(case, method):
    found = risk.smooth_curve(rows(case)[0], method=method).distances.set_index("measure")["raw"]
    for measure in ("ici", "e50", "e90", "emax"):
        assert found[measure] == pytest.approx(of_r(case)[f"{method} {measure}"], rel=1e-7), measure


@pytest.mark.parametrize("case", NAMES)
def test_distances_of_val_prob(case):
    found = risk.smooth_curve(rows(case)[0], method="lowess").distances.set_index("measure")["raw"]
    for measure, theirs in (("ici", "Eavg"), ("e90", "E90"), ("emax", "Emax")):
        assert found[measure] == pytest.approx(of_r(case)[f"val.prob {theirs}"], **EXACT), measure


@pytest.mark.parametrize("case", NAMES)
@pytest.mark.parametrize("smooth", [loess, lowess])
def test_points_of_local_curves(case, smooth):
    _, s, y = rows(case)
    wanted = CURVES[CURVES["case"] == case]
    found, _ = smooth(Trials.of(s, y)).at_scores(wanted["s"].to_numpy())
    assert found == pytest.approx(wanted[smooth.__name__].to_numpy(), abs=1e-8)
