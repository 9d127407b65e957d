"""Reliability diagrams split by slice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core.diagrams.class_list import FEW_ROWS
from calib_core.text import count
from dashboard.exhibits import columns as of
from dashboard.exhibits.by_slice import BySlice
from dashboard.exhibits.exhibit import EXHIBITS, Words
from dashboard.session import Call, Scene, call

MOST = 12


@EXHIBITS.register("slice-panels", "Reliability by slice")
@dataclass(frozen=True)
class SlicePanelsExhibit(BySlice):
    """A small reliability diagram for each of the first dozen slices, all models in each."""

    reads = "counts"
    printed = 0
    terms = ("bins",)

    meanings = of.Meanings(
        {
            "count": "rows of the slice in the bin",
            "mean_score": "mean confidence, or risk, of those rows",
            "mean_outcome": "share of those rows that is right, or has the event",
            "gap": "mean outcome less mean score",
            "weight": "rows of the bin as a share of all rows",
        }
    )

    def _diagrams(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """The small diagrams of every model with rows in all of the slices, and a sentence for each without."""
        where = tuple(scene.get(self.lines(scene))["where"].head(MOST))
        return scene.answered(
            scene.each(lambda m: call(cc.slices.panels, m.predictions, where, bins=scene.bins, notion=scene.claims))
        )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._diagrams(scene)[0])

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.text("slice"),
            of.between("bin", "lower", "upper"),
            of.whole("rows", "count"),
            of.share("mean score", "mean_score"),
            of.share("mean outcome", "mean_outcome"),
            of.gap(),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.class_panels", self._diagrams(scene)[0], looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        lines = scene.get(self.lines(scene))
        shown = min(MOST, len(lines))
        which = f"the first {shown} of {count(len(lines))} slices" if shown < len(lines) else f"{shown} slices"
        return Words(
            f"Reliability slice by slice: {which}. In the headings the slice's error in {scene.titles[0]}, which noise "
            f"pushes up where rows are few. Hollow: fewer than {FEW_ROWS} rows, not joined.",
            f"Small reliability diagrams of {which}.",
            self._diagrams(scene)[1],
        )
