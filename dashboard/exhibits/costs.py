"""What every model costs beside its calibration."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("costs", "What it costs")
@dataclass(frozen=True)
class CostsExhibit(Exhibit):
    """Accuracy and log loss of every model, and how many rows it answers."""

    reads = "counts"
    static = True

    meanings = of.Meanings(
        {
            "accuracy": "share of the answered rows that is right",
            "log_loss": "log loss of the answered rows",
            "rows": "all rows",
            "answered": "of them those that are answered",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.evaluation.model_tables.costs, scene.predictions())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        # Those of fewer rows would look best by leaving out hard ones.
        same = bool((frame["answered"] == frame["rows"]).all())
        loss = (of.number("log loss", "log_loss", best="low" if same else ""),)
        return (
            of.text("model"),
            of.share("accuracy", best="high" if same else ""),
            *(loss if frame["log_loss"].notna().any() else ()),
            *(() if same else (of.whole("rows answered", "answered"),)),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        rows = scene.counted(int(frame["rows"].max()))
        same, missing = (frame["answered"] == frame["rows"]).all(), frame["log_loss"].isna()
        over = f"Over all {rows}." if same else f"Of {rows}, each model over those it answers."
        dash = " A dash: it says the probability of one class only." if missing.any() and not missing.all() else ""
        return Words(f"{over}{dash}")
