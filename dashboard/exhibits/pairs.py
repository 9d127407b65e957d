"""Every pair of models on the same rows: whose error is smaller, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.estimators import BY_DEFAULT, takes_bins
from calib_core.inference import marked, unit_of
from calib_core.inference.comparison.model_differences import DEFAULT, MARGIN
from calib_core.registry.registry import Key, Range
from calib_core.summaries import kept_together
from calib_core.text import count
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

NOT_PAIRED = (
    "A summary does not say which rows it is of, so that each model's own interval is put against the other's. That "
    "holds whatever rows they have in common; it is wider than a paired one where these are the same."
)


@EXHIBITS.register("pairs", "Paired differences, on the same rows")
@dataclass(frozen=True)
class PairsExhibit(Exhibit):
    """Differences of the errors of every pair of models, the rows resampled together."""

    reads = "counts"

    estimator: Annotated[str, Key("ESTIMATORS"), "Error or score", "the error or score whose difference is taken"] = (
        DEFAULT
    )
    notion: Annotated[
        str,
        Key("REDUCTIONS", (BY_DEFAULT, WHOLE), ("As judged", "Whole predictions")),
        "Claims compared",
        "which claims are compared, by default those of the event of two classes, else of the confidence; or whole "
        "predictions, which scores judge",
    ] = BY_DEFAULT
    margin: Annotated[
        float, Range(0.0001, 0.5), "Margin", "the difference that would not matter: .01 is one point, or .01 of a score"
    ] = MARGIN

    meanings = of.Meanings(
        {
            "difference": "error of the first less that of the second, as the interval is about it",
            "verdict": "what the interval and the margin say of the first beside the second",
        }
    )

    def models(self, scene: Scene) -> Any:
        """The test rows of every model, by title."""
        return scene.predictions()

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if len(scene.models.shown) < 2:
            raise NotAnswerable("there is one model only: tick a calibrator, or add another model in the Data view")
        notion = self._notion(scene)
        if notion is None and "predictions" not in cc.ESTIMATORS[self.estimator].flags.takes:
            raise NotAnswerable("whole predictions are compared by scores only: choose a score, or a notion")
        bins = scene.bins if takes_bins(self.estimator) else None
        return call(cc.compare, self.models(scene), notion, self.estimator, bins, margin=self.margin)

    def _notion(self, scene: Scene) -> str | None:
        """The notion chosen, or the one that the page is about; None: whole predictions."""
        if self.notion == BY_DEFAULT:
            return scene.claims
        return None if self.notion == WHOLE else self.notion

    def which_rows(self, scene: Scene) -> str:
        """What is to be known where models are summaries, whose rows cannot be paired; empty where they are rows."""
        return NOT_PAIRED if scene.undivided else ""

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
        notion = self._notion(scene)
        claims = "whole predictions" if notion is None else f"{cc.REDUCTIONS[notion].title.lower()} claims"
        refused = frame.loc[frame["note"] != "", "note"].value_counts(sort=False)
        return Words(
            f"{cc.ESTIMATORS[self.estimator].title} of {claims}: error of the first less that of the second, so below "
            f"0 the first errs less. Its {AT_LEVEL} is each pair's by itself. {VALUES_DIFFER} p: of no difference; "
            "Holm: corrected for the number of pairs, so that one false alarm among all of them stays as rare as one "
            f"alone. {FIVE_WORDS}"
        ).also(
            self.which_rows(scene),
            *marked(_claims(frame))[1],
            *(f"{pairs} of {len(frame)} pairs not compared: {why}." for why, pairs in refused.items()),
        )


@EXHIBITS.register("kept-pairs", "Paired differences, on the rows that summaries keep")
@dataclass(frozen=True)
class KeptPairs(PairsExhibit):
    """Differences of the errors of every pair of models known by summaries, on the rows that all of them keep."""

    def models(self, scene: Scene) -> Any:
        return call(kept_together, scene.predictions(), stem="kept")

    def which_rows(self, scene: Scene) -> str:
        """That these are few of the rows, and why they are taken to be the same."""
        rows = next(iter(scene.get(self.models(scene)).values())).n_rows
        return (
            f"Of the {count(rows)} rows alone that every summary keeps, chosen at random. They are taken to be the "
            "same as they have the same numbers in sources of one name, and the same labels where these are known."
        )


def _claims(frame: pd.DataFrame) -> list[tuple[str, bool | None]]:
    """What the interval of each pair is about, and whether it is tested."""
    return list(zip(frame["about"], frame["tested"], strict=True))
