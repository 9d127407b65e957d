"""One bin of the reliability diagram taken apart: class by class, and row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core._text import count, error, percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.stars import bin_of, stars
from dashboard.session import Call, Scene, call


@EXHIBITS.register("bin", "One bin, class by class", reference="P1 Fig. 1b")
@dataclass(frozen=True)
class BinByClass(Exhibit):
    """Which predicted classes make up a bin of the model looked at, those furthest off first."""

    printed = 10
    height = 440

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.stacked, {scene.model.title: self._zoom(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("class"),
            of.whole("rows", "count"),
            of.number("confidence"),
            of.number("accuracy"),
            of.number("gap"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.zoom", self._zoom(scene))

    def words(self, scene: Scene) -> Words:
        zoom = scene.get(self._zoom(scene))
        star = f"confidence {error(zoom.star[0])}, accuracy {error(zoom.star[1])}"
        return Words(
            f"{_which(scene)}: {count(len(zoom.rows))} rows, {star}. A point per predicted class, larger with more "
            "rows; blue claims too much, orange too little; the star is of all its classes together.",
            f"Bin {zoom.label}: accuracy against confidence of {len(zoom.names)} predicted classes.",
            ("The gap of a class with few rows is mostly noise.",),
        )

    def _zoom(self, scene: Scene) -> Call[Any]:
        return call(cc.diagrams.zoom, scene.model.predictions, stars(scene), bin_of(scene))


@EXHIBITS.register("bin-rows", "One bin, row by row")
@dataclass(frozen=True)
class BinRows(Exhibit):
    """The test rows in a bin of the model looked at: what was said of each, what was true, and the file's columns."""

    printed = 20

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        numbers = scene.model.division.part("test_rows")
        return call(cc.diagrams.bin_rows, scene.model.predictions, stars(scene), bin_of(scene), numbers)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return tuple(
            of.number("confidence") if name == "confidence" else of.given(str(name), frame[name])
            for name in frame.columns
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        right = percent(float(frame["correct"].mean()))
        return Words(f"{_which(scene)}: {count(len(frame))} rows, {right} right; row: where it stands in its file.")


def _which(scene: Scene) -> str:
    """The model and the bin in words, and why this one."""
    diagram, chosen = scene.get(stars(scene)), bin_of(scene)
    why = "the bin that adds most to the error" if chosen is None else "the bin chosen"
    return f"{scene.model.title}, {why}, {diagram.label(diagram.worst if chosen is None else chosen)}"
