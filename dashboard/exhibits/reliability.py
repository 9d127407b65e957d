"""The reliability diagram of all models, and what can be laid over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core._text import error, percent
from calib_core.diagrams import BANDS, KERNEL_CURVE
from calib_core.estimators import KernelECE, draws_curve
from calib_core.registry import Choice, Part
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.isotonic_curve import band_words, isotonic, over
from dashboard.exhibits.kernel_curve import curve_notes
from dashboard.exhibits.stars import STAR, silences, stars
from dashboard.session import Call, Scene, call


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
    kernel: Annotated[KernelECE, Part("ESTIMATORS", draws_curve), "how the kernel curve is smoothed"] = KERNEL_CURVE

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
        return call("figures.reliability", self._diagrams(scene), over=self._over(scene))

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        gaps = (frame["accuracy"] - frame["confidence"]).abs().groupby(frame["model"], sort=False).max()
        furthest = [f"{name}: largest distance of a bin from the diagonal {error(gap)}" for name, gap in gaps.items()]
        words = Words(STAR, f"Reliability diagram, accuracy against confidence. {'; '.join(furthest)}.")
        return words.also(*self._about(scene), *silences(scene))

    @property
    def used(self) -> tuple[str, ...]:
        return ("overlay", *{"corp": ("band",), "kernel": ("band", "kernel")}.get(self.overlay, ()))

    def _diagrams(self, scene: Scene) -> dict[str, Call[Any]]:
        return scene.each(lambda model: stars(scene, model))

    def _over(self, scene: Scene) -> list[Call[Any]]:
        """What is laid over the diagram of the model looked at; bands before curves."""
        if self.overlay == "corp":
            return over(scene, self.band)
        drawn = {"wilson": "wilson_intervals", "consistency": "consistency_bands", "kernel": "kernel_band"}
        return [call(f"figures.{drawn[self.overlay]}", self._diagram(scene))] if self.overlay in drawn else []

    def _diagram(self, scene: Scene) -> Call[Any]:
        """The diagram that is laid over."""
        rows = scene.model.predictions
        if self.overlay == "corp":
            return isotonic(scene.model)
        if self.overlay == "kernel":
            return call(cc.diagrams.kernel_curve, rows, method=self.kernel, band=self.band)
        return call(cc.diagrams.reliability_bands, rows, scene.bins)

    def _about(self, scene: Scene) -> tuple[str, ...]:
        """What the overlay says in numbers."""
        if self.overlay == "none":
            return ()
        title, laid = scene.model.title, scene.get(self._diagram(scene))
        if self.overlay == "kernel":
            return curve_notes(title, laid)
        if self.overlay == "corp":
            return (
                f"{title}: Brier score {error(laid.score)} = miscalibration {error(laid.miscalibration)} "
                f"− discrimination {error(laid.discrimination)} + uncertainty {error(laid.uncertainty)}.",
                band_words(scene, self.band)[0],
            )
        outside = f"{laid.outside} of {len(laid.frame())} stars outside the {percent(laid.level, 0)} consistency band"
        return (f"{title}: {outside}; {percent(1 - laid.level, 0)} are by chance.",)
