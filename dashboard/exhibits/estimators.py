"""Every estimator of one model in one notion, with what noise alone would show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS, NotAnswerable
from calib_core.binning import bins_said
from calib_core.defaults import BINS, SIGNIFICANCE
from calib_core.evaluation.study import error_keys
from calib_core.registry.registry import Flag
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("estimators", "Estimators")
@dataclass(frozen=True)
class Estimators(Exhibit):
    """Every estimator of the model looked at, in the notion looked at."""

    reads = "counts"

    slow: Annotated[
        bool,
        Flag(),
        "Slow estimators too",
        "intervals and noise floors of kernel, smooth, convex and sweep estimators too: up to a minute for thousands "
        "of rows",
    ] = False

    height = 620
    terms = ("calibration-error", "noise-floor", "tolerance", "interval", "bins")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        questions = tuple((scene.notion, key) for key in error_keys(scene.notion))
        models = {scene.model.title: scene.model.predictions}
        found = call(cc.inference.estimates, models, questions, bins=scene.bins, slow=self.slow)
        return call(cc.inference.estimate_lines, found, eps=scene.tolerance)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("error", "title"), *line_words.columns(frame)

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.forest", self.forest(scene), looks=scene.looks)

    def forest(self, scene: Scene) -> Call[Any]:
        """The diagram, whose headline says what the verdicts say."""
        return call(cc.diagrams.forest, self.table(scene), declared=_deciding(scene), eps=scene.tolerance)

    def words(self, scene: Scene) -> Words:
        notion, drawn = REDUCTIONS[scene.notion], scene.get(self.forest(scene))
        rule = f"one a value where outputs are discrete, else {BINS} of equal width"
        chosen = rule if scene.bins is None else bins_said(scene.bins.build())
        caption = (
            f"{notion.title} calibration of {scene.model.title}, a line an estimator. Tick: as measured, noise "
            "included; 95 % of calibrated models have theirs in the grey bar. Hollow point: no interval. Arrow: off "
            "the scale. Squared errors are shown as roots."
        )
        more = (
            f"{notion.caption} {line_words.READING} In the table squared errors are squares, and marked lines stand "
            f"out of the noise (p at most 0.05). Bins of the values as measured: {chosen}; estimators "
            "with a rule of their own keep it."
        )
        if not drawn.declared:
            caption += f" Nothing here decides: {_rests_on(scene)}."
        verdict, stop, rest = drawn.headline.partition("). ")
        words = Words(caption, drawn.headline, headline=tuple(filter(None, (verdict + stop.rstrip(), rest))))
        return words.also(more, line_words.WORDS, *line_words.notes(scene.get(self.table(scene))))

    def bold(self, frame: pd.DataFrame) -> tuple[int, ...]:
        return tuple(i for i, p in enumerate(frame["p"]) if p <= SIGNIFICANCE)


def _deciding(scene: Scene) -> str:
    """The notion that verdicts rest on; empty where there is none."""
    try:
        return line_words.primary_notion(scene)
    except NotAnswerable:
        return ""


def _rests_on(scene: Scene) -> str:
    decides = _deciding(scene)
    if not decides:
        return "no verdict could be made"
    return f"the verdict rests on {REDUCTIONS[decides].title.lower()} calibration, chosen before any number was seen"
