"""Smooth and stepped curves of accuracy or risk next to the bins: isotonic, kernel, and their gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.defaults import LEVEL
from calib_core.diagrams import BANDS, KERNEL_CURVE
from calib_core.estimators import KernelECE, draws_curve
from calib_core.registry.registry import Choice, Part, Range
from calib_core.text import at_level, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.stars import claimed, event_of, stars
from dashboard.session import Call, Model, Scene, call, in_sentence

BAND = Choice(tuple(BANDS), titles=("Pointwise", "Simultaneous (whole curve)", "No band"))
"""Kinds of bands around a curve without bins."""


ENOUGH = "The curve is drawn where the rows near a score count as at least 20."
"""Caption of every curve without bins."""


@EXHIBITS.register("corp", "Without bins: isotonic (CORP) reliability curve", reference="Dimitriadis et al. 2021")
@dataclass(frozen=True)
class IsotonicCurve(Exhibit):
    """The best non-decreasing curve from predictions to outcomes, and the parts of every model's Brier score."""

    band: Annotated[str, BAND, "Band", "around the curve"] = "pointwise"

    height = 560
    formula = cc.diagrams.CorpCurve.formula

    meanings = of.Meanings(
        {
            "brier": "mean squared distance of predictions from outcomes",
            "miscalibration": "Brier score minus that of the best non-decreasing curve",
            "discrimination": "uncertainty minus the Brier score of that curve",
            "uncertainty": "observed frequency times (1 minus observed frequency)",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.diagrams.brier_parts, scene.each(lambda model: isotonic(model, scene.claims)))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        parts = ("miscalibration", "discrimination", "uncertainty")
        return (of.text("model"), of.number("Brier score", "brier"), *map(of.number, parts))

    def figure(self, scene: Scene) -> Call[Any]:
        drawn = over(scene, self.band)
        return call(
            "figures.reliability",
            {scene.model.title: stars(scene)},
            over=drawn,
            looks=scene.looks,
            event=event_of(scene),
        )

    def words(self, scene: Scene) -> Words:
        title, (about, band) = scene.model.title, band_words(scene, self.band)
        return Words(
            f"{title}: of all curves that never fall, the one that fits the outcomes best (isotonic regression), drawn "
            f"over the stars. {ENOUGH} "
            f"{band}".rstrip(),
            f"Isotonic reliability curve of {in_sentence(title)} over its stars.",
        ).also(
            about,
            f"Brier score of the {'predicted risk' if scene.claims == 'event' else 'confidence'} = miscalibration − "
            "discrimination + uncertainty. The fit follows noise: with few rows, a calibrated model also has a "
            "miscalibration above 0.",
        )


def isotonic(model: Model, notion: str = "confidence") -> Call[Any]:
    """Return the isotonic curve of a model's confidence or of its predicted risk of the event."""
    return call(cc.diagrams.corp, claimed(model, notion), "confidence")


def over(scene: Scene, band: str) -> list[Call[Any]]:
    """Return the figures of the selected model's curve and, below it, of its band if there is one."""
    around = _band(scene, band)
    banded = band != "none" and not scene.refusal(around)
    curve: Call[Any] = call("figures.corp", isotonic(scene.model, scene.claims))
    return [*([call("figures.corp_band", around)] if banded else []), curve]


def band_words(scene: Scene, band: str) -> tuple[str, str]:
    """Return what the band covers (or why there is none) and its caption."""
    around = _band(scene, band)
    if band == "none":
        return "", ""
    if why := scene.refusal(around):
        return f"No band: {why}.", ""
    return scene.get(around).about, f"Gray: {scene.get(around).band_title}."


def _band(scene: Scene, band: str) -> Call[Any]:
    return call(cc.diagrams.corp_band, claimed(scene.model, scene.claims), "confidence", band=band)


@dataclass(frozen=True)
class KernelCurveExhibit(Exhibit):
    """A kernel-smoothed curve with its band, evaluated at one score."""

    kernel: Annotated[KernelECE, Part("ESTIMATORS", draws_curve), "Smoothing", "how the curve is smoothed"] = (
        KERNEL_CURVE
    )
    band: Annotated[str, BAND, "Band", "around the curve"] = "pointwise"
    score: Annotated[
        float, Range(0.0, 1.0, step=0.01), "Local error at", "where the local calibration error is evaluated"
    ] = 0.8

    printed = 0
    meanings = of.Meanings(
        {
            "score": "place on the curve",
            "curve": "observed frequency at this score",
            "density": "density of scores here, per unit of the smoothing scale (log-odds by default)",
            "lower": "lower end of the band",
            "upper": "upper end of the band",
        }
    )


@EXHIBITS.register("kernel-curve", "Without bins: kernel reliability curve", reference="P5 Fig. 1")
@dataclass(frozen=True)
class KernelReliability(KernelCurveExhibit):
    """Accuracy of the selected model at each confidence, without bins, with the stars of its bins."""

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
            f"{title}: kernel curve over the stars, {curve.band_title}. {ENOUGH}",
            f"Kernel reliability curve of {in_sentence(title)}: {curve.band_title}.",
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
    of.share("observed frequency", "curve"),
    of.between("band", "lower", "upper"),
    of.number("density"),
)
"""Printed columns of a kernel curve."""


def curve_notes(title: str, curve: Any, score: float | None = None) -> tuple[str, ...]:
    """Notes on a kernel curve: its bandwidth, its distance from the diagonal and its band."""
    distance = f"mean distance of the curve from the diagonal {short_percent(curve.error)}"
    width = f"{title}. Bandwidth {curve.bandwidth:.2g} ({curve.unit}), {distance}. "
    return f"{width}{_there(curve, score)}{curve.about}".rstrip(), curve.warning


def _there(curve: Any, score: float | None) -> str:
    if score is None:
        return ""
    local = curve.local_error(score)
    if math.isfinite(local):
        return f"The local calibration error at {short_percent(score)} is {short_percent(local)}. "
    return f"There are too few rows near {score:.2f}: the local calibration error is not shown there. "


CURVE = ("ici", "e50", "e90")
"""Distances of the smooth curve from the diagonal."""
LARGE = ("ratio", "intercept", "slope", "auroc")
"""Measures over all rows."""


@EXHIBITS.register("curve-gaps", "Gap from the smooth curve", reference="Austin & Steyerberg 2019")
@dataclass(frozen=True)
class CurveGaps(Exhibit):
    """Distance of observed frequencies from predicted risks of the model in focus, and calibration in the large."""

    static = True
    terms = ("smooth-gap", "noise-floor")

    meanings = of.Meanings(
        {
            "measure": "short name of the measure",
            "value": "the measure",
            "floor": "95 % quantile of calibrated models",
            "reference": "value for a calibrated model",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if scene.claims != "event":
            raise NotAnswerable("a smooth curve of the risk needs an event of two classes; these rows have none")
        return call(cc.risk.summary, scene.among_all(scene.model), bins=scene.bins, stem="measures")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("measure", "title"),
            of.number("value"),
            of.number_between(f"{at_level(LEVEL)} interval", "low", "high", ("reference",)),
            of.number("noise floor", "floor"),
            of.number("calibrated model", "reference"),
            of.text("note"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            f"{scene.model.title}. Distance of the smooth curve from the diagonal over the rows: mean (ICI), median "
            "(E50) and 90 % quantile (E90), corrected for noise. Noise floor: 95 % of calibrated models have a smaller "
            "uncorrected distance."
        ).also(scene.rows_counted)
