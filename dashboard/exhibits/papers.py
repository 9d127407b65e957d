"""Tables of methods in the form of the papers, and reproductions of the papers' numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core.datasets import DEMOS
from calib_core.papers.reproductions import REPRODUCTIONS
from calib_core.papers.reproductions.gallery import AGREES, DIFFERS, HOW_TO_READ, expected
from calib_core.papers.tables import PAPER_TABLES, SPLITS, MethodTable, cell, digits_by_measure, names_of
from calib_core.registry.registry import Choice, Flag, Range
from calib_core.text import count
from dashboard.exhibits import columns as of
from dashboard.exhibits.columns import Column
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.selection import Source
from dashboard.session import Call, Scene, call, division, file, split_by
from dashboard.session.files import whole_call

FRAME_NOTE = (
    "A cell: the mean over the random splits of a file, its standard error, and in parentheses its rank in the "
    "line, 1 the best. Shares and errors are in percent. The standard error measures variation over splits of this "
    "file, not over new data. Ranks ignore noise, as in the papers, so they are no recommendation."
)
_TITLES = tuple(f"{table.title}: {table.reference}" for table in PAPER_TABLES.values())


@EXHIBITS.register("paper-tables", "Methods by files, in the form of the papers")
@dataclass(frozen=True)
class PaperTables(Exhibit):
    """Every method of a paper's table, fitted on a third of the rows and evaluated on the rest, in several splits."""

    reads = "counts"
    static = True

    published: Annotated[
        str, Choice(tuple(PAPER_TABLES), titles=_TITLES), "Table", "the published table whose form is used"
    ] = next(iter(PAPER_TABLES))
    splits: Annotated[int, Range(1, 40), "Splits", "number of random splits of each file"] = SPLITS
    with_demos: Annotated[bool, Flag(), "Include demo data", "add the demo files as further lines"] = False

    meanings = of.Meanings(
        {
            "measure": "name of the measure",
            "line": "a file, or the mean rank",
            "file": "name of the file",
            "splits": "number of random splits",
            "unit": "unit of the numbers",
            "*, standard error": "standard error of the mean over the splits",
            "*, rank": "rank of the method in the line, 1 the best",
            "*": "mean of the method over the splits",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.whole(scene).part("frame()")

    def whole(self, scene: Scene) -> Call[MethodTable]:
        """Return the table with its title and notes."""
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
    """Return all rows of a file, or its two parts if a column, a second file or a slice defines them."""
    if split_by(source) in ("share", "folds") and not (source.within or source.corners):
        return whole_call(source.data, source.reading)
    rows = division(source)
    return rows.part("apart"), rows.part("test")


def columns(frame: pd.DataFrame) -> tuple[Column, ...]:
    """Return the printed columns: one per method, with its standard error and rank in the same cell."""
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


KEPT, QUICK, FULL = "kept", "quick", "full"
_REPRODUCED = tuple(f"{entry.paper}, {entry.place}: {entry.title}" for entry in REPRODUCTIONS.values())


@EXHIBITS.register("papers", "Reproduction of the papers")
@dataclass(frozen=True)
class Papers(Exhibit):
    """All reproduced figures, tables and statements of the five papers, with the number of values that agree."""

    reads = "counts"

    meanings = of.Meanings(
        {
            "key": "short name",
            "paper": "authors and year",
            "place": "figure, table or section",
            "numbers": "numbers compared",
            "within": "of these, numbers within the tolerance",
            "differ": "of these, numbers outside the tolerance",
            "why": "reasons for the differences",
            "needs": "requirements to run it",
            "seconds": "run time in seconds",
            "link": "link to the dashboard's view of it",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.papers.reproductions.overview)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.Column("paper and place", ("paper", "place"), "{}, {}".format, numeric=False),
            of.text("what", "title"),
            of.Column("agree, of those compared", ("within", "numbers"), _agreeing, numeric=False),
            of.Column("reason", ("why", "needs"), _reason, numeric=False),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        known = frame[frame["numbers"].notna()]
        numbers, agree = (int(known[name].sum()) for name in ("numbers", "within"))
        return Words(
            f"{count(agree)} of {count(numbers)} comparisons with {len(known)} figures, tables and statements "
            "agree; the reason for every difference is given. The other entries need predictions that only the "
            "authors have; on the command line, you can give your own files."
        ).also(HOW_TO_READ)


@EXHIBITS.register("reproduction", "Published and reproduced numbers")
@dataclass(frozen=True)
class Reproduced(Exhibit):
    """Published numbers of one figure, table or statement, compared with the numbers computed here."""

    reads = "counts"
    static = True

    which: Annotated[str, Choice(tuple(REPRODUCTIONS), titles=_REPRODUCED), "Figure or table", "of which paper"] = next(
        iter(REPRODUCTIONS)
    )
    size: Annotated[
        str,
        Choice((KEPT, QUICK, FULL), titles=("stored with the program", "run now, quick", "run now, full size")),
        "Numbers",
        "source of the numbers computed here",
    ] = KEPT

    meanings = of.Meanings(
        {
            "key": "short name of the figure or table",
            "what": "what is compared",
            "place": "place in the paper",
            "published": "published statement",
            "relation": "expected relation to the target",
            "target": "number in the paper",
            "ours": "number computed here",
            "apart": "number computed here minus the target",
            "tolerance": "largest accepted difference",
            "within": "whether the difference is within the tolerance",
            "basis": "basis of the tolerance",
            "why": "reason for a difference",
            "version": "version of the recipe",
            "size": "quick or full size",
            "seconds": "run time in seconds",
        }
    )

    @property
    def used(self) -> tuple[str, ...]:
        return ("which",) if REPRODUCTIONS[self.which].needs else ("which", "size")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if "size" not in self.used or self.size == KEPT:
            return call(cc.papers.reproductions.gallery, self.which)
        return call(cc.papers.reproductions.reproduced, self.which, quick=self.size == QUICK)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("compared", "what"),
            of.text("place"),
            *((of.text("published"),) if frame["published"].astype(bool).any() else ()),
            of.Column("expected", ("relation", "target"), expected),
            of.number("here", "ours"),
            of.number("difference", "apart"),
            of.number("tolerance"),
            of.Column("result", ("within", "ours"), _verdict, numeric=False),
        )

    def words(self, scene: Scene) -> Words:
        entry = REPRODUCTIONS[self.which]
        frame = scene.get(self.table(scene))
        differing = [f"Difference: {reason}." for reason in dict.fromkeys(frame["why"]) if reason]
        bases = [f"Tolerances: {basis}." for basis in dict.fromkeys(frame["basis"]) if basis]
        return Words(" ".join([entry.caption, *differing])).also(*bases, HOW_TO_READ)

    def bold(self, frame: pd.DataFrame) -> tuple[int, ...]:
        return tuple(i for i, out in enumerate(~frame["within"] & frame["ours"].notna()) if out)


def _verdict(within: Any, ours: Any) -> str:
    if pd.isna(ours):
        return ""
    return AGREES if within else DIFFERS


def _agreeing(within: float, numbers: float) -> str:
    return of.NOT_KNOWN if pd.isna(numbers) else f"{within:.0f} of {numbers:.0f}"


def _reason(why: Any, needs: Any) -> str:
    """Return the first reason for a difference, or why nothing could be compared."""
    return str(why).partition("; ")[0] or (f"needs {needs}" if needs else of.NOT_KNOWN)
