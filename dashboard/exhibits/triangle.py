"""The triangle of three classes: test rows in the cells of a partition, and where calibration rows say they belong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, cast

import pandas as pd

import calib_core as cc
from calib_core import BINNINGS
from calib_core.binning import SimplexScheme, of_simplex
from calib_core.diagrams import RecalibrationDiagram
from calib_core.registry.registry import Part, Range
from calib_core.text import count, percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.schemes import simplex_schemes
from dashboard.selection import MIN_ROWS
from dashboard.session import Call, Scene, call


def first_partition() -> SimplexScheme:
    """The partition that is drawn where none is chosen."""
    return cast(SimplexScheme, BINNINGS.make(simplex_schemes()[0]))


@dataclass(frozen=True)
class Partitioned(Exhibit):
    """What is shown of the cells of one partition, for the model looked at."""

    partition: Annotated[SimplexScheme, Part("BINNINGS", of_simplex), "Cells", "how the triangle is cut into cells"] = (
        field(default_factory=first_partition)
    )

    def diagram(self, scene: Scene) -> Call[RecalibrationDiagram]:
        """The cells with their rows, of a scene of three classes."""
        model = scene.model
        return call(cc.diagrams.recalibration, self.partition, model.calibration, model.predictions, stem="cells")


@EXHIBITS.register("triangle", "The triangle and its cells", reference="P1 Appendix G.4 and Fig. 12")
@dataclass(frozen=True)
class Triangle(Partitioned):
    """Test rows in the cells of a partition, and an arrow from each to what its calibration rows say."""

    min_rows: Annotated[
        int,
        Range(*MIN_ROWS),
        "Fewest rows for an arrow",
        "test rows and calibration rows that a cell needs for an arrow; others are drawn hollow",
    ] = 10

    height = 450

    meanings = of.Meanings(
        {
            "cell": "number of the cell",
            "place": "where the cell lies",
            "count": "test rows in the cell",
            "fit_count": "calibration rows in the cell",
            "length": "sum over classes of |mean - target|",
            "mean *": "mean probability of the class that the cell's test rows are given",
            "target *": "share of the class among the cell's calibration rows",
            "bound": "how far target can lie from the truth, in the same sum, with probability 90 %",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        scene = scene.triangle
        return call(cc.calls.stacked, {scene.model.title: self.diagram(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        ends = [name for name in frame.columns if name.startswith(("mean ", "target "))]
        return (
            of.text("model"),
            of.whole("cell"),
            of.text("place"),
            of.whole("test rows", "count"),
            of.whole("calibration rows", "fit_count"),
            of.error("off by", "length"),
            of.error("bound"),
            *map(of.share, ends),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        scene = scene.triangle
        chosen = scene.focus.cell
        return call("figures.recalibration", self.diagram(scene), min_rows=self.min_rows, selected=chosen)

    def words(self, scene: Scene) -> Words:
        scene = scene.triangle
        diagram, frame = scene.get(self.diagram(scene)), scene.get(self.table(scene))
        arrows = frame[diagram.holding(self.min_rows)]
        without = len(frame) - len(arrows)
        longest = (
            f"; the longest of them changes the probabilities by {percent(float(arrows['length'].max()))}"
            if len(arrows)
            else ""
        )
        unbounded = "No bound holds here: rows have weights or tie on the cells' edges."
        return Words(
            "Points: test rows, in the colour of their cell; ten colours, taken round. Arrow: from the mean prediction "
            "of a cell's test rows to the class frequencies of its calibration rows; cells with fewer than "
            f"{self.min_rows} of either have none.",
            f"{diagram.title}: {len(frame)} cells with test rows, {len(arrows)} arrows{longest}.",
        ).also(
            f"{count(len(frame))} cells with test rows, {without or 'none'} of them without an arrow.",
            "Mean: of the predictions of a cell's test rows. Target: the class frequencies of its calibration rows. "
            "Off by: sum of the absolute differences of the two, at most 2. Bound: how far, in the same sum, the "
            f"target can be from the truth of this one cell with probability {percent(1 - diagram.alpha, 0)}, from the "
            "number of its calibration rows alone (the better of the Bretagnolle-Huber-Carol and Weissman bounds).",
            unbounded if frame["bound"].isna().any() else "",
        )
