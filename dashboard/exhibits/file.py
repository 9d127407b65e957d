"""The files behind the numbers: what each holds, and how it was read."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call, changes, file, title_read


@EXHIBITS.register("file", "The files and how they were read")
@dataclass(frozen=True)
class FileExhibit(Exhibit):
    """Every file in use: its digest, its rows and classes, what it holds, and how it was read."""

    reads = "counts"

    meanings = of.Meanings(
        {
            "file": "name of the file",
            "property": "what is said",
            "value": "what is said of it",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.sources:
            raise cc.NotAnswerable("no file can be read with these choices; change how it is read, or which rows count")
        chosen = [(source.data, source.reading) for source in scene.sources]
        chosen += [(source.test, source.test_reading) for source in scene.sources if source.test]
        found = {each: (file(each[0]), changes(*each)) for each in chosen}
        titles = [title_read(*each) for each in found]
        numbered = [t if titles.count(t) == 1 else f"{t} ({titles[: i + 1].count(t)})" for i, t in enumerate(titles)]
        facts = [call(cc.calls.described, each, changed, each.digest) for each, changed in found.values()]
        return call(cc.calls.stacked, dict(zip(numbered, facts, strict=True)), "file")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        several = [of.text("file")] if frame["file"].nunique() > 1 else []
        return (*several, of.text("property"), of.text("value"))

    def words(self, scene: Scene) -> Words:
        demos = dict.fromkeys(file(source.data).demo for source in scene.sources)
        return Words("What each file holds and how it was read.").also(
            *(f"Demo data: {demo.source}." for demo in demos if demo)
        )
