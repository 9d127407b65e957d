"""Exhibits as blocks of a report, for any exhibit."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from calib_core import NotAnswerable, Recipe
from calib_core.text import begun, count
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.exhibits.line_words import READING
from dashboard.report.document import Beside, Block, Bullets, Figure, Folded, Heading, Paragraph, TypesetTable
from dashboard.session import Scene

NUMBERS = "The numbers, and how to read them"
"""Title of the collapsed part below a figure."""
_CHOICES = re.compile(r" Choose another notion[^.]*\.")
"""Pattern for advice on what to choose instead."""


@dataclass(frozen=True, eq=False)
class ExhibitParts:
    """Parts of an exhibit: its finding, figure, table and notes, or the reason why there is no answer."""

    title: str
    finding: tuple[Paragraph, ...] = ()
    figure: Figure | None = None
    table: TypesetTable | None = None
    notes: tuple[Paragraph, ...] = ()
    refused: Paragraph | None = None
    headline: tuple[str, ...] = ()

    def drawn(self, width: str = "full") -> tuple[Block, ...]:
        """Return the finding and the figure at a part of the page's width, if there is one."""
        return () if self.figure is None else (*self.finding, dataclasses.replace(self.figure, width=width))

    @property
    def numbers(self) -> tuple[Block, ...]:
        """Return the table and the notes."""
        return (*([] if self.figure else self.finding), *([self.table] if self.table else []), *self.notes)

    @property
    def everything(self) -> tuple[Block, ...]:
        """Return figure, table and notes, or the reason why there is no answer."""
        return (self.refused,) if self.refused else (*self.drawn(), *self.numbers)

    def headed(self, title: str = "") -> tuple[Block, ...]:
        """Return its heading, or another."""
        return (Heading(title or self.title),)


def shown(recipe: Recipe, scene: Scene, name: str = "") -> Generator[None, None, ExhibitParts]:
    """Build the parts of an exhibit; None is yielded between pieces of work, where building can be stopped.

    ``name`` is the slug of its files.
    """
    exhibit: Exhibit = recipe.build()
    name, title = name or recipe.key, EXHIBITS[recipe.key].title
    yield None
    try:
        exhibit.check(scene)
        wanted = exhibit.table(scene)
        frame = scene.get(wanted)
        yield None
        words, drawn = exhibit.words(scene), exhibit.figure(scene)
        figure = None if drawn is None else scene.get(drawn)
    except NotAnswerable as why:
        return ExhibitParts(title, refused=Paragraph(f"{begun(str(why))}.", lead="Not available.", aside=True))
    caption = words.caption if figure is None else f"{title}: the numbers in the figure."
    if exhibit.printed is not None and exhibit.printed < len(frame):
        lines = count(len(frame))
        printed = (
            f"The first {exhibit.printed} of its {lines} lines are" if exhibit.printed else f"Its {lines} lines are not"
        )
        caption += f" {printed} printed here; the command calib show {recipe.key} prints all."
    lead, *more = words.headline or ("",)
    return ExhibitParts(
        title,
        (Paragraph(" ".join(more), lead=lead),) if lead else (),
        None if figure is None else Figure(name, figure, words.below_figure, words.alt),
        TypesetTable(name, caption, frame, exhibit.columns(frame), exhibit.printed, exhibit.bold(frame), wanted),
        # The explanation of lines of estimates precedes the first table, and a reader of the report has no choice.
        tuple(Paragraph(_CHOICES.sub("", note.replace(f" {READING}", "")), aside=True) for note in words.notes),
        headline=words.headline,
    )


def blocks(recipe: Recipe, scene: Scene, *, name: str = "", title: str | None = "") -> Iterator[Block | None]:
    """Yield heading, figure, table and notes of an exhibit, or the reason why there is no answer.

    ``title`` replaces its own heading (None: none).
    """
    found = yield from shown(recipe, scene, name)
    if title is not None:
        yield from found.headed(title)
    yield from found.everything


def folded(found: ExhibitParts, *, title: str | None = "", width: str = "low") -> Iterator[Block]:
    """Yield heading and figure, with table and notes collapsed and not printed. Without a figure, all is collapsed."""
    if found.figure is None and not found.refused:
        yield Folded(title or found.title, found.numbers)
        return
    if title is not None:
        yield from found.headed(title)
    if found.refused:
        yield found.refused
        return
    yield from found.drawn(width)
    yield Folded(NUMBERS, found.numbers)


def finding(found: ExhibitParts) -> Iterator[Block]:
    """Yield heading and finding, its further sentences as a list; table and notes are collapsed and not printed."""
    yield from found.headed()
    if found.refused:
        yield found.refused
        return
    if found.headline:
        yield Paragraph("", lead=found.headline[0])
        yield Bullets(found.headline[1:])
    yield Folded(NUMBERS, (*([found.table] if found.table else []), *found.notes))


def side_by_side(*pair: tuple[ExhibitParts, str]) -> Iterator[Block]:
    """Yield two figures side by side, each below its heading; their tables and notes are collapsed (`folded`).

    An exhibit without an answer, or without a partner, takes the full width.
    """
    answered = [(found, title) for found, title in pair if found.figure is not None]
    for found, title in pair:
        if found.figure is None:
            yield from found.headed(title)
            yield from found.everything
    if len(answered) == 2:
        left, right = ((*found.headed(title), *found.drawn("half")) for found, title in answered)
        yield Beside(left, right)
        yield Folded(NUMBERS, tuple(block for found, _ in answered for block in found.numbers))
    else:
        for found, title in answered:
            yield from folded(found, title=title)


def explained_once(found: Sequence[ExhibitParts]) -> tuple[tuple[Paragraph, ...], tuple[ExhibitParts, ...]]:
    """Return the sentences that the captions of several figures share, and the figures without them."""
    captions = [part.figure.caption.split(". ") for part in found if part.figure is not None]
    first, others = (captions[0], captions[1:]) if captions else ([], [])
    shared = [each for each in first if others and all(each in other for other in others)]
    if not shared:
        return (), tuple(found)
    rest = (". ".join([each for each in caption if each not in shared] or first[:1]) for caption in captions)
    without = (
        part
        if part.figure is None
        else dataclasses.replace(part, figure=dataclasses.replace(part.figure, caption=f"{next(rest).rstrip('.')}."))
        for part in found
    )
    return (Paragraph(f"{'. '.join(shared).rstrip('.')}.", aside=True),), tuple(without)
