"""Histograms of the distances of estimates from the truth: counts by a slow twin, their subject, and refusals."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import InputError, NotAnswerable, figures
from calib_core.lab import distance_experiments, error_curves, error_distances, experiment


@pytest.mark.parametrize("key", distance_experiments())
def test_every_sample_is_counted_where_it_lies(key):
    found = error_distances(key, "sigmoid", 300, 20)
    drawn = experiment(key, "sigmoid", 20).draws().query("n == 300")
    for series, parts in found.frame().groupby("series"):
        off = drawn.loc[drawn["estimator"] == series, "off"].abs()
        last = parts["high"].max()
        for part in parts.itertuples():
            inside = [part.low <= x < part.high or (x == last == part.high) for x in off]
            assert part.draws == sum(inside)
        assert found.median[series] == np.median(off)
    assert found.frame()["high"].max() == drawn["off"].abs().max(), "of all estimators"


def test_the_mean_square_of_the_distances_is_that_of_the_curves():
    """The samples are the same: equality within the width of a part each."""
    curves = error_curves("squares", "sigmoid", 20).frame().query("x == 100").set_index("series")["value"]
    for series, parts in error_distances("squares", "sigmoid", draws=20).frame().groupby("series"):
        ends = [np.average(parts[end] ** 2, weights=parts["draws"]) for end in ("low", "high")]
        assert ends[0] <= curves[series] <= ends[1]


def test_debiased_estimates_are_nearer_with_many_bins():
    """P2, G.2: with 100 bins the debiased estimator is much closer to the ground truth."""
    half = error_distances("squares", "sigmoid", 500, 60).median
    assert half["Debiased, 100 bins"] < 0.5 * half["Plug-in, 100 bins"]


def test_steps_are_drawn_from_the_frame():
    found = error_distances("eces", "sigmoid", 100, 10)
    for trace, (series, parts) in zip(
        figures.error_distances(found).data, found.frame().groupby("series", sort=False), strict=True
    ):
        assert trace.name == series
        assert list(trace.x) == [*parts["low"], parts["high"].iloc[-1]]
        assert list(trace.y[:-1]) == list(parts["draws"])
        assert trace.line.shape == "hv"


def test_what_has_no_single_truth_or_no_answer_is_refused(monkeypatch):
    with pytest.raises(InputError, match=r"choose squares or eces"):
        error_distances("models")
    with pytest.raises(InputError, match="experiment is 'none'"):
        error_distances("none")
    module = import_module("calib_core.lab.one_sample")
    silent = pd.DataFrame({"estimator": ["ECE, 15 bins"], "off": [np.nan]})
    run = type("Run", (), {"squared": lambda self, _: self, "draws": lambda self: silent})()
    monkeypatch.setattr(module, "repeated", lambda *_, **__: run)
    with pytest.raises(NotAnswerable, match="samples of 100 rows"):
        error_distances("eces", "sigmoid")


def test_a_truth_without_any_distance_is_drawn():
    certain = cc.lab.TRUTHS.make("drawn", shares=(0.0, 1.0))
    assert error_distances("eces", certain, 20, 3).frame()["draws"].sum() == 12
