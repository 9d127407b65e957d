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
from dashboard.session import Call, Scene, call, in_sentence


def first_partition() -> SimplexScheme:
    """Return the default partition."""
    return cast(SimplexScheme, BINNINGS.make(simplex_schemes()[0]))


@dataclass(frozen=True)
class Partitioned(Exhibit):
    """Base class of exhibits about the cells of one partition, for the selected model."""

    partition: Annotated[SimplexScheme, Part("BINNINGS", of_simplex), "Cells", "how the triangle is cut into cells"] = (
        field(default_factory=first_partition)
    )

    def diagram(self, scene: Scene) -> Call[RecalibrationDiagram]:
        """Return the cells with their rows, for a scene of three classes."""
        model = scene.model
        return call(cc.diagrams.recalibration, self.partition, model.calibration, model.predictions, stem="cells")


@EXHIBITS.register("triangle", "The triangle and its cells", reference="P1 Appendix G.4 and Fig. 12")
@dataclass(frozen=True)
class Triangle(Partitioned):
    """Test rows in cells of a partition, and an arrow from each to the class frequencies of its calibration rows."""

    min_rows: Annotated[
        int,
        Range(*MIN_ROWS),
        "Fewest rows for an arrow",
        "smallest number of test rows and of calibration rows for an arrow; other cells are hollow",
    ] = 10

    height = 450

    meanings = of.Meanings(
        {
            "cell": "number of the cell",
            "place": "location of the cell",
            "count": "test rows in the cell",
            "fit_count": "calibration rows in the cell",
            "length": "sum over classes of |mean - target|",
            "mean *": "mean predicted probability of the class in the cell's test rows",
            "target *": "share of the class among the cell's calibration rows",
            "bound": "bound on the same sum for target minus truth, with probability 90 %",
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
            of.error("distance", "length"),
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
        unbounded = "There is no bound here: rows have weights or ties on the cells' edges."
        return Words(
            "The triangle is divided into cells, regions of similar predictions. Points are test rows, colored by "
            "cell (ten colors, reused). Arrow: from the mean prediction of a cell's test rows to the class "
            f"frequencies of its calibration rows. Cells with fewer than {self.min_rows} rows of either kind have no "
            "arrow.",
            f"{diagram.title}: {len(frame)} cells with test rows, {len(arrows)} arrows{longest}.",
        ).also(
            f"{count(len(frame))} cells with test rows, {without or 'none'} of them without an arrow.",
            "Mean: mean prediction of a cell's test rows. Target: class frequencies of its calibration rows (equal "
            "shares without rows). Distance: sum of the absolute differences of the two, at most 2. Bound: with "
            f"probability {percent(1 - diagram.alpha, 0)}, the target of this one cell is at most this far from the "
            "truth. It depends only on the number of calibration rows (the better of the Bretagnolle-Huber-Carol and "
            "Weissman bounds).",
            unbounded if frame["bound"].isna().any() else "",
        )


@EXHIBITS.register("canonical-errors", "Canonical calibration error", reference="P1 Appendix G")
@dataclass(frozen=True)
class CanonicalErrors(Exhibit):
    """Canonical error of the selected model on the cells of every selected partition, in L1 and in L2."""

    smoothed: Annotated[
        bool,
        Flag(),
        "Also without bins",
        "also compute the error without cells, by kernels, for at most about 2,500 rows",
    ] = False

    terms = ("canonical",)

    meanings = of.Meanings(
        {
            "partition": "how the triangle is cut into cells",
            "norm": "how differences of classes are combined",
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
            of.measured("raw value", "value"),
            of.measured("noise floor", "floor"),
            of.probability("p"),
            *([of.text("note")] if frame["note"].any() else []),
        )

    def words(self, scene: Scene) -> Words:
        frame, title = scene.get(self.table(scene)), scene.triangle.model.title
        return Words(
            f"Canonical calibration error of {in_sentence(title)} on the cells of each partition. L1: sum over "
            "classes of the absolute differences between frequencies and mean prediction of a cell's test rows "
            f"(at most 2), averaged over rows. L2: root of the average sum of their squares. "
            f"{self._without_cells}{READING}"
        ).also(*looks(frame))

    @property
    def _without_cells(self) -> str:
        """Explain the line without cells, if it is shown."""
        if not self.smoothed:
            return ""
        return (
            "Without cells: frequencies around each row, with more weight on similar rows. The bias of smoothing "
            "is in the raw value but not in the estimate. "
        )


@EXHIBITS.register("cell-rows", "Rows of a cell")
@dataclass(frozen=True)
class CellRows(Partitioned):
    """Test rows in the selected cell: predicted probabilities of all classes, and true classes."""

    printed = 50

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if scene.focus.cell is None:
            raise NotAnswerable("no cell is selected; click a cell of a triangle to see its rows")
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
        says = _frequencies(names, diagram.mean[cell])
        calibrated = (
            f"{count(int(diagram.fit_count[cell]))} calibration rows have class frequencies "
            f"{_frequencies(names, diagram.target[cell])}."
        )
        many = f"{count(len(frame))} row{'' if len(frame) == 1 else 's'}"
        return Words(
            f"Cell {cell}, {diagram.places[cell]}: {many}. Mean prediction of {in_sentence(scene.model.title)}: "
            f"{says}. Observed frequencies: {_frequencies(names, happens)}."
        ).also(calibrated if diagram.fit_count[cell] else "The cell has no calibration row, so it has no target.")


def _frequencies(names: tuple[str, ...], shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    return ", ".join(f"{name}: {percent(share, 0)}" for name, share in zip(names, shares, strict=True))
