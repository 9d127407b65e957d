"""Before and after: the model as it is and the calibrator looked at on one reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

import calib_core as cc
from calib_core.diagrams import Movement as Diagram
from calib_core.diagrams import TemperaturePath
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.fitted_numbers import recalibrated
from dashboard.session import Call, Scene, call


@EXHIBITS.register("movement", "Before and after")
@dataclass(frozen=True)
class Movement(Exhibit):
    """What is said against what is right, before and after the calibrator looked at, bin by bin."""

    printed: ClassVar[int | None] = 0
    height: ClassVar[int] = 400

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.stacked, {recalibrated(scene).title: diagram(scene)}, column="calibrator")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.text("stage"),
            of.between("bin", "lower", "upper"),
            of.whole("rows", "count"),
            of.share("it says", "confidence"),
            of.share("it is right", "accuracy"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        model = recalibrated(scene)
        titles = (model.base.title, model.title)
        return call("figures.movement", diagram(scene), titles=titles, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        model = recalibrated(scene)
        rows = scene.get(model.predictions)
        bins = "" if scene.bins is None else f" Bins: {scene.in_bins}."
        return Words(
            f"Judged on {scene.unseen(rows.n_rows)}. Filled: bins of 10 rows or more.{bins}",
            f"It says against it is right, before and after {model.title}.",
        )


def path(scene: Scene) -> tuple[Call[TemperaturePath], float] | None:
    """Where marks stand at other temperatures, and the one fitted; None where the calibrator is no temperature."""
    model = recalibrated(scene)
    fitted = scene.get(model.fitted).insides().temperature
    # Cross-fitted marks are of several temperatures: no one of them puts them where they stand.
    if fitted is None or scene.cross_fitted or not COLDEST <= fitted <= HOTTEST:
        return None
    wanted = call(cc.diagrams.temperature_path, model.base.predictions, bins=scene.bins, also=(fitted,))
    return None if scene.refusal(wanted) else (wanted, fitted)


COLDEST, HOTTEST = 0.25, 8.0
"""Temperatures that a slider reaches."""


def diagram(scene: Scene) -> Call[Diagram]:
    """The marks of the model as it is and of the calibrator looked at."""
    model = recalibrated(scene)
    return call(cc.diagrams.movement, model.base.predictions, model.predictions, bins=scene.bins)
