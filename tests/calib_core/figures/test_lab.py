"""Pictures of the laboratory draw the numbers of their frames, and nothing else."""

import numpy as np
import pytest

from calib_core import ESTIMATORS, REDUCTIONS, figures, inference, lab
from calib_core._base.errors import InputError
from calib_core.text import percent


def test_the_truth_is_a_line_and_the_sample_its_bins():
    curve = lab.truth_curve("drawn", 300)
    frame, figure = curve.frame(), figures.truth_curve(curve)
    named = {trace.name: trace for trace in figure.data}
    for of, name in (("truth", "truth"), ("sample", "sample"), ("point", "points to drag")):
        trace = named[name]
        np.testing.assert_array_equal(trace.y, frame[frame["of"] == of]["right"])
    bars = named["sample"].error_y
    drawn = frame[frame["of"] == "sample"]
    np.testing.assert_allclose(np.asarray(bars.array) + drawn["right"], drawn["high"])
    assert frame[frame["of"] == "sample"]["rows"].sum() == 300


@pytest.mark.parametrize(("key", "lines"), [("eces", 4), ("bins", 2)])
def test_every_series_is_a_line_of_the_frames_numbers(key, lines):
    curves = lab.error_curves(key, "sigmoid", draws=2)
    frame, figure = curves.frame(), figures.error_curves(curves)
    named = {trace.name: trace for trace in figure.data if trace.name not in ("true error", "before calibration")}
    assert len(named) == lines
    for series, mine in frame.groupby("series"):
        np.testing.assert_array_equal(named[series].y, mine["value"])
        np.testing.assert_array_equal(named[series].x, mine["x"])


def test_means_stand_beside_the_true_error():
    figure = figures.error_curves(lab.error_curves("eces", "sigmoid", draws=2, measure="mean"))
    true = [trace.y[0] for trace in figure.data if trace.name == "true error"]
    assert true[0] == pytest.approx(lab.true_error("sigmoid").value, abs=1e-3)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"key": "none"}, "must be one of estimators"),
        ({"key": "bins", "measure": "worst"}, "'Calibrators over bins' offers"),
    ],
)
def test_what_there_is_not_is_refused(how, why):
    with pytest.raises(InputError, match=why):
        lab.error_curves(**how)


@pytest.mark.parametrize("name", ["coverage", "rejection"])
def test_cells_of_simulations_have_the_worst_and_the_median_case_and_its_color(name):
    table, cells = getattr(inference, f"{name}_table")(), getattr(inference, f"{name}_cells")()
    figure = getattr(figures, f"{name}_map")(cells)
    if name == "coverage":
        table = table[(table["tested"] == 1) & (table["level"] == 0.9)]
        ranges = {"fewer than 300": (0, 299), "300 to 999": (300, 999), "1,000 to 4,999": (1000, 4999)}
        ranges["5,000 or more"] = (5000, 10**9)
        lines = [table[table["rows"].between(*ranges[rows])] for rows in cells["rows"]]
        share, worst, bounds = "coverage", "min", lambda low: 0 if low >= 0.9 else 1 if low >= 0.86 else 2
    else:
        keys = {REDUCTIONS[key].title: key for key in table["notion"].unique()}
        lines = [table[table["notion"] == keys[notion]] for notion in cells["notion"]]
        share, worst, bounds = "rejected", "max", lambda high: 0 if high <= 0.05 else 1 if high <= 0.07 else 2
    titles = {ESTIMATORS[key].title: key for key in table["estimator"].unique()}
    grounds = [trace for trace in figure.data if trace.type == "bar"]
    (texts,) = (trace for trace in figure.data if trace.type == "scatter")
    places = [
        (round(x + 0.48), y, kind) for kind, bar in enumerate(grounds) for x, y in zip(bar.base, bar.y, strict=True)
    ]
    colored = {(x, y): kind for x, y, kind in places}
    for i, (cell, mine) in enumerate(zip(cells.to_dict("records"), lines, strict=True)):
        cases = mine[mine["estimator"] == titles[cell["estimator"]]][share]
        assert (cell["cases"], cell["worst"], cell["median"]) == (len(cases), cases.agg(worst), cases.median())
        assert colored[texts.x[i], texts.y[i]] == bounds(cell["worst"])
        assert percent(cell["worst"], 1) in texts.text[i]
    assert cells["cases"].sum() == len(table)
    assert len(colored) == len(cells)
