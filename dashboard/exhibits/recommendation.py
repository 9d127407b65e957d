"""Recalibrate at all, and with what: chosen on the rows that calibrators are fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

import calib_core as cc
from calib_core import ESTIMATORS
from calib_core._text import count, inside
from calib_core.choice import SCORES
from calib_core.defaults import LEVEL
from calib_core.inference.number_words import at_level
from calib_core.registry import Choice
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

QUICK = 60_000
"""Rows times classes up to which calibrators are compared without being asked to."""


@EXHIBITS.register("recommendation", "Recalibrate at all?")
@dataclass(frozen=True)
class Recommendation(Exhibit):
    """What each calibrator gains on rows it was not fitted on, and whether any gain is shown."""

    score: Annotated[str, Choice(tuple(SCORES)), "Score", "what calibrators are chosen by"] = "log-loss"

    terms = ("log-loss", "brier-score", "interval")

    @classmethod
    def suited(cls, scene: Scene) -> Recommendation:
        """By the score that the first model's rows have."""
        kind = scene.get(scene.models.shown[0].division.part("fit")).kind
        return cls("brier" if kind == "per-class" else "log-loss")

    def quick(self, scene: Scene) -> bool:
        """Whether it is chosen already, or takes a few seconds."""
        rows = scene.get(scene.models.shown[0].division.part("fit"))
        return rows.n_rows * (rows.n_classes or 2) <= QUICK or scene.knows(self.found(scene))

    def found(self, scene: Scene) -> Call[cc.choice.Choice]:
        """What is chosen for the first model."""
        return call(cc.choose, scene.models.shown[0].division.part("fit"), score=self.score, stem="choice")

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
            f"{chosen_on(found.among, scene)} Gain: by how "
            "much less is lost than without a calibrator, on rows that no fit has seen. Of many gains the largest is "
            "large by luck, too: what choosing gains stands in the first sentence. AUROC: the chance that a right row "
            "has more confidence than a wrong one."
        )
        return Words(caption, notes=found.notes, headline=(found.sentence, *found.price))


def chosen_on(rows: int, scene: Scene) -> str:
    """On which rows it was chosen, and whether these are judged elsewhere, in a sentence."""
    if scene.cross_fitted:
        return (
            f"Chosen on all {count(rows)} rows, in folds of its own. They are judged here, too: on them the calibrator "
            "chosen looks a little better than it is; its gain above does not."
        )
    return (
        f"Chosen and measured on {count(rows)} rows that calibrators are fitted on, in folds; the test rows have "
        "no say, and numbers of their own."
    )
