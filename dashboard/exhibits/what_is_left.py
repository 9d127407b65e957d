"""How much of each score recalibration could still take off, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

import calib_core as cc
from calib_core import ESTIMATORS, NotAnswerable
from calib_core.registry.registry import Flag
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL
from dashboard.session import Call, Scene, call


@EXHIBITS.register("score-parts", "What recalibration could still gain", reference="Berta et al. 2025")
@dataclass(frozen=True)
class ScoreParts(Exhibit):
    """Log loss and Brier score in two parts: what a map of the probabilities would take off, and what would remain."""

    slow: Annotated[
        bool, Flag(), "Fit maps in folds", "of every model and its base: seconds for thousands of rows and ten classes"
    ] = False

    terms = ("log-loss",)

    meanings = of.Meanings(
        {
            "score": "log loss or Brier score",
            "part": "whole score, calibration loss or refinement loss",
            "before": "before recalibration",
            "after": "after recalibration",
            "change": "after less before",
            "low": "lower end of the 90 % interval of the change",
            "high": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("tick a calibrator: what could still be gained after it appears here")
        if not self.slow:
            raise NotAnswerable(
                "what recalibration could still gain takes fits of maps in folds of rows: ask for them (slow)"
            )
        before, after, _ = scene.recalibrations
        return call(cc.evaluation.score_decomposition.parts_of_scores, before, after)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.titled("score", ESTIMATORS),
            of.Column("part", ("part",), cc.evaluation.score_decomposition.PARTS.__getitem__, numeric=False),
            of.number("before"),
            of.number("after"),
            of.number_between("interval, after", "after_low", "after_high"),
            of.number("change"),
            of.number_between(AT_LEVEL, "low", "high"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        refused = frame[frame["note"] != ""].drop_duplicates(["calibrator", "note"])
        return Words(
            "Calibration loss: what recalibrating these rows takes off the score on rows that no fit has seen, as far "
            "as the maps tried can tell; the refinement loss remains. An interval that reaches 0: nothing is shown to "
            "be gained."
        ).also(
            "The calibration loss is estimated from below: a better map could take off more. It can be less than 0 by "
            "chance. Two quick maps are tried, and leaving all as it is; each fold of rows is judged with what did "
            "best on the others. Intervals, each by itself, take the fitted maps as they are.",
            "Where a calibrator gives the predicted class alone, before and after are judged as right or wrong.",
            "Rows are cross-fitted: maps have seen rows of each other's folds, so that what is left after a calibrator "
            "is a rough guide."
            if scene.cross_fitted
            else "",
            *(f"{line.calibrator}: {line.note}." for line in refused.itertuples()),
        )
