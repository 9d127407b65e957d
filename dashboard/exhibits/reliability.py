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
from dashboard.exhibits.fitted_curves import BAND, ENOUGH, band_words, curve_notes, isotonic, over
from dashboard.exhibits.slices import bins_counted
from dashboard.exhibits.stars import (
    BINS_OF,
    BINS_OF_WORDS,
    BY_CLASS,
    IN_BINS,
    called,
    differences,
    event_of,
    grouped,
    grouping,
    how_to_read,
    silences,
    stars,
)
from dashboard.session import Call, Scene, call, in_sentence

OF_CLASSES = (
    of.error("error by predicted class", "delta"),
    of.error("difference of classes", "class_difference"),
    of.error("at most by noise", "class_edge"),
    of.probability("p of no difference", "class_p"),
)
"""Printed columns on the predicted classes of each bin."""


@EXHIBITS.register("bins", "Bins, with intervals and bands", reference="Bröcker & Smith 2007; Clopper & Pearson 1934")
@dataclass(frozen=True)
class BandedBins(Exhibit):
    """Bins of the selected model, with intervals of their accuracy and consistency bands of calibrated models."""

    reads = "counts"
    height = 560
    terms = ("bins", "overconfident")
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
            *OF_CLASSES,
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call(
            "figures.reliability",
            {scene.model.title: stars(scene)},
            bands=self._bands(scene),
            looks=scene.looks,
            event=event_of(scene),
        )

    def words(self, scene: Scene) -> Words:
        title, bands = scene.model.title, scene.get(self._bands(scene))
        level, chance = percent(bands.level, 0), percent(1 - bands.level, 0)
        lie = "is" if bands.outside == 1 else "are"
        outside = (
            f"{bands.outside} of {len(bands.frame())} stars {lie} outside the band of calibrated models; "
            f"of a calibrated model, about {chance} would be."
        )
        return Words(
            f"{title}. Calibrated models: for each bin, the range of {level} of calibrated models with these "
            f"confidences (1,000 resamples). Interval of observed: exact {level} interval of the bin. {outside}",
            f"Reliability diagram of {in_sentence(title)} with consistency bands. {outside}",
            (BY_CLASS,) if _of_classes(scene.get(self.table(scene))) else (),
            key="Gray: the band of calibrated models. Whiskers: the interval of the accuracy.",
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
            ("none", "corp", "kernel"),
            titles=("None", "Isotonic curve (CORP)", "Kernel curve"),
        ),
        "Curve without bins",
        "a curve of the selected model over its stars",
    ] = "none"
    band: Annotated[
        str, BAND, "Band", "band around the curve without bins: valid at each point, or for the whole curve"
    ] = "pointwise"
    kernel: Annotated[
        KernelECE,
        Part("ESTIMATORS", draws_curve),
        "Smoothing",
        "weights of neighboring rows in the kernel curve: wider is smoother",
    ] = KERNEL_CURVE
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
    plusses: Annotated[
        str,
        Choice(
            ("all", "significant", "printed", "none"),
            titles=("All, pale within noise", "Only where classes differ", "As Gupta and Ramdas print them", "None"),
        ),
        "Plusses of classes",
        "errors of the predicted classes in each bin",
    ] = "all"
    chance: Annotated[
        bool, Flag(), "Intervals and band", "interval of each star, and where stars of calibrated models are"
    ] = True

    height = 560
    terms = ("star-and-stem", "bins", "overconfident", "tolerance")

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
            *(OF_CLASSES if _of_classes(frame) else ()),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        if self._of_event(scene):
            return risk_picture.figure(scene)
        over, options = self._over(scene), dict[str, Any]()
        if self.axis != "linear":
            options["axis"] = self.axis
        if self.plusses != "all":
            options["plusses"] = self.plusses
        if self.together != "auto":
            options["together"] = self.together
        return call(
            "figures.reliability",
            self._diagrams(scene),
            over={scene.model.title: over} if over else None,
            looks=scene.looks,
            bands=self._bands(scene) or None,
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
            IN_BINS,
            alt,
            headline=cc.diagrams.headline(scene.get(claim), names),
            key=how_to_read(self.plusses if by_class else "none", bool(self._bands(scene))),
        ).also(*((BY_CLASS,) if by_class else ()), bins_counted(scene))
        if self._grouped:
            alone = "The sentence above uses each model's own bins."
            return words.also(grouped(grouping(scene).title), alone, *self._shown(scene)[1], *silences(scene))
        return words.also(*self._about(scene), *silences(scene))

    @property
    def used(self) -> tuple[str, ...]:
        return (
            "together",
            "axis",
            "plusses",
            "bins_of",
            *([] if self._grouped else ["chance", "overlay"]),
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
        return [call("figures.kernel_band", self._curve(scene))] if self.overlay == "kernel" else []

    def _curve(self, scene: Scene) -> Call[Any]:
        """Return the overlaid curve."""
        if self.overlay == "corp":
            return isotonic(scene.model)
        rows = scene.model.predictions
        return call(cc.diagrams.kernel_curve, rows, scene.claims, method=self.kernel, band=self.band)

    def _bands(self, scene: Scene) -> dict[str, Call[Any]]:
        """Return intervals and bands by title, the selected model first; none if bins are another model's."""
        if self._grouped or not self.chance:
            return {}
        models = dict.fromkeys((scene.model, *scene.models.shown))
        found = {
            model.title: call(cc.diagrams.reliability_bands, model.predictions, scene.bins, scene.claims)
            for model in models
        }
        return {title: bands for title, bands in found.items() if not scene.refusal(bands)}

    def _about(self, scene: Scene) -> tuple[str, ...]:
        """Notes with the numbers of the bands, and of the curve without bins."""
        return (*self._outside(scene), *self._of_curve(scene), *self._of_classes(scene))

    def _outside(self, scene: Scene) -> tuple[str, ...]:
        """Note on the number of stars outside the band."""
        title, wanted = scene.model.title, self._bands(scene).get(scene.model.title)
        if wanted is None:
            return ()
        bands = scene.get(wanted)
        bins = f"{bands.outside} of {len(bands.frame())} bins {'is' if bands.outside == 1 else 'are'}"
        outside = f"{bins} outside the {percent(bands.level, 0)} band of calibrated models"
        return (f"{title}: {outside}; of a calibrated model, about {percent(1 - bands.level, 0)} would be.",)

    def _of_curve(self, scene: Scene) -> tuple[str, ...]:
        """Notes with the numbers of the curve."""
        if self.overlay == "none":
            return ()
        title, curve = scene.model.title, scene.get(self._curve(scene))
        if self.overlay == "kernel":
            return curve_notes(title, curve)
        return (
            f"{title}: Brier score {score(curve.score)} = miscalibration {score(curve.miscalibration)} "
            f"− discrimination {score(curve.discrimination)} + uncertainty {score(curve.uncertainty)}.",
            " ".join(filter(None, (ENOUGH, band_words(scene, self.band)[0]))),
        )

    def _of_classes(self, scene: Scene) -> tuple[str, ...]:
        """Note on the bins of the selected model whose classes differ significantly."""
        words = differences(scene.get(stars(scene)))
        return (f"{scene.model.title}: {words}",) if words and not self._grouped else ()


def _of_classes(frame: pd.DataFrame) -> bool:
    """True if predicted classes are known in any bin: only then are there stems."""
    return bool(frame["delta"].notna().any())
