"""The error against the number of bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("sweep", "Error against number of bins", reference="P1 Fig. 2")
@dataclass(frozen=True)
class Sweep(Exhibit):
    """The error of every model for every number of bins, with what noise alone would show."""

    printed = 10
    height = 440
    terms = ("calibration-error", "bins")
    costly = True
    formula = cc.diagrams.ErrorSweep.formula

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self._sweep(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        numbers = of.error("ECE", "value"), of.error("noise floor", "floor")
        return of.text("model"), of.text("notion"), of.whole("bins"), *numbers

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.error_sweep", self._sweep(scene), looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        return Words(
            "ECE for 5 to 25 bins of equal width; dashed: confidence, solid: top-label. Grey: what 95 % of calibrated "
            f"models with the predictions of {scene.titles[0]} stay below.",
            "ECE for 5 to 25 bins, a line per model and notion, above what noise alone shows.",
            line_words.answering(scene)[1],
        )

    def _sweep(self, scene: Scene) -> Call[Any]:
        models, _ = line_words.answering(scene)
        classes = all(scene.get(rows).kind != "confidence" for rows in models.values())
        notions = ("confidence", "top-label") if classes else ("confidence",)
        return call(cc.diagrams.error_sweep, models, notions)
