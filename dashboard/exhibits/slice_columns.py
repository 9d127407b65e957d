"""Which column tells rows apart: the slices of all of them, corrected together."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.diagrams import SliceDots
from dashboard.exhibits import columns as of
from dashboard.exhibits.by_slice import by_column, how_tested, stands_out, tested_columns
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("slice-columns", "All columns")
@dataclass(frozen=True)
class SliceColumns(Exhibit):
    """The slices of every column, first those of the column that tells most apart, corrected for all of them."""

    reads = "counts"
    printed = 40

    def dots(self, scene: Scene) -> Call[SliceDots]:
        """What is found, in words."""
        return call(cc.diagrams.slice_dots, self.table(scene), notion=scene.claims)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return by_column(scene)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (of.text("column"), *tested_columns(frame), of.probability("p (corrected)", "p_by"), stands_out())

    def words(self, scene: Scene) -> Words:
        frame, found = scene.get(self.table(scene)), scene.get(self.dots(scene))
        tests, columns = int(frame["p"].notna().sum()), frame["column"].nunique()
        return Words(
            f"{scene.model.title}. Columns in the order of how far their slices lie from one another beyond noise.",
            headline=(f"{found.headline}.", found.basis),
            notes=(
                how_tested(scene),
                f"p: corrected for all {tests:,} tests of {columns:,} column{'' if columns == 1 else 's'}, which share "
                "rows (Benjamini and Yekutieli 2001); at most 0.05 stands out, of which on average at most 5 % "
                "are false alarms.",
            ),
        )
