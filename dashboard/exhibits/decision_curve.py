"""Whether acting on a class's probability pays, for every threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core.diagrams import DecisionCurve as Curve
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL, methods_of
from dashboard.exhibits.stars import silences
from dashboard.session import Call, Scene, call


@EXHIBITS.register("decision-curve", "Decision curve", reference="Vickers & Elkin 2006")
@dataclass(frozen=True)
class DecisionCurve(Exhibit):
    """Net benefit of acting where a class's probability reaches a threshold, beside acting on all and on none."""

    printed = 10
    height = 420
    formula = Curve.formula

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.stacked, self._curves(scene)[0])

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("threshold"),
            of.share("acts on", "acted"),
            of.error("net benefit", "benefit"),
            of.between(AT_LEVEL, "low", "high"),
            of.error("acting on all", "treat_all"),
            of.points("over acting on all", "over_all"),
            of.difference_between("interval, over acting on all", "over_all_low", "over_all_high", "share"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.decision_curve", self._curves(scene)[0], looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        curves, refused = self._curves(scene)
        positive = scene.get(next(iter(curves.values()))).positive
        return Words(
            f"Net benefit of acting where {positive} has the probability below or more: the share of rows rightly "
            "acted on, less that wrongly acted on, weighed as somebody weighs it who acts from there on.",
            f"Net benefit against the threshold, for {positive}, beside acting on all and on none.",
        ).also(
            "A model helps where its curve lies above both lines of comparison. Each interval stands alone "
            f"({methods_of(scene, curves.values())}); thresholds that nobody would use say nothing.",
            "The class is the one looked at; of two classes by itself the second.",
            *silences(scene),
            *refused,
        )

    def _curves(self, scene: Scene) -> tuple[dict[str, Call[Curve]], tuple[str, ...]]:
        code = scene.focus.code
        return scene.answered(
            scene.each(lambda model: call(cc.diagrams.decision_curve, model.predictions, positive=code))
        )
