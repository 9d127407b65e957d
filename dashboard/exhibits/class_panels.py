"""Small diagrams of a dozen classes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS
from calib_core.diagrams import KERNEL_CURVE
from calib_core.diagrams.class_list import FEW_ROWS
from calib_core.estimators import KernelECE, draws_curve
from calib_core.registry.registry import Choice, Part
from calib_core.text import count
from dashboard.exhibits import columns as of
from dashboard.exhibits.by_class import Paged
from dashboard.exhibits.exhibit import EXHIBITS, Words
from dashboard.exhibits.stars import BINS_OF, BINS_OF_WORDS, grouped, grouping
from dashboard.session import Call, Model, Scene, call

_DRAWN = {"reliability": "class_panels", "validity": "class_validity", "kernel": "class_curves"}
_CALLED = {
    "reliability": "Reliability class by class",
    "validity": "Share of a class's rows that is off by at most the value on the axis",
    "kernel": "Kernel reliability curves class by class, without bins",
}
_VALUES = {
    "reliability": (
        of.between("bin", "lower", "upper"),
        of.whole("rows", "count"),
        of.share("mean score", "mean_score"),
        of.share("mean outcome", "mean_outcome"),
        of.gap(),
    ),
    "validity": (of.text("plot"), of.error("off by at most", "eps"), of.share("share of rows", "share")),
    "kernel": (of.share("score"), of.share("share that comes true", "curve"), of.number("density")),
}


@EXHIBITS.register("class-panels", "Small diagrams of classes", reference="P1 Fig. 4 and 9")
@dataclass(frozen=True)
class ClassPanelsExhibit(Paged):
    """A small diagram for each of a dozen classes, all models in each."""

    curve: Annotated[
        str,
        Choice(tuple(_DRAWN), titles=("Bins", "Rows off by at most so much", "Curves without bins")),
        "Small diagrams show",
        "what the small diagrams show",
    ] = "reliability"
    kernel: Annotated[KernelECE, Part("ESTIMATORS", draws_curve), "Smoothing", "how kernel curves are smoothed"] = (
        KERNEL_CURVE
    )

    bins_of: Annotated[str, BINS_OF, "Whose bins", BINS_OF_WORDS] = "own"

    printed = 0
    terms = ("bins", "over-confident")

    meanings = of.Meanings(
        {
            "count": "claims in the bin",
            "mean_score": "mean score of the claims",
            "mean_outcome": "share of the claims that comes true",
            "gap": "mean outcome less mean score",
            "weight": "claims in the bin as a share of all rows",
            "eps": "how far the claims of a bin are off",
            "share": "share of the class's rows that is off by at most that",
            "plot": "before or after recalibration",
            "score": "place on the curve",
            "curve": "share that comes true there",
            "density": "how dense scores lie here, per unit of the scale that is smoothed",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._diagrams(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (of.text("model"), of.text("class"), *_VALUES[self.curve])

    def figure(self, scene: Scene) -> Call[Any]:
        return call(f"figures.{_DRAWN[self.curve]}", self._diagrams(scene), looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        which, notion = self.which(scene, self.page), REDUCTIONS[self.notion].title.lower()
        hollow = f" Hollow: fewer than {FEW_ROWS} rows, not joined." if self.curve == "reliability" else ""
        words = Words(
            f"{_CALLED[self.curve]} ({notion}): {which}. In the headings the class's error in {self.first(scene)[0]}."
            f"{hollow}",
            f"Small {self.curve} diagrams of {count(len(scene.get(self.chosen(scene))))} classes.",
        )
        if self._grouped:
            words = words.also(grouped(grouping(scene).title), *self._shown(scene)[1])
        return self.noted(words.also(*self._paired(scene)), scene)

    @property
    def used(self) -> tuple[str, ...]:
        shown = {"bins_of": "reliability", "kernel": "kernel"}
        return tuple(f.name for f in fields(self) if shown.get(f.name, self.curve) == self.curve)

    @property
    def _grouped(self) -> bool:
        """Are all models judged in the bins of one?"""
        return self.curve == "reliability" and self.bins_of != "own"

    def _diagrams(self, scene: Scene) -> dict[str, Call[Any]]:
        return self._shown(scene)[0]

    def _shown(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """The diagrams by title, and a sentence for each model that cannot be judged in the bins of another."""
        able, _ = self.tables(scene)
        wanted = {title: self._of(scene.models.titled(title), scene) for title in able}
        return scene.answered(wanted) if self._grouped else (wanted, ())

    def _of(self, model: Model, scene: Scene) -> Call[Any]:
        arguments = model.predictions, self.chosen(scene), self.notion, scene.bins
        if self.curve == "kernel":
            return call(cc.diagrams.class_curves, *arguments, method=self.kernel)
        if self.curve == "reliability":
            rows = grouping(scene).predictions if self._grouped else None
            return call(cc.diagrams.class_panels, *arguments, grouped_by=rows)
        beside = self._beside(model, scene)
        alone = model.is_base or scene.refusal(beside)
        return call(cc.diagrams.class_validity, *arguments) if alone else beside

    def _beside(self, model: Model, scene: Scene) -> Call[Any]:
        """A recalibrated model with the base model on the same bins of each class."""
        arguments = model.predictions, self.chosen(scene), self.notion, scene.bins
        return call(cc.diagrams.class_validity, *arguments, before=model.base.predictions)

    def _paired(self, scene: Scene) -> tuple[str, ...]:
        """What the dotted lines are, and which models have none."""
        able, _ = self.tables(scene)
        after = [m for m in scene.models.recalibrated if m.title in able]
        if self.curve != "validity" or not after:
            return ()
        alone = {m.title: why for m in after if (why := scene.refusal(self._beside(m, scene)))}
        dotted = "Dotted: the base model on the bins of a recalibrated one."
        return (
            *([dotted] if len(alone) < len(after) else []),
            *(f"{name} alone: {why}." for name, why in alone.items()),
        )
