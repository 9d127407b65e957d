"""Every model in one line: mean confidence and accuracy."""

from dataclasses import dataclass

import calib_core as cc
from dashboard.exhibits import EXHIBITS, Exhibit, Words
from dashboard.exhibits import columns as of
from dashboard.session import call


@EXHIBITS.register("all-in-one", "Confidence and accuracy")
@dataclass(frozen=True)
class AllInOne(Exhibit):
    """How sure each model is on average, and how often it is right."""

    def table(self, scene):
        return call(
            cc.calls.stacked, scene.each(lambda model: call(cc.diagrams.reliability, model.predictions, bins=1))
        )

    def columns(self, frame):
        return of.text("model"), of.whole("rows", "count"), of.number("confidence"), of.number("accuracy")

    def words(self, scene):
        return Words("Errors of opposite sign cancel: the bins of the reliability diagram tell them apart.")
