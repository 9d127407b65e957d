"""The error within the worst of several groups of rows, and the error of each: multicalibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.registry.registry import Range, Text
from calib_core.slices import Multicalibration
from calib_core.slices.conditions import no_columns
from calib_core.text import first_few
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

_READ = (
    "Error: of the rows of a group, the run of neighbouring confidences whose claims are off by most together, as a "
    "share of the group. The value is the largest of them times the group's share of all rows, so that a small group "
    "counts little in it; its own line tells of it. The noise floor is what 95 of 100 perfectly calibrated models with "
    "these confidences stay within."
)
_JOINT = (
    "This is another test than that of a slice's mean gap: errors of opposite sign do not cancel in it. All intervals "
    "hold at once, and p is the chance that any of the groups of a calibrated model is as far beyond its "
    "own noise (single-step correction, however the groups overlap); at most 0.05 is significant."
)


@EXHIBITS.register("multicalibration", "Error within the worst group", reference="Hébert-Johnson et al. 2018")
@dataclass(frozen=True)
class WithinGroups(Exhibit):
    """How far from calibrated the model is within the worst group of rows, and within each."""

    by: Annotated[str, Text(200), "Groups of", "the column whose values are groups; empty: every column"] = ""
    crossed: Annotated[
        str, Text(200), "Crossed with", "a second column, if any: its values, too, and those that meet"
    ] = ""
    parts: Annotated[int, Range(2, 20), "Parts", "into how many ranges a column of many numbers is cut"] = 4

    reads_columns = True
    printed = 20
    costly = True
    terms = ("multicalibration", "noise-floor")

    meanings = of.Meanings(
        {
            "group": "group of rows",
            "rows": "rows of the group",
            "share": "share of all rows in the group",
            "error": "largest sum of outcome less score over a run of scores, as a share of the group",
            "low": "lower end of the interval, of all groups together at 90 %",
            "high": "upper end of the same",
            "deviations": "error in units of its standard deviation in a calibrated model",
            "p": "chance that any group of a calibrated model has as many deviations",
            "stands_out": "whether p is at most 0.05",
        }
    )

    def found(self, scene: Scene) -> Call[Multicalibration]:
        """The errors of the model looked at; NotAnswerable where there is nothing to group by."""
        rows = scene.get(scene.model.predictions)
        if not cc.slices.columns_of(rows):
            raise NotAnswerable(no_columns(rows))
        options: dict[str, Any] = {"parts": self.parts, "reduction": scene.claims}
        if chosen := tuple(dict.fromkeys(filter(None, (self.by, self.crossed)))):
            options |= {"groups": chosen, "crossings": len(chosen) > 1}
        return call(cc.slices.multicalibration, scene.model.predictions, stem="within", **options)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("group"),
            of.whole("rows"),
            of.share("of all", "share"),
            of.error("error"),
            of.between("90 % interval, all at once", "low", "high"),
            of.probability("p of this error, all groups at once", "p"),
            of.flag("error above noise", "stands_out"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        what = f"predicted risk of {event_words.of_scene(scene)}" if scene.claims == "event" else "confidence"
        few = f"Too few rows to tell: {first_few(found.skipped)}." if found.skipped else ""
        return Words(
            f"{scene.model.title}, {what}, on {scene.judged_rows}; the group furthest beyond its noise first.",
            headline=(found.headline, found.sentence),
            notes=(_READ, _JOINT),
        ).also(few)
