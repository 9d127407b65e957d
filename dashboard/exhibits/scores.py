"""Proper scores and accuracy of whole predictions, of every model over the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.study import SCORES
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("scores", "Scores")
@dataclass(frozen=True)
class Scores(Exhibit):
    """Accuracy, log loss and Brier score of every model, with intervals."""

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        questions = tuple((None, key) for key in SCORES)
        found = call(cc.inference.estimates, scene.over_same_rows(), questions)
        return call(cc.inference.estimate_lines, found)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("model"), of.text("score", "title"), *line_words.columns(frame)

    def words(self, scene: Scene) -> Words:
        caption = (
            "Scores of the whole prediction, which are no calibration errors: they fall with accuracy too. "
            f"{line_words.READING} Of accuracy: what 95 % stay above."
        )
        rows = call(cc.study.rows_said, tuple(scene.predictions().values()), scene.counting)
        return Words(caption).also(scene.get(rows), *line_words.notes(scene.get(self.table(scene))))
