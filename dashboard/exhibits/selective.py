"""How often each model is wrong where it answers only what it is surest of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core.diagrams import RiskCoverage
from calib_core.inference.comparison.skills import COVERAGE
from calib_core.registry.registry import Range
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL, methods_of
from dashboard.session import Call, Scene, call

SHARE = Range(0.05, 1.0, 0.05)
"""Shares of rows that can be chosen to be answered."""


@EXHIBITS.register("selective", "Answering only where it is sure", reference="Geifman & El-Yaniv 2017")
@dataclass(frozen=True)
class Selective(Exhibit):
    """How often each model is wrong among the rows it is surest of, for every share of rows that is answered."""

    coverage: Annotated[float, SHARE, "Share of rows answered", "the surest rows, ties together"] = COVERAGE

    printed = 10
    height = 420
    formula = RiskCoverage.formula

    meanings = of.Meanings(
        {
            "threshold": "rows of this confidence or more are answered",
            "coverage": "share of all rows that is answered",
            "rows": "number of rows that are answered",
            "risk": "share of the answered rows that is wrong",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._curves(scene)[0])

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("confidence or more", "threshold"),
            of.share("of all rows", "coverage"),
            of.whole("rows"),
            of.share("wrong", "risk"),
            of.between(AT_LEVEL, "low", "high"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.selective", self._curves(scene)[0], coverage=self.coverage, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        curves, refused = self._curves(scene)
        found = tuple(f"{name}: {scene.get(each).headline(self.coverage)}." for name, each in curves.items())
        return Words(
            "From left to right more rows are answered, the surest first. A faint line is the share of all rows that "
            "is wrong: a curve that stays on it would say that confidence tells nothing.",
            f"Share wrong against share answered, a curve per model. {' '.join(found)}",
            headline=found,
        ).also(
            "Rows of one confidence are answered together, so that a little more than the share chosen can be. Each "
            f"interval stands alone ({methods_of(scene, curves.values())}); a point picked for its risk is one of many "
            "looked at.",
            *refused,
        )

    def _curves(self, scene: Scene) -> tuple[dict[str, Call[RiskCoverage]], tuple[str, ...]]:
        return scene.answered(scene.each(lambda model: call(cc.diagrams.selective, model.predictions)))
