"""One bin, or a range of the confidence: model by model, class by class, and row by row."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core.defaults import LEVEL
from calib_core.registry.registry import Choice
from calib_core.text import at_level, begun, count, in_percent, share_range
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.slices import own_interval
from dashboard.exhibits.stars import called, ends, ends_said, is_picked, place
from dashboard.session import Call, Scene, call

MOST_SENTENCES = 2
"""Up to this many models have a sentence about a risk; the others are in the table."""
MARKS = ("points", "intervals")
"""Charts of the classes of a bin: accuracy against confidence, or one line per class with its interval."""


@EXHIBITS.register("bin-models", "One bin, by model")
@dataclass(frozen=True)
class BinModels(Exhibit):
    """Mean confidence and accuracy of every model in a bin or a range of the confidence."""

    static = True
    height = 200

    meanings = of.Meanings(
        {
            "rows": "rows of this model in the selected range",
            "says": "mean confidence or risk of those rows",
            "right": "accuracy of those rows, or observed frequency of the event",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        low, high = ends(scene)
        return call(cc.diagrams.models_in_range, scene.predictions(), low=low, high=high, notion=scene.claims)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("predicted", "says"),
            of.share("observed", "right"),
            of.between(f"{at_level(LEVEL)} interval", "right_low", "right_high"),
            of.whole("rows"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.models_in_range", self.table(scene), looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        if scene.claims == "event":
            return self._of_event(scene)
        lines = {str(line["model"]): line for line in scene.get(self.table(scene)).to_dict("records")}
        first, *others = scene.models.shown
        parts = [_says(called(first), lines[first.title], first=True)]
        known = [model for model in others if lines[model.title]["rows"]]
        if len(known) > 2:
            rights = [float(lines[model.title]["right"]) for model in known]
            low, high = in_percent(min(rights)), in_percent(max(rights))
            spread = high if low == high else f"{low.removesuffix(' %')} to {high}"
            parts.append(f"The accuracy of the other {len(known)} models here is {spread}.")
        else:
            parts += [_says(called(model), lines[model.title]) for model in known]
        return Words(
            " ".join(parts),
            f"{ends_said(scene)}: accuracy of each model, with its interval, and mean confidence.",
            _each_model(scene),
            key="Mark: accuracy, with its interval. Tick: mean confidence. Hollow: fewer than 10 rows.",
        )

    def _of_event(self, scene: Scene) -> Words:
        lines = {str(line["model"]): line for line in scene.get(self.table(scene)).to_dict("records")}
        rows, happened = event_words.in_words(scene)
        place, counted = ends_said(scene), scene.get(scene.model.predictions).weights is None
        seen = [scene.model, *(model for model in scene.models.shown if model.title != scene.model.title)]
        sentences = [
            _given(called(model), lines[model.title], (rows, happened), place, model is scene.model, counted)
            for model in seen[:MOST_SENTENCES]
        ]
        return Words(
            " ".join(sentences),
            f"{place}: how many {happened}, with an interval, and the mean predicted risk, for each model.",
            _each_model(scene),
            key="Mark: observed frequency, with its interval. Tick: mean predicted risk. Hollow: fewer than 10 rows.",
        )


def _each_model(scene: Scene) -> tuple[str, ...]:
    """Note on several models in one place; empty for one model."""
    if len(scene.models.shown) < 2:
        return ()
    return (
        f"Each model puts its own rows into this bin. Each {own_interval(scene)} is for one model, not for all at "
        "once.",
    )


@EXHIBITS.register("bin", "One bin, by class", reference="P1 Fig. 1b")
@dataclass(frozen=True)
class BinByClass(Exhibit):
    """Predicted classes in a bin or a range of the selected model, significant classes first."""

    marks: Annotated[str, Choice(MARKS), "Classes as", "points in the plane, or one line each with its interval"] = (
        "points"
    )
    printed = 10
    height = 440

    meanings = of.Meanings(
        {
            "count": "rows of the bin that are predicted as the class",
            "confidence": "mean confidence of those rows",
            "accuracy": "accuracy of those rows",
            "gap": "accuracy minus confidence",
            "right": "accuracy of those rows",
            "stands_out": "whether the interval excludes the confidence",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {scene.model.title: self._zoom(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("class"),
            of.whole("rows", "count"),
            of.share("confidence"),
            of.share("accuracy"),
            of.between("interval", "right_low", "right_high"),
            of.flag("interval excludes confidence", "stands_out"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        drawn = {"points": "zoom", "intervals": "zoom_lines"}[self.marks]
        looks: dict[str, Any] = {"look": scene.looks[scene.model.title]} if self.marks == "intervals" else {}
        return call(f"figures.{drawn}", self._zoom(scene), **looks)

    def words(self, scene: Scene) -> Words:
        zoom = scene.get(self._zoom(scene))
        n, off = len(zoom.names), int(zoom.stands_out.sum())
        star = f"mean confidence {in_percent(zoom.star[0])}, accuracy {in_percent(zoom.star[1])}"
        have = "has an interval that excludes its" if off == 1 else "have intervals that exclude their"
        found = f"In this bin, {off or 'none'} of {n} predicted classes {have} mean confidence."
        marks = (
            "One point per predicted class, larger with more rows. Blue: overconfident; orange: underconfident. "
            "The star is the average over all classes."
            if self.marks == "points"
            else "Dot: accuracy, with its interval. Tick: mean confidence."
        )
        return Words(
            f"{_which(scene)}: {count(len(zoom.rows))} rows, {star}.",
            f"{ends_said(scene)}: accuracy of {n} predicted classes against their mean confidence.",
            (
                f"Exact intervals, simultaneous for the {n} classes of this bin at {at_level(zoom.level)}.",
                "Only one bin is tested here. The findings are corrected for all bins, classes and slices, so a class "
                "marked here need not be significant there. The class with the largest error beyond noise is first.",
            ),
            (found,),
            marks,
        )

    def bold(self, frame: pd.DataFrame) -> tuple[int, ...]:
        return tuple(i for i, off in enumerate(frame["stands_out"]) if off)

    def _zoom(self, scene: Scene) -> Call[Any]:
        return call(cc.diagrams.zoom, scene.model.predictions, *place(scene))


@EXHIBITS.register("bin-rows", "One bin, all rows")
@dataclass(frozen=True)
class BinRows(Exhibit):
    """Test rows in a bin or a range of the selected model: prediction, outcome, and the file's columns."""

    printed = 20

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        numbers = scene.model.division.part("test_rows")
        predicted = scene.focus.code if is_picked(scene) and scene.class_names else None
        if predicted is not None and predicted >= len(scene.class_names):
            predicted = None
        if scene.claims == "event":
            predicted = None
        shown = *place(scene), numbers, predicted
        return call(cc.diagrams.bin_rows, scene.model.predictions, *shown, notion=scene.claims)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        score = "risk" if "event" in frame and "correct" not in frame else "confidence"
        heading = {"risk": "risk", "confidence": "confidence"}[score]
        return tuple(
            of.share(heading, score) if name == score else of.given(str(name), frame[name]) for name in frame.columns
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        of_class = self.table(scene)
        which = _which(scene)
        chosen = dict(of_class.options).get("predicted")
        if chosen is not None:
            which = f"{which}, predicted {scene.class_names[chosen]}"
        if not len(frame):
            return Words(f"{which}: no rows.")
        if scene.claims == "event":
            rows, happened = event_words.in_words(scene)
            seen = in_percent(float(frame["event"].mean()))
            return Words(f"{which}: {count(len(frame))} {rows}, {seen} {happened}. Row: position in its file.")
        right = in_percent(float(frame["correct"].mean()))
        return Words(f"{which}: {count(len(frame))} rows, {right} right. Row: position in its file.")


def _given(name: str, line: dict[Hashable, Any], words: tuple[str, str], place: str, first: bool, counted: bool) -> str:
    """Sentence on the number of rows with such a predicted risk, and the observed events."""
    rows, happened = words
    if not line["rows"]:
        return f"{begun(name)} predicts a risk of {place} for no {rows}."
    known = f"{in_percent(line['right'])}; {_span(line['right_low'], line['right_high'])}"
    number = count(line["rows"])
    given = f"given {place} (mean {in_percent(line['says'])})"
    seen = f"{count(round(line['right'] * line['rows']))} {happened} ({known})"
    if not counted:  # weighted rows: their number is not that of events
        seen = f"{in_percent(line['right'])} {happened} ({known.partition('; ')[2]})"
    return f"Of {number} {rows} {given}, {seen}." if first else f"{begun(name)}: of {number} {rows} {given}, {seen}."


def _says(name: str, line: dict[Hashable, Any], first: bool = False) -> str:
    """Sentence on a model's mean confidence and accuracy."""
    if not line["rows"]:
        return f"{begun(name)} has no rows here."
    says, right = in_percent(line["says"]), in_percent(line["right"])
    span = f"({_span(line['right_low'], line['right_high'])})"
    if first:
        return f"When {name} says {says}, it is right {right} of the time {span}."
    return f"{begun(name)}: mean confidence {says}, accuracy {right} {span}."


def _span(low: float, high: float) -> str:
    return of.NOT_KNOWN if pd.isna(low) else share_range(low, high)


def _which(scene: Scene) -> str:
    """Return the model and the place in words."""
    chosen = "" if is_picked(scene) else ", the bin that contributes most to the error"
    return f"{scene.model.title}{chosen}, {ends_said(scene)}"
