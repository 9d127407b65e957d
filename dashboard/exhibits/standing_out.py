"""Which classes stand out of the noise."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.diagrams import StandingOut
from dashboard.exhibits import columns as of
from dashboard.exhibits.by_slice import CORRECTED
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("standing-out", "Classes that stand out")
@dataclass(frozen=True)
class ClassesStandingOut(Exhibit):
    """Predicted classes of the first model, those first that add most to its error beyond noise."""

    printed = 20

    meanings = of.Meanings(
        {
            "code": "position among the classes",
            "rows": "rows predicted as the class",
            "claimed": "mean confidence of those rows",
            "right": "share of those rows that is right",
            "error": "raw ECE of the class",
            "calibrated": "mean raw ECE of calibrated models with these confidences",
            "excess": "share of rows times (error - calibrated)",
            "p_holm": "p of the exact test, corrected for classes and kinds of places",
            "stands_out": "whether p_holm is at most 0.05",
        }
    )

    def found(self, scene: Scene) -> Call[StandingOut]:
        """The first model's classes."""
        return call(cc.diagrams.classes_standing_out, scene.model.predictions, scene.bins, stem="classes")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("class"),
            of.whole("rows"),
            of.share("says", "claimed"),
            of.share("right"),
            of.error("error"),
            of.error("calibrated"),
            of.error("adds", "excess"),
            of.probability("p (corrected)", "p_holm"),
            of.flag("significantly off", "stands_out"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            f"{scene.model.title}. {scene.get(self.found(scene)).basis} Adds: the class's share of rows times its "
            "error beyond what calibrated models show on average. p: an exact test over the bins of the class."
        ).also(CORRECTED)
