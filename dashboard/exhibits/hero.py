"""When it says 90 %, how often is it right? The sentence the overview opens with, for every confidence."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.diagrams import LocalAccuracy
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

MOST = 3
"""Models whose answers stand below one another: as they are, and the first after recalibration."""


@EXHIBITS.register("hero", "How often it is right")
@dataclass(frozen=True)
class Hero(Exhibit):
    """How often each model is right where its confidence is near each whole percent, with an exact interval."""

    reads = "counts"
    printed = 0

    def answers(self, scene: Scene) -> dict[str, Call[LocalAccuracy]]:
        """The answers of the first models, by title."""
        every = scene.each(lambda model: call(cc.diagrams.local_accuracy, model.predictions, stem="answers"))
        return dict(list(scene.answered(every)[0].items())[:MOST])

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.stacked, self.answers(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("asked about", "confidence"),
            of.share("says", "claimed"),
            of.share("right"),
            of.between("90 % interval", "low", "high"),
            of.whole("rows"),
            of.between("these rows say", "lower", "upper"),
        )

    def words(self, scene: Scene) -> Words:
        first, *others = [
            (name, scene.get(wanted).answer(scene.confidence)) for name, wanted in self.answers(scene).items()
        ]
        after = (f"{name}: {answer.headline} {answer.basis}." for name, answer in others)
        return Words(f"{first[1].headline} {first[1].basis}.").also(
            *after,
            "Rows are cross-fitted: a recalibrated model's are each judged after a map fitted on other rows."
            if others and scene.cross_fitted
            else "",
            "Rows count whose confidence lies within 3 points of what is asked; where they are fewer than 200, within "
            "up to 12 points, as long as they say what is asked to within 3 points on average. Each interval is exact "
            "(Clopper and Pearson 1934) and stands alone: a confidence chosen for its answer is one of many looked at.",
        )
