"""How every pair of models differs in what its confidences are good for, on the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL
from dashboard.session import Call, Scene, call

MEASURES = {
    "overconfidence": "says too much",
    "brier": "squared error",
    "skill": "skill",
    "auroc": "ranking",
    "risk_area": "area",
}
"""What the measures compared are called."""


@EXHIBITS.register("skill-pairs", "Confidences of two models, on the same rows")
@dataclass(frozen=True)
class SkillPairs(Exhibit):
    """Differences of every pair of models in what is said too much, squared error, skill, ranking and area."""

    meanings = of.Meanings(
        {
            "measure": "what is compared",
            "difference": "value of the first less that of the second",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.skill_differences, scene.over_same_rows())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("first"),
            of.text("second"),
            of.Column("measure", ("measure",), MEASURES.__getitem__, numeric=False),
            of.number("of the first", "first_value"),
            of.number("of the second", "second_value"),
            of.number("difference"),
            of.number_between(AT_LEVEL, "low", "high"),
            of.probability("p"),
            of.probability("p, Holm", "p_holm"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        refused = frame.loc[frame["note"] != "", "note"].drop_duplicates()
        return Words(
            "The first less the second. What is said too much, squared error and area are better small; skill and "
            "ranking (AUROC) large. p: of no difference; Holm: corrected for all lines."
        ).also(
            "Each interval is by itself, by what every row adds to the difference (for ranking DeLong's paired one), "
            "told where 10 rows or more are right and 10 wrong of both.",
            scene.rows_counted,
            *(f"{why}." for why in refused),
        )
