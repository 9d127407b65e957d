"""Bins of the predicted risk: events expected and observed in each, and in which they differ."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.defaults import LEVEL
from calib_core.text import at_level
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.by_slice import CORRECTED
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.mean_risk import NO_EVENT
from dashboard.session import Call, Scene, call


@EXHIBITS.register("risk-groups", "By predicted risk")
@dataclass(frozen=True)
class RiskGroups(Exhibit):
    """Bins of the predicted risk, as in the diagram: events expected and observed, and which are significantly off."""

    meanings = of.Meanings(
        {
            "confidence": "mean predicted risk of the bin's rows",
            "accuracy": "share of the bin's rows in which the event happened",
            "too_few": "whether a calibrated model's interval would reach 10 points to a side",
            "stands_out": "side on which the bin is significantly off (p_corrected at most 0.05), else empty",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if scene.claims != "event":
            raise NotAnswerable(NO_EVENT)
        models = {scene.model.title: scene.model.predictions}
        return call(cc.diagrams.bins_standing_out, models, bins=scene.bins, notion="event", stem="groups")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.between("risk", "lower", "upper"),
            of.whole("rows", "count"),
            of.share("predicted", "confidence"),
            of.share("observed", "accuracy"),
            of.between(f"{at_level(LEVEL)} interval", "low", "high"),
            of.probability("p (corrected)", "p_corrected"),
            of.Column("off", ("stands_out",), _side, numeric=False),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        first, basis = headline(scene, frame)
        return Words(
            "The bins of the risk diagram, from the lowest to the highest predicted risk.",
            headline=(f"{first}.", basis),
        ).also(f"The intervals are for one bin each. p: exact. {CORRECTED}")


def headline(scene: Scene, frame: pd.DataFrame) -> tuple[str, str]:
    """What the bins of predicted risk show, in the sentence of the diagram, and how many bins that counts."""
    first, *_ = cc.diagrams.headline(frame, happened=event_words.in_words(scene)[1])
    n = len(frame)
    return first.rstrip("."), f"{n} bins of predicted risk, corrected for multiple testing." if n > 1 else "One bin."


def _side(value: str) -> str:
    return {"over-confident": "risk too high", "under-confident": "risk too low"}.get(value, "")
