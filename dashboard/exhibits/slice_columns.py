"""Which column tells rows apart: the slices of all of them, corrected together."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from dashboard.exhibits import columns as of
from dashboard.exhibits.by_slice import TESTED, by_column, stands_out, tested_columns
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene


@EXHIBITS.register("slice-columns", "All columns")
@dataclass(frozen=True)
class SliceColumns(Exhibit):
    """The slices of every column, first those of the column that tells most apart, corrected for all of them."""

    printed = 40

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return by_column(scene)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (of.text("column"), *tested_columns(), of.probability("p (corrected)", "p_by"), stands_out())

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        tests, columns = int(frame["p"].notna().sum()), frame["column"].nunique()
        return Words(
            f"{scene.model.title}. Columns in the order of how far their slices lie from one another beyond noise.",
            notes=(
                TESTED,
                f"p: corrected for all {tests:,} tests of {columns:,} columns, which share rows (Benjamini and "
                "Yekutieli 2001); at most 0.05 stands out.",
            ),
        )
