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
"""Models that have a sentence of their own where a risk is looked at; the others stand in the table."""
MARKS = ("points", "intervals")
"""How the classes of a bin are drawn: accuracy against confidence, or a line each with its interval."""


@EXHIBITS.register("bin-models", "One bin, model by model")
@dataclass(frozen=True)
class BinModels(Exhibit):
    """What every model says of its rows in a bin or a range of the confidence, and how often it is right there."""

    static = True
    height = 200

    meanings = of.Meanings(
        {
            "rows": "rows of this model in the range looked at",
            "says": "mean confidence, or risk, of those rows",
            "right": "share of those rows that is right, or has the event",
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
            parts.append(f"The other {len(known)} models are right {spread} of the time here.")
        else:
            parts += [_says(called(model), lines[model.title]) for model in known]
        return Words(
            " ".join(parts),
            f"{ends_said(scene)}: how often each model is right, with its interval, beside what it says.",
            (
                f"{at_level(LEVEL)} intervals, each for itself.",
                f"Mark: share that is right, with its {own_interval(scene)}; tick: what the model says; "
                "hollow: fewer than 10 rows. Each model has its own rows here.",
            ),
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
            f"{place}: how many {happened}, with an interval, beside the mean predicted risk, model by model.",
            (
                f"{at_level(LEVEL)} intervals, each for itself.",
                f"Mark: observed frequency, with its {own_interval(scene)}; tick: mean predicted risk; "
                "hollow: fewer than 10 rows. Each model has its own rows here.",
            ),
        )


@EXHIBITS.register("bin", "One bin, class by class", reference="P1 Fig. 1b")
@dataclass(frozen=True)
class BinByClass(Exhibit):
    """Which predicted classes make up a bin or a range of the model looked at, those beyond noise first."""

    marks: Annotated[str, Choice(MARKS), "Classes as", "points in the plane, or a line each with its interval"] = (
        "points"
    )
    printed = 10
    height = 440

    meanings = of.Meanings(
        {
            "count": "rows of the bin that are predicted as the class",
            "confidence": "mean confidence of those rows",
            "accuracy": "share of those rows that is right",
            "gap": "accuracy less confidence",
            "right": "share of those rows that is right",
            "stands_out": "whether the interval excludes the confidence",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {scene.model.title: self._zoom(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("class"),
            of.whole("rows", "count"),
            of.share("says", "confidence"),
            of.share("right", "accuracy"),
            of.between("interval", "right_low", "right_high"),
            of.flag("stands out", "stands_out"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        drawn = {"points": "zoom", "intervals": "zoom_lines"}[self.marks]
        looks: dict[str, Any] = {"look": scene.looks[scene.model.title]} if self.marks == "intervals" else {}
        return call(f"figures.{drawn}", self._zoom(scene), **looks)

    def words(self, scene: Scene) -> Words:
        zoom = scene.get(self._zoom(scene))
        n, off = len(zoom.names), int(zoom.stands_out.sum())
        star = f"says {in_percent(zoom.star[0])}, right {in_percent(zoom.star[1])}"
        stand = "stand" if off > 1 else "stands"
        found = f"{off or 'None'} of {n} predicted classes {stand} out."
        marks = (
            "A point per predicted class, larger with more rows; blue claims too much, orange too little; the star is "
            "of all its classes together."
            if self.marks == "points"
            else "Dot: share that is right, with its interval; tick: what it says."
        )
        return Words(
            f"{_which(scene)}: {count(len(zoom.rows))} rows, {star}. {marks}",
            f"{ends_said(scene)}: how often {n} predicted classes are right, against what is said of them.",
            (
                f"Exact intervals that hold for all {n} classes together at {at_level(zoom.level)}; the class furthest "
                "beyond noise first.",
            ),
            (found,),
        )

    def bold(self, frame: pd.DataFrame) -> tuple[int, ...]:
        return tuple(i for i, off in enumerate(frame["stands_out"]) if off)

    def _zoom(self, scene: Scene) -> Call[Any]:
        return call(cc.diagrams.zoom, scene.model.predictions, *place(scene))


@EXHIBITS.register("bin-rows", "One bin, row by row")
@dataclass(frozen=True)
class BinRows(Exhibit):
    """The test rows in a bin or a range of the model looked at: what it says, what is true, and the file's columns."""

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
        heading = {"risk": "risk", "confidence": "says"}[score]
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
            return Words(f"{which}: {count(len(frame))} {rows}, {seen} {happened}; row: where it is in its file.")
        right = in_percent(float(frame["correct"].mean()))
        return Words(f"{which}: {count(len(frame))} rows, {right} right; row: where it stands in its file.")


def _given(name: str, line: dict[Hashable, Any], words: tuple[str, str], place: str, first: bool, counted: bool) -> str:
    """How many rows a model gives such a risk, and in how many the event happened, in a sentence."""
    rows, happened = words
    if not line["rows"]:
        return f"{begun(name)} gives no {rows} a risk of {place}."
    known = f"{in_percent(line['right'])}; {_span(line['right_low'], line['right_high'])}"
    number = count(line["rows"])
    given = f"given {place} (mean {in_percent(line['says'])})"
    seen = f"{count(round(line['right'] * line['rows']))} {happened} ({known})"
    if not counted:  # weighted rows: their number is not that of events
        seen = f"{in_percent(line['right'])} {happened} ({known.partition('; ')[2]})"
    return f"Of {number} {rows} {given}, {seen}." if first else f"{begun(name)}: of {number} {rows} {given}, {seen}."


def _says(name: str, line: dict[Hashable, Any], first: bool = False) -> str:
    """What a model says and how often it is right, in a sentence."""
    if not line["rows"]:
        return f"{begun(name)} has no rows here."
    says, right = in_percent(line["says"]), in_percent(line["right"])
    span = f"({_span(line['right_low'], line['right_high'])})"
    if first:
        return f"When {name} says {says}, it is right {right} of the time {span}."
    return f"{begun(name)}: says {says}, right {right} {span}."


def _span(low: float, high: float) -> str:
    return of.NOT_KNOWN if pd.isna(low) else share_range(low, high)


def _which(scene: Scene) -> str:
    """The model and the place in words, and why this one."""
    chosen = "" if is_picked(scene) else ", the bin that adds most to the error"
    return f"{scene.model.title}{chosen}, {ends_said(scene)}"
