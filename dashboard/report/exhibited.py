"""An exhibit as blocks of a report: nothing here knows which one it is."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core import NotAnswerable, Recipe
from calib_core._text import count
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.report.document import Block, Figure, Heading, Paragraph
from dashboard.report.tables import Table
from dashboard.session import Scene


def blocks(recipe: Recipe, scene: Scene, *, name: str = "", title: str | None = "") -> Iterator[Block | None]:
    """Heading, figure, table and notes of an exhibit; in place of them, why it is not answered.

    ``name`` is the slug of its files; ``title`` replaces its own heading (None: none). None is yielded between pieces
    of work, where making the report can be stopped.
    """
    exhibit: Exhibit = recipe.build()
    name = name or recipe.key
    if title is not None:
        yield Heading(title or EXHIBITS[recipe.key].title)
    yield None
    try:
        wanted = exhibit.table(scene)
        frame = scene.get(wanted)
        yield None
        words, drawn = exhibit.words(scene), exhibit.figure(scene)
        figure = None if drawn is None else scene.get(drawn)
    except NotAnswerable as why:
        yield Paragraph(f"{why}.", lead="Not answered.", aside=True)
        return
    if figure is not None:
        yield Figure(name, figure, words.caption, words.alt)
    caption = words.caption if figure is None else "The numbers drawn."
    if exhibit.printed is not None and exhibit.printed < len(frame):
        caption += f" {exhibit.printed or 'None'} of its {count(len(frame))} lines are printed, the CSV file has all."
    yield Table(name, caption, frame, exhibit.columns(frame), exhibit.printed, exhibit.bold(frame), wanted)
    yield from (Paragraph(note, aside=True) for note in words.notes)
