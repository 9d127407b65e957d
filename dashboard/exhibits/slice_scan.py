"""Every column and every crossing of two looked at, and what is found confirmed on rows kept apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core.registry.registry import Flag, Range
from calib_core.slices import SliceScan
from dashboard.exhibits import columns as of
from dashboard.exhibits.by_slice import MEANINGS, how_tested, marks, stands_out, tested_columns
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("slice-scan", "Scan of all columns and crossings")
@dataclass(frozen=True)
class Scan(Exhibit):
    """Where the model is furthest off: every slice looked at on half of the rows, confirmed on the other half."""

    crossings: Annotated[bool, Flag(), "Cross two columns", "whether columns are crossed two by two"] = True
    min_rows: Annotated[int, Range(10, 100_000), "Fewest rows", "slices of fewer rows are not looked at"] = 50

    reads_columns = True
    printed = 30
    costly = True

    meanings = MEANINGS

    def found(self, scene: Scene) -> Call[SliceScan]:
        """The scan of the model looked at."""
        options = {"crossings": self.crossings, "min_rows": self.min_rows, "notion": scene.claims}
        return call(cc.slices.scan, scene.model.predictions, stem="scanned", **options)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            *tested_columns(frame),
            of.points("gap that chose it", "first_gap"),
            of.probability("p (Holm)", "p_holm"),
            stands_out("confirmed"),
        )

    def figure(self, scene: Scene) -> Call[Any] | None:
        if not len(scene.get(self.table(scene))):
            return None
        dots = call(cc.diagrams.slice_dots, self.table(scene), notion=scene.claims)
        return call("figures.slice_dots", dots, model=scene.model.title, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        return Words(
            f"{scene.model.title}, on the rows kept apart: {marks(scene)}",
            f"Slices found by a scan. {found.headline}",
            (
                how_tested(scene),
                "Chosen on half of the rows, tested on the other half: what is confirmed was not made by looking at "
                "much. In half of the rows less is seen than in all, and slices found share rows: several can be one "
                "finding.",
                *found.notes,
            ),
            (found.headline, found.basis),
        )
