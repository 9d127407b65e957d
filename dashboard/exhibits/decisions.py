"""What decisions by each model's probabilities are expected to cost, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

import calib_core as cc
from calib_core import InputError, NotAnswerable
from calib_core.registry.registry import Text
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.decision_curve import base_titles
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL
from dashboard.session import Call, Scene, call

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
