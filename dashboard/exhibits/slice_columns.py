"""The slices of every column, the column with the largest significant gap first."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.diagrams import SliceDots
from dashboard.exhibits import columns as of
from dashboard.exhibits.by_slice import CORRECTED, MEANINGS, by_column, how_tested, stands_out, tested_columns
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("slice-columns", "All columns")
@dataclass(frozen=True)
class SliceColumns(Exhibit):
    """The slices of every column, first those of the column with the largest significant gap."""

    reads = "counts"
    printed = 40

    meanings = MEANINGS

    def dots(self, scene: Scene) -> Call[SliceDots]:
        """What is found, in words."""
        return call(cc.diagrams.slice_dots, self.table(scene), notion=scene.claims)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return by_column(scene)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (of.text("column"), *tested_columns(frame), of.probability("p (corrected)", "p_corrected"), stands_out())

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.dots(scene))
        return Words(
            f"{scene.model.title}. The column with the largest significant gap first; in each, the "
            "largest significant gap first, then by p.",
            headline=(f"{found.headline}.", found.basis),
            notes=(how_tested(scene), CORRECTED),
        )
