"""What every ticked calibrator gains and costs: the numbers on its card."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.defaults import LEVEL
from calib_core.text import at_level, between, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("gains", "What each calibrator gains and costs")
@dataclass(frozen=True)
class Gains(Exhibit):
    """Error with its interval, log loss, predictions changed, guarantee and parameters of every ticked calibrator."""

    terms = ("interval", "tolerance", "log-loss")

    meanings = of.Meanings(
        {
            "point": "estimate of the error after",
            "point_before": "estimate of the error before",
            "low": "lower end of the 90 % interval of the error after",
            "high": "upper end of the same",
            "log_loss": "log loss after, of the rows answered",
            "log_loss_before": "log loss before, of the same rows",
            "rows": "test rows",
            "changed": "rows whose predicted class is another one",
            "abstained": "rows that are not answered",
            "promised": "whether something is guaranteed whatever the data",
            "promise": "what, or why nothing",
            "set_aside": "what must be known of the fit",
            "fitted": "fitted numbers in a few words",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        models = scene.models.recalibrated
        if not models:
            raise NotAnswerable("tick a calibrator: what it gains and costs appears here")
        return call(
            cc.evaluation.model_tables.gains,
            line_words.primaries(scene),
            *scene.recalibrations,
            eps=scene.tolerance,
            bases={model.title: base_title(scene, model.title) for model in models},
        )

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.text("error", "title"),
            of.Column("estimate", ("point",), known_percent),
            of.Column(f"{at_level(LEVEL)} interval", ("low", "high"), known_between),
            of.Column("estimate before", ("point_before",), known_percent),
            of.text("verdict"),
            of.number("log loss", "log_loss"),
            of.number("log loss before", "log_loss_before"),
            of.whole("predictions changed", "changed"),
            of.whole("rows it abstains on", "abstained"),
            of.flag("guarantee", "promised"),
            of.text("fitted"),
        )

    def words(self, scene: Scene) -> Words:
        rows = scene.get(scene.models.shown[0].predictions).n_rows
        return Words(
            f"Judged on {scene.unseen(rows)}. The estimate is what its interval is about. Log loss: over the rows each "
            "calibrator answers, of being right or wrong where the file says no more; empty where a calibrator of "
            "whole rows gives none."
        )


def base_title(scene: Scene, title: str) -> str:
    """The title of the model that a shown one was made of."""
    return scene.models.titled(title).base.title


def known_percent(value: float) -> str:
    """A share in percent, or that it is not known."""
    return of.NOT_KNOWN if value != value else short_percent(value)


def known_between(low: float, high: float) -> str:
    """Both ends of an interval in percent, or that it is not known."""
    return of.NOT_KNOWN if low != low else between(low, high)
