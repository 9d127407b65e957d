"""The errors of a dozen classes, model beside model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS
from calib_core._text import count
from dashboard.exhibits import columns as of
from dashboard.exhibits.by_class import Paged
from dashboard.exhibits.exhibit import EXHIBITS, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("class-errors", "Errors of classes")
@dataclass(frozen=True)
class ClassErrors(Paged):
    """Error of each of a dozen classes, a bar per model, with the share of rows."""

    printed = 0

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        rows, order = self.predictions(scene), (self.sort, self.search, self.page)
        return call(cc.diagrams.class_list, rows, self.notion, scene.bins, *order, tests=False)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        errors = [name for name in frame.columns if name.startswith("error, ")]
        return (
            of.text("class"),
            of.whole("rows"),
            of.share("share"),
            of.share("true share", "true_share"),
            *map(of.number, errors),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        tables, _ = self.tables(scene)
        return call("figures.class_table", tables, classes=self.chosen(scene), looks=scene.titles)

    def words(self, scene: Scene) -> Words:
        which, notion = self.which(scene, self.page), REDUCTIONS[self.notion].title.lower()
        words = Words(
            f"Error of each class ({notion}) on the test rows, before and after: {which}. The error of a class with "
            f"few rows is mostly noise. Bins: {scene.in_bins}.",
            f"Error and share of rows of {count(len(scene.get(self.chosen(scene))))} classes, a bar per model.",
        )
        return self.noted(words, scene)
