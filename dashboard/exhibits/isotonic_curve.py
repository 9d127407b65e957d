"""The reliability curve without bins that is fitted by isotonic regression, and the Brier score taken apart by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core.diagrams import BANDS
from calib_core.registry.registry import Choice
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.stars import claimed, event_of, stars
from dashboard.session import Call, Model, Scene, call

BAND = Choice(tuple(BANDS), titles=("At each point", "Around the whole curve", "No band"))
"""What a band around a curve without bins covers."""


@EXHIBITS.register("corp", "Without bins: isotonic (CORP) reliability curve", reference="Dimitriadis et al. 2021")
@dataclass(frozen=True)
class IsotonicCurve(Exhibit):
    """The best rising curve from confidence to accuracy; of every model the Brier score taken apart by its own."""

    band: Annotated[str, BAND, "Band", "around the curve"] = "pointwise"

    height = 560
    formula = cc.diagrams.CorpCurve.formula

    meanings = of.Meanings(
        {
            "brier": "mean squared error of the confidence",
            "miscalibration": "brier less that of the best rising curve",
            "discrimination": "uncertainty less the Brier score of that curve",
            "uncertainty": "share right times share wrong",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.diagrams.brier_parts, scene.each(lambda model: isotonic(model, scene.claims)))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        parts = ("miscalibration", "discrimination", "uncertainty")
        return (of.text("model"), of.number("Brier score of the confidence", "brier"), *map(of.number, parts))

    def figure(self, scene: Scene) -> Call[Any]:
        drawn = over(scene, self.band)
        return call(
            "figures.reliability",
            {scene.model.title: stars(scene)},
            over=drawn,
            looks=scene.looks,
            event=event_of(scene),
        )

    def words(self, scene: Scene) -> Words:
        title, (about, band) = scene.model.title, band_words(scene, self.band)
        return Words(
            f"{title}: the best rising curve from confidence to accuracy, over the stars. {band}".rstrip(),
            f"Isotonic reliability curve of {title} over its stars.",
        ).also(
            about,
            "Brier score of the confidence = miscalibration − discrimination + uncertainty. The fit follows noise: a "
            "calibrated model of few rows has a miscalibration above 0 too.",
        )


def isotonic(model: Model, notion: str = "confidence") -> Call[Any]:
    """The curve of a model, of its confidence or of the predicted risk of an event."""
    return call(cc.diagrams.corp, claimed(model, notion))


def over(scene: Scene, band: str) -> list[Call[Any]]:
    """The figures of the curve of the model looked at over its band, where it has one."""
    around = _band(scene, band)
    banded = band != "none" and not scene.refusal(around)
    curve: Call[Any] = call("figures.corp", isotonic(scene.model, scene.claims))
    return [*([call("figures.corp_band", around)] if banded else []), curve]


def band_words(scene: Scene, band: str) -> tuple[str, str]:
    """What the band holds, or why there is none; and what it is called."""
    around = _band(scene, band)
    if band == "none":
        return "", ""
    if why := scene.refusal(around):
        return f"No band: {why}.", ""
    return scene.get(around).about, f"Grey: {scene.get(around).band_title}."


def _band(scene: Scene, band: str) -> Call[Any]:
    return call(cc.diagrams.corp_band, claimed(scene.model, scene.claims), band=band)
