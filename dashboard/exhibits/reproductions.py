"""The papers made again: every figure, table and statement in a line, and one of them number by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core.papers.reproductions import REPRODUCTIONS
from calib_core.papers.reproductions.markdown import AGREES, DIFFERS, HOW_TO_READ, expected
from calib_core.registry.registry import Choice
from calib_core.text import count
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

KEPT, QUICK, FULL = "kept", "quick", "full"
_TITLES = tuple(f"{entry.paper}, {entry.place}: {entry.title}" for entry in REPRODUCTIONS.values())


@EXHIBITS.register("papers", "The papers made again")
@dataclass(frozen=True)
class Papers(Exhibit):
    """Every figure, table and statement of the five papers that is made again here: how many numbers agree."""

    reads = "counts"

    meanings = of.Meanings(
        {
            "key": "short name",
            "paper": "authors and year",
            "place": "figure, table or section",
            "numbers": "numbers compared",
            "within": "of them those within the tolerance",
            "differ": "of them those that are not",
            "why": "reasons for those",
            "needs": "what is needed to run it",
            "seconds": "how long it takes",
            "link": "state of the dashboard that shows it",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.papers.reproductions.overview)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("place"),
            of.text("paper"),
            of.text("what", "title"),
            of.whole("compared", "numbers"),
            of.whole("agree", "within"),
            of.whole("differ"),
            of.Column("why", ("why",), _first, numeric=False),
            of.text("needs"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        known = frame[frame["numbers"].notna()]
        numbers, agree = (int(known[name].sum()) for name in ("numbers", "within"))
        return Words(
            f"{count(agree)} of {count(numbers)} comparisons agree with what {len(known)} figures, tables and "
            "statements show; for each that does not the reason is known. The others need predictions that only the "
            "authors have: name files of yours on the command line."
        ).also(HOW_TO_READ)


@EXHIBITS.register("reproduction", "Published and found here")
@dataclass(frozen=True)
class Reproduced(Exhibit):
    """What one figure, table or statement of a paper says, beside what is found here."""

    reads = "counts"
    static = True

    which: Annotated[str, Choice(tuple(REPRODUCTIONS), titles=_TITLES), "Figure or table", "of which paper"] = next(
        iter(REPRODUCTIONS)
    )
    size: Annotated[
        str,
        Choice((KEPT, QUICK, FULL), titles=("as kept with the program", "run now, quick", "run now, full size")),
        "Numbers",
        "where ours come from",
    ] = KEPT

    meanings = of.Meanings(
        {
            "key": "short name of the figure or table",
            "what": "what is compared",
            "place": "where it stands in the paper",
            "published": "what the paper says",
            "relation": "how ours should lie to the target",
            "target": "number in the paper",
            "ours": "number found here",
            "apart": "ours less the target",
            "tolerance": "how far apart they may lie",
            "within": "whether they do not lie further apart",
            "basis": "where the tolerance comes from",
            "why": "reason for a difference",
            "version": "version of the recipe",
            "size": "quick or full size",
            "seconds": "how long it took",
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
            of.text("published"),
            of.Column("should be", ("relation", "target"), expected),
            of.number("ours"),
            of.number("apart"),
            of.number("tolerance"),
            of.Column("", ("within", "ours"), _verdict, numeric=False),
        )

    def words(self, scene: Scene) -> Words:
        entry = REPRODUCTIONS[self.which]
        frame = scene.get(self.table(scene))
        differing = [f"What differs: {reason}." for reason in dict.fromkeys(frame["why"]) if reason]
        bases = [f"Tolerances: {basis}." for basis in dict.fromkeys(frame["basis"]) if basis]
        return Words(" ".join([entry.caption, *differing])).also(*bases, HOW_TO_READ)

    def bold(self, frame: pd.DataFrame) -> tuple[int, ...]:
        return tuple(i for i, out in enumerate(~frame["within"] & frame["ours"].notna()) if out)


def _verdict(within: Any, ours: Any) -> str:
    if pd.isna(ours):
        return ""
    return AGREES if within else DIFFERS


def _first(why: Any) -> str:
    """The first reason of several."""
    return str(why).partition("; ")[0] or of.NOT_KNOWN
