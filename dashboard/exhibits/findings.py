"""Findings (all significant errors) and significantly miscalibrated classes, corrected for multiple testing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core.binning import as_binning, bins_said
from calib_core.defaults import BINS, LEVEL
from calib_core.diagrams import StandingOut
from calib_core.inference.significance.count_tests import counts_rows
from calib_core.slices.findings import OVERALL, SHOWN, SLICE, headline
from calib_core.text import at_level
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words, risk_picture
from dashboard.exhibits.error_words import error_beyond_places
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.slices import correction, row_columns, too_many
from dashboard.session import Call, Scene, call

HOLLOW = "Hollow: not significant after correction, even if the interval misses the tick."
"""Explains hollow marks: each interval is for one place, and some of many miss by chance."""


def found(scene: Scene, level: float = LEVEL) -> Call[pd.DataFrame]:
    """Return the findings of the focused model, with intervals at a level."""
    by = () if too_many(scene) else None  # too many columns: slices are computed on request
    words = event_words.in_words(scene) if scene.claims == "event" else None
    more: dict[str, Any] = {} if level == LEVEL else {"level": level}
    return call(
        cc.findings, scene.model.predictions, scene.bins, by=by, notion=scene.claims, words=words, stem="found", **more
    )


@EXHIBITS.register("findings", "Findings")
@dataclass(frozen=True)
class Findings(Exhibit):
    """Significant errors of the selected model in plain sentences, the largest gap first."""

    printed = 20
    # The sentence has these numbers.
    aside = (f"{at_level(LEVEL)} interval", "rows off, at least", "p", "predicted", "observed", of.GAP)

    meanings = of.Meanings(
        {
            "kind": "bin, class, class in a bin, slice or all rows",
            "code": "position of the class",
            "bin": "number of the bin",
            "slice": "text of the slice",
            "groups": "groups of rows in the place",
            "says": "mean confidence, probability or risk of the place's rows",
            "right": "observed frequency in those rows",
            "gap": "observed frequency minus mean prediction",
            "rows_off": "rows times the smallest gap in the interval",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return found(scene)

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
        """True if its bins are those of other diagrams, which use one bin per value only on request."""
        return scene.bins is not None or not scene.get(scene.model.predictions).discrete

    def worst(self, scene: Scene, most: int | None = None) -> pd.DataFrame:
        """Return the significant lines."""
        frame = scene.get(self.table(scene))
        return frame[frame["stands_out"]].head(most or len(frame))

    def looked_at(self, scene: Scene) -> str:
        """Return the finding about the selected place; empty if there is none."""
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
        slices = ". The file's metadata columns are left out because they are many" if too_many(scene) else ""
        if (frame["kind"] == SLICE).any():
            slices = "; and the rows that share a value of a metadata column"
        tested = int(frame["p"].notna().sum())
        drawn = min(tested, SHOWN)
        few = (
            f"The chart shows the first {drawn} of {tested:,} subsets; the table lists all. " if tested > drawn else ""
        )
        return Words(
            f"{scene.model.title}.",
            f"Mean prediction and observed frequency in {drawn} subsets, the largest significant gap first.",
            headline=headline(frame, "" if frame["stands_out"].any() else error_beyond_places(scene, scene.model)),
            key=f"{few}Mark: observed frequency with its interval. Tick: mean prediction. At the right: number of "
            f"rows. {HOLLOW}",
        ).also(
            f"Tested: {_places(scene)}{slices}. Bins: {_in_bins(scene)}{_why(scene)}. Significant subsets are first, "
            "the largest gap first; the others follow by p-value. A predicted class that is off as a whole precedes "
            "its bins. All rows together are first if they are significantly off and nearly all gaps have the same "
            "direction.",
            "Rows off, at least: the difference between the predicted and the observed number of rows. It uses the end "
            "of the interval that is nearest to the prediction.",
            f"{how_judged(scene)} {correction(scene, scene.claims)}",
            *_of_all_rows(scene),
            "The largest gaps are partly luck: in new rows, they are smaller on average.",
        )


def _in_bins(scene: Scene) -> str:
    """Describe the bins that are tested; for the risk of an event those of its diagram, chosen from the risks."""
    return scene.get(risk_picture.of_model(scene)).bins if scene.claims == "event" else scene.in_bins


def _why(scene: Scene) -> str:
    """Reason for bins other than the 15 of equal width in which verdicts are; empty if they are the same or chosen."""
    mine, plain = _in_bins(scene), bins_said(as_binning(BINS))
    discrete = scene.get(scene.model.predictions).discrete
    if scene.bins is not None or scene.claims != "event" or discrete or mine == plain:
        return ""
    return f" instead of the {plain} of the verdict, which would contain most of these risks in one or few bins"


def _places(scene: Scene) -> str:
    """Describe the tested places, for the middle of a sentence."""
    if scene.claims == "event":
        return "every bin of the predicted risk and all rows"
    if scene.get(scene.model.predictions).kind == "confidence":
        return "every bin of the confidence and all rows"
    return (
        "every bin of the confidence; every predicted class, in each bin and overall; all rows; and the "
        "probability of every class over all rows, if known"
    )


def _of_all_rows(scene: Scene) -> tuple[str, ...]:
    """Notes on how all rows and predicted classes are tested, if this differs from other places."""
    rows = scene.get(scene.model.predictions)
    once = "The test of all rows was fixed in advance, so its p-value is not corrected for the other subsets."
    if rows.groups is not None:
        return (once,)
    return (
        f"{once} It is more cautious than the test of a slice, because it also decides about other errors. Its p-value "
        "is often two to three times as large. So a slice of nearly all rows can have a smaller p-value than all rows.",
        *(() if scene.claims == "event" else ("The p-value of a predicted class is for its error over all bins.",)),
    )


def how_judged(scene: Scene) -> str:
    """Describe the tests and intervals of places."""
    if counts_rows(scene.get(scene.model.predictions)):
        return (
            "p of a subset: exact (Poisson-binomial distribution of the number of events if every predicted "
            "probability is true). Intervals: Clopper and Pearson's; over all rows, that of the mean gap. Rows are "
            "assumed to be independent."
        )
    return (
        "p: Hoeffding's bound (1963) at the effective sample size; rows of a group count jointly. Intervals for "
        "rows in groups: Korn and Graubard's (1998); for weighted rows: Hoeffding's. For grouped data, the p-value "
        "over all rows is consistent with their interval."
    )


@EXHIBITS.register("standing-out", "Significantly miscalibrated classes")
@dataclass(frozen=True)
class ClassesStandingOut(Exhibit):
    """Predicted classes of the first model, sorted by their contribution to its error beyond noise."""

    printed = 20

    meanings = of.Meanings(
        {
            "code": "position among the classes",
            "rows": "rows predicted as the class",
            "claimed": "mean confidence of those rows",
            "right": "accuracy of those rows",
            "error": "raw ECE of the class",
            "calibrated": "mean raw ECE of calibrated models with these confidences",
            "excess": "share of rows times (error minus calibrated)",
            "p_holm": "p of the exact test, corrected for classes and kinds of subsets",
            "stands_out": "whether p_holm is at most 0.05",
        }
    )

    def found(self, scene: Scene) -> Call[StandingOut]:
        """Return the first model's classes."""
        return call(cc.diagrams.classes_standing_out, scene.model.predictions, scene.bins, stem="classes")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("class"),
            of.whole("rows"),
            of.share("predicted", "claimed"),
            of.share("accuracy", "right"),
            of.error("error"),
            of.error("calibrated"),
            of.error("contribution", "excess"),
            of.probability("p (corrected)", "p_holm"),
            of.flag("significantly off", "stands_out"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            f"{scene.model.title}. {scene.get(self.found(scene)).basis} Calibrated: mean error of a perfectly "
            "calibrated model. Contribution: the class's share of rows times its error beyond the average of "
            "calibrated models. p: an exact test over the bins of the class."
        ).also(correction(scene))
