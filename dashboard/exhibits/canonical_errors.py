"""How far off a model is between the cells of each partition of the triangle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

import calib_core as cc
from calib_core.inference import marked
from calib_core.registry.registry import Flag
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL, READING, looks
from dashboard.session import Call, Scene, call


@EXHIBITS.register("canonical-errors", "Canonical calibration error", reference="P1 Appendix G")
@dataclass(frozen=True)
class CanonicalErrors(Exhibit):
    """The canonical error of the model looked at on the cells of every partition chosen, in L1 and in L2."""

    smoothed: Annotated[
        bool, Flag(), "Without cells too", "adds the error without cells, by kernels: of some 2,500 rows at most"
    ] = False

    terms = ("canonical",)

    meanings = of.Meanings(
        {
            "partition": "how the triangle is cut into cells",
            "norm": "how differences of classes are put together",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        scene = scene.triangle
        asked_for = scene.model.predictions, scene.partitions, scene.tolerance
        if self.smoothed:
            return call(cc.inference.canonical_errors, *asked_for, smoothed=True)
        return call(cc.inference.canonical_errors, *asked_for)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("partition"),
            of.text("norm"),
            of.measured("estimate", "point"),
            of.measured_between(AT_LEVEL, "low", "high"),
            *of.marks(frame, marked(zip(frame["about"], frame["tested"], strict=True))[0]),
            of.measured("as measured", "value"),
            of.measured("noise floor", "floor"),
            of.probability("p"),
            *([of.text("note")] if frame["note"].any() else []),
        )

    def words(self, scene: Scene) -> Words:
        frame, title = scene.get(self.table(scene)), scene.triangle.model.title
        return Words(
            f"Canonical calibration error of {title} on the cells of each partition. L1: the sum over classes of the "
            "absolute differences between frequencies and mean prediction of a cell's test rows (at most 2), on "
            f"average over rows; L2: the root of the average sum of their squares. {self._without_cells}{READING}"
        ).also(*looks(frame))

    @property
    def _without_cells(self) -> str:
        """What the line without cells is, where it is shown."""
        if not self.smoothed:
            return ""
        return (
            "Without cells: frequencies around each row, rows more like it counting more; what smoothing adds is in "
            "its value and not in its estimate. "
        )
