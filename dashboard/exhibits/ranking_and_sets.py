"""What recalibration does to what confidences are used for: ranking, answering the surest, naming sets of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.inference.comparison.skills import COVERAGE
from calib_core.text import in_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL
from dashboard.exhibits.selective import SHARE
from dashboard.session import Call, Scene, call


@EXHIBITS.register(
    "uses", "Ranking, surest answers and sets of classes", reference="Sadinle et al. 2019; Romano et al. 2020"
)
@dataclass(frozen=True)
class Uses(Exhibit):
    """What confidences are used for, before and after: to rank rows, to answer the surest, to name sets of classes."""

    coverage: Annotated[float, SHARE, "Share of rows answered", "the surest rows, ties together"] = COVERAGE

    costly = True

    meanings = of.Meanings(
        {
            "measure": "short name of the measure",
            "unit": "how its numbers are read",
            "before": "before recalibration",
            "after": "after recalibration",
            "change": "after less before",
            "low": "lower end of the 90 % interval of the change",
            "high": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("tick a calibrator: what it does to ranking and to sets of classes appears here")
        before, after, _ = scene.recalibrations
        rows = scene.models.shown[0].division
        if scene.cross_fitted:
            return call(
                cc.evaluation.usefulness.changes, before, after, coverage=self.coverage, fold=rows.part("test_folds")
            )
        return call(cc.evaluation.usefulness.changes, before, after, coverage=self.coverage)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.text("measure", "title"),
            of.measured("before"),
            of.measured("after"),
            of.difference("change"),
            of.difference_between(AT_LEVEL, "low", "high"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        refused = frame[frame["note"] != ""].groupby("note", sort=False)["title"]
        wanted = in_percent(cc.evaluation.prediction_sets.SHARE)
        return Words(
            "Ranking: the chance that a right answer has more confidence than a wrong one, ties half. Pairs of rows "
            "turned round: of all pairs the share whose order by confidence (for an event, by its risk) is another. "
            "Sets: so many classes that "
            f"{wanted} of the rows have the right one among them; the smaller, the better.",
            headline=cc.evaluation.usefulness.sentences(frame),
        ).also(
            f"Sets are made for each half of the rows with the other: then each holds the right class with "
            f"probability {wanted} or more, whatever the probabilities are worth, if rows are drawn alike and each on "
            "its own. LAC: all classes whose "
            "probability reaches one threshold; a set can be empty. APS: the likeliest classes first, until little is "
            "left, never at random.",
            "Each interval is by itself, of after less before on the same rows, by what every row adds; for sets it "
            "knows that thresholds are estimated, too. Pairs of rows are counted, so have none.",
            "Ranking by an event's risk and pairs of rows are compared within folds: rows of different folds have "
            "different maps, although the map used afterwards is one. For their sets that probability is not proven."
            if scene.cross_fitted
            else "",
            *(f"{'; '.join(dict.fromkeys(titles))}: {note}." for note, titles in refused),
        )
