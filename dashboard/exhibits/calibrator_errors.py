"""Calibration errors of all models, notion by notion, each with its interval, noise floor and verdict."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.evaluation.study import every_measure
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

NOTIONS = tuple(dict.fromkeys(measure.reduction for measure in every_measure() if measure.reduction))
"""The notions every model is judged in; of many probabilities only the one looked at, since all would take minutes."""


@EXHIBITS.register("calibrator-errors", "Calibration errors of every model")
@dataclass(frozen=True)
class CalibratorErrors(Exhibit):
    """Expected calibration error of every model in every notion, with intervals, noise floors and verdicts."""

    reads = "counts"

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        questions = tuple((notion, "ece") for notion in ((scene.notion,) if scene.large else _asked_of(scene)))
        found = call(cc.inference.estimates, scene.over_same_rows(), questions, bins=scene.bins, by_model=False)
        return call(cc.inference.estimate_lines, found, eps=scene.tolerance)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        titled = of.Column("notion", ("notion",), lambda key: cc.REDUCTIONS[key].title, numeric=False)
        return titled, of.text("model"), *line_words.columns(frame)

    def words(self, scene: Scene) -> Words:
        return Words(
            f"Expected calibration error of every model on {scene.judged_rows}; a model that makes no claims in a "
            f"notion has no numbers there. {line_words.READING}"
        ).also(scene.rows_counted, *line_words.notes(scene.get(self.table(scene))))


def _asked_of(scene: Scene) -> tuple[str, ...]:
    """The notions of these files that say something of their own: an event is one of two classes."""
    rows = scene.get(scene.models.shown[0].predictions)
    scopes = {notion: cc.REDUCTIONS[notion].flags for notion in NOTIONS}
    known = (notion for notion, scope in scopes.items() if rows.event is not None or scope.of != "event")
    return tuple(notion for notion in known if scopes[notion].adds_to(rows.n_classes))
