"""What each calibrator guarantees for this data, whatever its rows are like; or why it guarantees nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("promises", "What is promised whatever the data")
@dataclass(frozen=True)
class Promises(Exhibit):
    """The bound that holds for each fitted calibrator, at 90 %, or why there is none."""

    static: ClassVar[bool] = True

    meanings = of.Meanings(
        {
            "holds": "whether something is guaranteed whatever the data",
            "sentence": "what, or why nothing",
            "set_aside": "what must be known of the fit",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("tick a calibrator: what it promises appears here")
        return call(
            cc.evaluation.model_tables.promises, {model.title: model.fitted for model in scene.models.recalibrated}
        )

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        aside = [of.text("to be known of this fit", "set_aside")] if frame["set_aside"].any() else []
        return of.text("calibrator"), of.flag("holds"), of.text("what is promised, or why nothing", "sentence"), *aside

    def words(self, scene: Scene) -> Words:
        words = Words(
            "A promise is about new rows drawn like the calibration rows, and needs no assumption on what they are "
            f"like. A calibrator without one is judged by its error on {scene.judged_rows}."
        )
        folds = (
            "A promise holds for this map on new rows; of the cross-fitted rows that are judged nothing is promised."
        )
        return words.also(scene.of_all_rows and f"{scene.of_all_rows} {folds}")
