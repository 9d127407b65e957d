"""Effect of miscalibration on decisions: at a threshold, by costs, and net benefit over all thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import InputError, NotAnswerable
from calib_core.diagrams import DecisionCurve
from calib_core.registry.registry import Choice, Range, Text
from calib_core.text import at_level, called, difference, in_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL, methods_of
from dashboard.exhibits.stars import silences
from dashboard.selection import Selection
from dashboard.session import Call, Scene, call

SCALES = Choice(
    ("benefit", "standardized", "avoided"), titles=("Net benefit", "Standardized net benefit", "Acting avoided")
)
"""Vertical axes of the decision curve."""
THRESHOLDS = Range(0.0001, 0.9999, 0.01)
"""Range of thresholds."""
_CHOSEN = "act on rows whose predicted probability of the class is above it"


def at_these_costs(selection: Selection, scene: Scene) -> dict[str, float]:
    """Return the threshold implied by the chosen costs of two classes, for the selected class; else empty."""
    costs = str(dict(selection.exhibit("decisions").params).get("costs", ""))
    if len(scene.class_names) != 2 or not costs:
        return {}
    try:
        t = cc.evaluation.decisions.cost_threshold(costs)
    except cc.InputError:
        return {}  # reported next to the costs
    t = None if t is None else round(1 - t if acted_on(scene) == 0 else t, 6)
    return {"threshold": t} if t is not None and THRESHOLDS.low <= t <= THRESHOLDS.high else {}


def acted_on(scene: Scene) -> int | None:
    """Return the class acted on: the one in focus, else the event of two classes; None if neither is known."""
    if scene.focus.code is not None or len(scene.class_names) != 2:
        return scene.focus.code
    event = scene.get(scene.models.shown[0].predictions).event
    return 1 if event is None else event


_IMPACT = {
    "hits": "share of all rows that are acted on and have the class",
    "standardized": "net benefit divided by the share of rows with the class",
    "avoided": "net share of rows on which acting is avoided, compared with acting on all",
}
_SCALED = (
    "Standardized net benefit: as a share of its maximum, which is the share of rows with the class. Acting avoided, "
    "compared with acting on all: rows without the class that are spared, minus missed rows with the class. A missed "
    "row is weighted by 1 / odds of the threshold."
)


def _impact() -> tuple[of.Column, ...]:
    """Return the columns of rows found, standardized net benefit, and rows spared."""
    return (
        of.share("of all rows: acted on, with the class", "hits"),
        of.between("interval, with the class", "hits_low", "hits_high"),
        of.number("standardized net benefit", "standardized"),
        of.number_between("interval, standardized", "standardized_low", "standardized_high"),
        of.points("acting avoided", "avoided"),
        of.difference_between("interval, avoided", "avoided_low", "avoided_high", "share"),
    )


@EXHIBITS.register("decision-curve", "Decision curve", reference="Vickers & Elkin 2006")
@dataclass(frozen=True)
class DecisionCurveExhibit(Exhibit):
    """Net benefit of acting above a threshold of a class's probability, compared with acting on all and on none."""

    threshold: Annotated[float, THRESHOLDS, "Threshold", _CHOSEN] = 0.5
    scale: Annotated[str, SCALES, "Vertical axis", "net benefit, the same divided by its maximum, or rows spared"] = (
        "benefit"
    )

    printed = 10
    height = 420
    formula = DecisionCurve.formula

    meanings = of.Meanings(
        {
            "acted": "share of rows whose probability is above the threshold",
            "benefit": "share correctly acted on, minus share wrongly acted on times t / (1 - t)",
            "over_all": "net benefit minus that of acting on all rows",
            "threshold": "threshold t: rows with a higher probability are acted on",
            "treat_all": "net benefit of acting on all rows",
            "low": "lower end of the 90 % interval of the net benefit",
            "high": "upper end of the same",
            **_IMPACT,
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
            of.difference_between("interval of the difference", "over_all_low", "over_all_high", "share"),
            *_impact(),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call(
            "figures.decision_curve",
            self._curves(scene)[0],
            threshold=self.threshold,
            scale=self.scale,
            looks=scene.looks,
        )

    def words(self, scene: Scene) -> Words:
        curves, refused = self._curves(scene)
        positive = scene.get(next(iter(curves.values()))).positive
        return Words(
            f"Net benefit of acting on rows whose probability of {positive} is above the threshold on the axis. It is "
            "the share correctly acted on, minus the share wrongly acted on times the odds of the threshold. The "
            f"vertical line is the threshold in use, {in_percent(self.threshold)}. A line that leaves the chart "
            "continues below it: acting there does harm.",
            f"Net benefit against the threshold, for {positive}, compared with acting on all and on none.",
        ).also(
            "A model is useful where its curve is above both reference lines. Intervals are pointwise "
            f"({methods_of(scene, curves.values())}). Consider only thresholds that you would use.",
            _SCALED,
            f"“The class” is {positive}. A row whose probability equals the threshold is not acted on.",
            *silences(scene),
            *refused,
        )

    def _curves(self, scene: Scene) -> tuple[dict[str, Call[DecisionCurve]], tuple[str, ...]]:
        code = scene.focus.code
        return scene.answered(
            scene.each(lambda model: call(cc.diagrams.decision_curve, model.predictions, positive=code))
        )


@EXHIBITS.register("net-benefit", "Net benefit at a threshold", reference="Vickers & Elkin 2006")
@dataclass(frozen=True)
class NetBenefit(Exhibit):
    """Net benefit of each model at the chosen threshold, compared with acting on all rows and on none."""

    threshold: Annotated[float, THRESHOLDS, "Threshold", _CHOSEN] = 0.5

    meanings = of.Meanings(
        {
            "acted": "share of rows whose probability is above the threshold",
            "benefit": "share correctly acted on, minus share wrongly acted on times t / (1 - t)",
            "over_all": "net benefit minus that of acting on all rows",
            "change": "net benefit minus that of the model before recalibration",
            "p": "p-value for no change",
            **_IMPACT,
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
            of.difference_between("interval of the difference", "over_all_low", "over_all_high", "share"),
            of.points("change", "change"),
            of.difference_between("interval of the change", "change_low", "change_high", "share"),
            of.probability("p, no change", "p"),
            *_impact(),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        code = acted_on(scene)
        assert code is not None  # the table refuses more than two classes without one
        name = called(event_words.named_classes(scene)[code])
        return Words(
            f"Acting on rows whose probability of {name} is above {in_percent(self.threshold)}. Net benefit: rows "
            f"correctly acted on, minus {cc.evaluation.decisions.odds_words(self.threshold)} for each wrongly acted "
            "on, as a share of all rows.",
            headline=(
                *cc.evaluation.decisions.impact_words(frame),
                *(f"{line['model']}: {_changed(line)}." for line in frame.to_dict("records") if line["p"] == line["p"]),
            ),
        ).also(
            scene.rows_counted,
            _SCALED,
            f"{cc.evaluation.decisions.implied_costs(self.threshold)} A false alarm is a row that is acted on without "
            "the class.",
            "Acting on none has a net benefit of 0. Intervals are not corrected for multiple testing. The interval "
            "of the change uses the rows that only one of the two models acts on.",
            *(f"{line['model']}: {line['note']}." for line in frame.to_dict("records") if line["note"]),
        )


def _changed(line: dict[Any, Any]) -> str:
    """Describe the change of the net benefit, no more than its p-value shows."""
    low, high = line["change_low"], line["change_high"]
    ends = f"{difference(low, 'share').removesuffix(' points')} to {difference(high, 'share')}"
    basis = f"{at_level(cc.defaults.LEVEL)} interval of the change {ends}"
    if low == high == 0:
        return "acts on the same rows as before"
    return (
        f"net benefit is {'higher' if line['change'] > 0 else 'lower'} than before ({basis})"
        if line["p"] <= cc.defaults.SIGNIFICANCE
        else (f"no significant change of net benefit ({basis})")
    )


def base_titles(scene: Scene) -> dict[str, str]:
    """Return the title of the base model of each recalibrated model, if it is shown."""
    shown = scene.titles
    return {model.title: model.base.title for model in scene.models.recalibrated if model.base.title in shown}


COSTS = Text(8000)
"""A matrix of costs as text."""


@EXHIBITS.register("decisions", "Cost of decisions", reference="Elkan 2001")
@dataclass(frozen=True)
class Decisions(Exhibit):
    """Expected and realized cost per row of decisions by each model's probabilities."""

    costs: Annotated[
        str,
        COSTS,
        "Costs",
        "one line per decision with one cost per true class, such as 0 5; 1 0. For two classes, also a threshold. "
        "Empty: every error costs 1",
    ] = ""

    meanings = of.Meanings(
        {
            "expected": "mean cost per row by the model's own probabilities",
            "realised": "mean cost per row with the true classes",
            "gap": "realized minus expected",
            "gap_differs": "whether the gap is significant: its 95 % interval excludes 0",
            "change": "realized minus that of the model before recalibration",
            "p": "p-value for no change",
            "changed": "share of rows with a different decision",
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
            of.number("expected cost", "expected"),
            of.number("realized cost", "realised"),
            of.number_between(AT_LEVEL, "realised_low", "realised_high"),
            of.difference("realized minus expected", "gap", "score"),
            of.difference_between("interval of that difference", "gap_low", "gap_high", "score"),
            of.difference("change", "change", "score"),
            of.difference_between("interval of the change", "change_low", "change_high", "score"),
            of.probability("p, no change", "p"),
            of.share("decisions changed", "changed"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        names = event_words.named_classes(scene)
        priced = "costs as chosen" if self.costs.strip() else "every error costs 1"
        return Words(
            f"Mean cost per row if each decision minimizes the expected cost ({priced}). Expected cost: by the "
            "model's own probabilities. Change: below 0, the model costs less than before.",
            headline=cc.evaluation.decisions.cost_words(frame),
        ).also(
            scene.rows_counted,
            f"Costs are in the order of the classes: {', '.join(names)}." if 0 < len(names) <= 20 else "",
            "Intervals are for the expected cost of these rows, given the predictions. They allow for high costs "
            "that did not occur, and are wide where such costs are possible. A cost is more or less than predicted if "
            "a 95 % interval of the difference excludes 0. It is more or less than before if p is at most 5 %. Before: "
            "the same model without recalibration, on the same rows.",
            *(f"{line['model']}: {line['note']}." for line in frame.to_dict("records") if line["note"]),
        )
