"""The test rows in one cell of the triangle, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core._text import count, percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Words
from dashboard.exhibits.triangle import Partitioned
from dashboard.session import Call, Scene, call


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
        return call(cc.row_table, model.predictions, rows, model.division.part("test_rows"), probabilities=True)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        numbers = [name for name in frame.columns if name == "confidence" or name.startswith("P(")]
        kinds = {"row": of.whole} | dict.fromkeys(numbers, of.number)
        return tuple(kinds.get(name, of.text)(name) for name in frame.columns)

    def words(self, scene: Scene) -> Words:
        frame, cell = scene.get(self.table(scene)), scene.focus.cell or 0
        place = scene.get(self.diagram(scene.triangle)).places[cell]
        right = percent(float(frame["correct"].mean()))
        return Words(f"Rows of cell {cell}, {place}: {count(len(frame))}, {right} right.")
