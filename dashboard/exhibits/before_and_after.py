"""The numbers beside the reliability diagram: every model's measures over the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.evaluation.study import MEASURES
from calib_core.text import percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import measured
from dashboard.selection import mixed
from dashboard.session import Call, Scene, call

LISTED = 8
"""Names of groups set aside that are listed."""


@EXHIBITS.register("summary", "Before and after")
@dataclass(frozen=True)
class BeforeAndAfter(Exhibit):
    """Accuracy, proper scores and plug-in calibration errors of every model, over the same rows."""

    reads = "counts"
    terms = ("log-loss", "brier-score")

    meanings = of.Meanings(
        {
            "Accuracy": "share of rows that is right",
            "Log loss": "mean of minus log of the probability of what was true",
            "Brier score": "mean squared distance to what was true: summed over classes, of two classes the event's",
            "*-ECE": "raw ECE in the notion named",
            "*-MCE": "largest gap of a bin in the notion named",
            "TL-MCE of bins": "largest gap of a bin, its classes averaged by their rows",
            "bins": "bins that errors are judged in",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.measured, scene.over_same_rows(), bins=scene.bins)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        measures = map(measured, MEASURES)
        bins = (of.text("Bins", "bins"),) if mixed(frame["bins"]) else ()
        return (of.text("model"), *measures, *bins)

    def words(self, scene: Scene) -> Words:
        frame, rows = scene.get(self.table(scene)), list(scene.predictions().values())
        which = scene.get(call(cc.evaluation.study.rows_said, rows, scene.counting))
        missing = zip(frame["model"], frame["note"], strict=True)
        return Words(
            f"Bins: {scene.in_bins}; plug-in estimates, which noise pushes up. {which}".rstrip(),
        ).also(
            *(f"{title}: {note}." for title, note in missing if note),
            *_abstentions(scene),
            *(
                f"{model.title}{', fitted on all rows' if scene.cross_fitted else ''}: {remark}"
                for model in scene.models.recalibrated
                for remark in scene.get(model.fitted).remarks(LISTED)
            ),
        )


def _abstentions(scene: Scene) -> tuple[str, ...]:
    """What share of the rows each model that abstains leaves unanswered."""
    rows = {model.title: scene.get(model.predictions) for model in scene.abstaining}
    return tuple(f"{title} abstains on {percent(1 - p.coverage)} of {scene.judged_rows}." for title, p in rows.items())
