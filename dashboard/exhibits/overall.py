"""Over- or under-confident over all rows."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.diagrams import OverallGap
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("overall", "Overall")
@dataclass(frozen=True)
class Overall(Exhibit):
    """Mean confidence and accuracy, or mean risk and frequency of an event, with an interval no verdict contradicts."""

    reads = "counts"

    meanings = of.Meanings(
        {
            "claimed": "mean confidence, or risk, of all rows",
            "right": "share of all rows that is right, or has the event",
            "gap": "right less claimed",
            "direction": "which way the gap goes where p is at most 0.05, else empty",
        }
    )

    def gaps(self, scene: Scene) -> dict[str, Call[OverallGap]]:
        """Every model's gap over all rows, by title."""
        notion = {"notion": "event"} if scene.claims == "event" else {}
        gaps = scene.each(lambda model: call(cc.diagrams.overall_gap, model.predictions, bins=scene.bins, **notion))
        return scene.answered(gaps)[0]

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self.gaps(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.whole("rows"),
            of.share("predicted", "claimed"),
            of.share("observed", "right"),
            of.between("90 % interval", "low", "high"),
            of.probability("p"),
            of.text("shown", "headline"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            "A gap is shown where its p-value is at most 0.05, as among the findings. Gaps of opposite sign cancel "
            "here."
        ).also(*(f"{name}: {scene.get(gap).basis}" for name, gap in self.gaps(scene).items()))
