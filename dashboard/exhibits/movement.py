"""Before and after: the uncalibrated model and the calibrator in focus on one reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

import calib_core as cc
from calib_core.diagrams import Movement, TemperaturePath
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.fitted_numbers import recalibrated
from dashboard.session import Call, Scene, call


@EXHIBITS.register("movement", "Before and after")
@dataclass(frozen=True)
class MovementExhibit(Exhibit):
    """Accuracy against confidence, or observed frequency against predicted risk, before and after a calibrator."""

    printed: ClassVar[int | None] = 0
    height: ClassVar[int] = 400

    meanings = of.Meanings(
        {
            "stage": "before or after recalibration",
            "risk": "mean risk at this stage, of the rows in this bin of the risk before",
            "observed": "share of those rows in which the event happened",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {recalibrated(scene).title: diagram(scene)}, column="calibrator")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.text("stage"),
            of.between("bin", "lower", "upper"),
            of.whole("rows", "count"),
            *(
                (of.share("mean risk", "risk"), of.share("observed frequency", "observed"))
                if "risk" in frame
                else (of.share("mean confidence", "confidence"), of.share("accuracy"))
            ),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        model = recalibrated(scene)
        titles = (model.base.title, model.title)
        return call("figures.movement", diagram(scene), titles=titles, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        model = recalibrated(scene)
        rows = scene.get(model.predictions)
        bins = "" if scene.bins is None else f" Bins: {scene.in_bins}."
        judged = f"Judged on {scene.unseen(rows.n_rows)}. Filled: bins of 10 rows or more.{bins}"
        if scene.claims != "event":
            return Words(judged, f"Accuracy against confidence, before and after {model.title}.")
        noun, happened = event_words.in_words(scene)
        return Words(
            f"An arrow leads from the mean risk of the {noun} in one bin to their mean risk after recalibration, at "
            f"the height of the share that {happened}. {judged}",
            f"Observed frequency against predicted risk of {event_words.of_scene(scene)}, before and after "
            f"{model.title}.",
        )


def path(scene: Scene) -> tuple[Call[TemperaturePath], float] | None:
    """Where marks are at other temperatures, and the one fitted; None where the calibrator is no temperature."""
    model = recalibrated(scene)
    fitted = scene.get(model.fitted).insides().temperature
    # Cross-fitted marks are of several temperatures: no one of them puts them where they stand.
    if fitted is None or scene.cross_fitted or not COLDEST <= fitted <= HOTTEST:
        return None
    wanted = call(
        cc.diagrams.temperature_path, model.base.predictions, bins=scene.bins, also=(fitted,), notion=scene.claims
    )
    return None if scene.refusal(wanted) else (wanted, fitted)


COLDEST, HOTTEST = 0.25, 8.0
"""Temperatures that a slider reaches."""


def diagram(scene: Scene) -> Call[Movement]:
    """The marks of the model as it is and of the calibrator looked at."""
    model = recalibrated(scene)
    return call(cc.diagrams.movement, model.base.predictions, model.predictions, bins=scene.bins, notion=scene.claims)
