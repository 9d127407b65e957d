"""Proper scores and accuracy of whole predictions, of every model over the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.evaluation.study import SCORES
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("scores", "Scores")
@dataclass(frozen=True)
class Scores(Exhibit):
    """Accuracy, log loss and Brier score of the whole predictions of every model, with intervals and noise floors."""

    reads = "counts"
    costly = True
    terms = ("log-loss", "brier-score")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        notion = "event" if scene.claims == "event" and not scene.undivided else None
        questions = tuple((notion if key == "brier" else None, key) for key in SCORES)
        found = call(cc.inference.estimates, scene.over_same_rows(), questions, by_model=False)
        return call(cc.inference.estimate_lines, found)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("score", "title"), of.text("model"), *line_words.columns(frame, "p (worse than calibrated)")

    def words(self, scene: Scene) -> Words:
        caption = (
            "Accuracy (higher is better) and proper scores (lower is better) of whole predictions on "
            f"{scene.judged_rows}; no calibration errors: they answer to accuracy too. {line_words.READING} "
            f"{line_words.OF_SCORES}"
        )
        return Words(caption).also(scene.rows_counted, *line_words.notes(scene.get(self.table(scene))))
