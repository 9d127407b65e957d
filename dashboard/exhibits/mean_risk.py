"""Calibration in the large: are the predicted risks of the event right on average, and spread as they should be?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.diagrams import LargeLines
from calib_core.registry.registry import Flag
from calib_core.text import measured_between, score
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

NO_EVENT = "calibration in the large is about the event of two classes, and these rows have none"
_SCORES = {"auroc": "AUROC", "brier": "Brier score", "scaled-brier": "scaled", "log-loss": "log loss"}


DISTANCES = (
    "ICI, E50 and E90: mean, median and 90 % point of the distance between the predicted risk and a smooth curve of "
    "the observed frequency; Emax: the largest. Noise level: the 95 % point of calibrated models."
)


def scores_line(measures: pd.DataFrame) -> str:
    """AUROC and proper scores of one model in a line; what a missing one needs in place of its number.

    >>> rows = cc.Predictions([[0.7, 0.3]] * 40, [0] * 40)
    >>> scores_line(cc.risk.scores(rows))
    'AUROC needs rows with the event and rows without it · Brier score 0.09 · log loss 0.357'
    """
    found = measures.set_index("measure").to_dict("index")
    parts = {}
    for key, name in _SCORES.items():
        value, note = found[key]["value"], str(found[key]["note"])
        parts[key] = f"{name} {score(value)}" if math.isfinite(value) else f"{name} {note}".rstrip()
    low, high = found["auroc"]["low"], found["auroc"]["high"]
    if low <= high:  # both are numbers
        parts["auroc"] += f" ({measured_between(low, high, 'score')})"
    scaled = f" ({parts['scaled-brier']})" if math.isfinite(found["scaled-brier"]["value"]) else ""
    return f"{parts['auroc']} · {parts['brier']}{scaled} · {parts['log-loss']}"


@EXHIBITS.register("in-the-large", "Calibration in the large", reference="Van Calster et al. 2019")
@dataclass(frozen=True)
class InTheLargeExhibit(Exhibit):
    """Predicted and observed events, calibration intercept and slope, and scores of the event's risk."""

    curve: Annotated[
        bool, Flag(), "Distances of the smooth curve", "also ICI, E50, E90 and Emax, which take up to a second"
    ] = True

    height = 220
    terms = ("in-the-large", "observed-expected", "calibration-intercept", "calibration-slope")
    static = True

    meanings = of.Meanings(
        {
            "measure": "short name of the measure",
            "value": "the measure",
            "floor": "95 % point of calibrated models",
            "reference": "value of a calibrated model",
        }
    )

    def lines(self, scene: Scene) -> dict[str, Call[LargeLines]]:
        """Every model's measures, by title."""
        if scene.claims != "event":
            raise NotAnswerable(NO_EVENT)
        wanted = scene.each(
            lambda model: call(cc.diagrams.large_lines, model.predictions, bins=scene.bins, curve=self.curve)
        )
        return scene.answered(wanted)[0]

    def first(self, scene: Scene) -> tuple[str, Call[LargeLines]]:
        """The model in focus, else the first that has any, and its measures: what is drawn."""
        lines = self.lines(scene)
        title = scene.model.title if scene.model.title in lines else next(iter(lines))
        return title, lines[title]

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self.lines(scene))

    def figure(self, scene: Scene) -> Call[Any]:
        title, lines = self.first(scene)
        return call("figures.large_lines", lines, model=title, looks=scene.looks)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        noted = (of.text("note"),) if frame["note"].astype(bool).any() else ()
        return (
            of.text("model"),
            of.text("measure", "title"),
            of.number("value"),
            of.number_between("90 % interval", "low", "high", ("reference",)),
            *((of.number("noise level", "floor"),) if frame["floor"].notna().any() else ()),
            of.number("calibrated model", "reference"),
            *noted,
        )

    def scores(self, scene: Scene) -> str:
        """AUROC and proper scores of the same model in a line."""
        return scores_line(scene.get(self.first(scene)[1]).measures)

    def words(self, scene: Scene) -> Words:
        title, lines = self.first(scene)
        found = scene.get(lines).found
        differs = "differ" if found.differs else "are not shown to differ"
        caption = (
            f"{title}: {found.expected:,.4g} events expected, {found.events:,.4g} observed among {found.rows:,.0f} "
            f"rows. Predicted and observed frequency {differs}."
        )
        return Words(caption, f"Calibration in the large of {title}. {caption}").also(
            f"Intervals of observed frequency, gap, ratio and intercept: {found.method}; the end towards the predicted "
            "mean allows for the errors that the gap bounds.",
            "Observed to expected: events that happened for every one that the predicted risks add up to. Intercept: "
            "the shift in log-odds that makes the mean risk right; 0 when calibrated. Slope: 1 when calibrated; below "
            "1, high risks are too high and low risks too low.",
            *([DISTANCES] if self.curve else []),
            "Right on average is not calibrated: gaps of opposite sign cancel.",
        )
