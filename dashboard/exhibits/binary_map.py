"""Score in, score out: the map a calibrator made of binary maps applies in one stratum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.registry.registry import Range
from calib_core.text import inside
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Model, Scene, call

OWN = {
    "own": "A map of its own, fitted on its calibration rows.",
    "pooled": "Too few calibration rows: it shares one map with the other small groups.",
    "none": "Too few calibration rows: its scores stay as they are.",
}


@EXHIBITS.register("binary-map", "Score in, score out")
@dataclass(frozen=True)
class BinaryMapExhibit(Exhibit):
    """What a calibrator made of binary maps makes of a score, over the share of rows at each score."""

    stratum: Annotated[int, Range(0, 1_000_000), "Map", "which of its maps: that of a class, or of a rank, from 0"] = 0

    printed: ClassVar[int | None] = 5

    meanings = of.Meanings(
        {
            "score": "score before",
            "output": "score after",
            "lower": "lower end of the interval that comes with the score",
            "upper": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {mapped(scene).title: self._diagram(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        ends = (of.between("between", "lower", "upper"),) if "lower" in frame else ()
        return of.text("model"), of.share("score in", "score"), of.share("score out", "output"), *ends

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.binary_map", self._diagram(scene))

    def words(self, scene: Scene) -> Words:
        model, diagram = mapped(scene), scene.get(self._diagram(scene))
        strata = scene.get(model.fitted).strata_
        whose = f", {diagram.stratum} (one of {len(strata):,} groups)" if len(strata) > 1 else ""
        band = "" if diagram.lower is None else "Shaded: the interval of probabilities that comes with each score. "
        return Words(
            f"{model.title}{whose}: {inside(OWN[diagram.own])} {band}Bars: share of the "
            f"{scene.counted(diagram.rows)} at each score; where no bar stands the map is extrapolation.",
            f"What {model.title} makes of a score{whose}.",
        ).also(scene.of_all_rows)

    def _diagram(self, scene: Scene) -> Call[Any]:
        model = mapped(scene)
        last = len(scene.get(model.fitted).strata_) - 1
        return call(cc.diagrams.binary_map, model.fitted, model.base.predictions, min(self.stratum, last))


def made_of_maps(scene: Scene) -> list[Model]:
    """The models whose calibrator is a binary map a stratum."""
    return [model for model in scene.models.shown if scene.get(model.fitted).binary_maps]


def mapped(scene: Scene) -> Model:
    """The model looked at where its calibrator is made of binary maps, else the first that is."""
    models = made_of_maps(scene)
    if not models:
        raise NotAnswerable(
            "tick a calibrator made of binary maps, such as a histogram binning: its map appears here; others look at "
            "whole rows and have no map from one score to one score"
        )
    return scene.model if scene.model in models else models[0]
