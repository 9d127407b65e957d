"""Every estimator of one model in one notion, with what noise alone would show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS
from calib_core.binning import bins_said
from calib_core.defaults import BINS
from calib_core.inference.verdict import SHOWN_AT
from calib_core.registry import Flag
from calib_core.study import SCORES, error_keys
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("estimators", "Estimators")
@dataclass(frozen=True)
class Estimators(Exhibit):
    """Every estimator of the model looked at, in the notion looked at."""

    slow: Annotated[
        bool,
        Flag(),
        "intervals and noise floors of kernel, smooth, convex and sweep estimators too: up to a minute for thousands "
        "of rows",
    ] = False

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        questions = tuple((scene.focus.notion, key) for key in (*error_keys(), *SCORES))
        models = {scene.model.title: scene.model.predictions}
        found = call(cc.inference.estimates, models, questions, bins=scene.bins, slow=self.slow)
        return call(cc.inference.estimate_lines, found, eps=scene.tolerance)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("error", "title"), *line_words.columns(frame)

    def words(self, scene: Scene) -> Words:
        notion = REDUCTIONS[scene.focus.notion]
        rule = f"one a value where outputs are discrete, else {BINS} of equal width"
        chosen = rule if scene.bins is None else bins_said(scene.bins.build())
        caption = (
            f"{notion.title} calibration of {scene.model.title}. {notion.caption} {line_words.READING} Of accuracy: "
            f"what 95 % stay above. Marked lines stand out of the noise (p at most 0.05). Bins: {chosen}; estimators "
            "with a rule of their own keep it."
        )
        return Words(caption).also(*line_words.notes(scene.get(self.table(scene))))

    def bold(self, frame: pd.DataFrame) -> tuple[int, ...]:
        return tuple(i for i, p in enumerate(frame["p"]) if p <= SHOWN_AT)
