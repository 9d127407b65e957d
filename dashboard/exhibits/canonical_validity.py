"""How many rows lie in cells that are far off, before recalibration cell by cell and after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.diagrams import ValidityPair
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register(
    "canonical-validity", "Validity: how far off are how many rows", reference="P1 Appendix G.4 and Fig. 12"
)
@dataclass(frozen=True)
class CanonicalValidity(Exhibit):
    """The model and the model recalibrated cell by cell, on the same cells of every partition chosen."""

    meanings = of.Meanings(
        {
            "partition": "how the triangle is cut into cells",
            "model": "before or after recalibration cell by cell",
            "eps": "L1 distance between what a cell's rows are told on average and what happens",
            "share": "share of test rows whose cell is off by at most that",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._pairs(scene.triangle)[0], "partition")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("partition"),
            of.text("model"),
            of.number("off by at most (L1 distance)", "eps"),
            of.share("share"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        scene = scene.triangle
        plots: dict[str, Call[Any]] = {}
        for partition, pair in self._pairs(scene)[0].items():
            plots[f"{scene.model.title}, {partition}"] = pair.part("before")
            plots[f"Recalibrated, {partition}"] = pair.part("after")
        return call("figures.validity", plots)

    def words(self, scene: Scene) -> Words:
        return Words(
            "Share of test rows whose cell is off by at most epsilon, before and after recalibration cell by cell. "
            "Off by: L1 distance between what a cell's test rows were told on average and what they turned out to be.",
            "Share of test rows whose cell is off by at most epsilon in L1, before and after recalibration.",
        ).also(*self._pairs(scene.triangle)[1])

    def _pairs(self, scene: Scene) -> tuple[dict[str, Call[ValidityPair]], tuple[str, ...]]:
        """Both curves on the cells of each partition, and a sentence for every partition that has none."""
        if not scene.partitions:
            raise NotAnswerable("no partition of the triangle is chosen")
        rows = scene.model.calibration, scene.model.predictions
        chosen = {recipe.title: recipe for recipe in scene.partitions}
        return scene.answered({t: call(cc.diagrams.validity_by_cell, r, *rows) for t, r in chosen.items()})
