"""Every significant error, and the classes and bins that are significantly off, corrected for their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core.defaults import LEVEL
from calib_core.diagrams import StandingOut
from calib_core.inference.significance.count_tests import counts_rows
from calib_core.slices.findings import OVERALL, SHOWN, SLICE, headline
from calib_core.text import at_level
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words, risk_picture
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.slices import CORRECTED, row_columns, too_many
from dashboard.session import Call, Scene, call

HOLLOW = "Hollow: not significant after correction, even if the interval misses the tick."
"""What marks of places that are not significantly off mean: intervals are of one place each, and some of many miss."""


@EXHIBITS.register("findings", "What stands out")
@dataclass(frozen=True)
class Findings(Exhibit):
    """Where the model looked at is significantly off, in plain sentences, the largest gap first."""

    printed = 20

    meanings = of.Meanings(
        {
            "kind": "bin, class, class in a bin, slice or all rows",
            "code": "position of the class",
            "bin": "number of the bin",
            "slice": "text of the slice",
            "groups": "groups of rows in the place",
            "says": "mean confidence, probability or risk of the place's rows",
            "right": "share of those rows in which it comes true",
            "gap": "right less says",
            "rows_off": "rows times the smallest gap that the interval leaves",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        by = () if too_many(scene) else None  # there they are cut where they are asked for
        words = event_words.in_words(scene) if scene.claims == "event" else None
        return call(
            cc.findings, scene.model.predictions, scene.bins, by=by, notion=scene.claims, words=words, stem="found"
        )

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.sentences("finding"),
            of.share("predicted", "says"),
            of.share("observed", "right"),
            of.between(f"{at_level(LEVEL)} interval", "low", "high"),
            of.gap(),
            *row_columns(frame),
            of.number("rows off, at least", "rows_off"),
            of.probability_of("p", "p_of"),
            of.probability("p (corrected)", "p_corrected"),
            of.flag("significantly off", "stands_out"),
        )

    def figure(self, scene: Scene) -> Call[Any] | None:
        if not scene.get(self.table(scene))["p"].notna().any():
            return None
        title, alike = scene.model.title, self.same_bins(scene)
        return call("figures.findings", self.table(scene), model=title, places=alike, looks=scene.looks)

    def same_bins(self, scene: Scene) -> bool:
        """Whether its bins are those that other pictures show, which never have one a value without being told."""
        return scene.bins is not None or not scene.get(scene.model.predictions).discrete

    def worst(self, scene: Scene, most: int | None = None) -> pd.DataFrame:
        """The lines that stand out."""
        frame = scene.get(self.table(scene))
        return frame[frame["stands_out"]].head(most or len(frame))

    def looked_at(self, scene: Scene) -> str:
        """The finding about the place looked at, which the pane begins with; empty where there is none."""
        focus = scene.focus
        if focus.code is None and focus.bin is None and focus.between is None:
            return ""
        frame = scene.get(self.table(scene))
        of_class = frame["code"].isna() if focus.code is None else frame["code"] == focus.code
        if focus.between is not None:
            ends = frame["lower"].clip(0.0), frame["upper"].clip(upper=1.0)
            inside = (ends[0] == focus.between[0]) & (ends[1] == focus.between[1])
            inside |= (frame["kind"] == OVERALL) & (focus.between == (0.0, 1.0))
        else:
            inside = frame["bin"].isna() if focus.bin is None else frame["bin"] == focus.bin
        found = frame.loc[of_class & inside & (frame["kind"] != SLICE), "finding"]
        return str(found.iloc[0]) if len(found) else ""

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        slices = "; the file's other columns are left out, for they are many" if too_many(scene) else ""
        if (frame["kind"] == SLICE).any():
            slices = "; and the rows that share a value of one of the file's other columns"
        tested = int(frame["p"].notna().sum())
        drawn = min(tested, SHOWN)
        few = f" Drawn are the first {drawn} of {tested:,} places; the table has all." if tested > drawn else ""
        return Words(
            f"{scene.model.title}.{few} Mark: how often it comes true, with its interval; tick: what is said; at the "
            f"right: rows. {HOLLOW}",
            f"Mean score and observed frequency in {drawn} places, the largest significant gap first.",
            headline=headline(frame),
        ).also(
            f"Tested: {_places(scene)}{slices}. Bins: {_in_bins(scene)}. First come the significant places, the "
            "largest gap first; then the others by p.",
            f"{how_judged(scene)} {CORRECTED}",
            *_of_all_rows(scene),
            "A gap that was picked because it is large is smaller on average in new rows.",
        )


def _in_bins(scene: Scene) -> str:
    """The bins whose rows are tested: of the risk of an event those of its diagram, chosen from the risks."""
    return scene.get(risk_picture.of_model(scene)).bins if scene.claims == "event" else scene.in_bins


def _places(scene: Scene) -> str:
    """Which places are looked at, for the middle of a sentence."""
    if scene.claims == "event":
        return "every bin of the predicted risk, and all rows"
    return (
        "every bin of the confidence, every predicted class in every bin and over all of them, all rows, and every "
        "class's probability over all rows, as far as they are known"
    )


def _of_all_rows(scene: Scene) -> tuple[str, ...]:
    """How all rows, and predicted classes, are judged where that differs from other places."""
    rows = scene.get(scene.model.predictions)
    once = "All rows are one question fixed in advance: their p is not corrected for the other places."
    if rows.groups is not None:
        return (once,)
    larger = (
        "up to twice that of a test of the gap alone" if scene.claims == "event" else "larger than of the gap alone"
    )
    return (
        f"{once} It allows for the errors that this mean gap bounds, as its interval does: p is {larger}. A slice of "
        "nearly all rows is tested alone, and may have a smaller p.",
        *(() if scene.claims == "event" else ("p of a predicted class is that of its errors over all bins.",)),
    )


def how_judged(scene: Scene) -> str:
    """How the p-values and intervals of places are made."""
    if counts_rows(scene.get(scene.model.predictions)):
        return (
            "p of a place: exact, by the law of how many of its rows come true if each has its predicted chance "
            "(Poisson-binomial). Intervals: Clopper and Pearson's. Rows are taken to be independent."
        )
    return (
        "p: by Hoeffding's bound (1963), for as many rows of equal weight as they are worth; rows of a group count "
        "together. Intervals of rows in groups: Korn and Graubard's (1998), those of weighted rows Hoeffding's. All "
        "rows in groups together have the p of their interval."
    )


@EXHIBITS.register("standing-out", "Classes that stand out")
@dataclass(frozen=True)
class ClassesStandingOut(Exhibit):
    """Predicted classes of the first model, those first that add most to its error beyond noise."""

    printed = 20

    meanings = of.Meanings(
        {
            "code": "position among the classes",
            "rows": "rows predicted as the class",
            "claimed": "mean confidence of those rows",
            "right": "share of those rows that is right",
            "error": "raw ECE of the class",
            "calibrated": "mean raw ECE of calibrated models with these confidences",
            "excess": "share of rows times (error - calibrated)",
            "p_holm": "p of the exact test, corrected for classes and kinds of places",
            "stands_out": "whether p_holm is at most 0.05",
        }
    )

    def found(self, scene: Scene) -> Call[StandingOut]:
        """The first model's classes."""
        return call(cc.diagrams.classes_standing_out, scene.model.predictions, scene.bins, stem="classes")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("class"),
            of.whole("rows"),
            of.share("says", "claimed"),
            of.share("right"),
            of.error("error"),
            of.error("calibrated"),
            of.error("adds", "excess"),
            of.probability("p (corrected)", "p_holm"),
            of.flag("significantly off", "stands_out"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            f"{scene.model.title}. {scene.get(self.found(scene)).basis} Adds: the class's share of rows times its "
            "error beyond what calibrated models show on average. p: an exact test over the bins of the class."
        ).also(CORRECTED)
