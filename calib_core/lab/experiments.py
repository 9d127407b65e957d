"""Experiments of the papers on a known distribution: samples, number of draws, and measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.diagram import Diagram
from calib_core._base.errors import InputError
from calib_core._base.parallel import Progress
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.defaults import SEED
from calib_core.lab.repeats import SIZES, LabRun, repeated
from calib_core.lab.truths import MODELS, Mixture, Truth, as_truth
from calib_core.registry.registry import FAMILIES, Recipe
from calib_core.text import Unit

MEASURES = {
    "mean": "mean of the draws",
    "worst": "95th percentile of relative errors",
    "mse": "mean squared distance from the truth",
    "share_held": "share of intervals that contain the true error",
}
"""Measures of an experiment, with their axis titles."""


@dataclass(frozen=True)
class Series:
    """One member of an experiment: its line in the figure, and its number of bins."""

    title: str
    key: str
    params: tuple[tuple[str, Any], ...] = ()
    bins: int = 0

    @property
    def name(self) -> str:
        """Unique name within the experiment."""
        return f"{self.title}, {self.bins} bins" if self.bins else self.title


@dataclass(frozen=True)
class Experiment:
    """Experiment: estimators or calibrators, sizes, number of draws and measure.

    It has ``estimators`` and ``binary`` calibrators; with ``by_bins`` the figure is over numbers of bins instead of
    rows. ``truths``: its fixed distributions, if the user does not choose one. ``squares`` are estimators whose
    estimates are squared before the comparison.
    """

    key: str
    title: str
    caption: str
    reference: str
    estimators: tuple[Series, ...]
    binary: tuple[Series, ...] = ()
    n: tuple[int, ...] = SIZES
    draws: int = 40
    measure: str = "mean"
    by_bins: bool = False
    in_bins: bool = False
    intervals: bool = False
    truths: tuple[Truth, ...] = ()
    own_rows: bool = False
    squares: tuple[str, ...] = field(default=())


def _binned(title: str, key: str, bins: Sequence[int]) -> tuple[Series, ...]:
    return tuple(Series(title, key, (("binning", EqualWidth(b)),), b) for b in bins)


def _maps(bins: Sequence[int]) -> tuple[Series, ...]:
    titles = {"histogram": "Histogram binning", "scaling-binning": "Scaling, then binning"}
    return tuple(Series(title, key, (("bins", b),), b) for key, title in titles.items() for b in bins)


_SQUARED = (Series("Squared error", "debiased-l2"),)

EXPERIMENTS: dict[str, Experiment] = {
    each.key: each
    for each in (
        Experiment(
            "estimators",
            "Estimators against the true error",
            "The mean estimate over many samples, and the true error. Noise inflates it with few rows; bins hide "
            "error with many.",
            "P2 §5; P5 §5",
            (
                Series("ECE", "ece"),
                Series("Debiased ECE", "debiased-ece"),
                Series("By kernel densities", "ece-kde"),
                Series("Smooth ECE", "smece"),
            ),
        ),
        Experiment(
            "squares",
            "Plug-in and debiased",
            "The distance between estimates of the squared calibration error and its known value in the same bins. "
            "With many bins and few rows, debiased estimates are much closer than plug-in estimates. Plug-in "
            "estimates include the part that chance adds; debiased estimates subtract it.",
            "P2 Fig. 4, on a known distribution instead of a network",
            (*_binned("Plug-in", "rmsce", (10, 100)), *_binned("Debiased", "debiased-l2", (10, 100))),
            measure="mse",
            in_bins=True,
            squares=("rmsce",),
        ),
        Experiment(
            "eces",
            "ECE and debiased ECE",
            "The distance between estimates of the ECE and its known value in the same bins.",
            "P2 Fig. 12, 13, 15 and 16, on a known distribution instead of a network",
            (*_binned("ECE", "ece", (15, 100)), *_binned("Debiased ECE", "debiased-ece", (15, 100))),
            measure="mse",
            in_bins=True,
        ),
        Experiment(
            "calibrators",
            "Calibrators over rows",
            "The true squared error after recalibration, by number of calibration rows. If the calibrator can "
            "represent the true curve, ten times as many rows make it about ten times smaller.",
            "P2 Fig. 8 and 11",
            _SQUARED,
            (*_maps((10,)), Series("Platt scaling", "platt")),
            n=(500, 1000, 2000, 3000),
            draws=20,
        ),
        Experiment(
            "bins",
            "Calibrators over bins",
            "The true squared error after recalibration, by number of bins. With more bins, it grows much after "
            "histogram binning, and little after scaling-binning.",
            "P2 Fig. 9",
            _SQUARED,
            _maps((5, 10, 15, 20)),
            n=(2000,),
            draws=20,
            by_bins=True,
        ),
        Experiment(
            "intervals",
            "Intervals",
            "How often 90 % intervals include the true error, that is, the error of the drawn rows in the interval's "
            "bins.",
            "",
            (Series("ECE", "ece"), Series("Squared error", "debiased-l2"), Series("Brier score", "brier")),
            n=(100, 300, 1000),
            measure="share_held",
            intervals=True,
        ),
        Experiment(
            "models",
            "Estimators over many models",
            "The relative error of the estimate that 95 % of samples stay below. It is the median over models fitted "
            "on Gaussian mixtures.",
            "P5 Fig. 2, twelve models instead of 540",
            (
                Series("ECE", "ece"),
                Series("Adaptive", "ece-adaptive", (("bins", 15),)),
                Series("Convex", "ece-convex", (("bins", 15),)),
                Series("Convex, root of the rows", "ece-convex"),
                Series("By kernel densities", "ece-kde"),
            ),
            n=(30, 60, 120, 250, 500),
            measure="worst",
            own_rows=True,
            truths=tuple(Mixture(model, k, k) for k in (2, 5, 10) for model in MODELS),
        ),
    )
}


@dataclass(frozen=True, eq=False, repr=False)
class ErrorCurves(Diagram):
    """Curves of a ``measure`` of the draws over rows or bins, one per series, with intervals.

    ``unit``: whether the values are shares, as errors and parts of them are, or squares. ``true`` is the true error at
    each point, before recalibration if there are ``calibrators``; NaN for several distributions.
    """

    title: str
    measure: str
    over: str
    unit: Unit
    calibrators: bool
    points: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """One row per point, exactly the numbers drawn."""
        return self.points


def experiment(
    key: str,
    truth: str | Recipe | Truth = "drawn",
    draws: int = 0,
    random_state: int = SEED,
    progress: Progress | None = None,
) -> LabRun:
    """Run an experiment of ``EXPERIMENTS`` on a known distribution.

    ``draws`` of each size (0: the experiment's own number); ``truth`` is ignored if the experiment has its own
    distributions. ``progress`` as in ``repeated``.

    >>> experiment("eces", "sigmoid", draws=2).frame()["estimator"].unique().tolist()
    ['ECE, 15 bins', 'ECE, 100 bins', 'Debiased ECE, 15 bins', 'Debiased ECE, 100 bins']
    """
    what = _experiment(key)
    run = repeated(
        what.truths or [as_truth(truth)],
        what.n,
        draws or what.draws,
        _members("ESTIMATORS", what.estimators),
        binary_calibrators=_members("BINARY_CALIBRATORS", what.binary),
        in_bins=what.in_bins,
        intervals=what.intervals,
        own_rows=what.own_rows,
        random_state=random_state,
        progress=progress,
    )
    return run.squared([each.name for each in what.estimators if each.key in what.squares])


def _experiment(key: str) -> Experiment:
    if key not in EXPERIMENTS:
        raise InputError(f"experiment is {key!r:.80}; it must be one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[key]


def _members(family: str, series: Sequence[Series]) -> Mapping[str, Recipe]:
    return {each.name: FAMILIES[family].described(each.key, **dict(each.params)) for each in series}


def error_curves(
    key: str,
    truth: str | Recipe | Truth = "drawn",
    draws: int = 0,
    measure: str = "",
    random_state: int = SEED,
    progress: Progress | None = None,
) -> ErrorCurves:
    """Curves of an experiment, one per estimator or calibrator, over rows or bins.

    ``measure`` is one of ``MEASURES`` (none: the experiment's own). Intervals are for the value with infinitely many
    draws; for several distributions they are the quartiles over them.

    >>> diagram = error_curves("estimators", "example-1", draws=2)
    >>> diagram.frame()[["series", "x", "draws"]].iloc[0].astype(str).tolist()
    ['ECE', '100', '2']
    """
    what = _experiment(key)
    measure = measure or what.measure
    if measure not in measures_of(key):
        raise InputError(f"measure is {measure!r:.80}; {what.title!r} offers {', '.join(measures_of(key))}")
    frame = experiment(key, truth, draws, random_state, progress).frame()
    columns = ["series", "bins", "x", "value", "low", "high", "true", "true_error", "draws", "note"]
    names = {each.name: each for each in (*what.estimators, *what.binary)}
    member = frame["calibrator"].where(frame["calibrator"] != "", frame["estimator"]).map(names)
    ends = "share" if measure == "share_held" else measure
    frame = frame.assign(
        series=[each.title if what.by_bins else each.name for each in member],
        bins=[each.bins or np.nan for each in member],
        value=frame[measure],
        low=frame[f"{ends}_low"],
        high=frame[f"{ends}_high"],
    )
    frame = frame[frame["calibrator"] != ""] if what.binary else frame
    frame = frame.assign(x=frame["bins"].astype(int) if what.by_bins else frame["n"])
    if what.truths:
        frame = _over_truths(frame)
    over = "bins" if what.by_bins else "rows"
    squares = measure == "mse" or (measure == "mean" and any(each.key == "debiased-l2" for each in what.estimators))
    points = frame[columns].reset_index(drop=True)
    return ErrorCurves(what.title, measure, over, "score" if squares else "share", bool(what.binary), points)


def measures_of(key: str) -> tuple[str, ...]:
    """Measures of an experiment.

    >>> measures_of("bins")
    ('mean',)
    """
    what = _experiment(key)
    if what.binary:
        return ("mean",)
    return tuple(name for name in MEASURES if name != "share_held" or what.intervals)


def _over_truths(frame: pd.DataFrame) -> pd.DataFrame:
    """Median and quartiles over distributions."""
    groups = frame.groupby(["series", "x"], sort=False)
    found = groups.agg({"bins": "first", "draws": "sum", "note": "max"})
    for name, share in (("low", 0.25), ("value", 0.5), ("high", 0.75)):
        found[name] = groups["value"].quantile(share)
    return found.assign(true=np.nan, true_error=np.nan).reset_index()
