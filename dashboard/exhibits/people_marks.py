"""Answers graded by a judge and partly by people: accuracy by the judge, by people, and combined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core.judged.marked_answers import JudgedAnswers
from calib_core.registry.registry import Text
from calib_core.text import begun
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

_READ = (
    "Judge only: the share marked as right in the file. People only: the share marked as right by people, among "
    "the rows they marked. Both: the judge's marks of all rows, corrected by the rows that people marked (PPI++; "
    "Angelopoulos, Duchi and Zrnic 2023). This is the estimate to use. Judge, error-corrected: its marks of the "
    "other rows, corrected for its rates of accepting right and wrong answers (Rogan and Gladen 1978; interval by "
    "Fieller 1954)."
)
_RANDOM = (
    "The rows marked by people must be a random sample, also within each part. The last estimate only needs the "
    "judge's error rates to be the same in the other rows. The marks of people count as the truth. Intervals are "
    "not corrected for multiple testing: of ten parts, about one misses. The coverage of tested intervals was "
    "simulated; for fewer than 20 marked rows, and for grouped rows, they are a rough guide."
)


@EXHIBITS.register("judged-answers", "Answers marked by a judge and by people", reference="Angelopoulos et al. 2023")
@dataclass(frozen=True)
class JudgedAnswersExhibit(Exhibit):
    """Accuracy by a judge, by people and combined, and the excess of the mean confidence over it."""

    human: Annotated[
        str, Text(200), "Marks of people", "the column; empty: the first column that marks only some rows"
    ] = ""
    by: Annotated[str, Text(200), "Parts by", "a column whose values are evaluated separately; empty: none"] = ""

    reads_columns = True
    terms = ("overconfident",)

    meanings = of.Meanings(
        {
            "part": "all rows, or the rows with one value",
            "by": "source of the marks",
            "right": "accuracy by these marks",
            "gap": "mean confidence minus that accuracy",
            "confidence": "mean confidence of all rows",
            "rows": "all rows",
            "marked": "rows that people marked",
            "why": "reason for a missing number",
        }
    )

    def found(self, scene: Scene) -> Call[JudgedAnswers]:
        """Return the result for all rows of the file, or for the selected part."""
        options = {name: value for name, value in (("human", self.human), ("by", self.by)) if value}
        return call(cc.judged.judged_answers, rows_of(scene), stem="answers", **options)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        why = (of.text("reason", "why"),) if (frame["why"] != "").any() else ()
        return (
            of.text("part"),
            of.text("by"),
            of.share("accuracy", "right"),
            of.between("90 % interval", "right_low", "right_high"),
            of.points("confidence minus accuracy", "gap"),
            of.difference_between("90 % interval of the difference", "gap_low", "gap_high", "share"),
            of.whole("rows"),
            of.whole("rows marked by people", "marked"),
            of.flag("interval tested", "tested"),
            *why,
        )

    def figure(self, scene: Scene) -> Call[Any]:
        model = scene.models.shown[0].base
        return call("figures.judged_answers", self.found(scene), model=model.title, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        errors = "" if found.share.errors is None else found.share.errors.sentence
        notes = tuple(filter(None, (errors, found.share.note)))
        rows = "" if _is_part(scene) else "All rows of the file, because no calibrator is fitted on them here. "
        return Words(
            f"{rows}Marks of people: \u201c{found.human}\u201d. The diamond is the mean confidence. Its distance "
            "from the combined estimate is the overconfidence.",
            f"Accuracy by a judge, by people and combined. {found.headline}",
            (_READ, _RANDOM),
            (found.headline, f"{begun(found.share.apart)}.", found.gap.sentence.partition(";")[0] + ".", *notes),
        )


def rows_of(scene: Scene) -> Call[Any]:
    """Return all rows of the file, since no calibrator is fitted on them here; with a selected part, its test rows."""
    base = scene.models.shown[0].base
    return base.predictions if _is_part(scene) else base.whole


def _is_part(scene: Scene) -> bool:
    source = scene.models.shown[0].source
    return bool(source.within or source.corners)


def marking(scene: Scene) -> Call[tuple[str, ...]]:
    """Return the columns that look like marks of people."""
    return call(cc.judged.marked_by_people, rows_of(scene), stem="marked")
