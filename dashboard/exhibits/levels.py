"""How often each model is right at every confidence it states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core.diagrams import Levels
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL, methods_of
from dashboard.session import Call, Model, Scene, call


@EXHIBITS.register("levels", "Confidence levels", reference="Clopper & Pearson 1934; Holm 1979")
@dataclass(frozen=True)
class LevelsExhibit(Exhibit):
    """How often each model is right at every confidence it states, where it states few different ones."""

    height = 480
    terms = ("over-confident",)
    formula = Levels.formula

    meanings = of.Meanings(
        {
            "confidence": "the confidence that is stated",
            "share": "share of all rows that state it",
            "right": "share of the rows that state it that is right",
            "stands_out": "side on which the level is significantly off (p_holm at most 0.05), else empty",
            "p": "two-sided binomial p of as many right rows if each is right with the stated confidence",
            "p_holm": "the same, corrected by Holm's rule for the levels of the model",
        }
    )

    def points(self, model: Model) -> Call[Levels]:
        """The levels of a model."""
        return call(cc.diagrams.levels, model.predictions)

    def levels(self, scene: Scene) -> tuple[dict[str, Call[Levels]], tuple[str, ...]]:
        """The levels of the models that state few, by title, and a sentence for each other."""
        return scene.answered(scene.each(self.points))

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self.levels(scene)[0])

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("says", "confidence"),
            of.whole("rows"),
            of.share("of all", "share"),
            of.share("right"),
            of.between(AT_LEVEL, "low", "high"),
            of.probability("p"),
            of.probability("p, Holm", "p_holm"),
            of.text("stands out", "stands_out"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.levels", self.levels(scene)[0], looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        found, refused = self.levels(scene)
        findings = tuple(f"{title}: {scene.get(each).headline}." for title, each in found.items())
        return Words(
            "A point per confidence that is stated: on the dashed line it is right as often as it says. The larger "
            "the point, the more rows; pale where the level does not stand out.",
            f"Share that is right against stated confidence. {' '.join(findings)}",
            headline=findings,
        ).also(
            f"Each interval stands alone ({methods_of(scene, found.values())}). A level stands out where a test of its "
            "rows finds it off with p at most 0.05, corrected by Holm's rule for the number of levels of its model. "
            "One of few rows hardly can.",
            *refused,
        )
