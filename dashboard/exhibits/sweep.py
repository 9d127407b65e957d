"""The error against the number of bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import CALIBRATORS, ESTIMATORS, REDUCTIONS
from calib_core.binning import as_binning, cuts
from calib_core.diagrams import swept_estimators, swept_kinds
from calib_core.inference import unit_of
from calib_core.registry.registry import Choice, Flag, Key
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Model, Scene, call, division

CLAIMS = ("top", "looked-at")
"""The claims whose errors are shown: of confidences, by predicted class too where classes are known; or others."""


@EXHIBITS.register("sweep", "Error against number of bins", reference="P1 Fig. 2")
@dataclass(frozen=True)
class Sweep(Exhibit):
    """The error of every model for every number of bins, with what noise alone would show."""

    reads = "counts"

    estimator: Annotated[
        str,
        Key("ESTIMATORS", able=swept_estimators().__contains__),
        "Error",
        "how errors of bins are put together",
    ] = swept_estimators()[0]
    kind: Annotated[
        str,
        Key("BINNINGS", able=swept_kinds().__contains__),
        "Kind of bins",
        "where the bins lie; over how many there are, or over how many rows each holds",
    ] = swept_kinds()[0]
    claims: Annotated[
        str,
        Choice(CLAIMS, titles=("Confidence and top-label", "The notion looked at")),
        "Claims",
        "the claims whose errors are shown",
    ] = CLAIMS[0]
    intervals: Annotated[bool, Flag(), "Intervals", "an interval of the error at every number of bins"] = False
    refit: Annotated[
        bool,
        Flag(),
        "Refit calibrators that bin",
        "fit calibrators that have a number of bins anew for each number, with as many bins as they are judged in",
    ] = False

    printed = 10
    height = 440
    terms = ("calibration-error", "bins")
    costly = True
    formula = cc.diagrams.ErrorSweep.formula

    meanings = of.Meanings(
        {
            "bins": "number of bins, or of rows in each",
            "value": "raw error in so many bins",
            "floor": "95 % point of calibrated models' raw error in the same bins",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self._sweep(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        unit = unit_of(self.estimator)
        between = of.between if unit == "share" else of.number_between
        return (
            of.text("model"),
            of.text("notion"),
            of.whole("rows per bin" if self._by_rows else "bins", "bins"),
            of.in_unit(ESTIMATORS[self.estimator].title, "value", unit),
            of.in_unit("noise floor", "floor", unit),
            *([between(line_words.AT_LEVEL, "low", "high")] if "low" in frame else []),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.error_sweep", self._sweep(scene), looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        title, notions = ESTIMATORS[self.estimator].title, self._claims(scene)[1]
        swept = scene.get(self._sweep(scene))
        numbers = f"{swept.bins[0]} to {swept.bins[-1]}"
        kind = cc.BINNINGS[self.kind].title.lower()
        over = f"{numbers} rows in each bin" if self._by_rows else f"{numbers} bins of {kind}"
        lines = ", ".join(
            f"{dash}: {REDUCTIONS[key].title.lower()}" for dash, key in zip(("dashed", "solid"), notions, strict=False)
        )
        words = Words(
            f"{title} for {over}; {lines}. Grey: what 95 % of calibrated models with the predictions of "
            f"{swept.models[0]} stay below.",
            f"{title} for {over}, a line per model and notion, above what noise alone shows.",
            self._shown(scene)[2],
        )
        if self.intervals:
            words = words.also(
                f"Bands of a model's colour: {line_words.AT_LEVEL}s of the error in these bins. A value above its own "
                "interval is no mistake: noise pushes up the value, not the interval."
            )
        silent = dict.fromkeys(zip(swept.models, swept.notes, strict=True))
        words = words.also(*(f"No noise floor of {model}: {why}." for model, why in silent if why))
        able = [model.title for model in scene.models.shown if self._anew(model)]
        anew = [title for title in able if title in swept.models]
        return words.also(
            f"Fitted anew for each number: {', '.join(anew)}." if anew else "",
            "No model shown has a number of bins to fit it with." if self.refit and not able else "",
        )

    @property
    def _by_rows(self) -> bool:
        return bool(cuts(as_binning(self.kind)).rows)

    def _anew(self, model: Model) -> bool:
        """Is the model fitted anew for every number?"""
        declared = CALIBRATORS[model.recipe.key].flags
        return self.refit and bool(declared.rows if self._by_rows else declared.bins)

    def _claims(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...], tuple[str, ...]]:
        """The models' rows by title, the notions they are judged in, and a sentence for each model left out."""
        if self.claims == CLAIMS[0]:
            models, refused = line_words.answering(scene)
            classes = all(scene.get(rows).kind != "confidence" for rows in models.values())
            return models, ("confidence", "top-label") if classes else ("confidence",), refused
        notion = scene.notion
        kept, refused = scene.answered(
            scene.each(lambda model: call(cc.estimate, model.predictions, notion, self.estimator, self.kind))
        )
        return {title: rows for title, rows in scene.predictions().items() if title in kept}, (notion,), refused

    def _shown(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...], tuple[str, ...]]:
        """As `_claims`, each model that is fitted anew as that; one that cannot be is left out, and a sentence why."""
        models, notions, refused = self._claims(scene)
        for model in scene.models.shown:
            if model.title not in models or not self._anew(model):
                continue
            rows = self._fitted_anew(model)
            if (why := scene.refusal(rows)) and len(models) > 1:
                refused = (*refused, f"{model.title}: {why}.")
                models = {title: kept for title, kept in models.items() if title != model.title}
            else:
                models = models | {model.title: rows}
        return models, notions, refused

    def _sweep(self, scene: Scene) -> Call[Any]:
        models, notions, _ = self._shown(scene)
        kind = None if self.kind == swept_kinds()[0] else self.kind
        return call(cc.diagrams.error_sweep, models, notions, self.estimator, kind=kind, intervals=self.intervals)

    def _fitted_anew(self, model: Model) -> Call[Any]:
        every = division(model.source.everywhere)  # its fit serves every slice of the test rows
        return call(cc.calibrators.refitted, every.part("apart"), model.base.predictions, model.recipe)
