"""One model's reliability diagram with how far its stars may lie by chance, and its bins as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core.text import percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.stars import event_of, stars
from dashboard.session import Call, Scene, call


@EXHIBITS.register("bins", "Bins, with intervals and bands", reference="Bröcker & Smith 2007; Wilson 1927")
@dataclass(frozen=True)
class BandedBins(Exhibit):
    """The bins of the model looked at, with intervals of their accuracy and where calibrated models' would lie."""

    reads = "counts"
    height = 560
    terms = ("bins", "over-confident")
    formula = cc.diagrams.ReliabilityBands.formula

    meanings = of.Meanings(
        {
            "band_low": "5 % point of the share right in calibrated models' outcomes in this bin",
            "band_high": "95 % point of the same",
            "accuracy_low": "lower end of Wilson's 90 % interval of the accuracy",
            "accuracy_high": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(
            cc.calls.stacked, {scene.model.title: call(cc.diagrams.banded_bins, stars(scene), self._bands(scene))}
        )

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.between("bin", "lower", "upper"),
            of.whole("rows", "count"),
            of.share("confidence"),
            of.share("accuracy"),
            of.between("interval of the accuracy", "accuracy_low", "accuracy_high"),
            of.between("calibrated models", "band_low", "band_high"),
            of.error("off by, class by class", "delta"),
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
        outside = f"{bands.outside} of {len(bands.frame())} stars lie outside their band; {chance} would by chance."
        return Words(
            f"{title}. Grey: where the stars of a calibrated model with these confidences would lie, at {level} bin by "
            f"bin (consistency band, 1,000 resamples). Whiskers: {level} Wilson interval of each bin's accuracy. "
            f"{outside}",
            f"Reliability diagram of {title} with consistency bands. {outside}",
            ("Off by, class by class: mean distance of the predicted classes' accuracy from their confidence.",),
        )

    def _bands(self, scene: Scene) -> Call[Any]:
        return call(cc.diagrams.reliability_bands, scene.model.predictions, bins=scene.bins, reduction=scene.claims)
