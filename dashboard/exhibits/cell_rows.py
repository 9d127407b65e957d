"""The test rows in one cell of the triangle: what the model says of them on average, what happens, and row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.text import count, percent
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
