"""What recalibration does to the decisions, beside what each calibrator's contract says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core._text import percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("side-effects", "Side effects")
@dataclass(frozen=True)
class SideEffects(Exhibit):
    """Accuracy gained or lost, rows whose class changed, and rows no longer answered, on the test rows."""

    static: ClassVar[bool] = True

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        models = scene.models.recalibrated
        if not models:
            raise NotAnswerable("tick a calibrator: what it does to the decisions appears here")
        return call(
            cc.side_by_side.side_effects,
            {model.title: model.base.predictions for model in models},
            {model.title: model.predictions for model in models},
            {model.title: model.fitted for model in models},
        )

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.Column("accuracy change", ("accuracy_change",), lambda change: f"{100 * change:+.2f} points"),
            of.Column("rows whose class changed", ("class_changed",), _share),
            of.Column("rows it abstains on", ("abstained",), _share),
            of.flag("keeps the class", "keeps_class"),
            of.flag("rows sum to one", "sums_to_one"),
        )

    def words(self, scene: Scene) -> Words:
        return Words("What recalibration does to the decisions on the test rows, and what each contract says.")


def _share(value: float) -> str:
    return "unknown" if value != value else percent(value, 2)
