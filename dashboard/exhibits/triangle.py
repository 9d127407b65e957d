"""Three classes as a triangle: its cells, their rows, and canonical errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, cast

import numpy as np
import pandas as pd

import calib_core as cc
from calib_core import BINNINGS, NotAnswerable
from calib_core.binning import SimplexScheme, of_simplex
from calib_core.diagrams import RecalibrationDiagram
from calib_core.inference import marked
from calib_core.registry.registry import Flag, Part, Range
from calib_core.text import count, percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL, READING, looks
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


@EXHIBITS.register("cell-rows", "Rows of a cell")
@dataclass(frozen=True)
class CellRows(Partitioned):
    """The test rows in the cell looked at: what the model says of every class, and what was true."""

    printed = 50

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if scene.focus.cell is None:
            raise NotAnswerable("no cell is chosen: click into one of a triangle, and its rows appear here")
        scene = scene.triangle
        model, rows = scene.model, call(cc.diagrams.cell_rows, self.diagram(scene), scene.focus.cell)
        return call(cc.calls.row_table, model.predictions, rows, model.division.part("test_rows"), probabilities=True)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        numbers = [name for name in frame.columns if name == "confidence" or name.startswith("P(")]
        kinds = {"row": of.whole} | dict.fromkeys(numbers, of.share)
        return tuple(kinds[name](name) if name in kinds else of.given(name, frame[name]) for name in frame.columns)

    def words(self, scene: Scene) -> Words:
        frame, cell, scene = scene.get(self.table(scene)), scene.focus.cell or 0, scene.triangle
        diagram = scene.get(self.diagram(scene))
        labels = scene.get(scene.model.predictions).true_labels[diagram.rows(cell)]
        names = diagram.class_names
        happens = np.bincount(labels, minlength=len(names)) / len(labels)
        says = _listed(names, diagram.mean[cell])
        calibrated = (
            f"{count(int(diagram.fit_count[cell]))} calibration rows say {_listed(names, diagram.target[cell])}."
        )
        many = f"{count(len(frame))} row{'' if len(frame) == 1 else 's'}"
        return Words(
            f"Cell {cell}, {diagram.places[cell]}: {many}. {scene.model.title} says on average {says}; what happens is "
            f"{_listed(names, happens)}."
        ).also(
            calibrated if diagram.fit_count[cell] else "No calibration row lies in it: nothing says where it belongs."
        )


def _listed(names: tuple[str, ...], shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    return ", ".join(f"{name}: {percent(share, 0)}" for name, share in zip(names, shares, strict=True))
