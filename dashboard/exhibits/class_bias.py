"""Class by class: where one class is predicted, what is said of every class and what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core.defaults import LEVEL
from calib_core.diagrams import ClassBias
from calib_core.diagrams.class_bias import MOST_CLASSES
from calib_core.text import at_level
from dashboard.exhibits import columns as of
from dashboard.exhibits.by_slice import CORRECTED, row_columns
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.findings import HOLLOW, how_judged
from dashboard.session import Call, Scene, call


@EXHIBITS.register("class-bias", "What is said of other classes")
@dataclass(frozen=True)
class Bias(Exhibit):
    """Where a class is predicted, how probable every class is said to be and how often it is true."""

    printed = 20
    costly = True

    meanings = of.Meanings(
        {
            "class": "predicted class",
            "code": "its position",
            "label": "class that something is said of",
            "label_code": "its position",
            "rows": "rows predicted as the class",
            "says": "mean probability of the label in those rows",
            "right": "share of those rows that is of the label",
            "gap": "right less says",
        }
    )

    def pairs(self, scene: Scene) -> Call[ClassBias]:
        """The pairs of classes of the model looked at."""
        return call(cc.diagrams.class_bias, scene.model.predictions, bins=scene.bins, stem="pairs")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.pairs(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("predicted", "class"),
            of.text("class", "label"),
            of.share("says"),
            of.share("happens", "right"),
            of.gap(),
            of.between(f"{at_level(LEVEL)} interval", "low", "high"),
            *row_columns(frame),
            of.probability("p"),
            of.probability("p (corrected)", "p_corrected"),
            of.flag("significantly off", "stands_out"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.class_bias", self.pairs(scene), model=scene.model.title, looks=scene.looks)

    def looked_at(self, scene: Scene) -> str:
        """What is found of the pair of classes looked at, if it is listed and was looked for already."""
        focus = scene.focus
        if focus.code is None or focus.label is None or not scene.knows(self.pairs(scene)):
            return ""
        frame = scene.get(self.table(scene))
        found = frame.loc[(frame["code"] == focus.code) & (frame["label_code"] == focus.label), "finding"]
        return str(found.iloc[0]) if len(found) else ""

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.pairs(scene))
        caption = (
            "A line a predicted class, a column a class: blue where it is rarer than is said on average, vermillion "
            "where it is more frequent; dots: beyond chance."
        )
        if len(found.names) > MOST_CLASSES:
            caption = (
                "Predicted class, and the class something is said of. Mark: how often it is true, with its "
                f"interval; tick: what is said on average. {HOLLOW}"
            )
        return Words(
            f"{scene.model.title}. {caption}",
            f"What is said of classes and how often it is true, in {found.pairs:,} pairs of classes.",
            headline=found.headline,
        ).also(
            f"{how_judged(scene)} {CORRECTED}",
            "First come the significant pairs, the largest gap first; then the others by p.",
        )
