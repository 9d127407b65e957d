"""Pictures of the laboratory draw the numbers of their frames, and nothing else."""

import numpy as np
import pytest

from calib_core import figures, lab
from calib_core._base.errors import InputError


def test_the_truth_is_a_line_and_the_sample_its_bins():
    curve = lab.truth_curve("drawn", 300)
    frame, figure = curve.frame(), figures.truth_curve(curve)
    named = {trace.name: trace for trace in figure.data}
    for of, name in (("truth", "truth, yes"), ("sample", "sample, yes"), ("point", "points to drag")):
        trace = named[name]
        np.testing.assert_array_equal(trace.y, frame[frame["of"] == of]["right"])
    bars = named["sample, yes"].error_y
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
