"""What recalibration does to the decisions, beside what each calibrator's contract says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from dashboard.exhibits import columns as of
from dashboard.exhibits.besides import SURE
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

_SURE = (
    of.whole(f"predictions of {SURE} or more, before", "sure_before"),
    of.whole(f"predictions of {SURE} or more, after", "sure"),
    of.share("their accuracy, before", "sure_right_before"),
    of.share("their accuracy, after", "sure_right"),
)
_RISKS = (
    of.share("mean risk before", "risk_before"),
    of.share("mean risk after", "risk"),
    of.share("observed frequency", "observed"),
)


@EXHIBITS.register("side-effects", "Side effects")
@dataclass(frozen=True)
class SideEffectsExhibit(Exhibit):
    """Accuracy gained or lost, rows whose class changed, and rows no longer answered."""

    static: ClassVar[bool] = True

    meanings = of.Meanings(
        {
            "accuracy_change": "accuracy after less accuracy before",
            "accuracy": "share of the rows answered after recalibration that is right",
            "accuracy_before": "share of all rows that was right before",
            "class_changed": "share of rows whose predicted class is another one",
            "abstained": "share of rows that is no longer answered",
            "sure": "rows of confidence 95 % or more after",
            "sure_before": "rows of confidence 95 % or more before",
            "sure_right": "share right of the rows that are sure after",
            "sure_right_before": "share right of the rows that were sure before",
            "risk": "mean risk after, of the rows answered",
            "risk_before": "mean risk before, of the same rows",
            "observed": "share of those rows in which the event happened",
            "keeps_class": "whether the calibrator never changes the predicted class",
            "keeps_order": "whether it never changes the order of the classes",
            "sums_to_one": "whether its probabilities sum to 1",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("tick a calibrator: what it does to the decisions appears here")
        return call(cc.evaluation.model_tables.side_effects, *scene.recalibrations, notion=scene.claims)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.points("accuracy change", "accuracy_change"),
            of.share("accuracy before", "accuracy_before"),
            of.share("accuracy after", "accuracy"),
            of.share("rows whose class changed", "class_changed"),
            of.share("rows it abstains on", "abstained"),
            *(_RISKS if "risk" in frame else _SURE),
            of.flag("keeps the class", "keeps_class"),
            of.flag("keeps the order of the classes", "keeps_order"),
            of.flag("rows sum to one", "sums_to_one"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(f"What recalibration does to the decisions on {scene.judged_rows}, and what each contract says.")
