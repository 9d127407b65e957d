"""All classes of all models in one table."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS
from dashboard.exhibits import columns as of
from dashboard.exhibits.by_class import InOrder
from dashboard.exhibits.exhibit import EXHIBITS, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("classes", "All classes")
@dataclass(frozen=True)
class Classes(InOrder):
    """All classes of all models: rows, share, error, and a test of every class corrected for their number."""

    printed = 200

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        rows, (tests, _) = self.predictions(scene), self.tests(scene)
        return call(cc.diagrams.class_list, rows, self.notion, scene.bins, classes=self.order(scene), tests=tests)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        names = [name.removeprefix("error, ") for name in frame.columns if name.startswith("error, ")]
        tested = [
            (
                of.error(f"error, {name}"),
                *([of.error("calibrated", f"calibrated, {name}"), of.probability("p", f"p, {name}")] if not i else []),
                of.probability(f"p (corrected), {name}", f"p_holm, {name}"),
            )
            for i, name in enumerate(names)
        ]
        return (
            of.text("class"),
            of.whole("rows"),
            of.share("share"),
            of.share("true share", "true_share"),
            of.share("mean score", "mean_score"),
            of.share("mean outcome", "mean_outcome"),
            of.gap(),
            *(column for columns in tested for column in columns),
        )

    def words(self, scene: Scene) -> Words:
        title, _ = self.first(scene)
        which, notion = self.which(scene), REDUCTIONS[self.notion].title.lower()
        words = Words(
            f"One line per class ({notion}): {which}. Rows, shares, mean score, mean outcome and gap are of {title}. "
            "Errors are raw ECE, which noise inflates most where rows are few; bins: "
            f"{scene.in_bins}. Calibrated: what perfectly calibrated probabilities show on average. p: "
            "the chance of an error as large as this in a calibrated model, an exact test by bins; "
            "corrected for the number of classes and the kinds of places; at most 0.05 is significant. A class of few "
            "rows can hardly be shown to be off."
        )
        return self.noted(words.also(self.rule(scene)), scene).also(*self.tests(scene)[1])
