"""On which share of the rows claims are off by how much, before and after recalibration; and of cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS, NotAnswerable
from calib_core.diagrams import ValidityPair
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Model, Scene, call

OWN_BINS = ", own bins"


@EXHIBITS.register("validity", "Share of rows off by at most epsilon", reference="P1 App. F")
@dataclass(frozen=True)
class Validity(Exhibit):
    """The share of rows whose claim is off by at most epsilon, in the notion looked at."""

    reads = "counts"
    printed = 10
    height = 400
    formula = cc.diagrams.ValidityPlot.formula

    meanings = of.Meanings(
        {
            "eps": "how far a claim is off in its bin",
            "share": "share of rows whose claim is off by at most that",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._plots(scene)[0])

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("model"), of.error("off by at most", "eps"), of.share("rows", "share")

    def figure(self, scene: Scene) -> Call[Any]:
        looks = {**scene.looks, **{f"{title}{OWN_BINS}": number for title, number in scene.looks.items()}}
        plots = self._plots(scene)[0]
        return call("figures.validity", plots, looks={title: looks[title] for title in plots if title in looks})

    def words(self, scene: Scene) -> Words:
        title = REDUCTIONS[scene.notion].title.lower()
        return Words(
            f"Validity, {title}: share of rows whose claim is off by at most epsilon. A recalibrated model and the "
            "base model beside it are judged on the same bins where they make the same claims.",
            f"Share of rows whose claim is off by at most epsilon, {title}, a line per model.",
            self._plots(scene)[1],
        )

    def _plots(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """Curves by title: base models, and each recalibrated one with its base on its bins; and what is refused."""
        answered, refused = scene.answered(scene.each(lambda model: self._curve(scene, model)))
        plots: dict[str, Call[Any]] = {}
        for model in scene.models.shown:
            curve = answered.get(model.title)
            if curve is None or model.is_base:
                plots |= {} if curve is None else {model.title: curve}
            elif scene.get(curve).shared:
                plots[model.title] = curve.part("after")
                plots[f"{model.base.title}, bins of {model.title}"] = curve.part("before")
            else:
                plots[f"{model.title}{OWN_BINS}"] = curve.part("after")
        return plots, refused

    def _curve(self, scene: Scene, model: Model) -> Call[Any]:
        notion = scene.notion
        if model.is_base:
            return call(cc.diagrams.validity_of, model.predictions, reduction=notion, bins=scene.bins)
        rows = model.base.predictions, model.predictions
        return call(cc.diagrams.validity_against, *rows, reduction=notion, bins=scene.bins)


@EXHIBITS.register(
    "canonical-validity", "Validity: how far off are how many rows", reference="P1 Appendix G.4 and Fig. 12"
)
@dataclass(frozen=True)
class CanonicalValidity(Exhibit):
    """The model and the model recalibrated cell by cell, on the same cells of every partition chosen."""

    meanings = of.Meanings(
        {
            "partition": "how the triangle is cut into cells",
            "model": "before or after recalibration cell by cell",
            "eps": "L1 distance between what a cell's rows are told on average and what happens",
            "share": "share of test rows whose cell is off by at most that",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._pairs(scene.triangle)[0], "partition")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("partition"),
            of.text("model"),
            of.number("off by at most (L1 distance)", "eps"),
            of.share("share"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        scene = scene.triangle
        plots: dict[str, Call[Any]] = {}
        for partition, pair in self._pairs(scene)[0].items():
            plots[f"{scene.model.title}, {partition}"] = pair.part("before")
            plots[f"Recalibrated, {partition}"] = pair.part("after")
        return call("figures.validity", plots)

    def words(self, scene: Scene) -> Words:
        return Words(
            "Share of test rows whose cell is off by at most epsilon, before and after recalibration cell by cell. "
            "Off by: L1 distance between what a cell's test rows were told on average and what they turned out to be.",
            "Share of test rows whose cell is off by at most epsilon in L1, before and after recalibration.",
        ).also(*self._pairs(scene.triangle)[1])

    def _pairs(self, scene: Scene) -> tuple[dict[str, Call[ValidityPair]], tuple[str, ...]]:
        """Both curves on the cells of each partition, and a sentence for every partition that has none."""
        if not scene.partitions:
            raise NotAnswerable("no partition of the triangle is chosen")
        rows = scene.model.calibration, scene.model.predictions
        chosen = {recipe.title: recipe for recipe in scene.partitions}
        return scene.answered({t: call(cc.diagrams.validity_by_cell, r, *rows) for t, r in chosen.items()})
