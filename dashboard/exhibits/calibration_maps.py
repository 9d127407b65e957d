"""Where calibrators send every point of the triangle, beside the truth where it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core._text import error
from calib_core.diagrams import CalibrationMap
from calib_core.registry import Flag
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

    wrong: Annotated[bool, Flag(), "what is still wrong: each map minus the true one, where that is known"] = False

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        drawn = self._drawn(scene.triangle)[0]
        return call(cc.stacked, {scene.get(each).title: each for each in drawn}, "map")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (of.text("map"), *(of.number(name) for name in frame.columns[1:]))

    def figure(self, scene: Scene) -> Call[Any]:
        drawn, others = self._drawn(scene.triangle)
        return call("figures.calibration_map", drawn, beside=others)

    def words(self, scene: Scene) -> Words:
        scene = scene.triangle
        drawn, others = ([scene.get(each) for each in some] for some in self._drawn(scene))
        scale = error(cc.diagrams.shared_scale([*drawn, *others]))
        a, b, c = drawn[0].class_names
        largest = "; ".join(f"{each.title}, largest change {error(each.largest)}" for each in drawn)
        arrow = "An arrow leads from a prediction to the calibrator's answer."
        wrong = "What is still wrong: each map minus the true one; an arrow is the mistake at its tail."
        colours = f"Grey: nothing changes; redder: {a} gains, greener: {b}, bluer: {c}."
        return Words(
            f"{wrong if self.wrong else arrow} {colours} All maps share one scale: full colour is a change of {scale}.",
            f"{'What is still wrong' if self.wrong else 'Calibration maps'}: {largest}.",
        ).also(*(f"{each.title}: {each.note}." for each in drawn if each.note), *self._learned(scene)[1])

    def _drawn(self, scene: Scene) -> tuple[Maps, Maps]:
        """The maps drawn, and those drawn elsewhere that share their colours."""
        learned = list(self._learned(scene)[0].values())
        known = truth(scene.model.source)
        if known is None:
            if self.wrong:
                raise NotAnswerable("the true map of these data is not known, so nobody can say what is still wrong")
            return learned, []
        true = call(cc.diagrams.true_map, known, class_names=scene.class_names, stem="true map")
        left = [call(cc.diagrams.map_difference, each, true) for each in learned]
        return (left, [*learned, true]) if self.wrong else ([*learned, true], left)

    def _learned(self, scene: Scene) -> tuple[dict[str, Call[CalibrationMap]], tuple[str, ...]]:
        """Every calibrator's map, and a sentence for each that has none."""
        ticked = scene.models.recalibrated
        if not ticked:
            raise NotAnswerable(
                "no calibrator is chosen: choose one that answers for all classes, such as one that scales"
            )
        return scene.answered({model.title: _map(scene, model) for model in ticked})


def _map(scene: Scene, model: Model) -> Call[CalibrationMap]:
    names = scene.class_names
    return call(
        cc.diagrams.calibration_map, model.fitted, title=model.title, class_names=names, stem=f"{model.recipe.key} map"
    )
