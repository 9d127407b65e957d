"""Which rows calibrators are fitted on, and which every number is of."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call, division, shared, split_by


@EXHIBITS.register("rows", "Calibration rows and test rows")
@dataclass(frozen=True)
class Rows(Exhibit):
    """How many rows calibrators are fitted on and how many they are judged on, with accuracy and mean confidence."""

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.stacked, {model.title: model.division for model in scene.bases})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        several = [of.text("model")] if frame["model"].nunique() > 1 else []
        counts = of.text("rows", "part"), of.whole("number", "rows")
        return (*several, *counts, of.share("accuracy"), of.share("mean confidence", "confidence"))

    def words(self, scene: Scene) -> Words:
        source = scene.sources[0]
        rows = division(source)
        by_share = split_by(source) == "share"
        how = f", a share of {source.share:g} to the calibration rows, seed {source.seed}" if by_share else ""
        part = scene.get(rows).where
        judged = f"the test rows with {part}" if part else "the test rows"
        repeated = shared(source)
        return Words(
            f"How the rows were divided: {scene.get(rows).rule}{how}. Calibrators are fitted on the calibration rows; "
            f"every number is of {judged}."
        ).also(repeated.message if repeated else "", scene.get(rows).warning)
