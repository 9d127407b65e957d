"""The same error in the notions that the verdict does not rest on."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

NOTIONS = ("top-label", "confidence", "class-wise")


@EXHIBITS.register("notions", "The same error in other notions")
@dataclass(frozen=True)
class Notions(Exhibit):
    """The expected calibration error of every model in the notions that its verdict does not rest on."""

    reads = "counts"
    costly = True
    terms = ("confidence", "top-label", "class-wise")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        first = line_words.primary_notion(scene)
        questions = tuple((notion, "ece") for notion in NOTIONS if notion != first)
        models, _ = line_words.answering(scene)
        found = call(cc.inference.estimates, models, questions, bins=scene.bins)
        return call(cc.inference.estimate_lines, found, eps=scene.tolerance)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("model"), of.text("error", "title"), *line_words.columns(frame)

    def words(self, scene: Scene) -> Words:
        caption = (
            f"Beside the line that decides: it was chosen before, and these do not change it. {line_words.READING}"
        )
        return Words(caption).also(*line_words.notes(scene.get(self.table(scene))))
