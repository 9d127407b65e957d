"""Which rows calibrators are fitted on, and which every number is of."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.evaluation.cross_fitting import COLUMN_UNUSED
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call, division, reading, shared, split_by


@EXHIBITS.register("rows", "Calibration rows and test rows")
@dataclass(frozen=True)
class RowsExhibit(Exhibit):
    """How many rows calibrators are fitted on and how many they are judged on, with accuracy and mean confidence."""

    reads = "counts"

    meanings = of.Meanings(
        {
            "part": "calibration or test rows",
            "rows": "number of those rows",
            "accuracy": "share of them that is right",
            "confidence": "their mean confidence",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {model.title: model.division for model in scene.bases})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        several = [of.text("model")] if frame["model"].nunique() > 1 else []
        counts = of.text("rows", "part"), of.whole("number", "rows")
        return (*several, *counts, of.share("accuracy"), of.share("mean confidence", "confidence"))

    def words(self, scene: Scene) -> Words:
        source = scene.sources[0]
        rows = division(source)
        divided, repeated = scene.get(rows), shared(source)
        if divided.undivided:
            return Words(f"All rows are judged ({divided.rule}).")
        how = {
            "share": f", a share of {source.share:g} to the calibration rows, seed {source.seed}",
            "folds": f", seed {source.seed}",
        }.get(split_by(source), "")
        judged = f"{scene.judged_rows} with {divided.where}" if divided.where else scene.judged_rows
        column = reading(source.data, source.reading).split if scene.cross_fitted else None
        fitted = f"{divided.note} Every" if divided.note else "Calibrators are fitted on the calibration rows; every"
        return Words(f"How the rows were divided: {divided.rule}{how}. {fitted} number is of {judged}.").also(
            repeated.message if repeated else "", divided.warning, COLUMN_UNUSED.format(column) if column else ""
        )
