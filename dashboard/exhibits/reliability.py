"""The reliability diagram of all models, and what can be laid over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core._text import error, percent
from calib_core.diagrams import BANDS, KERNEL_CURVE
from calib_core.estimators import KernelECE, of_curve
from calib_core.registry import Choice, Part
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Model, Scene, call


@EXHIBITS.register("reliability", "Reliability diagram", reference="P1 Fig. 1a")
@dataclass(frozen=True)
class Reliability(Exhibit):
    """Accuracy against confidence, bin by bin, with what the classes' errors add up to."""

    overlay: Annotated[
        str,
        Choice(("none", "wilson", "consistency", "corp", "kernel")),
        "for the model looked at: how far its stars may lie by chance, or a curve without bins",
    ] = "none"
    band: Annotated[str, Choice(tuple(BANDS)), "around a curve without bins"] = "pointwise"
    kernel: Annotated[KernelECE, Part("ESTIMATORS", of_curve), "how the kernel curve is smoothed"] = KERNEL_CURVE

    height = 560

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.stacked, self._diagrams(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.between("bin", "lower", "upper"),
            of.whole("rows", "count"),
            of.number("confidence"),
            of.number("accuracy"),
            of.number("off by, class by class", "delta"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        laid: list[Call[Any]] = [call(f"figures.{drawn}", diagram) for drawn, diagram in self._laid(scene)]
        return call("figures.reliability", self._diagrams(scene), over=laid)

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        gaps = (frame["accuracy"] - frame["confidence"]).abs().groupby(frame["model"], sort=False).max()
        furthest = [f"{name}: largest distance of a bin from the diagonal {error(gap)}" for name, gap in gaps.items()]
        words = Words(
            "Star: accuracy of the rows of a bin against their mean confidence; on the diagonal the claims hold. "
            "Plus: the same class by class, as far from the diagonal as the predicted classes are off on average, so "
            "that errors of classes do not cancel. Bars: share of rows. Hollow stars: fewer than 10 rows.",
            f"Reliability diagram, accuracy against confidence. {'; '.join(furthest)}.",
        )
        return words.also(*self._about(scene), *(_answered(scene, model) for model in scene.abstaining))

    def _diagrams(self, scene: Scene) -> dict[str, Call[Any]]:
        return scene.each(lambda model: call(cc.diagrams.reliability, model.predictions, bins=scene.bins))

    def _laid(self, scene: Scene) -> list[tuple[str, Call[Any]]]:
        """Names of figures, each with the diagram it draws, over the model looked at; bands before curves."""
        rows = scene.model.predictions
        if self.overlay == "kernel":
            return [("kernel_band", call(cc.diagrams.kernel_curve, rows, method=self.kernel, band=self.band))]
        if self.overlay == "corp":
            band = call(cc.diagrams.corp_band, rows, band=self.band)
            banded = self.band != "none" and not scene.refusal(band)
            return [*([("corp_band", band)] if banded else []), ("corp", call(cc.diagrams.corp, rows))]
        bands = call(cc.diagrams.reliability_bands, rows, scene.bins)
        return {"wilson": [("wilson_intervals", bands)], "consistency": [("consistency_bands", bands)]}.get(
            self.overlay, []
        )

    def _about(self, scene: Scene) -> tuple[str, ...]:
        """What the overlay says in numbers."""
        drawn = {name: scene.get(diagram) for name, diagram in self._laid(scene)}
        title = scene.model.title
        if self.overlay in ("wilson", "consistency"):
            (bands,) = drawn.values()
            stars = f"{bands.outside} of {len(bands.frame())} stars"
            chance = f"{percent(1 - bands.level, 0)} are by chance"
            return (f"{title}: {stars} outside the {percent(bands.level, 0)} consistency band; {chance}.",)
        if self.overlay == "corp":
            curve, band = drawn["corp"], drawn.get("corp_band")
            why = scene.refusal(call(cc.diagrams.corp_band, scene.model.predictions, band=self.band))
            return (
                f"{title}: Brier score {error(curve.score)} = miscalibration {error(curve.miscalibration)} "
                f"− discrimination {error(curve.discrimination)} + uncertainty {error(curve.uncertainty)}.",
                band.about if band else f"No band: {why}." if why and self.band != "none" else "",
            )
        if self.overlay == "kernel":
            return kernel_notes(title, drawn["kernel_band"])
        return ()


def kernel_notes(title: str, curve: Any) -> tuple[str, ...]:
    """What has to be known of a kernel curve: bandwidth, distance from the diagonal, and what its band is of."""
    distance = f"mean distance of the curve from the diagonal {error(curve.error)}"
    return f"{title}: bandwidth {curve.bandwidth:.2g} ({curve.unit}), {distance}. {curve.about}", curve.warning


def _answered(scene: Scene, model: Model) -> str:
    """What share of the rows a model that abstains still answers."""
    rows = scene.get(model.predictions)
    silent = 0 if rows.abstained is None else int(rows.abstained.sum())
    return (
        f"{model.title} abstains on {percent(1 - rows.coverage)} of the test rows ({silent:,}): marks are of the rest."
    )
