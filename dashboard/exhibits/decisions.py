"""What miscalibration costs: decisions at a threshold, by costs, and net benefit over all thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import InputError, NotAnswerable
from calib_core.diagrams import DecisionCurve
from calib_core.registry.registry import Range, Text
from calib_core.text import at_level, called, difference, in_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL, methods_of
from dashboard.exhibits.stars import silences
from dashboard.selection import Selection
from dashboard.session import Call, Scene, call

THRESHOLDS = Range(0.0001, 0.9999, 0.01)
"""Thresholds that can be chosen."""
_CHOSEN = "act on rows whose probability of the class is above it"


def at_these_costs(selection: Selection, scene: Scene) -> dict[str, float]:
    """The threshold that the chosen costs of two classes make, for the class looked at; empty where there is none."""
    costs = str(dict(selection.exhibit("decisions").params).get("costs", ""))
    if len(scene.class_names) != 2 or not costs:
        return {}
    try:
        t = cc.evaluation.decisions.cost_threshold(costs)
    except cc.InputError:
        return {}  # said where the costs are
    t = None if t is None else round(1 - t if acted_on(scene) == 0 else t, 6)
    return {"threshold": t} if t is not None and THRESHOLDS.low <= t <= THRESHOLDS.high else {}


def acted_on(scene: Scene) -> int | None:
    """The class acted on: the one in focus, else the event of two classes; None where neither is known."""
    if scene.focus.code is not None or len(scene.class_names) != 2:
        return scene.focus.code
    event = scene.get(scene.models.shown[0].predictions).event
    return 1 if event is None else event


@EXHIBITS.register("decision-curve", "Decision curve", reference="Vickers & Elkin 2006")
@dataclass(frozen=True)
class DecisionCurveExhibit(Exhibit):
    """Net benefit of acting where a class's probability is above a threshold, beside acting on all and on none."""

    threshold: Annotated[float, THRESHOLDS, "Threshold", _CHOSEN] = 0.5

    printed = 10
    height = 420
    formula = DecisionCurve.formula

    meanings = of.Meanings(
        {
            "acted": "share of rows whose probability is above the threshold",
            "benefit": "share rightly acted on, less that wrongly acted on times t / (1 - t)",
            "over_all": "net benefit less that of acting on all rows",
            "threshold": "rows with more than this probability t are acted on",
            "treat_all": "net benefit of acting on all rows",
            "low": "lower end of the 90 % interval of the net benefit",
            "high": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._curves(scene)[0])

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("threshold"),
            of.share("acts on", "acted"),
            of.error("net benefit", "benefit"),
            of.between(AT_LEVEL, "low", "high"),
            of.error("acting on all", "treat_all"),
            of.points("over acting on all", "over_all"),
            of.difference_between("interval, over acting on all", "over_all_low", "over_all_high", "share"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.decision_curve", self._curves(scene)[0], threshold=self.threshold, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        curves, refused = self._curves(scene)
        positive = scene.get(next(iter(curves.values()))).positive
        return Words(
            f"Net benefit of acting where {positive} has more than the probability below: the share of rows rightly "
            "acted on, less that wrongly acted on, weighed as somebody weighs it who acts from there on. The upright "
            f"line is the threshold chosen, {in_percent(self.threshold)}. A line that leaves the picture goes on below "
            "it: acting there does harm.",
            f"Net benefit against the threshold, for {positive}, beside acting on all and on none.",
        ).also(
            "A model helps where its curve lies above both lines of comparison. Each interval stands alone "
            f"({methods_of(scene, curves.values())}); thresholds that nobody would use say nothing.",
            "The class is the one in focus; of two classes, by default, the event. A row whose probability is the "
            "threshold itself is not acted on.",
            *silences(scene),
            *refused,
        )

    def _curves(self, scene: Scene) -> tuple[dict[str, Call[DecisionCurve]], tuple[str, ...]]:
        code = scene.focus.code
        return scene.answered(
            scene.each(lambda model: call(cc.diagrams.decision_curve, model.predictions, positive=code))
        )


@EXHIBITS.register("net-benefit", "What acting is worth", reference="Vickers & Elkin 2006")
@dataclass(frozen=True)
class NetBenefit(Exhibit):
    """What acting from the chosen threshold on is worth with each model, on all rows, and on none."""

    threshold: Annotated[float, THRESHOLDS, "Threshold", _CHOSEN] = 0.5

    meanings = of.Meanings(
        {
            "acted": "share of rows whose probability is above the threshold",
            "benefit": "share rightly acted on, less that wrongly acted on times t / (1 - t)",
            "over_all": "net benefit less that of acting on all rows",
            "change": "net benefit less that of the model before recalibration",
            "p": "p of no change",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(
            cc.evaluation.decisions.net_benefits,
            scene.over_same_rows(),
            self.threshold,
            scene.focus.code,
            base_titles(scene),
        )

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("acts on", "acted"),
            of.points("net benefit", "benefit"),
            of.difference_between(AT_LEVEL, "benefit_low", "benefit_high", "share"),
            of.points("over acting on all", "over_all"),
            of.difference_between("interval, over acting on all", "over_all_low", "over_all_high", "share"),
            of.points("more than before", "change"),
            of.difference_between("interval, more than before", "change_low", "change_high", "share"),
            of.probability("p, no change", "p"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        code = acted_on(scene)
        assert code is not None  # the table refuses more than two classes without one
        name = called(event_words.named_classes(scene)[code])
        return Words(
            f"Acting where {name} has a probability above {in_percent(self.threshold)}. Net benefit: rows rightly "
            f"acted on, less {cc.evaluation.decisions.odds_words(self.threshold)} for each wrongly acted on, as a "
            "share of all.",
            headline=tuple(
                f"{line['model']}: {_changed(line)}." for line in frame.to_dict("records") if line["p"] == line["p"]
            ),
        ).also(
            scene.rows_counted,
            "Acting on none is worth 0. Each interval stands alone; more than before: by the rows that one of the two "
            "acts on and the other does not.",
            *(f"{line['model']}: {line['note']}." for line in frame.to_dict("records") if line["note"]),
        )


def _changed(line: dict[Any, Any]) -> str:
    """What recalibration does to the net benefit, no more than its interval shows."""
    low, high = line["change_low"], line["change_high"]
    ends = f"{difference(low, 'share').removesuffix(' points')} to {difference(high, 'share')}"
    basis = f"{at_level(cc.defaults.LEVEL)} interval of the change {ends}"
    if low == high == 0:
        return "acts on the same rows as before"
    return (
        f"acting is worth {'more' if low > 0 else 'less'} than before ({basis})"
        if low > 0 or high < 0
        else (f"that acting is worth more or less than before is not shown ({basis})")
    )


def base_titles(scene: Scene) -> dict[str, str]:
    """The title of the model that each recalibrated one was made of, where that is shown too."""
    shown = scene.titles
    return {model.title: model.base.title for model in scene.models.recalibrated if model.base.title in shown}


COSTS = Text(8000)
"""A matrix of costs as text."""


@EXHIBITS.register("decisions", "What decisions cost", reference="Elkan 2001")
@dataclass(frozen=True)
class Decisions(Exhibit):
    """What decisions by each model's probabilities are expected to cost a row, and what they cost."""

    costs: Annotated[
        str,
        COSTS,
        "Costs",
        "a line for each decision, in it the cost for each class that may be true, such as 0 5; 1 0; of two classes "
        "also a threshold; without any every mistake costs 1",
    ] = ""

    meanings = of.Meanings(
        {
            "expected": "mean cost a row by the model's own probabilities",
            "realised": "mean cost a row with the true classes",
            "gap": "realised less expected",
            "change": "realised less that of the model before recalibration",
            "p": "p of no change",
            "changed": "share of rows that is decided otherwise",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if names := scene.class_names:
            try:
                cc.evaluation.decisions.cost_matrix(self.costs, len(names))
            except InputError as why:
                raise NotAnswerable(str(why)) from why
        return call(cc.evaluation.decisions.decision_costs, scene.over_same_rows(), self.costs, base_titles(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.number("expects to pay", "expected"),
            of.number("pays", "realised"),
            of.number_between(AT_LEVEL, "realised_low", "realised_high"),
            of.difference("pays more than it expects", "gap", "score"),
            of.difference_between("interval, more than it expects", "gap_low", "gap_high", "score"),
            of.difference("pays more than before", "change", "score"),
            of.difference_between("interval, more than before", "change_low", "change_high", "score"),
            of.probability("p, no change", "p"),
            of.share("decided otherwise", "changed"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        names = event_words.named_classes(scene)
        priced = "costs as chosen" if self.costs.strip() else "every mistake costs 1"
        return Words(
            f"A row's mean, where each row is decided for least expected cost ({priced}). Expects to pay: by the "
            "model's own probabilities. Below 0 in the last columns it pays less.",
            headline=cc.evaluation.decisions.cost_words(frame),
        ).also(
            scene.rows_counted,
            f"Costs stand in the order of the classes: {', '.join(names)}." if 0 < len(names) <= 20 else "",
            "Intervals are about the cost these rows can be expected to have, given the predictions; they hold room "
            "for heavy costs that did not happen, and are wide where such are possible. Before: the same model without "
            "recalibration, on the same rows.",
            *(f"{line['model']}: {line['note']}." for line in frame.to_dict("records") if line["note"]),
        )
