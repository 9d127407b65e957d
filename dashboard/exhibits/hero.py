"""Of rows given a risk, or a confidence, how many come true? The sentence the overview opens with, for every one."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.diagrams import LocalAccuracy
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

MOST = 3
"""Models whose answers stand below one another: as they are, and the first after recalibration."""

_OF_RISKS = (
    "The rows counted have a risk near the one asked about: within 3 points at 50 %, within as much on the scale of "
    "log-odds elsewhere. Where they are fewer than 100, the range grows up to four times that."
)
_OF_CONFIDENCES = (
    "The rows counted have a confidence within 3 points of the one asked about. Where they are fewer than 100, the "
    "range grows to up to 12 points, as long as their mean confidence stays within 3 points of it."
)
_INTERVALS = (
    "Each interval is exact (Clopper and Pearson 1934) and stands alone. A gap is marked only where it is larger than "
    "chance makes anywhere on the slider, in 9 of 10 calibrated models."
)


@EXHIBITS.register("hero", "How often it comes true")
@dataclass(frozen=True)
class Hero(Exhibit):
    """How often what each model predicts near each risk, or confidence, comes true, with an exact interval.

    Of two classes the risk of their event, else the confidence of the class predicted.
    """

    reads = "counts"
    printed = 0

    def answers(self, scene: Scene) -> dict[str, Call[LocalAccuracy]]:
        """The answers of the first models, by title."""
        if scene.claims == "event":
            return self._of_event(scene)
        every = scene.each(lambda model: call(cc.diagrams.local_accuracy, model.predictions, stem="answers"))
        return dict(list(scene.answered(every)[0].items())[:MOST])

    def _of_event(self, scene: Scene) -> dict[str, Call[LocalAccuracy]]:
        """The same of the event's risk; the first model's risks are asked of all of them."""
        words, models = event_words.in_words(scene), scene.models.shown
        first = call(cc.diagrams.local_frequency, models[0].predictions, words=words, stem="answers")
        risks = first.part("confidence", stem="risks")
        every = {models[0].title: first} | {
            model.title: call(cc.diagrams.local_frequency, model.predictions, risks, words=words, stem="answers")
            for model in models[1:]
        }
        return dict(list(scene.answered(every)[0].items())[:MOST])

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.stacked, self.answers(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("asked about", "confidence"),
            of.share("predicted", "claimed"),
            of.share("came true", "right"),
            of.between("90 % interval", "low", "high"),
            of.whole("rows"),
            of.between("these rows are given", "lower", "upper"),
        )

    def words(self, scene: Scene) -> Words:
        first, *others = [
            (name, scene.get(wanted).answer(scene.asked_about)) for name, wanted in self.answers(scene).items()
        ]
        after = (f"{name}: {answer.headline} {answer.basis}." for name, answer in others)
        of_event = scene.claims == "event"
        return Words(f"{first[1].headline} {first[1].basis}.").also(
            *after,
            "Rows are cross-fitted: a recalibrated model's are each judged after a map fitted on other rows."
            if others and scene.cross_fitted
            else "",
            f"{_OF_RISKS if of_event else _OF_CONFIDENCES} {_INTERVALS}",
        )
