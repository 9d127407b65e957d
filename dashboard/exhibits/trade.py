"""Calibration against sharpness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS
from calib_core.defaults import LEVEL
from calib_core.registry.registry import Choice, Flag
from calib_core.text import count, percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

SPLITS = 5
"""Splits over which calibrators that bin are compared."""


@EXHIBITS.register("trade", "Mean squared error against calibration error", reference="P2 Fig. 3")
@dataclass(frozen=True)
class Trade(Exhibit):
    """Mean squared error against squared calibration error, a point per model."""

    curves: Annotated[
        bool,
        Flag(),
        "Curves over numbers of bins",
        "curves over numbers of bins: calibrators that bin, fitted on half the rows and judged on the rest, "
        "several times",
    ] = False
    against: Annotated[
        str,
        Choice(
            ("error", "upper", "plug_in"), titles=("Calibration error", "Upper end of its interval", "Plug-in bound")
        ),
        "Against",
        "the calibration error as estimated, the upper end of its interval, or the bound that the error without any "
        "correction for noise gives",
    ] = "error"
    printed = 10
    height = 400
    formula = cc.diagrams.TradePoints.formula

    meanings = of.Meanings(
        {
            "points": "a model, or a mean over splits",
            "error": "squared calibration error, debiased",
            "mse": "mean squared error of the claims",
            "upper": "upper end of the 90 % interval of the squared error",
            "plug_in": "squared error without correction, and its spread",
            "bins": "bins of the calibrator",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        points, curves = self._points(scene), self._curves(scene)
        return call(cc.calls.stacked, {"model": points} | ({"over bins": curves} if curves else {}), column="points")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        more = (of.text("calibrator"), of.whole("bins")) if "bins" in frame else ()
        return (
            of.text("model"),
            *more,
            of.number("squared calibration error", "error"),
            *([of.number(f"upper end, {line_words.AT_LEVEL}", "upper")] if "upper" in frame else []),
            *([of.number("plug-in bound", "plug_in")] if "plug_in" in frame else []),
            of.number("mean squared error", "mse"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        claims = REDUCTIONS[line_words.primary_notion(scene)].title.lower()
        points, curves = self._points(scene), self._curves(scene)
        options = {} if self.against == "error" else {"against": self.against}
        return call("figures.trade_off", curves=curves, points=points, claims=claims, looks=scene.looks, **options)

    def words(self, scene: Scene) -> Words:
        words = Words(
            "Mean squared error against squared calibration error (debiased), a point per model: further left is "
            "better calibrated, further down is better all in all.",
            "Mean squared error against calibration error, a point per model.",
        )
        if self.against == "upper":
            words = words.also(
                f"Upper end of the error's {line_words.AT_LEVEL}: where coverage is tested the true error is above it "
                f"in at most {percent(1 - LEVEL, 0)} of cases, each model looked at alone."
            )
        if self.against == "plug_in":
            words = words.also(
                "Plug-in bound: the squared error with nothing taken off for noise, and what its spread over "
                f"{cc.diagrams.trade.RESAMPLES} resamples adds. Every further bin adds noise to it: beside the upper "
                "end of the interval it makes many bins look worse than they are."
            )
        points = scene.get(self._points(scene))
        missing = (f"{model}: {note}." for model, note in zip(points.models, points.notes, strict=True) if note)
        wanted = self._wanted(scene)
        why = scene.refusal(wanted) if self.curves else ""
        if not self.curves or why:
            return words.also(*missing, why and f"No curves over numbers of bins: {why}.")
        curves = scene.get(wanted)
        return words.also(
            *missing,
            f"Curves: {count(curves.fit_rows)} of {scene.models.shown[0].base.title}'s rows fit a map, the others "
            f"judge it; means of {curves.repeats} splits, larger marks for more bins.",
        )

    def _points(self, scene: Scene) -> Call[Any]:
        notion = line_words.primary_notion(scene)
        return call(
            cc.diagrams.trade_points,
            scene.predictions(),
            reduction=notion,
            bins=scene.bins,
            upper=self.against != "error",
        )

    def _wanted(self, scene: Scene) -> Call[Any]:
        rows, notion = scene.models.shown[0].base.predictions, line_words.primary_notion(scene)
        return call(cc.diagrams.trade_off, rows, reduction=notion, repeats=SPLITS, upper=self.against != "error")

    def _curves(self, scene: Scene) -> Call[Any] | None:
        wanted = self._wanted(scene)
        return wanted if self.curves and not scene.refusal(wanted) else None
