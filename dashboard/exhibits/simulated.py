"""What was simulated: how often intervals of the library hold, and how often its tests reject calibrated models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core import BINNINGS, ESTIMATORS, REDUCTIONS
from calib_core.defaults import LEVEL
from calib_core.registry.registry import Registry
from calib_core.text import at_level, count, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import caption
from dashboard.session import Call, Scene, call

_HEADINGS = {
    "law": "law of the scores",
    "truth": "truth about them",
    "rows_a_cell": "rows a cell",
    "half": "held at half the width",
    "below": "truth below it",
    "above": "truth above it",
    "true_error": "true error",
    "mean_width": "mean width",
    "rejected_exact": "rejected, ties at random",
}
_TITLED: dict[str, Registry[Any]] = {"notion": REDUCTIONS, "estimator": ESTIMATORS, "binning": BINNINGS}


@EXHIBITS.register("coverage", "How often do the intervals hold?")
@dataclass(frozen=True)
class Coverage(Exhibit):
    """How often default intervals held the truth in simulations, a line a case."""

    reads = "counts"
    printed = 10

    meanings = of.Meanings(
        {
            "family": "family of laws",
            "law": "law of the scores",
            "truth": "how far the truth lies from the scores",
            "classes": "number of classes",
            "rows": "rows of a sample",
            "binning": "kind of bins",
            "bins": "number of bins",
            "rows_a_cell": "rows of a sample per cell of class and bin",
            "runs": "number of samples",
            "coverage": "share of samples whose interval holds the true error",
            "below": "share whose interval lies above it",
            "above": "share whose interval lies below it",
            "half": "share that intervals of half the width would hold",
            "true_error": "error of the law",
            "mean_width": "mean width of the intervals",
            "level": "what the coverage should be",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.coverage_table)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return _columns(frame, ("level", "coverage", "below", "above", "half"))

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        tested = frame[(frame["tested"] == 1) & (frame["level"] == LEVEL)]
        middle, low = (float(tested["coverage"].quantile(q)) for q in (0.5, 0.05))
        return Words(
            f"In {count(len(tested))} simulated cases called tested, {at_level(LEVEL)} intervals held the truth in "
            f"{short_percent(middle, 0)} of runs at the median, and in {short_percent(low, 0)} or more "
            "in 19 of 20 cases. Look for the line nearest to your data: its coverage should be near its level."
        ).also(caption(cc.inference.coverage_table))


@EXHIBITS.register("rejection", "How often is a calibrated model rejected?")
@dataclass(frozen=True)
class Rejection(Exhibit):
    """How often calibrated models were rejected at the 5 % level in simulations, a line a case."""

    reads = "counts"
    printed = 10

    meanings = of.Meanings(
        {
            "law": "law of the scores",
            "classes": "number of classes",
            "rows": "rows of a sample",
            "runs": "number of samples",
            "rejected": "share of calibrated samples with p at most 0.05",
            "rejected_exact": "the same with ties broken at random",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.rejection_table)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return _columns(frame, ("rejected", "rejected_exact"))

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        return Words(
            f"In {count(len(frame))} simulated cases calibrated models were rejected in at most "
            f"{short_percent(frame['rejected'].max())} of runs. It should be about 5 % or less: less only means that a "
            "test is careful."
        ).also(caption(cc.inference.rejection_table))


def _columns(frame: pd.DataFrame, shares: tuple[str, ...]) -> tuple[of.Column, ...]:
    """Shares in percent, counts as they are, the rest in words."""
    names = {name: _HEADINGS.get(name, name) for name in frame.columns}
    return tuple(_column(heading, name, frame[name], name in shares) for name, heading in names.items())


def _column(heading: str, name: str, values: pd.Series, share: bool) -> of.Column:
    if share:
        return of.share(heading, name)
    if name in _TITLED:
        return of.titled(heading, _TITLED[name])
    if set(values.dropna()) <= {0, 1} and name == "tested":
        return of.flag(heading)
    if not pd.api.types.is_numeric_dtype(values):
        return of.text(heading, name)
    return of.whole(heading, name) if (values.dropna() % 1 == 0).all() else of.number(heading, name)
