"""Where calibrators send every point of the triangle, beside the truth where it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.diagrams import CalibrationMap
from calib_core.registry.registry import Flag
from calib_core.text import short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Model, Scene, call, truth

Maps = list[Call[CalibrationMap]]


@EXHIBITS.register(
    "calibration-maps", "Calibration maps: where predictions go", reference="P3 §3 and 4.1, Fig. 1 and 2"
)
@dataclass(frozen=True)
class CalibrationMaps(Exhibit):
    """What every calibrator makes of every prediction over three classes, and the true map where it is known."""

    wrong: Annotated[
        bool, Flag(), "What is still wrong", "what is still wrong: each map minus the true one, where that is known"
    ] = False

    meanings = of.Meanings(
        {
            "map": "the calibrator, or the true map",
            "start *": "probability of the class before",
            "to *": "probability of the class after",
            "error *": "to less start",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        drawn = self._drawn(scene.triangle)
        return call(cc.calls.stacked, {scene.get(each).title: each for each in drawn}, "map")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("map"),
            *((of.points if name.startswith("error ") else of.share)(name) for name in frame.columns[1:]),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        scene = scene.triangle
        return call("figures.calibration_map", self._drawn(scene), scale=_scale(scene))

    def words(self, scene: Scene) -> Words:
        scene = scene.triangle
        drawn, scale = [scene.get(each) for each in self._drawn(scene)], short_percent(scene.get(_scale(scene)))
        a, b, c = drawn[0].class_names
        largest = "; ".join(f"{each.title}, largest change {short_percent(each.largest)}" for each in drawn)
        arrow = "An arrow leads from a prediction to the calibrator's answer."
        wrong = "What is still wrong: each map minus the true one; an arrow is the mistake at its tail."
        colours = f"Grey: nothing changes; redder: {a} gains, greener: {b}, bluer: {c}."
        return Words(
            f"{wrong if self.wrong else arrow} {colours} Full colour: a change of {scale} or more, "
            "in all maps of these data.",
            f"{'What is still wrong' if self.wrong else 'Calibration maps'}: {largest}.",
        ).also(
            *(f"{each.title}: {each.note}." for each in drawn if each.note), *self._learned(scene)[1], scene.of_all_rows
        )

    def _drawn(self, scene: Scene) -> Maps:
        """The maps drawn."""
        learned = list(self._learned(scene)[0].values())
        known = truth(scene.model.source)
        if known is None:
            if self.wrong:
                raise NotAnswerable("the true map of these data is not known, so nobody can say what is still wrong")
            return learned
        true = call(cc.diagrams.true_map, known, class_names=scene.class_names, stem="true map")
        if self.wrong:
            return [call(cc.diagrams.map_difference, each, true) for each in learned]
        return [*learned, true]

    def _learned(self, scene: Scene) -> tuple[dict[str, Call[CalibrationMap]], tuple[str, ...]]:
        """Every calibrator's map, and a sentence for each that has none."""
        ticked = scene.models.recalibrated
        if not ticked:
            raise NotAnswerable(
                "no calibrator is chosen: choose one that answers for all classes, such as one that scales"
            )
        return scene.answered({model.title: _map(scene, model) for model in ticked})


def _scale(scene: Scene) -> Call[float]:
    """The change that has full colour in every map of these data: the calibration rows decide, not what is ticked."""
    return call(cc.diagrams.map_scale, scene.models.shown[0].division.part("fit"), stem="scale")


def _map(scene: Scene, model: Model) -> Call[CalibrationMap]:
    names = scene.class_names
    return call(
        cc.diagrams.calibration_map, model.fitted, title=model.title, class_names=names, stem=f"{model.recipe.key} map"
    )
