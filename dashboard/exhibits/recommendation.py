"""Recalibrate at all, and with what: chosen on the rows that calibrators are fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

import calib_core as cc
from calib_core import ESTIMATORS
from calib_core._text import inside
from calib_core.choice import SCORES
from calib_core.defaults import LEVEL
from calib_core.inference.number_words import at_level
from calib_core.registry import Choice
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("recommendation", "Recalibrate at all?")
@dataclass(frozen=True)
class Recommendation(Exhibit):
    """What each calibrator gains on rows it was not fitted on, and whether any gain is shown."""

    score: Annotated[str, Choice(tuple(SCORES)), "Score", "what calibrators are chosen by"] = "log-loss"

    terms = ("log-loss", "brier-score", "interval")

    def found(self, scene: Scene) -> Call[cc.choice.Choice]:
        """What is chosen for the first model."""
        return call(cc.choose, scene.models.shown[0].base.calibration, score=self.score, stem="choice")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator", "title"),
            of.number(inside(ESTIMATORS[self.score].title), "score"),
            of.number("gain"),
            of.number_between(f"{at_level(LEVEL)} interval", "low", "high"),
            of.probability("p (Holm)", "p_holm"),
            of.whole("times chosen", "picked"),
            of.share("accuracy"),
            of.share("AUROC", "auroc"),
            of.share("mean confidence", "mean_confidence"),
            of.whole("rows needed, about", "rows_needed"),
            of.text("note"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        caption = (
            f"Chosen on {found.among:,} rows that calibrators are fitted on; the test rows have no say. Gain: by how "
            "much less is lost than without a calibrator, on rows that no fit has seen. Of many gains the largest is "
            "large by luck, too: what choosing gains stands in the first sentence. AUROC: the chance that a right row "
            "has more confidence than a wrong one."
        )
        return Words(caption, notes=found.notes, headline=(found.sentence, *found.price))
