"""What stands out: the places where a model is off beyond chance, in sentences, worst first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core.defaults import LEVEL
from calib_core.inference.significance.selected_shares import FALSE, counts_rows
from calib_core.slices.findings import OVERALL, SHOWN, SLICE, headline
from calib_core.text import short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.by_slice import row_columns, too_many
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

HOLLOW = (
    "Hollow: no more than chance makes somewhere among so many places, even where its own interval leaves the tick out."
)
"""What marks of places that do not stand out mean: their intervals stand alone, and some of many miss."""


@EXHIBITS.register("findings", "What stands out")
@dataclass(frozen=True)
class Findings(Exhibit):
    """Where the model looked at is off beyond chance, in plain sentences, worst first."""

    printed = 20

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
            of.between("interval", "low", "high"),
            of.level("its level", "level"),
            *row_columns(frame),
            of.number("rows off, at least", "rows_off"),
            of.probability("p"),
            of.probability("p (corrected)", "p_corrected"),
            of.flag("stands out", "stands_out"),
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
        tested = min(int(frame["p"].notna().sum()), SHOWN)
        return Words(
            f"{scene.model.title}. Mark: how often it comes true, with its interval; tick: what is said; at the "
            f"right: rows. {HOLLOW}",
            f"What is said and how often it comes true in {tested} places, worst first.",
            headline=headline(frame),
        ).also(
            f"Looked at: {_places(scene)}{slices}. Bins: {scene.in_bins}. In order of the rows that are off at least: "
            "rows times the smallest gap that the interval leaves.",
            f"{how_judged(scene)} Corrected: for the number of places looked at, so that on average at most "
            f"{short_percent(FALSE)} of what stands out is a false alarm (Benjamini and Hochberg 1995; where places "
            "share rows, Benjamini and Yekutieli 2001).",
            "Places that are picked because they look bad had bad luck, too: the intervals of what stands out are "
            f"widened, each to its level, so that on average at most {short_percent(1 - LEVEL)} of them miss "
            "(Benjamini and Yekutieli 2005). The others stand alone.",
        )


def _places(scene: Scene) -> str:
    """Which places are looked at, for the middle of a sentence."""
    if scene.claims == "event":
        return "every bin of the predicted risk, and all rows"
    return (
        "every predicted class in every bin of the confidence and over all of them, the confidence of all rows, and "
        "every class's probability over all rows, as far as they are known"
    )


def how_judged(scene: Scene) -> str:
    """How the p-values and intervals of places are made."""
    if counts_rows(scene.get(scene.model.predictions)):
        return "p and intervals: exact, of the binomial law, rows taken to be independent."
    return (
        "p and intervals: by Hoeffding's bound (1963), for as many rows of equal weight as they are worth; rows of a "
        "group count together."
    )
