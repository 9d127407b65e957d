"""Does a calibrator that abstains keep the rate it was asked for, over repeated splits of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.diagrams import REPEATS
from calib_core.registry.registry import Flag
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Model, Scene, call


@EXHIBITS.register("rates", "Is the rate kept?", reference="P4 Fig. 1 and 2")
@dataclass(frozen=True)
class Rates(Exhibit):
    """Attained against wanted rate of a calibrator that abstains to keep one, over repeated splits of all rows."""

    refit: Annotated[
        bool,
        Flag(),
        "Fit again on many splits",
        f"fit it on {REPEATS} random splits of all rows, for several wanted rates",
    ] = False

    meanings = of.Meanings(
        {
            "wanted": "rate that is asked for",
            "attained": "mean rate over the splits",
            "deviation": "standard deviation over the splits",
            "lower": "attained less two deviations",
            "upper": "attained and two deviations",
            "coverage": "mean share of rows answered",
            "kept": "share of splits that kept the rate",
            "refused": "splits whose calibration rows could not carry the rate",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {_model(scene).title: self._diagram(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("wanted"),
            of.share("attained"),
            of.between("mean ± 2 sd over splits", "lower", "upper"),
            of.share("rows answered", "coverage"),
            of.share("splits that kept it", "kept"),
            of.whole("splits refused", "refused"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.constraint", self._diagram(scene))

    def words(self, scene: Scene) -> Words:
        diagram, title = scene.get(self._diagram(scene)), _model(scene).title
        return Words(
            f"{title}: attained against wanted {diagram.rate}, mean and two standard deviations over {diagram.repeats} "
            "random splits. The splits overlap: for new data the bars would be wider.",
            f"Attained against wanted {diagram.rate} of {title} over {diagram.repeats} splits.",
        )

    def _diagram(self, scene: Scene) -> Call[Any]:
        model = _model(scene)
        if not self.refit:
            raise NotAnswerable(
                f"whether {model.title} keeps its rate takes {REPEATS} fits for every wanted rate: ask for them (refit)"
            )
        return call(cc.diagrams.constraint, model.whole, model.recipe)


def keeping_rates(scene: Scene) -> list[Model]:
    """The models whose calibrator controls a rate."""
    return [model for model in scene.models.shown if scene.get(model.fitted).wanted]


def _model(scene: Scene) -> Model:
    """The model looked at where it keeps a rate, else the first that does."""
    models = keeping_rates(scene)
    if not models:
        raise NotAnswerable("no ticked calibrator abstains to keep a rate")
    return scene.model if scene.model in models else models[0]
