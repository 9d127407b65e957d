"""The reliability curve without bins, smoothed by a kernel, over the stars of one model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core.diagrams import KERNEL_CURVE
from calib_core.estimators import KernelECE, draws_curve
from calib_core.registry.registry import Part, Range
from calib_core.text import short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.isotonic_curve import BAND
from dashboard.exhibits.stars import event_of, stars
from dashboard.session import Call, Scene, call


@dataclass(frozen=True)
class KernelCurveExhibit(Exhibit):
    """A curve smoothed by a kernel, with its band, read off at one score."""

    kernel: Annotated[KernelECE, Part("ESTIMATORS", draws_curve), "Smoothing", "how the curve is smoothed"] = (
        KERNEL_CURVE
    )
    band: Annotated[str, BAND, "Band", "around the curve"] = "pointwise"
    score: Annotated[
        float, Range(0.0, 1.0, step=0.01), "Confidence looked at", "where the local calibration error is read off"
    ] = 0.8

    printed = 0
    meanings = of.Meanings(
        {
            "score": "place on the curve",
            "curve": "share of rows at this score that comes true",
            "density": "how dense scores lie here, per unit of the scale that is smoothed (log-odds by default)",
            "lower": "lower end of the band",
            "upper": "upper end of the band",
        }
    )


@EXHIBITS.register("kernel-curve", "Without bins: kernel reliability curve", reference="P5 Fig. 1")
@dataclass(frozen=True)
class KernelReliability(KernelCurveExhibit):
    """How often the model looked at is right at each confidence, without bins, over its stars."""

    height = 560
    formula = cc.diagrams.KernelCurve.formula

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {scene.model.title: self._curve(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return CURVE_COLUMNS

    def figure(self, scene: Scene) -> Call[Any]:
        curve: Call[Any] = call("figures.kernel_band", self._curve(scene))
        return call(
            "figures.reliability",
            {scene.model.title: stars(scene)},
            over=[curve],
            looks=scene.looks,
            event=event_of(scene),
        )

    def words(self, scene: Scene) -> Words:
        title, curve = scene.model.title, scene.get(self._curve(scene))
        words = Words(
            f"{title}: kernel curve over the stars, {curve.band_title}. Gaps: no data lie there.",
            f"Kernel reliability curve of {title}: {curve.band_title}.",
        )
        return words.also(*curve_notes(title, curve, self.score))

    def _curve(self, scene: Scene) -> Call[Any]:
        return call(
            cc.diagrams.kernel_curve,
            scene.model.predictions,
            reduction=scene.claims,
            method=self.kernel,
            band=self.band,
        )


CURVE_COLUMNS = (
    of.text("model"),
    of.share("score"),
    of.share("share that comes true", "curve"),
    of.between("band", "lower", "upper"),
    of.number("density"),
)
"""How the frame of a kernel curve is written."""


def curve_notes(title: str, curve: Any, score: float | None = None) -> tuple[str, ...]:
    """What has to be known of a kernel curve: its bandwidth, how far off it is, and what its band is of."""
    distance = f"mean distance of the curve from the diagonal {short_percent(curve.error)}"
    width = f"{title}: bandwidth {curve.bandwidth:.2g} ({curve.unit}), {distance}. "
    return f"{width}{_there(curve, score)}{curve.about}".rstrip(), curve.warning


def _there(curve: Any, score: float | None) -> str:
    if score is None:
        return ""
    local = curve.local_error(score)
    if math.isfinite(local):
        return f"Local calibration error at {short_percent(score)}: {short_percent(local)}. "
    return f"At {score:.2f} no data lie: the local calibration error is not defined there. "
