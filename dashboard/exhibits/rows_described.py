"""Rows of a validation: how many were read, left out and judged, and what they are like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

import calib_core as cc
from calib_core.defaults import FEW_VALUES
from calib_core.registry.registry import Text
from calib_core.slices import characteristics
from calib_core.text import called
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call, changes, division, file

_GROUP = "rows: "
NO_P = (
    "There are no p-values, because the table describes these rows only. An important difference can have a large p, "
    "and an unimportant one a small p (Vandenbroucke et al., 2007)."
)
"""Reason for having no tests."""


def _event(scene: Scene) -> str:
    """Name of the event, in quotes; empty without one."""
    if not scene.models.shown or scene.get(scene.models.shown[0].predictions).event is None:
        return ""
    return called(event_words.of_scene(scene))


@EXHIBITS.register("row-flow", "Flow of the rows", reference="Collins et al. 2024")
@dataclass(frozen=True)
class RowFlow(Exhibit):
    """Rows in the file, rows left out and why, and rows judged, with their events."""

    static = True

    meanings = of.Meanings(
        {
            "step": "step from the file to the rows judged",
            "events": "rows of the step that have the event",
            "reason": "why rows are left out",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        source = scene.model.source
        key, changed = (source.test, source.test_reading) if source.test else (source.data, source.reading)
        return call(cc.calls.row_flow, file(key), changes(key, changed), division(source))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        events = (of.whole("events"),) if frame["events"].notna().any() else ()
        return (of.text("step"), of.text("reason"), of.whole("rows"), *events)

    def words(self, scene: Scene) -> Words:
        event = _event(scene)
        named = f" Event: {event}." if event else ""
        return Words(f"Rows of the file at every step of the evaluation.{named}").also(
            "Rows that never came into the file are not counted here, such as people who were not eligible.",
            "A row that lacks several values is counted once, for the first column that excludes it.",
        )


@EXHIBITS.register("characteristics", "Characteristics of the rows", reference="Collins et al. 2024")
@dataclass(frozen=True)
class RowCharacteristics(Exhibit):
    """The rows judged by outcome and by a column: numbers, means, medians and missing values (Table 1 of a paper)."""

    by: Annotated[str, Text(200), "Also by", "a column, such as hospital; empty: by outcome only"] = ""

    static = True
    reads_columns = True

    meanings = of.Meanings(
        {
            "characteristic": "the event, its predicted risk, or a column of the file",
            "value": "value of the column, or what the numbers are",
            f"{_GROUP}*": "rows of this group: number and share, mean (SD), or median (quartiles)",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        named = {"event": event} if (event := _event(scene)) else {}
        by = {"by": self.by} if self.by else {}
        return call(characteristics, scene.model.predictions, **by, **named, stem="rows").part("wide()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        groups = [name for name in map(str, frame.columns) if name.startswith(_GROUP)]
        written = (of.text(name.removeprefix(_GROUP), name) for name in groups)
        return (of.text("characteristic"), of.text("value"), *written)

    def words(self, scene: Scene) -> Words:
        event = _event(scene)
        by = f"by {event}" if event else "all together"
        also = f" and {self.by}" if self.by else ""
        return Words(f"Characteristics of {scene.judged_rows}, {by}{also}.").also(
            "A column of numbers has two lines: mean with standard deviation (SD), and median with quartiles, of the "
            f"known values. A column with at most {FEW_VALUES} different values has a line for each value. A column "
            "with more dates has a line for each period of the calendar. Shares are of all rows of the group; missing "
            "values have their own line.",
            NO_P,
        )
