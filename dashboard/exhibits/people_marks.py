"""Answers that a judge marked, and people a few of them: how many are right, by each and by both, part by part."""

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
    "Judge alone: the share that the file calls right. People alone: of the rows that people marked. Both: the judge's "
    "marks of all rows, corrected by people's of a few (PPI++, Angelopoulos, Duchi and Zrnic 2023): what to rely on. "
    "Judge less its errors: its marks of the other rows, corrected for how often it lets right and wrong answers pass "
    "(Rogan and Gladen 1978, interval by Fieller 1954)."
)
_RANDOM = (
    "People have to have marked rows drawn at random, within each part too; the last needs only that the judge errs as "
    "often in the other rows. What people mark counts as the truth. Every interval stands alone: of ten parts one "
    "misses. Tested ones were simulated; of fewer than 20 marked rows, and of rows that belong together, they are a "
    "rough guide."
)


@EXHIBITS.register("judged-answers", "Answers marked by a judge and by people", reference="Angelopoulos et al. 2023")
@dataclass(frozen=True)
class JudgedAnswersExhibit(Exhibit):
    """How many answers are right by a judge, by people and by both, and how far confidence lies above it."""

    human: Annotated[str, Text(200), "Marks of people", "the column; empty: the first that marks some rows only"] = ""
    by: Annotated[str, Text(200), "Parts by", "a column whose values are told of apart; empty: none"] = ""

    reads_columns = True
    terms = ("over-confident",)

    meanings = of.Meanings(
        {
            "part": "all rows, or those of one value",
            "by": "whose marks are used",
            "right": "share of answers that is right by them",
            "gap": "mean confidence less that share",
            "confidence": "mean confidence of all rows",
            "rows": "all rows",
            "marked": "rows that people marked",
            "why": "why there is no number",
        }
    )

    def found(self, scene: Scene) -> Call[JudgedAnswers]:
        """What is told of all rows of the file in use, where no part of them was chosen."""
        options = {name: value for name, value in (("human", self.human), ("by", self.by)) if value}
        return call(cc.judged.judged_answers, rows_of(scene), stem="answers", **options)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        why = (of.text("why not", "why"),) if (frame["why"] != "").any() else ()
        return (
            of.text("part"),
            of.text("by"),
            of.share("right"),
            of.between("90 % interval", "right_low", "right_high"),
            of.points("confidence above it", "gap"),
            of.difference_between("its 90 % interval", "gap_low", "gap_high", "share"),
            of.whole("rows"),
            of.whole("by people", "marked"),
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
        rows = "" if _is_part(scene) else "All rows of the file, as nothing is fitted on them here. "
        return Words(
            f"{rows}Marks of people: \u201c{found.human}\u201d. The diamond is the mean confidence: what lies between "
            "it and the mark of both is over-confidence.",
            f"Share right by a judge, by people and by both. {found.headline}",
            (_READ, _RANDOM),
            (found.headline, f"{begun(found.share.apart)}.", found.gap.sentence.partition(";")[0] + ".", *notes),
        )


def rows_of(scene: Scene) -> Call[Any]:
    """All rows of the file in use, on which no map is fitted here; where a part of them was chosen its test rows."""
    base = scene.models.shown[0].base
    return base.predictions if _is_part(scene) else base.whole


def _is_part(scene: Scene) -> bool:
    source = scene.models.shown[0].source
    return bool(source.within or source.corners)


def marking(scene: Scene) -> Call[tuple[str, ...]]:
    """The columns that look like marks of people."""
    return call(cc.judged.marked_by_people, rows_of(scene), stem="marked")
