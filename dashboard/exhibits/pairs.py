"""Every pair of models on the same rows: whose error is smaller, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.estimators import takes_bins
from calib_core.inference import marked, unit_of
from calib_core.inference.margins import MARGIN
from calib_core.inference.model_differences import DEFAULT
from calib_core.registry import Key, Range
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL
from dashboard.session import Call, Scene, call

WHOLE = "whole"
"""In place of a notion: whole predictions, which scores judge."""
VALUES_DIFFER = (
    "The difference is the one that its interval is about; that of two plug-in values, which noise pushes up, can lie "
    "outside."
)
FIVE_WORDS = (
    "The first is, beside the second: better or worse, where the interval leaves out 0; equivalent, where it lies "
    "within the margin both ways; not worse, where it leaves out being worse by the margin or more; else these rows "
    "cannot tell."
)


@EXHIBITS.register("pairs", "Paired differences, on the same rows")
@dataclass(frozen=True)
class Pairs(Exhibit):
    """Differences of the errors of every pair of models, the rows resampled together."""

    estimator: Annotated[str, Key("ESTIMATORS"), "Error or score", "the error or score whose difference is taken"] = (
        DEFAULT
    )
    notion: Annotated[
        str,
        Key("REDUCTIONS", (WHOLE,), ("Whole predictions",)),
        "Claims compared",
        "which claims are compared; or whole predictions, which scores judge",
    ] = "confidence"
    margin: Annotated[
        float, Range(0.0001, 0.5), "Margin", "the difference that would not matter: .01 is one point, or .01 of a score"
    ] = MARGIN

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if len(scene.models.shown) < 2:
            raise NotAnswerable("there is one model only: tick a calibrator, or add another model in the Data view")
        whole = self.notion == WHOLE
        if whole and "predictions" not in cc.ESTIMATORS[self.estimator].flags.takes:
            raise NotAnswerable("whole predictions are compared by scores only: choose a score, or a notion")
        bins = scene.bins if takes_bins(self.estimator) else None
        return call(
            cc.compare, scene.predictions(), None if whole else self.notion, self.estimator, bins, margin=self.margin
        )

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        unit = unit_of(self.estimator)
        return (
            of.text("first"),
            of.text("second"),
            of.difference("difference", unit=unit),
            of.difference_between(AT_LEVEL, "low", "high", unit),
            *of.marks(frame, marked(_claims(frame))[0]),
            of.text("the first is", "verdict"),
            of.probability("p"),
            of.probability("p, Holm", "p_holm"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        claims = "whole predictions" if self.notion == WHOLE else f"{cc.REDUCTIONS[self.notion].title.lower()} claims"
        refused = frame.loc[frame["note"] != "", "note"].value_counts(sort=False)
        return Words(
            f"{cc.ESTIMATORS[self.estimator].title} of {claims}: error of the first less that of the second, so below "
            f"0 the first errs less. Its {AT_LEVEL} is each pair's by itself. {VALUES_DIFFER} p: of no difference; "
            "Holm: corrected for the number of pairs, so that one false alarm among all of them stays as rare as one "
            f"alone. {FIVE_WORDS}"
        ).also(
            *marked(_claims(frame))[1],
            *(f"{pairs} of {len(frame)} pairs not compared: {why}." for why, pairs in refused.items()),
        )


def _claims(frame: pd.DataFrame) -> list[tuple[str, bool | None]]:
    """What the interval of each pair is about, and whether it is tested."""
    return list(zip(frame["about"], frame["tested"], strict=True))
