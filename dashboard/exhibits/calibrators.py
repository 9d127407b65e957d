"""All models in one table: every number of each, and what its calibrator's contract says."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.evaluation.study import every_measure
from dashboard.exhibits import columns as of
from dashboard.exhibits.before_and_after import BeforeAndAfter
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import measured
from dashboard.selection import mixed
from dashboard.session import Call, Scene, call


@EXHIBITS.register("calibrators", "Every number of every ticked calibrator")
@dataclass(frozen=True)
class Calibrators(Exhibit):
    """Errors in every notion, proper scores, and what each calibrator's contract says."""

    reads = "counts"
    terms = ("confidence", "top-label", "class-wise", "log-loss", "brier-score")

    meanings = of.Meanings(
        {
            **BeforeAndAfter.meanings,
            "returns": "what its predictions hold",
            "keeps_class": "whether the calibrator never changes the predicted class",
            "keeps_order": "whether it never changes the order of the classes",
            "sums_to_one": "whether its probabilities sum to 1",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        fitted = scene.each(lambda model: model.fitted)
        return call(cc.evaluation.model_tables.standings, scene.over_same_rows(), scene.bins, calibrators=fitted)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator", "model"),
            *(measured(measure) for measure in every_measure() if measure.name in frame),
            *([of.text("bins")] if mixed(frame["bins"]) else []),
            of.text("returns"),
            of.flag("keeps the class", "keeps_class"),
            of.flag("rows sum to one", "sums_to_one"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            f"On {scene.judged_rows}. Empty cells: the calibrator says nothing there, because it recalibrates only the "
            f"claim it makes. Bins: {scene.in_bins}."
        ).also(scene.rows_counted)
