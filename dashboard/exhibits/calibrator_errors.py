"""Calibration errors of all models, notion by notion, each with its interval, noise floor and verdict."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core.inference import EstimateLine
from calib_core.study import every_measure
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.lines import AT_LEVEL, FLOOR, VALUE, below, marks
from dashboard.selection import mixed
from dashboard.session import Call, Scene, call

NOTIONS = tuple(dict.fromkeys(measure.reduction for measure in every_measure() if measure.reduction))
"""The notions every model is judged in; of many probabilities only the one looked at, since all would take minutes."""


@EXHIBITS.register("calibrator-errors", "Calibration errors of every model")
@dataclass(frozen=True)
class CalibratorErrors(Exhibit):
    """Expected calibration error of every model in every notion, with intervals, noise floors and verdicts."""

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        notions = (scene.focus.notion,) if scene.large else NOTIONS
        return call(cc.inference.lines_of_models, scene.over_same_rows(), notions, bins=scene.bins, eps=scene.tolerance)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        titled = of.Column("notion", ("notion",), lambda key: cc.REDUCTIONS[key].title, numeric=False)
        return titled, of.text("model"), *numbers(frame), of.text("verdict")

    def words(self, scene: Scene) -> Words:
        return Words(
            "Expected calibration error of every model on the test rows; a model that makes no claims in a notion has "
            f"no line there. {VALUE} {FLOOR}"
        ).also(*below(lines(scene.get(self.table(scene)))), scene.rows_counted)


def numbers(frame: pd.DataFrame) -> tuple[of.Column, ...]:
    """What is written of every line; with the bins where lines of the table were judged in different ones."""
    return (
        of.number("estimate", "point"),
        of.between(AT_LEVEL, "low", "high"),
        *of.marks(frame, marks(lines(frame))),
        of.number("value"),
        of.number("noise floor", "floor"),
        of.probability("p"),
        *([of.text("bins")] if mixed(frame["bins"]) else []),
    )


def lines(frame: pd.DataFrame) -> list[EstimateLine]:
    """The lines a table was made of."""
    names = [field.name for field in fields(EstimateLine)]
    known: Any = frame[names].astype(object).where(frame[names].notna(), None)
    return [EstimateLine(**record) for record in known.to_dict("records")]
