"""Tests of calibration that need no bins."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("tests", "Tests without bins")
@dataclass(frozen=True)
class Tests(Exhibit):
    """Tests of calibration that need no bins, of every model."""

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.unbinned_tests, scene.predictions())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("model"), of.text("test"), of.number("statistic"), of.probability("p")

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        reasons = frame.loc[frame["note"].astype(bool)].groupby("note", sort=False)["test"].unique()
        return Words("p: the chance that a perfectly calibrated model shows as much.").also(
            *(f"{', '.join(tests)}: {note}." for note, tests in reasons.items())
        )
