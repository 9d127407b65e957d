"""The errors of a dozen classes, model beside model and beside what noise alone shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS
from calib_core.diagrams.class_list import FEW_ROWS
from calib_core.text import count
from dashboard.exhibits import columns as of
from dashboard.exhibits.by_class import Paged
from dashboard.exhibits.exhibit import EXHIBITS, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("class-errors", "Errors of classes")
@dataclass(frozen=True)
class ClassErrors(Paged):
    """Error of each of a dozen classes, a mark per model, beside what noise alone shows."""

    printed = 0
    terms = ("top-label", "class-wise")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        rows, chosen = self.predictions(scene), self.chosen(scene)
        title, tested = self.first(scene)[0], self.tested(scene)
        tests = False if tested is None else {title: tested}
        return call(cc.diagrams.class_list, rows, self.notion, scene.bins, classes=chosen, tests=tests)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        errors = [name for name in frame.columns if name.startswith("error, ")]
        noise = [of.error("noise alone", name) for name in frame.columns if name.startswith("calibrated, ")][:1]
        return (
            of.text("class"),
            of.whole("rows"),
            of.share("share"),
            of.share("true share", "true_share"),
            of.share("says", "mean_score"),
            of.share("happens", "mean_outcome"),
            *noise,
            *map(of.error, errors),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        tables, _ = self.tables(scene)
        tested = self.tested(scene)
        return call("figures.class_table", tables, classes=self.chosen(scene), tests=tested, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        which, notion = self.which(scene, self.page), REDUCTIONS[self.notion].title.lower()
        noise = (
            ""
            if self.tested(scene) is None
            else " Grey: mean raw ECE of a calibrated model, from noise alone; bold: significantly off."
        )
        title, _ = self.first(scene)
        words = Words(
            f"Raw ECE of each class ({notion}), inflated by noise: {which}.{noise} Hollow: fewer than {FEW_ROWS} rows.",
            f"Error of {count(len(scene.get(self.chosen(scene))))} classes, a mark per model, beside what noise shows.",
        ).also(
            self.rule(scene),
            f"Says and happens: mean score and share that comes true, of {title}. Bins: {scene.in_bins}.",
        )
        return self.noted(words.also(*self.tests(scene)[1][:1]), scene)
