"""How large errors can be with what bins do not see, under stated assumptions."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

ASSUMED = "Both are assumptions, made before any plot was looked at; nothing here tests them."

ASSUMPTIONS = {"lipschitz": "the gap changes slowly", "monotone": "higher scores are right more often"}
"""What is assumed of errors that bins do not see."""


@EXHIBITS.register("unbinned", "How large can the error be with what the bins do not see?")
@dataclass(frozen=True)
class Unbinned(Exhibit):
    """Bounds on every model's error that need no bins, beside the upper end in bins."""

    meanings = of.Meanings(
        {
            "assumption": "what is assumed of the curve",
            "value": "bound on the error with what bins do not see",
            "binned": "upper end of the error in bins",
            "added": "what the assumption allows within bins",
            "bins": "bins used",
            "level": "probability that the bound holds",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.unbinned_bounds, line_words.primaries(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.titled("notion", cc.REDUCTIONS),
            of.Column("assumption", ("assumption",), ASSUMPTIONS.__getitem__, numeric=False),
            of.error("error at most", "value"),
            of.error("in bins", "binned"),
            of.error("within bins", "added"),
            of.text("bins"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        sentences = zip(frame["model"], frame["sentence"], strict=True)
        return Words(ASSUMED).also(*(f"{model}: {text}" for model, text in sentences))
