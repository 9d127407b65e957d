"""Distribution of the calibration error over rows, before and after recalibration; also for cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS, NotAnswerable
from calib_core.diagrams import ValidityPair
from calib_core.diagrams.validity import CUT, ROOM, drawn_end
from calib_core.text import percent, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Model, Scene, call

OWN_BINS, IN_BINS = ", own bins", ", bins of "


def _cut(scene: Scene, plots: Mapping[str, Call[Any]]) -> str:
    """Sentence on the end of the axis, if errors of a few rows are beyond it; with a space before it."""
    every = [scene.get(plot) for plot in plots.values()]
    end, most = drawn_end(every)
    if not every or most <= ROOM * end:
        return ""
    write = "{:.2g}".format if every[0].distance else short_percent
    return f" The axis ends where every line has {percent(CUT, 0)} of its rows; the largest error is {write(most)}."


@EXHIBITS.register("validity", "Rows in bins with a small error", reference="P1 App. F")
@dataclass(frozen=True)
class Validity(Exhibit):
    """Share of rows in bins with at most this error, in the selected notion."""

    reads = "counts"
    printed = 10
    height = 400
    formula = cc.diagrams.ValidityPlot.formula

    meanings = of.Meanings(
        {
            "eps": "calibration error of the row's bin",
            "share": "share of rows with at most this error",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._plots(scene)[0])

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("model"), of.error("error at most", "eps"), of.share("share of rows", "share")

    def figure(self, scene: Scene) -> Call[Any]:
        looks = {**scene.looks, **{f"{title}{OWN_BINS}": number for title, number in scene.looks.items()}}
        plots = self._plots(scene)[0]
        own = {title: looks[title] for title in plots if title in looks}
        before = {f"{model.base.title}{IN_BINS}{model.title}": model.title for model in scene.models.recalibrated}
        return call(
            "figures.validity", plots, looks=own, before={t: after for t, after in before.items() if t in plots}
        )

    def words(self, scene: Scene) -> Words:
        title, (plots, refused) = REDUCTIONS[scene.notion].title.lower(), self._plots(scene)
        unless = "" if scene.notion == "event" else ", unless a predicted class changes"
        return Words(
            f"For each error on the axis ({title}): the share of rows in bins with at most this error. The "
            "error of a bin is the distance between its mean prediction and its observed frequency. A model and its "
            f"recalibrated version use the same bins{unless}.{_cut(scene, plots)}",
            f"Share of rows in bins with at most the error on the axis, {title}, one line per model.",
            refused,
        )

    def _plots(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """Return the curves by title and the refusals.

        The curves are those of base models, and of each recalibrated model with its base in its bins.
        """
        answered, refused = scene.answered(scene.each(lambda model: self._curve(scene, model)))
        plots: dict[str, Call[Any]] = {}
        for model in scene.models.shown:
            curve = answered.get(model.title)
            if curve is None or model.is_base:
                plots |= {} if curve is None else {model.title: curve}
            elif scene.get(curve).shared:
                plots[model.title] = curve.part("after")
                plots[f"{model.base.title}{IN_BINS}{model.title}"] = curve.part("before")
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
    "canonical-validity", "Validity: share of rows by error of their cell", reference="P1 Appendix G.4 and Fig. 12"
)
@dataclass(frozen=True)
class CanonicalValidity(Exhibit):
    """The model before and after recalibration by cell, on the same cells of every selected partition."""

    meanings = of.Meanings(
        {
            "partition": "how the triangle is cut into cells",
            "model": "before or after recalibration by cell",
            "eps": "L1 distance between a cell's mean prediction and its observed frequencies",
            "share": "share of test rows whose cell has at most this error",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._pairs(scene.triangle)[0], "partition")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("partition"),
            of.text("model"),
            of.number("error at most (L1 distance)", "eps"),
            of.share("share"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.validity", self._plots(scene.triangle))

    def _plots(self, scene: Scene) -> dict[str, Call[Any]]:
        """Return both curves of each partition by title."""
        plots: dict[str, Call[Any]] = {}
        for partition, pair in self._pairs(scene)[0].items():
            plots[f"{scene.model.title}, {partition}"] = pair.part("before")
            plots[f"Recalibrated, {partition}"] = pair.part("after")
        return plots

    def words(self, scene: Scene) -> Words:
        return Words(
            "For each error on the axis: the share of test rows in cells with at most this error, before and after "
            "recalibration by cell. Error: L1 distance between the mean prediction of a cell's test rows and their "
            f"observed class frequencies.{_cut(scene, self._plots(scene.triangle))}",
            "Share of test rows in cells with at most the L1 error on the axis, before and after recalibration.",
        ).also(*self._pairs(scene.triangle)[1])

    def _pairs(self, scene: Scene) -> tuple[dict[str, Call[ValidityPair]], tuple[str, ...]]:
        """Return both curves on the cells of each partition, and a sentence for every partition without them."""
        if not scene.partitions:
            raise NotAnswerable("no partition of the triangle is selected")
        rows = scene.model.calibration, scene.model.predictions
        chosen = {recipe.title: recipe for recipe in scene.partitions}
        return scene.answered({t: call(cc.diagrams.validity_by_cell, r, *rows) for t, r in chosen.items()})
