"""The reliability diagram, and the table of its bins with their intervals and bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pandas as pd

import calib_core as cc
from calib_core.diagrams import KERNEL_CURVE
from calib_core.estimators import KernelECE, draws_curve
from calib_core.registry.registry import Choice, Flag, Part
from calib_core.text import percent, points, score
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words, risk_picture
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.fitted_curves import BAND, band_words, curve_notes, isotonic, over
from dashboard.exhibits.slices import bins_counted
from dashboard.exhibits.stars import (
    BINS_OF,
    BINS_OF_WORDS,
    BY_CLASS,
    IN_BINS,
    called,
    event_of,
    grouped,
    grouping,
    how_to_read,
    silences,
    stars,
)
from dashboard.session import Call, Scene, call, in_sentence


@EXHIBITS.register("bins", "Bins, with intervals and bands", reference="Bröcker & Smith 2007; Clopper & Pearson 1934")
@dataclass(frozen=True)
class BandedBins(Exhibit):
    """Bins of the selected model, with intervals of their accuracy and consistency bands of calibrated models."""

    reads = "counts"
    height = 560
    terms = ("bins", "over-confident")
    formula = cc.diagrams.ReliabilityBands.formula

    meanings = of.Meanings(
        {
            "band_low": "5 % quantile of the accuracy of calibrated models in this bin",
            "band_high": "95 % quantile of the same",
            "accuracy_low": "lower end of the exact 90 % interval of the observed share",
            "accuracy_high": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(
            cc.calls.stacked, {scene.model.title: call(cc.diagrams.banded_bins, stars(scene), self._bands(scene))}
        )

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.bin_ends("bin", "lower", "upper"),
            of.whole("rows", "count"),
            of.share("predicted", "confidence"),
            of.share("observed", "accuracy"),
            of.between("interval of observed", "accuracy_low", "accuracy_high"),
            of.between("calibrated models", "band_low", "band_high"),
            of.error("class-wise error", "delta"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        bands: Call[Any] = call("figures.reliability_bands", self._bands(scene))
        return call(
            "figures.reliability",
            {scene.model.title: stars(scene)},
            over=[bands],
            looks=scene.looks,
            event=event_of(scene),
        )

    def words(self, scene: Scene) -> Words:
        title, bands = scene.model.title, scene.get(self._bands(scene))
        level, chance = percent(bands.level, 0), percent(1 - bands.level, 0)
        lie = "lies" if bands.outside == 1 else "lie"
        outside = f"{bands.outside} of {len(bands.frame())} stars {lie} outside their band; {chance} would by chance."
        return Words(
            f"{title}. Calibrated models: {level} consistency band of each bin for a calibrated model with these "
            f"confidences (1,000 resamples). Interval of observed: exact {level} interval of the bin. {outside}",
            f"Reliability diagram of {in_sentence(title)} with consistency bands. {outside}",
            (BY_CLASS,) if _of_classes(scene.get(self.table(scene))) else (),
            key="Gray: the band of calibrated models. Whiskers: the interval of observed.",
        )

    def _bands(self, scene: Scene) -> Call[Any]:
        return call(cc.diagrams.reliability_bands, scene.model.predictions, bins=scene.bins, reduction=scene.claims)


AXES = ("linear", "log-odds")
"""Axis scales of probabilities."""
TOGETHER = ("auto", "overlay", "side by side")
"""Layouts for several models."""
MOST_LAID_OVER = 2
"""Up to this many models are overlaid by default."""


@EXHIBITS.register("reliability", "Reliability diagram", reference="P1 Fig. 1a")
@dataclass(frozen=True)
class Reliability(Exhibit):
    """Accuracy against confidence by bin; with two classes, observed frequency against predicted risk."""

    reads = "counts"
    of_rows: ClassVar[dict[str, tuple[str, ...]]] = {"overlay": ("corp", "kernel")}

    overlay: Annotated[
        str,
        Choice(
            ("none", "intervals", "consistency", "corp", "kernel"),
            titles=(
                "None",
                "Intervals of the accuracy",
                "Consistency bands",
                "Isotonic curve (CORP)",
                "Kernel curve",
            ),
        ),
        "Overlay",
        "for the selected model: intervals or bands for chance, or a curve without bins",
    ] = "none"
    band: Annotated[str, BAND, "Band", "for a curve without bins"] = "pointwise"
    kernel: Annotated[KernelECE, Part("ESTIMATORS", draws_curve), "Smoothing", "how the kernel curve is smoothed"] = (
        KERNEL_CURVE
    )
    together: Annotated[
        str,
        Choice(TOGETHER, titles=("Two overlaid, more side by side", "Overlaid", "Side by side")),
        "Several models",
        "by default, two models are overlaid and more are side by side",
    ] = "auto"
    axis: Annotated[
        str,
        Choice(AXES, titles=("Linear", "Log-odds")),
        "Axes of probability",
        "log-odds spread out values near 0 and 100 %",
    ] = "linear"
    bins_of: Annotated[str, BINS_OF, "Whose bins", BINS_OF_WORDS] = "own"
    stems: Annotated[bool, Flag(), "Stems to the plusses", "average error of the predicted classes in each bin"] = True

    height = 560
    terms = ("star-and-stem", "bins", "over-confident", "tolerance")

    meanings = of.Meanings(
        {
            "risk": "mean predicted risk of the bin's rows",
            "observed": "observed frequency of the event in the bin",
            "band_low": "5 % quantile of the observed frequency of calibrated models in this bin",
            "band_high": "95 % quantile of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, risk_picture.drawn(scene) if self._of_event(scene) else self._diagrams(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        if "risk" in frame:
            return risk_picture.columns()
        return (
            of.text("model"),
            of.bin_ends("bin", "lower", "upper"),
            of.whole("rows", "count"),
            of.share("confidence"),
            of.share("accuracy"),
            *((of.error("class-wise error", "delta"),) if _of_classes(frame) else ()),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        if self._of_event(scene):
            return risk_picture.figure(scene)
        over, options = self._over(scene), dict[str, Any]()
        if self.axis != "linear":
            options["axis"] = self.axis
        if not self.stems:
            options["stems"] = False
        if self.together != "auto":
            options["together"] = self.together
        return call(
            "figures.reliability",
            self._diagrams(scene),
            over={scene.model.title: over} if over else None,
            looks=scene.looks,
            tolerance=scene.tolerance,
            verdicts=self._verdicts(scene),
            **options,
        )

    def words(self, scene: Scene) -> Words:
        if self._of_event(scene):
            return risk_picture.words(scene).also(*silences(scene))
        frame = scene.get(self.table(scene))
        gaps = (frame["accuracy"] - frame["confidence"]).abs().groupby(frame["model"], sort=False).max()
        furthest = [
            f"{name}: largest distance of a bin from the diagonal {points(gap)[1:]}" for name, gap in gaps.items()
        ]
        alt = f"Reliability diagram: accuracy against confidence. {'; '.join(furthest)}."
        models = dict.fromkeys((scene.model, *scene.models.shown))  # the headline begins with the model in focus
        rows = {model.title: model.predictions for model in models}
        claim = call(cc.diagrams.bins_standing_out, rows, bins=scene.bins, notion=scene.claims)
        names = {model.title: called(model) for model in models}
        by_class = _of_classes(frame)
        words = Words(
            f"{IN_BINS} {BY_CLASS}" if by_class else IN_BINS,
            alt,
            headline=cc.diagrams.headline(scene.get(claim), names),
            key=how_to_read(stems=self.stems and by_class),
        ).also(bins_counted(scene))
        if self._grouped:
            alone = "The sentence above uses each model's own bins."
            return words.also(grouped(grouping(scene).title), alone, *self._shown(scene)[1], *silences(scene))
        return words.also(*self._about(scene), *silences(scene))

    @property
    def used(self) -> tuple[str, ...]:
        return (
            "together",
            "axis",
            "stems",
            "bins_of",
            *([] if self._grouped else ["overlay"]),
            *{"corp": ("band",), "kernel": ("band", "kernel")}.get(self.overlay, ()),
        )

    def used_in(self, scene: Scene) -> tuple[str, ...] | None:
        return () if self._of_event(scene) else self.used

    def terms_in(self, scene: Scene) -> tuple[str, ...]:
        if self._of_event(scene):
            return risk_picture.TERMS
        return self.terms if _of_classes(scene.get(self.table(scene))) else self.terms[1:]

    def _of_event(self, scene: Scene) -> bool:
        """True if the diagram is about the predicted risk of an event."""
        return scene.claims == "event"

    @property
    def _grouped(self) -> bool:
        """True if all models use the bins of one model."""
        return self.bins_of != "own"

    def _diagrams(self, scene: Scene) -> dict[str, Call[Any]]:
        return self._shown(scene)[0]

    def _shown(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """Return the diagrams by title, and a sentence for each model that cannot use the bins of another."""
        if not self._grouped:
            return scene.each(lambda model: stars(scene, model)), ()
        rows = grouping(scene).predictions
        return scene.answered(
            scene.each(
                lambda model: call(
                    cc.diagrams.reliability,
                    model.predictions,
                    bins=scene.bins,
                    grouped_by=rows,
                    notion=scene.claims,
                )
            )
        )

    def _verdicts(self, scene: Scene) -> Call[Any] | None:
        """Return the verdicts for panel headings, if each model has a panel."""
        n = len(scene.models.shown)
        if n < 2 or self.together == "overlay" or (self.together == "auto" and n <= MOST_LAID_OVER):
            return None
        wanted: Call[Any] = call(
            cc.inference.verdicts, line_words.primaries(scene), eps=scene.tolerance, ratio=scene.ratio
        )
        return None if scene.refusal(wanted) else wanted

    def _over(self, scene: Scene) -> list[Call[Any]]:
        """Return the overlays for the selected model, bands before curves; none if bins are another model's."""
        if self._grouped:
            return []
        if self.overlay == "corp":
            return over(scene, self.band)
        drawn = {"intervals": "bin_intervals", "consistency": "consistency_bands", "kernel": "kernel_band"}
        return [call(f"figures.{drawn[self.overlay]}", self._diagram(scene))] if self.overlay in drawn else []

    def _diagram(self, scene: Scene) -> Call[Any]:
        """Return the overlaid diagram."""
        rows = scene.model.predictions
        if self.overlay == "corp":
            return isotonic(scene.model)
        if self.overlay == "kernel":
            return call(cc.diagrams.kernel_curve, rows, scene.claims, method=self.kernel, band=self.band)
        return call(cc.diagrams.reliability_bands, rows, scene.bins, scene.claims)

    def _about(self, scene: Scene) -> tuple[str, ...]:
        """Notes with the numbers of the overlay."""
        if self.overlay == "none":
            return ()
        title, laid = scene.model.title, scene.get(self._diagram(scene))
        if self.overlay == "kernel":
            return curve_notes(title, laid)
        if self.overlay == "corp":
            return (
                f"{title}: Brier score {score(laid.score)} = miscalibration {score(laid.miscalibration)} "
                f"− discrimination {score(laid.discrimination)} + uncertainty {score(laid.uncertainty)}.",
                band_words(scene, self.band)[0],
            )
        outside = f"{laid.outside} of {len(laid.frame())} stars outside the {percent(laid.level, 0)} consistency band"
        return (f"{title}: {outside}; {percent(1 - laid.level, 0)} would be by chance.",)


def _of_classes(frame: pd.DataFrame) -> bool:
    """True if predicted classes are known in any bin: only then are there stems."""
    return bool(frame["delta"].notna().any())
