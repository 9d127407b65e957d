"""Accuracy and proper scores of all models, each with its interval and noise floor."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.study import SCORES
from dashboard.exhibits import columns as of
from dashboard.exhibits.calibrator_errors import lines, numbers
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.lines import below
from dashboard.session import Call, Scene, call


@EXHIBITS.register("calibrator-scores", "Accuracy and proper scores of every model")
@dataclass(frozen=True)
class CalibratorScores(Exhibit):
    """Accuracy, log loss and Brier score of the whole predictions, with intervals and noise floors."""

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.lines_of_models, scene.over_same_rows(), (None,), SCORES)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("score", "title"), of.text("model"), *numbers(frame)

    def words(self, scene: Scene) -> Words:
        return Words(
            "Accuracy (higher is better) and proper scores (lower is better) on the test rows; here the noise floor is "
            "what 95 % of calibrated models with these predictions do not fall short of, p the share that does as "
            "badly."
        ).also(*below(lines(scene.get(self.table(scene)))), scene.rows_counted)
