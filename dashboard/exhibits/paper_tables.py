"""The papers' tables on the files at hand: a line for every file, a column for every method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core.datasets import DEMOS
from calib_core.papers.tables import PAPER_TABLES, SPLITS, MethodTable, cell, digits_by_measure, names_of
from calib_core.registry.registry import Choice, Flag, Range
from dashboard.exhibits import columns as of
from dashboard.exhibits.columns import Column
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.selection import Source
from dashboard.session import Call, Scene, call, division, file, split_by
from dashboard.session.files import whole_call

FRAME_NOTE = (
    "A cell: the mean over the divisions of a file, its standard error, and in brackets its rank in the line, 1 the "
    "best; shares and errors in percent. The standard error tells how the number moves with the division of this file, "
    "not how it would on new data. Ranks take no notice of noise: they are the papers' form and recommend nothing."
)
_TITLES = tuple(f"{table.title}: {table.reference}" for table in PAPER_TABLES.values())


@EXHIBITS.register("paper-tables", "Methods by files, as the papers print them")
@dataclass(frozen=True)
class PaperTables(Exhibit):
    """Each method of a paper's table, fitted on a third of the rows and judged on the others, several times over."""

    reads = "counts"
    static = True

    published: Annotated[str, Choice(tuple(PAPER_TABLES), titles=_TITLES), "Table", "whose shape it has"] = next(
        iter(PAPER_TABLES)
    )
    splits: Annotated[int, Range(1, 40), "Divisions", "how often each file is divided at random"] = SPLITS
    with_demos: Annotated[bool, Flag(), "Demo data too", "the demo files as further lines"] = False

    meanings = of.Meanings(
        {
            "measure": "what is measured",
            "line": "a file, or the mean rank",
            "file": "name of the file",
            "splits": "number of divisions",
            "unit": "how the numbers are read",
            "*, standard error": "standard error of the mean over the divisions",
            "*, rank": "place of the method in the line, 1 the best",
            "*": "mean of the method over the divisions",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.whole(scene).part("frame()")

    def whole(self, scene: Scene) -> Call[MethodTable]:
        """The table with its title and its notes."""
        files = {model.name or file(model.source.data).title: _rows(model.source) for model in scene.bases}
        if self.with_demos:
            others = (demo for demo in DEMOS if demo.title not in files)
            files |= {demo.title: whole_call(f"demo:{demo.key}", "") for demo in others}
        return call(cc.papers.tables.paper_table, files, self.published, splits=self.splits)

    def columns(self, frame: pd.DataFrame) -> tuple[Column, ...]:
        return columns(frame)

    def words(self, scene: Scene) -> Words:
        whole = self.whole(scene)
        return Words(f"{scene.get(whole.part('title'))}. {FRAME_NOTE}").also(*scene.get(whole.part("notes")))


def _rows(source: Source) -> Any:
    """All rows of a file, or its two parts where a column, a second file or a slice says which they are."""
    if split_by(source) in ("share", "folds") and not (source.within or source.corners):
        return whole_call(source.data, source.reading)
    rows = division(source)
    return rows.part("apart"), rows.part("test")


def columns(frame: pd.DataFrame) -> tuple[Column, ...]:
    """How such a frame is written: a column for each method, its standard error and rank in the same cell."""
    names = names_of(frame)
    digits = digits_by_measure(frame, names)
    made_of = ("measure", "line", "unit")
    return (
        of.text("number", "measure"),
        of.text("file"),
        *(
            Column(
                name,
                (name, f"{name}, standard error", f"{name}, rank", *made_of),
                partial(_cell, name, digits),
            )
            for name in names
        ),
    )


def _cell(name: str, digits: dict[str, int], *values: Any) -> str:
    value, error, rank, measure, line, unit = values
    known = {name: value, f"{name}, standard error": error, f"{name}, rank": rank, "line": line, "unit": unit}
    return cell(known, name, digits[measure])
