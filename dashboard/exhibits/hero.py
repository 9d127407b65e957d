"""Observed frequency near each predicted risk or confidence: the first sentence of the overview."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.diagrams import LocalAccuracy, LocalAnswer
from calib_core.results.verdict_table import MISCALIBRATED
from calib_core.text import at_level, begun, between, inside, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.error_words import error_beyond_places
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.findings import Findings
from dashboard.exhibits.verdict import VerdictExhibit
from dashboard.session import Call, Model, Scene, call

MOST = 4
"""Models whose answers are listed: first the files' own, then the recalibrated one in focus, then the others."""

_OF_RISKS = (
    "Each line of the table is for the rows whose predicted risk is close to one chosen value. Close means within 3 "
    "points at 50 %, and fewer points toward both ends (equally close in log-odds). If fewer than 100 rows are this "
    "close, the range is widened, at most fourfold. The mean risk of the rows used stays in the first one. If the "
    "file has few distinct risks, only rows with the nearest one count. The table has no line for a risk that no row "
    "is close to."
)
_OF_CONFIDENCES = (
    "Each answer is for the rows with a confidence within 3 points of one chosen value. The range is widened up to 12 "
    "points to include 100 rows. The mean confidence of its rows stays within 3 points. If the file has few distinct "
    "confidences, only rows with the nearest one count. The table has no line for a confidence that no row is close to."
)
_INTERVALS = (
    "Each interval is exact (Clopper and Pearson 1934; wider for rows in groups) and valid for one chosen value. "
    "At some of many chosen values, even a calibrated model looks off by chance."
)
_UPDATED = (
    "The line of a recalibrated model uses the same rows: their mean risk after recalibration and their observed "
    "frequency."
)
EXPLAINED = (
    "The bar is the confidence interval at this position of the slider. With about 100 positions, even a calibrated "
    "model looks off at some of them by chance. A gap is therefore colored only if 95 % of calibrated models have no "
    "gap that large at any position. \u201cNo clear gap\u201d: the interval includes the predicted value. "
    "\u201cNot significant here\u201d: the interval misses the predicted value, but a gap of this size "
    "can still be chance. The diagram has fewer bins than the slider has positions, so a bin can be significant where "
    "a position is not."
)
"""Help text next to a bar."""


def listed(scene: Scene) -> tuple[Model, ...]:
    """The models whose answers are listed, the first file's own first."""
    shown = scene.models.shown
    after = [model for model in shown if not model.is_base]
    focus = [scene.model] if scene.model in after else []
    # The model that is compared with others has its own calibrators before those of further files.
    return tuple(dict.fromkeys((*scene.bases, *focus, *after)))[:MOST]


def left_out(scene: Scene) -> str:
    """Sentence that lists the models without a line; empty if all have one."""
    titles = [model.title for model in scene.models.shown if model not in listed(scene)]
    return f"Not listed here: {'; '.join(titles)}." if titles else ""


def off_elsewhere(scene: Scene, answer: LocalAnswer) -> str:
    """Sentence on the first model's largest error if its ``answer`` shows no gap; empty if there is no error.

    The largest significant gap, else the error over all rows if the verdict is ``MISCALIBRATED``, else a significant
    test over all rows. Without it, an answer without a gap could be read as the all-clear.
    """
    if answer.gap is not None:
        return ""
    first, places = scene.focused(model=scene.titles[0]), Findings()
    if not first.refusal(places.table(first)):
        for finding in places.worst(first, 1)["finding"]:
            return f"Some rows are significantly off: {inside(str(finding).rpartition(' (')[0])}."
    verdicts = VerdictExhibit().table(scene)
    for line in () if scene.refusal(verdicts) else scene.get(verdicts).to_dict("records"):
        if line["model"] == scene.titles[0] and line["verdict"] == MISCALIBRATED:
            ends = f"{short_percent(line['point'])} ({at_level(line['level'])} interval "
            ends += f"{between(line['low'], line['high'], scene.tolerance)})"
            return f"Miscalibrated over all rows: the calibration error is estimated at {ends}."
    return error_beyond_places(scene, scene.models.titled(scene.titles[0]))


@EXHIBITS.register("hero", "Observed frequency at one prediction")
@dataclass(frozen=True)
class Hero(Exhibit):
    """Observed frequency near each predicted risk, or accuracy near each confidence, with an exact interval.

    With two classes the risk of the event, else the confidence of the predicted class.
    """

    reads = "counts"
    printed = 0

    meanings = of.Meanings(
        {
            "confidence": "confidence or risk at the slider",
            "near": "whether any row is close to it",
            "reach": "half the width of the window around it",
            "rows": "rows in the window",
            "share": "share of all rows in the window",
            "claimed": "mean confidence or risk of the rows in the window",
            "right": "accuracy of those rows, or observed frequency of the event",
            "lower": "lowest confidence or risk of those rows",
            "upper": "highest confidence or risk of those rows",
            "range": "range of the confidences or risks of those rows, as text",
            "difference": "mean prediction minus observed frequency, as text",
            "shown": "whether the gap exceeds the largest gap on the slider in 95 % of calibrated models",
        }
    )

    def answers(self, scene: Scene) -> dict[str, Call[LocalAccuracy]]:
        """Return the answers for the first models, by title."""
        if scene.claims == "event":
            return self._of_event(scene)
        shown = listed(scene)
        every = {model.title: call(cc.diagrams.local_accuracy, model.predictions, stem="answers") for model in shown}
        return dict(scene.answered(every)[0])

    def _of_event(self, scene: Scene) -> dict[str, Call[LocalAccuracy]]:
        """Return answers for the event's risk at the first model's risks; recalibrated models use the same rows."""
        words, models = event_words.in_words(scene), listed(scene)
        first = call(cc.diagrams.local_frequency, models[0].predictions, words=words, stem="answers")
        risks = first.part("confidence", stem="risks")
        every = {models[0].title: first}
        for model in models[1:]:
            before = () if model.is_base else (model.base.predictions,)
            diagram = cc.diagrams.updated_frequency if before else cc.diagrams.local_frequency
            every[model.title] = call(diagram, *before, model.predictions, risks, words=words, stem="answers")
        return dict(scene.answered(every)[0])

    def opening(self, scene: Scene) -> dict[str, LocalAnswer]:
        """Return each model's answer at the chosen risk or confidence, by title: those of the sentences."""
        return {title: scene.get(wanted).answer(scene.asked_about) for title, wanted in self.answers(scene).items()}

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        """Stack the answers that have rows close to the slider."""
        return call(cc.calls.stacked, {name: answer.part("nearby") for name, answer in self.answers(scene).items()})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("slider at", "confidence"),
            of.share("predicted", "claimed"),
            of.share("observed", "right"),
            of.between("90 % interval", "low", "high"),
            of.whole("rows"),
            of.text("range of predictions", "range"),
        )

    def words(self, scene: Scene) -> Words:
        of_event = scene.claims == "event"
        first, *others = self.opening(scene).items()
        after = (f"{name}. {answer.headline} {begun(answer.basis)}." for name, answer in others)
        updated = of_event and any(answer.updated for _, answer in others)
        sentences = (first[1].headline, first[1].doubt, f"{first[1].basis}.")
        return Words(" ".join(filter(None, sentences))).also(
            *after,
            "Rows are cross-fitted: each row is recalibrated by a calibrator fitted on other rows."
            if others and scene.cross_fitted
            else "",
            " ".join(
                filter(None, (_OF_RISKS if of_event else _OF_CONFIDENCES, _UPDATED if updated else "", _INTERVALS))
            ),
            left_out(scene),
        )
