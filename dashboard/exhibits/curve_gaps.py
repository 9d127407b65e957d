"""How far the smooth curve of a risk is from the diagonal, beside calibration in the large and the AUROC."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.defaults import LEVEL
from calib_core.text import at_level
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

CURVE = ("ici", "e50", "e90")
"""Distances of the smooth curve from the diagonal."""
LARGE = ("ratio", "intercept", "slope", "auroc")
"""What is looked at over all rows."""


@EXHIBITS.register("curve-gaps", "Gap from the smooth curve", reference="Austin & Steyerberg 2019")
@dataclass(frozen=True)
class CurveGaps(Exhibit):
    """How far observed frequencies are from predicted risks of the model in focus, and calibration in the large."""

    static = True
    terms = ("smooth-gap", "noise-floor")

    meanings = of.Meanings(
        {
            "measure": "short name of the measure",
            "value": "the measure",
            "floor": "95 % point of calibrated models",
            "reference": "value of a calibrated model",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if scene.claims != "event":
            raise NotAnswerable("a smooth curve of the risk needs the event of two classes, and these rows have none")
        return call(cc.risk.summary, scene.model.predictions, bins=scene.bins, stem="measures")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("measure", "title"),
            of.number("value"),
            of.number_between(f"{at_level(LEVEL)} interval", "low", "high", ("reference",)),
            of.number("noise level", "floor"),
            of.number("calibrated model", "reference"),
            of.text("note"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            f"{scene.model.title}. Distance of the smooth curve from the diagonal over the rows: mean (ICI), median "
            "(E50) and 90 % point (E90). Noise level: 95 of 100 calibrated models stay below it."
        )
